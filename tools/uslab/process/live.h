/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/live.h - a thread by which the memory of a process can be reached
 *
 * A main thread may end by pthread_exit() before others. It stays as a zombie until these have
 * ended, and the files of /proc/PID that are about memory are empty or refused from there on, as
 * is process_vm_readv() of PID. The number of any other thread serves in its place, also as a
 * folder of /proc.
 */
#ifndef TOOLS_LIVE_H
#define TOOLS_LIVE_H

#include <sys/types.h>

#define LIVE_PATH 64 /* bytes */

/* pid, or another thread of the process if the main one has no memory any more, and that has. */
pid_t live_thread(pid_t pid);

/* Into buf: "/proc/THREAD/file", of that thread. Returns buf. */
const char *live_path(char buf[LIVE_PATH], pid_t pid, const char *file);

#endif /* TOOLS_LIVE_H */
