/* SPDX-License-Identifier: MIT */
/*
 * cache/control/control.h - the mailbox: commands that tools write from outside
 *
 * Why:        docs/adr/0014, docs/adr/0030, docs/adr/0059.
 * Data:       struct control, one per library, found through uslab_root.
 * Invariants: state goes IDLE -> CLAIMED -> PENDING (a tool, which holds an advisory lock on
 *             /proc/PID/mem against other tools) -> RUNNING -> DONE (a thread of the process) ->
 *             IDLE (the tool). A tool writes the rest before PENDING, and reads it after DONE.
 *             Nothing in it is trusted.
 * Locks:      none; RUNNING is taken by compare and swap. Commands take cache_lock.
 * Flow:       slow paths and the control thread call control_poll(); tools
 *             write and read the structure.
 *
 * A program that never takes a slow path would never poll. So a tool also clears *kick
 * (uslab_root.kick), the size limits of the drop-in, also for threads in groups: the next malloc()
 * takes the slow path, and restores them (control_rearm). USLAB_CONF=control=MS has a thread poll
 * every MS milliseconds.
 *
 * A tool that samples writes sample_mean, sample_until and clears *kick. From then on the limit is
 * CONTROL_SAMPLING, and every malloc() counts its bytes down (malloc/sampling.h). sample_until is a
 * lease, which the tool renews: if the tool dies, sampling ends with the lease. Caches that it left
 * sampled then count as not sampled, and the next CONTROL_SAMPLE ends that.
 */
#ifndef CACHE_CONTROL_H
#define CACHE_CONTROL_H

#include "base/atomic.h"
#include "base/compiler.h"

enum control_state {
	CONTROL_IDLE,
	CONTROL_CLAIMED,
	CONTROL_PENDING,
	CONTROL_RUNNING,
	CONTROL_DONE,
};

/*
 * patterns: names of caches as shell patterns; also the kernel's ids (":0000064"). A command is for
 * all caches that match one of them, so that a program that polls rarely is waited for once.
 */
enum control_command {
	CONTROL_NOTHING, /* no command, only an answer */
	/*
	 * argument: debug flags of F Z P U T A; "-" for none; "+U", "-T" to change. A pattern may
	 * also be the exact name of whole pages (blocks_name); they can have F Z P U.
	 */
	CONTROL_DEBUG,
	CONTROL_SAMPLE,	  /* value: 1: sampled objects are tracked; 0: no more */
	CONTROL_SHRINK,	  /* gives memory back */
	CONTROL_VALIDATE, /* result value: slabs checked */
	CONTROL_SET,	  /* argument "attribute=number": as the writable files of spec 6.3 */
	CONTROL_TUNE,	  /* argument "LIMIT BATCHCOUNT SHARED" (spec 9.2) */
	CONTROL_KFENCE,	  /* argument "sample=N": see debug/kfence/kfence.h */
	CONTROL_TRIM,	  /* all caches, and free pages to the system */
	CONTROL_PROFILE,  /* value: 1: allocation profiling is switched on; 0: off */
	/*
	 * Slabs of caches whose objects move are emptied, for value microseconds (0: until it is
	 * done). argument: number of the sweep, in decimals, not 0: a cache that is done in it is
	 * left out. Only the library's own thread carries it out, since the program's functions
	 * take locks that a thread which allocates may hold. Result value: bytes given back.
	 */
	CONTROL_DEFRAG,
};

#define CONTROL_TEXT 64
#define CONTROL_PATTERNS 2048
/* Of CONTROL_SET's attribute "sheaf_capacity": objects, 0: no arrays; or: as their size gives. */
#define CONTROL_CAPACITY_MAX 1024
#define CONTROL_CAPACITY_BY_SIZE UINT32_MAX
#define CONTROL_SAMPLING 1     /* in *kick: smaller than every size but 0 */
#define CONTROL_SAMPLING_MIN 1 /* of sample_mean */
#define CONTROL_SAMPLING_MAX 30
#define CONTROL_SAMPLING_FOREVER UINT64_MAX
#define CONTROL_SAMPLING_LEASE_MS 10000u

