/* SPDX-License-Identifier: MIT */
/*
 * uslab/json_values.h - values into JSON (json-c), where memory may be short
 *
 * json-c answers out of memory with NULL at every step, and adding NULL would write "null": a step
 * that fails sets *failed, and then nothing is printed.
 */
#ifndef TOOLS_JSON_VALUES_H
#define TOOLS_JSON_VALUES_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* To an object, under key. value is the object's from then on, or gone. */
void json_add(json_object *to, const char *key, json_object *value, bool *failed);
/* The same of what is not known. */
void json_add_null(json_object *to, const char *key, bool *failed);
/* To an array. */
void json_append(json_object *to, json_object *value, bool *failed);

/* "0x..." */
json_object *json_new_address(uint64_t value);
/* A copy with '?' for what is no printable UTF-8: of names of files. */
json_object *json_new_printable(const char *text);
/* With so many digits behind the point; NULL, which json-c prints as null: it is no number. */
json_object *json_new_decimal(double value, int digits);

/* The whole, which is freed, and a newline. 0, or -ENOMEM: it failed, and nothing was printed. */
int json_print(FILE *out, json_object *whole, int flags, bool failed);

#define JSON_PRETTY (JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE)

#endif /* TOOLS_JSON_VALUES_H */
