/* SPDX-License-Identifier: MIT */
/*
 * bench/boot.h - a model of what a kernel allocates while it boots, for the bytes that remain
 *
 * boot.def says which caches and kmallocs there are and how many of each live when the system is
 * up. They are allocated in an order that is shuffled with a fixed seed, in short bursts as drivers
 * and file systems do; between them come objects that live for a moment only, and live objects that
 * are freed and allocated anew; and every BURST the thread moves on to the next CPU. So every
 * contestant gets the same calls on the same CPUs, and ends with the same objects.
 */
#ifndef BENCH_BOOT_H
#define BENCH_BOOT_H

#include "slabs.h"
#include "team.h"

#define BOOT_LIMIT_S 1800 /* SLOB walks long lists */
#define BOOT_SEED 0x9e3779b97f4a7c15ull
#define BURST 256      /* steps between moves to another CPU */
#define SERIES 8       /* objects of a kind in a row, at most */
#define TRANSIENTS 512 /* short-lived objects at a time */
#define RENEWED 8      /* one in so many steps also renews a live object */

struct kind {
	const char *name;      /* NULL: kmalloc of min..max bytes */
	unsigned int min, max; /* equal for a cache: its size */
	unsigned int align;
	slab_flags_t flags;
	unsigned int live[2]; /* small system, desktop */
};

#define HW SLAB_HWCACHE_ALIGN
#define RCL SLAB_RECLAIM_ACCOUNT
#define ACC SLAB_ACCOUNT
#define RCU SLAB_TYPESAFE_BY_RCU
#define CACHE(name, size, align, flags, small, desktop) \
	{ name, size, size, align, flags, { small, desktop } },
#define KMALLOC(min, max, small, desktop) { NULL, min, max, 0, 0, { small, desktop } },
#define KMALLOC_RCL(min, max, small, desktop) { NULL, min, max, 0, RCL, { small, desktop } },

static const struct kind kinds[] = {
#include "boot.def"
};
#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct item {
	void *p;
	uint32_t kind, size;
};

struct boot {
	struct rng rng;
	struct kmem_cache *caches[NR_KINDS];
	struct item *live; /* nr of them so far, total at the end */
	uint32_t *order;   /* kinds of the series to come */
	size_t nr, total, nr_series;
	struct item transients[TRANSIENTS];
	uint64_t steps;
	const struct worker_args *args;
};

static uint32_t boot_size(struct boot *b, const struct kind *k)
{
	return k->min + rng_below(&b->rng, k->max - k->min + 1);
}

static struct item boot_alloc(struct boot *b, uint32_t kind)
{
	const struct kind *k = &kinds[kind];
	struct item item = { .kind = kind, .size = boot_size(b, k) };
	gfp_t gfp = k->flags & RCL ? GFP_KERNEL | __GFP_RECLAIMABLE : GFP_KERNEL;

	item.p = k->name ? kmem_cache_alloc(b->caches[kind], GFP_KERNEL) : kmalloc(item.size, gfp);
	if (!item.p)
		die("out of memory");
	*(volatile char *)item.p = 1;
	return item;
}

static void boot_free(struct boot *b, const struct item *item)
{
	if (!item->p)
		return;
	if (kinds[item->kind].name)
		kmem_cache_free(b->caches[item->kind], item->p);
	else
		kfree(item->p);
}

/* The CPUs take turns, as far as a thread may be bound to them. */
static void boot_move(struct boot *b)
{
	struct act_topology topology = team_topology();
	unsigned int allowed = (unsigned int)CPU_COUNT(&team_cpus);
	unsigned int cpus = topology.made_up ? topology.cpus : allowed;

	team_take_place(b->args, (unsigned int)(b->steps / BURST % cpus));
}

