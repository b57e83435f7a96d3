/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/rwsem.h - locks for readers and writers that may sleep, of pthreads
 *
 * There is no downgrade_write(): pthreads cannot do it.
 */
#ifndef USLAB_LINUX_RWSEM_H
#define USLAB_LINUX_RWSEM_H

#include <pthread.h>

#include <linux/cleanup.h>
#include <linux/lockdep.h>

struct rw_semaphore {
	pthread_rwlock_t lock;
};

#define __RWSEM_INITIALIZER(name)                  \
	{                                          \
		.lock = PTHREAD_RWLOCK_INITIALIZER \
	}
#define DECLARE_RWSEM(name) struct rw_semaphore name = __RWSEM_INITIALIZER(name)
#define init_rwsem(sem) ((void)pthread_rwlock_init(&(sem)->lock, NULL))

static inline void down_read(struct rw_semaphore *sem)
{
	pthread_rwlock_rdlock(&sem->lock);
}

static inline void up_read(struct rw_semaphore *sem)
{
	pthread_rwlock_unlock(&sem->lock);
}

static inline void down_write(struct rw_semaphore *sem)
{
	pthread_rwlock_wrlock(&sem->lock);
}

static inline void up_write(struct rw_semaphore *sem)
{
	pthread_rwlock_unlock(&sem->lock);
}

/* 1: it is locked now. */
static inline int down_read_trylock(struct rw_semaphore *sem)
{
	return pthread_rwlock_tryrdlock(&sem->lock) == 0;
}

static inline int down_write_trylock(struct rw_semaphore *sem)
{
	return pthread_rwlock_trywrlock(&sem->lock) == 0;
}

#define down_read_nested(sem, subclass) down_read(sem)
#define down_write_nested(sem, subclass) down_write(sem)

DEFINE_GUARD(rwsem_read, struct rw_semaphore *, down_read(_T), up_read(_T));
DEFINE_GUARD(rwsem_write, struct rw_semaphore *, down_write(_T), up_write(_T));

#endif /* USLAB_LINUX_RWSEM_H */
