/* SPDX-License-Identifier: MIT */
/*
 * inspect/names.h - the names of all engines and fronts, for tools
 *
 * Data:       none.
 * Invariants: every name is one that USLAB_CONF=engine= or front= takes.
 * Locks:      none.
 * Flow:       called by tools.
 */
#ifndef INSPECT_NAMES_H
#define INSPECT_NAMES_H

/* Name number i, counted from 0; NULL past the last one. */
const char *names_engine(unsigned int i);
const char *names_front(unsigned int i);

#endif /* INSPECT_NAMES_H */
