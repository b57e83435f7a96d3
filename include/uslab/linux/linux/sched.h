/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/sched.h - to give the CPU to others: the system sees to that
 */
#ifndef USLAB_LINUX_SCHED_H
#define USLAB_LINUX_SCHED_H

#include <sched.h>

#if __has_include_next(<linux/sched.h>)
#include_next <linux/sched.h>
#endif

#ifndef cond_resched
static inline int uslab_cond_resched(void)
{
	return 0;
}
#define cond_resched() uslab_cond_resched()
#endif

#ifndef schedule
#define schedule() ((void)sched_yield())
#endif

#endif /* USLAB_LINUX_SCHED_H */
