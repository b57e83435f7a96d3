/* SPDX-License-Identifier: MIT */
/*
 * report/env.h - for whom the environment is, as the command sees it
 *
 * Data:       none, see os/process/env.h.
 * Invariants: as there.
 * Locks:      none.
 * Flow:       used by tools: these may include report/ and nothing below it.
 */
#ifndef REPORT_ENV_H
#define REPORT_ENV_H

#include "os/process/env.h"

#endif /* REPORT_ENV_H */
