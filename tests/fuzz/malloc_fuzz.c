/* SPDX-License-Identifier: MIT */
/*
 * fuzz/malloc_fuzz.c - lists of calls over the whole malloc API, against a model with contents
 *
 * ctest: sanitize=no (the sanitizers bring a malloc of their own)
 *
 * usage: malloc_fuzz [--steps N] [--threads N] [--seed N] [FILE...]
 *
 * Each step takes some bytes that say what to do; they come from a generator, or from files. The
 * model is an array of slots: address, size, alignment, and a pattern that fills the block. A block
 * that overlaps another, moves without its bytes or comes back misaligned shows as a wrong byte.
 * Threads also leave blocks for one another, so that frees come from elsewhere.
 *
 * Built without uslab as well (tests/programs/stress_test.py) and run under LD_PRELOAD: nothing
 * here may need more than libc; what a library may have or not is weak.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR_SLOTS 512
#define NR_SHARED 64
#define MAX_LIVE (256ul << 20) /* bytes of one thread */
#define CHECK_EVERY 4096       /* steps */

void free_sized(void *p, size_t size) __attribute__((weak));
void free_aligned_sized(void *p, size_t align, size_t size) __attribute__((weak));
void malloc_check(void) __attribute__((weak));
void cache_check_all(void) __attribute__((weak));

struct block {
	unsigned char *p;
	size_t size;
	size_t align;	  /* asked for, or 0 */
	uint32_t pattern; /* of the content */
};

struct run {
	const unsigned char *bytes; /* of a file, or NULL: generated */
	size_t nr_bytes;
	size_t at;
	uint64_t random;
	unsigned long step;
	unsigned long steps;
	size_t live;
	struct block slots[NR_SLOTS];
};

/* Volatile: compilers know malloc and free, and that they leave errno alone. */
static void *(*volatile alloc)(size_t) = malloc;
static void (*volatile give)(void *) = free;

/* Blocks that wait for another thread. */
static struct block *shared[NR_SHARED];

static _Noreturn void wrong(const struct run *r, const char *what, const struct block *b)
{
	fprintf(stderr, "malloc_fuzz: step %lu: %s: block %p, %zu bytes, alignment %zu\n", r->step,
		what, (void *)b->p, b->size, b->align);
	abort();
}

static uint32_t next(struct run *r)
{
	uint32_t value = 0;

	if (!r->bytes) {
		r->random = r->random * 6364136223846793005ull + 1442695040888963407ull;
		return (uint32_t)(r->random >> 32);
	}
	for (unsigned int i = 0; i < sizeof(value) && r->at < r->nr_bytes; i++)
		value = value << 8 | r->bytes[r->at++];
	return value;
}

static bool more(const struct run *r)
{
	return r->bytes ? r->at < r->nr_bytes : r->step < r->steps;
}

/* Mostly small, each magnitude as likely as the next; now and then far beyond the arena. */
static size_t next_size(struct run *r)
{
	uint32_t value = next(r);
	unsigned int bits = value % 64;

	if (value % 1024 == 0)
		return (size_t)(next(r) % (24u << 20));
	/* up to 8 KiB, 1 in 8 up to 2 MiB */
	return (size_t)next(r) & ((1ul << (bits < 56 ? bits / 4 : bits - 42)) - 1);
}

/*
 * Every byte of small blocks, the ends and one byte per page of large ones: enough to see pages
 * swapped, and quick.
 */
static size_t stride_at(size_t i, size_t size)
{
	return size <= 16384 || i < 64 || i + 64 >= size ? 1 : 509;
}

static unsigned char byte_of(uint32_t pattern, size_t i)
{
	return (unsigned char)(pattern + i * 131 + (i >> 9));
}

static void fill(const struct block *b, size_t from)
{
	for (size_t i = 0; i < b->size; i += stride_at(i, b->size))
		if (i >= from)
			b->p[i] = byte_of(b->pattern, i);
}

