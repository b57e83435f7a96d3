/* SPDX-License-Identifier: MIT */
/*
 * misuse/malloc_kfence.c - the drop-in's guarded objects have exactly the bytes that were asked for
 *
 * The program has a handler for SIGSEGV: faults that are not KFENCE's come to it, before and after.
 *
 * misuse: malloc_kfence USLAB_CONF=kfence.sample=1
 */
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "misuse.h"

#define PAGE 4096ul

static sigjmp_buf back;

static void on_fault(int sig)
{
	dprintf(2, "the program's handler: signal %d\n", sig);
	siglongjmp(back, 1);
}

/* In a page that nobody may touch. */
static void own_fault(char *page)
{
	if (!sigsetjmp(back, 1))
		*(volatile char *)page = 1;
}

static __attribute__((noinline)) void parse(void)
{
	char *p = wild(malloc(48));

	while ((uintptr_t)p % PAGE != PAGE - 48) {
		free(p);
		p = wild(malloc(48));
	}
	dprintf(2, "%zu bytes are usable\n", malloc_usable_size(p));
	p[48] = 0;
	free(p);
}

int main(void)
{
	char *page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	signal(SIGSEGV, on_fault);
	own_fault(page);
	parse();
	own_fault(page);
	return survived();
}
