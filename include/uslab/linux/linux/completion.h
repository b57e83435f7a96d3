/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/completion.h - waiting until something is done
 */
#ifndef USLAB_LINUX_COMPLETION_H
#define USLAB_LINUX_COMPLETION_H

#include <limits.h>
#include <pthread.h>

#include <linux/types.h>

struct completion {
	unsigned int done; /* how many waiters may go on; UINT_MAX: all */
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

#define COMPLETION_INITIALIZER(name)                                                              \
	{                                                                                         \
		.done = 0, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER \
	}
#define DECLARE_COMPLETION(name) struct completion name = COMPLETION_INITIALIZER(name)
#define DECLARE_COMPLETION_ONSTACK(name) DECLARE_COMPLETION(name)

static inline void init_completion(struct completion *c)
{
	*c = (struct completion)COMPLETION_INITIALIZER(*c);
}

static inline void uslab_set_done(struct completion *c, unsigned int done)
{
	pthread_mutex_lock(&c->lock);
	if (c->done != UINT_MAX)
		c->done = done == 1 ? c->done + 1 : done;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static inline void reinit_completion(struct completion *c)
{
	c->done = 0;
}

static inline void complete(struct completion *c)
{
	uslab_set_done(c, 1);
}

static inline void complete_all(struct completion *c)
{
	uslab_set_done(c, UINT_MAX);
}

static inline void wait_for_completion(struct completion *c)
{
	pthread_mutex_lock(&c->lock);
	while (!c->done)
		pthread_cond_wait(&c->changed, &c->lock);
	if (c->done != UINT_MAX)
		c->done--;
	pthread_mutex_unlock(&c->lock);
}

#endif /* USLAB_LINUX_COMPLETION_H */
