/* SPDX-License-Identifier: MIT */
/*
 * examples/malloc_moves.c - the same with the drop-in malloc, for strings of many sizes
 *
 *   $ cc -O2 malloc_moves.c -luslab_malloc -o malloc_moves
 *   $ ./malloc_moves
 *   some strings should move
 *   none should move any more: yes
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uslab/malloc.h>

#define STRINGS 20000

static char *strings[STRINGS];

/* Returns how many it moved. */
static int pass(void)
{
	int moved = 0;

	for (int i = 0; i < STRINGS; i++) {
		char *copy;

		if (!strings[i] || !uslab_malloc_should_move(strings[i]))
			continue;
		copy = uslab_malloc_direct(strlen(strings[i]) + 1);
		if (!copy)
			break;
		strcpy(copy, strings[i]);
		uslab_free_direct(strings[i]);
		strings[i] = copy;
		moved++;
	}
	return moved;
}

int main(void)
{
	int passes = 0;

	for (int i = 0; i < STRINGS; i++) {
		int size = 100 + i % 100;

		strings[i] = malloc((size_t)size);
		if (!strings[i])
			return 1;
		memset(strings[i], 'a', (size_t)size - 1);
		strings[i][size - 1] = '\0';
	}
	for (int i = 0; i < STRINGS; i++)
		if (i % 7) {
			free(strings[i]);
			strings[i] = NULL;
		}
	printf("%s strings should move\n", pass() ? "some" : "no");
	while (passes < 20 && pass())
		passes++;
	printf("none should move any more: %s\n",
	       passes < 20 ? "yes" : "no");
	for (int i = 0; i < STRINGS; i++)
		free(strings[i]);
	return 0;
}
