/* SPDX-License-Identifier: MIT */
/*
 * misuse/latent.c - an own cache's array holds what should never have been freed: whoever empties
 * it says so, and the program goes on
 *
 * misuse: latent_double argument=double
 * misuse: latent_interior needs=sequences argument=interior
 * misuse: latent_foreign needs=sequences argument=foreign
 * misuse: latent_other needs=sequences argument=other
 * misuse: latent_link argument=link
 * misuse: latent_destroy argument=destroy
 * misuse: latent_slab_double argument=double USLAB_CONF=engine=slab,front=array
 * misuse: latent_slab_index argument=index USLAB_CONF=engine=slab,front=array
 * misuse: latent_slob_double argument=double USLAB_CONF=engine=slob,front=array
 * misuse: latent_slob_header argument=header USLAB_CONF=engine=slob
 * misuse: latent_slob_kfree argument=kfree USLAB_CONF=engine=slob
 * misuse: latent_slob_link argument=link USLAB_CONF=engine=slob,front=array
 * misuse: latent_slobseg_double argument=double USLAB_CONF=engine=slobseg,front=array
 * misuse: latent_slobseg_link argument=link USLAB_CONF=engine=slobseg,front=array
 * misuse: latent_pow2_link argument=link USLAB_CONF=engine=slobseg:pow2,front=array
 * misuse: latent_slob_abort argument=link USLAB_CONF=engine=slob,front=array,report=abort
 * misuse: latent_slab_abort argument=double USLAB_CONF=engine=slab,front=array,report=abort
 *
 * With a second argument it works on until its standard input ends, for tests/tools/latent_test.py.
 */
#include <poll.h>

#include <uslab/slab.h>

#include "misuse.h"

#define NR 40

static struct kmem_cache *mine;
static char *p[NR];

/*
 * A program may write to a free object, and not hit the engine's link: whatever
 * looks like a mark there goes.
 */
static void lose_mark(char *obj)
{
	uint32_t *word = (uint32_t *)wild(obj);

	for (int i = 0; i < 4; i++)
		if (word[i] == (uint32_t)(uintptr_t)obj)
			word[i] = 0;
}

/*
 * Twice, with another one in between; the second time when the first has long reached its slab, and
 * was written to, so that its mark is gone.
 */
static void free_twice(void)
{
	kmem_cache_free(mine, p[0]);
	kmem_cache_free(mine, p[1]);
	kmem_cache_shrink(mine);
	lose_mark(p[0]);
	kmem_cache_free(mine, p[0]);
}

/*
 * Where SLAB has its numbers of free objects once all of a slab were in use: in the
 * first one that is freed.
 */
static void overwrite_index(void)
{
	for (int i = 0; i < 3 * NR; i++)
		if (!kmem_cache_alloc(mine, GFP_KERNEL))
			abort();
	kmem_cache_free(mine, p[0]);
	kmem_cache_free(mine, p[1]);
	kmem_cache_shrink(mine);
	memset(wild(p[0]), 0x41, 64);
	memset(wild(p[1]), 0x41, 64);
}

static __attribute__((noinline)) void make_mistake(const char *what)
{
	static char foreign[64];

	if (!strcmp(what, "double") || !strcmp(what, "destroy")) {
		free_twice();
	} else if (!strcmp(what, "interior")) {
		kmem_cache_free(mine, wild(p[0] + 8));
	} else if (!strcmp(what, "foreign")) {
		kmem_cache_free(mine, wild(foreign));
	} else if (!strcmp(what, "other")) {
		struct kmem_cache *other = kmem_cache_create("other", 128, 0, 0, NULL);

		kmem_cache_free(mine, wild(kmem_cache_alloc(other, GFP_KERNEL)));
	} else if (!strcmp(what, "index")) {
		overwrite_index();
	} else if (!strcmp(what, "header")) {
		char *q = wild(kmalloc(100, GFP_KERNEL));

		memset(wild(q - 8), 0x41, 8);
		kfree(q);
	} else if (!strcmp(what, "kfree")) {
		kfree(p[0]);
	} else {
		kmem_cache_free(mine, p[0]);
		kmem_cache_free(mine, p[1]);
		kmem_cache_shrink(mine);
		memset(wild(p[0]), 0x41, 64); /* SLOB's list goes by address */
		memset(wild(p[1]), 0x41, 64);
	}
}

/* Calls that are no hits look into the mailbox of tools. */
static void work_on(void)
{
	struct kmem_cache *work = kmem_cache_create("work", 200, 0, 0, NULL);
	struct pollfd input = { .fd = 0, .events = POLLIN };
	void *objs[200];

	dprintf(1, "ready\n");
	while (!poll(&input, 1, 1)) {
		for (int i = 0; i < 200; i++)
			objs[i] = kmem_cache_alloc(work, GFP_KERNEL);
		for (int i = 0; i < 200; i++)
			kmem_cache_free(work, objs[i]);
	}
}

int main(int argc, char **argv)
{
	stay_here();
	mine = kmem_cache_create("mine", 72, 0, 0, NULL);
	for (int i = 0; i < NR; i++)
		p[i] = wild(kmem_cache_alloc(mine, GFP_KERNEL));
	if (argc > 1)
		make_mistake(argv[1]);
	if (argc > 2)
		work_on();
	else if (argc > 1 && !strcmp(argv[1], "destroy"))
		kmem_cache_destroy(mine);
	else
		kmem_cache_shrink(mine);
	return survived();
}
