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
 * (protocols.h), hackbench (hackbench.h), boot-small and boot-desktop (boot.h).
 */
#include <uslab/slab.h>

#include "boot.h"
#include "hackbench.h"
#include "protocols.h"

int main(int argc, char **argv)
{
	const struct protocol *protocol;
	struct worker_args args;

	team_look();
	parse_args(argc, argv, &args);
	protocol = find_protocol(args.mode);
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
