/* SPDX-License-Identifier: MIT */
/*
 * inspect/control.h - the mailbox as tools see it
 *
 * Data:       struct control, see cache/control/control.h.
 * Invariants: as there.
 * Locks:      none.
 * Flow:       used by tools: these may include inspect/ and nothing below it.
 */
#ifndef INSPECT_CONTROL_H
#define INSPECT_CONTROL_H

#include "cache/control/control.h"

#endif /* INSPECT_CONTROL_H */
