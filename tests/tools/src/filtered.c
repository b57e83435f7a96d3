/* SPDX-License-Identifier: MIT */
/*
 * tools/src/filtered.c - a program that is ended by any system call but those it names
 *
 * usage: filtered [mistakes]. It allocates and frees in two threads, with "mistakes" once in a
 * round twice the same. Built with -DALLOWED=SYS_mmap,SYS_munmap,...: any system call but these and
 * its own few ends it by SIGSYS.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define KEPT 600
#define LARGE (6ul << 20)
#define MAX_CALLS 64

static int mistakes;
static volatile int started; /* the other thread, with what libc does for that */

/* Hits, misses, whole pages, blocks that are mapped. */
static __attribute__((noinline)) void round_of(char **kept, unsigned int round)
{
	void *volatile wild; /* compilers see no double free */

	for (unsigned int i = 0; i < KEPT; i++) {
		free(kept[i]);
		kept[i] = malloc(16 + (i * 37 + round * 11) % 3000);
		kept[i][0] = 1;
	}
	for (size_t size = 20000; size <= LARGE; size *= 3) {
		wild = malloc(size);
		memset(wild, 1, 4096);
		wild = realloc(wild, size * 2);
		free(wild);
	}
	if (mistakes) {
		wild = malloc(100);
		free(wild);
		free(wild);
	}
}

static void *work(void *arg)
{
	char *kept[KEPT] = { NULL };
	struct timespec pause = { 0, 20000000 };

	(void)arg;
	started = 1;
	for (unsigned int round = 0;; round++) {
		round_of(kept, round);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

#ifdef ALLOWED
/* Its own; the next two are the kernel's. */
static const int allowed[] = { SYS_nanosleep,	    SYS_clock_nanosleep, SYS_rt_sigreturn,
			       SYS_restart_syscall, SYS_exit_group,	 ALLOWED };

static int filter(void)
{
	struct sock_filter code[2 * sizeof(allowed) / sizeof(allowed[0]) + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = { 1, code };

	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		unsigned int nr = (unsigned int)allowed[i];

		code[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ, nr, 0, 1);
		code[program.len++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[program.len++] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}
#else
static int filter(void)
{
	return 0;
}
#endif

int main(int argc, char **argv)
{
	pthread_t thread;

	mistakes = argc > 1 && !strcmp(argv[1], "mistakes");
	if (pthread_create(&thread, NULL, work, NULL))
		return 1;
	while (!started)
		usleep(1000);
	if (filter())
		return 1;
	work(NULL);
	return 0;
}