static void verify(const struct run *r, const struct block *b, size_t size)
{
	for (size_t i = 0; i < size; i += stride_at(i, b->size))
		if (b->p[i] != byte_of(b->pattern, i))
			wrong(r, "wrong byte", b);
}

static void verify_zero(const struct run *r, const struct block *b)
{
	for (size_t i = 0; i < b->size; i += stride_at(i, b->size))
		if (b->p[i])
			wrong(r, "calloc gave a byte that is not zero", b);
}

/* A new block has arrived in the slot. */
static void arrive(struct run *r, struct block *b, void *p, size_t size, size_t align, bool zero)
{
	*b = (struct block){ p, size, align, next(r) };
	if (!p)
		return;
	if ((uintptr_t)p % (align > 16 ? align : 16))
		wrong(r, "misaligned", b);
	if (zero)
		verify_zero(r, b);
	if (malloc_usable_size(p) < size)
		wrong(r, "smaller than asked for", b);
	if (next(r) % 8 == 0)
		b->size = malloc_usable_size(p); /* all of it may be used */
	r->live += b->size;
	fill(b, 0);
}

static void release(struct run *r, struct block *b)
{
	verify(r, b, b->size);
	errno = 99;
	if (free_aligned_sized && b->align && next(r) % 2)
		free_aligned_sized(b->p, b->align, b->size);
	else if (free_sized && !b->align && next(r) % 4 == 0)
		free_sized(b->p, b->size);
	else
		give(b->p);
	if (errno != 99)
		wrong(r, "free changed errno", b);
	r->live -= b->size;
	b->p = NULL;
}

static void op_alloc(struct run *r, struct block *b)
{
	size_t size = next_size(r);
	size_t align = (size_t)8 << next(r) % 13;
	void *p = NULL;

	switch (next(r) % 10) {
	case 0:
	case 1:
		arrive(r, b, calloc(size % 7 + 1, size / 4), (size % 7 + 1) * (size / 4), 0, true);
		break;
	case 2:
		if (posix_memalign(&p, align, size))
			p = NULL;
		arrive(r, b, p, size, align, false);
		break;
	case 3:
		arrive(r, b, aligned_alloc(align, size), size, align, false);
		break;
	case 4:
		arrive(r, b, memalign(align, size), size, align, false);
		break;
	default:
		arrive(r, b, alloc(size), size, 0, false);
	}
}

static void op_realloc(struct run *r, struct block *b)
{
	struct block old = *b;
	size_t size = next_size(r) + 1;
	size_t kept = size < old.size ? size : old.size;
	void *p;

	if (next(r) % 2) /* as a growing buffer does it */
		size = kept = old.size + old.size / 8 + 1;
	kept = size < old.size ? size : old.size;
	verify(r, &old, old.size);
	p = next(r) % 4 ? realloc(old.p, size) : reallocarray(old.p, 1, size);
	if (!p)
		return;
	r->live += size - old.size;
	*b = (struct block){ p, size, 0, old.pattern };
	if ((uintptr_t)p % 16 || malloc_usable_size(p) < size)
		wrong(r, "realloc gave a wrong block", b);
	/* what was verified of the old size, seen with the old size's stride */
	for (size_t i = 0; i < kept; i += stride_at(i, old.size))
		if (b->p[i] != byte_of(old.pattern, i))
			wrong(r, "realloc lost a byte", b);
	fill(b, 0);
}

/* Leaves a block for another thread and takes what was there. */
static void op_share(struct run *r, struct block *b)
{
	struct block **place = &shared[next(r) % NR_SHARED];
	struct block *parcel = NULL;
	struct block *other;

	if (b->p) {
		parcel = malloc(sizeof(*parcel));
		if (!parcel)
			return;
		*parcel = *b;
		r->live -= b->size;
		b->p = NULL;
	}
	/* acquire and release pair with the same exchange in the other thread */
	other = __atomic_exchange_n(place, parcel, __ATOMIC_ACQ_REL);
	if (other) {
		*b = *other;
		r->live += b->size;
		free(other);
		verify(r, b, b->size);
	}
}

