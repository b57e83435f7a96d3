/* SPDX-License-Identifier: MIT */
/*
 * unit/os/cpu/cpu_test.c - the machine, machines laid out in a folder, made-up ones
 *
 * Machines in a folder have the files of /sys/devices/system that os_topology_read() reads.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uslab/layout.h>
#include <cmocka.h>

#include "bare.h"
#include "child.h"
#include "os/cpu/cpu.h"
#include "os/cpu/rseq.h"
#include "os/sys.h"

static char folder[] = "/tmp/uslab-cpu-test-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[300];
	FILE *file;
	char *slash;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	for (slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int clear(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static char status[sizeof(folder) + 10]; /* a file in it, which most machines do not have */

/* A machine: possible and present CPUs, online nodes (NULL: no such file). */
static void put_machine(const char *possible, const char *present, const char *nodes)
{
	clear(NULL);
	mkdir(folder, 0700);
	if (possible)
		put("cpu/possible", possible);
	if (present)
		put("cpu/present", present);
	if (nodes)
		put("node/online", nodes);
}

/* Before os_cpu_init() there is one CPU, and everything works. Must be the first test. */
static void test_before_init(void **state)
{
	(void)state;
	assert_int_equal(os_topology.nr_cpu_ids, 1);
	assert_int_equal(os_current_cpu(), 0);
	assert_int_equal(os_current_node(), 0);
	os_cpu_check();
}

static void test_this_machine(void **state)
{
	struct topology again;
	unsigned int cpu;

	(void)state;
	errno = 77;
	os_cpu_init();
	assert_int_equal(errno, 77);
	os_cpu_check();
	assert_false(os_topology.made_up);
	assert_int_equal(os_topology.nr_cpus, sysconf(_SC_NPROCESSORS_CONF));
	cpu = os_current_cpu();
	assert_true(cpu < os_topology.nr_cpu_ids);
	assert_true(os_current_node() < os_topology.nr_nodes);
	again = os_topology;
	os_cpu_init();
	assert_memory_equal(&again, &os_topology, sizeof(again));
}

static void test_current_cpu(void **state)
{
	cpu_set_t old;
	int cpu;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(old), &old), 0);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		cpu_set_t one;

		if (!CPU_ISSET(cpu, &old))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		assert_int_equal(os_current_cpu(), cpu);
		assert_int_equal(os_current_node(), os_cpu_to_node((unsigned int)cpu));
	}
	sched_setaffinity(0, sizeof(old), &old);
}

static void test_read_simple(void **state)
{
	struct topology t;

	(void)state;
	put_machine("0-3\n", "0-3\n", NULL);
	memset(&t, 0xff, sizeof(t));
	os_topology_read(&t, folder, status, NULL);
	assert_int_equal(t.nr_cpu_ids, 4);
	assert_int_equal(t.nr_cpus, 4);
	assert_int_equal(t.nr_nodes, 1);
	assert_int_equal(t.node_of[3], 0);
	assert_false(t.made_up);
	assert_false(t.folded);
}

/* Possible CPUs with holes, fewer present ones, nodes with holes, one node without CPUs. */
static void test_read_holes(void **state)
{
	struct topology t;

	(void)state;
	put_machine("0-3,8-11,16\n", "0,2,8-9\n", "0,2-3\n");
	put("node/node0/cpulist", "0-3\n");
	put("node/node2/cpulist", "8,10-11\n");
	put("node/node3/cpulist", "\n");
	put("node/possible", "0-31\n");
	put("cpu/cpu2/node2", ""); /* is listed: not looked at */
	os_topology_read(&t, folder, status, NULL);
	assert_int_equal(t.nr_cpu_ids, 17);
	assert_int_equal(t.nr_cpus, 4);
	assert_int_equal(t.nr_nodes, 4);
	assert_int_equal(t.node_of[0], 0);
	assert_int_equal(t.node_of[8], 2);
	assert_int_equal(t.node_of[2], 0);
	assert_int_equal(t.node_of[9], 0); /* offline: in no list, and nothing tells */
	assert_int_equal(t.node_of[10], 2);
	assert_int_equal(t.node_of[16], 0);
}

