/* SPDX-License-Identifier: MIT */
/*
 * front/percpu.c - per-CPU words, changed by restartable sequences or under a per-CPU lock
 *
 * Why:        docs/adr/0004, docs/adr/0092.
 * Data:       the windows; generic mode: a struct lock in the state slot of cache 0, which does
 *             not exist.
 * Invariants: see percpu.h.
 * Locks:      RANK_CPU, generic mode only.
 * Flow:       see percpu.h; calls os/cpu/rseq.c and arch/rseq_ops.h.
 *
 * Who may run at the same time as whom, for one word of CPU c in rseq mode:
 *
 *                       sequence on c    percpu_stop_xchg(c)
 *   sequence on c       never: same CPU  see below
 *   percpu_stop_xchg    see below        never: the caller's closed flag admits one
 *
 * percpu_stop_xchg against a sequence. The sequence's only store (commit) writes a value that it
 * derived from the value v that it loaded. Let our atomic exchange return v and leave stop:
 *  1. it loaded and committed before the exchange: we have its value.
 *  2. it loaded v before, commits after: stop is overwritten. After the fence we see a word that
 *     is not stop: v is no longer true, whoever committed has taken it over. We start again.
 *  3. it loads after the exchange: it sees stop, misses, and commits nothing, or is a run, which
 *     stores stop again, or an install that compares the caller's closed flag, stored before the
 *     exchange: it commits nothing either.
 *  4. it is in flight during the fence: os_rseq_fence() ends it; the next one is case 3.
 * So when the word still holds stop after the fence, v was its last value and is now ours. This
 * needs that no sequence stores stop where there was another value: case 2 would look like case 1.
 * That is why a CPU which takes its own array leaves front_gone_word.
 * Progress: each retry means that the other CPU committed; closed lets it install nothing new, so
 * it can only run its array up and down until one exchange meets no sequence half-way.
 *
 * percpu_stop_both() does that with two words and one fence for both. Each word is ours by itself
 * as soon as it holds stop after a fence, and is not exchanged again then; what one of both still
 * has to retry is no concern of the other. A word with 0 is not written, so that no page gets
 * resident for it: if it is 0 after the fence still, it stays so, as nothing new is installed.
 * Delays: tests/race/sequences_test.c, capacity_test.c.
 *
 * ThreadSanitizer does not see sequences (they are asm): the tsan build runs the generic mode,
 * whose locks it sees; the sequences are tested with delays injected (tests/race).
 */
#include "front/percpu.h"

#include <errno.h>

#include "arch/rseq_ops.h"
#include "base/assert.h"
#include "base/atomic.h"
#include "os/cpu/cpu.h"
#include "os/cpu/rseq.h"

bool percpu_rseq;

/*
 * What programs that inline this layout refer to (<uslab/arch/...>, in asm:
 * used); libuslab.so exports it. Why: docs/adr/0025.
 */
#define LAYOUT_NAME(number) LAYOUT_NAME1(number)
#define LAYOUT_NAME1(number) uslab_layout_##number
extern const char LAYOUT_NAME(USLAB_LAYOUT);
USLAB_API const char LAYOUT_NAME(USLAB_LAYOUT) __attribute__((used)) = USLAB_LAYOUT;

/* The state slot of cache 0 of each CPU holds the generic mode's lock. */
static struct lock *percpu_lock(int cpu)
{
	return (struct lock *)percpu_state(USLAB_ID_NONE, cpu);
}

void percpu_init(void)
{
	percpu_rseq = os_rseq_on;
	if (percpu_rseq)
		return;
	for (unsigned int cpu = 0; cpu < os_topology.nr_cpu_ids; cpu++)
		lock_init(percpu_lock((int)cpu), RANK_CPU);
}

void percpu_enter(int cpu)
{
	lock_acquire(percpu_lock(cpu));
}

bool percpu_try_enter(int cpu)
{
	return lock_try(percpu_lock(cpu));
}

void percpu_exit(int cpu)
{
	lock_release(percpu_lock(cpu));
}

/*
 * ---- the generic mode's steps; apart, so that the others need no stack frame ----
 *
 * Release: a word is also read without its lock, and what it points at with it.
 */

static noinline int locked_xchg(int cpu, uintptr_t *word, uintptr_t new_value, uintptr_t *old)
{
	percpu_enter(cpu);
	*old = load_relaxed(word);
	store_relaxed(word, new_value);
	percpu_exit(cpu);
	return 0;
}

