/* SPDX-License-Identifier: MIT */
/*
 * unit/api/cache_api_test.c - caches as a program sees them: errors, the inline hit paths, bulk,
 * destroy, and the vectors of spec 12.6 and 14 that are about them
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uslab/slab.h>
#include <cmocka.h>

#include "bare.h"
#include "base/bits.h"
#include "cache/cache.h"
#include "child.h"
#include "os/cpu/cpu.h"
#include "os/process/die.h"
#include "page/buddy.h"
#include "page/large.h"
#include "objects.h"
#include "pages_out.h"

/* ---- spec 5.2: the lines on stderr ---- */

#define TOO_LONG "0123456789012345678901234567890123456789012345678901234567890123" /* 64 */

#define FREE_POINTER(offset)                                           \
	{                                                              \
		.freeptr_offset = (offset), .use_freeptr_offset = true \
	}

static void keep(void *obj)
{
	(void)obj;
}

static struct {
	const char *name;
	unsigned int size;
	struct kmem_cache_args args;
	slab_flags_t flags;
	int error;
	const char *why; /* part of it */
} refused[] = {
	{ "zero", 0, { 0 }, 0, EINVAL, "size 0 is not 1 to 4194304" },
	{ "large", KMALLOC_MAX_SIZE + 1, { 0 }, 0, EINVAL, "size 4194305 is not" },
	{ NULL, 8, { 0 }, 0, EINVAL, "no name" },
	{ "align", 8, { .align = 24 }, 0, EINVAL, "alignment 24 is no power of two" },
	{ "flag", 8, { 0 }, SLAB_FAILSLAB, EINVAL, "flags 0x2000000 " },
	{ "kmalloc", 8, { 0 }, SLAB_KMALLOC, EINVAL, "SLAB_KMALLOC" },
	{ "low", 8, { 0 }, 0x00000200u, EINVAL, "flags 0x200 " },
	{ "engine", 8, { .engine = "slaub" }, 0, EINVAL, "no engine is called 'slaub'" },
	{ "front", 8, { .front = "rear" }, 0, EINVAL, "no front is called 'rear'" },
	{ "capacity", 8, { .capacity = 32 }, 0, EINVAL, "capacity 32" },
	{ "pair",
	  8,
	  { .engine = "slab", .front = "cpuslab" },
	  0,
	  EINVAL,
	  "engine slab and front cpuslab do not go together" },
	{ "queue", 8, { .front = "queues", .capacity = 1025 }, 0, EINVAL, "capacity 1025" },
	{ "free", 8, FREE_POINTER(1), 0, EINVAL, "no free pointer fits at offset 1 of 8" },
	{ "free", 20, FREE_POINTER(16), 0, EINVAL, "no free pointer fits at offset 16 of 20" },
	{ "free", 4, FREE_POINTER(0), 0, EINVAL, "no free pointer fits at offset 0 of 4" },
	{ "order", KMALLOC_MAX_SIZE, { .ctor = keep }, 0, E2BIG, "do not fit the largest slab" },
	{ "rcu", 8, { 0 }, SLAB_TYPESAFE_BY_RCU, EOPNOTSUPP, "needs an RCU" },
	{ TOO_LONG, 8, { 0 }, 0, ENAMETOOLONG, "at most 63 bytes" },
};

static void create_refused(void *arg)
{
	size_t i = *(size_t *)arg;

	errno = 0;
	CHILD_CHECK(!kmem_cache_create_args(refused[i].name, refused[i].size, &refused[i].args,
					    refused[i].flags));
	CHILD_CHECK(errno == refused[i].error);
}

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		const char *name = refused[i].name ? refused[i].name : "(null)";
		struct child c = child_run(create_refused, &i);
		char expected[200];

		os_format(expected, sizeof(expected),
			  "uslab: kmem_cache_create_args(%s) failed with error -%d: ", name,
			  refused[i].error);
		assert_true(child_passed(&c));
		assert_int_equal(strncmp(c.text, expected, strlen(expected)), 0);
		assert_non_null(strstr(c.text + strlen(expected), refused[i].why));
		assert_ptr_equal(strchr(c.text, '\n'), c.text + strlen(c.text) - 1);
	}
}

static void create_or_panic(void *arg)
{
	(void)arg;
	kmem_cache_create("must", 0, 0, SLAB_PANIC, NULL);
}

