/* SPDX-License-Identifier: MIT */
/*
 * conformance/manage_hardened_test.c - the same where each free is looked at exactly
 */
#define PAIRS_CONF "hardened"
#include "conformance/manage_test.c"