/* Their folders have links to the nodes. */
static void test_read_offline(void **state)
{
	struct topology t;

	(void)state;
	put_machine("0-7\n", "0-5\n", "0-1\n");
	put("node/node0/cpulist", "0-1\n");
	put("node/node1/cpulist", "3\n");
	put("cpu/cpu2/node0", "");
	put("cpu/cpu4/node1", "");
	put("cpu/cpu5/node1", "");
	put("cpu/cpu6/node1", ""); /* is not there */
	os_topology_read(&t, folder, status, NULL);
	assert_int_equal(t.nr_nodes, 2);
	for (unsigned int cpu = 0; cpu < 8; cpu++)
		assert_int_equal(t.node_of[cpu], cpu >= 3 && cpu <= 5);
}

/* Whoever may run on all possible CPUs does not read which are present. */
static void test_read_allowed(void **state)
{
	const struct os_cpumask all = { { 0x10f } };
	const struct os_cpumask some = { { 0x3 } };
	struct topology t;

	(void)state;
	put_machine("0-3,8\n", "0-1\n", NULL);
	os_topology_read(&t, folder, status, &all);
	assert_int_equal(t.nr_cpu_ids, 9);
	assert_int_equal(t.nr_cpus, 5);
	os_topology_read(&t, folder, status, &some);
	assert_int_equal(t.nr_cpu_ids, 9);
	assert_int_equal(t.nr_cpus, 2);
}

/* A folder that names fewer CPUs than this thread may run on is not believed. */
static void test_read_too_few(void **state)
{
	static const char *const too_few[] = { "0\n", "0-4\n", "7\n" };
	const struct os_cpumask allowed = { { 0x25 } };
	struct topology t;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(too_few); i++) {
		put_machine(too_few[i], too_few[i], NULL);
		put("status", "Name:\tx\nCpus_allowed:\t25\nCpus_allowed_list:\t0,2,5\n");
		os_topology_read(&t, folder, status, &allowed);
		assert_int_equal(t.nr_cpu_ids, 8);
		assert_int_equal(t.nr_cpus, 3);
		put("status", "Name:\tx\nCpus_allowed:\t5\n"); /* somebody else's, too */
		os_topology_read(&t, folder, status, &allowed);
		assert_int_equal(t.nr_cpu_ids, 6);
		assert_int_equal(t.nr_cpus, 3);
	}
	put_machine("0-5\n", "0\n", NULL); /* present are at least those that are allowed */
	os_topology_read(&t, folder, status, &allowed);
	assert_int_equal(t.nr_cpu_ids, 6);
	assert_int_equal(t.nr_cpus, 3);
}

/* The list of CPUs of the only node says nothing new. */
static void test_read_one_node(void **state)
{
	struct topology t;

	(void)state;
	put_machine("0-3\n", "0-3\n", "0\n");
	put("node/node0/cpulist", "nonsense\n");
	os_topology_read(&t, folder, status, NULL);
	assert_int_equal(t.nr_nodes, 1);
	assert_int_equal(t.node_of[3], 0);
}

static void test_read_possible_nodes(void **state)
{
	struct topology t;

	(void)state;
	put_machine("0-1\n", NULL, NULL);
	put("node/possible", "0-1\n");
	put("node/node1/cpulist", "1\n");
	os_topology_read(&t, folder, status, NULL);
	assert_int_equal(t.nr_cpus, 2); /* present is missing: all possible ones */
	assert_int_equal(t.nr_nodes, 2);
	assert_int_equal(t.node_of[0], 0);
	assert_int_equal(t.node_of[1], 1);
}

static void test_read_folds(void **state)
{
	struct topology t;

	(void)state;
	put_machine("0-8191\n", "0-1999\n", "0,70\n");
	put("node/node70/cpulist", "1-8191\n");
	os_topology_read(&t, folder, status, NULL);
	assert_true(t.folded);
	assert_int_equal(t.nr_cpu_ids, USLAB_MAX_CPUS);
	assert_int_equal(t.nr_cpus, USLAB_MAX_CPUS);
	assert_int_equal(t.nr_nodes, OS_MAX_NODES);
	assert_int_equal(t.node_of[0], 0);
	assert_int_equal(t.node_of[USLAB_MAX_CPUS - 1], 70 % OS_MAX_NODES);

	put_machine("0-1499\n", "0\n", NULL);
	os_topology_read(&t, folder, status, NULL);
	assert_false(t.folded);
	assert_int_equal(t.nr_cpu_ids, 1500);
	assert_int_equal(t.nr_cpus, 1);
}

