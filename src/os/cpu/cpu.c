/* SPDX-License-Identifier: MIT */
/*
 * os/cpu/cpu.c - the topology as a value: CPUs, nodes, which of them runs this thread
 *
 * Data:       os_topology, filled once; acting_for, what a thread pretends to be.
 * Invariants: os/cpu/cpu.h has them; checked by os_cpu_check().
 * Locks:      none; the library's init calls os_cpu_init() before there is a second user.
 * Flow:       see cpu.h; calls os/process/file.h, os/cpu/cpulist.h, os/cpu/nodes.h, sched_getcpu.
 *
 * CPU numbers may have holes (0-3,8-11) and present CPUs may be fewer than possible ones. What is
 * indexed by CPU number takes nr_cpu_ids, what depends on how many there are takes nr_cpus.
 */
#include <fcntl.h>
#include <sched.h>
#include <string.h>

#include <uslab/layout.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/cpu/cpu.h"
#include "os/cpu/cpulist.h"
#include "os/cpu/nodes.h"
#include "os/process/file.h"
#include "os/cpu/rseq.h"
#include "os/process/say.h"
#include "os/sys.h"

#define SYS_FOLDER "/sys/devices/system"
#define STATUS_FILE "/proc/self/status"
#define PATH_BYTES 256
#define LIST_BYTES 4097 /* sysfs prints at most a page */

BUILD_ASSERT(USLAB_MAX_CPUS <= ARRAY_SIZE(os_topology.node_of));
BUILD_ASSERT(OS_MAX_NODES <= UINT8_MAX);

struct topology os_topology = { .nr_cpu_ids = 1, .nr_cpus = 1, .nr_nodes = 1, .nr_windows = 1 };

static bool is_read; /* os_cpu_init() has run, or os_topology_set() instead */

/* CPU + 1, or 0: no pretence. initial-exec: an access must never allocate. */
static __thread unsigned int acting_for __attribute__((tls_model("initial-exec")));

