/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/find_files.c - where the workers and the libraries are
 *
 * Flow:       called by plan.c. In: names; out: paths, and versions of Debian packages.
 *
 * Our own files are looked for relative to this program, in a build folder (bin beside lib) as well
 * as installed. A peer's library is looked for by path and not left to the dynamic linker, which
 * only warns when a library to preload is missing: glibc would be measured in its place.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* path = the folder part of path, without the last component */
static bool cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

static bool readable(char path[PATH_MAX], const char *folder, const char *name)
{
	return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX && !access(path, R_OK);
}

bool find_own_file(char path[PATH_MAX], const char *name)
{
	static const char from_bin[] = "/" USLAB_LIB_FROM_BIN;
	static const char *const places[] = { "", "/../lib", "/../libexec/uslab", from_bin };
	char self[PATH_MAX], folder[PATH_MAX + 32];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length <= 0)
		return false;
	self[length] = '\0';
	if (!cut_last(self))
		return false;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char found[PATH_MAX];

		snprintf(folder, sizeof(folder), "%s%s", self, places[i]);
		if (readable(found, folder, name) && realpath(found, path))
			return true;
	}
	return false;
}

/* The folder that the C library came from: with several architectures, the one of ours. */
static bool libc_folder(char folder[PATH_MAX])
{
	void *address = dlsym(RTLD_DEFAULT, "puts");
	Dl_info info;

	if (!address || !dladdr(address, &info) || !info.dli_fname ||
	    !realpath(info.dli_fname, folder))
		return false;
	return cut_last(folder);
}

/* One of the folders of a list separated by colons. */
static bool find_in_list(char path[PATH_MAX], const char *name, const char *list)
{
	while (list && *list) {
		int length = (int)strcspn(list, ":");
		char folder[PATH_MAX];

		if (length && snprintf(folder, sizeof(folder), "%.*s", length, list) < PATH_MAX &&
		    readable(path, folder, name))
			return true;
		list += length + (list[length] == ':');
	}
	return false;
}

bool find_library(char path[PATH_MAX], const char *name, const char *dir)
{
	char folder[PATH_MAX];

	if (dir)
		return readable(path, dir, name);
	return find_in_list(path, name, getenv("LD_LIBRARY_PATH")) ||
	       (libc_folder(folder) && readable(path, folder, name)) ||
	       find_in_list(path, name, "/usr/local/lib:/usr/lib64:/usr/lib:/lib64:/lib");
}

void package_version(char version[MAX_NAME], const char *package)
{
	char command[128];
	FILE *pipe;

	version[0] = '\0';
	snprintf(command, sizeof(command), "dpkg-query -W -f '${Version}' %s 2>/dev/null", package);
	pipe = popen(command, "re");
	if (!pipe)
		return;
	if (!fgets(version, MAX_NAME, pipe))
		version[0] = '\0';
	if (pclose(pipe) != 0)
		version[0] = '\0';
}
