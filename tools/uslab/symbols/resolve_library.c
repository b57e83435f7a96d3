/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve_library.c - functions of the libraries of C++ and Rust, by file and name
 *
 * Why:        docs/adr/0084.
 * Flow:       called by resolve.c; calls demangle.c.
 *
 * Templates, generic and inline functions of such a library are compiled into programs, so the
 * executable or library that the code is in does not tell.
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
	       begins_with(path, "std::") || begins_with(path, "hashbrown::") ||
	       begins_with(path, "panic_unwind::");
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
		else if (begins_with(type, "for<"))
			type += strcspn(type, ">") + (strchr(type, '>') != NULL);
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

/* A default method of a trait, <Type as Trait>::method, which no implementation has. */
static bool is_default_method(const char *symbol)
{
	if (strncmp(symbol, "_R", 2) != 0)
		return false;
	for (symbol += 2; *symbol == 'I' || *symbol == 'N'; symbol++)
		if (*symbol == 'N' && symbol[1])
			symbol++;
	return *symbol == 'Y';
}

static bool is_name_of_rust(const char *function, const char *symbol)
{
	const char *trait = *function == '<' ? trait_of(function) : NULL;

	if (*function != '<')
		return begins_with_library(function);
	if (trait && !begins_with_library(trait))
		return false;
	return is_type_of_rust(function + 1) || (trait && is_default_method(symbol));
}

/* The way from the language to an allocator, and the allocator of a program. */
static bool is_allocator_of_rust(const char *function, const char *symbol)
{
	const char *trait = *function == '<' ? trait_of(function) : NULL;

	if (!demangle_is_rust(symbol))
		return begins_with(symbol, "__rust_") || begins_with(symbol, "__rdl_") ||
		       begins_with(symbol, "__rg_");
	return strstr(function, "::__rust_") || strstr(function, "::__rdl_") ||
	       strstr(function, "::__rg_") || begins_with(function, "uslab::global::") ||
	       (trait && (begins_with(trait, "core::alloc::global::GlobalAlloc>") ||
			  begins_with(trait, "core::alloc::GlobalAlloc>")));
}

/* ---- by file --------------------------------------------------------------------------------- */

/* "/rustc-1.63.0/", as distributions have it. What follows; NULL: it is not there. */
static const char *behind_compiler(const char *file)
{
	const char *part = strstr(file, "/rustc-");

	if (!part)
		return NULL;
	part += strlen("/rustc-");
	return *part >= '0' && *part <= '9' ? part : NULL;
}

/*
 * Of the library of Rust: where it was compiled from, with a compiler's own, a distribution's, or
 * an installed source; and what it is made of.
 */
static bool is_file_of_rust(const struct resolve_frame *frame)
{
	const char *file = frame->file;
	const char *compiler = behind_compiler(file);

	if (begins_with(file, "/rust/deps/") || strstr(file, "/rustlib/src/rust/library/"))
		return true;
	if (begins_with(file, "/rustc/"))
		return strstr(file, "/library/");
	if (compiler)
		return strstr(compiler, "/library/") || strstr(compiler, "/vendor/");
	/* others may have such folders, too */
	if (begins_with(file, "/cargo/registry/"))
		return strstr(file, "/hashbrown-");
	return (begins_with(file, "library/alloc/src/") || begins_with(file, "library/core/src/") ||
		begins_with(file, "library/std/src/") ||
		begins_with(file, "library/panic_unwind/src/")) &&
	       demangle_is_rust(frame->symbol) && is_name_of_rust(frame->function, frame->symbol);
}

bool resolve_is_of_library(const struct resolve_frame *frame)
{
	const char *function = frame->function;

	if (is_allocator_of_rust(function, frame->symbol))
		return true;
	if (*frame->file)
		return strstr(frame->file, "/c++/") || is_file_of_rust(frame);
	if (demangle_is_rust(frame->symbol))
		return is_name_of_rust(function, frame->symbol);
	return begins_with(function, "std::") || begins_with(function, "void std::") ||
	       begins_with(function, "__gnu_cxx::");
}
