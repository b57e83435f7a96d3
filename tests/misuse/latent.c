/* SPDX-License-Identifier: MIT */
/*
 * misuse/latent.c - an own cache's array holds what should never have been freed: whoever empties it says so,
 * and the program goes on
 *
 * misuse: latent_double argument=double
 * misuse: latent_interior needs=sequences argument=interior
 * misuse: latent_foreign needs=sequences argument=foreign
 * misuse: latent_other needs=sequences argument=other
 * misuse: latent_link argument=link
 * misuse: latent_destroy argument=destroy
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
 * Twice, with another one in between; the second time when the first has long reached its slab, and was written to,
 * so that its mark is gone.
 */
static void free_twice(void)
{
	kmem_cache_free(mine, p[0]);
	kmem_cache_free(mine, p[1]);
	kmem_cache_shrink(mine);
	memset(wild(p[0]), 0, 8);
	kmem_cache_free(mine, p[0]);
}

static void make_mistake(const char *what)
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
	} else {
		kmem_cache_free(mine, p[0]);
		kmem_cache_free(mine, p[1]);
		kmem_cache_shrink(mine);
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
