/* SPDX-License-Identifier: MIT */
/*
 * conformance/pairs_hardened_test.c - every engine with every front does the same under
 * USLAB_CONF=hardened, and nothing is reported
 *
 * ctest: timeout=400
 */
#define PAIRS_CONF "hardened"
#include "conformance/pairs_test.c"
