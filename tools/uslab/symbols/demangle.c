/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/demangle.c - names of C++ and Rust as people write them, by libiberty
 *
 * Flow:       called by resolve.c, resolve_library.c, and for short names by track/track_print.c.
 *             libiberty calls add() with the parts of a name.
 *
 * Names come from files of other users. One of a few hundred bytes can stand for a text without
 * end, since parts of it refer to others, these again to others, and so on: what becomes too long
 * is given up by a jump out of libiberty, which has nothing to give back but the characters of a
 * name that is not ASCII.
 */
#include "symbols/demangle.h"

#include <demangle.h>
#include <setjmp.h>
#include <string.h>

#define OPTIONS (DMGL_PARAMS | DMGL_ANSI)

struct text {
	char bytes[DEMANGLE_MOST + 1];
	size_t length;
	jmp_buf too_long;
};

static void add(const char *part, size_t length, void *arg)
{
	struct text *text = arg;

	if (length > DEMANGLE_MOST - text->length)
		longjmp(text->too_long, 1);
	memcpy(text->bytes + text->length, part, length);
	text->length += length;
}

/* A hash of 16 hexadecimal digits at the end, or before a suffix of the compiler's (".llvm.1"). */
static bool has_hash(const char *name)
{
	const char *hash = NULL;

	while ((name = strstr(name, "17h"))) {
		hash = name + strlen("17h");
		name = hash;
	}
	return hash && strspn(hash, "0123456789abcdef") == 16 && hash[16] == 'E' &&
	       (hash[17] == '\0' || hash[17] == '.');
}

bool demangle_is_rust(const char *name)
{
	return !strncmp(name, "_R", 2) || (!strncmp(name, "_ZN", 3) && has_hash(name));
}

char *demangle(const char *name)
{
	struct text text;
	int ok;

	/* other names could be those of types: "i" is int */
	if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0)
		return NULL;
	text.length = 0;
	if (setjmp(text.too_long))
		return NULL;
	ok = demangle_is_rust(name) ? rust_demangle_callback(name, OPTIONS, add, &text)
				    : cplus_demangle_v3_callback(name, OPTIONS, add, &text);
	return ok ? strndup(text.bytes, text.length) : NULL;
}

/* ---- short names ----------------------------------------------------------------------------- */

#define SHORT_ARGUMENTS 16u /* bytes; these are left as they are */

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* The length of "operator<<" and the like at `at`: these are no brackets. 0: there is none. */
static size_t operator_length(const char *name, size_t at)
{
	static const char *const operators[] = { "<=>", "<<=", ">>=", "->*", "<<", ">>",
						 "<=",	">=",  "->",  "<",   ">" };
	const size_t word = sizeof("operator") - 1;

	if (strncmp(name + at, "operator", word) != 0 || (at && is_word(name[at - 1])))
		return 0;
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (!strncmp(name + at + word, operators[i], strlen(operators[i])))
			return word + strlen(operators[i]);
	return 0;
}

/* Rust: <Type as Trait>::function; what is in these brackets is no list of arguments. */
static bool begins_path(const char *name, size_t at)
{
	return at == 0 || strchr("<(&*,", name[at - 1]);
}

/* The length of template arguments with their brackets, which begin at `at`. 0: they do not end. */
static size_t arguments_length(const char *name, size_t at)
{
	unsigned int depth = 0;

	for (size_t i = at; name[i]; i++) {
		size_t word = operator_length(name, i);

		if (word) {
			i += word - 1;
		} else if (name[i] == '<') {
			depth++;
		} else if (name[i] == '>' && (!i || name[i - 1] != '-') && !--depth) {
			return i + 1 - at;
		}
	}
	return 0;
}

void demangle_shorten(char *buf, size_t size, const char *name)
{
	size_t len = 0;

	for (size_t i = 0; name[i] && len + 1 < size;) {
		size_t take = operator_length(name, i), arguments = 0;
		const char *from = name + i;

		if (!take && name[i] == '<' && !begins_path(name, i))
			arguments = arguments_length(name, i);
		take = take ? take : arguments ? arguments : 1;
		i += take;
		if (arguments > SHORT_ARGUMENTS) {
			from = "<...>";
			take = strlen(from);
		}
		for (size_t k = 0; k < take && len + 1 < size; k++)
			buf[len++] = from[k];
	}
	if (size)
		buf[len] = '\0';
}
