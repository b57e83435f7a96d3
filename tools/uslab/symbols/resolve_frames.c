/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve_frames.c - the functions that are inlined at a code address, by libdw
 *
 * Flow:       called by resolve.c, and for short names by track/track_print.c. In: a module of
 *             libdwfl and an address; out: places in the source, innermost first.
 *
 * The line table has the innermost place. Each inlined function says where it was called, which is
 * the place in the next one outwards.
 */
#include "symbols/resolve_frames.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Of the C++ library; no header declares it for C. */
extern char *__cxa_demangle(const char *name, char *buf, size_t *size, int *status);

char *resolve_demangle(const char *name)
{
	/* other names could be those of types: "i" is int */
	return !strncmp(name, "_Z", 2) ? __cxa_demangle(name, NULL, NULL, NULL) : NULL;
}

/* A header of ours that programs inline: what a person asks for is the line that calls it. */
static bool is_our_inline(const char *file)
{
	return file && (strstr(file, "uslab/fastpath.h") || strstr(file, "uslab/account.h") ||
			strstr(file, "uslab/arch/rseq"));
}

/*
 * The unit that an address lies in. Compilers need not write the table that leads there; and code
 * without debug information that lies behind a unit is counted in it by libdwfl.
 */
static Dwarf_Die *find_unit(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr *bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, bias);

	if (unit && dwarf_haspc(unit, address - *bias) == 1)
		return unit;
	for (unit = dwfl_module_nextcu(module, NULL, bias); unit;
	     unit = dwfl_module_nextcu(module, unit, bias))
		if (dwarf_haspc(unit, address - *bias) == 1)
			return unit;
	return NULL;
}

static void find_line(Dwarf_Die *unit, Dwarf_Addr address, struct resolve_place *place)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);

	if (line && !dwarf_lineno(line, &place->line) && place->line > 0)
		place->file = dwarf_linesrc(line, NULL, NULL);
}

static const char *name_of(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	const char *name =
		dwarf_formstring(dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute));

	return name ? name : dwarf_diename(function);
}

/* Where an inlined function is called. */
static struct resolve_place call_of(Dwarf_Die *unit, Dwarf_Die *inlined)
{
	struct resolve_place place = { NULL, NULL, 0 };
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word file, line;
	size_t nr_files;

	if (!dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) &&
	    !dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) &&
	    !dwarf_getsrcfiles(unit, &files, &nr_files) && file < nr_files) {
		place.file = dwarf_filesrc(files, file, NULL, NULL);
		place.line = (int)line;
	}
	return place;
}

/*
 * The blocks and functions around an address as they lie in the code, innermost
 * first. Returns how many.
 */
static int find_scopes(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **scopes)
{
	Dwarf_Die *around = NULL, innermost;
	int nr = dwarf_getscopes(unit, address, &around);

	/*
	 * beyond an inlined function these are the ones that it was written in:
	 * start over from the innermost
	 */
	*scopes = NULL;
	if (nr <= 0)
		return 0;
	innermost = around[0];
	free(around);
	nr = dwarf_getscopes_die(&innermost, scopes);
	return nr > 0 ? nr : 0;
}

unsigned int resolve_frames(Dwfl_Module *module, Dwarf_Addr address,
			    struct resolve_place place[RESOLVE_FRAMES])
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = find_unit(module, address, &bias);
	Dwarf_Die *scopes = NULL;
	unsigned int nr = 0;
	int nr_scopes;

	place[0] = (struct resolve_place){ NULL, NULL, 0 };
	if (!unit)
		return 1;
	find_line(unit, address - bias, &place[0]);
	nr_scopes = find_scopes(unit, address - bias, &scopes);
	for (int i = 0; i < nr_scopes && nr + 1 < RESOLVE_FRAMES; i++) {
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
			break;
		if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
			continue;
		place[nr].function = name_of(&scopes[i]);
		if (!is_our_inline(place[nr].file))
			nr++;
		place[nr] = call_of(unit, &scopes[i]);
	}
	free(scopes);
	return nr + 1;
}

/* ---- short names ----------------------------------------------------------------------------- */

#define SHORT_ARGUMENTS 16u /* bytes; these are left as they are */

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* The length of "operator<<" and the like at `at`: these are no brackets. 0: there is none. */
static size_t operator_length(const char *name, size_t at)
{
	static const char *const operators[] = { "<=>", "<<=", ">>=", "->*", "<<", ">>",
						 "<=",	">=",  "->",  "<",   ">" };
	const size_t word = sizeof("operator") - 1;

	if (strncmp(name + at, "operator", word) != 0 || (at && is_word(name[at - 1])))
		return 0;
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (!strncmp(name + at + word, operators[i], strlen(operators[i])))
			return word + strlen(operators[i]);
	return 0;
}

/* The length of template arguments with their brackets, which begin at `at`. 0: they do not end. */
static size_t arguments_length(const char *name, size_t at)
{
	unsigned int depth = 0;

	for (size_t i = at; name[i]; i++) {
		size_t word = operator_length(name, i);

		if (word) {
			i += word - 1;
		} else if (name[i] == '<') {
			depth++;
		} else if (name[i] == '>' && (!i || name[i - 1] != '-') && !--depth) {
			return i + 1 - at;
		}
	}
	return 0;
}

void resolve_short_name(char *buf, size_t size, const char *name)
{
	size_t len = 0;

	for (size_t i = 0; name[i] && len + 1 < size;) {
		size_t take = operator_length(name, i), arguments = 0;
		const char *from = name + i;

		if (!take && name[i] == '<')
			arguments = arguments_length(name, i);
		take = take ? take : arguments ? arguments : 1;
		i += take;
		if (arguments > SHORT_ARGUMENTS) {
			from = "<...>";
			take = strlen(from);
		}
		for (size_t k = 0; k < take && len + 1 < size; k++)
			buf[len++] = from[k];
	}
	if (size)
		buf[len] = '\0';
}
