/* SPDX-License-Identifier: MIT */
/*
 * uslab/filtered.h - does a process have a filter of system calls, which may end it for what a tool asks of it
 */
#ifndef TOOLS_FILTERED_H
#define TOOLS_FILTERED_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Has any thread of the process one (seccomp(2)), or the strict mode? What a filter does with a call that it
 * does not let through cannot be seen from outside. false also where that cannot be read.
 */
bool filtered_process(pid_t pid);

#endif /* TOOLS_FILTERED_H */
