/* SPDX-License-Identifier: MIT */
/*
 * examples/constructor.c - objects that are made once and used many times
 *
 * A constructor prepares what is the same for each use, here a lock and a list
 * head. Whoever frees an object leaves it in that state.
 *
 *   $ cc -O2 constructor.c -luslab -pthread -o constructor
 *   $ ./constructor
 *   1000 uses, fewer constructor calls: yes
 *   the lock is free: yes
 */
#include <pthread.h>
#include <stdio.h>
#include <uslab/slab.h>

struct session {
	pthread_mutex_t lock;
	int users;
};

static unsigned int constructed;

static void session_ctor(void *object)
{
	struct session *session = object;

	pthread_mutex_init(&session->lock, NULL);
	session->users = 0;
	constructed++;
}

static struct session *session_open(struct kmem_cache *sessions)
{
	struct session *session = kmem_cache_alloc(sessions, GFP_KERNEL);

	if (session) {
		pthread_mutex_lock(&session->lock);
		session->users++;
		pthread_mutex_unlock(&session->lock);
	}
	return session;
}

static void session_close(struct kmem_cache *sessions,
			  struct session *session)
{
	/* 0 again, and the lock is free: as the constructor left it */
	session->users--;
	kmem_cache_free(sessions, session);
}

int main(void)
{
	struct kmem_cache *sessions = kmem_cache_create(
		"sessions", sizeof(struct session), 0, 0, session_ctor);
	struct session *session;

	if (!sessions)
		return 1;
	for (int i = 0; i < 1000; i++) {
		session = session_open(sessions);
		if (!session || session->users != 1)
			return 1;
		session_close(sessions, session);
	}
	printf("1000 uses, fewer constructor calls: %s\n",
	       constructed > 0 && constructed < 1000 ? "yes" : "no");
	session = session_open(sessions);
	if (!session)
		return 1;
	printf("the lock is free: %s\n",
	       pthread_mutex_trylock(&session->lock) == 0 ? "yes" : "no");
	pthread_mutex_unlock(&session->lock);
	session_close(sessions, session);
	kmem_cache_destroy(sessions);
	return 0;
}
