/* SPDX-License-Identifier: MIT */
/*
 * os/symbol/symbol.c - a function of another library, found at run time
 *
 * Data:       see symbol.h.
 * Invariants: the library that a symbol is taken from stays open: the
 *             caller runs in it or needs it.
 * Locks:      the dynamic loader's.
 * Flow:       see symbol.h; calls dlsym(3), dladdr(3), dlopen(3).
 */
#include <dlfcn.h>
#include <errno.h>

#include "os/symbol/symbol.h"

#ifndef RTLD_DEEPBIND /* glibc has it */
#define RTLD_DEEPBIND 0
#endif

bool os_keep_deepbind;

int os_dlopen_mode(int mode)
{
	return os_keep_deepbind ? mode : mode & ~RTLD_DEEPBIND;
}

/* A library's own scope can be searched through a handle only, and a handle is had by its name. */
static void *symbol_near(const char *name, const void *caller)
{
	void *symbol = NULL;
	void *handle;
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fname)
		return NULL;
	handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (handle) {
		symbol = dlsym(handle, name);
		dlclose(handle); /* drops the count that dlopen took; the code stays in use */
	}
	return symbol;
}

void *os_symbol_next(const char *name)
{
	int saved_errno = errno;
	void *symbol = dlsym(RTLD_NEXT, name);

	errno = saved_errno;
	return symbol;
}

void *os_symbol_global(const char *name)
{
	int saved_errno = errno;
	void *symbol = dlsym(RTLD_DEFAULT, name);

	errno = saved_errno;
	return symbol;
}

void *os_symbol(const char *name, const void *caller)
{
	int saved_errno = errno;
	void *symbol = os_symbol_next(name);

	if (!symbol)
		symbol = symbol_near(name, caller);
	if (!symbol) /* last: it finds what the calling library has itself as well */
		symbol = os_symbol_global(name);
	errno = saved_errno;
	return symbol;
}
