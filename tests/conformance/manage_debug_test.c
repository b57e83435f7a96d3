/* SPDX-License-Identifier: MIT */
/*
 * conformance/manage_debug_test.c - the same under FZPU
 */
#define PAIRS_DEBUG_FLAGS "FZPU"
#include "conformance/manage_test.c"
