/* SPDX-License-Identifier: MIT */
/*
 * examples/signal.c - a signal handler that allocates
 *
 * Where the handler interrupted the library inside of a lock it gets NULL,
 * and must do without.
 *
 *   $ cc -O2 signal.c -luslab -o signal
 *   $ ./signal
 *   3 events kept, 0 dropped
 */
#include <signal.h>
#include <stdio.h>
#include <uslab/slab.h>

struct event {
	struct event *next;
	int number;
};

static struct kmem_cache *events;
static struct event *volatile last;
static volatile sig_atomic_t dropped;

static void on_signal(int number)
{
	struct event *event = kmem_cache_alloc(events, GFP_ATOMIC);

	if (!event) {
		dropped = dropped + 1;
		return;
	}
	event->number = number;
	event->next = last;
	last = event;
}

int main(void)
{
	struct event *event;
	int kept = 0;

	events = KMEM_CACHE(event, 0); /* not in a handler */
	if (!events || signal(SIGINT, on_signal) == SIG_ERR)
		return 1;
	for (int i = 0; i < 3; i++) {
		raise(SIGINT);
		signal(SIGINT, on_signal);
	}
	signal(SIGINT, SIG_DFL);
	while ((event = last)) {
		last = event->next;
		kept += event->number == SIGINT;
		kmem_cache_free(events, event);
	}
	printf("%d events kept, %d dropped\n", kept, (int)dropped);
	kmem_cache_destroy(events);
	return 0;
}
