/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/spinlock.h - spinlocks and locks for readers and writers, of pthreads
 *
 * They sleep where the kernel spins: a thread in user space may lose its CPU with the lock. There
 * are no interrupts to keep off: _irq, _irqsave and _bh are the same, and signal handlers must not
 * take these locks.
 */
#ifndef USLAB_LINUX_SPINLOCK_H
#define USLAB_LINUX_SPINLOCK_H

#include <pthread.h>

#include <linux/cleanup.h>
#include <linux/lockdep.h>
#include <linux/types.h>

typedef struct spinlock {
	pthread_mutex_t mutex;
} spinlock_t;

typedef spinlock_t raw_spinlock_t;

#define __SPIN_LOCK_UNLOCKED(name)                 \
	{                                          \
		.mutex = PTHREAD_MUTEX_INITIALIZER \
	}
#define DEFINE_SPINLOCK(name) spinlock_t name = __SPIN_LOCK_UNLOCKED(name)

static inline void spin_lock_init(spinlock_t *lock)
{
	pthread_mutex_init(&lock->mutex, NULL);
}

static inline void spin_lock(spinlock_t *lock)
{
	pthread_mutex_lock(&lock->mutex);
}

static inline void spin_unlock(spinlock_t *lock)
{
	pthread_mutex_unlock(&lock->mutex);
}

/* 1: it is locked now. */
static inline int spin_trylock(spinlock_t *lock)
{
	return pthread_mutex_trylock(&lock->mutex) == 0;
}

static inline int spin_is_locked(spinlock_t *lock)
{
	int free = spin_trylock(lock);

	if (free)
		spin_unlock(lock);
	return !free;
}

#define assert_spin_locked(lock) ((void)(lock))
#define spin_lock_nested(lock, subclass) spin_lock(lock)
#define spin_lock_bh(lock) spin_lock(lock)
#define spin_unlock_bh(lock) spin_unlock(lock)
#define spin_trylock_bh(lock) spin_trylock(lock)
#define spin_lock_irq(lock) spin_lock(lock)
#define spin_unlock_irq(lock) spin_unlock(lock)
#define spin_lock_irqsave(lock, flags) ((flags) = 0, spin_lock(lock))
#define spin_unlock_irqrestore(lock, flags) ((void)(flags), spin_unlock(lock))
#define spin_trylock_irqsave(lock, flags) ((flags) = 0, spin_trylock(lock))

#define DEFINE_RAW_SPINLOCK(name) DEFINE_SPINLOCK(name)
#define raw_spin_lock_init(lock) spin_lock_init(lock)
#define raw_spin_lock(lock) spin_lock(lock)
#define raw_spin_unlock(lock) spin_unlock(lock)
#define raw_spin_trylock(lock) spin_trylock(lock)
#define raw_spin_lock_irqsave(lock, flags) spin_lock_irqsave(lock, flags)
#define raw_spin_unlock_irqrestore(lock, flags) spin_unlock_irqrestore(lock, flags)

/* ---- readers and writers ---- */

typedef struct {
	pthread_rwlock_t lock;
} rwlock_t;

#define __RW_LOCK_UNLOCKED(name)                   \
	{                                          \
		.lock = PTHREAD_RWLOCK_INITIALIZER \
	}
#define DEFINE_RWLOCK(name) rwlock_t name = __RW_LOCK_UNLOCKED(name)
#define rwlock_init(rwlock) ((void)pthread_rwlock_init(&(rwlock)->lock, NULL))

#define read_lock(rwlock) ((void)pthread_rwlock_rdlock(&(rwlock)->lock))
#define read_unlock(rwlock) ((void)pthread_rwlock_unlock(&(rwlock)->lock))
#define read_trylock(rwlock) (pthread_rwlock_tryrdlock(&(rwlock)->lock) == 0)
#define write_lock(rwlock) ((void)pthread_rwlock_wrlock(&(rwlock)->lock))
#define write_unlock(rwlock) ((void)pthread_rwlock_unlock(&(rwlock)->lock))
#define write_trylock(rwlock) (pthread_rwlock_trywrlock(&(rwlock)->lock) == 0)
#define read_lock_bh(rwlock) read_lock(rwlock)
#define read_unlock_bh(rwlock) read_unlock(rwlock)
#define write_lock_bh(rwlock) write_lock(rwlock)
#define write_unlock_bh(rwlock) write_unlock(rwlock)
#define read_lock_irqsave(rwlock, flags) ((flags) = 0, read_lock(rwlock))
#define read_unlock_irqrestore(rwlock, flags) ((void)(flags), read_unlock(rwlock))
#define write_lock_irqsave(rwlock, flags) ((flags) = 0, write_lock(rwlock))
#define write_unlock_irqrestore(rwlock, flags) ((void)(flags), write_unlock(rwlock))

DEFINE_GUARD(spinlock, spinlock_t *, spin_lock(_T), spin_unlock(_T));
DEFINE_GUARD(read_lock, rwlock_t *, read_lock(_T), read_unlock(_T));
DEFINE_GUARD(write_lock, rwlock_t *, write_lock(_T), write_unlock(_T));

#endif /* USLAB_LINUX_SPINLOCK_H */
