/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/given_peers.c - peers of --peers by NAME=PATH, and by lines of a file
 *
 * Data:       peers[], filled once before anything is planned, constant from then on.
 * Flow:       called by cmd_bench.c, and for rows by plan.c, run.c, report.c and report_json.c;
 *             calls catalogue.c. In: the list; out: contestants beside those of catalogue.c.
 *
 * The form of the list and of the file is that of scripts/bench-malloc, so that one file serves
 * both: NAME=PATH, and in a file, after blanks, the version and variables of the environment with
 * which that library is at its best.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"

#define DROP_IN "libuslab_malloc.so"

static struct given_peer peers[MAX_GIVEN];
static size_t nr_peers;

const struct given_peer *given_peer_at(size_t i)
{
	return i < nr_peers ? &peers[i] : NULL;
}

const struct given_peer *given_peer_of(const struct contestant *c)
{
	for (size_t i = 0; i < nr_peers; i++)
		if (&peers[i].who == c)
			return &peers[i];
	return NULL;
}

/* Of [A-Za-z0-9._+-], as long as the tables have room for. */
static bool is_name(const char *name)
{
	size_t length = strlen(name);

	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._+-", *c))
			return false;
	return length > 0 && length < REPORT_NAME_WIDTH;
}

/* A peer of the catalogue may be given in place of Debian's; who is measured besides may not. */
static bool is_taken(const char *name)
{
	for (size_t i = 0; contestant_at(i); i++)
		if (contestant_at(i)->role != ROLE_PEER && !strcmp(contestant_at(i)->name, name))
			return true;
	for (size_t i = 0; i < nr_peers; i++)
		if (!strcmp(peers[i].name, name))
			return true;
	return false;
}

/* A build of the drop-in is no peer, or the ratios would refer to ourselves. */
static enum role role_of(const char *path)
{
	return strncmp(util_file_name(path), DROP_IN, strlen(DROP_IN)) ? ROLE_PEER : ROLE_USLAB;
}

static int add_peer(const char *name, const char *path)
{
	struct given_peer *p = &peers[nr_peers];

	if (!is_name(name))
		return util_usage_error(
			COMMAND, "'%s' is no name of a peer: up to %d of A-Z, a-z, 0-9 and ._+-",
			name, REPORT_NAME_WIDTH - 1);
	if (is_taken(name))
		return util_usage_error(COMMAND, "two contestants are called '%s'", name);
	if (nr_peers == MAX_GIVEN)
		return util_usage_error(COMMAND, "more than %d peers are given", MAX_GIVEN);
	if (!realpath(path, p->path))
		return util_fail(COMMAND, "%s: no library %s: %s", name, path, strerror(errno));
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->who = contestant_of_library(p->name, role_of(p->path));
	nr_peers++;
	return EXIT_OK;
}

/* The words behind the path: VARIABLE=VALUE, and all others are the version. */
static int take_words(struct given_peer *p, char *words)
{
	for (char *word = strtok(words, " \t"); word; word = strtok(NULL, " \t")) {
		size_t used = strlen(p->version);

		if (!strchr(word, '=')) {
			snprintf(p->version + used, sizeof(p->version) - used, "%s%s",
				 used ? " " : "", word);
			continue;
		}
		if (p->nr_variables == MAX_VARIABLES)
			return util_fail(COMMAND, "%s: more than %d variables", p->name,
					 MAX_VARIABLES);
		p->variables[p->nr_variables] = strdup(word);
		if (!p->variables[p->nr_variables])
			return util_fail(COMMAND, "out of memory");
		p->nr_variables++;
	}
	return EXIT_OK;
}

/* path, from the folder of the file that names it unless it is absolute. */
static int add_from_file(const char *file, const char *name, const char *path)
{
	const char *slash = strrchr(file, '/');
	char full[PATH_MAX];

	if (path[0] == '/' || !slash)
		return add_peer(name, path);
	if (snprintf(full, sizeof(full), "%.*s/%s", (int)(slash - file), file, path) >= PATH_MAX)
		return util_fail(COMMAND, "%s: the path of %s is too long", file, name);
	return add_peer(name, full);
}

static int take_line(const char *file, unsigned int number, char *line)
{
	char *name = line + strspn(line, " \t"), *path, *words;
	int status;

	line[strcspn(line, "#\n")] = '\0';
	if (!*name)
		return EXIT_OK;
	path = strchr(name, '=');
	if (!path || !path[1] || isspace((unsigned char)path[1]))
		return util_fail(COMMAND, "%s:%u: '%s' is not NAME=PATH", file, number, name);
	*path++ = '\0';
	words = path + strcspn(path, " \t");
	if (*words)
		*words++ = '\0';
	status = add_from_file(file, name, path);
	return status ? status : take_words(&peers[nr_peers - 1], words);
}

static int take_file(const char *file)
{
	FILE *in = fopen(file, "re");
	char *line = NULL;
	size_t size = 0;
	int status = EXIT_OK;

	if (!in)
		return util_fail(COMMAND, "cannot read the list of peers %s: %s", file,
				 strerror(errno));
	for (unsigned int number = 1; !status && getline(&line, &size, in) > 0; number++)
		status = take_line(file, number, line);
	free(line);
	fclose(in);
	return status;
}

int given_peers_take(const char *list)
{
	char *copy = strdup(list), *rest = copy, *item;
	int status = copy ? EXIT_OK : util_fail(COMMAND, "out of memory");

	while (!status && rest && (item = strsep(&rest, ","))) {
		char *equals = strchr(item, '=');

		if (item[0] == '@') {
			status = take_file(item + 1);
		} else if (equals) {
			*equals = '\0';
			status = add_peer(item, equals + 1);
		}
	}
	free(copy);
	return status;
}
