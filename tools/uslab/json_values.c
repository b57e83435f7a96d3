/* SPDX-License-Identifier: MIT */
/*
 * uslab/json_values.c - values into JSON (json-c), where memory may be short
 *
 * Flow:       called by compare/, info/, ps/, replay/ and track/; calls json-c and util.c. In:
 *             values; out: a document, whole or none.
 */
#include "json_values.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

void json_add(json_object *to, const char *key, json_object *value, bool *failed)
{
	if (!to || !value || json_object_object_add(to, key, value)) {
		json_object_put(value);
		*failed = true;
	}
}

void json_add_null(json_object *to, const char *key, bool *failed)
{
	if (!to || json_object_object_add(to, key, NULL))
		*failed = true;
}

void json_append(json_object *to, json_object *value, bool *failed)
{
	if (!to || !value || json_object_array_add(to, value)) {
		json_object_put(value);
		*failed = true;
	}
}

json_object *json_new_address(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_object_new_string(text);
}

json_object *json_new_printable(const char *text)
{
	char *copy = strdup(text);
	json_object *made;

	if (copy)
		util_make_printable(copy);
	made = copy ? json_object_new_string(copy) : NULL;
	free(copy);
	return made;
}

json_object *json_new_decimal(double value, int digits)
{
	char text[40];

	if (!isfinite(value))
		return NULL;
	snprintf(text, sizeof(text), "%.*f", digits, value);
	return json_object_new_double_s(value, text);
}

int json_print(FILE *out, json_object *whole, int flags, bool failed)
{
	const char *text = failed ? NULL : json_object_to_json_string_ext(whole, flags);

	if (text)
		fprintf(out, "%s\n", text);
	json_object_put(whole);
	return text ? 0 : -ENOMEM;
}
