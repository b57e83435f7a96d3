# SPDX-License-Identifier: MIT
"""What was published about slab allocators, and a section of docs/results.md for each of it.

Each function makes one section of what scripts/results measured (runs). Explanations are given
only where the figures of this run ask for them.
"""
import statistics

from results_text import Section, amounts, cycles, grade, number, quotient, seconds, table

CONTESTANTS = ("slob:1991", "slob", "slobseg:pow2", "slobseg", "slab", "slub", "slub+array",
               "slob+array")
OURS = {"SLAB": "slab", "SLUB": "slub", "SLOB": "slob"}  # what they are called on the slides

TALK = "C. Lameter, *Slab allocators in the Linux kernel*, linux.conf.au, January 2015"
MAIL_1 = "H. Yoo, *[RFC] More deterministic SLOB for real time embedded systems*, 17 October 2021"
MAIL_2 = ("H. Yoo, *segregated list + slab merging is much better than original SLOB*, "
          "17 October 2021")
MAIL_3 = "H. Yoo, *[RFC PATCH] mm, slob: Rewrite SLOB using segregated free list*, 20 October 2021"
ARTICLE = ("dog250, an article on kmem_cache against kmalloc in fast paths of the Linux kernel, "
           "blog.csdn.net, reprinted in April 2023")

UNLIKE = ("weaker", "stronger", "differs")  # verdicts that ask for an explanation

# ---- what was published ----

SLIDE_26 = {"SLUB": (29852, 32628), "SLAB": (29028, 36532)}  # kB, reclaimable and not
SLIDE_26_SLOB_LESS = 300  # kB than SLUB
SLIDE_28 = {"SLAB": (66, 73, 102, 232, 984), "SLUB": (45, 70, 52, 90, 119),
            "SLOB": (183, 173, 172, 3008, 3037)}
SLIDE_29 = {"SLAB": (4.92, 4.87, 4.85, 4.98, 4.85), "SLUB": (4.84, 4.75, 4.85, 4.9, 4.8)}
SLIDE_30 = {"SLAB": (650, 761), "SLUB": (595, 498), "SLOB": (2650, 2013)}
# (benchmark, metric, column), in the order of the figures above
COLUMNS_28 = (("fastpath", "alloc", "Alloc"), ("fastpath", "free", "Free"),
              ("fastpath", "pair", "Alloc/Free"), ("concurrent", "alloc", "Alloc concurrent"),
              ("concurrent", "free", "Free concurrent"))
SLIDE_CPUS = 8  # of the machine of these slides
COLUMNS_30 = (("remote", "free-one", "Alloc all, free on one"),
              ("remote", "free-all", "Alloc one, free all"))
MAIL_1_SLAB, MAIL_1_SECONDS = (7936, 8976), (263.9, 28.896)  # SLOB, then segregated
MAIL_2_BOOT, MAIL_2_END, MAIL_2_SECONDS = (7908, 7560), (8544, 7836), (189.947, 20.780)
MAIL_2_COUNTERS = (("cycles", 269923095290, 57477161020),
                   ("instructions", 212341582012, 62775453932),
                   ("cache misses", 6786521959, 832404011),
                   ("context switches", 8818226, 630032))
MAIL_3_SLAB = (668, 716)
# the article's /proc/slabinfo: size, objects per slab, pages per slab
KMALLOC = ((8192, 4, 8), (4096, 8, 8), (2048, 16, 8), (1024, 16, 4), (512, 16, 2), (256, 16, 1),
           (192, 21, 1), (128, 32, 1), (96, 42, 1), (64, 64, 1), (32, 128, 1), (16, 256, 1),
           (8, 512, 1))
ARTICLE_STEPS, ARTICLE_NEXT = 19, {32: 19, 40: 0}  # of so many steps so many to the next place
ARTICLE_REUSE = (("4", "4", [4]), ("1.8", "1, then 8", [8, 1]),
                 ("all", "all", [9, 7, 6, 5, 3, 2, 0, 1, 8, 4]))


# ---- the tables ----

