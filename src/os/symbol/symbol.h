/* SPDX-License-Identifier: MIT */
/*
 * os/symbol/symbol.h - a function of another library, found at run time
 *
 * Data:       os_keep_deepbind, an option.
 * Invariants: errno is preserved. os_symbol() may allocate, through the program's malloc.
 * Locks:      none held by the caller of os_symbol(): the dynamic loader takes its own.
 * Flow:       called by cache/debug/failslab.c, cache/group/public.c, debug/report/symbol_names.c,
 *             malloc/cxx.c (on failure paths only) and malloc/load.c; cache/config/options.c sets
 *             the option.
 */
#ifndef OS_SYMBOL_H
#define OS_SYMBOL_H

#include "base/compiler.h"

/* What the drop-in hands to dlopen(3): without RTLD_DEEPBIND, but if that is to stay. */
extern bool os_keep_deepbind; /* USLAB_CONF=deepbind; false at first */
int os_dlopen_mode(int mode);

/* The symbol as the libraries loaded after this one define it. NULL: none of them does. */
void *os_symbol_next(const char *name);

/*
 * The same; where none of them does, as the library that contains the code address caller, or what
 * that one needs, defines it (a plug-in opened with RTLD_LOCAL brings a C++ library that nobody
 * else sees); else as os_symbol_global() finds it (a program may have a C++ library inside), which
 * may be the calling library's own definition. NULL: no such symbol.
 */
void *os_symbol(const char *name, const void *caller);

/*
 * The symbol as the program itself finds it: the first definition in the global scope. NULL: none.
 */
void *os_symbol_global(const char *name);

/*
 * `name+0x1c/0x80 [object]` of a code address: function, offset and size in it, file name of the
 * shared object (none for the program itself); `object+0x1234`, as addr2line(1) takes it, where no
 * symbol is known, and "0x..." where nothing is. Static functions too, from the object's .symtab.
 * For a return address look up the call, i.e. address - 1, and say the offset of address itself.
 * Neither allocates nor takes the loader's lock; safe in a signal handler. Returns the length of
 * the whole text, as os_format().
 */
size_t os_symbol_text(char *buf, size_t size, uintptr_t address);

#endif /* OS_SYMBOL_H */
