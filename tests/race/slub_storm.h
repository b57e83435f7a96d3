/* SPDX-License-Identifier: MIT */
/*
 * race/slub_storm.h - threads that allocate from one SLUB engine and free to it, in a child
 */
#ifndef RACE_SLUB_STORM_H
#define RACE_SLUB_STORM_H

#include <pthread.h>

#include "bare.h"
#include "unit/engine/slub/fixture.h"

#define STORM_THREADS 4

/* work() is given its number, and has all its objects back when it returns. Then all is checked. */
static inline void slub_storm(struct engine *e, const struct engine_params *params,
			      void *(*work)(void *arg))
{
	pthread_t thread[STORM_THREADS];

	slub_machine(STORM_THREADS, 1);
	buddy_provide(0, 3);
	CHILD_CHECK(slub_ops.init(e, params) == 0);
	for (uintptr_t i = 0; i < STORM_THREADS; i++)
		CHILD_CHECK(!pthread_create(&thread[i], NULL, work, (void *)i));
	for (unsigned int i = 0; i < STORM_THREADS; i++)
		pthread_join(thread[i], NULL);
	slub_check(e);
	CHILD_CHECK(slub_ops.destroy(e) == 0);
	buddy_check();
}

#endif /* RACE_SLUB_STORM_H */
