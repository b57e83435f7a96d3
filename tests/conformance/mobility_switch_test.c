/* SPDX-License-Identifier: MIT */
/*
 * conformance/mobility_switch_test.c - the same while debug flags come and go
 */
#define PAIRS_DEBUG_FLAGS "switched"
#include "conformance/mobility_test.c"
