/* SPDX-License-Identifier: MIT */
/*
 * conformance/kmalloc_debug_test.c - kmalloc in debug slabs is aligned and rounded the same, for
 * every engine with every front
 */
#define PAIRS_DEBUG_FLAGS "FZPU"
#include "conformance/kmalloc_test.c"