static void test_panic(void **state)
{
	struct child c = child_run(create_or_panic, state);

	assert_true(child_aborted(&c));
	assert_string_equal(c.text, "uslab: kmem_cache_create: Failed to create slab 'must'. "
				    "Error -22: size 0 is not 1 to 4194304\n");
}

static void fill_five(void *obj)
{
	memset(obj, 5, 72);
}

/* The third argument chooses between the kernel's two forms; both have macros and functions. */
IN_CHILD(test_two_forms)
{
	struct kmem_cache_args args = { .align = 64, .ctor = fill_five };
	const struct kmem_cache_args same = args;
	struct kmem_cache *s[] = {
		kmem_cache_create("forms", 72, 64, 0, fill_five),
		kmem_cache_create("forms", 72, &args, 0),
		kmem_cache_create("forms", 72, &same, SLAB_HWCACHE_ALIGN),
		kmem_cache_create("forms", 72,
				  &((struct kmem_cache_args){ .align = 64, .ctor = fill_five }), 0),
	};
	struct kmem_cache *none = kmem_cache_create("none", 72, NULL, SLAB_NO_MERGE);
	struct kmem_cache *(*function)(const char *, unsigned int, unsigned int, slab_flags_t,
				       void (*)(void *)) = kmem_cache_create;

	for (size_t i = 0; i < ARRAY_SIZE(s); i++) {
		char *p = kmem_cache_alloc(s[i], GFP_KERNEL);

		CHILD_CHECK((uintptr_t)p % 64 == 0 && p[0] == 5 && p[71] == 5);
	}
	CHILD_CHECK(none && kmem_cache_size(none) == 72);
	CHILD_CHECK(function("none", 72, 0, 0, NULL) != none);
}

/* The kernel's further arguments: what they change, and what counts as none (spec 5.2). */
IN_CHILD(test_kernel_arguments)
{
	struct kmem_cache_args args = { .useroffset = 8, .usersize = 56, .sheaf_capacity = 32 };
	struct kmem_cache *plain = kmem_cache_create("plain", 64, NULL, 0);
	struct kmem_cache *copied = kmem_cache_create("copied", 64, &args, 0);
	char *p;

	CHILD_CHECK(plain && copied && copied != plain);
	args.usersize = 57; /* ends behind the object */
	CHILD_CHECK(kmem_cache_create("none", 64, &args, 0) == plain);
	args.useroffset = 65;
	args.usersize = 0;
	CHILD_CHECK(kmem_cache_create("none", 64, &args, 0) == plain);
	args = (struct kmem_cache_args)FREE_POINTER(64);
	args.ctor = fill_five;
	p = kmem_cache_alloc(copied = kmem_cache_create("free", 72, &args, 0), GFP_KERNEL);
	CHILD_CHECK(p && p[0] == 5 && p[71] == 5);
	kmem_cache_free(copied, p);
	p = kmem_cache_alloc(copied, GFP_KERNEL);
	CHILD_CHECK(p && p[0] == 5 && p[64] == 5 && p[71] == 5);
}

struct account {
	char name[24];
	char password[40];
};

/* The window of each form, and none where it does not fit. */
IN_CHILD(test_usercopy)
{
	struct kmem_cache_args args = { .useroffset = 24, .usersize = 40 };
	struct kmem_cache *s[] = {
		KMEM_CACHE_USERCOPY(account, 0, password),
		kmem_cache_create_usercopy("account", 64, 8, 0, 24, 40, NULL),
		kmem_cache_create("account", 64, &args, 0),
		kmem_cache_create_usercopy("account", 64, 8, SLAB_NO_MERGE, 24, 41, NULL),
		kmem_cache_create_usercopy("account", 64, 8, 0, 0, 64, fill_five),
	};

	for (size_t i = 0; i < ARRAY_SIZE(s); i++) {
		char *p = kmem_cache_alloc(s[i], GFP_KERNEL);
		int all = i == 4 ? 0 : -EACCES;
		int some = i == 3 ? -EACCES : 0;

		CHILD_CHECK(uslab_check_object(p + 24, 40) == some);
		CHILD_CHECK(uslab_check_object(p, 64) == all);
		CHILD_CHECK(uslab_check_object(p + 23, 2) == all);
		CHILD_CHECK(i != 4 || p[63] == 5);
	}
	CHILD_CHECK(!kmem_cache_create_usercopy("zero", 0, 0, 0, 0, 0, NULL) && errno == EINVAL);
}

