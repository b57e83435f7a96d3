/* SPDX-License-Identifier: MIT */
/*
 * conformance/typesafe_debug_test.c - the same under FZPU: no poison before the grace period, and
 * nothing is reported
 */
#define PAIRS_DEBUG_FLAGS "FZPU"
#include "conformance/typesafe_test.c"
