/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/rust_v0.c - the newer form of Rust's mangled names, _R...
 *
 * Why:        docs/adr/0084.
 * Data:       struct reader: where it is in the name, and what was written.
 * Invariants: at <= end; a reader that has failed writes nothing and reads nothing. What names
 *             refer to lies before the reference. Each thing that is read takes a step, of which
 *             there are STEPS, and DEPTH of them one in another.
 * Flow:       called by demangle.c. A function for each rule of the grammar, which reads it and
 *             writes it at once; a rule that is not to be seen is read with `quiet` set.
 *
 * Names come from files of other users, and a few bytes can ask for a text, a loop or a recursion
 * without end: hence the steps.
 */
#include "symbols/rust_v0.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define STEPS 20000u
#define DEPTH 200u

struct reader {
	const char *name; /* behind _R */
	size_t at, end;
	char *buf;
	size_t length, size;
	unsigned int steps, depth;
	unsigned int quiet; /* what is read is not written */
	uint64_t lifetimes; /* that the binders around have */
	bool failed;
};

static void fail(struct reader *r)
{
	r->failed = true;
	r->at = r->end;
}

/* Begins to read a thing; false: there is none, or it would be one too many. */
static bool enter(struct reader *r)
{
	if (r->failed || r->at >= r->end || ++r->steps > STEPS || ++r->depth > DEPTH) {
		fail(r);
		return false;
	}
	return true;
}

static void leave(struct reader *r)
{
	r->depth--;
}

static char peek(const struct reader *r)
{
	return r->at < r->end ? r->name[r->at] : '\0';
}

/* The next character; 0: there is none. */
static char next(struct reader *r)
{
	if (r->at < r->end)
		return r->name[r->at++];
	fail(r);
	return '\0';
}

/* Reads that character, if it comes next. */
static bool accept(struct reader *r, char c)
{
	if (r->failed || peek(r) != c)
		return false;
	r->at++;
	return true;
}

static void write_bytes(struct reader *r, const char *bytes, size_t length)
{
	if (r->quiet || r->failed)
		return;
	if (length >= r->size - r->length) {
		fail(r);
		return;
	}
	memcpy(r->buf + r->length, bytes, length);
	r->length += length;
}

static void write_text(struct reader *r, const char *text)
{
	write_bytes(r, text, strlen(text));
}

__attribute__((format(printf, 2, 3))) static void write_as(struct reader *r, const char *format,
							   ...)
{
	char text[64];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	write_text(r, text);
}

/* ---- numbers and identifiers ----------------------------------------------------------------- */

static int digit_62(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 36 : -1;
}

/* "_" is 0, "0_" is 1, ... */
static uint64_t read_62(struct reader *r)
{
	uint64_t number = 0;

	if (accept(r, '_'))
		return 0;
	while (!accept(r, '_')) {
		int digit = digit_62(next(r));

		if (digit < 0 || ++r->steps > STEPS ||
		    __builtin_mul_overflow(number, 62u, &number) ||
		    __builtin_add_overflow(number, (uint64_t)digit, &number)) {
			fail(r);
			return 0;
		}
	}
	if (number == UINT64_MAX)
		fail(r);
	return number + 1;
}

/* A number behind that character, and 1 more; 0: the character does not come next. */
static uint64_t read_optional_62(struct reader *r, char c)
{
	uint64_t number = accept(r, c) ? read_62(r) : UINT64_MAX;

	return r->failed ? 0 : number + 1;
}

struct identifier {
	const char *text; /* not ended by 0 */
	size_t length;
	bool punycode;	/* the text is that of characters beyond ASCII */
	uint64_t which; /* of several that have the same name */
};

static void read_bare_identifier(struct reader *r, struct identifier *id)
{
	size_t length = 0;

	*id = (struct identifier){ "", 0, accept(r, 'u'), 0 };
	if (peek(r) < '0' || peek(r) > '9') {
		fail(r);
		return;
	}
	if (!accept(r, '0')) {
		while (peek(r) >= '0' && peek(r) <= '9' && length <= r->end)
			length = length * 10 + (size_t)(next(r) - '0');
	}
	accept(r, '_');
	if (r->failed || length > r->end - r->at) {
		fail(r);
		return;
	}
	id->text = r->name + r->at;
	id->length = length;
	r->at += length;
}

