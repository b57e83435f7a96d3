/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_help.c - the options of `uslab info`, and what else its --help says
 *
 * Data:       three tables of text; constant.
 * Flow:       read by info_options.c, which has options.c print and parse them.
 */
#include "info/info.h"

const char info_usage[] =
	"usage: uslab info -p PID [-p PID]... [OPTION]... [REGEX]\n"
	"       uslab info --core FILE | --kernel | --root DIR [OPTION]... [REGEX]\n"
	"List the slab caches of a running process that uses uslab, or of the kernel.\n"
	"\n"
	"REGEX is a POSIX basic regular expression, not anchored, upper and lower case alike; it\n"
	"selects caches by name. If that leaves one, all about it is shown.";

const struct option_row info_option_rows[] = {
	{ .help = "Whose caches:" },
	ROW_PID,
	ROW_CORE,
	ROW_PROGRAM,
	ROW_SYSROOT,
	ROW_LIBRARY,
	ROW_KERNEL,
	ROW_ROOT,

	{ .help = "Which caches (empty ones have no slabs):" },
	{ 'z', "zero", NULL, "empty ones too" },
	{ 'e', "empty", NULL, "empty ones only" },
	{ 'U', "Unreclaim", NULL, "without those accounted as reclaimable" },
	{ 'f', "first-alias", NULL, "name merged caches by one of their names, not by their id" },
	{ 'N', "lines", "K", "the first K only" },

	{ .help = "In which order (by name, -m by size; the first of these that is given):" },
	{ 'S', "Size", NULL, "by size" },
	{ 'A', "activity", NULL,
	  "by number of allocations and frees (USLAB_CONF=stats counts them)" },
	{ 'L', "Loss", NULL, "by loss, which is shown in place of the size" },
	{ 'P', "partial", NULL, "by number of partial slabs" },
	{ 'i', "inverted", NULL, "the other way round" },

	{ .help = "What of them (the first of these that is given):" },
	{ OPTION_ADDRESS, "address", "0xA",
	  "what lies at that address: which cache, which object, its users" },
	{ OPTION_ALLOCINFO, "allocinfo", NULL,
	  "not caches, but what each call site has allocated and not freed; -z, -i, -N, REGEX and "
	  "--json as for caches" },
	{ OPTION_GROUPS, "groups", NULL,
	  "not caches, but what is charged to each accounting group, those below another behind "
	  "it, or with -S by usage; -i with that, -N, REGEX and --json as for caches" },
	{ OPTION_JSON, "json", NULL, "as JSON, empty caches included" },
	{ OPTION_OPENMETRICS, "openmetrics", NULL, "as metrics, in the form of OpenMetrics" },
	{ OPTION_PROMETHEUS, "prometheus", NULL,
	  "the same in Prometheus's own form, as node_exporter reads it" },
	{ 'a', "aliases", NULL, "the names of merged caches; with -i by name" },
	{ '1', "1ref", NULL, "with -a: those with one name too" },
	{ 'm', "memory", NULL,
	  "resident memory by kind, then of each cache; in KiB, or with -B in bytes" },
	{ 'X', "Xtotals", NULL,
	  "sums, then the largest caches, those with most loss, most partial slabs" },
	{ 'T', "Totals", NULL, "sums" },
	{ 'n', "numa", NULL, "slabs by node" },
	{ 't', "tracking", NULL, "who allocated the objects, and who freed what was there before" },
	{ 'o', "ops", NULL, "operations" },
	{ 'l', "slabs", NULL, "the table (the default)" },
	{ 'D', "display-active", NULL, "the table, with numbers of allocations and frees" },
	{ 'D', "display-activity", NULL, "the same, as the kernel's tool calls it, too" },
	{ 'r', "report", NULL, "all about each cache" },

	{ .help = "Changes:" },
	{ 'v', "validate", NULL, "check all objects of caches that are debugged" },
	{ 's', "shrink", NULL, "give empty slabs back" },
	{ 'd', "debug", "[OPTS]",
	  "set debugging to OPTS: some of f z p u t, or a, which is f z p u; without OPTS, or with - "
	  "or none in their place, all of it is switched off" },
	ROW_FORCE,

	{ .help = "" },
	{ OPTION_INTERVAL, "interval", "S", "again every S seconds, until the process ends" },
	{ 'c', "count", "N", "N times" },
	{ OPTION_FIELDS, "fields", NULL, "explain the keys of the JSON, and exit" },
	{ 'B', "Bytes", NULL, "sizes in bytes" },
	{ 0 },
};

const char info_notes[] =
	"Columns: objects that the program holds, bytes of an object, bytes of all slabs, slabs /\n"
	"partial ones / those of CPUs, objects per slab, order of a slab, percent of partial slabs,\n"
	"percent of the space that is in use, and flags: * aliases, d DMA, A aligned to cache lines,\n"
	"P poisoned, a reclaimable, Z red zones, F checked, U users stored, T traced.";