static noinline int locked_cmp2_store(int cpu, uintptr_t *word, uintptr_t expect,
				      const uintptr_t *word2, uintptr_t expect2,
				      uintptr_t new_value)
{
	bool equal;

	percpu_enter(cpu);
	equal = load_relaxed(word) == expect && load_relaxed(word2) == expect2;
	if (equal)
		store_release(word, new_value);
	percpu_exit(cpu);
	return equal ? 0 : 1;
}

static noinline int locked_cmp2_push(int cpu, uintptr_t *word, uintptr_t expect,
				     const uintptr_t *word2, uintptr_t expect2, uintptr_t *slot,
				     uintptr_t value)
{
	bool equal;

	percpu_enter(cpu);
	equal = load_relaxed(word) == expect && load_relaxed(word2) == expect2;
	if (equal) {
		store_relaxed(slot, value);
		store_release(word, (uintptr_t)slot);
	}
	percpu_exit(cpu);
	return equal ? 0 : 1;
}

/* ---- the steps ---- */

/* Steps of this thread in a row that were not done. */
static __thread unsigned int in_vain __attribute__((tls_model("initial-exec")));

static cold noinline int not_done(void)
{
	if (++in_vain == PERCPU_TRIES) {
		in_vain = 0;
		os_rseq_leave();
	}
	return -EAGAIN;
}

/* What a sequence said; less than 0: it was not done. */
static always_inline int after_step(int ret)
{
	if (unlikely(ret < 0))
		return not_done();
	if (unlikely(in_vain))
		in_vain = 0;
	return ret;
}

int percpu_xchg(int cpu, uintptr_t *word, uintptr_t new_value, uintptr_t *old)
{
	if (unlikely(!percpu_rseq))
		return locked_xchg(cpu, word, new_value, old);
	return after_step(arch_rseq_xchg(os_rseq_offset, cpu, word, new_value, old));
}

int percpu_cmp2_store(int cpu, uintptr_t *word, uintptr_t expect, const uintptr_t *word2,
		      uintptr_t expect2, uintptr_t new_value)
{
	if (unlikely(!percpu_rseq))
		return locked_cmp2_store(cpu, word, expect, word2, expect2, new_value);
	return after_step(
		arch_rseq_cmp2_store(os_rseq_offset, cpu, word, expect, word2, expect2, new_value));
}

int percpu_cmp2_push(int cpu, uintptr_t *word, uintptr_t expect, const uintptr_t *word2,
		     uintptr_t expect2, uintptr_t *slot, uintptr_t value)
{
	if (unlikely(!percpu_rseq))
		return locked_cmp2_push(cpu, word, expect, word2, expect2, slot, value);
	return after_step(arch_rseq_cmp2_push(os_rseq_offset, cpu, word, expect, word2, expect2,
					      slot, value));
}

void percpu_put_back(int cpu, uintptr_t *word, uintptr_t value)
{
	bool locked = !percpu_rseq;

	if (unlikely(locked))
		percpu_enter(cpu);
	store_release(word, value); /* pairs with the acquire of who reads word */
	if (unlikely(locked))
		percpu_exit(cpu);
}

/* Asked after a fence: has no sequence stored over what was left in the word? */
static bool is_still(const uintptr_t *word, uintptr_t left)
{
	return load_acquire(word) == left;
}

#define LOCAL_TRIES (PERCPU_TRIES / 2) /* fewer: others may be why */

struct local_xchg {
	int cpu;
	uintptr_t *word;
	uintptr_t new_value;
	uintptr_t old;
	int ret;
};

static void local_xchg(void *arg)
{
	struct local_xchg *x = arg;

	/* it runs there: what ends its sequence is a preemption */
	for (unsigned int i = 0; i < LOCAL_TRIES; i++)
		if ((x->ret = percpu_xchg(x->cpu, x->word, x->new_value, &x->old)) != -EAGAIN)
			break;
}

static void nothing(void *arg)
{
	(void)arg;
}

/*
 * A thread without a registration, whose sequences fail: by exchange, as with a fence, which is
 * that it runs there. If it cannot, the value goes back, unless a sequence has stored over stop:
 * one that had loaded it may still commit, which is as if nothing had been taken.
 */
static int stop_unregistered(int cpu, uintptr_t *word, uintptr_t stop, uintptr_t *old)
{
	int ret;

	do {
		uintptr_t value = xchg(word, stop);

		ret = os_run_on_cpu((unsigned int)cpu, nothing, NULL);
		if (ret) {
			cmpxchg(word, stop, value);
			return ret;
		}
		*old = value;
	} while (!is_still(word, stop));
	return 0;
}