def memory_after_boot(runs):
    memory = runs["memory"]
    s = Section("Memory after boot: SLUB, SLAB, SLOB", f"{TALK}, slide 26",
                "kB of a desktop system after boot, beside `uslab bench memory`, model desktop: "
                "the objects of a made-up boot, in numbers scaled so that SLUB reaches the "
                "published sum. So SLUB's sum proves nothing; differences to it do.")
    ours = {name: [number(memory.metric(engine, f"desktop.{part}"))
                   for part in ("reclaimable", "unreclaimable", "slab")]
            for name, engine in OURS.items()}
    published = {name: [*map(str, parts), str(sum(parts))] for name, parts in SLIDE_26.items()}
    rows = [(name, *published.get(name, ("-", "-", f"SLUB - {SLIDE_26_SLOB_LESS}")), *ours[name])
            for name in ("SLUB", "SLAB", "SLOB")]
    s.add(table(["kB", "reclaimable", "unreclaimable", "sum", "here: reclaimable", "unreclaimable",
                 "sum"], rows))
    s.ratios([(f"SLAB / SLUB, {part}", published["SLAB"][i], published["SLUB"][i], ours["SLAB"][i],
               ours["SLUB"][i]) for i, part in enumerate(("reclaimable", "unreclaimable", "sum"))],
             amounts)
    s.when({v for what, v in s.verdicts if not what.endswith("sum")} & set(UNLIKE),
           "Both have the same objects here. On the slide two systems were booted, and had hardly "
           "the same inodes and dentries, which are most of what is reclaimable.")
    slob_less(s, ours["SLUB"][2], ours["SLOB"][2])
    return s


def slob_less(s, slub, slob):
    if slob == "-":
        s.judge("SLUB - SLOB", "not measured")
        return
    less = int(slub) - int(slob)
    s.judge("SLUB - SLOB", grade(less / SLIDE_26_SLOB_LESS))
    s.add(f"SLOB takes {abs(less)} kB {'less' if less > 0 else 'more'} than SLUB here; on the "
          f"slide, by MemAvailable, about {SLIDE_26_SLOB_LESS} kB less: {s.verdicts[-1][1]}.")
    s.when(less <= 0, "Our `slob` is SLOB as it was when it was removed: it aligns a kmalloc of a "
           "power of two to its size, behind 8 bytes of its own, which costs it the place before "
           "the object. That rule is younger than the slide.")


def published_and_ours(columns, published, runs, unit="cycles"):
    rows = [(f"{name}, slides", *map(str, published[name])) for name in ("SLAB", "SLUB", "SLOB")]
    rows += [(f"`{name}`", *(cycles(runs[benchmark].metric(name, metric))
                             for benchmark, metric, _ in columns)) for name in CONTESTANTS]
    return table([unit, *(title for _, _, title in columns)], rows)


def protocol_ratios(s, columns, published, runs):
    """SLAB and SLOB to SLUB; returns the verdicts by (name, column)."""
    rows = []
    for name in ("SLAB", "SLOB"):
        for i, (benchmark, metric, title) in enumerate(columns):
            ours = [cycles(runs[benchmark].metric(OURS[n], metric)) for n in (name, "SLUB")]
            rows.append((f"{name} / SLUB, {title}", str(published[name][i]),
                         str(published["SLUB"][i]), *ours))
    first = len(s.verdicts)
    s.ratios(rows)
    return dict(s.verdicts[first:])


def how_threads(runs, *names):
    threads = sorted({runs[name].settings["threads"] for name in names} - {None})
    return " and ".join(map(str, threads))


def are_fewer(runs, name):
    """Did fewer CPUs take part here than on the slides?"""
    threads = runs[name].settings["threads"]
    return threads is not None and threads < SLIDE_CPUS