static void read_identifier(struct reader *r, struct identifier *id)
{
	uint64_t which = read_optional_62(r, 's');

	read_bare_identifier(r, id);
	id->which = which;
}

static void write_identifier(struct reader *r, const struct identifier *id)
{
	if (id->punycode)
		write_text(r, "punycode{");
	write_bytes(r, id->text, id->length);
	if (id->punycode)
		write_text(r, "}");
}

/* ---- references ------------------------------------------------------------------------------ */

/* B was read. Goes to what is meant; false: nothing is to be read there. Where to go on: *back. */
static bool go_back(struct reader *r, size_t *back)
{
	size_t start = r->at - 1;
	uint64_t to = read_62(r);

	*back = r->at;
	if (!r->failed && to >= start)
		fail(r);
	if (r->failed || r->quiet)
		return false;
	r->at = (size_t)to;
	return true;
}

static void come_back(struct reader *r, size_t back)
{
	if (!r->failed)
		r->at = back;
}

/* ---- lifetimes ------------------------------------------------------------------------------- */

static void write_lifetime(struct reader *r, uint64_t lifetime)
{
	if (lifetime == 0) {
		write_text(r, "'_");
	} else if (lifetime > r->lifetimes) {
		fail(r);
	} else {
		uint64_t depth = r->lifetimes - lifetime;

		if (depth < 26)
			write_as(r, "'%c", 'a' + (int)depth);
		else
			write_as(r, "'_%" PRIu64, depth);
	}
}

/* for<'a, 'b>. Returns how many, which are to be taken off again. */
static uint64_t read_binder(struct reader *r)
{
	uint64_t number = read_optional_62(r, 'G');

	if (number > STEPS) {
		fail(r);
		return 0;
	}
	for (uint64_t i = 0; i < number; i++) {
		r->lifetimes++;
		write_text(r, i ? ", " : "for<");
		write_lifetime(r, 1);
		if (++r->steps > STEPS)
			fail(r);
	}
	if (number)
		write_text(r, "> ");
	return number;
}

/* ---- paths, types, constants ----------------------------------------------------------------- */

static void read_path(struct reader *r, bool as_value);
static void read_type(struct reader *r);
static void read_const(struct reader *r);

static void read_quietly(struct reader *r)
{
	r->quiet++;
	read_path(r, false);
	r->quiet--;
}

static void read_generic_arg(struct reader *r)
{
	if (accept(r, 'L'))
		write_lifetime(r, read_62(r));
	else if (accept(r, 'K'))
		read_const(r);
	else
		read_type(r);
}

/* Up to an E; returns how many. */
static unsigned int read_list(struct reader *r, void (*read_one)(struct reader *),
			      const char *between)
{
	unsigned int n = 0;

	for (; !r->failed && !accept(r, 'E'); n++) {
		if (n)
			write_text(r, between);
		read_one(r);
	}
	return n;
}

/* N: something in a path. A kind in upper case has no name of its own. */
static void read_nested(struct reader *r, bool as_value)
{
	char namespace = next(r);
	struct identifier id;

	read_path(r, as_value);
	read_identifier(r, &id);
	if (namespace >= 'A' && namespace <= 'Z') {
		write_text(r, "::{");
		if (namespace == 'C' || namespace == 'S')
			write_text(r, namespace == 'C' ? "closure" : "shim");
		else
			write_bytes(r, &namespace, 1);
		if (id.length) {
			write_text(r, ":");
			write_identifier(r, &id);
		}
		write_as(r, "#%" PRIu64 "}", id.which);
	} else if (namespace < 'a' || namespace > 'z') {
		fail(r);
	} else if (id.length) {
		write_text(r, "::");
		write_identifier(r, &id);
	}
}