/* Beside the live ones: every kind is in use now and then, also those of which none remain. */
static void boot_churn(struct boot *b)
{
	struct item *t = &b->transients[rng_below(&b->rng, TRANSIENTS)];

	boot_free(b, t);
	*t = boot_alloc(b, rng_below(&b->rng, NR_KINDS));
	if (b->nr && !rng_below(&b->rng, RENEWED)) {
		struct item *old = &b->live[rng_below(&b->rng, (uint32_t)b->nr)];
		struct item renewed = boot_alloc(b, old->kind);

		boot_free(b, old);
		*old = renewed;
	}
}

static void boot_step(struct boot *b, uint32_t kind)
{
	if (b->steps++ % BURST == 0)
		boot_move(b);
	b->live[b->nr++] = boot_alloc(b, kind);
	boot_churn(b);
}

/* All series in a shuffled order: a kind with n live objects has n / SERIES of them, rounded up. */
static void boot_plan(struct boot *b, int model)
{
	size_t n = 0;

	for (size_t i = 0; i < NR_KINDS; i++) {
		b->total += kinds[i].live[model];
		b->nr_series += (kinds[i].live[model] + SERIES - 1) / SERIES;
	}
	b->live = harness_alloc(b->total * sizeof(*b->live));
	b->order = harness_alloc(b->nr_series * sizeof(*b->order));
	for (uint32_t i = 0; i < NR_KINDS; i++)
		for (unsigned int j = 0; j < kinds[i].live[model]; j += SERIES)
			b->order[n++] = i;
	shuffle(b->order, n, &b->rng);
}

/*
 * There is no RCU here: a constructor keeps the free pointer out of the object,
 * and merging off, as well.
 */
static void boot_keep(void *obj)
{
	(void)obj;
}

static void boot_create_caches(struct boot *b)
{
	for (size_t i = 0; i < NR_KINDS; i++) {
		const struct kind *k = &kinds[i];

		if (!k->name)
			continue;
		b->caches[i] = kmem_cache_create(k->name, k->min, k->align, k->flags & ~RCU,
						 k->flags & RCU ? boot_keep : NULL);
		if (!b->caches[i])
			die("cannot make the cache %s", k->name);
	}
}

static void boot_run(struct boot *b, int model)
{
	unsigned int left[NR_KINDS];

	for (size_t i = 0; i < NR_KINDS; i++)
		left[i] = kinds[i].live[model];
	for (size_t i = 0; i < b->nr_series; i++) {
		uint32_t kind = b->order[i];

		for (int j = 0; j < SERIES && left[kind]; j++, left[kind]--)
			boot_step(b, kind);
	}
	for (size_t i = 0; i < TRANSIENTS; i++)
		boot_free(b, &b->transients[i]);
}

static void boot_emit(const char *model, const char *what, double kib)
{
	char name[32];

	snprintf(name, sizeof(name), "%s.%s", model, what);
	emit_metric(name, kib);
}

/* SLOB and what became of it count all pages as unreclaimable. */
static bool boot_has_split(const char *contestant)
{
	return strncmp(contestant, "slob", 4) != 0;
}

/*
 * Metrics, in KiB: MODEL.requested, .slab and, where the allocator knows,
 * .reclaimable and the rest.
 */
static void mode_boot(const struct worker_args *a, const char *model)
{
	static struct boot b = { .rng = { BOOT_SEED } };
	double requested = 0, slab, reclaimable;

	alarm(BOOT_LIMIT_S);
	b.args = a;
	boot_plan(&b, !strcmp(model, "desktop"));
	boot_create_caches(&b);
	boot_run(&b, !strcmp(model, "desktop"));
	for (size_t i = 0; i < b.nr; i++)
		requested += b.live[i].size;
	slab = slabs_kib();
	boot_emit(model, "requested", requested / 1024);
	boot_emit(model, "slab", slab);
	if (!boot_has_split(a->contestant))
		return;
	reclaimable = slabs_reclaimable_kib();
	boot_emit(model, "reclaimable", reclaimable);
	boot_emit(model, "unreclaimable", slab - reclaimable);
}

#endif /* BENCH_BOOT_H */
