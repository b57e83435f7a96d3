/* SPDX-License-Identifier: MIT */
/*
 * unit/os/cpu/nodes_test.c - distances and memory of nodes, in a folder and made up
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "child.h"
#include "os/cpu/nodes.h"

static char folder[] = "/tmp/uslab-nodes-test-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), "%s/node", folder);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/node/%s", folder, name);
	*strrchr(path, '/') = '\0';
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/node/%s", folder, name);
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
	if (system(command))
		return -1;
	return mkdir(folder, 0700);
}

static void check_order(const struct os_nodes *nodes, unsigned int from, const char *order)
{
	for (unsigned int i = 0; order[i]; i++)
		assert_int_equal(nodes->order[from][i], order[i] - '0');
}

/* Two sockets of two nodes each. */
static void put_four(void)
{
	put("online", "0-3\n");
	put("has_memory", "0-3\n");
	put("node0/distance", "10 12 21 31\n");
	put("node1/distance", "12 10 31 21\n");
	put("node2/distance", "21 31 10 12\n");
	put("node3/distance", "31 21 12 10\n");
}

static void test_read(__attribute__((unused)) void **state)
{
	static struct os_nodes nodes;

	put_four();
	os_nodes_read(&nodes, 4, folder);
	assert_int_equal(nodes.memory, 0xf);
	check_order(&nodes, 0, "0123");
	check_order(&nodes, 1, "1032");
	check_order(&nodes, 2, "2301");
	check_order(&nodes, 3, "3210");
}

/* Numbers with holes: a line has the nodes that are online. */
static void test_read_holes(__attribute__((unused)) void **state)
{
	static struct os_nodes nodes;

	put("online", "0,2,5\n");
	put("has_memory", "0,5\n");
	put("node0/distance", "10 40 20\n");
	put("node2/distance", "40 10 30\n");
	put("node5/distance", "20 30 10\n");
	os_nodes_read(&nodes, 6, folder);
	assert_int_equal(nodes.memory, 0x21);
	check_order(&nodes, 0, "052"); /* and then those that are not there */
	check_order(&nodes, 2, "250");
	check_order(&nodes, 5, "502");
}

/* Nothing there, or what is there is nonsense: as made up. */
static void test_read_nothing(__attribute__((unused)) void **state)
{
	static struct os_nodes nodes;

	os_nodes_read(&nodes, 4, folder);
	assert_int_equal(nodes.memory, 0xf);
	check_order(&nodes, 1, "1203");
	put_four();
	put("node2/distance", "21 x 10 12\n");
	os_nodes_read(&nodes, 4, folder);
	check_order(&nodes, 1, "1203");
	put("node2/distance", "21 31\n");
	os_nodes_read(&nodes, 4, folder);
	check_order(&nodes, 2, "2310");
	put("online", "0-9\n"); /* more than the machine has */
	put("has_memory", "oops\n");
	os_nodes_read(&nodes, 4, folder);
	assert_int_equal(nodes.memory, 0xf);
	check_order(&nodes, 0, "0123");
	put("node0/distance", "10 99999999999999999999 12 11\n");
	put("node2/distance", "21 31 10 12\n");
	put("online", "0-3\n");
	os_nodes_read(&nodes, 4, folder);
	check_order(&nodes, 0, "0321");
}

/* What the cpuset of a process allows. */
static void test_confine(__attribute__((unused)) void **state)
{
	static struct os_nodes nodes;
	char path[300];

	put_four();
	os_nodes_read(&nodes, 4, folder);
	snprintf(path, sizeof(path), "%s/node/status", folder);
	os_nodes_confine(&nodes, 4, path); /* no such file */
	assert_int_equal(nodes.memory, 0xf);
	put("status", "Name:\tx\nMems_allowed:\t0c\nMems_allowed_list:\t2-3\nx:\t1\n");
	os_nodes_confine(&nodes, 1, path);
	assert_int_equal(nodes.memory, 0xf);
	os_nodes_confine(&nodes, 4, path);
	assert_int_equal(nodes.memory, 0xc);
	put("status", "Name:\tx\nMems_allowed_list:\t0\n");
	os_nodes_confine(&nodes, 4, path); /* nothing would be left */
	assert_int_equal(nodes.memory, 0xc);
	put("status", "Name:\tx\nMems_allowed_list:\tnonsense\n");
	os_nodes_confine(&nodes, 4, path);
	assert_int_equal(nodes.memory, 0xc);
}

static void test_adopt(__attribute__((unused)) void **state)
{
	static struct os_nodes nodes;
	struct topology t = { .nr_cpu_ids = 4, .nr_nodes = 4, .node_of = { 0, 1, 2, 3 } };

	put_four();
	put("has_memory", "0,3\n");
	os_nodes_read(&nodes, 4, folder);
	os_nodes_adopt(&nodes, &t);
	assert_int_equal(t.node_of[0], 0);
	assert_int_equal(t.node_of[1], 0);
	assert_int_equal(t.node_of[2], 3);
	assert_int_equal(t.node_of[3], 3);
}

IN_CHILD(test_made_up)
{
	os_distances distances = { { 0 } };

	os_nodes_check();
	CHILD_CHECK(os_topology_set(8, 8) == 0);
	os_nodes_check();
	CHILD_CHECK(os_nodes.memory == 0xff);
	/* by the difference of the numbers; of two the higher */
	CHILD_CHECK(!memcmp(os_nodes.order[3], "\3\4\2\5\1\6\0\7", 8));
	CHILD_CHECK(!memcmp(os_nodes.order[7], "\7\6\5\4\3\2\1\0", 8));
	CHILD_CHECK(os_nodes_nearest(0x81, 3) == 0 && os_nodes_nearest(0x81, 4) == 7);
	CHILD_CHECK(os_nodes_nearest(0, 4) == 4 && os_nodes_nearest(0x10, 4) == 4);
	for (unsigned int node = 0; node < 8; node++)
		distances[3][node] = (uint8_t)(20 + (node == 7 ? 0 : node));
	os_nodes_set_distances(8, distances);
	os_nodes_check();
	CHILD_CHECK(!memcmp(os_nodes.order[3], "\3\7\0\1\2\4\5\6", 8));
	CHILD_CHECK(os_topology_set(64, 64) == 0);
	os_nodes_check();
	CHILD_CHECK(os_nodes.memory == ~0ull);
	CHILD_CHECK(os_topology_set(4, 1) == 0);
	os_nodes_check();
	CHILD_CHECK(os_nodes.memory == 1);
}

/* Whatever this machine is. */
IN_CHILD(test_this_machine)
{
	os_cpu_init();
	os_nodes_check();
	for (unsigned int cpu = 0; cpu < os_topology.nr_cpu_ids; cpu++)
		CHILD_CHECK(os_nodes.memory & os_node_bit(os_cpu_to_node(cpu)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_read, clear),
		cmocka_unit_test_setup(test_read_holes, clear),
		cmocka_unit_test_setup(test_read_nothing, clear),
		cmocka_unit_test_setup(test_confine, clear),
		cmocka_unit_test_setup(test_adopt, clear),
		cmocka_unit_test(test_made_up),
		cmocka_unit_test(test_this_machine),
	};
	char command[100];
	int failed;

	if (!mkdtemp(folder)) {
		perror(folder);
		return 1;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) ? 1 : failed;
}