/* Reads folder/name. Returns bytes or -errno. */
static long read_list(char list[LIST_BYTES], const char *folder, const char *name)
{
	char path[PATH_BYTES];

	if (os_format(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
		return -ENAMETOOLONG;
	return os_read_text(path, list, LIST_BYTES);
}

/* The same, and its highest number and how many there are. 0 or -errno. */
static int measure_list(char list[LIST_BYTES], const char *folder, const char *name,
			unsigned int *highest, unsigned int *count)
{
	long ret = read_list(list, folder, name);

	return ret < 0 ? (int)ret : os_cpulist_measure(list, highest, count);
}

/* The CPUs that this thread may run on. false: the kernel does not say. */
static bool allowed_cpus(struct os_cpumask *mask)
{
	*mask = (struct os_cpumask){ { 0 } };
	return os_syscall(SYS_sched_getaffinity, 0, sizeof(*mask), mask) > 0;
}

/* How many CPUs are in it, and the highest one's number plus one; 0 of both: none are. */
static unsigned int measure_mask(const struct os_cpumask *mask, unsigned int *nr_ids)
{
	unsigned int count = 0;

	*nr_ids = 0;
	for (unsigned int i = 0; mask && i < ARRAY_SIZE(mask->word); i++)
		if (mask->word[i]) {
			count += bits_count(mask->word[i]);
			*nr_ids = i * OS_WORD_BITS + fls(mask->word[i]);
		}
	return count;
}

/*
 * Without /sys, the kernel's own bound of CPU numbers, rounded up to 64: it refuses an affinity
 * mask that is shorter. It may hand out a longer one than it has CPUs for.
 */
static unsigned int shortest_mask(void)
{
	struct os_cpumask mask;
	size_t words;

	for (words = 1; words < ARRAY_SIZE(mask.word); words++)
		if (os_syscall(SYS_sched_getaffinity, 0, words * sizeof(long), &mask) > 0)
			break;
	return (unsigned int)words * OS_WORD_BITS;
}

/*
 * The same rounded up to 4: in "Cpus_allowed: 00000000,00000003" there is a digit for each 4
 * possible CPUs. 0: no such line.
 */
static cold unsigned int digits_of_status(const char *path)
{
	static const char name[] = "\nCpus_allowed:\t";
	char text[LIST_BYTES];
	unsigned int digits = 0;
	const char *p;

	if (os_read_text(path, text, sizeof(text)) < 0)
		return 0;
	p = strstr(text, name);
	if (!p)
		return 0;
	for (p += sizeof(name) - 1; *p && strchr("0123456789abcdef,", *p); p++)
		digits += *p != ',';
	return *p == '\n' ? digits : 0; /* else there is more than was read */
}

/*
 * Without /sys: whom this thread may run on, and numbers that no CPU exceeds, those of CPUs that
 * are offline or not allowed now among them.
 */
static cold void count_affinity(unsigned int *nr_ids, unsigned int *nr_cpus, const char *status,
				const struct os_cpumask *allowed)
{
	unsigned int digits = digits_of_status(status);
	struct os_cpumask mask;
	unsigned int least;

	if (!allowed) {
		allowed_cpus(&mask);
		allowed = &mask;
	}
	*nr_cpus = measure_mask(allowed, &least);
	*nr_ids = shortest_mask();
	if (digits)
		*nr_ids = MIN(*nr_ids, digits * 4);
	*nr_ids = MAX(*nr_ids, MAX(least, 1u));
}

/*
 * A list that leaves out a CPU that this thread may run on is not this kernel's: somebody laid
 * another over it. It would make too few words, and rseq indexes them by the kernel's numbers.
 */
static noinline void read_cpus(struct topology *t, const char *sys, const char *status,
			       const struct os_cpumask *allowed)
{
	char list[LIST_BYTES];
	unsigned int allowed_ids;
	unsigned int nr_allowed = measure_mask(allowed, &allowed_ids);
	unsigned int nr_ids;
	unsigned int nr_cpus;
	unsigned int highest;
	unsigned int count;

	if (measure_list(list, sys, "cpu/possible", &highest, &count) == 0 &&
	    highest + 1 >= allowed_ids && count >= nr_allowed) {
		nr_ids = highest + 1;
		nr_cpus = count;
		if (count != nr_allowed &&
		    measure_list(list, sys, "cpu/present", &highest, &count) == 0)
			nr_cpus = MAX(count, nr_allowed);
	} else {
		count_affinity(&nr_ids, &nr_cpus, status, allowed);
	}

	t->folded = nr_ids > USLAB_MAX_CPUS;
	t->nr_cpu_ids = MIN(nr_ids, (unsigned int)USLAB_MAX_CPUS);
	t->nr_cpus = CLAMP(nr_cpus, 1u, t->nr_cpu_ids);
	t->nr_windows = t->nr_cpu_ids;
}

static bool is_in(const struct os_cpumask *mask, unsigned int cpu)
{
	return mask->word[cpu / OS_WORD_BITS] >> cpu % OS_WORD_BITS & 1;
}

/* Gives the CPUs of one node's list that node. CPUs that are offline now appear in no list. */
static cold void read_node(struct topology *t, const char *sys, unsigned int node,
			   struct os_cpumask *listed)
{
	char list[LIST_BYTES];
	char name[64];
	const char *next = list;
	unsigned int first;
	unsigned int last;

	os_format(name, sizeof(name), "node/node%u/cpulist", node);
	if (read_list(list, sys, name) < 0)
		return;
	while (os_cpulist_next(&next, &first, &last) > 0)
		for (; first <= last && first < t->nr_cpu_ids; first++) {
			t->node_of[first] = (uint8_t)(node % OS_MAX_NODES);
			listed->word[first / OS_WORD_BITS] |= 1ul << first % OS_WORD_BITS;
		}
}

static bool has_link(const char *sys, unsigned int cpu, unsigned int node)
{
	char path[PATH_BYTES];
	long fd;

	if (os_format(path, sizeof(path), "%s/cpu/cpu%u/node%u", sys, cpu, node) >= sizeof(path))
		return false;
	fd = os_syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC);
	if (fd >= 0)
		os_syscall(SYS_close, fd);
	return fd >= 0;
}

/* The folder of a CPU that is there and offline keeps the link to its node. */
static cold void read_offline(struct topology *t, const char *sys, const struct os_cpumask *listed)
{
	char list[LIST_BYTES];
	const char *next = list;
	unsigned int cpu;
	unsigned int last;

	if (read_list(list, sys, "cpu/present") < 0)
		return;
	while (os_cpulist_next(&next, &cpu, &last) > 0)
		for (; cpu <= last && cpu < t->nr_cpu_ids; cpu++)
			for (unsigned int node = 0; !is_in(listed, cpu) && node < t->nr_nodes;
			     node++)
				if (has_link(sys, cpu, node))
					t->node_of[cpu] = (uint8_t)node;
}

/*
 * Online nodes are the ones with CPUs or memory; virtual machines often call many more possible.
 * Kernels without NUMA have no such folder: one node.
 */
static noinline void read_nodes(struct topology *t, const char *sys)
{
	struct os_cpumask listed = { { 0 } };
	char list[LIST_BYTES];
	const char *next = list;
	unsigned int first;
	unsigned int last;
	unsigned int count;

	t->nr_nodes = 1;
	if (measure_list(list, sys, "node/online", &last, &count) < 0 &&
	    measure_list(list, sys, "node/possible", &last, &count) < 0)
		return;

	/* More nodes than fit share, like CPUs. */
	t->nr_nodes = MIN(last + 1, (unsigned int)OS_MAX_NODES);
	if (t->nr_nodes == 1)
		return; /* all CPUs are of that one */
	while (os_cpulist_next(&next, &first, &last) > 0)
		for (; first <= last; first++)
			read_node(t, sys, first, &listed);
	read_offline(t, sys, &listed);
}

/* Each has a page of the stack for a file, one after the other: all at once they would add up. */
void os_topology_read(struct topology *t, const char *sys, const char *status,
		      const struct os_cpumask *allowed)
{
	*t = (struct topology){ 0 };
	read_cpus(t, sys, status, allowed);
	read_nodes(t, sys);
}

void os_cpu_init(void)
{
	struct os_cpumask allowed;
	struct topology t;

	if (is_read)
		return;
	is_read = true;
	os_topology_read(&t, SYS_FOLDER, STATUS_FILE, allowed_cpus(&allowed) ? &allowed : NULL);
	os_nodes_read(&os_nodes, t.nr_nodes, SYS_FOLDER);
	os_nodes_confine(&os_nodes, t.nr_nodes, STATUS_FILE);
	os_nodes_adopt(&os_nodes, &t);
	/* Another thread may wait for the one that is here, and look how many CPUs there are. */
	store_relaxed(&os_topology.nr_cpus, t.nr_cpus);
	os_topology.nr_cpu_ids = t.nr_cpu_ids;
	os_topology.nr_nodes = t.nr_nodes;
	os_topology.nr_windows = t.nr_windows;
	os_topology.folded = t.folded;
	memcpy(os_topology.node_of, t.node_of, sizeof(t.node_of));
}

int os_topology_set(unsigned int cpus, unsigned int nodes)
{
	struct os_cpumask allowed;
	struct topology real;
	unsigned int cpu;

	if (cpus < 1 || cpus > USLAB_MAX_CPUS || nodes < 1 || nodes > OS_MAX_NODES || nodes > cpus)
		return -EINVAL;
	is_read = true;
	read_cpus(&real, SYS_FOLDER, STATUS_FILE, allowed_cpus(&allowed) ? &allowed : NULL);
	/* The kernel's CPU numbers, which rseq goes by, mean nothing from now on. */
	os_rseq_on = false;
	os_topology = (struct topology){
		.nr_cpu_ids = cpus,
		.nr_cpus = cpus,
		.nr_nodes = nodes,
		.nr_windows = MAX(cpus, real.nr_cpu_ids),
		.made_up = true,
	};
	for (cpu = 0; cpu < cpus; cpu++)
		os_topology.node_of[cpu] = (uint8_t)(cpu * nodes / cpus);
	os_nodes_make_up(nodes);
	return 0;
}

unsigned int os_current_cpu(void)
{
	int saved = errno;
	int cpu;

	if (unlikely(os_topology.made_up) && acting_for)
		return (acting_for - 1) % os_topology.nr_cpu_ids;
	cpu = sched_getcpu();
	if (unlikely(cpu < 0)) { /* neither rseq nor getcpu: everybody shares CPU 0 */
		errno = saved;
		return 0;
	}
	if (unlikely((unsigned int)cpu >= os_topology.nr_cpu_ids))
		return (unsigned int)cpu % os_topology.nr_cpu_ids;
	return (unsigned int)cpu;
}

void os_act_as_cpu(unsigned int cpu)
{
	CHECK(os_topology.made_up && cpu < os_topology.nr_cpu_ids);
	acting_for = cpu + 1;
}

void os_cpu_check(void)
{
	const struct topology *t = &os_topology;
	unsigned int cpu;

	CHECK(t->nr_cpus >= 1 && t->nr_cpus <= t->nr_cpu_ids);
	CHECK(t->nr_cpu_ids <= t->nr_windows && t->nr_windows <= USLAB_MAX_CPUS);
	CHECK(t->nr_nodes >= 1 && t->nr_nodes <= OS_MAX_NODES);
	CHECK(!(os_rseq_on && (t->made_up || t->folded)));
	for (cpu = 0; cpu < ARRAY_SIZE(t->node_of); cpu++)
		CHECK(t->node_of[cpu] < t->nr_nodes);
}
