/* SPDX-License-Identifier: MIT */
/*
 * support/fake_usage.h - the process has used what the test says
 *
 * Include it in one file of a test: os_usage() is linked in place of os/process/usage.c, so that
 * what takes much of the CPU time does not depend on the machine. A test with a fake clock needs
 * it, if it purges much: its real CPU time is no part of the time that it lets pass.
 */
#ifndef SUPPORT_FAKE_USAGE_H
#define SUPPORT_FAKE_USAGE_H

#include "os/process/usage.h"

static struct os_usage fake_usage;
static bool fake_usage_is_known = true;
static unsigned int fake_usage_looks;
static uint64_t fake_usage_work_us = 1000000; /* of other work between two looks */

bool os_usage(struct os_usage *usage)
{
	fake_usage_looks++;
	fake_usage.cpu_us += fake_usage_work_us;
	*usage = fake_usage;
	return fake_usage_is_known;
}

#endif /* SUPPORT_FAKE_USAGE_H */
