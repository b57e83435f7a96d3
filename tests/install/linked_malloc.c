/* SPDX-License-Identifier: MIT */
/*
 * install/linked_malloc.c - a program that is linked with the drop-in: malloc() is uslab's
 */
#include <stdio.h>
#include <stdlib.h>
#include <uslab/malloc.h>

int main(void)
{
	void *p = malloc(100);

	uslab_free_direct(p); /* which knows no other's blocks */
	puts(p ? "ok malloc" : "wrong");
	return 0;
}
