/* SPDX-License-Identifier: MIT */
/*
 * os/symbol.h - a function of another library, found at run time
 *
 * Data:       none.
 * Invariants: errno is preserved. May allocate, through the program's malloc.
 * Locks:      none held by the caller: the dynamic loader takes its own.
 * Flow:       called by malloc/cxx.c, on its failure paths only.
 */
#ifndef OS_SYMBOL_H
#define OS_SYMBOL_H

#include "base/compiler.h"

/*
 * The symbol as the libraries loaded after this one define it; where none of them does, as the
 * library that contains the code address caller, or what that one needs, defines it (a plug-in
 * opened with RTLD_LOCAL brings a C++ library that nobody else sees). NULL: no such symbol.
 */
void *os_symbol(const char *name, const void *caller);

#endif /* OS_SYMBOL_H */
