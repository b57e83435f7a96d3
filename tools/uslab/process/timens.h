/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/timens.h - time namespaces: how far a process's clock is from this one's
 */
#ifndef TOOLS_TIMENS_H
#define TOOLS_TIMENS_H

#include <stdint.h>
#include <sys/types.h>

/*
 * CLOCK_MONOTONIC of the process less that of this one, in milliseconds. 0: they are the same, or
 * it cannot be known.
 */
int64_t timens_ahead_ms(pid_t pid);

#endif /* TOOLS_TIMENS_H */
