/* SPDX-License-Identifier: MIT */
/*
 * os/memory/policy.c - memory policies: from which nodes objects come (spec 0.4)
 *
 * Why:        docs/adr/0062.
 * Data:       see policy.h.
 * Invariants: see policy.h; bits of a mask are below os_topology.nr_nodes.
 * Locks:      none.
 * Flow:       see policy.h; calls os/cpu/cpulist.h, os/cpu/nodes.h and os/memory/place.h.
 */
#include "os/memory/policy.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/cpu/cpulist.h"
#include "os/cpu/nodes.h"
#include "os/memory/place.h"
#include "os/sys.h"

#define WORD_BITS 64u
#define KERNEL_FLAGS 0xe000 /* MPOL_F_STATIC_NODES and the like, in what get_mempolicy(2) says */
#define KERNEL_WEIGHTED 6   /* MPOL_WEIGHTED_INTERLEAVE, since Linux 6.9 */
#define KERNEL_BITS 1024u   /* the kernel refuses fewer than it has possible nodes */

BUILD_ASSERT(OS_MAX_NODES <= WORD_BITS); /* a mask is one word */

struct thread_policy {
	struct os_policy policy;
	unsigned int next;   /* INTERLEAVE: where the search for the next node begins */
	unsigned int spread; /* the same for os_policy_spread() */
};

/* initial-exec: an access must never allocate. */
static __thread struct thread_policy own __attribute__((tls_model("initial-exec")));

static struct os_policy of_process;

/* ---- made ------------------------------------------------------------------------------------ */

/* The nodes of a caller's mask that exist here. */
static uint64_t mask_of(const unsigned long *nodes, unsigned int nr_nodes)
{
	unsigned int known = MIN(os_topology.nr_nodes, nr_nodes);

	if (!nodes || !known)
		return 0;
	return nodes[0] & ~0ull >> (WORD_BITS - known) & os_nodes.memory;
}

static bool any_bit(const unsigned long *nodes, unsigned int nr_nodes)
{
	for (unsigned int n = 0; nodes && n < nr_nodes; n++)
		if (nodes[n / WORD_BITS] >> n % WORD_BITS & 1)
			return true;
	return false;
}

int os_policy_make(struct os_policy *policy, int mode, const unsigned long *nodes,
		   unsigned int nr_nodes)
{
	struct os_policy made = { .mode = mode, .mask = mask_of(nodes, nr_nodes) };
	bool given = any_bit(nodes, nr_nodes);

	switch (mode) {
	case OS_POLICY_DEFAULT:
	case OS_POLICY_LOCAL:
		if (given)
			return -EINVAL;
		break;
	case OS_POLICY_PREFERRED:
		if (!given)
			made.mode = OS_POLICY_LOCAL;
		else if (!made.mask)
			return -EINVAL;
		break;
	case OS_POLICY_BIND:
	case OS_POLICY_INTERLEAVE:
	case OS_POLICY_PREFERRED_MANY:
		if (!made.mask)
			return -EINVAL;
		break;
	default:
		return -EINVAL;
	}
	if (mode == OS_POLICY_BIND && os_topology.nr_nodes > 1 && !os_topology.made_up &&
	    !os_can_bind())
		return -EPERM;
	*policy = made;
	return 0;
}

/* The mode that text begins with; *rest: behind it. -1: none. */
static int parse_mode(const char *text, const char **rest)
{
	static const char *const names[] = {
		[OS_POLICY_DEFAULT] = "default", [OS_POLICY_PREFERRED] = "preferred",
		[OS_POLICY_BIND] = "bind",	 [OS_POLICY_INTERLEAVE] = "interleave",
		[OS_POLICY_LOCAL] = "local",	 [OS_POLICY_PREFERRED_MANY] = "preferred-many",
	};
	size_t len = strcspn(text, ":");

	for (unsigned int mode = 0; mode < ARRAY_SIZE(names); mode++)
		if (strlen(names[mode]) == len && !memcmp(names[mode], text, len)) {
			*rest = text + len;
			return (int)mode;
		}
	return -1;
}

static bool takes_nodes(int mode)
{
	return mode != OS_POLICY_DEFAULT && mode != OS_POLICY_LOCAL;
}

/* ":0-3:7". *above: it has some that no mask has a bit for. false: no such list. */
static bool parse_nodes(const char *text, unsigned long *nodes, bool *above)
{
	char range[16];
	unsigned int first;
	unsigned int last;

	*nodes = 0;
	*above = false;
	while (*text == ':') {
		size_t len = strcspn(++text, ":");
		const char *next = range;

		if (!len || len >= sizeof(range))
			return false;
		memcpy(range, text, len);
		range[len] = '\0';
		if (strchr(range, ',') || os_cpulist_next(&next, &first, &last) <= 0 || *next)
			return false;
		*above |= last >= WORD_BITS;
		for (; first <= last && first < WORD_BITS; first++)
			*nodes |= os_node_bit(first);
		text += len;
	}
	return !*text;
}

