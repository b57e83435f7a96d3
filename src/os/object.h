/* SPDX-License-Identifier: MIT */
/*
 * os/object.h - the loaded object (program or shared library) that an address belongs to
 *
 * Data:       struct os_object.
 * Invariants: path and what start .. end holds live as long as the object is loaded.
 * Locks:      none; no allocation; safe in a signal handler.
 * Flow:       called by os/symbol_text.c and os/unwind_table.c; calls process_vm_readv(2), and
 *             _dl_find_object(3), which libc has
 *             since glibc 2.35. Elsewhere nothing is found: dl_iterate_phdr(3) and dladdr(3) take the
 *             loader's lock, which a signal handler must not.
 */
#ifndef OS_OBJECT_H
#define OS_OBJECT_H

#include "base/compiler.h"

struct os_object {
	const char *path;	 /* of its file; "" is the program */
	uintptr_t bias;		 /* address in memory - address in the file */
	const char *start;	 /* of what is loaded */
	const char *end;	 /* behind that */
	const uint8_t *eh_frame; /* .eh_frame_hdr, or NULL */
};

bool os_object_find(uintptr_t address, struct os_object *object);

/* Memory of an object that another thread may unload meanwhile. false: not all of it is there. */
bool os_object_copy(void *to, const void *from, size_t size);

#endif /* OS_OBJECT_H */
