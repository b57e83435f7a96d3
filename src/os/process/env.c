/* SPDX-License-Identifier: MIT */
/*
 * os/process/env.c - text from the environment: "key=value,key=value"
 *
 * Data:       none; pairs are copied to the stack.
 * Invariants: no allocation; works before any constructor ran (libc then has no environment yet,
 *             or the real one: never a bad pointer).
 * Locks:      none.
 * Flow:       see env.h; calls secure_getenv and os_say.
 */
#include <stdlib.h>
#include <string.h>

#include "os/process/env.h"
#include "os/process/say.h"

#define PART_MAX 128 /* bytes of a key or a value, with its NUL */

/* The command has another one, which the linker takes. */
replaceable bool os_env_is_ours(void)
{
	return true;
}

const char *os_env(const char *name)
{
	const char *text = secure_getenv(name);

	return text && os_env_is_ours() ? text : NULL;
}

/* Copies len bytes and a NUL; false when they do not fit. */
static bool copy_part(char part[PART_MAX], const char *from, size_t len)
{
	if (len >= PART_MAX)
		return false;
	memcpy(part, from, len);
	part[len] = '\0';
	return true;
}

struct pair {
	char key[PART_MAX];
	char value[PART_MAX];
};

/* A pair of len bytes, not NUL-terminated. false: it does not fit. */
static bool copy_pair(struct pair *pair, const char *from, size_t len)
{
	const char *equals = memchr(from, '=', len);
	size_t key_len = equals ? (size_t)(equals - from) : len;
	size_t value_len = equals ? len - key_len - 1 : 0;

	return copy_part(pair->key, from, key_len) &&
	       copy_part(pair->value, equals ? equals + 1 : from, value_len);
}

/* Says which pair was of no use, as far as it fits, and why. */
static void report_pair(const char *name, const char *pair, size_t len, const char *why)
{
	char shown[2 * PART_MAX];
	size_t n = len < sizeof(shown) ? len : sizeof(shown) - 1;

	memcpy(shown, pair, n);
	shown[n] = '\0';
	os_say("%s: ignored \"%s\"%s%s%s", name, shown, n < len ? "..." : "", *why ? ": " : "",
	       why);
}

static void read_pair(const char *name, const char *from, size_t len,
		      const struct os_env_reader *reader)
{
	char why[OS_ENV_WHY_BYTES] = "";
	struct pair pair;

	if (!copy_pair(&pair, from, len))
		os_format(why, sizeof(why), "keys and values have at most %u bytes", PART_MAX - 1);
	else if (reader->set(pair.key, pair.value, reader->arg))
		return;
	else if (reader->explain)
		reader->explain(why, pair.key, pair.value);
	report_pair(name, from, len, why);
}

void os_env_pairs(const char *name, const struct os_env_reader *reader)
{
	const char *pair = os_env(name);

	while (pair) {
		const char *comma = strchr(pair, ',');
		size_t len = comma ? (size_t)(comma - pair) : strlen(pair);

		/* Empty pairs come from a comma too many, which nobody needs to hear about. */
		if (len)
			read_pair(name, pair, len, reader);
		pair = comma ? comma + 1 : NULL;
	}
}

/* Bits to shift by for a suffix, or -1. */
static int suffix_shift(const char *suffix)
{
	if (suffix[0] == '\0')
		return 0;
	if (suffix[1] != '\0')
		return -1;
	switch (suffix[0]) {
	case 'k':
	case 'K':
		return 10;
	case 'm':
	case 'M':
		return 20;
	case 'g':
	case 'G':
		return 30;
	case 't':
	case 'T':
		return 40;
	default:
		return -1;
	}
}

bool os_parse_size(const char *text, size_t *bytes)
{
	const char *p = text;
	size_t value = 0;
	int shift;

	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (size_t)(*p - '0'), &value))
			return false;
	shift = suffix_shift(p);
	if (p == text || shift < 0 || value > SIZE_MAX >> shift)
		return false;
	*bytes = value << shift;
	return true;
}