static void create_too_many(void *arg)
{
	struct kmem_cache_args args = { .front = "none" };
	unsigned int n = 0;

	(void)arg;
	while (kmem_cache_create_args("n", 64, &args, SLAB_NOLEAKTRACE))
		n++;
	CHILD_CHECK(errno == ENOSPC && n == USLAB_MAX_CACHES);
}

static void test_too_many(void **state)
{
	struct child c = child_run(create_too_many, state);

	assert_true(child_passed(&c));
	assert_string_equal(c.text, "uslab: kmem_cache_create_args(n) failed with error -28: there "
				    "are 1856 caches already\n");
}

/* ---- engines and fronts by name ---- */

IN_CHILD(test_every_choice)
{
	static const char *const fronts[] = { NULL,	"array",      "none",
					      "queues", "historical", "default" };

	for (unsigned int e = 0; e < CACHE_NR_ENGINES; e++)
		for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
			struct kmem_cache_args args = { .engine = cache_engines[e]->name,
							.front = fronts[f] };
			struct kmem_cache *s = kmem_cache_create_args("s", 96, &args, 0);
			void *obj = kmem_cache_alloc(s, GFP_KERNEL | __GFP_ZERO);
			const char *front = cache_of(s)->front.ops->name;

			CHILD_CHECK(cache_of(s)->engine.ops == cache_engines[e]);
			if (f == 0 || f == 5)
				CHILD_CHECK(!strcmp(front, "array"));
			else
				CHILD_CHECK(!strcmp(front,
						    f == 4 ? cache_engines[e]->front : fronts[f]));
			for (unsigned int i = 0; i < 96; i++)
				CHILD_CHECK(((char *)obj)[i] == 0);
			kmem_cache_free(s, obj);
			CHILD_CHECK(kmem_cache_shrink(s) == 0);
			kmem_cache_destroy(s);
		}
}

/* ---- names and sizes ---- */

struct thing {
	long a;
	char b[33];
};

static void test_words(void **state)
{
	struct kmem_cache *s = KMEM_CACHE(thing, SLAB_NOLEAKTRACE);

	(void)state;
	assert_string_equal(kmem_cache_name(s), "thing");
	assert_int_equal(kmem_cache_size(s), sizeof(struct thing));
	assert_int_equal(cache_of(s)->engine.align, __alignof__(struct thing));
	kmem_cache_destroy(s);
	kmem_cache_destroy(NULL);
}

/* Spec 5.4: the first name stays; the size is the largest user's, and so is what is cleared. */
static void test_merged(void **state)
{
	struct kmem_cache *a = kmem_cache_create("A", 60, 0, 0, NULL);
	struct kmem_cache *b = kmem_cache_create("B", 64, 0, SLAB_HWCACHE_ALIGN, NULL);
	unsigned char *obj;

	(void)state;
	assert_ptr_equal(a, b);
	assert_string_equal(kmem_cache_name(b), "A");
	assert_int_equal(kmem_cache_size(a), 64);
	for (unsigned int round = 0; round < 3; round++) {
		obj = kmem_cache_zalloc(a, GFP_KERNEL);
		for (unsigned int i = 0; i < 64; i++)
			assert_int_equal(obj[i], 0);
		memset(obj, 0xff, 64);
		kmem_cache_free(a, obj);
	}
	kmem_cache_destroy(a);
	assert_string_equal(kmem_cache_name(b), "A");
	kmem_cache_free(b, kmem_cache_alloc(b, GFP_KERNEL));
	kmem_cache_destroy(b);
}

/* ---- spec 12.6: locality, on one CPU ---- */

