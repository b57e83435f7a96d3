/* SPDX-License-Identifier: MIT */
/*
 * uslab/ps/ps_print.c - the table of processes, and the same as JSON
 *
 * Flow:       called by cmd_ps.c; calls inspect/text.c, command/debug_flags.c, json_values.c and
 *             json-c. In: rows; out: text.
 */
#include <string.h>

#include "command/debug_flags.h"
#include "inspect/root.h"
#include "inspect/text.h"
#include "json_values.h"
#include "ps/ps.h"
#include "util.h"

static const char *const keys[NR_PS_STATES] = {
	[PS_READ] = "read",
	[PS_UNUSED] = "unused",
	[PS_OTHER_DATA] = "other_data",
	[PS_UNREADABLE] = "unreadable",
	[PS_NO_ANSWER] = "no_answer",
};

const char *ps_state_key(unsigned int state)
{
	return state < NR_PS_STATES ? keys[state] : NULL;
}

/* ---- the table ------------------------------------------------------------------------------- */

#define NUMBER_TEXT 24

static const char *number(char buf[NUMBER_TEXT], bool known, uint64_t value, bool bytes)
{
	if (!known)
		return "-";
	if (bytes)
		snprintf(buf, NUMBER_TEXT, "%lu", (unsigned long)value);
	else
		text_scale(buf, NUMBER_TEXT, value);
	return buf;
}

/* "FZ", "U?" where some allocations only have their users stored, "-". */
static void flags_text(char *buf, size_t size, const struct ps_row *row)
{
	char flags[DEBUG_FLAGS_TEXT];

	debug_flags_text(flags, row->debug_flags);
	snprintf(buf, size, "%s%s", row->sampled && !row->debug_flags ? "" : flags,
		 row->sampled ? "u" : "");
}

/* What stands behind the name of a program whose numbers are not there. */
static void note_text(char *buf, size_t size, const struct ps_row *row)
{
	switch (row->state) {
	case PS_READ:
		buf[0] = '\0';
		break;
	case PS_UNUSED:
		snprintf(buf, size, " (not used yet)");
		break;
	case PS_OTHER_DATA:
		if (row->data_version != USLAB_ROOT_VERSION)
			snprintf(buf, size, " (data of version %u; this command reads %u)",
				 row->data_version, USLAB_ROOT_VERSION);
		else
			snprintf(buf, size, " (built with other data structures)");
		break;
	case PS_NO_ANSWER:
		snprintf(buf, size, " (does not answer)");
		break;
	default:
		snprintf(buf, size, " (changed while it was being read)");
		break;
	}
}

static void print_row(FILE *out, const struct ps_row *row, bool bytes)
{
	char resident[NUMBER_TEXT], held[NUMBER_TEXT], space[NUMBER_TEXT], waste[NUMBER_TEXT];
	char reports[NUMBER_TEXT], flags[DEBUG_FLAGS_TEXT + 2] = "-", note[80];
	bool read = row->state == PS_READ;
	int width = bytes ? 12 : 8;

	if (read)
		flags_text(flags, sizeof(flags), row);
	note_text(note, sizeof(note), row);
	fprintf(out, "%7d %*s %*s %*s %*s %7s %-6s %-8s %-18s %s%s\n", (int)row->pid, width,
		number(resident, row->resident_known, row->resident, bytes), width,
		number(held, read, row->held, bytes), width, number(space, read, row->space, bytes),
		width, number(waste, read, row->space - row->held, bytes),
		number(reports, read, row->reports, true), flags,
		row->version[0] ? row->version : "-",
		row->object[0] ? util_file_name(row->object) : "-", row->program, note);
}

void ps_print_table(FILE *out, const struct ps_table *table, bool bytes)
{
	int width = bytes ? 12 : 8;

	if (!table->count)
		return;
	fprintf(out, "%7s %*s %*s %*s %*s %7s %-6s %-8s %-18s %s\n", "PID", width, "Resident",
		width, "Held", width, "Space", width, "Waste", "Reports", "Flags", "Version",
		"Library", "Program");
	for (size_t i = 0; i < table->count; i++)
		print_row(out, &table->rows[i], bytes);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_number(json_object *to, const char *key, bool known, uint64_t value, bool *failed)
{
	if (known)
		json_add(to, key, json_object_new_uint64(value), failed);
	else
		json_add_null(to, key, failed);
}

static json_object *row_json(const struct ps_row *row, bool *failed)
{
	json_object *object = json_object_new_object();
	bool read = row->state == PS_READ;
	char flags[DEBUG_FLAGS_TEXT];

	json_add(object, "pid", json_object_new_int((int)row->pid), failed);
	json_add(object, "program", json_object_new_string(row->program), failed);
	json_add(object, "object", json_new_printable(row->object), failed);
	json_add(object, "state", json_object_new_string(keys[row->state]), failed);
	if (row->version[0])
		json_add(object, "version_text", json_object_new_string(row->version), failed);
	else
		json_add_null(object, "version_text", failed);
	add_number(object, "data_version", row->version[0], row->data_version, failed);
	add_number(object, "resident_bytes", row->resident_known, row->resident, failed);
	add_number(object, "objects", read, row->objects, failed);
	add_number(object, "held_bytes", read, row->held, failed);
	add_number(object, "space_bytes", read, row->space, failed);
	add_number(object, "reports", read, row->reports, failed);
	if (!read) {
		json_add_null(object, "debug_flags", failed);
		json_add_null(object, "sampled", failed);
		return object;
	}
	debug_flags_text(flags, row->debug_flags);
	if (!row->debug_flags)
		flags[0] = '\0';
	json_add(object, "debug_flags", json_object_new_string(flags), failed);
	json_add(object, "sampled", json_object_new_boolean(row->sampled), failed);
	return object;
}

int ps_print_json(FILE *out, const struct ps_table *table)
{
	json_object *top = json_object_new_array();
	bool failed = false;

	for (size_t i = 0; i < table->count; i++)
		json_append(top, row_json(&table->rows[i], &failed), &failed);
	return json_print(out, top, JSON_PRETTY, failed);
}
