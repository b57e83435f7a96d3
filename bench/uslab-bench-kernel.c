/* SPDX-License-Identifier: MIT */
/*
 * bench/uslab-bench-kernel.c - measures kernel allocators as kernel people do, from libuslab.a
 *
 * Flow:       started by the name that tools/uslab/bench/catalogue.c has; calls the public API,
 *             inspect/ and tools/uslab/clock.c. In: arguments of harness.h and USLAB_CONF; out:
 *             lines of metrics on stdout.
 *
 * One process has one contestant: USLAB_CONF, set by the parent, makes the kmalloc caches of it,
 * and --contestant ENGINE/FRONT says what is expected. Modes: fastpath, concurrent, remote
 * (protocols.h), hackbench (hackbench.h), boot-small and boot-desktop (boot.h). The mode latency
 * (latency.h) is not of the kernel's people: it is here, and not where single instructions count,
 * since each function more that is linked changes what the compiler makes of the others.
 */
#include <uslab/slab.h>

#include "boot.h"
#include "hackbench.h"
#include "latency.h"
#include "protocols.h"

static void *latency_kmalloc(size_t size)
{
	return kmalloc(size, GFP_KERNEL);
}

static void *latency_kcalloc(size_t n, size_t size)
{
	return kcalloc(n, size, GFP_KERNEL);
}

static void *latency_krealloc(void *p, size_t size)
{
	return krealloc(p, size, GFP_KERNEL);
}

static void latency_kfree(void *p)
{
	kfree(p);
}

static const struct latency_calls latency_by_kmalloc = { latency_kmalloc, latency_kcalloc,
							 latency_krealloc, latency_kfree };

int main(int argc, char **argv)
{
	const struct protocol *protocol;
	struct worker_args args;

	team_look();
	parse_args(argc, argv, &args);
	protocol = find_protocol(args.mode);
	if (!strcmp(args.mode, "latency")) {
		mode_latency(&args, &latency_by_kmalloc);
		return fflush(stdout) ? 1 : 0;
	}
	slabs_check_contestant(args.contestant);
	if (protocol)
		mode_protocol(&args, protocol);
	else if (!strcmp(args.mode, "hackbench"))
		mode_hackbench(&args);
	else if (!strncmp(args.mode, "boot-", 5))
		mode_boot(&args, args.mode + 5);
	else
		die("unknown mode '%s'", args.mode);
	return fflush(stdout) ? 1 : 0;
}
