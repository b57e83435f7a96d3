#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab info --root: every option of slabinfo against its text, on a made-up tree.

The tree is tests/data/slabtree.txt.
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

SRC = os.environ["USLAB_SRC"]

sys.path.insert(0, os.path.join(SRC, "tests", "support"))
import slabtree  # noqa: E402
from infotree import Case, uslab  # noqa: E402

HEADER = "Name                   Objects Objsize           Space Slabs/Part/Cpu  O/S O %Fr %Ef Flg\n"
RULE = "-" * 72

SLIDE = HEADER + """\
:at-0000040              41635      40            1.6M       403/10/9  102 0   2  98 *a
anon_vma                  8423      56          647.1K       98/40/60   72 0  25  72 
TCP                         23    1760          131.0K          3/3/1   18 3  75  30 A
"""

DENTRY = """
Slabcache: dentry           Aliases:  0 Order :  0 Objects: 191961
** Reclaim accounting active

Sizes (bytes)     Slabs              Debug                Memory
------------------------------------------------------------------------
Object :     192  Total  :    9141   Sanity Checks : Off  Total: 37441536
SlabObj:     192  Full   :    9113   Redzoning     : Off  Used : 36856512
SlabSiz:    4096  Partial:       0   Poisoning     : Off  Loss :  585024
Loss   :       0  CpuSlab:      28   Tracking      : Off  Lalig:       0
Align  :       8  Objects:      21   Tracing       : Off  Lpadd:  585024

dentry has no kmem_cache operations

dentry: Kernel object allocation
-----------------------------------------------------------------------
No Data

dentry: Kernel object freeing
------------------------------------------------------------------------
No Data

dentry: No NUMA information available.
"""

TOTALS = """\
Slabcache Totals
----------------
Slabcaches :             112   Aliases  :         189->84   Active:     66
Memory used:          267.1M   # Loss   :            8.5M   MRatio:     3%
# Objects  :          708.5K   # PartObj:           10.2K   ORatio:     1%

Per Cache         Average              Min              Max            Total
----------------------------------------------------------------------------
#Objects            10.7K                1           192.0K           708.5K
#Slabs                350                1             9.1K            23.1K
#PartSlab               8                0               82              566
%PartSlab             34%               0%             100%               2%
PartObjs                1                0             2.0K            10.2K
% PartObj             25%               0%             100%               1%
Memory               4.0M             4.0K           162.8M           267.1M
Used                 3.9M               32           159.9M           258.6M
Loss               128.8K                0             2.9M             8.5M

Per Object        Average              Min              Max
-----------------------------------------------------------
Memory                367                8             8.1K
User                  365                8             8.1K
Loss                    2                0               64
"""

# Events of a cache, and what -D and a report say of them.
EVENTS = {"alloc_fastpath": 9000, "alloc_slowpath": 1000, "free_fastpath": 4000,
          "free_slowpath": 4000, "free_frozen": 700, "free_add_partial": 60,
          "free_remove_partial": 50, "alloc_from_partial": 80, "alloc_slab": 90,
          "alloc_refill": 13, "alloc_node_mismatch": 3, "free_slab": 30, "cpuslab_flush": 5,
          "deactivate_full": 10, "deactivate_empty": 20, "deactivate_to_head": 30,
          "deactivate_to_tail": 15, "deactivate_remote_frees": 8, "deactivate_bypass": 25,
          "order_fallback": 2, "cmpxchg_double_cpu_fail": 6, "cmpxchg_double_fail": 7,
          "cpu_partial_alloc": 40, "cpu_partial_free": 41, "cpu_partial_node": 1,
          "cpu_partial_drain": 0}
ACTIVITY = """\
Name                   Objects      Alloc       Free   %Fast Fallb O CmpX   UL
dentry                  191961      10000       8000  90  50     2 0    7    6
"""
PERFORMANCE = """
Slab Perf Counter       Alloc     Free %Al %Fr
--------------------------------------------------
Fastpath                 9000     4000  90  50
Slowpath                 1000     4000  10  50
Page Alloc                 90       30   0   0
Add partial                45       60   0   0
Remove partial             80       50   0   0
Cpu partial list           40       41   0   0
RemoteObj/SlabFrozen        8      700   0   8
Total                   10000     8000

Flushes        5

Slab Deactivation             Occurrences %
-------------------------------------------------
Slab full                          10   10%
Slab empty                         20   20%
Moved to head of partial list      30   30%
Moved to tail of partial list      15   15%
Deactivation bypass                25   25%
Refilled from foreign frees        13   13%
Node mismatch                       3    3%

Cmpxchg_double Looping
------------------------
Locked Cmpxchg Double redos   7
Unlocked Cmpxchg Double redos 6
"""

