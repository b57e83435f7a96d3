/* SPDX-License-Identifier: MIT */
/*
 * tests/tools/src/realtime.c - calls of malloc during which the kernel must have nothing to do
 *
 * realtime OPS [any]: after a few calls of each kind, which resolve symbols, a filter ends this
 * process for every system call but those that end a program (with "any" it is left out). Then OPS
 * calls of all kinds and of 1 byte to 1 MiB are made, 24 MiB live at most. Prints minor page faults
 * of these calls.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLOTS 4000
#define MOST (24ul << 20)

static void *slots[SLOTS];
static size_t sizes[SLOTS];
static size_t live;
static uint64_t state = 88172645463325252ull;

static uint32_t draw(uint32_t n)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)(((state * 0x2545f4914f6cdd1dull >> 32) * n) >> 32);
}

static size_t draw_size(void)
{
	size_t size = (size_t)1 << draw(11);

	if (draw(50) == 0)
		size = (size_t)1 << (10 + draw(10));
	return size + draw((uint32_t)size);
}

static void *allocate(size_t size)
{
	void *p = NULL;

	switch (draw(4)) {
	case 0:
		return calloc(1, size);
	case 1:
		return posix_memalign(&p, (size_t)16 << draw(6), size) ? NULL : p;
	default:
		return malloc(size);
	}
}

static void step(void)
{
	uint32_t at = draw(SLOTS);
	size_t size = draw_size();

	if (slots[at] && draw(4) == 0 && live + size < MOST) {
		slots[at] = realloc(slots[at], size);
	} else if (slots[at] || live + size >= MOST) {
		free(slots[at]);
		slots[at] = NULL;
		size = 0;
	} else {
		slots[at] = allocate(size);
	}
	if (size && !slots[at])
		abort();
	if (size)
		memset(slots[at], (int)at, size);
	live += size - sizes[at];
	sizes[at] = size;
}

#define ALLOW(call)                                      \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void end_for_system_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_getrusage),
		ALLOW(SYS_write),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		puts("no filter");
		exit(77);
	}
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

int main(int argc, char **argv)
{
	long before, ops = argc > 1 ? atol(argv[1]) : 0;
	char line[64];
	int length;

	memset(slots, 0, sizeof(slots));
	memset(sizes, 0, sizeof(sizes));
	for (int i = 0; i < 2000; i++)
		step();
	if (argc < 3)
		end_for_system_calls();
	before = faults();
	while (ops-- > 0)
		step();
	before = faults() - before;
	length = snprintf(line, sizeof(line), "faults %ld\n", before); /* stdio may use writev */
	_exit(write(STDOUT_FILENO, line, (size_t)length) != length);
}
