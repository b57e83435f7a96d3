/* SPDX-License-Identifier: MIT */
/*
 * conformance/mobility_hardened_test.c - the same where each free is looked at exactly
 */
#define PAIRS_CONF "hardened"
#include "conformance/mobility_test.c"
