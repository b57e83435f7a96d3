/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/machine.c - what the numbers were measured on
 *
 * Flow:       called by cmd_bench.c, report.c, report_json.c and compare/cmd_compare.c. Out: CPU,
 *             kernel, libc, load, and variables of the environment that allocators look at.
 */
#define _GNU_SOURCE
#include "machine.h"

#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define COMPILER "Clang " __clang_version__
#else
#define COMPILER "GCC " __VERSION__
#endif

/* "model name" where the kernel says it (x86), else the kind of machine. */
static void cpu_model(char *model, size_t size, const char *machine)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	snprintf(model, size, "%s", machine);
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (!strncmp(line, "model name", 10) && colon) {
			line[strcspn(line, "\n")] = '\0';
			snprintf(model, size, "%s", colon + 1 + strspn(colon + 1, " "));
			break;
		}
	}
	fclose(file);
}

void machine_describe(struct machine *m)
{
	time_t now = time(NULL);
	struct utsname names;
	struct tm utc;

	memset(m, 0, sizeof(*m));
	if (uname(&names) == 0) {
		snprintf(m->kernel, sizeof(m->kernel), "%s %s", names.sysname, names.release);
		cpu_model(m->cpu, sizeof(m->cpu), names.machine);
	}
	snprintf(m->libc, sizeof(m->libc), "glibc %s", gnu_get_libc_version());
	snprintf(m->compiler, sizeof(m->compiler), "%s", COMPILER);
	m->cpus = sysconf(_SC_NPROCESSORS_ONLN);
	m->memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	if (getloadavg(&m->load, 1) != 1)
		m->load = -1;
	if (gmtime_r(&now, &utc))
		strftime(m->date, sizeof(m->date), "%Y-%m-%dT%H:%M:%SZ", &utc);
}

void machine_environment(void (*visit)(const char *name, const char *value, void *arg), void *arg)
{
	static const char *const prefixes[] = { "USLAB_",    "MALLOC_", "MIMALLOC_",
						"TCMALLOC_", "TBB_",	"GLIBC_TUNABLES",
						"LD_" };

	for (char **variable = environ; *variable; variable++)
		for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
			if (!strncmp(*variable, prefixes[i], strlen(prefixes[i]))) {
				const char *equals = strchrnul(*variable, '=');
				char name[64];

				snprintf(name, sizeof(name), "%.*s", (int)(equals - *variable),
					 *variable);
				visit(name, *equals ? equals + 1 : "", arg);
			}
}
