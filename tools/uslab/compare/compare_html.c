/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_html.c - one page from the template, its parts and the JSON
 *
 * Data:       html_files[], made by the build from tools/uslab/html.
 * Flow:       called by cmd_compare.c. In: the JSON; out: one page.
 *
 * html/page.html is the template: {{NAME}} stands for a file of that folder, {{json}} for the data.
 * What is put in is not searched for further names. All drawing is done by the page's own scripts.
 */
#include "compare/compare_html.h"
#include "html/files.h"

#include <errno.h>
#include <string.h>

#define OPEN "{{"
#define CLOSE "}}"
#define MARK_LENGTH 2

static const struct html_file *find_file(const char *name, size_t length)
{
	for (size_t i = 0; i < html_nr_files; i++)
		if (strlen(html_files[i].name) == length &&
		    !memcmp(html_files[i].name, name, length))
			return &html_files[i];
	return NULL;
}

/*
 * "</script" and "<!--" would end or change the script element, whatever they mean in JSON. There
 * '<' is found in strings only, where the escape says the same.
 */
static void put_json(FILE *out, const char *json, size_t size)
{
	const char *end = json + size;

	while (json < end) {
		const char *angle = memchr(json, '<', (size_t)(end - json));
		const char *stop = angle ? angle : end;

		fwrite(json, 1, (size_t)(stop - json), out);
		if (angle)
			fputs("\\u003c", out);
		json = angle ? angle + 1 : end;
	}
}

/* What the template's mark of that name stands for. */
static int put_part(FILE *out, const char *name, size_t length, const char *json, size_t size)
{
	const struct html_file *file = find_file(name, length);

	if (file)
		fwrite(file->data, 1, file->size, out);
	else if (length == strlen("json") && !memcmp(name, "json", length))
		put_json(out, json, size);
	else
		return -ENOENT; /* the template names what was not built in */
	return 0;
}

int compare_html_write(FILE *out, const char *json, size_t size)
{
	const struct html_file *page = find_file("page.html", strlen("page.html"));
	const char *at = page ? page->data : NULL;
	const char *open, *close;

	if (!page)
		return -ENOENT;
	errno = 0;
	while ((open = strstr(at, OPEN)) && (close = strstr(open, CLOSE))) {
		const char *name = open + MARK_LENGTH;
		int err;

		fwrite(at, 1, (size_t)(open - at), out);
		err = put_part(out, name, (size_t)(close - name), json, size);
		if (err)
			return err;
		at = close + MARK_LENGTH;
	}
	fputs(at, out);
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}
