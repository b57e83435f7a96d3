/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/find.h - the next bit in an array of words
 *
 * size is in bits, and what is returned where there is none.
 */
#ifndef USLAB_LINUX_FIND_H
#define USLAB_LINUX_FIND_H

#if __has_include_next(<linux/find.h>)
#include_next <linux/find.h>
#else

/* The next bit from start on of the words, each of them with flip. */
static inline unsigned long uslab_find_next(const unsigned long *words, unsigned long size,
					    unsigned long start, unsigned long flip)
{
	unsigned long word, n;

	for (n = start; n < size; n = (n / 64 + 1) * 64) {
		word = (words[n / 64] ^ flip) >> (n % 64);
		if (!word)
			continue;
		n += (unsigned long)__builtin_ctzl(word);
		return n < size ? n : size;
	}
	return size;
}

static inline unsigned long find_next_bit(const unsigned long *words, unsigned long size,
					  unsigned long start)
{
	return uslab_find_next(words, size, start, 0);
}

static inline unsigned long find_next_zero_bit(const unsigned long *words, unsigned long size,
					       unsigned long start)
{
	return uslab_find_next(words, size, start, ~0ul);
}

static inline unsigned long find_first_bit(const unsigned long *words, unsigned long size)
{
	return find_next_bit(words, size, 0);
}

static inline unsigned long find_first_zero_bit(const unsigned long *words, unsigned long size)
{
	return find_next_zero_bit(words, size, 0);
}

static inline unsigned long find_last_bit(const unsigned long *words, unsigned long size)
{
	unsigned long n = size;

	while (n && !(words[(n - 1) / 64] >> ((n - 1) % 64) & 1))
		n--;
	return n ? n - 1 : size;
}

#define for_each_set_bit(n, words, size)                          \
	for ((n) = find_first_bit((words), (size)); (n) < (size); \
	     (n) = find_next_bit((words), (size), (n) + 1))
#define for_each_clear_bit(n, words, size)                             \
	for ((n) = find_first_zero_bit((words), (size)); (n) < (size); \
	     (n) = find_next_zero_bit((words), (size), (n) + 1))

#endif
#endif /* USLAB_LINUX_FIND_H */
