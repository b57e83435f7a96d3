/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/save.c - keeps a run: BENCHMARK.txt for people, BENCHMARK.json for programs
 *
 * Flow:       called by cmd_bench.c with --output. In: both texts; out: two files, each renamed
 *             from a draft when it is whole.
 */
#include "bench.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "../util.h"

/* A new file under a name of its own, then renamed: a failed run leaves the old result. */
static int save_file(const char *folder, const char *name, const char *ending, const char *text)
{
	char path[PATH_MAX], draft[PATH_MAX + 8];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s.%s", folder, name, ending);
	snprintf(draft, sizeof(draft), "%s.new", path);
	file = fopen(draft, "we");
	if (!file)
		return util_fail(COMMAND, "cannot write %s: %s", draft, strerror(errno));
	ok = fputs(text, file) >= 0;
	ok = fclose(file) == 0 && ok;
	if (!ok || rename(draft, path)) {
		int error = errno;

		remove(draft);
		return util_fail(COMMAND, "cannot write %s: %s", path, strerror(error));
	}
	return 0;
}

int save_session(const struct session *s, const char *text, const char *json)
{
	const char *folder = s->options.output;
	int status;

	if (mkdir(folder, 0777) && errno != EEXIST)
		return util_fail(COMMAND, "cannot make the folder %s: %s", folder, strerror(errno));
	status = save_file(folder, s->benchmark->name, "txt", text);
	if (!status)
		status = save_file(folder, s->benchmark->name, "json", json);
	return status;
}