def fastpath(runs):
    s = Section("Cycles of the fast paths, alone and on all CPUs at once", f"{TALK}, slide 28",
                "Cycles per call on a Haswell desktop with 8 CPUs, the lowest of all sizes; here "
                "by the same protocol (`uslab bench fastpath concurrent`), cycles of the time "
                f"stamp counter, {how_threads(runs, 'concurrent')} CPUs at once in the last two "
                "columns.")
    s.add(published_and_ours(COLUMNS_28, SLIDE_28, runs))
    verdicts = protocol_ratios(s, COLUMNS_28, SLIDE_28, runs)
    explain_slab(s, verdicts, runs)
    s.when(verdicts["SLOB / SLUB, Alloc/Free"] == "stronger",
           "Between pairs our heap is empty, so that SLOB takes a page from the page allocator and "
           "gives it back each time; in the kernel other objects keep pages on its lists.")
    worst_size(s, runs["fastpath"])
    nearer = [title for title in ("Alloc concurrent", "Free concurrent")
              if verdicts[f"SLOB / SLUB, {title}"] in ("weaker", "differs")]
    s.when(nearer and are_fewer(runs, "concurrent"),
           f"SLOB's one lock is asked for by {how_threads(runs, 'concurrent')} CPUs here and by "
           f"{SLIDE_CPUS} on the slides, so it is further from SLUB there ({', '.join(nearer)}).")
    return s


def explain_slab(s, verdicts, runs):
    """Where SLAB's cycles have another ratio to SLUB's than on slide 28."""
    pair = verdicts["SLAB / SLUB, Alloc/Free"]
    s.when(pair in ("differs", "weaker"),
           f"SLAB's pair is {'nearer to' if pair == 'weaker' else 'not above'} SLUB's here: the "
           "kernel's SLAB disables interrupts around each call, ours takes from its array in one "
           "restartable sequence, as our SLUB does.")
    slab, slub = (runs["fastpath"].metric(OURS[name], "free") for name in ("SLAB", "SLUB"))
    s.when(verdicts["SLAB / SLUB, Free"] == "differs",
           "Objects are freed in the order of their allocation, so most are not of the CPU's own "
           "slab: SLUB frees such a one by a compare and swap on its slab, SLAB pushes it onto its "
           "array and gives back whole batches. On the slides that came to the same; here SLAB "
           f"takes {'more' if (slab or 0) > (slub or 0) else 'fewer'} cycles.")
    s.when(verdicts["SLAB / SLUB, Free concurrent"] in ("differs", "weaker")
           and are_fewer(runs, "concurrent"),
           f"SLAB's concurrent frees: on the slides {SLIDE_CPUS} CPUs flush their arrays into the "
           f"lists of one node under one lock, here {how_threads(runs, 'concurrent')} do.")


def worst_size(s, bench):
    """The lowest of the sizes says little of SLOB."""
    found = {key: entry["median"] for key, entry in
             bench.by_name.get("slob", {"metrics": {}})["metrics"].items()
             if key.startswith("alloc.")}
    worst = max(found, key=found.get, default="alloc.0")
    size = int(worst.partition(".")[2])
    s.when(size and found[worst] > 10 * bench.metric("slob", "alloc"),
           f"The lowest of all sizes flatters SLOB: of {size} bytes an allocation takes "
           f"{cycles(found.get(worst))} cycles with `slob`, {cycles(bench.metric('slub', worst))} "
           "with `slub`."
           + (" It aligns a kmalloc of a power of two to its size behind a header of 8 bytes, "
              "which leaves gaps that fit nothing and are searched again and again. SLOB did not "
              "do that in 2015." if not size & (size - 1) else ""))


def runs_of(bench, name, digits=3):
    samples = bench.metric(name, "seconds", "samples")
    return [] if samples is None else [number(value, digits) for value in samples]


def mean_of(bench, name):
    """Of all runs; the figures of a section are shown with four digits."""
    samples = bench.metric(name, "seconds", "samples")
    return number(statistics.mean(samples) if samples else None, 4)


def settings_of(hackbench):
    g = hackbench.settings
    messages = g["groups"] * g["fds"] * g["fds"] * g["loops"]
    return (f"`-g {g['groups']} -f {g['fds']} -l {g['loops']} -s {g['size']}`: "
            f"{g['groups'] * g['fds'] * 2} threads, {messages} messages of {g['size']} bytes")


