/* SPDX-License-Identifier: MIT */
/*
 * support/reader_rcu.h - a small RCU for tests with readers in several threads
 *
 * Who enters notes the number of the grace period that is under way; one is over when nobody is
 * inside with an older number. A thread ends grace periods and calls what was given to call().
 */
#ifndef SUPPORT_READER_RCU_H
#define SUPPORT_READER_RCU_H

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <uslab/rcu.h>

#define READERS_MAX 16
#define CALLS_MAX 64

static struct {
	unsigned long period;		   /* atomic, from 1 */
	unsigned long inside[READERS_MAX]; /* atomic; 0: not inside */
	pthread_mutex_t at_work;	   /* a period ends, functions are called */
	pthread_mutex_t lock;		   /* of what follows */
	struct {
		struct rcu_head *head;
		void (*func)(struct rcu_head *head);
	} asked[CALLS_MAX];
	unsigned int nr;
	unsigned long called, done;
} readers = { .period = 1,
	      .at_work = PTHREAD_MUTEX_INITIALIZER,
	      .lock = PTHREAD_MUTEX_INITIALIZER };

/* Before reading through a pointer: pairs with the fences of reader_synchronize(). */
static inline void reader_lock(unsigned int reader)
{
	__atomic_store_n(&readers.inside[reader],
			 __atomic_load_n(&readers.period, __ATOMIC_SEQ_CST), __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void reader_unlock(unsigned int reader)
{
	__atomic_store_n(&readers.inside[reader], 0, __ATOMIC_SEQ_CST);
}

static inline void reader_synchronize(void)
{
	unsigned long period;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	period = __atomic_add_fetch(&readers.period, 1, __ATOMIC_SEQ_CST);
	for (unsigned int i = 0; i < READERS_MAX; i++)
		for (;;) {
			unsigned long inside =
				__atomic_load_n(&readers.inside[i], __ATOMIC_SEQ_CST);

			if (!inside || inside >= period)
				break;
			usleep(20);
		}
}

static inline void reader_call(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	pthread_mutex_lock(&readers.lock);
	if (readers.nr == CALLS_MAX)
		abort();
	readers.asked[readers.nr].head = head;
	readers.asked[readers.nr++].func = func;
	readers.called++;
	pthread_mutex_unlock(&readers.lock);
}

static inline void reader_end_one_period(void)
{
	unsigned int nr;

	pthread_mutex_lock(&readers.lock);
	nr = readers.nr;
	pthread_mutex_unlock(&readers.lock);
	if (!nr)
		return;
	reader_synchronize();
	for (; nr; nr--) {
		struct rcu_head *head;
		void (*func)(struct rcu_head * head);

		pthread_mutex_lock(&readers.lock);
		head = readers.asked[0].head;
		func = readers.asked[0].func;
		for (unsigned int i = 1; i < readers.nr; i++)
			readers.asked[i - 1] = readers.asked[i];
		readers.nr--;
		pthread_mutex_unlock(&readers.lock);
		func(head);
		pthread_mutex_lock(&readers.lock);
		readers.done++;
		pthread_mutex_unlock(&readers.lock);
	}
}

static inline void *reader_end_periods(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&readers.at_work);
		reader_end_one_period();
		pthread_mutex_unlock(&readers.at_work);
		usleep(50);
	}
	return arg;
}

static inline void reader_barrier(void)
{
	unsigned long called;
	unsigned long done;

	pthread_mutex_lock(&readers.lock);
	called = readers.called;
	done = readers.done;
	pthread_mutex_unlock(&readers.lock);
	while ((long)(done - called) < 0) {
		usleep(50);
		pthread_mutex_lock(&readers.lock);
		done = readers.done;
		pthread_mutex_unlock(&readers.lock);
	}
}

static const struct uslab_rcu_ops reader_rcu = { reader_call, reader_synchronize, reader_barrier };

static inline void reader_start(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, reader_end_periods, NULL))
		abort();
	pthread_detach(thread);
}

/* Around fork(): whose child has no readers but its one thread, and ends periods anew. */
static inline void reader_before_fork(void)
{
	pthread_mutex_lock(&readers.at_work);
	pthread_mutex_lock(&readers.lock);
}

static inline void reader_after_fork(bool child)
{
	if (child)
		for (unsigned int i = 0; i < READERS_MAX; i++)
			readers.inside[i] = 0;
	pthread_mutex_unlock(&readers.lock);
	pthread_mutex_unlock(&readers.at_work);
	if (child)
		reader_start();
}

#endif /* SUPPORT_READER_RCU_H */
