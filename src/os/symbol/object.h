/* SPDX-License-Identifier: MIT */
/*
 * os/symbol/object.h - the loaded object (program or shared library) that an address belongs to
 *
 * Data:       struct os_object, struct os_object_file.
 * Invariants: another thread may unload an object that was found: what its fields point
 *             to is read by os_readable_copy() only, but for an object whose code the
 *             caller knows to be in use.
 * Locks:      none; no allocation; safe in a signal handler.
 * Flow:       called by symbol_text.c, cache/profile/sites.c, debug/report/symbol_names.c,
 *             debug/report/report.c and os/unwind/; calls os/memory/readable.c, and
 *             _dl_find_object(3), which libc has since glibc 2.35. Elsewhere nothing is found:
 *             dl_iterate_phdr(3) and dladdr(3) take the loader's lock, which a signal handler must
 *             not.
 */
#ifndef OS_OBJECT_H
#define OS_OBJECT_H

#include "base/compiler.h"

#define OS_OBJECT_PATH_BYTES 1024 /* a longer path is taken for none */

struct os_object {
	const void *map;	 /* what the loader knows of it */
	const char *start;	 /* of what is loaded */
	const char *end;	 /* behind that */
	const uint8_t *eh_frame; /* .eh_frame_hdr, or NULL */
};

struct os_object_file {
	char path[OS_OBJECT_PATH_BYTES]; /* "" is the program */
	uintptr_t bias;			 /* address in memory - address in the file */
};

bool os_object_find(uintptr_t address, struct os_object *object);
/* Not unloaded since it was found: what was copied meanwhile is of it. */
bool os_object_is_loaded(const struct os_object *object);

/* The file that an object is of, a copy. false: it was unloaded, or is just now. */
bool os_object_file(const struct os_object *object, struct os_object_file *file);

#endif /* OS_OBJECT_H */