def hackbench(runs):
    bench = runs["hackbench"]
    s = Section("hackbench", f"{TALK}, slide 29",
                "Seconds of five runs with 15 groups, 50 file descriptors, 2000 messages of 512 "
                "bytes; SLOB was not measured. Here `uslab bench hackbench`, the same traffic "
                f"between threads without its sockets, {settings_of(bench)}.")
    rows = [(f"{name}, slides", *map(str, SLIDE_29[name])) for name in ("SLAB", "SLUB")]
    width = max(5, *(len(runs_of(bench, name)) for name in CONTESTANTS))
    for name in CONTESTANTS:
        samples = runs_of(bench, name, 4)
        rows.append((f"`{name}`", *samples, *["-"] * (width - len(samples))))
    rows = [(*row, *["-"] * (width + 1 - len(row))) for row in rows]
    s.add(table(["seconds", *(f"run {i + 1}" for i in range(width))], rows))
    means = [number(statistics.mean(SLIDE_29[name]), 3) for name in ("SLAB", "SLUB")]
    ours = [mean_of(bench, OURS[name]) for name in ("SLAB", "SLUB", "SLOB")]
    s.add("Compared are the means of the runs, as on the slide, here too:")
    s.ratios([("SLAB / SLUB, mean", *means, ours[0], ours[1])])
    slob, ratio = quotient(ours[2], ours[1])
    s.when(ratio, f"SLOB / SLUB, means, which nobody published: {slob}.")
    s.when(s.verdicts[0][1] == "differs",
           "Without sockets, system calls and page tables, allocations are a larger part of the "
           "time here than in the kernel, so differences between allocators show more.")
    spread = max(bench.metric(name, "seconds", "spread") or 0 for name in ("slab", "slub"))
    s.when(spread > 0.05, "The middle half of the runs of SLAB and SLUB lies within "
           f"{100 * spread:.0f} % of their median: most of the time goes into switches between "
           "threads.")
    return s


def remote(runs):
    s = Section("Frees on another CPU", f"{TALK}, slide 30",
                "Cycles on the same Haswell. The first column is averaged over all CPUs, of which "
                "one frees for all others: it is the cost of one free times 7/8 on 8 CPUs, half of "
                "it on 2. Here `uslab bench remote`, "
                f"{how_threads(runs, 'remote')} CPUs; the last column is without that factor.")
    columns = (*COLUMNS_30, ("remote", "free-one-object", "(per object)"))
    rows = {name: (*SLIDE_30[name], number(SLIDE_30[name][0] * 8 / 7)) for name in SLIDE_30}
    s.add(published_and_ours(columns, rows, runs))
    verdicts = protocol_ratios(s, COLUMNS_30, SLIDE_30, runs)
    explain_remote(s, verdicts, runs)
    return s


def explain_remote(s, verdicts, runs):
    """Only what the figures of these columns say."""
    threads = how_threads(runs, "remote")
    lock = f", and {threads} CPUs, not {SLIDE_CPUS}, give back to the lists of one node"
    faster = []
    for _, metric, title in COLUMNS_30:
        slab, slub = (runs["remote"].metric(OURS[name], metric) for name in ("SLAB", "SLUB"))
        if verdicts[f"SLAB / SLUB, {title}"] == "differs" and slab < slub:
            faster.append(title)
    s.when(faster,
           "On one node SLAB pushes a remote object onto the array of the CPU that frees it, and "
           "ours disables no interrupts for that; SLUB's remote free is a compare and swap on the "
           "slab, whose line the other CPU may have. Here that makes SLAB the faster one "
           f"({', '.join(faster)}); why it did not on the slides we do not know.")
    for _, _, title in COLUMNS_30:
        s.when(verdicts[f"SLAB / SLUB, {title}"] == "weaker",
               f"{title}: SLAB loses less to SLUB here: it disables no interrupts"
               f"{lock if are_fewer(runs, 'remote') else ''}.")
        s.when(verdicts[f"SLOB / SLUB, {title}"] == "weaker" and are_fewer(runs, "remote"),
               f"{title}: SLOB's one lock is asked for by {threads} CPUs, not {SLIDE_CPUS}.")


def growth(values):
    steps = [b / a for a, b in zip(values, values[1:]) if a]
    return (min(steps), max(steps)) if steps else (0, 0)


def kib(value):
    return number(None if value is None else value / 1024)