TRACES = """\
    912 d_alloc+0x2a/0x1b0 age=7/90/123 pid=1-77
        d_alloc+0x2a/0x1b0

"""


class Slides(Case):
    """The examples of the slides."""

    def test_list(self):
        lines = self.info().splitlines(keepends=True)
        for line in SLIDE.splitlines(keepends=True):
            self.assertIn(line, lines)
        self.assertEqual(lines[0], HEADER)
        self.assertEqual(len(lines), 1 + 66)

    def test_report(self):
        self.assertEqual(self.info("dentry"), DENTRY)
        self.assertEqual(self.info("-l", "DENT"), DENTRY)
        self.assertEqual(self.info("-r", "dentry"), DENTRY)

    def test_totals(self):
        self.assertEqual(self.info("-T"), TOTALS)
        self.assertEqual(self.info("--Totals"), TOTALS)
        self.assertIn("\nMemory used:       267137024   # Loss   :         8505768   MRatio:     3%\n",
                      self.info("-TB"))

    def test_totals_and_pattern(self):
        # caches with an id are read whatever the pattern
        # but not the names of them
        for pattern, counts in (("^dentry$", "85   Aliases  :           0->84 "),
                                ("^sda2$", "84   Aliases  :           1->84 "),
                                (".*", "112   Aliases  :         189->84 ")):
            self.assertRegex(self.info("-T", pattern), f"\nSlabcaches : +{counts}  ")
        self.assertEqual(uslab("--root", self.tree + "/nothing", "-T").returncode, 1)

    def test_extended(self):
        text = self.info("-X")
        self.assertTrue(text.startswith(self.info("-TB")))
        largest = "ext3_inode_cache        158650    1008       162856960     4930/82/40   32 3" \
                  "   1  98 a\n"
        loss = HEADER.replace("Space", " Loss") + largest.replace("162856960", "  2937760")
        self.assertEqual(text[len(self.info("-TB")):],
                         f"\nSlabs sorted by size\n{'-' * 20}\n{HEADER}{largest}"
                         f"\nSlabs sorted by loss\n{'-' * 20}\n{loss}"
                         f"\nSlabs sorted by number of partial slabs\n{'-' * 39}\n{HEADER}{largest}\n")
        self.assertEqual(self.info("-X", "-N", "3").count("dentry "), 2)

    def test_aliases(self):
        lines = self.info("-a").splitlines()
        self.assertIn(":at-0000104  <- buffer_head ext4_prealloc_space sda2", lines)
        self.assertEqual(lines[0], "")
        targets = [line.split()[0] for line in lines[1:]]
        self.assertEqual(targets, sorted(targets, key=str.lower))
        self.assertEqual(len(targets), 84 - 10)
        self.assertEqual(len(self.info("-a1").splitlines()) - 1, 84)
        by_name = self.info("-ai").splitlines()
        self.assertIn("sda2            -> :at-0000104", by_name)
        self.assertEqual(len(by_name), 189 - 10)
        self.assertEqual(self.info("-aN5").splitlines(), lines[:1 + 5])
        self.assertEqual(self.info("-aiN5").splitlines(), by_name[:5])
        self.assertEqual(self.info("-a1", "^SDA2"), "\n:at-0000104  <- sda2\n")
        self.assertEqual(self.info("-a1", "^dentry$"), "")


