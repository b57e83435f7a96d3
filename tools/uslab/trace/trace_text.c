/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_text.c - numbers in a piece of a line, and copies of it
 *
 * Flow:       called by trace_parse.c, trace_head.c, trace_ops.c and trace_load.c. In: a piece of
 *             a line; out: its value, or printable text.
 */
#include "trace/trace_text.h"

bool text_digits(struct trace_text t, unsigned int base, uint64_t *value)
{
	uint64_t sum = 0;

	if (!t.length)
		return false;
	for (size_t i = 0; i < t.length; i++) {
		int digit = text_hex_digit(t.start[i]);

		if (digit < 0 || digit >= (int)base)
			return false;
		if (__builtin_mul_overflow(sum, base, &sum) ||
		    __builtin_add_overflow(sum, (unsigned int)digit, &sum))
			return false;
	}
	*value = sum;
	return true;
}

void trace_copy_text(char *buf, size_t size, struct trace_text text)
{
	size_t n = text.length < size - 1 ? text.length : size - 1;

	for (size_t i = 0; i < n; i++)
		buf[i] = text.start[i] >= ' ' && text.start[i] <= '~' ? text.start[i] : '?';
	buf[n] = '\0';
}
