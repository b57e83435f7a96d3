/* SPDX-License-Identifier: MIT */
/*
 * uslab/distinct.c - names of caches, each made the only one
 *
 * Invariants: names are sorted, and none is there twice.
 * Flow:       called by fs/ and info/info_rows.c. In: names of the caches of a
 *             snapshot; out: the same, distinct, to be looked up by name or by cache.
 */
#define _GNU_SOURCE
#include "distinct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void distinct_add(struct distinct *d, const char *text, unsigned int cache, bool is_link)
{
	struct distinct_name *name = &d->name[d->count++];

	snprintf(name->text, sizeof(name->text), "%.*s", SNAPSHOT_NAME_MAX - 1, text);
	name->cache = (uint16_t)cache;
	name->is_link = is_link;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(((const struct distinct_name *)a)->text,
		      ((const struct distinct_name *)b)->text);
}

/*
 * Of equal ones those first that are no links; then rows without a number, since an index changes
 * when caches come and go; then by number.
 */
static int compare_names(const void *a, const void *b, void *arg)
{
	const struct snapshot *s = arg;
	const struct distinct_name *x = a;
	const struct distinct_name *y = b;
	int by_text = compare_texts(a, b);
	bool x_has = s->cache[x->cache].id != 0;
	bool y_has = s->cache[y->cache].id != 0;

	if (by_text)
		return by_text;
	if (x->is_link != y->is_link)
		return x->is_link - y->is_link;
	return x_has != y_has ? x_has - y_has : x->cache - y->cache;
}

static bool is_usable(const char *text)
{
	return *text && strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
}

static bool is_taken(const struct distinct *d, const struct distinct_name *name)
{
	for (unsigned int i = 0; i < d->count; i++)
		if (&d->name[i] != name && !strcmp(d->name[i].text, name->text))
			return true;
	return false;
}

/* times: that this was done for the same name of the same cache. */
static void add_number(const struct distinct *d, struct distinct_name *name, unsigned int number,
		       unsigned int *times)
{
	size_t len = strlen(name->text);

	do {
		if (!(*times)++)
			snprintf(name->text + len, sizeof(name->text) - len, "~%u", number);
		else
			snprintf(name->text + len, sizeof(name->text) - len, "~%u~%u", number,
				 *times);
	} while (is_taken(d, name));
}

/* true: a name was changed. */
static bool change_equal(struct distinct *d, const struct snapshot *s)
{
	char last[DISTINCT_NAME_MAX] = "";
	unsigned int times = 0;
	bool changed = false;

	for (unsigned int i = 0; i < d->count; i++) {
		struct distinct_name *name = &d->name[i];
		const struct snapshot_cache *c = &s->cache[name->cache];
		bool is_equal = i && !strcmp(name->text, last);

		if (!is_equal || d->name[i - 1].cache != name->cache)
			times = 0;
		memcpy(last, name->text, sizeof(last));
		if (!is_equal && is_usable(name->text))
			continue;
		add_number(d, name, c->id ? c->id : name->cache, &times);
		changed = true;
	}
	return changed;
}

void distinct_make(struct distinct *d, const struct snapshot *s)
{
	qsort_r(d->name, d->count, sizeof(d->name[0]), compare_names, (void *)s);
	if (change_equal(d, s))
		qsort_r(d->name, d->count, sizeof(d->name[0]), compare_names, (void *)s);
	for (unsigned int i = 0; i < d->count; i++)
		if (!d->name[i].is_link)
			d->own[d->name[i].cache] = (uint16_t)i;
}

const struct distinct_name *distinct_find(const struct distinct *d, const char *text)
{
	struct distinct_name key;

	if (strlen(text) >= sizeof(key.text))
		return NULL;
	strcpy(key.text, text);
	return bsearch(&key, d->name, d->count, sizeof(key), compare_texts);
}
