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
 *     A -  257 MiB      page classes: one byte per page of the arena
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
 *     USLAB_WINDOW_ACCOUNTS + i * 8        the word of kmem_cache_alloc_account(); 0: it has none
 *     USLAB_WINDOW_OWNERS + i * 8          whose objects are in that array, or 0 at first
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
 * While it is free, an object has a mark, 4 bytes: the low half of its own address. It is at the
 * offset in USLAB_WINDOW_MARKS, in bytes, which for classes with a magic, and for kmalloc caches,
 * is USLAB_MARK_OFFSET. Caches with USLAB_MARK_NONE have no place for one: their words are where
 * those without rseq are, so that inline hit paths always miss. So are those of caches whose
 * objects are counted or charged, as long as they are.
 *
 * Caches with USLAB_ACCOUNT_INLINE have 4 bytes right behind the mark: the key of the group that
 * the object is charged to, or USLAB_KEY_NONE; a key is made of the group's number. As long as the
 * program has the object the mark is 0, so that both together are the key in the upper half of 8
 * bytes. So are owners and uslab_group_key. An owner is written while the CPU's word misses both
 * ways.
 *
 * The word points at the top entry of a sheaf, an array of 32 pointers aligned to 256 bytes:
 *     pop misses  when the entry that the word points at is NULL (the bottom entry always is);
 *     push misses when the word's low byte is 248 (adding 8 carries out of the byte).
 * A word that must miss both ways points at an entry with low byte 248 that holds NULL.
 *
 * Why: docs/adr/0001, docs/adr/0002, docs/adr/0011, docs/adr/0071.
 */
#ifndef USLAB_LAYOUT_H
#define USLAB_LAYOUT_H

/*
 * The version of all that programs inline: this file, and the sequences of <uslab/arch/...>. It is
 * raised with each change that would break compiled programs; scripts/layouts.txt has a hash for
 * each number. An object file that inlines a sequence refers to uslab_layout_NUMBER, which only a
 * library of that layout has. Why: docs/adr/0025.
 */
#define USLAB_LAYOUT 4

#define USLAB_NR_HANDLES 2048 /* cache numbers, those of the library among them: see below */
#define USLAB_WINDOW_SHIFT 19
#define USLAB_WINDOW_SIZE (1ul << USLAB_WINDOW_SHIFT)
#define USLAB_WINDOW_CPU0 3 /* number of the window of CPU 0 */
#define USLAB_WINDOW_SPARES 0x4000ul
#define USLAB_WINDOW_GENERIC 0x10000ul
#define USLAB_WINDOW_ACCOUNTS 0x14000ul
#define USLAB_WINDOW_OWNERS 0x18400ul
#define USLAB_WINDOW_STATE (768ul << 20)
/*
 * In window 0: 8 bytes a cache. Lines with the same address bits 6 to 11 can push each other out of
 * a way predictor (see below), and a word of a CPU must not do that to its cache's mark.
 */
#define USLAB_WINDOW_MARKS 0xc800ul
#define USLAB_WINDOW_TABLES 0x8000ul /* in window 0: the class of each size of the drop-in malloc */
#define USLAB_WINDOW_MASKS \
	0xa200ul /* in window 0: what a free by address checks, 8 bytes a class */
#define USLAB_WINDOW_MAGICS 0xa800ul
#define USLAB_CPU_STATE_SIZE 256ul
#define USLAB_MARK_OFFSET 4
#define USLAB_MARK_NONE (-1l)	/* no multiple of 4 */
#define USLAB_KEY_NONE 0x10000u /* charged to no group */

#define USLAB_WINDOWS_OFFSET (-(1792l << 20)) /* from the arena's base */
/*
 * At -256 MiB a class byte and the first object of the arena would differ in address bits from 28
 * on only. The way predictor of AMD's Zen 1 to 4 compares a hash of bits 12 to 27 (each of 12 to 19
 * with one of 20 to 27, exclusive or): such lines push each other out, and a pair took 18 ns
 * instead of 9. With bits 20 to 27 of the distance all set no line of the first MiB does that.
 * Source: Lipp et al., "Take A Way", AsiaCCS 2020. Why: docs/adr/0032.
 */
#define USLAB_CLASSES_OFFSET (-(257l << 20))
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
