/* SPDX-License-Identifier: MIT */
/*
 * uslab/layout.h - where things lie in the reserved range of addresses (part of the ABI)
 *
 * One range per process. Everything that a fast path needs lies at a constant offset from the
 * arena's base A, so that one register reaches all of it:
 *
 *     A - 1792 MiB      windows of 512 KiB each:
 *                         window 0        handles: struct kmem_cache[USLAB_NR_HANDLES]
 *                         window 1, 2     "CPU -2" and "CPU -1": words that always miss
 *                         window 3 + n    CPU n
 *     A -  256 MiB      page classes: one byte per page of the arena
 *     A                 the arena: pages of 4 KiB, handed out by the buddy allocator
 *
 * A handle's address, not its content, finds the per-CPU word of its cache:
 *     word(cpu) = (char *)handle + ((cpu + 3) << USLAB_WINDOW_SHIFT)
 * The kernel sets rseq.cpu_id to -1 or -2 in a thread that has no rseq registration; windows 1
 * and 2 then make every fast path miss without a branch for it.
 *
 * A window holds, for cache number i:
 *     offset i * 8                         the word: top of the array, see below
 *     USLAB_WINDOW_SPARES + i * 8          a second array of the array front, or 0
 *     USLAB_WINDOW_GENERIC + i * 8         the word's place without rseq (that above then misses)
 *     USLAB_WINDOW_STATE + i * 256         struct kmem_cache_cpu (front/percpu.h), slow paths only;
 *                                          beyond all windows, as far from CPU to CPU as the words
 *
 * Window 0 also has tables that are written when a cache is made and read by the hit paths:
 *     USLAB_WINDOW_MARKS + i * 8           where the mark of a free object of cache i is, see below
 *     USLAB_WINDOW_TABLES + size           class of a request of the drop-in malloc
 *     USLAB_WINDOW_MASKS + class * 8       mask: bytes of a slab of the class - 1
 *     USLAB_WINDOW_MAGICS + class * 8      magic: 2^64 / size of its objects, rounded up; 0: none
 * An object of the class starts at p iff (p & mask) * magic < magic, modulo 2^64.
 *
 * While it is free, an object bears a mark, 4 bytes: the low half of its own address. It is at the
 * offset that USLAB_WINDOW_MARKS has, bytes, which for a class with a magic, and for what kmalloc()
 * has caches for, is USLAB_MARK_OFFSET. Caches with USLAB_MARK_NONE have no place for one: their
 * words are where those without rseq are, so that what is inlined always misses.
 *
 * The word points at the top entry of a sheaf, an array of 32 pointers aligned to 256 bytes:
 *     pop misses  when the entry that the word points at is NULL (the bottom entry always is);
 *     push misses when the word's low byte is 248 (adding 8 carries out of the byte).
 * A word that must miss both ways points at an entry with low byte 248 that holds NULL.
 *
 * Why: docs/adr/0001, docs/adr/0002, docs/adr/0011.
 */
#ifndef USLAB_LAYOUT_H
#define USLAB_LAYOUT_H

/*
 * The number of all that programs inline: what this file says, and the sequences of
 * <uslab/arch/...>. It goes up with each change that a compiled program would not survive;
 * scripts/layouts.txt has what each number stood for. Who inlines a sequence refers to
 * uslab_layout_NUMBER, which only a library of that layout has. Why: docs/adr/0025.
 */
#define USLAB_LAYOUT 3

#define USLAB_NR_HANDLES 2048 /* cache numbers, those of the library among them: see below */
#define USLAB_WINDOW_SHIFT 19
#define USLAB_WINDOW_SIZE (1ul << USLAB_WINDOW_SHIFT)
#define USLAB_WINDOW_CPU0 3 /* number of the window of CPU 0 */
#define USLAB_WINDOW_SPARES 0x4000ul
#define USLAB_WINDOW_GENERIC 0x10000ul
#define USLAB_WINDOW_STATE (768ul << 20)
#define USLAB_WINDOW_MARKS 0x4000ul  /* in window 0: 8 bytes a cache */
#define USLAB_WINDOW_TABLES 0x8000ul /* in window 0: the class of each size of the drop-in malloc */
#define USLAB_WINDOW_MASKS \
	0xa200ul /* in window 0: what a free by address checks, 8 bytes a class */
#define USLAB_WINDOW_MAGICS 0xa800ul
#define USLAB_CPU_STATE_SIZE 256ul
#define USLAB_MARK_OFFSET 4
#define USLAB_MARK_NONE (-1l) /* no multiple of 4 */

#define USLAB_WINDOWS_OFFSET (-(1792l << 20)) /* from the arena's base */
#define USLAB_CLASSES_OFFSET (-(256l << 20))
#define USLAB_MAX_CPUS 1500
#define USLAB_MAX_ARENA (1ul << 40)

#define USLAB_SHEAF_SIZE 256
#define USLAB_SHEAF_CAPACITY 31 /* entry 0 is the NULL at the bottom */
#define USLAB_SHEAF_FULL 248	/* low byte of a word that can take no push */

/* Cache numbers. A page class byte holds the number of the cache that owns the page, or 0. */
#define USLAB_ID_NONE 0
#define USLAB_ID_MALLOC 1    /* 1..127: size classes of the drop-in malloc */
#define USLAB_ID_KMALLOC 128 /* 128..191: kmalloc caches, type * 16 + index */
#define USLAB_ID_FIRST_FREE 192
#define USLAB_MAX_CACHES (USLAB_NR_HANDLES - USLAB_ID_FIRST_FREE) /* 1856 that a program can make */

#endif /* USLAB_LAYOUT_H */
