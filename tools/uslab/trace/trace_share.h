/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_share.h - the operations of a trace in a file that several processes map
 *
 * So that a trace is parsed once, whatever the number of processes that perform it.
 */
#ifndef TOOLS_TRACE_SHARE_H
#define TOOLS_TRACE_SHARE_H

#include "trace/trace_ops.h"

/* Writes a finished trace into a new anonymous file. Its descriptor (close-on-exec), or -errno. */
int trace_share(const struct trace_ops *t);

/*
 * Maps such a file, for good: *t then points into it and is not to be destroyed. 0; -EINVAL: it is
 * none; or -errno.
 */
int trace_attach(int fd, struct trace_ops *t);

#endif /* TOOLS_TRACE_SHARE_H */
