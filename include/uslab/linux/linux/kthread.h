/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/kthread.h - threads that are told when to stop
 */
#ifndef USLAB_LINUX_KTHREAD_H
#define USLAB_LINUX_KTHREAD_H

#include <pthread.h>

#include <linux/err.h>
#include <linux/slab.h>

struct task_struct {
	pthread_t thread;
	int (*function)(void *data);
	void *data;
	int result;
	bool stop; /* atomic */
};

/* Of the thread itself; NULL: not one of these. One for all files that include this. */
extern __thread struct task_struct *uslab_kthread;
__attribute__((__weak__)) __thread struct task_struct *uslab_kthread;

static inline void *uslab_kthread_main(void *task)
{
	uslab_kthread = task;
	uslab_kthread->result = uslab_kthread->function(uslab_kthread->data);
	return NULL;
}

static inline struct task_struct *uslab_kthread_run(int (*function)(void *data), void *data)
{
	struct task_struct *task = (struct task_struct *)kzalloc(sizeof(*task), GFP_KERNEL);
	int error = task ? 0 : ENOMEM;

	if (task) {
		task->function = function;
		task->data = data;
		error = pthread_create(&task->thread, NULL, uslab_kthread_main, task);
	}
	if (!error)
		return task;
	kfree(task);
	return (struct task_struct *)ERR_PTR(-error);
}

/* The thread runs at once; the name is without effect. */
#define kthread_run(function, data, ...) uslab_kthread_run(function, data)

static inline bool kthread_should_stop(void)
{
	return __atomic_load_n(&uslab_kthread->stop, __ATOMIC_RELAXED);
}

/* Tells the thread to stop, waits for it, and returns what it returned. Once for each thread. */
static inline int kthread_stop(struct task_struct *task)
{
	int result;

	__atomic_store_n(&task->stop, true, __ATOMIC_RELAXED);
	pthread_join(task->thread, NULL);
	result = task->result;
	kfree(task);
	return result;
}

#endif /* USLAB_LINUX_KTHREAD_H */