int os_policy_parse(struct os_policy *policy, const char *text)
{
	const char *rest;
	unsigned long nodes;
	bool above;
	int mode = parse_mode(text, &rest);

	if (mode < 0 || !parse_nodes(rest, &nodes, &above))
		return -EINVAL;
	/* a text names what is meant to be there; masks of a caller may have all bits set */
	if ((above || nodes != mask_of(&nodes, WORD_BITS)) && takes_nodes(mode))
		return -ENODEV;
	return os_policy_make(policy, mode, &nodes, WORD_BITS);
}

int os_policy_set(int mode, const unsigned long *nodes, unsigned int nr_nodes)
{
	struct os_policy policy;
	int ret = os_policy_make(&policy, mode, nodes, nr_nodes);

	if (!ret) {
		own.policy = policy;
		own.next = 0;
	}
	return ret;
}

void os_policy_set_process(const struct os_policy *policy)
{
	of_process = *policy;
}

void os_policy_read_kernel(void)
{
	unsigned long nodes[KERNEL_BITS / WORD_BITS] = { 0 };
	int mode = 0;

	if (os_topology.nr_nodes == 1 || os_topology.made_up)
		return;
	if (os_syscall(SYS_get_mempolicy, &mode, nodes, KERNEL_BITS, 0, 0) != 0)
		return;
	mode &= ~KERNEL_FLAGS;
	if (mode == KERNEL_WEIGHTED)
		mode = OS_POLICY_INTERLEAVE;
	os_policy_make(&of_process, mode, nodes, WORD_BITS); /* else it has none */
}

/* ---- asked ----------------------------------------------------------------------------------- */

static const struct os_policy *of_thread(void)
{
	return own.policy.mode == OS_POLICY_DEFAULT ? &of_process : &own.policy;
}

static unsigned int lowest(uint64_t mask)
{
	return (unsigned int)__builtin_ctzll(mask);
}

/* The first node of the mask at or after `from`, going round. */
static unsigned int next_node(uint64_t mask, unsigned int from)
{
	uint64_t above = mask & ~0ull << from;

	return lowest(above ? above : mask);
}

/* The nth node of the mask. */
static unsigned int nth_node(uint64_t mask, unsigned int n)
{
	while (n--)
		mask &= mask - 1;
	return lowest(mask);
}

/* All but INTERLEAVE. */
static unsigned int fixed_node(const struct os_policy *policy, unsigned int local)
{
	switch (policy->mode) {
	case OS_POLICY_PREFERRED:
		return lowest(policy->mask);
	case OS_POLICY_BIND:
	case OS_POLICY_PREFERRED_MANY:
		return os_nodes_nearest(policy->mask, local);
	default:
		return local;
	}
}

static struct os_place place_at(const struct os_policy *policy, unsigned int node)
{
	return (struct os_place){
		.nodes = policy->mode == OS_POLICY_BIND ? policy->mask : OS_ALL_NODES,
		.first = node,
		.interleaved = policy->mode == OS_POLICY_INTERLEAVE,
		.sure = policy->mode == OS_POLICY_BIND,
	};
}

struct os_place os_policy_place(unsigned int local)
{
	const struct os_policy *policy = of_thread();
	unsigned int node;

	if (policy->mode != OS_POLICY_INTERLEAVE)
		return place_at(policy, fixed_node(policy, local));
	node = next_node(policy->mask, own.next);
	own.next = (node + 1) % WORD_BITS;
	return place_at(policy, node);
}

struct os_place os_policy_place_by(const struct os_policy *policy, uint32_t *cursor,
				   unsigned int local)
{
	unsigned int n;

	if (policy->mode != OS_POLICY_INTERLEAVE)
		return place_at(policy, fixed_node(policy, local));
	n = fetch_add(cursor, 1) % bits_count(policy->mask);
	return place_at(policy, nth_node(policy->mask, n));
}

void os_policy_apply(void *addr, size_t size)
{
	static bool used; /* a mapping had one, and may come back for another thread; atomic */
	const struct os_policy *policy = of_thread();

	if (os_topology.nr_nodes == 1 || os_topology.made_up)
		return;
	if (policy->mode == OS_POLICY_DEFAULT && !load_relaxed(&used))
		return;
	store_relaxed(&used, true);
	os_bind_by(addr, size, policy);
}

struct os_place os_policy_spread(void)
{
	unsigned int node = next_node(os_nodes.memory, own.spread);

	own.spread = (node + 1) % WORD_BITS;
	return (struct os_place){ .nodes = OS_ALL_NODES, .first = node };
}

unsigned int os_policy_peek(unsigned int local)
{
	const struct os_policy *policy = of_thread();

	if (policy->mode == OS_POLICY_INTERLEAVE)
		return next_node(policy->mask, own.next);
	return fixed_node(policy, local);
}

bool os_policy_stays(unsigned int local)
{
	const struct os_policy *policy = of_thread();

	return policy->mode != OS_POLICY_INTERLEAVE && fixed_node(policy, local) == local;
}

unsigned int os_policy_node(unsigned int local)
{
	return os_policy_place(local).first;
}
