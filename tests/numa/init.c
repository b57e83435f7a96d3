/* SPDX-License-Identifier: MIT */
/*
 * numa/init.c - the first process of the virtual machine of scripts/numa-vm
 *
 * Mounts what tests read, runs each program of the list /programs, says how they ended in a line
 * that the script looks for, and switches the machine off.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void show(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		printf("%s: %s", path, line);
	if (file)
		fclose(file);
}

static int run(char *program)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		execl(program, program, (char *)NULL);
		perror(program);
		_exit(126);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(void)
{
	char program[256];
	int failed = 0;
	int ran = 0;
	FILE *list;

	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/tmp", 01777);
	mkdir("/dev", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	setenv("PATH", "/bin", 1);
	setvbuf(stdout, NULL, _IOLBF, 0);
	show("/sys/devices/system/node/online");
	show("/sys/devices/system/node/node0/distance");
	list = fopen("/programs", "r");
	while (list && fgets(program, sizeof(program), list)) {
		int status;

		program[strcspn(program, "\n")] = '\0';
		status = run(program);
		printf("numa-vm: %s: %d\n", program, status);
		failed += status && status != 77;
		ran++;
	}
	printf("numa-vm: %d programs, %d failed\n", ran, failed);
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
