/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/need.c - the memory that debug flags may take of a process, and whether there is
 * so much
 *
 * Why:        docs/adr/0093.
 * Flow:       called by cmd_debug.c, fs/fs_store.c, info/info_change.c, top/top_keys.c and
 *             track/track_switch.c; calls inspect/debug_size.c, process/headroom.c. In: a snapshot,
 *             and the debug flags that its caches are to have; out: bytes, a message, and whether
 *             to go on.
 */
#include "command/need.h"

#include "util.h"

#define MUCH 4 /* the part of the headroom above which a warning says so */

void need_add(struct need *need, struct snapshot *s, unsigned int index, slab_flags_t flags)
{
	struct debug_size size = debug_size_more(s, index, flags);

	need->back += debug_size_back(s, index, flags);
	if (!size.bytes)
		return;
	need->asked[index] = true;
	need->stacks |= flags & ~s->cache[index].flags & SLAB_STORE_USER;
	need->caches++;
	if (size.heap >= 0) {
		if (size.bytes > need->heap.bytes)
			need->heap = size;
		return;
	}
	need->bytes += size.bytes;
	need->freed += size.freed;
	need->objects += size.objects;
}

uint64_t need_bytes(const struct need *need)
{
	return need->bytes + need->heap.bytes;
}

static void add_pending(struct need *need, struct snapshot *s)
{
	need->pending = 0;
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (!need->asked[i])
			need->pending += debug_size_pending(s, i);
}

enum need_fits need_compare(struct need *need, const struct target *t, struct snapshot *s,
			    struct headroom *headroom)
{
	uint64_t bytes = need_bytes(need);

	if (!bytes)
		return NEED_FITS;
	add_pending(need, s);
	bytes += need->pending;
	headroom_find(headroom, t->pid, s);
	if (bytes > headroom->left)
		return NEED_TOO_MUCH;
	return bytes > headroom->left / MUCH ? NEED_IS_MUCH : NEED_FITS;
}

/* ", and 1.2 GiB of freed blocks", nothing of 0 */
#define PART (UTIL_SIZE_TEXT + 64)
static const char *part(char text[PART], uint64_t bytes, const char *what)
{
	char size[UTIL_SIZE_TEXT];

	text[0] = '\0';
	if (bytes)
		snprintf(text, PART, ", and %s %s", util_size(size, sizeof(size), bytes), what);
	return text;
}

/* "process 1 (a) may take up to 1.2 GiB more with FZPU (3 objects in 2 caches)" */
#define TEXT 512
static void say(char text[TEXT], const struct need *need, const struct target *t, const char *how)
{
	unsigned long objects = need->objects + need->heap.objects;
	char more[UTIL_SIZE_TEXT], freed[PART], pending[PART];

	snprintf(text, TEXT,
		 "process %d (%s) may take up to %s more %s (%lu object%s in %u cache%s%s)%s",
		 (int)t->pid, t->program, util_size(more, sizeof(more), need_bytes(need)), how,
		 objects, objects == 1 ? "" : "s", need->caches, need->caches == 1 ? "" : "s",
		 part(freed, need->freed, "of freed blocks"),
		 part(pending, need->pending, "for what was switched on before"));
}

/* What has no debug flags any more takes slabs without, while debug slabs are there. */
static void check_back(const struct need *need, const struct target *t, struct snapshot *s)
{
	char more[UTIL_SIZE_TEXT], left[HEADROOM_TEXT];
	struct headroom headroom;

	if (!need->back)
		return;
	headroom_find(&headroom, t->pid, s);
	headroom_text(left, &headroom);
	if (need->back > headroom.left)
		util_warn(t->command,
			  "process %d (%s) may take up to %s more until its debug slabs are empty; "
			  "%s: where that is short take some caches first",
			  (int)t->pid, t->program, util_size(more, sizeof(more), need->back), left);
}

/* Do call stacks fit beside it? They are no part of the bound, as few programs have so many. */
static bool stacks_fit(const struct need *need, const struct headroom *headroom)
{
	uint64_t bytes = need_bytes(need) + need->pending;

	/* they are no part of the arena, nor of the library's limit */
	return !need->stacks || headroom->whose == HEADROOM_LIBRARY ||
	       headroom->whose == HEADROOM_ARENA || headroom->left - bytes >= DEBUG_SIZE_STACKS;
}

int need_check(struct need *need, const struct target *t, struct snapshot *s, const char *how,
	       const char *instead)
{
	enum need_fits fits = NEED_FITS;
	char text[TEXT], left[HEADROOM_TEXT], stacks[PART] = "";
	struct headroom headroom;

	check_back(need, t, s);
	if (!need_bytes(need))
		return EXIT_OK;
	fits = need_compare(need, t, s, &headroom);
	say(text, need, t, how);
	headroom_text(left, &headroom);
	if (fits == NEED_TOO_MUCH && !t->force)
		return util_fail(t->command, "%s, and %s: %s. %s, or --force", text, left,
				 headroom_risk(&headroom), instead);
	if (fits != NEED_TOO_MUCH && !stacks_fit(need, &headroom))
		part(stacks, DEBUG_SIZE_STACKS, "of call stacks at most");
	if (fits != NEED_FITS || *stacks)
		util_warn(t->command, "%s%s; %s", text, stacks, left);
	return EXIT_OK;
}
