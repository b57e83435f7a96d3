/* SPDX-License-Identifier: MIT */
/*
 * support/plug_in.h - a library that a thread loads and unloads all the time
 *
 * For what looks at loaded objects meanwhile.
 */
#ifndef SUPPORT_PLUG_IN_H
#define SUPPORT_PLUG_IN_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "bare.h"
#include "child.h"

#define PLUG_IN "libplug_in.so" /* tests/plug_in */
#define PLUG_IN_FUNCTION "plug_in_function"

struct plug_in {
	pthread_t thread;
	uintptr_t place; /* of the function, loaded or not; 0: not yet known. Atomic */
	bool ended;	 /* atomic */
};

static void *plug_in_loop(void *arg)
{
	struct plug_in *plug_in = arg;
	unsigned int loads = bare_process() ? 2000 : 100;

	for (unsigned int i = 0; i < loads; i++) {
		void *handle = dlopen(USLAB_TEST_PLUG_IN, RTLD_LAZY);

		if (!handle)
			child_cannot(dlerror());
		__atomic_store_n(&plug_in->place, (uintptr_t)dlsym(handle, PLUG_IN_FUNCTION),
				 __ATOMIC_RELAXED);
		usleep(i % 200); /* so that it goes at any moment */
		dlclose(handle);
	}
	__atomic_store_n(&plug_in->ended, true, __ATOMIC_RELAXED);
	return NULL;
}

/* In a child: calls look with an address in the function until the thread has loaded often enough. */
static inline void plug_in_meanwhile(void (*look)(uintptr_t address))
{
	struct plug_in plug_in = { 0 };

	CHILD_CHECK(!pthread_create(&plug_in.thread, NULL, plug_in_loop, &plug_in));
	while (!__atomic_load_n(&plug_in.ended, __ATOMIC_RELAXED)) {
		uintptr_t place = __atomic_load_n(&plug_in.place, __ATOMIC_RELAXED);

		if (place)
			look(place + 4);
	}
	pthread_join(plug_in.thread, NULL);
}

#endif /* SUPPORT_PLUG_IN_H */
