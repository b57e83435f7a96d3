/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve_frames.h - the functions that are inlined at a code address
 */
#ifndef TOOLS_RESOLVE_FRAMES_H
#define TOOLS_RESOLVE_FRAMES_H

#include <elfutils/libdwfl.h>

#define RESOLVE_FRAMES 64u /* a collect() of Rust is 15 functions that are inlined */

/* A place in the source; texts are libdwfl's and live as long as its module. */
struct resolve_place {
	/* linkage name where it has one; NULL: the function that the symbol names */
	const char *function;
	const char *file; /* NULL: not known */
	int line;
};

/*
 * Where in the source an address is, innermost first: an inlined function, the one that it
 * was inlined into, ..., the one that the code belongs to. Inlined functions of our own
 * headers are left out. Returns how many, 1 .. RESOLVE_FRAMES; without debug information
 * the only one is unknown.
 */
unsigned int resolve_frames(Dwfl_Module *module, Dwarf_Addr address,
			    struct resolve_place place[RESOLVE_FRAMES]);

#endif /* TOOLS_RESOLVE_FRAMES_H */