static void stay_here(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void locality(const char *front)
{
	struct kmem_cache_args args = { .front = front };
	struct kmem_cache *s = kmem_cache_create_args("near", 32, &args, SLAB_NOLEAKTRACE);
	char *p[100];

	for (unsigned int i = 0; i < 100; i++) {
		p[i] = kmem_cache_alloc(s, GFP_KERNEL);
		CHILD_CHECK(!i || p[i] == p[i - 1] + 0x20);
	}
	kmem_cache_free(s, p[4]);
	CHILD_CHECK(kmem_cache_alloc(s, GFP_KERNEL) == p[4]);
	kmem_cache_free(s, p[1]);
	kmem_cache_free(s, p[8]);
	CHILD_CHECK(kmem_cache_alloc(s, GFP_KERNEL) == p[8]);
	CHILD_CHECK(kmem_cache_alloc(s, GFP_KERNEL) == p[1]);
	for (unsigned int i = 0; i < 10; i++)
		kmem_cache_free(s, p[i]);
	for (unsigned int i = 10; i-- > 0;)
		CHILD_CHECK(kmem_cache_alloc(s, GFP_KERNEL) == p[i]);
}

static void locality_array(void *arg)
{
	(void)arg;
	stay_here();
	locality("array");
	locality(NULL);
}

static void locality_cpuslab(void *arg)
{
	(void)arg;
	stay_here();
	locality("cpuslab");
}

static void test_locality(void **state)
{
	struct child c = child_run(locality_array, state);

	assert_true(child_passed(&c));
	c = child_run(locality_cpuslab, state);
	assert_true(child_passed(&c));
}

/* ---- one and many ---- */

static void test_inline(void **state)
{
	static const char *const fronts[] = { "array", "cpuslab", "none" };

	(void)state;
	for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
		struct kmem_cache_args args = { .front = fronts[f], .align = 64 };
		struct kmem_cache *s = kmem_cache_create_args("i", 72, &args, 0);
		char *p[300];

		for (unsigned int round = 0; round < 10; round++) {
			for (unsigned int i = 0; i < 300; i++) {
				gfp_t gfp = i % 5 ? GFP_KERNEL : GFP_KERNEL | __GFP_ZERO;

				p[i] = kmem_cache_alloc(s, gfp);
				assert_non_null(p[i]);
				assert_int_equal((uintptr_t)p[i] % 64, 0);
				assert_true(i % 5 || (p[i][0] == 0 && p[i][71] == 0));
				memset(p[i], (char)i, 72);
			}
			for (unsigned int i = 0; i < 300; i++) {
				assert_int_equal(p[i][0], (char)i);
				assert_int_equal(p[i][71], (char)i);
				kmem_cache_free(s, p[i]);
			}
		}
		cache_check_all();
		assert_int_equal(kmem_cache_shrink(s), 0);
		kmem_cache_destroy(s);
	}
}

static void test_node(void **state)
{
	struct kmem_cache *s = kmem_cache_create("node", 64, 0, SLAB_NOLEAKTRACE, NULL);

	(void)state;
	for (int node = -1; node <= (int)os_topology.nr_nodes; node++) {
		void *p = kmem_cache_alloc_node(s, GFP_KERNEL, node);

		assert_non_null(p);
		kmem_cache_free(s, p);
	}
	assert_null(
		kmem_cache_alloc_node(s, GFP_KERNEL | __GFP_THISNODE, (int)os_topology.nr_nodes));
	assert_null(kmalloc_node(64, GFP_KERNEL | __GFP_THISNODE, 77));
	kmem_cache_destroy(s);
}

static void test_bulk(void **state)
{
	struct kmem_cache *s = kmem_cache_create("bulk", 40, 0, SLAB_NOLEAKTRACE, NULL);
	static char *p[1000];

	(void)state;
	assert_int_equal(kmem_cache_alloc_bulk(s, GFP_KERNEL, 0, (void **)p), 0);
	assert_int_equal(kmem_cache_alloc_bulk(s, GFP_KERNEL, (size_t)INT32_MAX + 1, (void **)p),
			 0);
	for (unsigned int round = 0; round < 3; round++) {
		assert_int_equal(
			kmem_cache_alloc_bulk(s, GFP_KERNEL | __GFP_ZERO, 1000, (void **)p), 1000);
		for (unsigned int i = 0; i < 1000; i++) {
			assert_true(p[i][0] == 0 && p[i][39] == 0);
			memset(p[i], 0x22, 40);
		}
		if (round == 1)
			kfree_bulk(1000, (void **)p);
		else
			kmem_cache_free_bulk(s, 1000, (void **)p);
	}
	kmem_cache_free_bulk(s, 0, (void **)p);
	kmem_cache_free_bulk(NULL, 0, (void **)p);
	assert_int_equal(kmem_cache_shrink(s), 0);
	kmem_cache_destroy(s);
}