/* M, X and Y: <Type>, <Type as Trait>. */
static void read_implementation(struct reader *r, char kind)
{
	if (kind != 'Y') { /* where it stands */
		read_optional_62(r, 's');
		read_quietly(r);
	}
	write_text(r, "<");
	read_type(r);
	if (kind != 'M') {
		write_text(r, " as ");
		read_path(r, false);
	}
	write_text(r, ">");
}

/* Without the > at the end; false: there are no arguments. */
static bool read_open_path(struct reader *r)
{
	bool open = false;
	size_t back;

	if (!enter(r))
		return false;
	if (accept(r, 'B')) {
		if (go_back(r, &back)) {
			open = read_open_path(r);
			come_back(r, back);
		}
	} else if (accept(r, 'I')) {
		read_path(r, false);
		write_text(r, "<");
		read_list(r, read_generic_arg, ", ");
		open = true;
	} else {
		read_path(r, false);
	}
	leave(r);
	return open;
}

static void read_path_of(struct reader *r, char kind, bool as_value)
{
	struct identifier id;
	size_t back;

	switch (kind) {
	case 'C':
		read_identifier(r, &id);
		write_identifier(r, &id);
		break;
	case 'N':
		read_nested(r, as_value);
		break;
	case 'M':
	case 'X':
	case 'Y':
		read_implementation(r, kind);
		break;
	case 'I':
		read_path(r, as_value);
		write_text(r, as_value ? "::<" : "<");
		read_list(r, read_generic_arg, ", ");
		write_text(r, ">");
		break;
	case 'B':
		if (go_back(r, &back)) {
			read_path(r, as_value);
			come_back(r, back);
		}
		break;
	default:
		fail(r);
	}
}

static void read_path(struct reader *r, bool as_value)
{
	if (!enter(r))
		return;
	read_path_of(r, next(r), as_value);
	leave(r);
}