class Lists(Case):
    """Filters, names, orders, and what is printed for each cache."""

    changes = {"dentry": {key: f"{value} C0={value}" for key, value in EVENTS.items()},
               "padded": {"alloc_fastpath": "5 C1=5", "ops": "max objects: 7"},
               "TCP": {"alloc_calls": TRACES.splitlines()[0],
                       "hwcache_align": "1", "cache_dma": "1", "destroy_by_rcu": "1",
                       "poison": "1", "red_zone": "1", "sanity_checks": "1", "store_user": "1",
                       "trace": "1"}}

    def test_names(self):
        names = self.names()
        self.assertIn(":at-0000104", names)
        self.assertNotIn("ext4_prealloc_space", names)
        self.assertIn("nfs_inode", names)  # the only link to its id
        self.assertNotIn(":0000016", names)
        names = self.names("-f")
        self.assertIn("ext4_prealloc_space", names)  # the longest one
        self.assertNotIn(":at-0000104", names)
        self.assertEqual(self.names("--first-alias"), names)
        self.assertTrue(self.info("buffer_h").startswith("\nSlabcache: buffer_head "))
        self.assertEqual(self.names(r"^\(buffer_head\|sda2\|TCP\)$"), [":at-0000104", "TCP"])

    def test_empty(self):
        self.assertEqual(len(self.names()), 66)
        self.assertEqual(len(self.names("-z")), 112)
        self.assertEqual(len(self.names("-e")), 46)
        self.assertEqual(set(self.names("--zero")),
                         set(self.names("--empty")) | set(self.names()))
        self.assertTrue({"buffer_head", ":at-0000104"}.isdisjoint(self.names("-U")))
        self.assertIn("TCP", self.names("--Unreclaim"))
        # and not in the table alone
        self.assertEqual(self.info("-er").count("\nSlabcache: "), 46)
        self.assertNotIn("dentry ", self.info("-oU"))

    def test_order(self):
        names = self.names("-l")
        self.assertEqual(names, sorted(names, key=str.lower))
        self.assertEqual(self.names("-i"), names[::-1])
        for option, key in (("-S", lambda row: row.space), ("-P", lambda row: row.partial),
                            ("-L", lambda row: row.space - row.objects * row.object_size)):
            rows = sorted(slabtree.rows(), key=key, reverse=True)[:3]
            first = [row.names[0] if len(row.names) == 1 else row.folder for row in rows]
            self.assertEqual(self.names(option, "-N3"), first, option)
        self.assertEqual(self.names("-A", "-N2"), ["dentry", "padded"])
        self.assertEqual(self.names("-Ai")[-1], "dentry")
        self.assertEqual(self.names("--partial"), self.names("-P"))
        self.assertEqual(self.names("-SALP"), self.names("-S"))
        self.assertEqual(self.info("-L").splitlines()[0] + "\n", HEADER.replace("Space", " Loss"))

    def test_order_inverted(self):
        for option in "SALP":
            self.assertEqual(self.names("-i" + option), self.names("-" + option)[::-1], option)

    def test_one_match(self):
        # its report, however few lines are asked for; unless it is not to be shown at all
        report = self.info("dentry")
        for option in ("-N1", "-SN5", "-e", "-z"):
            self.assertEqual(self.info(option, "dentry"), report, option)
        run = uslab("--root", self.tree, "-U", "dentry")
        self.assertEqual((run.returncode, run.stdout), (0, ""))
        self.assertTrue(self.info("-U", "^TCP$").startswith("\nSlabcache: TCP "))

    def test_extended_activity(self):
        text = self.info("-XD")
        self.assertEqual(text.count(ACTIVITY.splitlines()[0]), 3)
        self.assertNotIn(HEADER.split()[-1], text)

    def test_numa_of_one_node(self):
        text = self.info("-n")
        self.assertEqual(text, "".join(f"\n{name}: No NUMA information available.\n"
                                       for name in self.names("-z")))

    def test_bytes(self):
        self.assertIn("\nTCP                         23    1760          131072          3/3/1   18"
                      " 3  75  30 *dAPZFUT\n".replace("*", ""), self.info("-B"))
        self.assertEqual(self.info("-BSN1"), self.info("-S", "--Bytes", "--lines=1"))

    def test_activity(self):
        self.assertEqual(self.info("-D", "-A", "-N1"), ACTIVITY)
        for name in ("--display-active", "--display-activity", "--display"):
            self.assertEqual(self.info(name, "--activity", "--lines=1"), ACTIVITY)

    def test_report(self):
        text = self.info("-r", "^dentry$")
        self.assertTrue(text.endswith("\ndentry: No NUMA information available.\n" + PERFORMANCE))
        text = self.info("-r", "^TCP$")
        self.assertIn(
            "\n** Hardware cacheline aligned\n** Memory is allocated in a special DMA zone\n"
            "** Slabs are destroyed via RCU\n\nSizes", text)
        self.assertEqual(text.count(": On  "), 5)
        self.assertIn("Lpadd:    4352\n", text)
        self.assertEqual(self.info("--report").count("\nSlabcache: "), 112)
        self.assertIn("Loss   :      64  ", self.info("padded"))
        self.assertIn("Lalig:  192000\n", self.info("padded"))

    def test_tracking(self):
        os.makedirs(self.folder + "/debug/slab/TCP")
        with open(self.folder + "/debug/slab/TCP/free_traces", "w", encoding="ascii") as stream:
            stream.write(TRACES)
        self.assertEqual(self.info("-t", "^TCP$"),
                         f"\nTCP: Kernel object allocation\n{RULE[1:]}\n{TRACES.splitlines()[0]}\n"
                         f"\nTCP: Kernel object freeing\n{RULE}\n{TRACES}")
        self.assertIn(f"\ndentry: Kernel object freeing\n{RULE}\nNo Data\n",
                      self.info("--tracking"))

    def test_ops(self):
        self.assertEqual(self.info("-o", "padded"),
                         f"\npadded: kmem_cache operations\n{'-' * 44}\nmax objects: 7\n")
        self.assertEqual(self.info("--ops", "dentry"), "\ndentry has no kmem_cache operations\n")

    def test_precedence(self):
        # the first of each pair is done
        for first, second in ("aX", "XT", "Tn", "nt", "tv", "vs", "sd", "to", "ol", "lr"):
            alone = self.info("-" + first, "^TCP$")
            self.assertEqual(self.info("-" + second, "-" + first, "^TCP$"), alone,
                             first + second)

    def test_json(self):
        data = json.loads(self.info("--json", "-N", "500"))
        self.assertEqual(set(data), {"tree", "title", "caches"})
        self.assertEqual(len(data["caches"]), 112)
        tcp = next(cache for cache in data["caches"] if cache["name"] == "TCP")
        self.assertEqual((tcp["objects"], tcp["slab_bytes"], tcp["order"]), (23, 131072, 3))
        self.assertEqual(tcp["nodes"], [{"node": 0, "slabs": 4, "partial": 3, "cpu_slabs": 1,
                                         "total_objects": 72, "objects_partial": 5}])
        self.assertTrue(all(tcp["flags"][key] for key in
                            ("poison", "trace", "store_user", "cache_dma", "destroy_by_rcu")))
        dentry = next(cache for cache in data["caches"] if cache["name"] == "dentry")
        # files that this kernel has not, of sheaves, count as 0
        self.assertEqual(dentry["stats"], {**dict.fromkeys(dentry["stats"], 0), **EVENTS})
        self.assertEqual(len(dentry["stats"]) - len(EVENTS), 17)
        # what the kernel does not tell is not 0
        self.assertTrue(all(dentry[key] is None for key in ("capacity", "objects_held", "tracked", "sampled")))
        self.assertIsNone(tcp["stats"])