def held_rows(series, one_node=None):
    """What is cached, a row for each number of CPUs."""
    none = [None] * len(series["cpus"])
    slab, slub, array = (series["engines"].get(name, {"queue_bytes": none})
                         for name in ("slab", "slub", "slub+array"))

    def share(engine, key, i):
        return f"{100 * engine[key][i] / engine['slab_bytes'][i]:.0f} %"

    return [(series["cpus"][i], series["nodes"][i], kib(slab["queue_bytes"][i]),
             *([one_node[i]] if one_node else []), share(slab, "queue_bytes", i),
             kib(slub["cpu_slab_bytes"][i]), share(slub, "cpu_slab_bytes", i),
             kib(array["queue_bytes"][i])) for i in range(len(none))]


def constant_work(s, constant):
    """One copy of the trace, which all CPUs share: what grows does so because of the machine."""
    rows = held_rows(constant)
    s.add("In this table the work grows with the CPUs. The same at constant work, "
          f"{constant['operations']} operations that the CPUs share:",
          table(["CPUs", "nodes", "`slab`", "of slabs", "`slub`, CPU slabs", "of slabs",
                 "`slub+array`"], rows))
    text, ratio = quotient(rows[-1][2], rows[0][2])
    s.add(f"SLAB's queues hold {text} times as much on {rows[-1][0]} CPUs as on {rows[0][0]}: "
          f"{s.judge('queues grow with CPUs at constant work', is_growth(ratio))}.")


def is_growth(ratio):
    """The verdict where only growth was published, without a figure."""
    return "not measured" if ratio is None else "holds" if ratio > 1 else "differs"


def queues(runs):
    result = runs["scaling"]["traces"][0]
    scaling = result["scaling"]
    cpus, nodes = scaling["cpus"], scaling["nodes"]
    s = Section("Queues that grow with CPUs and nodes", f"{TALK}, slide 12",
                "\"Exponential growth of caches nodes * nr_cpus. Large systems have huge amount of "
                "memory trapped in caches.\" There are no figures. Here `uslab compare --spread`: "
                f"copies of {result['path']}, as many as load all CPUs of a made-up machine, "
                f"up to {cpus[-1]} CPUs on {nodes[-1]} nodes. KiB in queues and arrays, and "
                "for `slub`, which has none, free in the slabs that belong to a CPU; the highest; "
                "and in percent of all slabs.")
    slab = scaling["engines"]["slab"]
    one_node = [kib(value) for value in slab["queue_bytes_one_node"]]
    rows = held_rows(scaling, one_node)
    s.add(table(["CPUs", "nodes", "`slab`", "were it one node", "of slabs", "`slub`, CPU slabs",
                 "of slabs", "`slub+array`"], rows))
    first, last = rows[0], rows[-1]
    s.add("As no figures were published, growth is judged by itself: it holds if the queues hold "
          "more than before, by however little, and differs if not.")
    per_cpu, ratio = quotient(last[2], first[2])
    low, high = growth(slab["queue_bytes"])
    s.add(f"With CPUs: SLAB's queues hold {per_cpu} times as much on {cpus[-1]} CPUs as on "
          f"{cpus[0]}: {s.judge('queues grow with CPUs', is_growth(ratio))}. Each "
          f"doubling of CPUs, and of the load, makes them {low:.2f} to {high:.2f} times as large.")
    s.when(low >= 1.5 and high <= 2.5, "That is growth about in proportion to CPUs, not "
           "exponential: there is an array per cache and CPU, and one per cache and pair of nodes, "
           "and a trace fills those that it uses.")
    text, ratio = quotient(last[2], last[3])
    s.add(f"With nodes: on {nodes[-1]} nodes instead of one, {text} times as much: "
          f"{s.judge('queues grow with nodes', is_growth(ratio))}.")
    text, ratio = quotient(last[5], last[2])
    s.when(ratio and ratio > 0.5, f"SLUB has no queues, but the free objects in slabs of its CPUs "
           f"are {text} times as much as SLAB's queues on {cpus[-1]} CPUs.")
    constant_work(s, scaling["constant"])
    return s


