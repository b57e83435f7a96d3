/* SPDX-License-Identifier: MIT */
/*
 * os/memory/vm.h - address ranges: reserve, commit, purge, map
 *
 * Data:       none but the system's page size.
 * Invariants: all addresses and sizes are multiples of os_page_size() unless said otherwise.
 * Locks:      none; callers serialise what they do to one range.
 * Flow:       called by place.c, resident.c, cache/init.c, debug/, malloc/align.c, malloc/limit.c
 *             and page/; calls mmap, mprotect, madvise, mbind, mremap, prctl and
 *             os/process/file.h.
 *
 * errno is preserved by every function here (an allocator must not disturb its caller's).
 */
#ifndef OS_VM_H
#define OS_VM_H

#include "base/compiler.h"

size_t os_page_size(void);

/*
 * size bytes of addresses without access, which core files leave out, aligned to align (power of
 * two). NULL: none to be had.
 */
void *os_reserve(size_t size, size_t align);
/* The same at exactly addr (MAP_FIXED_NOREPLACE); false when something lies there. */
bool os_reserve_at(void *addr, size_t size);
/*
 * Where the system puts mappings at the lowest place that is free (the legacy layout: setarch -L,
 * vm.legacy_va_layout): bytes from there, *from, up to the process's first stack. 0: it puts them
 * below those that are there, or above that stack.
 */
size_t os_room_upward(char **from);
void os_release(void *addr, size_t size);

/*
 * Makes part of a reserved range readable and writable (zero-filled). From here on it counts
 * against RLIMIT_DATA and the system's overcommit limit. 0 or -ENOMEM.
 */
int os_commit(void *addr, size_t size);
/* Takes the access to a committed range away; its bytes stay until os_commit() gives it back. */
int os_protect(void *addr, size_t size);
/* Gives the memory behind a committed range back; it reads as zero afterwards. 0 or -errno. */
int os_purge(void *addr, size_t size);
/*
 * Lets the system take that memory once it is short of some (MADV_FREE). Until then it stays
 * resident, and until it is written to it holds what it held, or zeros. Before Linux 4.5 as
 * os_purge().
 */
int os_purge_lazily(void *addr, size_t size);

struct os_range {
	void *start;
	size_t size;
};

/*
 * The same for several ranges, in one system call where the kernel has one for that (Linux 6.14):
 * other CPUs are interrupted once, not for each of them. A filter for system calls may forbid it.
 * Returns how many, the first ones, are given back.
 */
unsigned int os_purge_ranges(const struct os_range *ranges, unsigned int nr);

/*
 * The memory behind a range comes in pages of the usual size, whatever the system says of huge
 * ones (/sys/kernel/mm/transparent_hugepage/enabled); failure is ignored.
 */
void os_small_pages(void *addr, size_t size);

/* Bytes of a huge page, where the usual ones have 4 KiB. */
#define OS_HUGE_PAGE (2ul << 20)
/* Asks for huge pages behind a range (MADV_HUGEPAGE); failure is ignored. */
void os_huge_pages(void *addr, size_t size);
/*
 * Has the system, or PR_SET_THP_DISABLE, switched them off? A hint: sizes may be set one by one
 * (Linux 6.8). Reads a file: for the start.
 */
bool os_huge_pages_are_off(void);
/*
 * Asks for the memory behind a range to come from a node (its real number) where that has some;
 * failure is ignored.
 */
void os_bind(void *addr, size_t size, unsigned int node);

/* Anonymous memory anywhere, aligned; NULL when out of memory. os_release() frees it. */
void *os_map(size_t size, size_t align);
/*
 * Resizes an os_map() block; moves it only if may_move, and then keeps no alignment beyond
 * os_page_size(). NULL: cannot (old block untouched).
 */
void *os_remap(void *addr, size_t old_size, size_t new_size, bool may_move);
enum os_move {
	OS_MOVED,	 /* to has what was in from, from reads as zero; both are mapped */
	OS_MOVE_REFUSED, /* nothing moved; before Linux 5.7, and by limits and filters */
	OS_MOVE_SEVERAL, /* nothing moved: from is of several mappings */
	/*
	 * Nothing moved, but to was unmapped, and there is no memory for it, or another thread has
	 * mapped something there, or nobody knows: it must neither be used nor be unmapped.
	 */
	OS_MOVE_LOST,
};
/*
 * Moves the memory behind a range to another one of this size, both of os_map(), without a copy.
 * What was behind to is given back; nobody has written to that.
 */
enum os_move os_move(void *from, void *to, size_t size);

/* Names a range in /proc/PID/maps where the kernel can ("[anon:name]"); failure is ignored. */
void os_name(void *addr, size_t size, const char *name);

/*
 * Bytes of address space that RLIMIT_AS still allows, if so many more were given back first;
 * SIZE_MAX when unlimited.
 */
size_t os_address_space_left(size_t given_back);

struct rlimit;
/*
 * prlimit(2): a process's limit on a resource; new, old may be NULL. *is_ours: it was done, and
 * changed this process's RLIMIT_AS. 0 or -errno.
 */
int os_limit(int pid, int resource, const struct rlimit *new, struct rlimit *old, bool *is_ours);
/* Bytes of physical memory of the machine (0: unknown). */
size_t os_physical_memory(void);

#endif /* OS_VM_H */
