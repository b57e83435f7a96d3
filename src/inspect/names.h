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

#include <stdbool.h>

/* Name number i, counted from 0; NULL past the last one. */
const char *names_engine(unsigned int i);
const char *names_front(unsigned int i);

/* Does that front go with that engine? Of such names. */
bool names_go_together(const char *engine, const char *front);

#endif /* INSPECT_NAMES_H */
