/* SPDX-License-Identifier: MIT */
/*
 * examples/cleanup.c - memory that is freed with the scope of its variable
 *
 *   $ cc -O2 cleanup.c -luslab -o cleanup
 *   $ ./cleanup
 *   a long name: NULL
 *   disk0 of 512 bytes
 *   closed 1
 */
#include <stdio.h>
#include <string.h>
#include <uslab/cleanup.h>

struct disk {
	char *name;
	char *buffer;
};

static int closed;

DEFINE_FREE(close, struct disk *, if (_T) closed++)

/* Each return frees what was allocated by then. */
static struct disk *open_disk(const char *name)
{
	struct disk *disk __free(kfree) = kzalloc_obj(struct disk);
	char *copy __free(kfree) = kstrdup(name, GFP_KERNEL);
	char *buffer __free(kvfree) = kvmalloc(512, GFP_KERNEL);

	if (!disk || !copy || !buffer || strlen(name) > 5)
		return NULL;
	disk->name = no_free_ptr(copy);
	disk->buffer = buffer;
	retain_and_null_ptr(buffer); /* it is the disk's now */
	return_ptr(disk);
}

static int show_disk(void)
{
	struct disk *opened __free(kfree) = open_disk("disk0");
	struct disk *disk __free(close) = opened;

	if (!disk)
		return 1;
	printf("%s of %zu bytes\n", disk->name, ksize(disk->buffer));
	kvfree(disk->buffer);
	kfree(disk->name);
	return 0;
}

int main(void)
{
	printf("a long name: %s\n", open_disk("a long name") ? "" : "NULL");
	if (show_disk())
		return 1;
	printf("closed %d\n", closed);
	return 0;
}
