/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/remote.h - the memory of another process, as a struct reader
 *
 * Nothing is stopped and nothing attached. The kernel checks each access as
 * it would for a debugger.
 */
#ifndef TOOLS_REMOTE_H
#define TOOLS_REMOTE_H

#include <sys/types.h>

#include "inspect/reader.h"

struct remote {
	struct reader reader; /* its ctx is this structure: do not copy */
	pid_t pid;
	pid_t thread; /* of the process, by which it is read: live.h */
	int mem_fd;   /* of /proc/THREAD/mem, the second way; -1: not tried, -2: not to be had */
};

/*
 * Opens nothing yet: whether the process can be read shows at the first access. Its time namespace
 * is read, see struct reader.
 */
void remote_open(struct remote *remote, pid_t pid);
void remote_close(struct remote *remote);

#endif /* TOOLS_REMOTE_H */
