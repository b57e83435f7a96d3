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

#define PLUG_IN_ROUNDS 2000 /* or 100, where that takes long */

/* What a look at the function says. */
enum plug_in_look {
	PLUG_IN_THERE,
	PLUG_IN_GONE,
	PLUG_IN_OTHER, /* half loaded, or half unloaded */
	PLUG_IN_LOOKS,
};

/* What the thread does: loads, has loaded, unloads, has unloaded; and again. */
enum { LOADING, LOADED, UNLOADING, UNLOADED, PLUG_IN_STATES };

struct plug_in {
	uintptr_t place;    /* of the function, loaded or not; 0: not yet known. Atomic */
	unsigned long turn; /* modulo PLUG_IN_STATES what the thread does. Atomic */
	bool stop;	    /* atomic */
};

static void plug_in_turn(struct plug_in *plug_in)
{
	__atomic_add_fetch(&plug_in->turn, 1, __ATOMIC_SEQ_CST);
}

static void *plug_in_loop(void *arg)
{
	struct plug_in *plug_in = arg;

	for (unsigned int i = 0; !__atomic_load_n(&plug_in->stop, __ATOMIC_RELAXED); i++) {
		void *handle = dlopen(USLAB_TEST_PLUG_IN, RTLD_LAZY);

		if (!handle)
			child_cannot(dlerror());
		__atomic_store_n(&plug_in->place, (uintptr_t)dlsym(handle, PLUG_IN_FUNCTION),
				 __ATOMIC_RELAXED);
		plug_in_turn(plug_in);
		usleep(i % 200); /* so that it goes at any moment */
		plug_in_turn(plug_in);
		dlclose(handle);
		plug_in_turn(plug_in);
		usleep(i % 30);
		plug_in_turn(plug_in);
	}
	return NULL;
}

/* One look, and whether it is right, if nothing happened meanwhile; which it was. */
static inline enum plug_in_look
plug_in_look(struct plug_in *plug_in, enum plug_in_look (*look)(uintptr_t address), uintptr_t place)
{
	unsigned long turn = __atomic_load_n(&plug_in->turn, __ATOMIC_SEQ_CST);
	bool moved = __atomic_load_n(&plug_in->place, __ATOMIC_RELAXED) != place;
	enum plug_in_look said = look(place + 4);

	if (moved || __atomic_load_n(&plug_in->turn, __ATOMIC_SEQ_CST) != turn)
		return PLUG_IN_OTHER;
	if (turn % PLUG_IN_STATES == LOADED)
		CHILD_CHECK(said == PLUG_IN_THERE);
	else if (turn % PLUG_IN_STATES == UNLOADED)
		CHILD_CHECK(said == PLUG_IN_GONE);
	else
		return PLUG_IN_OTHER;
	return said;
}

/*
 * In a child: calls look with an address in the function all the time, until the thread has
 * loaded often and both answers were seen. An answer must be right if the library was there,
 * or was not, all the while.
 */
static inline void plug_in_meanwhile(enum plug_in_look (*look)(uintptr_t address))
{
	unsigned long turns =
		PLUG_IN_STATES * (bare_process() ? PLUG_IN_ROUNDS : PLUG_IN_ROUNDS / 20);
	unsigned int seen[PLUG_IN_LOOKS] = { 0 };
	struct plug_in plug_in = { 0 };
	pthread_t thread;

	CHILD_CHECK(!pthread_create(&thread, NULL, plug_in_loop, &plug_in));
	while (__atomic_load_n(&plug_in.turn, __ATOMIC_RELAXED) < turns || !seen[PLUG_IN_THERE] ||
	       !seen[PLUG_IN_GONE]) {
		uintptr_t place = __atomic_load_n(&plug_in.place, __ATOMIC_RELAXED);

		if (place)
			seen[plug_in_look(&plug_in, look, place)]++;
	}
	__atomic_store_n(&plug_in.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

#endif /* SUPPORT_PLUG_IN_H */
