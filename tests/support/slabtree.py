# SPDX-License-Identifier: MIT
"""Makes a folder like the kernel's /sys/kernel/slab out of tests/data/slabtree.txt.

The table gives each cache's folder, further names, sizes and counts; sums over it are those of the
totals that Christoph Lameter showed, and single caches those of his list.
"""
import os

DATA = os.path.join(os.path.dirname(__file__), "..", "data", "slabtree.txt")
PAGE = 4096
LETTERS = {"d": "cache_dma", "A": "hwcache_align", "P": "poison", "a": "reclaim_account",
           "Z": "red_zone", "F": "sanity_checks", "U": "store_user", "T": "trace"}


class Row:
    """A line of the table."""

    def __init__(self, line):
        folder, names, *numbers, flags = line.split()
        self.folder = folder
        self.names = [] if names == "-" else names.split(",")
        self.flags = "" if flags == "-" else flags
        (self.object_size, self.slab_size, self.order, self.objs_per_slab, self.objects,
         self.slabs, self.partial, self.cpu_slabs, self.objects_partial) = map(int, numbers)

    @property
    def space(self):
        return self.slabs * (PAGE << self.order)

    def files(self):
        """File name -> text, as on a machine with one node."""
        def count(value):
            return f"{value} N0={value}" if value else "0"

        files = {key: str(getattr(self, key))
                 for key in ("object_size", "slab_size", "order", "objs_per_slab")}
        files |= {key: count(getattr(self, key))
                  for key in ("objects", "slabs", "partial", "cpu_slabs", "objects_partial")}
        files |= {key: str(int(letter in self.flags)) for letter, key in LETTERS.items()}
        files |= {"total_objects": count(self.slabs * self.objs_per_slab),
                  "aliases": str(max(len(self.names) - 1, 0)), "align": "8", "ctor": "",
                  "min_partial": "5", "cpu_partial": "30", "destroy_by_rcu": "0",
                  "remote_node_defrag_ratio": "100", "validate": "", "shrink": "",
                  "slabs_cpu_partial": "0(0)"}
        return files


def rows(path=DATA):
    """All lines of a table."""
    with open(path, encoding="ascii") as stream:
        return [Row(line) for line in stream if line.strip() and not line.startswith("#")]


def make(root, table, changes=None):
    """Makes the folders and links; changes: folder -> file -> text, or None for no such file."""
    for row in table:
        folder = os.path.join(root, row.folder)
        os.makedirs(folder)
        for name, text in (row.files() | (changes or {}).get(row.folder, {})).items():
            if text is None:
                continue
            with open(os.path.join(folder, name), "w", encoding="ascii") as stream:
                stream.write(text + "\n" if text else "")
        for name in row.names:
            os.symlink(row.folder, os.path.join(root, name))
    return root
