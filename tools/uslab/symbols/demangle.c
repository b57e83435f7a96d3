/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/demangle.c - names of C++ and Rust as people write them
 *
 * Why:        docs/adr/0084.
 * Flow:       called by resolve.c, resolve_library.c, and for short names by track/track_print.c;
 *             calls rust_v0.c. The older form of Rust's names is one of C++ names, with escapes and
 *             a hash.
 */
#include "symbols/demangle.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/rust_v0.h"

#define HASH_DIGITS 16u

/* Of the C++ library; no header declares it for C. */
extern char *__cxa_demangle(const char *name, char *buf, size_t *size, int *status);

/* ---- the older form of Rust's names ---------------------------------------------------------- */

/*
 * The E behind a hash ("17h0123456789abcdefE") at the end, or before a suffix of the compiler's
 * (".llvm.1"); NULL: there is none.
 */
static const char *end_of_hash(const char *name)
{
	const char *hash = NULL;

	while ((name = strstr(name, "17h"))) {
		hash = name + strlen("17h");
		name = hash;
	}
	if (!hash || strspn(hash, "0123456789abcdef") != HASH_DIGITS)
		return NULL;
	hash += HASH_DIGITS;
	return hash[0] == 'E' && (hash[1] == '\0' || hash[1] == '.') ? hash : NULL;
}

static bool is_older_rust(const char *name)
{
	return !strncmp(name, "_ZN", 3) && end_of_hash(name);
}

/* What "$LT$" and the like at `text` stands for; 0: nothing known. Its length: *length. */
static char unescape(const char *text, size_t *length)
{
	static const struct {
		const char *escape;
		char c;
	} known[] = {
		{ "$SP$", '@' }, { "$BP$", '*' }, { "$RF$", '&' }, { "$LT$", '<' },
		{ "$GT$", '>' }, { "$LP$", '(' }, { "$RP$", ')' }, { "$C$", ',' },
	};
	unsigned long code;
	char *end;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		*length = strlen(known[i].escape);
		if (!strncmp(text, known[i].escape, *length))
			return known[i].c;
	}
	if (text[1] != 'u')
		return 0;
	code = strtoul(text + 2, &end, 16);
	*length = (size_t)(end - text) + 1;
	return *end == '$' && end > text + 2 && code >= ' ' && code <= '~' ? (char)code : 0;
}

/* In place, as what it becomes is shorter: escapes, and ".." for "::". */
static void unescape_all(char *text)
{
	char *to = text;
	size_t length;
	char c;

	while (*text) {
		if (text[0] == '_' && text[1] == '$' && (to == text || to[-1] == ':'))
			text++; /* no name begins with a $ */
		if (text[0] == '.' && text[1] == '.') {
			*to++ = ':';
			*to++ = ':';
			text += 2;
		} else if (text[0] == '$' && (c = unescape(text, &length))) {
			*to++ = c;
			text += length;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

static char *demangle_older_rust(const char *name)
{
	char *whole = strndup(name, (size_t)(end_of_hash(name) + 1 - name));
	char *text = whole ? __cxa_demangle(whole, NULL, NULL, NULL) : NULL;
	const size_t hash = strlen("::h") + HASH_DIGITS;
	size_t length = text ? strlen(text) : 0;

	free(whole);
	if (length > hash && !strncmp(text + length - hash, "::h", 3))
		text[length - hash] = '\0';
	if (text)
		unescape_all(text);
	return text;
}

/* ---- names ----------------------------------------------------------------------------------- */

bool demangle_is_rust(const char *name)
{
	return !strncmp(name, "_R", 2) || is_older_rust(name);
}

char *demangle(const char *name)
{
	char text[DEMANGLE_MOST];

	if (strnlen(name, DEMANGLE_MOST) == DEMANGLE_MOST)
		return NULL;
	if (!strncmp(name, "_R", 2))
		return rust_v0_demangle(name, text, sizeof(text)) ? strdup(text) : NULL;
	/* other names could be those of types: "i" is int */
	if (strncmp(name, "_Z", 2) != 0)
		return NULL;
	return is_older_rust(name) ? demangle_older_rust(name)
				   : __cxa_demangle(name, NULL, NULL, NULL);
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
