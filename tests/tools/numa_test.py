#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nodes of a made-up machine as tools show them: info -n, JSON, OpenMetrics, --fields."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from programs import WITH_LIBRARY, compile_program  # noqa: E402

BIN = os.environ["USLAB_BIN"]
LIB = os.environ["USLAB_LIB"]

NODES = 8
COUNTED = 4000
# A cache on all nodes in turn, one on two of them, and a thread's policy on node 5.
PROGRAM = r"""
#include <stdio.h>
#include <unistd.h>
#include <uslab/slab.h>

static struct kmem_cache *make(const char *name, int mode, unsigned long mask)
{
	struct kmem_cache *s = kmem_cache_create(name, 1000, 0, SLAB_NO_MERGE, NULL);

	if (!s || uslab_cache_set_mempolicy(s, mode, &mask, 64))
		return NULL;
	for (int i = 0; i < 4000; i++)
		if (!kmem_cache_alloc(s, GFP_KERNEL))
			return NULL;
	return s;
}

int main(void)
{
	unsigned long five = 1 << 5;
	struct kmem_cache *s;

	if (!make("even", USLAB_POLICY_INTERLEAVE, 0xff) || !make("bound", USLAB_POLICY_BIND, 0x24))
		return 1;
	s = kmem_cache_create("fifth", 1000, 0, SLAB_NO_MERGE, NULL);
	if (!s || uslab_set_mempolicy(USLAB_POLICY_PREFERRED, &five, 64))
		return 1;
	for (int i = 0; i < 100; i++)
		if (!kmem_cache_alloc(s, GFP_KERNEL))
			return 1;
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
"""


class Nodes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        program = compile_program(self.folder.name, "nodes", PROGRAM, *WITH_LIBRARY)
        self.process = self.start(program, f"topology=16x{NODES}")

    def tearDown(self):
        self.process.kill()
        self.process.communicate()
        self.folder.cleanup()

    def start(self, program, conf):
        env = dict(os.environ, LD_LIBRARY_PATH=LIB, USLAB_CONF=conf)
        process = subprocess.Popen([program], stdout=subprocess.PIPE, text=True, env=env)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def info(self, *options):
        run = subprocess.run([BIN, "info", "-p", str(self.process.pid), *options], text=True,
                             capture_output=True, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def test_json(self):
        top = json.loads(self.info("--json", "-z"))
        nodes = top["nodes"]
        self.assertEqual([node["node"] for node in nodes], list(range(NODES)))
        caches = {cache["name"]: cache for cache in top["caches"]}
        even = [node["slabs"] for node in caches["even"]["nodes"]]
        self.assertEqual(len(even), NODES)
        self.assertLessEqual(max(even) - min(even), 1)
        self.assertLessEqual({node["node"] for node in caches["bound"]["nodes"]}, {2, 5})
        self.assertEqual({node["node"] for node in caches["fifth"]["nodes"]}, {5})
        for key in ("slabs", "objects"):
            self.assertGreater(sum(node[key] for node in nodes), COUNTED // 20)
        self.assertEqual(sum(node["slab_bytes"] for node in nodes), top["uslab"]["slab_bytes"])
        self.assertEqual(sum(node["free_bytes"] for node in nodes), top["uslab"]["free_bytes"])
        given = sum(node["numa_hit"] + node["numa_miss"] for node in nodes)
        self.assertEqual(given, sum(node["local_node"] + node["other_node"] for node in nodes))
        self.assertEqual(sum(node["numa_miss"] for node in nodes), 0)
        self.assertGreater(nodes[7]["interleave_hit"], 0)

    def test_text(self):
        lines = self.info("-n").splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("Node "))
        self.assertEqual(lines[at].split()[1:], [str(node) for node in range(NODES)])
        rows = {line.split()[0]: [int(n) for n in line.split()[1:]] for line in lines[at + 1:]}
        self.assertEqual(len(rows["numa_hit"]), NODES)
        self.assertGreater(rows["numa_hit"][5], 0)
        fields = subprocess.run([BIN, "info", "--fields"], text=True, capture_output=True, check=True)
        for row in rows:
            self.assertRegex(fields.stdout, rf"(?m)^  {row} ")

    def test_metrics(self):
        text = self.info("--openmetrics")
        found = re.findall(r'^uslab_node_numa_hit_total\{.*",node="(\d)"\} (\d+)$', text, re.M)
        self.assertEqual([int(node) for node, _ in found], list(range(NODES)))
        self.assertIn("# TYPE uslab_node_remote_frees counter\n# HELP uslab_node_remote_frees ", text)
        self.assertIn("# TYPE uslab_node_slabs gauge\n", text)
        self.assertIn("# TYPE uslab_node_remote_frees_total counter\n", self.info("--prometheus"))

    def test_one_node(self):
        """Nothing is added there."""
        self.process.kill()
        self.process.communicate()
        source = "#include <stdio.h>\n#include <unistd.h>\n#include <uslab/slab.h>\n" \
                 "int main(void) { kmalloc(100, 0); puts(\"ready\"); fflush(stdout); pause(); }\n"
        program = compile_program(self.folder.name, "plain", source, *WITH_LIBRARY)
        self.process = self.start(program, "topology=4x1")
        self.assertEqual(json.loads(self.info("--json"))["nodes"], [])
        self.assertNotIn("numa_hit", self.info("-n"))


if __name__ == "__main__":
    unittest.main()
