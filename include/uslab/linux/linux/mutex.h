/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/mutex.h - mutexes: those of pthreads
 */
#ifndef USLAB_LINUX_MUTEX_H
#define USLAB_LINUX_MUTEX_H

#include <pthread.h>

#include <linux/cleanup.h>
#include <linux/lockdep.h>
#include <linux/types.h>

struct mutex {
	pthread_mutex_t mutex;
};

#define __MUTEX_INITIALIZER(name)                  \
	{                                          \
		.mutex = PTHREAD_MUTEX_INITIALIZER \
	}
#define DEFINE_MUTEX(name) struct mutex name = __MUTEX_INITIALIZER(name)

static inline void mutex_init(struct mutex *lock)
{
	pthread_mutex_init(&lock->mutex, NULL);
}

static inline void mutex_destroy(struct mutex *lock)
{
	pthread_mutex_destroy(&lock->mutex);
}

static inline void mutex_lock(struct mutex *lock)
{
	pthread_mutex_lock(&lock->mutex);
}

static inline void mutex_unlock(struct mutex *lock)
{
	pthread_mutex_unlock(&lock->mutex);
}

/* 1: it is locked now. */
static inline int mutex_trylock(struct mutex *lock)
{
	return pthread_mutex_trylock(&lock->mutex) == 0;
}

/* 0: nothing interrupts it. */
static inline int mutex_lock_interruptible(struct mutex *lock)
{
	mutex_lock(lock);
	return 0;
}

static inline int mutex_lock_killable(struct mutex *lock)
{
	return mutex_lock_interruptible(lock);
}

static inline bool mutex_is_locked(struct mutex *lock)
{
	bool free = mutex_trylock(lock);

	if (free)
		mutex_unlock(lock);
	return !free;
}

#define mutex_lock_nested(lock, subclass) mutex_lock(lock)

DEFINE_GUARD(mutex, struct mutex *, mutex_lock(_T), mutex_unlock(_T));

#endif /* USLAB_LINUX_MUTEX_H */