/* Spec 13: no mode is all of them; what is none is refused, and nothing was allocated. */
static void test_array(void **state)
{
	struct kmem_cache *s = kmem_cache_create("array", 40, 0, SLAB_NOLEAKTRACE, NULL);
	static char *p[1000];

	(void)state;
	assert_int_equal(kmem_cache_alloc_array(s, GFP_KERNEL, 10, (void **)p, 16), -EINVAL);
	assert_int_equal(kmem_cache_alloc_array(s, GFP_KERNEL, 10, (void **)p, ~0u), -EINVAL);
	assert_int_equal(kmem_cache_alloc_array(s, GFP_KERNEL, (size_t)INT32_MAX + 1, (void **)p,
						0),
			 -EINVAL);
	assert_int_equal(kmem_cache_alloc_array(s, GFP_KERNEL, 0, (void **)p, 0), 0);
	for (unsigned int mode = 0; mode <= SLAB_ARRAY_ALL; mode += SLAB_ARRAY_FULL) {
		assert_int_equal(kmem_cache_alloc_array(s, GFP_KERNEL | __GFP_ZERO, 1000,
							(void **)p, mode),
				 1000);
		for (unsigned int i = 0; i < 1000; i++) {
			assert_true(p[i][0] == 0 && p[i][39] == 0);
			memset(p[i], 0x22, 40);
		}
		for (unsigned int i = 0; i < 1000; i += 7) {
			kfree(p[i]);
			p[i] = NULL;
		}
		kmem_cache_free_array(s, 1000, (void **)p);
	}
	kmem_cache_free_array(s, 0, NULL);
	assert_int_equal(kmem_cache_shrink(s), 0);
	kmem_cache_destroy(s);
}

/* Of several caches and of none (spec 5.8). */
static void test_bulk_mixed(void **state)
{
	struct kmem_cache *s = kmem_cache_create("mixed", 40, 0, SLAB_NOLEAKTRACE, NULL);
	void *p[90];

	(void)state;
	for (unsigned int i = 0; i < 90; i += 3) {
		p[i] = kmem_cache_alloc(s, GFP_KERNEL);
		p[i + 1] = kmalloc(50 + i, GFP_KERNEL);
		p[i + 2] = kmalloc(9000 + i * 1000, GFP_KERNEL);
	}
	kfree_bulk(90, p);
	assert_int_equal(kmem_cache_shrink(s), 0);
	kmem_cache_destroy(s);
}

static void bulk_too_much(void *arg)
{
	const struct rlimit none = { 0, 0 };
	struct kmem_cache *s;
	static void *p[20000];
	void *one;

	(void)arg;
	s = kmem_cache_create("much", 1024, 0, SLAB_NOLEAKTRACE, NULL);
	one = kmem_cache_alloc(s, GFP_KERNEL);
	child_limit(RLIMIT_DATA, &none);
	CHILD_CHECK(kmem_cache_alloc_bulk(s, GFP_KERNEL, 20000, p) == 0);
	kmem_cache_free(s, one);
	CHILD_CHECK(kmem_cache_shrink(s) == 0); /* nothing was kept */
	CHILD_CHECK(kmem_cache_alloc_bulk(s, GFP_KERNEL | __GFP_NOWARN, 1000, p) == 1000);
}

static void test_bulk_all_or_none(void **state)
{
	struct child c;
	const char *line = "uslab: SLUB: Unable to allocate memory on node -1, "
			   "gfp=0xcc0(GFP_KERNEL)\nuslab:   cache: much, object size: 1024, ";

	if (!bare_process())
		skip();
	c = child_run(bulk_too_much, state);
	assert_true(child_passed(&c));
	assert_memory_equal(c.text, line, strlen(line));
}

static unsigned int constructed;

static void ctor(void *obj)
{
	constructed++;
	*(long *)obj = 42;
}