static const char *basic_type(char c)
{
	static const char *const names['z' - 'a' + 1] = {
		"i8",	 "bool", "char", "f64", "str",	"f32",	NULL,  "u8", "isize",
		"usize", NULL,	 "i32",	 "u32", "i128", "u128", "_",   NULL, NULL,
		"i16",	 "u16",	 "()",	 "...", NULL,	"i64",	"u64", "!",
	};

	return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

/* F: fn(...) -> ...; what has a binder around it. */
static void read_function(struct reader *r)
{
	struct identifier abi;

	if (accept(r, 'U'))
		write_text(r, "unsafe ");
	if (accept(r, 'K')) {
		write_text(r, "extern \"");
		if (accept(r, 'C')) {
			write_text(r, "C");
		} else {
			read_bare_identifier(r, &abi);
			for (size_t i = 0; i < abi.length; i++) /* as it must be in a name */
				write_bytes(r, abi.text[i] == '_' ? "-" : abi.text + i, 1);
		}
		write_text(r, "\" ");
	}
	write_text(r, "fn(");
	read_list(r, read_type, ", ");
	write_text(r, ")");
	if (accept(r, 'u'))
		return;
	write_text(r, " -> ");
	read_type(r);
}

static void read_dyn_trait(struct reader *r)
{
	bool open = read_open_path(r);
	struct identifier id;

	while (accept(r, 'p')) {
		write_text(r, open ? ", " : "<");
		open = true;
		read_bare_identifier(r, &id);
		write_identifier(r, &id);
		write_text(r, " = ");
		read_type(r);
	}
	if (open)
		write_text(r, ">");
}

static void read_dyn_traits(struct reader *r)
{
	read_list(r, read_dyn_trait, " + ");
}

static void read_bound(struct reader *r, void (*read_one)(struct reader *))
{
	uint64_t bound = read_binder(r);

	read_one(r);
	r->lifetimes -= bound;
}

static void read_reference(struct reader *r, bool mut)
{
	uint64_t lifetime = accept(r, 'L') ? read_62(r) : 0;

	write_text(r, "&");
	if (lifetime) {
		write_lifetime(r, lifetime);
		write_text(r, " ");
	}
	write_text(r, mut ? "mut " : "");
	read_type(r);
}

static void read_dyn(struct reader *r)
{
	uint64_t lifetime;

	write_text(r, "dyn ");
	read_bound(r, read_dyn_traits);
	if (!accept(r, 'L')) {
		fail(r);
		return;
	}
	lifetime = read_62(r);
	if (lifetime) {
		write_text(r, " + ");
		write_lifetime(r, lifetime);
	}
}

static void read_type_of(struct reader *r, char kind)
{
	size_t back;

	switch (kind) {
	case 'A':
	case 'S':
		write_text(r, "[");
		read_type(r);
		if (kind == 'A') {
			write_text(r, "; ");
			read_const(r);
		}
		write_text(r, "]");
		break;
	case 'T':
		write_text(r, "(");
		write_text(r, read_list(r, read_type, ", ") == 1 ? ",)" : ")");
		break;
	case 'R':
	case 'Q':
		read_reference(r, kind == 'Q');
		break;
	case 'P':
	case 'O':
		write_text(r, kind == 'P' ? "*const " : "*mut ");
		read_type(r);
		break;
	case 'F':
		read_bound(r, read_function);
		break;
	case 'D':
		read_dyn(r);
		break;
	case 'B':
		if (go_back(r, &back)) {
			read_type(r);
			come_back(r, back);
		}
		break;
	default:
		read_path_of(r, kind, false);
	}
}

static void read_type(struct reader *r)
{
	const char *basic;

	if (!enter(r))
		return;
	basic = basic_type(peek(r));
	if (basic) {
		r->at++;
		write_text(r, basic);
	} else {
		read_type_of(r, next(r));
	}
	leave(r);
}

/* Hexadecimal digits up to a _. false: more than 64 bits, which are written as they are. */
static bool read_hex(struct reader *r, uint64_t *number)
{
	size_t start = r->at;
	size_t digits;

	*number = 0;
	while (!r->failed && !accept(r, '_')) {
		int digit = digit_62(next(r));

		if (digit < 0 || digit > 15)
			fail(r);
		*number = *number << 4 | (uint64_t)(digit & 15);
	}
	digits = r->failed ? 0 : r->at - 1 - start;
	if (digits <= 16)
		return true;
	write_text(r, "0x");
	write_bytes(r, r->name + start, digits);
	return false;
}

static void write_char(struct reader *r, uint64_t c)
{
	if (c >= ' ' && c <= '~' && c != '\'' && c != '\\')
		write_as(r, "'%c'", (int)c);
	else
		write_as(r, "'\\u{%" PRIx64 "}'", c);
}

/* What its type is, decides how it is written. */
static void read_value(struct reader *r, char type)
{
	uint64_t number;

	if (strchr("ailnsx", type) && accept(r, 'n'))
		write_text(r, "-");
	if (!read_hex(r, &number))
		return;
	if (type == 'b' && number <= 1)
		write_text(r, number ? "true" : "false");
	else if (type == 'c')
		write_char(r, number);
	else if (strchr("ailnsxhjmoty", type))
		write_as(r, "%" PRIu64, number);
	else
		fail(r); /* texts and structures, which stable compilers do not have there */
}

static void read_const(struct reader *r)
{
	size_t back;

	if (!enter(r))
		return;
	if (accept(r, 'p')) {
		write_text(r, "_");
	} else if (accept(r, 'B')) {
		if (go_back(r, &back)) {
			read_const(r);
			come_back(r, back);
		}
	} else {
		read_value(r, next(r));
	}
	leave(r);
}

bool rust_v0_demangle(const char *name, char *buf, size_t size)
{
	struct reader r = { .buf = buf, .size = size };

	if (strncmp(name, "_R", 2) != 0 || !size)
		return false;
	r.name = name + 2;
	r.end = strcspn(r.name, ".$"); /* suffixes of the compiler's */
	read_path(&r, true);
	if (!r.failed && r.at < r.end) /* the crate that it was made for */
		read_quietly(&r);
	if (r.failed || r.at < r.end || !r.length)
		return false;
	buf[r.length] = '\0';
	return true;
}
