/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/debug_flags.c - debug flags of caches as texts
 *
 * Flow:       called by cmd_debug.c, fs/fs_store.c, info/, ps/ and top/top_keys.c. In: flags, or a
 *             text; out: the other one, by the table of inspect/options.h.
 */
#include "command/debug_flags.h"

#include <ctype.h>
#include <string.h>

#include "inspect/control.h"
#include "inspect/options.h"

slab_flags_t debug_flags_all(void)
{
	slab_flags_t all = 0;

	for (size_t i = 0; i < NR_DEBUG_FLAG_TEXTS; i++)
		all |= debug_flag_texts[i].flag;
	return all;
}

slab_flags_t debug_flags_of(char letter)
{
	for (size_t i = 0; i < NR_DEBUG_FLAG_TEXTS; i++)
		if (toupper((unsigned char)letter) == debug_flag_texts[i].letter)
			return debug_flag_texts[i].flag;
	return 0;
}

bool debug_flags_are(const char *text)
{
	if (!strcmp(text, "-"))
		return true;
	text += *text == '+' || *text == '-';
	if (!*text || strlen(text) >= CONTROL_TEXT - 1)
		return false;
	while (debug_flags_of(*text))
		text++;
	return !*text;
}

slab_flags_t debug_flags_change(const char *text, slab_flags_t now)
{
	char sign = *text == '+' || *text == '-' ? *text++ : '\0';
	slab_flags_t flags = 0;

	while (*text)
		flags |= debug_flags_of(*text++);
	if (sign == '+')
		return now | flags;
	/* "-" alone takes all of them off */
	return sign && flags ? now & ~flags : (now & ~debug_flags_all()) | flags;
}

const char *debug_flags_text(char buf[DEBUG_FLAGS_TEXT], slab_flags_t flags)
{
	char *to = buf;

	for (size_t i = 0; i < NR_DEBUG_FLAG_TEXTS; i++)
		if (flags & debug_flag_texts[i].flag)
			*to++ = debug_flag_texts[i].letter;
	if (to == buf)
		*to++ = '-';
	*to = '\0';
	return buf;
}

const char *debug_flags_list(char buf[DEBUG_FLAGS_TEXT], const char *between, const char *last)
{
	char all[DEBUG_FLAGS_TEXT];
	char *to = buf;

	debug_flags_text(all, debug_flags_all());
	for (const char *p = all; *p; p++) {
		if (p > all)
			to = stpcpy(to, p[1] ? between : last);
		*to++ = *p;
	}
	*to = '\0';
	return buf;
}