def trace_figures(engine):
    """Shown figures of one contestant on a trace: ns of a call, KiB of slabs at peak and end."""
    slabs = engine["slab_bytes"]
    return (number(engine["ns_per_op"], 1), number(slabs["at_live_peak"] / 1024),
            number(slabs["end"] / 1024))


TRACE_HEAD = ("ns per call", "slabs, kB, when most is alive", "slabs, kB, at the end")


def compared(runs, names):
    """Rows for these contestants on the trace of hackbench, and its description."""
    trace = runs["compare"]["traces"][0]
    return {name: trace_figures(trace["engines"][name]) for name in names}, trace


def segregated_rows(runs, names):
    bench, memory = runs["hackbench-mails"], runs["memory"]
    figures, trace = compared(runs, names)
    rows = {name: (number(memory.metric(name, "small.slab")),
                   seconds(bench.metric(name, "seconds")), *figures[name]) for name in names}
    return rows, trace, ["", "after boot, kB", "hackbench, s", *TRACE_HEAD]


def segregated(s, runs, published, names, old, new):
    """Table and ratios of one of the mails: published {title: (old, new)}, ours old and new."""
    rows, trace, head = segregated_rows(runs, names)
    s.add(f"Ours: `uslab bench memory --model small`; `uslab bench hackbench` "
          f"{settings_of(runs['hackbench-mails'])}; and `uslab compare` on {trace['path']}.",
          table(head, [(f"`{name}`", *row) for name, row in rows.items()]))
    boot, time = published
    s.ratios([(f"Slab after boot, {new} / {old}", *map(str, reversed(boot)), rows[new][0],
               rows[old][0])], amounts)
    s.ratios([(f"time of hackbench, {old} / {new}", *map(str, time), rows[old][1], rows[new][1]),
              (f"the same, calls of {trace['path']}", *map(str, time), rows[old][2], rows[new][2])])
    s.add(f"Of {trace['path']}, `{new}` needs {quotient(rows[new][3], rows[old][3])[0]} of the "
          f"slabs of `{old}` when most is alive and {quotient(rows[new][4], rows[old][4])[0]} at "
          "the end.")
    return dict(s.verdicts), rows


def explain_times(s, runs, verdicts):
    """Why times of hackbench and of the trace may be elsewhere than in the mails."""
    bench, trace = (next(v for what, v in verdicts.items() if what.startswith(start))
                    for start in ("time of hackbench", "the same, calls of"))
    peak = runs["hackbench-mails"].metric("slob", "peak")
    s.when(bench in ("weaker", "differs"),
           f"In our hackbench `slob` has at most {number(peak)} kB of pages to search, and the "
           "rest of the time is switches between threads; in the kernel all other objects of the "
           "system lie in the same pages.")
    slob = runs["compare"]["traces"][0]["engines"]["slob"]
    pages = slob["slab_bytes"]["peak"] // 4096
    s.when(trace == "stronger",
           f"The trace is calls only, nothing else takes time, and `slob` has up to {pages} pages "
           f"to search; {number(slob['requested_bytes']['end'] / 1024)} kB are alive at its end.")
    s.when(trace in ("weaker", "differs"),
           f"In the trace `slob` has no more than {pages} pages to search.")


def mail_1(runs):
    s = Section("SLOB with lists by powers of two", MAIL_1,
                f"Slab {MAIL_1_SLAB[0]} kB before, {MAIL_1_SLAB[1]} kB after (+13 %); `hackbench "
                f"-g 4 -l 10000` {MAIL_1_SECONDS[0]} s before, {MAIL_1_SECONDS[1]} s after.")
    verdicts, _ = segregated(s, runs, (MAIL_1_SLAB, MAIL_1_SECONDS),
                             ("slob:1991", "slob", "slobseg:pow2"), "slob", "slobseg:pow2")
    explain_times(s, runs, verdicts)
    return s


