/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve_library.c - functions of the libraries of C++ and Rust, by file and name
 *
 * Why:        docs/adr/0084.
 * Flow:       called by resolve.c; calls demangle.c.
 *
 * Templates, generic and inline functions of such a library are compiled into programs, so the file
 * that the code is in does not tell.
 */
#include "symbols/resolve_library.h"

#include <string.h>

#include "symbols/demangle.h"

static bool begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool begins_with_library(const char *path)
{
	return begins_with(path, "alloc::") || begins_with(path, "core::") ||
	       begins_with(path, "std::") || begins_with(path, "hashbrown::");
}

/* ---- by file --------------------------------------------------------------------------------- */

/*
 * Of the library of Rust: where it was compiled from, with a compiler's own, a distribution's, or
 * an installed source; and what it is made of.
 */
static bool is_file_of_rust(const char *file, const char *function)
{
	const char *compiler = strstr(file, "/rustc-");

	if (begins_with(file, "/rust/deps/") || begins_with(file, "/cargo/registry/") ||
	    strstr(file, "/rustlib/src/rust/library/"))
		return true;
	if (begins_with(file, "/rustc/"))
		return strstr(file, "/library/");
	if (compiler)
		return strstr(compiler, "/library/") || strstr(compiler, "/vendor/");
	/* as it is delivered compiled; a program may have such folders, too */
	return (begins_with(file, "library/alloc/src/") || begins_with(file, "library/core/src/") ||
		begins_with(file, "library/std/src/")) &&
	       (strstr(function, "alloc::") || strstr(function, "core::") ||
		strstr(function, "std::"));
}

/* ---- by name --------------------------------------------------------------------------------- */

/*
 * Is a type, whose name begins there, one that the library has functions of? Its own, and those
 * that have no path: numbers, slices, tuples, parameters.
 */
static bool is_type_of_rust(const char *type)
{
	size_t word;

	for (;;) {
		if (*type == '&' || *type == '*')
			type++;
		else if (*type == '\'' || begins_with(type, "mut ") ||
			 begins_with(type, "const ") || begins_with(type, "dyn "))
			type += strcspn(type, " ");
		else if (*type == ' ')
			type++;
		else
			break;
	}
	word = strspn(type, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	return begins_with_library(type) || !begins_with(type + word, "::");
}

/* "<Type as Trait>::..." has its trait there; NULL: it has none. */
static const char *trait_of(const char *name)
{
	unsigned int depth = 0;

	for (; *name; name++) {
		if (*name == '<')
			depth++;
		else if (*name == '>' && name[-1] != '-' && !--depth)
			return NULL;
		else if (depth == 1 && begins_with(name, " as "))
			return name + strlen(" as ");
	}
	return NULL;
}

static bool is_name_of_rust(const char *function)
{
	const char *trait = *function == '<' ? trait_of(function) : NULL;

	if (*function != '<')
		return begins_with_library(function);
	return is_type_of_rust(function + 1) && (!trait || begins_with_library(trait));
}

/* The way from the language to an allocator, and the allocator of a program. */
static bool is_allocator_of_rust(const char *function)
{
	return strstr(function, "__rust_alloc") || strstr(function, "__rust_realloc") ||
	       strstr(function, "__rdl_") || strstr(function, "__rg_") ||
	       strstr(function, "::GlobalAlloc>::") || begins_with(function, "uslab::global::");
}

bool resolve_is_of_library(const struct resolve_frame *frame)
{
	const char *function = frame->function;

	if (is_allocator_of_rust(function))
		return true;
	if (*frame->file)
		return strstr(frame->file, "/c++/") || is_file_of_rust(frame->file, function);
	if (demangle_is_rust(frame->symbol))
		return is_name_of_rust(function);
	return begins_with(function, "std::") || begins_with(function, "void std::") ||
	       begins_with(function, "__gnu_cxx::");
}
