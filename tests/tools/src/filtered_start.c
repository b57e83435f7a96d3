/* SPDX-License-Identifier: MIT */
/*
 * tools/src/filtered_start.c - starts a program under a filter of system calls, as
 * containers and services do
 *
 * usage: filtered_start [-c] PROGRAM [ARGUMENT]... The filter denies acct(2) and ends a process
 * for process_vm_readv(2). A service has no_new_privs; with -c the program has not, and no
 * CAP_SYS_ADMIN in its bounding set, as in a container. Status 77: that takes root, and a process
 * without no_new_privs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CANNOT 77

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_acct, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	bool container = argc > 1 && !strcmp(argv[1], "-c");

	if (argc < 2 + container || (!container && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)))
		return 1;
	if (container && (geteuid() || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)))
		return CANNOT;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ||
	    (container && prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0)))
		return container ? CANNOT : 1;
	execvp(argv[1 + container], argv + 1 + container);
	return 1;
}