def mail_2(runs):
    s = Section("SLOB with lists by cache, and merging", MAIL_2,
                "Two CPUs, `hackbench -g 4 -l 10000`.")
    head = ["published", "SLOB", "segregated", ""]
    rows = [("Slab after boot, kB", *MAIL_2_BOOT), ("Slab after hackbench, kB", *MAIL_2_END),
            ("time, s", *(f"{value:.3f}" for value in MAIL_2_SECONDS)),
            *((what, before, after) for what, before, after in MAIL_2_COUNTERS)]
    s.add(table(head, [(*row, quotient(str(row[2]), str(row[1]))[0]) for row in rows]),
          "Cycles and cache misses cannot be counted in most virtual machines, and are not here.")
    published = (MAIL_2_BOOT, tuple(f"{value:.3f}" for value in MAIL_2_SECONDS))
    verdicts, _ = segregated(s, runs, published, ("slob", "slobseg"), "slob", "slobseg")
    bench = runs["hackbench-mails"]
    ends = [number(bench.metric(name, "end")) for name in ("slob", "slobseg")]
    s.add(f"hackbench left {MAIL_2_END[0] - MAIL_2_BOOT[0]} kB more in SLOB's pages than there "
          f"were after boot, {MAIL_2_END[1] - MAIL_2_BOOT[1]} kB in those of segregated lists. "
          f"Here, where hackbench is all there is and frees everything, {ends[0]} and {ends[1]} kB "
          "remain: nothing that can be compared.")
    boot = verdicts["Slab after boot, slobseg / slob"]
    s.when(boot == "weaker", "Segregated lists save less here than in the mail; ours are counted "
           "over a model of a boot, in which SLOB has had little time to fragment.")
    s.when(boot == "differs", "In our model of a boot segregated lists do not save memory: it is "
           "short, and SLOB has had no time to fragment.")
    explain_times(s, runs, verdicts)
    return s


def mail_3(runs):
    memory = runs["memory"]
    ours = [number(memory.metric(name, "small.slab")) for name in ("slob", "slobseg")]
    requested = memory.metric("slob", "small.requested")
    s = Section("The same on a tiny system", MAIL_3,
                f"32-bit tinyconfig with merging: Slab {MAIL_3_SLAB[0]} kB before, "
                f"{MAIL_3_SLAB[1]} kB after. Here `uslab bench memory --model small`, the model of "
                f"table 7: {ours[0]} kB with `slob`, {ours[1]} kB with `slobseg`.")
    s.ratios([("Slab, slobseg / slob", *map(str, reversed(MAIL_3_SLAB)), ours[1], ours[0])],
             amounts)
    s.when(s.verdicts[-1][1] in ("weaker", "differs"),
           f"Not the same thing: our model is 64-bit and has {number(requested)} kB of objects; "
           "one partly filled page per cache weighs "
           f"{requested / MAIL_3_SLAB[0]:.0f} times more in a system as small as that of the mail. "
           "We have no model of that size.")
    return s


def kmalloc_rows(runs):
    rows, unequal = [], {cpus: 0 for cpus in runs["kmalloc"]}
    for size, objects, pages in KMALLOC:
        row = [f"kmalloc-{size}", f"{objects} / {pages}"]
        for cpus, caches in runs["kmalloc"].items():
            unequal[cpus] += caches.get(size) != (objects, pages)
            row.append("{} / {}".format(*caches.get(size, ("-", "-"))))
        rows.append(row)
    return rows, unequal


def article(runs):
    s = Section("Objects per slab, and where they lie", ARTICLE,
                "Objects and pages per slab of the kmalloc caches in /proc/slabinfo of the "
                "article's machine, and of our SLUB (`uslab info`) on made-up machines.")
    rows, unequal = kmalloc_rows(runs)
    s.add(table(["objects / pages", "published", *(f"{n} CPU{'s' * (n > 1)}" for n in unequal)],
                rows))
    for cpus in (2, 4):
        s.judge(f"kmalloc caches on {cpus} CPUs", "differs" if unequal[cpus] else "holds")
    s.add("The columns of 2 and of 4 CPUs are judged, those of 1 and 8 only show what SLUB makes "
          "of other machines. One holds if all its rows are the published ones, and differs if "
          "one is another.")
    s.add("SLUB chooses by the number of CPUs: "
          + "; ".join(f"on {cpus} CPU{'s' * (cpus > 1)} "
                      + (f"{n} of {len(rows)} rows are others" if n else "all rows are the same")
                      for cpus, n in unequal.items()) + ".")
    locality(s, runs["locality"])
    return s


