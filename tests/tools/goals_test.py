#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/goals.py: what is reached is what the results say, and what they do not say has no row."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
SOURCE = os.environ.get("USLAB_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
SCRIPT = os.path.join(SOURCE, "scripts", "goals.py")
sys.path[:0] = [os.path.join(SOURCE, "scripts"), os.path.join(SOURCE, "tests", "support")]
import goals  # noqa: E402
from results import ResultsTree, result  # noqa: E402

PAGE = f"# it\n\n{goals.BEGIN}\nstale\n{goals.END}\n\nmore\n"


def pair(own=3, **more):
    return result("pair", {"own-cache": ("uslab", {"pair": own}), "uslab-malloc": ("uslab", {"pair": 11}),
                           "slow": ("peer", {"pair": 40}), "quick": ("peer", {"pair": 10}),
                           "glibc": ("system", {"pair": 1}), "loop": ("floor", {"pair": 1})}, **more)


def modes():
    return result("modes", {"uslab-malloc": ("uslab", {"written": 5.1}), "null-malloc": ("floor", {"written": 5}),
                            "peer": ("peer", {"written": 9})})


def programs(kept_as, uslab, one, two, **more):
    """Each: {program: value}, for all figures."""
    metrics = lambda values: {f"{name}.{key}": value for name, value in values.items()
                              for key in ("time", "cpu", "rss", "end")}
    return result(kept_as, {"uslab": ("uslab", metrics(uslab)), "own-cache": ("uslab", metrics({"book": 7})),
                            "mimalloc2": ("peer", metrics(one)), "two": ("peer", metrics(two)),
                            "glibc": ("system", metrics(one))},
                  programs=[{"name": name} for name in uslab], **more)


def whole():
    means = {"uslab": {"time": 0.9, "cpu": 1.2, "rss": 0.56}, "mimalloc2": {"time": 1, "cpu": 1, "rss": 1},
             "two": {"time": 0.8, "cpu": 1.1, "rss": 0.5}}
    return programs("whole-programs", {"a": 10, "b": 12, "c": 13}, {"a": 20, "b": 11, "c": 10},
                    {"a": 9, "b": 10, "c": 30}, means={"all": means})


class InTree(ResultsTree):
    SCRIPT, PAGE, TEXT = SCRIPT, goals.PAGE, PAGE

    def rows(self):
        """{what: [goal, reached, beside]}; rows named as the one before have its name as well."""
        run = self.run_script()
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        found, before = {}, ""
        for line in self.page().splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("|") and cells[0] and not cells[0].startswith("-"):
                name = cells[0] if cells[0] not in found and "the same" not in cells[0] else f"{before}; {cells[0]}"
                before = cells[0] if "the same" not in cells[0] else before
                found[name] = cells[1:]
        return found


class Goals(InTree):
    def test_to_the_fastest(self):
        """Of peers only; not reached is bold."""
        self.add(pair())
        self.assertEqual(self.rows(), {"own cache, a pair": ["0.30 of the fastest", "0.30", "quick 10"],
                                       "drop-in, a pair": ["1.0 of the fastest", "**1.10**", "quick 10"]})
        self.assertIn("1 of 2 are reached", self.page())
        self.assertIn("\n\nmore\n", self.page())

    def test_hardly_missed(self):
        self.add(pair(own=3.012))
        self.assertEqual(self.rows()["own cache, a pair"][1], "**0.301**")

    def test_to_one_and_spread(self):
        self.add(modes())
        rows = self.rows()
        self.assertEqual(rows["drop-in, a pair with a write, median of processes"][1:], ["1.02", "null-malloc 5"])
        self.assertEqual(rows["drop-in, a pair with a write, median of processes; the same, the slowest process"][1:],
                         ["**1.50**", "median 5.10"])

    def test_worst_of_several(self):
        metrics = lambda value: dict.fromkeys(goals.BURSTS, value)
        ours = metrics(3) | {"1000.lifo": 8}
        self.add(result("batch", {"own-cache": ("uslab", metrics(3)), "uslab-malloc": ("uslab", ours),
                                  "peer": ("peer", metrics(4))}))
        self.assertEqual(self.rows()["drop-in, bursts of 100 to 10,000"][1:], ["**2.00**", "peer 4 (1000 reversed)"])

    def test_whole_programs(self):
        self.add(whole())
        rows = self.rows()
        self.assertEqual(rows["whole programs, time"][1:], ["**1.12**", "two"])
        self.assertEqual(rows["whole programs, CPU time"][1:], ["**1.20**", "mimalloc2"])
        self.assertEqual(rows["whole programs, peak memory"][1:], ["0.56", "mimalloc2"])
        self.assertEqual(rows["programs above 1.15 of their best peer's CPU time"][1:], ["**2**", "of 3; c 1.30"])
        self.assertEqual(rows["programs above 1.25 of their best peer's peak"][1:], ["**1**", "of 3; c 1.30"])

    def test_loads(self):
        """Of own caches those programs that have them; glibc is a malloc, too."""
        self.add(programs("loads", {"book": 20, "churn-2": 5, "churn-8": 9, "growth": 90},
                          {"book": 10, "churn-2": 6, "churn-8": 8, "growth": 1},
                          {"book": 15, "churn-2": 7, "churn-8": 7, "growth": 1}))
        rows = self.rows()
        self.assertEqual(rows["own caches in an order book, a table, a server"][1:], ["0.70", "glibc 10"])
        self.assertEqual(rows["drop-in, 2000 threads, memory at the end"][1:], ["**1.29**", "two 7 (churn-8)"])

    def test_newest_run(self):
        """Each goal is of the newest run that has its benchmark; the machine of each run is named once."""
        self.add(pair(own=1), modes())
        self.add(pair(own=2, date="2031-01-01T00:00:00Z", note="commit ba9876543210"), run="ba9876543210-maker-fast")
        self.assertEqual(self.rows()["own cache, a pair"][1], "0.20")
        self.assertEqual(self.page().count("Measured 2030-01-02"), 1)
        self.assertEqual(self.page().count("Measured 2031-01-01"), 1)

    def test_what_cannot_be_said(self):
        cases = (
            (None, "there are no results"),
            (result("pair", {"uslab-malloc": ("uslab", {"pair": 1}), "peer": ("peer", {"pair": 1})}),
             "pair.json: cannot say 'own cache, a pair'"),
            (result("pair", {"own-cache": ("uslab", {"pair": 1}), "peer": ("peer", {})}), "pair.json: no peer has pair"),
            (result("pair", {"own-cache": ("uslab", {"pair": 1}), "peer": ("peer", {"pair": 0})}), "cannot say"),
            (result("pair", {"own-cache": ("uslab", {"pair": None}), "peer": ("peer", {"pair": 1})}), "cannot say"),
        )
        for of, says in cases:
            with self.subTest(says):
                if of:
                    self.add(of)
                run = self.run_script()
                self.assertEqual((run.returncode, run.stdout), (1, ""))
                self.assertIn(says, run.stderr)
                self.assertEqual(self.page(), PAGE)
                self.assertTrue(list(goals.problems(self.folder)))

    def test_page_without_markers(self):
        self.add(pair())
        self.put(goals.PAGE, "# it\n")
        run = self.run_script()
        self.assertEqual(run.returncode, 1)
        self.assertIn(goals.BEGIN, run.stderr)
        self.assertEqual(list(goals.problems(self.folder)), [])

    def test_checked(self):
        """What scripts/check.py says until the table is that of the results."""
        self.add(pair())
        self.assertEqual([text for _, _, text in goals.problems(self.folder)],
                         ["its goals are not as bench/results says: scripts/goals.py"])
        self.rows()
        self.assertEqual(list(goals.problems(self.folder)), [])

    def test_wrong_usage(self):
        self.assertEqual(self.run_script("--nothing").returncode, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
