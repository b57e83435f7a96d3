/* SPDX-License-Identifier: MIT */
/*
 * conformance/profile_hardened_test.c - the same under USLAB_CONF=hardened
 */
#define PAIRS_CONF "hardened"
#include "conformance/profile_test.c"
