/* SPDX-License-Identifier: MIT */
/*
 * os/die.c - the last words: one clear line on stderr, then abort
 *
 * Data:       none; text is made on the stack, at most SAY_MAX bytes a line.
 * Invariants: nothing here allocates, locks or uses stdio; one line is one write(2), so that lines
 *             of several threads do not mix. errno is preserved.
 * Locks:      none.
 * Flow:       called from every floor; calls os/sys.h and abort().
 */
#include <stdarg.h>
#include <stdlib.h>

#include "os/die.h"
#include "os/sys.h"

#define SAY_MAX 512   /* bytes, with prefix and newline; longer text is cut */
#define DIGITS_MAX 20 /* of UINT64_MAX in base 10 */

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

static void put_string(struct text *t, const char *s)
{
	for (s = s ? s : "(null)"; *s; s++)
		put_char(t, *s);
}

static void put_number(struct text *t, unsigned long value, unsigned int base)
{
	char digits[DIGITS_MAX];
	unsigned int n = 0;

	do {
		digits[n++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	while (n)
		put_char(t, digits[--n]);
}

static void put_signed(struct text *t, int value)
{
	if (value < 0)
		put_char(t, '-');
	/* Negated as unsigned long: also right for INT_MIN. */
	put_number(t, value < 0 ? 0 - (unsigned long)value : (unsigned long)value, 10);
}

/* One conversion; spec is the text behind '%'. Returns its length, 0 for one that is not ours. */
static size_t put_conversion(struct text *t, const char *spec, va_list *args)
{
	switch (spec[0]) {
	case '%':
		put_char(t, '%');
		return 1;
	case 'c':
		put_char(t, (char)va_arg(*args, int));
		return 1;
	case 's':
		put_string(t, va_arg(*args, const char *));
		return 1;
	case 'd':
		put_signed(t, va_arg(*args, int));
		return 1;
	case 'u':
	case 'x':
		put_number(t, va_arg(*args, unsigned int), spec[0] == 'x' ? 16 : 10);
		return 1;
	case 'p':
		put_string(t, "0x");
		put_number(t, (uintptr_t)va_arg(*args, void *), 16);
		return 1;
	case 'l':
		if (spec[1] != 'u' && spec[1] != 'x')
			return 0;
		put_number(t, va_arg(*args, unsigned long), spec[1] == 'x' ? 16 : 10);
		return 2;
	case 'z':
		if (spec[1] != 'u')
			return 0;
		put_number(t, va_arg(*args, size_t), 10);
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
	while (*fmt) {
		size_t used;

		if (*fmt != '%') {
			put_char(t, *fmt++);
			continue;
		}
		used = put_conversion(t, fmt + 1, args);
		if (!used) {
			put_string(t, fmt);
			return;
		}
		fmt += 1 + used;
	}
}

size_t os_format(char *buf, size_t size, const char *fmt, ...)
{
	struct text t = { buf, size, 0 };
	va_list args;

	va_start(args, fmt);
	put_list(&t, fmt, &args);
	va_end(args);
	if (size)
		buf[t.len < size ? t.len : size - 1] = '\0';
	return t.len;
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

static void say_list(const char *fmt, va_list *args)
{
	char line[SAY_MAX];
	struct text t = { line, sizeof(line), 0 };
	size_t len;

	put_string(&t, "uslab: ");
	put_list(&t, fmt, args);
	len = t.len < sizeof(line) ? t.len : sizeof(line) - 1;
	line[len] = '\n';			/* in the place of the NUL, which nobody needs */
	os_write(STDERR_FILENO, line, len + 1); /* without stderr there is nobody to tell */
}

void os_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say_list(fmt, &args);
	va_end(args);
}

void os_die_fmt(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say_list(fmt, &args);
	va_end(args);
	abort();
}

void os_die(const char *file, int line, const char *what)
{
	os_die_fmt("%s:%d: assertion failed: %s", file, line, what);
}
