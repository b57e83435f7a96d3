/* SPDX-License-Identifier: MIT */
/*
 * inspect/env.h - os/process/env.h for tools: which process the environment is meant for
 *
 * Data:       none, see os/process/env.h.
 * Invariants: as there.
 * Locks:      none.
 * Flow:       used by tools: these may include inspect/ and nothing below it.
 */
#ifndef INSPECT_ENV_H
#define INSPECT_ENV_H

#include "os/process/env.h"

#endif /* INSPECT_ENV_H */
