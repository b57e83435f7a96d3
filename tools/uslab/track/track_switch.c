/* SPDX-License-Identifier: MIT */
/*
 * uslab/track/track_switch.c - user tracking of the chosen caches, switched on and off
 *
 * Invariants: a cache is noted at the watchdog before it is switched on.
 * Flow:       called by cmd_track.c, track_run.c and track_watchdog.c; calls command/command.c,
 *             command_messages.c and need.c, pattern.c and track_watchdog.c. In: cache[]; out:
 *             commands to the process, and which of them this tool switched on.
 *
 * What was on before this tool started stays on. Sampling is for the caches of malloc under `uslab
 * run`, whose allocations count themselves down (malloc/sampling.h); others, and whole pages, can
 * only be tracked in full.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "command/need.h"
#include "pattern.h"
#include "track/track.h"
#include "util.h"

static const struct snapshot_cache *find(const struct tracking *t, const struct track_cache *c)
{
	struct snapshot_cache like = { .id = c->id };

	memcpy(like.name, c->name, sizeof(like.name));
	return pattern_same(t->snapshot, &like);
}

/* Caches to which the same is to be done: with one command, or few if they are very many. */
struct batch {
	unsigned int nr;
	const char *name[TRACK_MAX_CACHES];
	bool in[TRACK_MAX_CACHES]; /* by index in t->cache */
};

static void batch_add(struct batch *batch, const struct tracking *t, unsigned int index)
{
	if (!find(t, &t->cache[index]))
		return; /* destroyed: nothing to switch */
	batch->name[batch->nr++] = t->cache[index].name;
	batch->in[index] = true;
}

/* *sent: something may have been switched. EXIT_OK or, after a message, EXIT_FAILED. */
static int batch_send(struct tracking *t, const struct batch *batch, enum control_command command,
		      const char *argument, uint64_t value, bool *sent)
{
	bool off = command == CONTROL_SAMPLE ? !value : !strcmp(argument, "-U");
	struct command_request request = {
		.command = command,
		.names = true,
		.argument = argument,
		.value = value,
		.wait_ms = t->options->wait_ms,
		.to_the_end = off,
	};
	int status = EXIT_OK;

	for (unsigned int i = 0; i < batch->nr && status == EXIT_OK; i += request.nr_patterns) {
		struct control reply;
		int ret;

		request.patterns = batch->name + i;
		request.nr_patterns = command_fits(request.patterns, batch->nr - i, true);
		ret = command_send(&t->source.target, t->source.root, &request, &reply);
		*sent |= !ret || ret == -EINPROGRESS;
		if (ret || reply.matched) /* else they were destroyed meanwhile */
			status = command_report(&t->source.target, t->source.root, &request, ret,
						&reply);
	}
	return status;
}

static bool wants_sampling(const struct tracking *t)
{
	return t->options->mode == TRACK_SAMPLE ||
	       (t->options->mode == TRACK_AUTO && !t->options->nr_patterns);
}

static bool can_be_sampled(const struct track_cache *c)
{
	return c->id >= USLAB_ID_MALLOC && c->id < USLAB_ID_KMALLOC;
}

/* One warning for all of them. */
static void warn_full(const struct tracking *t)
{
	unsigned int nr = 0;
	const char *first = NULL;

	for (unsigned int i = 0; i < t->nr_caches; i++)
		if (t->cache[i].switched && !t->cache[i].sampled && t->cache[i].id) {
			first = first ? first : t->cache[i].name;
			nr++;
		}
	if (!nr || !wants_sampling(t))
		return;
	util_warn(
		t->options->command,
		nr > 1 ? "%s and %u more cannot be sampled, only caches of malloc under 'uslab run' "
			 "can: they are tracked in full, which is exact, and slower for the program"
		       : "%s cannot be sampled, only caches of malloc under 'uslab run' can: it is "
			 "tracked in full, which is exact, and slower for the program",
		first, nr - 1);
}

/* Is a cache tracked in another way than is asked for now? What another tool has begun stays. */
static bool is_otherwise(const struct tracking *t, const struct track_cache *c,
			 const struct snapshot_cache *now)
{
	if (now->flags & SLAB_STORE_USER)
		return wants_sampling(t) && can_be_sampled(c);
	return now->sampled && !wants_sampling(t);
}

/*
 * One warning for all of them. With --full or --sample that is an error: EXIT_FAILED.
 */