/* Without the files, or with nonsense in them, the affinity mask must do. */
static void check_fallback(unsigned int nr_cpu_ids)
{
	struct topology t;
	cpu_set_t set;
	unsigned int ids = CPU_SETSIZE;

	sched_getaffinity(0, sizeof(set), &set);
	while (!CPU_ISSET(ids - 1, &set))
		ids--;
	os_topology_read(&t, folder, status, NULL);
	assert_int_equal(t.nr_cpus, CPU_COUNT(&set));
	assert_int_equal(t.nr_nodes, 1);
	assert_int_equal(t.nr_cpu_ids, nr_cpu_ids > ids ? nr_cpu_ids : ids);
}

/* The shortest mask that the kernel takes: it has room for all possible CPUs. */
static unsigned int kernel_bound(void)
{
	unsigned long mask[128];
	size_t words = 1;

	while (words < 128 && syscall(SYS_sched_getaffinity, 0, words * 8, mask) < 0)
		words++;
	return words * 64 < USLAB_MAX_CPUS ? (unsigned int)words * 64 : USLAB_MAX_CPUS;
}

static void test_read_fallback(void **state)
{
	static const char *const nonsense[] = { "", "\n", "none\n", "3-1\n", "0-1x\n" };
	size_t i;

	(void)state;
	put_machine(NULL, NULL, NULL);
	check_fallback(kernel_bound());
	assert_true(kernel_bound() >= sysconf(_SC_NPROCESSORS_CONF));
	for (i = 0; i < ARRAY_SIZE(nonsense); i++) {
		put_machine(nonsense[i], "0-63", nonsense[i]);
		check_fallback(kernel_bound());
	}
}

