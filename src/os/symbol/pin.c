/* SPDX-License-Identifier: MIT */
/*
 * os/symbol/pin.c - a shared object that dlclose() must not unload
 *
 * Why:        docs/adr/0022.
 * Data:       none; the loader's own mark.
 * Invariants: see os/symbol/pin.h.
 * Locks:      none; the loader's lock is recursive, so a constructor may come here.
 * Flow:       calls dladdr1(3), dlopen(3).
 *
 * RTLD_NOLOAD with the name that the loader itself has for the object finds it in the loader's
 * list, without a look at the file system. The mark would be enough; the handle is kept as well, so
 * that nothing depends on when a loader that is in the middle of an open takes its marks back.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include "os/symbol/pin.h"

#ifdef __GLIBC__ /* other libcs (musl) never unload an object */
/* A static program has no loader to ask, and its link shall not warn of dlopen() being in it. */
#pragma weak dlopen

static bool pin(const void *address)
{
	struct link_map *map = NULL;
	Dl_info info;

	if (!dlopen)
		return dladdr(address, &info) != 0;
	if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return false;
	return !map->l_name || !*map->l_name ||
	       dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
#else
static bool pin(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) != 0;
}
#endif

bool os_pin_object(const void *address)
{
	int saved_errno = errno;
	bool pinned = pin(address);

	errno = saved_errno;
	return pinned;
}
