/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/rss.h - the resident memory of a whole process
 */
#ifndef TOOLS_RSS_H
#define TOOLS_RSS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* In bytes, shared libraries and all. false: not known. */
bool rss_of_process(pid_t pid, uint64_t *bytes);

#endif /* TOOLS_RSS_H */
