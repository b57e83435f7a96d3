/* SPDX-License-Identifier: MIT */
/*
 * os/process/say.c - text without stdio: formatted, written whole, one line on stderr
 *
 * Data:       whether stderr was open at the start; text is made on the stack, at most SAY_MAX
 *             bytes a line.
 * Invariants: nothing here allocates, locks or uses stdio; one line is one write(2), so that lines
 *             of several threads do not mix. errno is preserved.
 * Locks:      none.
 * Flow:       see say.h; calls os/sys.h.
 */
#include <fcntl.h>
#include <string.h>

#include "os/process/say.h"
#include "os/sys.h"

#define SAY_MAX 1024  /* bytes, with prefix and newline; longer text is cut */
#define DIGITS_MAX 20 /* of UINT64_MAX in base 10 */
#define WIDTH_MAX 100 /* columns; a larger width is no width of ours */

/* A text under construction. len counts what it should have, also beyond size. */
struct text {
	char *buf;
	size_t size;
	size_t len;
};

static void put_char(struct text *t, char c)
{
	if (t->len + 1 < t->size)
		t->buf[t->len] = c;
	t->len++;
}

/* How a conversion is laid out: "%-9s", "%04x". */
struct field {
	size_t width; /* at least; 0: as it comes */
	bool left;
	bool zeros;
};

static void put_many(struct text *t, char c, size_t n)
{
	while (n--)
		put_char(t, c);
}

static void put_field(struct text *t, const struct field *field, const char *s, size_t len)
{
	size_t pad = field->width > len ? field->width - len : 0;

	if (field->zeros && *s == '-') { /* the zeros come between the sign and the digits */
		put_char(t, *s++);
		len--;
	}
	if (!field->left)
		put_many(t, field->zeros ? '0' : ' ', pad);
	while (len--)
		put_char(t, *s++);
	if (field->left)
		put_many(t, ' ', pad);
}

static void put_string(struct text *t, const struct field *field, const char *s)
{
	s = s ? s : "(null)";
	put_field(t, field, s, strlen(s));
}

/* prefix: "", "-" or "0x". */
static void put_number(struct text *t, const struct field *field, const char *prefix,
		       unsigned long value, unsigned int base)
{
	char digits[DIGITS_MAX + sizeof("0x")];
	char *first = digits + sizeof(digits);
	size_t len = strlen(prefix);

	do {
		*--first = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	first -= len;
	memcpy(first, prefix, len);
	put_field(t, field, first, (size_t)(digits + sizeof(digits) - first));
}

static void put_signed(struct text *t, const struct field *field, int value)
{
	/* Negated as unsigned long: also right for INT_MIN. */
	put_number(t, field, value < 0 ? "-" : "",
		   value < 0 ? 0 - (unsigned long)value : (unsigned long)value, 10);
}

/* "-09" of "%-09d"; returns its length. */
static size_t parse_field(const char *spec, struct field *field)
{
	const char *s = spec;

	*field = (struct field){ 0 };
	for (;; s++) {
		if (*s == '-')
			field->left = true;
		else if (*s == '0')
			field->zeros = true;
		else
			break;
	}
	for (; *s >= '0' && *s <= '9' && field->width < WIDTH_MAX; s++)
		field->width = field->width * 10 + (size_t)(*s - '0');
	return (size_t)(s - spec);
}

/* spec is the text from the letter on. Returns its length, 0 for one that is not ours. */
static size_t put_conversion(struct text *t, const struct field *field, const char *spec,
			     va_list *args)
{
	char c;

	switch (spec[0]) {
	case '%':
		put_char(t, '%');
		return 1;
	case 'c':
		c = (char)va_arg(*args, int);
		put_field(t, field, &c, 1);
		return 1;
	case 's':
		put_string(t, field, va_arg(*args, const char *));
		return 1;
	case 'd':
		put_signed(t, field, va_arg(*args, int));
		return 1;
	case 'u':
	case 'x':
		put_number(t, field, "", va_arg(*args, unsigned int), spec[0] == 'x' ? 16 : 10);
		return 1;
	case 'p':
		put_number(t, field, "0x", (uintptr_t)va_arg(*args, void *), 16);
		return 1;
	case 'l':
		if (spec[1] != 'u' && spec[1] != 'x')
			return 0;
		put_number(t, field, "", va_arg(*args, unsigned long), spec[1] == 'x' ? 16 : 10);
		return 2;
	case 'z':
		if (spec[1] != 'u')
			return 0;
		put_number(t, field, "", va_arg(*args, size_t), 10);
		return 2;
	default:
		return 0;
	}
}

/*
 * Appends. From a conversion outside of the subset on, the rest of fmt is copied as it stands: its
 * argument's size is unknown, so those that follow cannot be found.
 */
static void put_list(struct text *t, const char *fmt, va_list *args)
{
	struct field field;

	while (*fmt) {
		size_t flags;
		size_t used;

		if (*fmt != '%') {
			put_char(t, *fmt++);
			continue;
		}
		flags = parse_field(fmt + 1, &field);
		used = put_conversion(t, &field, fmt + 1 + flags, args);
		if (!used) {
			put_string(t, &(struct field){ 0 }, fmt);
			return;
		}
		fmt += 1 + flags + used;
	}
}

size_t os_format_list(char *buf, size_t size, const char *fmt, va_list args)
{
	struct text t = { buf, size, 0 };
	va_list copy; /* of which the address may be taken, whatever va_list is */

	va_copy(copy, args);
	put_list(&t, fmt, &copy);
	va_end(copy);
	if (size)
		buf[t.len < size ? t.len : size - 1] = '\0';
	return t.len;
}

size_t os_format(char *buf, size_t size, const char *fmt, ...)
{
	va_list args;
	size_t len;

	va_start(args, fmt);
	len = os_format_list(buf, size, fmt, args);
	va_end(args);
	return len;
}

int os_write(int fd, const void *buf, size_t len)
{
	const char *next = buf;

	while (len) {
		long ret = os_syscall(SYS_write, fd, next, len);

		if (ret == -EINTR)
			continue;
		if (ret < 0)
			return (int)ret;
		/* A device that takes nothing and reports nothing would keep us here for ever. */
		if (ret == 0)
			return -EIO;
		next += ret;
		len -= (size_t)ret;
	}
	return 0;
}

static enum { STDERR_UNKNOWN, STDERR_OPEN, STDERR_CLOSED } stderr_at_start;

/* Also called at the first request, which may come before constructors that open files. */
__attribute__((constructor(101))) void os_look_at_stderr(void)
{
	if (stderr_at_start == STDERR_UNKNOWN)
		stderr_at_start = os_syscall(SYS_fcntl, STDERR_FILENO, F_GETFD) < 0 ? STDERR_CLOSED
										    : STDERR_OPEN;
}

bool os_has_stderr(void)
{
	return stderr_at_start != STDERR_CLOSED;
}

void os_say_list(const char *fmt, va_list args)
{
	char line[SAY_MAX];
	struct text t = { line, sizeof(line), 0 };
	va_list copy;
	size_t len;

	put_string(&t, &(struct field){ 0 }, "uslab: ");
	va_copy(copy, args); /* as above */
	put_list(&t, fmt, &copy);
	va_end(copy);
	len = t.len < sizeof(line) ? t.len : sizeof(line) - 1;
	line[len] = '\n'; /* in the place of the NUL, which nobody needs */
	if (os_has_stderr())
		os_write(STDERR_FILENO, line, len + 1);
}

void os_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	os_say_list(fmt, args);
	va_end(args);
}