class Nodes(Case):
    """A machine with three nodes."""

    table = [row for row in slabtree.rows() if row.folder[0] in "dTt"]
    changes = {"dentry": {"slabs": "9141 N0=9000 N2=141", "partial": "5 N2=5"},
               "TCP": {"slabs": "4 N1=4", "partial": "3 N1=3"}}

    def test_numa(self):
        text = self.info("-n", "^[dT]")
        self.assertTrue(text.startswith("\nSlab                 :    0    1    2\n"
                                        "-------------------------------------\n"), text)
        self.assertIn("\ndentry                 9.0K    0  141\n", text)
        self.assertIn("\nTCP                       0    4    0\n", text)
        self.assertNotIn("tw_sock_TCP", text)
        self.assertIn("tw_sock_TCP", self.info("--numa", "-z"))

    def test_report(self):
        self.assertTrue(self.info("dentry").endswith(
            "\nNUMA nodes           :    0    1    2\n"
            "-------------------------------------\n"
            "All slabs              9.0K    0  141\n"
            "Partial slabs             0    0    5\n"))


class Metrics(Case):
    table = slabtree.rows()[:12]
    changes = {"dentry": {"alloc_fastpath": "12 C0=12"}}

    def test_prometheus(self):
        text = self.info("--openmetrics")
        self.assertTrue(text.endswith("\n# EOF\n"))
        self.assertIn('uslab_cache_slab_bytes{tree="', text)
        self.assertIn(',cache="dentry"} 37441536\n', text)
        self.assertIn(',cache="dentry",event="alloc_fastpath"} 12\n', text)
        self.assertNotIn("uslab_metadata_bytes", text)  # a tree has none
        if shutil.which("promtool"):
            run = subprocess.run(["promtool", "check", "metrics"], input=self.info("--prometheus"), text=True,
                                 capture_output=True, check=False)
            self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))

    def test_strict_parser(self):
        try:
            from prometheus_client.openmetrics import parser
        except ImportError:
            self.skipTest("python3-prometheus-client is not installed")
        families = {family.name: family for family in
                    parser.text_string_to_metric_families(self.info("--openmetrics"))}
        sizes = families["uslab_cache_slab_bytes"]
        self.assertEqual((sizes.type, sizes.unit), ("gauge", "bytes"))
        self.assertEqual(sum(sample.value for sample in sizes.samples),
                         sum(row.space for row in self.table))


if __name__ == "__main__":
    unittest.main(verbosity=2)
