/* SPDX-License-Identifier: MIT */
/*
 * os/env.c - text from the environment: "key=value,key=value"
 *
 * Data:       none; pairs are copied to the stack.
 * Invariants: no allocation; works before any constructor ran (libc then has no environment yet,
 *             or the real one: never a bad pointer).
 * Locks:      none.
 * Flow:       called by api/init.c; calls secure_getenv and os_say.
 */
#include <stdlib.h>
#include <string.h>

#include "os/die.h"
#include "os/env.h"

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

/* One pair of len bytes, not NUL-terminated. Returns whether set was called and took it. */
static bool set_pair(const char *pair, size_t len,
		     bool (*set)(const char *key, const char *value, void *arg), void *arg)
{
	const char *equals = memchr(pair, '=', len);
	size_t key_len = equals ? (size_t)(equals - pair) : len;
	size_t value_len = equals ? len - key_len - 1 : 0;
	char key[PART_MAX];
	char value[PART_MAX];

	return copy_part(key, pair, key_len) &&
	       copy_part(value, equals ? equals + 1 : pair, value_len) && set(key, value, arg);
}

/* Says which pair was of no use, as far as it fits. */
static void report_pair(const char *name, const char *pair, size_t len)
{
	char shown[2 * PART_MAX];
	size_t n = len < sizeof(shown) ? len : sizeof(shown) - 1;

	memcpy(shown, pair, n);
	shown[n] = '\0';
	os_say("%s: ignored \"%s\"%s", name, shown, n < len ? "..." : "");
}

void os_env_pairs(const char *name, bool (*set)(const char *key, const char *value, void *arg),
		  void *arg)
{
	const char *pair = os_env(name);

	while (pair) {
		const char *comma = strchr(pair, ',');
		size_t len = comma ? (size_t)(comma - pair) : strlen(pair);

		/* Empty pairs come from a comma too many, which nobody needs to hear about. */
		if (len && !set_pair(pair, len, set, arg))
			report_pair(name, pair, len);
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
