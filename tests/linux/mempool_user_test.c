/* SPDX-License-Identifier: MIT */
/*
 * mempool_user_test.c - kernel code: requests that must go on, out of a pool, done by a thread
 */
#define pr_fmt(fmt) "requests: " fmt

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/mempool.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#define MIN_REQUESTS 4
#define NR_REQUESTS 1000

struct request {
	struct list_head queue;
	unsigned int number;
	u8 *bounce; /* a page */
	struct completion *last;
};

static struct kmem_cache *cache;
static mempool_t *requests, *pages;
static LIST_HEAD(queue);
static DEFINE_SPINLOCK(queue_lock);
static atomic_t done = ATOMIC_INIT(0);

static void request_done(struct request *request)
{
	struct completion *last = request->last;

	BUG_ON(request->bounce[0] != (u8)request->number);
	mempool_free(request->bounce, pages);
	mempool_free(request, requests);
	if (atomic_inc_return(&done) == NR_REQUESTS)
		complete(last);
}

static int worker(void *data)
{
	struct request *request, *next;
	unsigned long flags;
	LIST_HEAD(mine);

	while (!kthread_should_stop()) {
		spin_lock_irqsave(&queue_lock, flags);
		list_splice_tail_init(&queue, &mine);
		spin_unlock_irqrestore(&queue_lock, flags);
		if (list_empty(&mine))
			schedule();
		list_for_each_entry_safe(request, next, &mine, queue) {
			list_del(&request->queue);
			request_done(request);
		}
	}
	return *(int *)data;
}

/* More of them than the pool keeps: who submits waits for those that are done. */
static void submit(unsigned int number, struct completion *last)
{
	struct request *request = mempool_alloc(requests, GFP_NOIO);
	unsigned long flags;

	request->number = number;
	request->last = last;
	request->bounce = mempool_alloc(pages, GFP_NOIO);
	memset(request->bounce, number, 4096);
	spin_lock_irqsave(&queue_lock, flags);
	list_add_tail(&request->queue, &queue);
	spin_unlock_irqrestore(&queue_lock, flags);
}

/* At most so many elements at a time. */
static void *few_alloc(gfp_t gfp, void *left)
{
	void *page = atomic_dec_if_positive(left) < 0 ? NULL : kmalloc(4096, gfp);

	return page;
}

static void few_free(void *page, void *left)
{
	kfree(page);
	atomic_inc(left);
}

static int __init requests_init(void)
{
	DECLARE_COMPLETION_ONSTACK(last);
	static atomic_t left = ATOMIC_INIT(MIN_REQUESTS);
	static int result = 7;
	struct task_struct *task;
	unsigned int i;

	cache = KMEM_CACHE(request, 0);
	requests = mempool_create_slab_pool(MIN_REQUESTS, cache);
	pages = mempool_create(MIN_REQUESTS, few_alloc, few_free, &left);
	if (!cache || !requests || !pages)
		return -ENOMEM;
	BUG_ON(atomic_read(&left));

	task = kthread_run(worker, &result, "requests/%d", 0);
	if (IS_ERR(task))
		return PTR_ERR(task);
	for (i = 0; i < NR_REQUESTS; i++)
		submit(i, &last);
	wait_for_completion(&last);
	BUG_ON(kthread_stop(task) != result);

	mempool_destroy(pages);
	BUG_ON(atomic_read(&left) != MIN_REQUESTS);
	mempool_destroy(requests);
	kmem_cache_destroy(cache);
	return 0;
}

module_init(requests_init);
MODULE_LICENSE("Dual MIT/GPL");
