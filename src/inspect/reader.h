/* SPDX-License-Identifier: MIT */
/*
 * inspect/reader.h - memory of a process, this one or another, behind one function
 *
 * Data:       struct reader: a function and its context.
 * Invariants: read() fills all of buf or fails; a failed read may leave anything in buf.
 * Locks:      none. What is read may change while it is being read.
 * Flow:       implemented by inspect/reader.c (this process) and by tools (other processes, core
 *             files); used by reader.c, snapshot.h and tools.
 */
#ifndef INSPECT_READER_H
#define INSPECT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/time/clock.h"

struct reader {
	/*
	 * Copies len bytes at addr of the process into buf. 0; -EFAULT: not all of it is mapped;
	 * -ESRCH: the process has ended; -EPERM: not permitted.
	 */
	int (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
	void *ctx;
	bool still; /* a core file: nothing changes, and its clock stands still */
	/* of a process in another time namespace: its os_clock_ms() less that of this process */
	int64_t ahead_ms;
};

static inline int reader_read(const struct reader *r, uint64_t addr, void *buf, size_t len)
{
	return r->read(r->ctx, addr, buf, len);
}

/* os_clock_ms() of the process now. Its times are never to be compared with the reader's own. */
static inline uint64_t reader_clock_ms(const struct reader *r)
{
	return os_clock_ms() + (uint64_t)r->ahead_ms;
}

/*
 * This process. An unmapped address faults here instead of failing, so the caller makes sure that
 * no cache is destroyed meanwhile; all else that a snapshot reads is never unmapped.
 */
extern const struct reader reader_local;

#endif /* INSPECT_READER_H */
