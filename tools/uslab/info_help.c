/* SPDX-License-Identifier: MIT */
/*
 * uslab/info_help.c - what `uslab info --help` prints
 */
#include <stdio.h>

#include "info.h"

static const char help[] =
	"usage: uslab info -p PID [OPTION]... [REGEX]\n"
	"       uslab info --core FILE | --kernel | --root DIR [OPTION]... [REGEX]\n"
	"List the slab caches of a running process that uses uslab, or of the kernel.\n"
	"\n"
	"REGEX is a POSIX basic regular expression, not anchored, in any case of letters; it\n"
	"selects caches by name. If that leaves one, all about it is shown.\n"
	"\n"
	"Whose caches:\n"
	"  -p, --pid=PID       a process; may be given several times\n"
	"      --core=FILE     a core file\n"
	"      --program=FILE  the program that left it, if that is not where it was\n"
	"      --library=NAME  of several copies of uslab in it, the one in a file named like this\n"
	"      --kernel        the running kernel's, from /sys/kernel/slab\n"
	"      --root=DIR      a tree like that one\n"
	"\n"
	"Which caches (empty ones have no slabs):\n"
	"  -z, --zero          empty ones too\n"
	"  -e, --empty         empty ones only\n"
	"  -U, --Unreclaim     without those accounted as reclaimable\n"
	"  -f, --first-alias   name merged caches by one of their names, not by their id\n"
	"  -N, --lines=K       the first K only\n"
	"\n"
	"In which order (by name otherwise; the first of these that is given):\n"
	"  -S, --Size          by size\n"
	"  -A, --activity      by number of allocations and frees (USLAB_CONF=stats counts them)\n"
	"  -L, --Loss          by loss, which is shown in place of the size\n"
	"  -P, --partial       by number of partial slabs\n"
	"  -i, --inverted      the other way round\n"
	"\n"
	"What of them (the first of these that is given):\n"
	"      --address=0xA   what lies at that address: which cache, which object, its users\n"
	"      --json          as JSON, empty caches included\n"
	"      --openmetrics   as metrics for Prometheus\n"
	"  -a, --aliases       the names of merged caches; with -i by name\n"
	"  -1, --1ref          with -a: those with one name too\n"
	"  -X, --Xtotals       sums, then the largest caches, those with most loss, most partial slabs\n"
	"  -T, --Totals        sums\n"
	"  -n, --numa          slabs by node\n"
	"  -t, --tracking      who allocated the objects, and who freed what was there before\n"
	"  -o, --ops           operations\n"
	"  -l, --slabs         the table (the default)\n"
	"  -D, --display-active  the table, with numbers of allocations and frees\n"
	"  -r, --report        all about each cache\n"
	"\n"
	"Changes:\n"
	"  -v, --validate      check all objects of caches that are debugged\n"
	"  -s, --shrink        give empty slabs back\n"
	"  -d, --debug[=OPTS]  set debugging to OPTS: of f z p u t, or a: f z p u; none or -: off\n"
	"\n"
	"      --interval=S    again every S seconds, until the process ends\n"
	"  -c, --count=N       N times\n"
	"      --fields        explain the keys of the JSON, and exit\n"
	"  -B, --Bytes         sizes in bytes\n"
	"  -h, --help          this text\n"
	"  -V, --version       the version\n"
	"\n"
	"Columns: objects that the program holds, bytes of an object, bytes of all slabs, slabs /\n"
	"partial ones / those of CPUs, objects per slab, order of a slab, percent of partial slabs,\n"
	"percent of the space that is in use, and flags: * aliases, d DMA, A aligned to cache lines,\n"
	"P poisoned, a reclaimable, Z red zones, F checked, U users stored, T traced.";

void info_print_help(void)
{
	puts(help);
}