static int check_mode(const struct tracking *t)
{
	bool refused = t->options->mode != TRACK_AUTO;
	const struct track_cache *first = NULL;
	const char *how = "sampled already, by another tool";
	unsigned int nr = 0;
	char more[32] = "";

	for (unsigned int i = 0; i < t->nr_caches; i++) {
		const struct snapshot_cache *now = find(t, &t->cache[i]);

		if (!now || !is_otherwise(t, &t->cache[i], now))
			continue;
		if (!nr++) {
			first = &t->cache[i];
			if (now->flags & SLAB_STORE_USER)
				how = "tracked in full already, by another tool, debug flag U";
		}
	}
	if (!nr)
		return EXIT_OK;
	if (nr > 1)
		snprintf(more, sizeof(more), " and %u more", nr - 1);
	util_warn(t->options->command,
		  refused ? "%s%s: %s or since one with --keep. Wait for its end, or end it: "
			    "uslab track -p %d --off"
			  : "%s%s: %s or since one with --keep, and so it is shown (uslab track "
			    "-p %d --off ends that)",
		  first->name, more, how, (int)t->options->source.pid);
	return refused ? EXIT_FAILED : EXIT_OK;
}

void track_warn_ended(struct tracking *t)
{
	for (unsigned int i = 0; i < t->nr_caches && !t->warned_ended; i++) {
		const struct track_cache *c = &t->cache[i];
		const struct snapshot_cache *now = find(t, c);

		if (!now || now->flags & SLAB_STORE_USER ||
		    (c->sampled && (now->sampled || now->sampling_left)))
			continue;
		util_warn(
			t->options->command,
			"%s is not %s any more: another tool ended that. What was allocated since "
			"is not counted",
			c->name, c->sampled ? "sampled" : "tracked");
		t->warned_ended = true;
	}
}

/* Is a cache that is not tracked so far to be sampled, or in full? */
static bool is_to_sample(const struct tracking *t, const struct track_cache *c)
{
	return wants_sampling(t) && can_be_sampled(c);
}

static bool is_tracked(const struct snapshot_cache *now)
{
	return now->flags & SLAB_STORE_USER || now->sampled;
}

/*
 * What is sampled is bounded: some thousand objects a second at most, of which those are left that
 * the program keeps. In full it is every object.
 */
static int check_memory(struct tracking *t)
{
	struct need need = { .bytes = 0 };
	bool all_own = true;

	for (unsigned int i = 0; i < t->nr_caches; i++) {
		const struct snapshot_cache *now = find(t, &t->cache[i]);

		if (!now || is_tracked(now) || is_to_sample(t, &t->cache[i]))
			continue;
		all_own &= !can_be_sampled(&t->cache[i]);
		need_add(&need, t->snapshot, (unsigned int)(now - t->snapshot->cache),
			 now->flags | SLAB_STORE_USER);
	}
	return need_check(&need, &t->source.target, t->snapshot, "when tracked in full",
			  all_own ? "Choose fewer caches with --cache"
				  : "Choose fewer caches with --cache, use --sample");
}

/* What is to be done with each; those that are tracked already are left as they are. */
static void plan_on(struct tracking *t, struct batch *full, struct batch *sampled)
{
	for (unsigned int i = 0; i < t->nr_caches; i++) {
		struct track_cache *c = &t->cache[i];
		const struct snapshot_cache *now = find(t, c);

		if (!now)
			continue;
		c->sampled = !(now->flags & SLAB_STORE_USER) &&
			     (now->sampled || is_to_sample(t, c));
		if (is_tracked(now))
			continue;
		track_watchdog_note(t, i);
		batch_add(c->sampled ? sampled : full, t, i);
	}
}

static void note_switched(struct tracking *t, const struct batch *batch)
{
	for (unsigned int i = 0; i < t->nr_caches; i++)
		t->cache[i].switched |= batch->in[i];
}

int track_switch_on(struct tracking *t)
{
	struct batch full = { .nr = 0 }, sampled = { .nr = 0 };
	bool sent = false;
	int status = check_mode(t);

	if (status == EXIT_OK)
		status = check_memory(t);
	if (status != EXIT_OK)
		return status;
	plan_on(t, &full, &sampled);
	status = batch_send(t, &full, CONTROL_DEBUG, "+U", 0, &sent);
	if (sent)
		note_switched(t, &full);
	sent = false;
	if (status == EXIT_OK)
		status = batch_send(t, &sampled, CONTROL_SAMPLE, NULL, 1, &sent);
	if (sent)
		note_switched(t, &sampled);
	warn_full(t);
	return status;
}

int track_switch_off(struct tracking *t, bool all)
{
	struct batch full = { .nr = 0 }, sampled = { .nr = 0 };
	int status_full, status_sampled;
	bool sent = false; /* whatever was */

	for (unsigned int i = 0; i < t->nr_caches; i++) {
		struct track_cache *c = &t->cache[i];
		const struct snapshot_cache *now = find(t, c);

		if (all ? now && now->flags & SLAB_STORE_USER : c->switched && !c->sampled)
			batch_add(&full, t, i);
		if (all ? now && (now->sampled || now->sampling_left) : c->switched && c->sampled)
			batch_add(&sampled, t, i);
		c->switched = false;
	}
	status_full = batch_send(t, &full, CONTROL_DEBUG, "-U", 0, &sent);
	status_sampled = batch_send(t, &sampled, CONTROL_SAMPLE, NULL, 0, &sent);
	return status_full == EXIT_OK ? status_sampled : status_full;
}