static void test_ctor(void **state)
{
	struct kmem_cache *s = kmem_cache_create("ctor", 24, 0, 0, ctor);
	long *p[500];

	(void)state;
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < 500; i++) {
			p[i] = kmem_cache_alloc(s, GFP_KERNEL);
			assert_int_equal(*p[i], 42);
		}
		for (unsigned int i = 0; i < 500; i++)
			if (round == 2 || i % 8)
				kmem_cache_free(s, p[i]);
		if (round < 2) /* the others keep their slabs: no object is made twice */
			for (unsigned int i = 0; i < 500; i += 8)
				kmem_cache_free(s, p[i]);
	}
	assert_true(constructed >= 500);
	kmem_cache_destroy(s);
}

/* ---- destroy ---- */

static void destroy_live(void *arg)
{
	struct kmem_cache *s = kmem_cache_create("live", 256, 0, SLAB_NOLEAKTRACE, NULL);
	char *p = kmem_cache_alloc(s, GFP_KERNEL);
	char *q;

	child_needs_objects();
	(void)arg;
	memset(p, 0x33, 256);
	kmem_cache_destroy(s);
	CHILD_CHECK(p[0] == 0x33 && p[255] == 0x33);
	CHILD_CHECK(!strcmp(kmem_cache_name(s), "live"));
	q = kmem_cache_alloc(s, GFP_KERNEL);
	CHILD_CHECK(q && q != p);
	kmem_cache_free(s, q);
	kmem_cache_free(s, p);
	CHILD_CHECK(kmem_cache_shrink(s) == 0);
}

static void test_destroy_live(void **state)
{
	static const char banner[] =
		"\nBUG live (Not tainted): Objects remaining in live on __kmem_cache_shutdown()\n";
	static const char end[] = "\nkmem_cache_destroy live: Slab cache still has objects when "
				  "called from destroy_live+0x";
	struct child c = child_run(destroy_live, state);
	char *at;

	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text, banner));
	at = strstr(c.text, " @offset=0\n");
	assert_non_null(at);
	at += strlen(" @offset=0");
	assert_memory_equal(at, end, strlen(end));
	assert_string_equal(strchr(at + 1, '\n'), "\n"); /* and nothing more */
}

/* ---- vector 16 ---- */

/* Slabs and large blocks are all there is, and all of it comes back. */
static void test_all_comes_back(void **state)
{
	struct kmem_cache *s[40];
	void *obj[40][20];
	void *k[400];
	unsigned long start;
	unsigned long sum = 0;
	struct list_head *pos;

	(void)state;
	uslab_trim();
	start = bytes_out();
	for (unsigned int i = 0; i < 40; i++) {
		struct kmem_cache_args args = { .front = i % 3 ? NULL : "cpuslab" };

		s[i] = kmem_cache_create_args("back", 1 + i * i * 7, &args, 0);
		for (unsigned int j = 0; j < 20; j++)
			assert_non_null((obj[i][j] = kmem_cache_alloc(s[i], GFP_KERNEL)));
	}
	for (unsigned int i = 0; i < 400; i++) {
		k[i] = kmalloc((size_t)i * i + 1, GFP_KERNEL);
		assert_non_null(k[i]);
		sum += ksize(k[i]) > KMALLOC_MAX_CACHE_SIZE ? ksize(k[i]) : 0;
	}
	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);
		struct engine_stats stats;

		c->engine.ops->stats(&c->engine, &stats);
		sum += stats.slab_bytes;
	}
	assert_int_equal(bytes_out(), sum);
	cache_check_all();
	for (unsigned int i = 0; i < 40; i++)
		for (unsigned int j = 0; j < 20; j++)
			kmem_cache_free(s[i], obj[i][j]);
	for (unsigned int i = 0; i < 400; i++)
		kfree(k[i]);
	for (unsigned int i = 0; i < 40; i++)
		kmem_cache_destroy(s[i]);
	uslab_trim();
	assert_int_equal(bytes_out(), start);
	cache_check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_panic),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_every_choice),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_locality),
		cmocka_unit_test(test_inline),
		cmocka_unit_test(test_node),
		cmocka_unit_test(test_bulk),
		cmocka_unit_test(test_array),
		cmocka_unit_test(test_bulk_mixed),
		cmocka_unit_test(test_bulk_all_or_none),
		cmocka_unit_test(test_ctor),
		cmocka_unit_test(test_destroy_live),
		cmocka_unit_test(test_two_forms),
		cmocka_unit_test(test_kernel_arguments),
		cmocka_unit_test(test_usercopy),
		cmocka_unit_test(test_all_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