/* A digit for each 4 possible CPUs, also for those that are not allowed now. */
static void test_read_status(void **state)
{
	static const struct {
		const char *text;
		unsigned int nr_cpu_ids; /* 0: as without the file */
	} file[] = {
		{ "Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n", 4 },
		{ "Name:\tx\nCpus_allowed:\t001\nCpus_allowed_list:\t0\n", 12 },
		{ "Name:\tx\nCpus_allowed:\t00,00000001\nMems_allowed:\t1\n", 40 },
		{ "Name:\tx\nCpus_allowed_list:\t0-1\n", 0 },
		{ "Name:\tx\nCpus_allowed:\t00,000", 0 }, /* cut off */
		{ "Name:\tx\nCpus_allowed:\tall\n", 0 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(file); i++) {
		put_machine(NULL, NULL, NULL);
		put("status", file[i].text);
		check_fallback(file[i].nr_cpu_ids && file[i].nr_cpu_ids < kernel_bound()
				       ? file[i].nr_cpu_ids
				       : kernel_bound());
	}
}

/* What the kernel says of this process is as good as /sys, but for rounding. */
static void test_status_of_this_machine(void **state)
{
	struct topology real;
	struct topology t;

	(void)state;
	if (access("/sys/devices/system/cpu/possible", R_OK))
		skip();
	put_machine(NULL, NULL, NULL);
	os_topology_read(&real, "/sys/devices/system", status, NULL);
	os_topology_read(&t, folder, "/proc/self/status", NULL);
	assert_true(t.nr_cpu_ids >= real.nr_cpu_ids);
	if (!is_emulated())
		assert_true(t.nr_cpu_ids < real.nr_cpu_ids + 4);
}

static void test_set_refuses(void **state)
{
	struct topology before = os_topology;

	(void)state;
	assert_int_equal(os_topology_set(0, 1), -EINVAL);
	assert_int_equal(os_topology_set(1, 0), -EINVAL);
	assert_int_equal(os_topology_set(3, 4), -EINVAL);
	assert_int_equal(os_topology_set(USLAB_MAX_CPUS + 1, 1), -EINVAL);
	assert_int_equal(os_topology_set(128, OS_MAX_NODES + 1), -EINVAL);
	assert_memory_equal(&before, &os_topology, sizeof(before));
}

static void *acts_alone(void *arg)
{
	/* What another thread acts for does not matter here. */
	(void)arg;
	return (void *)(uintptr_t)(os_current_cpu() < 64 ? 1 : 0);
}

static void test_made_up(void **state)
{
	pthread_t thread;
	void *good;
	unsigned int cpu;

	(void)state;
	os_rseq_init();
	assert_int_equal(os_topology_set(64, 4), 0);
	assert_false(os_rseq_on);
	os_cpu_check();
	assert_true(os_topology.made_up);
	assert_int_equal(os_topology.nr_cpu_ids, 64);
	assert_int_equal(os_topology.nr_cpus, 64);
	assert_int_equal(os_topology.nr_nodes, 4);
	for (cpu = 0; cpu < 64; cpu++) {
		assert_int_equal(os_cpu_to_node(cpu), cpu / 16);
		os_act_as_cpu(cpu);
		assert_int_equal(os_current_cpu(), cpu);
		assert_int_equal(os_current_node(), cpu / 16);
	}
	pthread_create(&thread, NULL, acts_alone, NULL);
	pthread_join(thread, &good);
	assert_non_null(good);
	/* the machine is not read over it, and rseq stays off */
	os_cpu_init();
	os_rseq_init();
	assert_true(os_topology.made_up);
	assert_false(os_rseq_on);
}

static void test_made_up_uneven(void **state)
{
	unsigned int cpus_of[3] = { 0 };
	unsigned int cpu;

	(void)state;
	assert_int_equal(os_topology_set(7, 3), 0);
	for (cpu = 0; cpu < 7; cpu++) {
		cpus_of[os_cpu_to_node(cpu)]++;
		if (cpu)
			assert_true(os_cpu_to_node(cpu) >= os_cpu_to_node(cpu - 1));
	}
	assert_int_equal(cpus_of[0] + cpus_of[1] + cpus_of[2], 7);
	assert_true(cpus_of[0] >= 2 && cpus_of[1] >= 2 && cpus_of[2] >= 2);

	assert_int_equal(os_topology_set(USLAB_MAX_CPUS, OS_MAX_NODES), 0);
	os_cpu_check();
	assert_int_equal(os_cpu_to_node(USLAB_MAX_CPUS - 1), OS_MAX_NODES - 1);
	/* fewer CPUs than this one's number: folded into them */
	os_act_as_cpu(1000);
	assert_int_equal(os_topology_set(3, 1), 0);
	assert_true(os_current_cpu() < 3);
	/* and yet rseq shows the machine's numbers: these words are looked at too */
	assert_true(os_topology.nr_windows >= 3);
	assert_true((long)os_topology.nr_windows >= sysconf(_SC_NPROCESSORS_ONLN));
	os_cpu_check();
}

static void act_as(void *arg)
{
	os_act_as_cpu((unsigned int)(uintptr_t)arg);
}

static void break_and_check(void *arg)
{
	os_topology.nr_cpus = 0;
	(void)arg;
	os_cpu_check();
}

static void break_node(void *arg)
{
	(void)arg;
	os_topology.node_of[2] = 1;
	os_cpu_check();
}

static void test_checks(void **state)
{
	struct child c;

	(void)state;
	assert_int_equal(os_topology_set(3, 1), 0);
	c = child_run(act_as, (void *)2);
	assert_true(child_passed(&c));
	c = child_run(act_as, (void *)3);
	assert_true(child_aborted(&c));
	c = child_run(break_and_check, NULL);
	assert_true(child_aborted(&c));
	c = child_run(break_node, NULL);
	assert_true(child_aborted(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_init),
		cmocka_unit_test(test_this_machine),
		cmocka_unit_test(test_current_cpu),
		cmocka_unit_test(test_read_simple),
		cmocka_unit_test(test_read_holes),
		cmocka_unit_test(test_read_offline),
		cmocka_unit_test(test_read_allowed),
		cmocka_unit_test(test_read_too_few),
		cmocka_unit_test(test_read_one_node),
		cmocka_unit_test(test_read_possible_nodes),
		cmocka_unit_test(test_read_folds),
		cmocka_unit_test(test_read_fallback),
		cmocka_unit_test(test_read_status),
		cmocka_unit_test(test_status_of_this_machine),
		cmocka_unit_test(test_set_refuses),
		cmocka_unit_test(test_made_up),
		cmocka_unit_test(test_made_up_uneven),
		cmocka_unit_test(test_checks),
	};

	if (!mkdtemp(folder)) {
		perror(folder);
		return 1;
	}
	snprintf(status, sizeof(status), "%s/status", folder);
	return cmocka_run_group_tests(tests, NULL, clear);
}
