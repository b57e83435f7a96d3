/* SPDX-License-Identifier: MIT */
/*
 * uslab/track_switch.c - user tracking of the chosen caches, switched on and off
 *
 * What was on before we came stays on. Sampling is for the caches of malloc under `uslab
 * run`, whose allocations count themselves down (malloc/pick.h); others, and whole pages, can
 * only be tracked in full.
 */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "pattern.h"
#include "track.h"
#include "util.h"

static const struct snapshot_cache *find(const struct tracking *t, const struct track_cache *c)
{
	struct snapshot_cache like = { .id = c->id };

	memcpy(like.name, c->name, sizeof(like.name));
	return pattern_same(t->snapshot, &like);
}

static int send_command(struct tracking *t, const struct track_cache *c,
			enum control_command command, const char *argument, uint64_t value)
{
	bool off = command == CONTROL_SAMPLE ? !value : !strcmp(argument, "-U");
	struct command_request request = {
		.command = command,
		.pattern = c->name,
		.argument = argument,
		.value = value,
		.wait_ms = t->options->wait_ms,
		.to_the_end = off,
	};
	struct control reply;

	if (!find(t, c))
		return EXIT_OK; /* gone: nothing to be switched */
	return command_perform(&t->source.target, t->source.root, &request, &reply);
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

/* Said once for all of them. */
static void say_what_is_full(const struct tracking *t)
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

int track_switch_on(struct tracking *t)
{
	int status = EXIT_OK;

	for (unsigned int i = 0; i < t->nr_caches && status == EXIT_OK; i++) {
		struct track_cache *c = &t->cache[i];
		const struct snapshot_cache *now = find(t, c);

		if (!now)
			continue;
		c->sampled = !(now->flags & SLAB_STORE_USER) &&
			     (now->sampled || (wants_sampling(t) && can_be_sampled(c)));
		if (now->flags & SLAB_STORE_USER || now->sampled)
			continue;
		track_guard_note(t, i);
		status = c->sampled ? send_command(t, c, CONTROL_SAMPLE, NULL, 1)
				    : send_command(t, c, CONTROL_DEBUG, "+U", 0);
		c->switched = status == EXIT_OK;
	}
	say_what_is_full(t);
	return status;
}

static int switch_one_off(struct tracking *t, struct track_cache *c, bool all)
{
	const struct snapshot_cache *now = find(t, c);
	bool full = all ? now && now->flags & SLAB_STORE_USER : c->switched && !c->sampled;
	bool sampling = all ? now && now->sampled : c->switched && c->sampled;
	int status = EXIT_OK;

	if (full)
		status = send_command(t, c, CONTROL_DEBUG, "-U", 0);
	if (sampling && status == EXIT_OK)
		status = send_command(t, c, CONTROL_SAMPLE, NULL, 0);
	c->switched = false;
	return status;
}

int track_switch_off(struct tracking *t, bool all)
{
	int status = EXIT_OK;

	for (unsigned int i = 0; i < t->nr_caches; i++)
		if (switch_one_off(t, &t->cache[i], all) != EXIT_OK)
			status = EXIT_FAILED;
	return status;
}
