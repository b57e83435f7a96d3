/* SPDX-License-Identifier: MIT */
/*
 * urcu/flavour.h - the flavour of liburcu that a test is built for
 */
#ifndef TESTS_URCU_FLAVOUR_H
#define TESTS_URCU_FLAVOUR_H

#if URCU_TEST_bp
#include <urcu-bp.h>
#elif URCU_TEST_qsbr
#include <urcu-qsbr.h>
#else
#if URCU_TEST_mb
#define RCU_MB
#else
#define RCU_MEMBARRIER
#endif
#include <urcu.h>
#endif

#include <uslab/urcu.h>

#endif /* TESTS_URCU_FLAVOUR_H */
