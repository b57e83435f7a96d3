/* SPDX-License-Identifier: MIT */
/*
 * inspect/mix.h - base/mix.h for tools, which see of the library what is in inspect/
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       included by tools.
 */
#ifndef INSPECT_MIX_H
#define INSPECT_MIX_H

#include "base/mix.h"

#endif /* INSPECT_MIX_H */
