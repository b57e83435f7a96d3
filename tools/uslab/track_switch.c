/* SPDX-License-Identifier: MIT */
/*
 * uslab/track_switch.c - user tracking of the chosen caches, switched on and off
 *
 * What was on before we came stays on. Sampling is for caches that are found by address (those of malloc
 * and kmalloc); others, and whole pages, can only be tracked in full.
 */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "pattern.h"
#include "track.h"
#include "util.h"

#define FEW_MISSES 16

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

static bool wants_sampling(const struct tracking *t, const struct track_cache *c)
{
	if (!c->id || c->id >= USLAB_ID_FIRST_FREE || t->options->mode == TRACK_FULL)
		return false;
	return t->options->mode == TRACK_SAMPLE || !t->options->nr_patterns;
}

/* Misses that one is tracked of. Where allocations can be picked they only add to these. */
static uint64_t misses_of(const struct tracking *t)
{
	if (t->options->sample)
		return t->options->sample;
	return t->snapshot->root.kick ? FEW_MISSES : 1;
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
			     (now->sampled || wants_sampling(t, c));
		if (now->flags & SLAB_STORE_USER || now->sampled)
			continue;
		status = c->sampled ? send_command(t, c, CONTROL_SAMPLE, NULL, misses_of(t))
				    : send_command(t, c, CONTROL_DEBUG, "+U", 0);
		c->switched = c->compared = status == EXIT_OK;
		c->before = track_live_objects(t->snapshot, now);
	}
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
