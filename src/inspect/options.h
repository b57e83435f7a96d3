/* SPDX-License-Identifier: MIT */
/*
 * inspect/options.h - what USLAB_CONF takes, and the flags of USLAB_DEBUG, for tools that show them
 *
 * Data:       the texts of cache/config/options.def, as constants of the including file: the
 *             library itself contains no help texts.
 * Invariants: the same rows in the same order as the parser's (cache/config/options.c).
 * Locks:      none.
 * Flow:       included by tools.
 */
#ifndef INSPECT_OPTIONS_H
#define INSPECT_OPTIONS_H

#include <uslab/slab.h>

struct option_text {
	const char *group; /* a heading, and nothing else; or NULL */
	const char *key;   /* as it is written; "engine:PATTERN" */
	const char *alias; /* this key means the same as that one; the rest is NULL then */
	const char *takes;
	const char *initial;
	const char *since;
	const char *help;
};

static const struct option_text option_texts[] = {
#define OPTION_TEXT(key, takes, initial, since, help) \
	{ NULL, key, NULL, takes, initial, since, help },
#define GROUP(title) { .group = title },
#define OPTION(key, set, takes, example, initial, since, help) \
	OPTION_TEXT(key, takes, initial, since, help)
#define MEMBER(group, name, set, takes, example, initial, since, help) \
	OPTION_TEXT(group name, takes, initial, since, help)
#define RULE(prefix, set, takes, example, initial, since, help) \
	OPTION_TEXT(prefix "PATTERN", takes, initial, since, help)
#define ALIAS(key_, of) { .key = key_, .alias = of },
#include "cache/config/options.def"
#undef OPTION_TEXT
};

#define NR_OPTION_TEXTS (sizeof(option_texts) / sizeof(option_texts[0]))

static const struct debug_flag_text {
	char letter;
	slab_flags_t flag; /* 0: of USLAB_DEBUG only */
	const char *where;
	const char *help;
} debug_flag_texts[] = {
#define DEBUG_FLAG(letter, flag, where, help) { letter, flag, where, help },
#include "cache/config/options.def"
};

#define NR_DEBUG_FLAG_TEXTS (sizeof(debug_flag_texts) / sizeof(debug_flag_texts[0]))

#endif /* INSPECT_OPTIONS_H */