/* Without a fence: migrates to that CPU and takes the word there, by a sequence. */
static int stop_by_migration(int cpu, uintptr_t *word, uintptr_t stop, uintptr_t *old)
{
	struct local_xchg x = { .cpu = cpu, .word = word, .new_value = stop };
	int ret;

	if (percpu_cpu() < 0)
		return stop_unregistered(cpu, word, stop, old);
	ret = os_run_on_cpu((unsigned int)cpu, local_xchg, &x);
	if (ret)
		return ret;
	*old = x.old;
	return x.ret;
}

int percpu_stop_xchg(int cpu, uintptr_t *word, uintptr_t stop, uintptr_t *old)
{
	uintptr_t value;

	if (!percpu_rseq)
		return percpu_xchg(cpu, word, stop, old);
	if (os_rseq_fence((unsigned int)cpu)) /* is there such a fence at all? */
		return stop_by_migration(cpu, word, stop, old);

	do {
		value = xchg(word, stop);
		if (os_rseq_fence((unsigned int)cpu))
			os_die(__FILE__, __LINE__, "membarrier worked and then failed");
	} while (!is_still(word, stop));
	*old = value;
	return 0;
}

int percpu_settle(int cpu)
{
	if (!percpu_rseq) {
		percpu_enter(cpu);
		percpu_exit(cpu);
		return 0;
	}
	if (!os_rseq_fence((unsigned int)cpu))
		return 0;
	/* that this thread ran there has aborted all others' sequences */
	return os_run_on_cpu((unsigned int)cpu, nothing, NULL);
}

/* Asked of this thread's own CPU, which interrupts nobody, or of CPU 0 if it has none. */
bool percpu_can_fence(void)
{
	int here = os_rseq_cpu();

	return !percpu_rseq || os_rseq_fence(here < 0 ? 0 : (unsigned int)here) == 0;
}

/* A filter of system calls may have come since: that this thread ran there is as good. */
static void fence_somehow(int cpu)
{
	if (os_rseq_fence((unsigned int)cpu) && os_run_on_cpu((unsigned int)cpu, nothing, NULL))
		os_die(__FILE__, __LINE__, "membarrier worked and then failed");
}

/*
 * One after the other, where there is no fence. What may still be installed is seen: a word that is
 * empty after everything has settled stays so.
 */
static int stop_both_apart(int cpu, uintptr_t *const word[2], uintptr_t stop, uintptr_t old[2])
{
	int ret = percpu_settle(cpu);

	for (int i = 0; i < 2 && !ret; i++)
		if (load_relaxed(word[i]))
			ret = percpu_stop_xchg(cpu, word[i], stop, &old[i]);
	return ret;
}

/* What one word held stays ours, however often the other one is looked at again. */
int percpu_stop_both(int cpu, uintptr_t *const word[2], uintptr_t stop, uintptr_t old[2])
{
	uintptr_t left[2] = { stop, stop };
	bool done[2] = { false, false };

	old[0] = old[1] = 0;
	if (!percpu_rseq || unlikely(!percpu_can_fence()))
		return stop_both_apart(cpu, word, stop, old);
	do {
		for (int i = 0; i < 2; i++) {
			if (done[i])
				continue;
			left[i] = load_relaxed(word[i]) ? stop : 0;
			old[i] = left[i] ? xchg(word[i], stop) : 0;
		}
		fence_somehow(cpu);
		for (int i = 0; i < 2; i++)
			done[i] = done[i] || is_still(word[i], left[i]);
	} while (!done[0] || !done[1]);
	return 0;
}

void percpu_count(unsigned int id, enum engine_stat item)
{
	int cpu = percpu_cpu();

	if (cpu >= 0)
		count_event(&percpu_state(id, cpu)->stat[item]);
}

void percpu_count_many(unsigned int id, enum engine_stat item, unsigned int n)
{
	int cpu = percpu_cpu();
	uint32_t *stat;

	if (cpu < 0)
		return;
	stat = &percpu_state(id, cpu)->stat[item];
	store_relaxed(stat, load_relaxed(stat) + n);
}

static void count_hook(const struct engine *e, enum engine_stat item)
{
	percpu_count(e->id, item);
}

void percpu_set_stats(bool on)
{
	engine_count_hook = on ? count_hook : NULL;
}

void percpu_each_lock(void (*act)(struct lock *l))
{
	for (unsigned int cpu = 0; !percpu_rseq && cpu < os_topology.nr_cpu_ids; cpu++)
		act(percpu_lock((int)cpu));
}
