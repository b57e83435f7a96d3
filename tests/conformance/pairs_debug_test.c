/* SPDX-License-Identifier: MIT */
/*
 * conformance/pairs_debug_test.c - every engine with every front does the same under
 * FZPU, and nothing is reported
 *
 * ctest: timeout=400
 */
#define PAIRS_DEBUG_FLAGS "FZPU"
#include "conformance/pairs_test.c"