static void op_rare(struct run *r)
{
	switch (next(r) % 64) {
	case 0:
		malloc_trim(next(r) % (1 << 20));
		break;
	case 1:
		if (mallinfo2().uordblks == 0)
			wrong(r, "mallinfo2 knows of no block", &r->slots[0]);
		break;
	case 2:
		free(NULL);
		break;
	case 3:
		errno = 0;
		if (alloc((size_t)PTRDIFF_MAX + next(r)) || errno != ENOMEM)
			wrong(r, "malloc of an absurd size", &r->slots[0]);
		break;
	default:
		break;
	}
}

static void do_step(struct run *r)
{
	struct block *b = &r->slots[next(r) % NR_SLOTS];
	uint32_t what = next(r) % 16;

	if (what == 15)
		op_rare(r);
	else if (what == 14)
		op_share(r, b);
	else if (!b->p && r->live < MAX_LIVE)
		op_alloc(r, b);
	else if (b->p && what < 5)
		op_realloc(r, b);
	else if (b->p)
		release(r, b);
}

static void *run_steps(void *arg)
{
	struct run *r = arg;

	for (r->step = 0; more(r); r->step++) {
		do_step(r);
		if (r->step % CHECK_EVERY == 0 && malloc_check)
			malloc_check();
	}
	for (unsigned int i = 0; i < NR_SLOTS; i++)
		if (r->slots[i].p)
			release(r, &r->slots[i]);
	return NULL;
}

static void empty_shared(struct run *r)
{
	for (unsigned int i = 0; i < NR_SHARED; i++) {
		if (!shared[i])
			continue;
		verify(r, shared[i], shared[i]->size);
		free(shared[i]->p);
		free(shared[i]);
		shared[i] = NULL;
	}
	if (malloc_check && cache_check_all) {
		malloc_check();
		cache_check_all(); /* only now: it wants the caches quiet */
	}
}

static void run_threads(unsigned int nr_threads, unsigned long seed, unsigned long steps)
{
	static struct run runs[64];
	pthread_t threads[64];

	memset(runs, 0, sizeof(runs));
	for (unsigned int i = 0; i < nr_threads; i++) {
		runs[i].random = seed * 64 + i;
		runs[i].steps = steps;
		if (pthread_create(&threads[i], NULL, run_steps, &runs[i]))
			abort();
	}
	for (unsigned int i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	empty_shared(&runs[0]);
}

static int run_file(const char *path)
{
	static struct run r;
	static unsigned char bytes[1 << 20];
	FILE *file = fopen(path, "rb");

	if (!file) {
		perror(path);
		return 1;
	}
	memset(&r, 0, sizeof(r));
	r.nr_bytes = fread(bytes, 1, sizeof(bytes), file);
	r.bytes = bytes;
	fclose(file);
	run_steps(&r);
	empty_shared(&r);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long steps = 30000, threads = 0, seed = 0;
	int failed = 0;
	int i;

	for (i = 1; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		unsigned long value = strtoul(argv[i + 1], NULL, 0);

		if (!strcmp(argv[i], "--steps"))
			steps = value;
		else if (!strcmp(argv[i], "--threads"))
			threads = value < 64 ? value : 64;
		else if (!strcmp(argv[i], "--seed"))
			seed = value;
		else
			break;
	}
	if (i < argc && argv[i][0] == '-') {
		fprintf(stderr,
			"usage: malloc_fuzz [--steps N] [--threads N] [--seed N] [FILE...]\n");
		return 2;
	}
	for (; i < argc; i++)
		failed |= run_file(argv[i]);
	if (threads || seed) {
		run_threads((unsigned int)(threads ? threads : 1), seed, steps);
	} else if (argc < 2 || steps != 30000) { /* built-in seeds */
		for (seed = 1; seed <= 4; seed++)
			run_threads(1, seed, steps);
		run_threads(4, 5, steps);
	}
	return failed;
}
