/* SPDX-License-Identifier: MIT */
/*
 * conformance/profile_debug_test.c - the same under FZPU
 */
#define PAIRS_DEBUG_FLAGS "FZPU"
#include "conformance/profile_test.c"