struct control {
	uint32_t size; /* of this structure */
	uint32_t state;
	uint32_t command;
	int32_t result;	  /* 0, or the first -errno that a cache gave */
	uint32_t matched; /* caches that the patterns named */
	uint32_t failed;  /* of these, caches that gave an error */
	uint32_t more;	  /* CONTROL_DEFRAG: not all of them are done; to be sent again */
	uint64_t value;	  /* of the command; then of the answer */
	uint64_t serial;  /* commands carried out since start */
	/*
	 * Sampling, beside the commands: tools write these at any time, the process raises
	 * sample_mean where too many are sampled, and clears it at the end of the lease.
	 */
	uint32_t sample_mean; /* log2 of the mean of bytes between two samples; 0: nothing is sampled */
	uint32_t can_sample;   /* this library has a malloc that samples; const */
	uint64_t sample_until; /* os_clock_ms() of this process, whatever the tool's is */
	uint64_t sampled;      /* objects of sampled caches, since start */
	uint32_t unprepared;   /* the next command makes caches: see control_prepare */
	/* enum control_thread, of a process that was asked for a thread that polls */
	uint32_t thread;
	char argument[CONTROL_TEXT];
	char failed_name[CONTROL_TEXT]; /* the first cache that gave an error */
	/* strings one after the other; the last is followed by an empty one, or the end */
	char patterns[CONTROL_PATTERNS];
};

/* Of a child of fork(), whose parent had the thread. */
enum control_thread {
	CONTROL_THREAD_AS_STARTED, /* it is no such child, or has its thread */
	CONTROL_THREAD_WAITS,	   /* to be started by an allocation */
	CONTROL_THREAD_FAILED,
	CONTROL_THREAD_OFF, /* USLAB_CONF=fork_thread=0 */
};

extern struct control control;

/*
 * Is a cache that is sampled since then only left so, by a tool that died? c: as it was at `now`. A
 * tool has as long as a lease from its command to its first lease.
 */
static inline bool control_sampling_is_over(const struct control *c, uint64_t since, uint64_t now)
{
	return (!load_relaxed(&c->sample_mean) || now > load_relaxed(&c->sample_until)) &&
	       now > since + CONTROL_SAMPLING_LEASE_MS;
}

/*
 * Set by malloc/, with control.unprepared: makes the caches that a command may name and nobody has
 * used so far, before the command is carried out. NULL: there are none. A tool that reads which
 * caches there are before it writes its command writes CONTROL_NOTHING first.
 */
extern void (*control_prepare)(void);

/* Set by malloc/: opens its hit path again after a tool closed it. NULL: there is none. */
extern void (*control_rearm)(void);

/* Defragmentation of several caches, for some time. */
struct control_sweep {
	const char *patterns; /* of names, as for cache_each_locked() */
	size_t size;
	uint64_t number; /* caches that are done in this sweep are left out; not 0 */
	uint64_t budget_us;
	unsigned int threshold; /* percent of the slabs that are partial; fewer: left out */
	unsigned int matched;	/* on return: caches of those names that can move */
	unsigned long bytes;	/* given back */
	bool more;		/* not all of them are done */
};

/* Set by mobility/, which needs frees, and these poll. NULL: there is no thread that does it. */
extern void (*control_defrag)(struct control_sweep *sweep);

cold void control_run(void);

/*
 * USLAB_CONF=control=MS: a thread polls every interval_ms. 0 or -errno. Context: see
 * os/time/ticker.h.
 */
cold int control_start(unsigned int interval_ms);

/* A child of fork() has an empty mailbox. */
cold void control_discard(void);

/* ---- thread.c: the library's own thread in children of fork() ---- */

/* In the child: does what there is to do without a lock and without memory. */
cold void thread_forked(void);
/* This thread is to start the other one, in a child that lacks it. */
cold void thread_mark(void);
/*
 * LOCK_FORKED is set: starts it, if this is the time. Context: an allocation, no nested call, no
 * lock held.
 */
cold void thread_start_again(void);

/* One load. No lock may be held. */
static inline void control_poll(void)
{
	if (unlikely(load_relaxed(&control.state) == CONTROL_PENDING))
		control_run();
}

#endif /* CACHE_CONTROL_H */
