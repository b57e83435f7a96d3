/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_scale_table.c - what grows with the CPUs, for people: one table for each
 * quantity
 *
 * Flow:       called by compare_table.c; calls its cells. In: struct scaling; out: text on stdout.
 */
#include "compare/compare.h"

#include <inttypes.h>
#include <stdio.h>

#define WIDE 9	 /* bytes */
#define NARROW 4 /* "0 B" */
#define ONE_NODE "(1 node)"

enum quantity { QUEUES, CPU_SLABS, SLABS, TIME };

struct table {
	const struct scaling *s;
	const struct scale_point (*points)[COMPARE_SCALES]; /* by kind */
	enum quantity quantity;
	bool one_node; /* queues: also with all CPUs on one */
};

/* The next contestant of the scaling runs from kind on; COMPARE_NR: none. */
static unsigned int next_kind(const struct scaling *s, unsigned int kind)
{
	while (kind < COMPARE_NR && !(s->chosen & 1u << kind))
		kind++;
	return kind;
}

/* ---- cells ---- */

static uint64_t bytes_of(const struct job_bytes *bytes, enum quantity quantity)
{
	if (quantity == QUEUES)
		return bytes->queue;
	return quantity == CPU_SLABS ? bytes->cpu_slab : bytes->slab;
}

/* Columns of those that are all zero are narrow. */
static int width_of(const struct table *t, unsigned int kind)
{
	bool zero = (t->quantity == QUEUES && !compare_has_queues(kind)) ||
		    (t->quantity == CPU_SLABS && !compare_has_cpu_slabs(kind));
	int name = (int)strlen(compare_kinds[kind].name);
	int width = zero ? NARROW : WIDE;

	return name > width ? name : width;
}

static bool has_one_node(const struct table *t, unsigned int kind)
{
	return t->one_node && t->quantity == QUEUES && compare_has_queues(kind);
}

static void put_cell(const struct table *t, unsigned int kind, unsigned int at)
{
	const struct scale_point *p = &t->points[kind][at];
	int width = width_of(t, kind);

	if (!p->ok)
		printf(" %*s", width, "-");
	else if (t->quantity == TIME)
		table_ns(width, p->ns_per_op);
	else
		table_bytes(width, bytes_of(&p->peak, t->quantity));
	if (!has_one_node(t, kind))
		return;
	if (p->ok && t->s->nodes[at] > 1)
		table_bytes(WIDE, p->one_node.queue);
	else
		printf(" %*s", WIDE, "-");
}

static void print_table(const struct table *t, const char *title)
{
	const struct scaling *s = t->s;

	printf("\n%s\n%4s %5s", title, "CPUs", "nodes");
	for (unsigned int kind = 0; (kind = next_kind(s, kind)) < COMPARE_NR; kind++) {
		printf(" %*s", width_of(t, kind), compare_kinds[kind].name);
		if (has_one_node(t, kind))
			printf(" %*s", WIDE, ONE_NODE);
	}
	putchar('\n');
	for (unsigned int at = 0; at < s->nr; at++) {
		printf("%4u %5u", s->cpus[at], s->nodes[at]);
		for (unsigned int kind = 0; (kind = next_kind(s, kind)) < COMPARE_NR; kind++)
			put_cell(t, kind, at);
		putchar('\n');
	}
}

/* ---- what the queues' table says ---- */

static const char *plural(unsigned int nr)
{
	return nr == 1 ? "" : "s";
}

static void print_place(const struct scaling *s, unsigned int at)
{
	printf(" on %u CPU%s", s->cpus[at], plural(s->cpus[at]));
	if (s->nodes[at] > 1)
		printf(" and %u nodes", s->nodes[at]);
}

static void print_growth(const struct table *t, unsigned int kind)
{
	const struct scaling *s = t->s;
	const struct scale_point *first = &t->points[kind][0];
	const struct scale_point *last = &t->points[kind][s->nr - 1];
	char size[UTIL_SIZE_TEXT];

	if (first->peak.queue)
		printf("%.1f times as much", (double)last->peak.queue / (double)first->peak.queue);
	else
		printf("%s", util_size(size, sizeof(size), last->peak.queue));
	print_place(s, s->nr - 1);
	fputs(first->peak.queue ? " as" : ", none", stdout);
	print_place(s, 0);
	if (t->one_node && s->nodes[s->nr - 1] > 1 && last->one_node.queue)
		printf(", %.2f times what the same %u CPUs hold on one node",
		       (double)last->peak.queue / (double)last->one_node.queue, s->cpus[s->nr - 1]);
}

static void print_contestant(const struct table *t, unsigned int kind)
{
	const struct scale_point *last = &t->points[kind][t->s->nr - 1];
	char size[UTIL_SIZE_TEXT];

	printf("%s: ", compare_kinds[kind].name);
	if (!t->points[kind][0].ok || !last->ok)
		printf("not measured");
	else if (compare_has_queues(kind))
		print_growth(t, kind);
	else
		printf("no queues");
	if (last->ok && compare_has_cpu_slabs(kind))
		printf("; its CPU slabs hold %s",
		       util_size(size, sizeof(size), last->peak.cpu_slab));
}

/* One sentence, a line for each contestant. */
static void print_sentence(const struct table *t)
{
	unsigned int next;

	for (unsigned int kind = next_kind(t->s, 0); kind < COMPARE_NR; kind = next) {
		next = next_kind(t->s, kind + 1);
		print_contestant(t, kind);
		puts(next < COMPARE_NR ? ";" : ".");
	}
}

/* ---- all ---- */

static void print_bytes(struct table t)
{
	static const char *const titles[] = {
		[QUEUES] = "Bytes in queues",
		[CPU_SLABS] = "Free bytes in slabs of CPUs",
		[SLABS] = "Slabs",
	};

	for (t.quantity = QUEUES; t.quantity <= SLABS; t.quantity++) {
		print_table(&t, titles[t.quantity]);
		if (t.quantity == QUEUES)
			print_sentence(&t);
	}
}

void compare_print_scaling(const struct scaling *s, size_t constant_ops)
{
	struct table growing = { .s = s, .points = s->points, .one_node = s->nodes[s->nr - 1] > 1 };
	struct table constant = { .s = s, .points = s->constant };

	puts("\nScaling: as many copies of the trace as load the CPUs; the highest bytes seen");
	if (growing.one_node)
		puts(ONE_NODE ": were all these CPUs on one node");
	print_bytes(growing);
	growing.quantity = TIME;
	print_table(&growing, "ns per operation, one round each");
	printf("\nAt constant work: the same %zu operations, the CPUs share them; memory can only grow "
	       "because of the machine\n",
	       constant_ops);
	print_bytes(constant);
}
