/* SPDX-License-Identifier: MIT */
/*
 * examples/buckets.c - messages from outside lie apart from everything else
 *
 *   $ cc -O2 buckets.c -luslab -o buckets
 *   $ ./buckets
 *   hello
 *   large: 100000 bytes
 */
#include <stdio.h>
#include <string.h>
#include <uslab/slab.h>

static kmem_buckets *messages;

/* Reports and tools name who receives the message, not this function. */
static __attribute__((noinline)) char *receive(const char *data,
					       size_t size)
{
	char *message =
		kmem_buckets_alloc_track_caller(messages, size, GFP_KERNEL);

	return message ? memcpy(message, data, size) : NULL;
}

int main(void)
{
	char *hello, *large, *other;

	messages = kmem_buckets_create("messages", 0, 0, 0, NULL);
	hello = receive("hello", sizeof("hello"));
	large = kmem_buckets_valloc(messages, 100000, GFP_KERNEL);
	other = kmem_buckets_alloc(messages, sizeof("hello"), GFP_KERNEL);
	if (!hello || !large || !other)
		return 1;
	printf("%s\n", hello);
	memset(large, 0, 100000);
	printf("large: 100000 bytes\n");
	kfree(other);
	kvfree(large);
	kfree(hello);
	return 0;
}