def steps_to_next(entry, stride):
    offsets = entry["locality"]["offsets"][:ARTICLE_STEPS + 1]
    return sum(1 for a, b in zip(offsets, offsets[1:]) if b - a == stride)


def locality(s, bench):
    by_name = bench.by_name
    rows = []
    for size, who, stride in ((32, "kmalloc-quiet", 32), (40, "kmalloc", 64)):
        ours = steps_to_next(by_name[who], stride)
        what = f"kmalloc({size}): steps of {stride:#x}"
        same = (ours == ARTICLE_STEPS) == (ARTICLE_NEXT[size] == ARTICLE_STEPS)
        rows.append((what, f"{ARTICLE_NEXT[size]} of {ARTICLE_STEPS}",
                     f"{ours} of {ARTICLE_STEPS}", s.judge(what, "holds" if same else "differs")))
    reuse = by_name["own-cache-cpuslab"]["locality"]["reuse_after_free_of"]
    for key, freed, expected in ARTICLE_REUSE:
        what = f"own cache: freed {freed}, next are"
        rows.append((what, " ".join(map(str, expected)), " ".join(map(str, reuse[key])),
                     s.judge(what, "holds" if reuse[key] == expected else "differs")))
    s.add("The article's experiment (`uslab bench locality`): 20 kmallocs of a size that nobody "
          "else uses lie side by side, of a size that others have used they do not; and a cache is "
          "a stack. Side by side holds if all steps are to the next place; not side by side holds "
          "if at least one is not; an order of objects holds if it is the published "
          "one.", table(["", "published", "here", ""], rows))
    own, shared = (number(bench.metric(name, "walk-cold"), 1) for name in ("own-cache", "kmalloc"))
    s.add("The article lost 15 to 20 % of a network's throughput to that. A walk over 200 items "
          f"with cold caches takes {quotient(shared, own)[0]} times as long here, ns per item, if "
          "they come from a used kmalloc cache instead of one of their own.")


def whole_traces(runs):
    s = Section("Traces of a kernel, all engines", "recorded kernel traces; nothing was published",
                "`uslab compare`: ns are of the call alone; instructions are per call; slabs are "
                "all pages behind objects, x is slabs per byte requested.")
    for trace in runs["compare"]["traces"]:
        s.add(f"**{trace['path']}**: {trace['events']} events, {trace['allocations']} allocations, "
              f"{trace['frees']} frees in {trace['seconds']:.3f} s; at most "
              f"{trace['live_peak_bytes'] / 1024:.0f} kB alive.")
        rows = []
        for name, engine in trace["engines"].items():
            alloc, free, slabs = engine["alloc"], engine["free"], engine["slab_bytes"]
            rows.append((f"`{name}`", number(engine["ns_per_op"], 1),
                         number(alloc["ns"]["median"], 1), number(alloc["ns"]["p99"], 0),
                         number(free["ns"]["median"], 1), number(free["ns"]["p99"], 0),
                         number(alloc["instructions"]), number(free["instructions"]),
                         number(slabs["at_live_peak"] / 1024),
                         number(engine["fragmentation"]["at_live_peak"], 2),
                         number(slabs["end"] / 1024),
                         kib(engine["queue_bytes"]["peak"]),
                         kib(engine["cpu_slab_bytes"]["peak"])))
        s.add(table(["", "ns, mean", "alloc, median", "p99", "free, median", "p99", "alloc, instr.",
                     "free, instr.", "kB when most is alive", "x", "kB at the end",
                     "highest kB in queues", "highest kB free in CPU slabs"], rows))
        engines = trace["engines"]
        best = min(engines, key=lambda n: engines[n]["ns_per_op"])
        least = min(engines, key=lambda n: engines[n]["slab_bytes"]["at_live_peak"])
        s.add(f"Fastest: `{best}`. Fewest bytes when most is alive: `{least}`.")
    return s


SECTIONS = (memory_after_boot, fastpath, hackbench, remote, queues, mail_1, mail_2, mail_3, article,
            whole_traces)
