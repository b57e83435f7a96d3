/* SPDX-License-Identifier: MIT */
/*
 * os/file.h - short text files of /proc and /sys
 *
 * Data:       none.
 * Invariants: no allocation, no stdio; errno is preserved.
 * Locks:      none.
 * Flow:       called by os/cpu.c and os/vm.c; calls openat(2), read(2), close(2).
 */
#ifndef OS_FILE_H
#define OS_FILE_H

#include "base/compiler.h"

/*
 * Reads at most size - 1 bytes from the start of a file and ends them with NUL (also on failure).
 * Returns the number of bytes, or -errno.
 */
long os_read_text(const char *path, char *buf, size_t size);

#endif /* OS_FILE_H */
