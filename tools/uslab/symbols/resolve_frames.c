/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve_frames.c - the functions that are inlined at a code address, by libdw
 *
 * Why:        docs/adr/0084.
 * Flow:       called by resolve.c. In: a module of libdwfl and an address; out: places in the
 *             source, innermost first.
 *
 * The line table has the innermost place. Each inlined function says where it was called, which is
 * the place in the next one outwards.
 */
#include "symbols/resolve_frames.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NESTED 32u /* namespaces and the like, one in another: files may be anybody's */

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

/* The functions that are inlined around an address, outermost first. */
struct scopes {
	Dwarf_Addr address;
	Dwarf_Die die[RESOLVE_FRAMES]; /* of more the innermost ones */
	unsigned int nr;
	Dwarf_Off last; /* entry that was visited */
};

/* What has code, or has such things inside. */
static bool is_scope(Dwarf_Die *die, const struct scopes *scopes)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return dwarf_haspc(die, scopes->address) == 1;
	default:
		return false;
	}
}

static bool may_have_functions(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return true;
	default:
		return false;
	}
}

static void add_scope(struct scopes *scopes, Dwarf_Die *die)
{
	if (dwarf_tag(die) == DW_TAG_subprogram) { /* what is around it is another function */
		scopes->nr = 0;
	} else if (dwarf_tag(die) == DW_TAG_inlined_subroutine) {
		if (scopes->nr == RESOLVE_FRAMES)
			memmove(&scopes->die[0], &scopes->die[1],
				--scopes->nr * sizeof(scopes->die[0]));
		scopes->die[scopes->nr++] = *die;
	}
}

/*
 * Adds what lies around the address below an entry. dwarf_getscopes() does not look into
 * namespaces, where compilers of Rust define their functions. nested: namespaces and the like that
 * the entry is in. Each entry lies behind all those that were visited before, unless the file lies:
 * so none is visited twice. (libdw reads what lies below one again to find the next, if the
 * compiler did not write where that is.) false: nothing was found.
 */
static bool find_scopes(const Dwarf_Die *parent, struct scopes *scopes, unsigned int nested)
{
	Dwarf_Die above = *parent;
	bool found = false;
	Dwarf_Die die;

	if (nested > NESTED || dwarf_child(&above, &die) != 0)
		return false;
	while (dwarf_dieoffset(&die) > scopes->last) {
		scopes->last = dwarf_dieoffset(&die);
		if (is_scope(&die, scopes)) {
			add_scope(scopes, &die);
			found = true;
			above = die;
			if (dwarf_child(&above, &die) != 0)
				break;
			continue;
		}
		if (may_have_functions(&die) && find_scopes(&die, scopes, nested + 1))
			return true;
		if (dwarf_siblingof(&die, &die) != 0)
			break;
	}
	return found;
}

unsigned int resolve_frames(Dwfl_Module *module, Dwarf_Addr address,
			    struct resolve_place place[RESOLVE_FRAMES])
{
	struct scopes scopes = { .nr = 0 };
	Dwarf_Addr bias;
	Dwarf_Die *unit = find_unit(module, address, &bias);
	unsigned int nr = 0;

	place[0] = (struct resolve_place){ NULL, NULL, 0 };
	if (!unit)
		return 1;
	scopes.address = address - bias;
	find_line(unit, scopes.address, &place[0]);
	find_scopes(unit, &scopes, 0);
	for (unsigned int i = scopes.nr; i-- > 0 && nr + 1 < RESOLVE_FRAMES;) {
		Dwarf_Die *scope = &scopes.die[i];

		place[nr].function = name_of(scope);
		if (!is_our_inline(place[nr].file))
			nr++;
		place[nr] = call_of(unit, scope);
	}
	return nr + 1;
}
