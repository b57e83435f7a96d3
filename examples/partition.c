/* SPDX-License-Identifier: MIT */
/*
 * examples/partition.c - keys lie in other slabs than texts of their
 * size
 *
 * Clang from 22 on knows the types by itself, with
 * -falloc-token-max=16; for other compilers the program says which of
 * its types has which token.
 *
 *   $ cc -O2 partition.c -luslab -o partition
 *   $ ./partition
 *   a key and a text: in one slab
 *   $ USLAB_CONF=kmalloc.partition=typed ./partition
 *   a key and a text: apart
 */
#define USLAB_KMALLOC_PARTITION
#define USLAB_TYPE_TOKEN(type) \
	_Generic((__typeof__(type) *)0, struct key * : 9, default : 0)
#include <stdio.h>
#include <string.h>
#include <uslab/slab.h>

struct key {
	struct key *next;
	unsigned char bytes[48];
};

/* Slabs of 64 bytes are pages. */
static bool in_one_slab(const void *p, const void *q)
{
	return ((uintptr_t)p ^ (uintptr_t)q) < 4096;
}

int main(void)
{
	struct key *key = kzalloc_obj(*key);
	char *text = kmalloc(sizeof(*key), GFP_KERNEL);

	if (!key || !text)
		return 1;
	strcpy(text, "from outside");
	printf("a key and a text: %s\n",
	       in_one_slab(key, text) ? "in one slab" : "apart");
	kfree(text);
	kfree_sensitive(key);
	return 0;
}
