/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve_library.c - functions of the libraries of C++ and Rust, by file and name
 *
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

/*
 * Does a path of the source lie in the library of C++, or of Rust and what that is made of? That is
 * /rustc/HASH/library/... or the like, and in what is delivered compiled library/...
 */
static bool is_file_of_library(const char *file, const char *function)
{
	const char *part = strstr(file, "library/");

	if (strstr(file, "/c++/") || strstr(file, "/rust/deps/") ||
	    (strstr(file, "/rustc-") && strstr(file, "/vendor/")))
		return true;
	for (; part; part = strstr(part + 1, "library/")) {
		if (!begins_with(part, "library/alloc/src/") &&
		    !begins_with(part, "library/core/src/") &&
		    !begins_with(part, "library/std/src/"))
			continue;
		if (part == file)
			return strstr(function, "alloc::") || strstr(function, "core::") ||
			       strstr(function, "std::");
		return strstr(file, "rust");
	}
	return false;
}

bool resolve_is_of_library(const struct resolve_frame *frame)
{
	const char *function = frame->function;

	if (*frame->file)
		return is_file_of_library(frame->file, function);
	if (demangle_is_rust(frame->symbol)) {
		function += strspn(function, "<&*");
		return begins_with(function, "alloc::") || begins_with(function, "core::") ||
		       begins_with(function, "std::") || begins_with(function, "hashbrown::") ||
		       strstr(function, "__rust_");
	}
	return begins_with(function, "std::") || begins_with(function, "void std::") ||
	       begins_with(function, "__gnu_cxx::");
}
