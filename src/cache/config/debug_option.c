/* SPDX-License-Identifier: MIT */
/*
 * cache/config/debug_option.c - USLAB_DEBUG: the kernel's slab_debug= (spec 6.1)
 *
 * Data:       the debug flags of options.def; a copy of the text, the flags of its blocks without
 *             names, whether O was there.
 * Invariants: const after the first use, but for tests.
 * Locks:      cache_lock: caches are created under it.
 * Flow:       called by create.c and debug.c; calls os/process/env.c.
 *
 *     blocks  = block { ";" block }
 *     block   = debug flags [ "," name { "," name } ]
 *
 * The first block that names a cache replaces the blocks without names, of which the last one
 * holds. No debug flags means F, Z, P and U: "" for all caches, ",dentry" for one.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cache/internal.h"
#include "os/process/die.h"
#include "os/process/env.h"

#define TEXT_MAX 4096 /* bytes with the NUL; the rest is left out, with a message */

static struct {
	bool read;
	bool no_higher_order; /* O */
	bool has_unknown;     /* a letter that is no debug flag */
	slab_flags_t all;     /* of the last block without names */
	char text[TEXT_MAX];
} option;

static const struct letter {
	char letter;
	slab_flags_t flag;
} debug_flags[] = {
#define DEBUG_FLAG(letter, flag, where, help) { letter, flag },
#include "cache/config/options.def"
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* 0: no such letter, or O. */
static slab_flags_t flag_of(char c)
{
	for (size_t i = 0; i < ARRAY_SIZE(debug_flags); i++)
		if (lower(debug_flags[i].letter) == lower(c))
			return debug_flags[i].flag;
	return 0;
}

/* ---- one block ---- */

struct block {
	slab_flags_t flags;
	const char *names; /* behind the first comma; NULL: for all */
	const char *end;   /* of the block */
};

static void say_unknown(char c)
{
	option.has_unknown = true;
	os_say("slub_debug option '%c' unknown. skipped", c);
}

/* say: prints unknown debug flags, and O takes effect. */
static slab_flags_t block_flags(const char *text, const char *end, bool say)
{
	slab_flags_t flags = 0;

	for (; text < end; text++) {
		slab_flags_t flag = flag_of(*text);

		if (*text == '-')
			flags = 0;
		else if (lower(*text) == 'o')
			option.no_higher_order |= say;
		else if (!flag && say)
			say_unknown(*text);
		flags |= flag;
	}
	return flags;
}

/* The block that begins at text, behind semicolons; false: there is none. */
static bool next_block(const char *text, struct block *block, bool say)
{
	size_t nr_debug_flags;

	if (*text) /* most often there is none, and strspn() touches two pages of libc more */
		text += strspn(text, ";");
	if (!*text)
		return false;
	nr_debug_flags = strcspn(text, ",;");
	block->flags = nr_debug_flags ? block_flags(text, text + nr_debug_flags, say)
				      : DEBUG_DEFAULT;
	block->names = text[nr_debug_flags] == ',' ? text + nr_debug_flags + 1 : NULL;
	block->end = text + strcspn(text, ";");
	return true;
}

/* entry: a name, or a prefix and a star; what follows the star is ignored. */
static bool entry_matches(const char *entry, size_t len, const char *name)
{
	const char *star = memchr(entry, '*', len);

	if (star)
		return !strncmp(entry, name, (size_t)(star - entry));
	return strlen(name) == len && !memcmp(entry, name, len);
}

static bool block_names(const struct block *block, const char *name)
{
	const char *entry = block->names;

	while (entry && entry < block->end) {
		size_t len = strcspn(entry, ",;");

		if (len && entry_matches(entry, len, name))
			return true;
		entry += len + 1;
	}
	return false;
}

/* ---- the option ---- */

static void copy_text(const char *text)
{
	size_t len = strlen(text);

	if (len >= TEXT_MAX) {
		os_say("USLAB_DEBUG: only the first %u bytes count", TEXT_MAX - 1);
		len = TEXT_MAX - 1;
	}
	memcpy(option.text, text, len);
	option.text[len] = '\0';
}

/* Prints the debug flags that there are, once, after all unknown ones. */
static void say_known(void)
{
	char known[2 * ARRAY_SIZE(debug_flags) + 1];
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(debug_flags); i++)
		len += os_format(known + len, sizeof(known) - len, " %c", debug_flags[i].letter);
	os_say("USLAB_DEBUG takes%s, - for none, and names of caches behind a comma", known);
}

void cache_read_debug_option(const char *text)
{
	struct block block;

	option.read = true;
	option.no_higher_order = false;
	option.has_unknown = false;
	option.all = text && !*text ? DEBUG_DEFAULT : 0;
	copy_text(text ? text : "");
	for (text = option.text; next_block(text, &block, true); text = block.end)
		if (!block.names)
			option.all = block.flags;
	if (option.has_unknown)
		say_known();
}

slab_flags_t cache_debug_flags(const char *name, slab_flags_t flags)
{
	slab_flags_t all;
	struct block block;

	if (!option.read)
		cache_read_debug_option(os_env("USLAB_DEBUG"));
	if (flags & SLAB_NO_USER_FLAGS)
		return flags;
	for (const char *text = option.text; next_block(text, &block, false); text = block.end)
		if (block_names(&block, name))
			return flags | block.flags;
	all = option.all;
	if (flags & SLAB_NOLEAKTRACE)
		all &= ~SLAB_STORE_USER;
	return flags | all;
}

bool cache_no_higher_order(void)
{
	return option.no_higher_order;
}

/* ---- debug flags of tools and programs ---- */

static int parse_debug_flags(const char *text, slab_flags_t *flags)
{
	slab_flags_t found = 0;

	for (; *text; text++) {
		slab_flags_t flag = flag_of(*text);

		if (!flag)
			return -EINVAL;
		found |= flag;
	}
	*flags = found;
	return 0;
}

int cache_parse_debug(const char *text, slab_flags_t *flags)
{
	return parse_debug_flags(strcmp(text, "-") ? text : "", flags);
}

int cache_change_debug(const char *text, slab_flags_t *flags)
{
	slab_flags_t found;
	int ret;

	if ((*text != '+' && *text != '-') || !text[1])
		return cache_parse_debug(text, flags);
	ret = parse_debug_flags(text + 1, &found);
	if (!ret)
		*flags = *text == '+' ? *flags | found : *flags & ~found;
	return ret;
}
