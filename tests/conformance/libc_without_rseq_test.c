/* SPDX-License-Identifier: MIT */
/*
 * conformance/libc_without_rseq_test.c - a libc without the names of <sys/rseq.h>
 *
 * That is one before glibc 2.35. This program has the library's file with names that nobody
 * defines, in the place of the library's own. Calls that begin with a sequence must miss.
 */
#define __rseq_offset missing_rseq_offset
#define __rseq_size missing_rseq_size
#include "os/cpu/rseq.c"
#undef __rseq_offset
#undef __rseq_size

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/bits.h"
#include "cache/cache.h"
#include "child.h"
#include "front/percpu.h"

#define NR 200

IN_CHILD(test_calls)
{
	unsigned int tried = 0;
	void *p[NR];

	CHILD_CHECK(cache_init() == 0 && kmalloc_init() == 0);
	CHILD_CHECK(!os_rseq_on && !percpu_rseq && os_rseq_cpu() == -1);
	for (unsigned int i = 0; i < NR; i++) {
		p[i] = i % 2 ? kmalloc_alloc(64, GFP_KERNEL, NUMA_NO_NODE)
			     : kmalloc_try_alloc(64, GFP_KERNEL, NUMA_NO_NODE, NULL);
		CHILD_CHECK(p[i] || !(i % 2));
		tried += !(i % 2) && p[i];
		if (p[i])
			memset(p[i], 1, 64);
	}
	CHILD_CHECK(tried);
	for (unsigned int i = 0; i < NR; i++)
		kmalloc_free(p[i], NULL);
	cache_check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_calls) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
