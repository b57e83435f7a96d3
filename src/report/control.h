/* SPDX-License-Identifier: MIT */
/*
 * report/control.h - the mailbox as tools see it
 *
 * Data:       struct control, see cache/control/control.h.
 * Invariants: as there.
 * Locks:      none.
 * Flow:       used by tools: these may include report/ and nothing below it.
 */
#ifndef REPORT_CONTROL_H
#define REPORT_CONTROL_H

#include "cache/control/control.h"

#endif /* REPORT_CONTROL_H */
