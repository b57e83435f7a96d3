/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/need.c - the memory that debug flags may take of a process, and whether there is
 * so much
 *
 * Why:        docs/adr/0093.
 * Flow:       called by cmd_debug.c, fs/fs_store.c, info/info_change.c, top/top_keys.c and
 *             track/track_switch.c; calls inspect/debug_size.c, process/room.c. In: a snapshot, and
 *             the debug flags that its caches are to have; out: bytes, a message, and whether to go
 *             on.
 */
#include "command/need.h"

#include "util.h"

#define MUCH 4 /* the part of the room above which a warning says so */

void need_add(struct need *need, struct snapshot *s, unsigned int index, slab_flags_t flags)
{
	struct debug_size size = debug_size_more(s, index, flags);

	if (!size.bytes)
		return;
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

enum need_fits need_compare(const struct need *need, const struct target *t,
			    const struct snapshot *s, struct room *room)
{
	uint64_t bytes = need_bytes(need);

	if (!bytes)
		return NEED_FITS;
	room_find(room, t->pid, s);
	if (bytes > room->left)
		return NEED_TOO_MUCH;
	return bytes > room->left / MUCH ? NEED_IS_MUCH : NEED_FITS;
}

/* "process 1 (a) may take up to 1.2 GiB more with FZPU (3 objects in 2 caches)" */
#define TEXT 256
static void say(char text[TEXT], const struct need *need, const struct target *t, const char *how)
{
	unsigned long objects = need->objects + need->heap.objects;
	char more[UTIL_SIZE_TEXT], freed[UTIL_SIZE_TEXT + 32] = "";

	if (need->freed) {
		char size[UTIL_SIZE_TEXT];

		snprintf(freed, sizeof(freed), ", and %s of freed blocks",
			 util_size(size, sizeof(size), need->freed));
	}
	snprintf(text, TEXT,
		 "process %d (%s) may take up to %s more %s (%lu object%s in %u cache%s%s)",
		 (int)t->pid, t->program, util_size(more, sizeof(more), need_bytes(need)), how,
		 objects, objects == 1 ? "" : "s", need->caches, need->caches == 1 ? "" : "s",
		 freed);
}

int need_check(const struct need *need, const struct target *t, const struct snapshot *s,
	       const char *how, const char *instead)
{
	char text[TEXT], left[ROOM_TEXT];
	enum need_fits fits = NEED_FITS;
	struct room room;

	if (!t->force)
		fits = need_compare(need, t, s, &room);
	if (fits == NEED_FITS)
		return EXIT_OK;
	say(text, need, t, how);
	room_text(left, &room);
	if (fits == NEED_TOO_MUCH)
		return util_fail(t->command, "%s, and %s: %s. %s, or --force", text, left,
				 room_risk(&room), instead);
	util_warn(t->command, "%s; %s", text, left);
	return EXIT_OK;
}
