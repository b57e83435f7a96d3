/* SPDX-License-Identifier: MIT */
/*
 * event_loops - programs that wait and then work, always in the same order
 * (tests/tools/track_fair_test.py)
 *
 * event_loops sleepy    after each sleep one small_leak(), then 20 of big_leak() between many
 *                       short-lived objects
 * event_loops bursts    longer sleeps; first and last of 500 objects are of small_leak(), 50 of
 *                       middle_leak()
 *
 * All leaked objects have one size, so the share of a site is known: in objects as in bytes. They
 * come in blocks, and of those only the newest stay, so that a loop may run for long.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE 64
#define KEPT (1 << 21)

static void *kept[KEPT];
static unsigned int next;

static void keep(void *object)
{
	free(kept[next % KEPT]);
	kept[next++ % KEPT] = object;
}

__attribute__((noinline)) static void small_leak(void)
{
	keep(memset(malloc(SIZE), 1, SIZE));
}

__attribute__((noinline)) static void middle_leak(void)
{
	keep(memset(malloc(SIZE), 2, SIZE));
}

__attribute__((noinline)) static void big_leak(void)
{
	keep(memset(malloc(SIZE), 3, SIZE));
}

__attribute__((noinline)) static void churn(void)
{
	void *volatile object[4];

	for (int i = 0; i < 4; i++)
		object[i] = malloc(SIZE);
	for (int i = 0; i < 4; i++)
		free(object[i]);
}

static void sleepy(void)
{
	usleep(500);
	small_leak();
	for (int i = 0; i < 200; i++) {
		churn();
		if (i % 10 == 0)
			big_leak();
	}
}

static void bursts(void)
{
	usleep(10000);
	small_leak();
	for (int i = 0; i < 498; i++) {
		if (i < 50)
			middle_leak();
		else
			big_leak();
		churn();
	}
	small_leak();
}

int main(int argc, char **argv)
{
	void (*loop)(void) = argc > 1 && !strcmp(argv[1], "bursts") ? bursts : sleepy;

	puts("ready");
	fflush(stdout);
	for (;;)
		loop();
}
