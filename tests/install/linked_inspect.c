/* SPDX-License-Identifier: MIT */
/*
 * install/linked_inspect.c - a program that is linked with the drop-in and with libuslab_inspect
 */
#include <stdio.h>
#include <stdlib.h>
#include <uslab/inspect.h>
#include <uslab/malloc.h>
int main(void)
{
	struct uslab_inspect_source nobody = { .pid = -1 };
	char *messages = NULL;
	void *p = uslab_malloc_direct(100);
	char *json = uslab_inspect_json(&nobody, &messages);

	uslab_free_direct(p);
	puts(p && !json && messages ? "ok others" : "wrong");
	free(messages);
	return 0;
}
