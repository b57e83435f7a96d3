/* SPDX-License-Identifier: MIT */
/*
 * os/symbol/object.c - the loaded object that an address belongs to
 *
 * Data:       none; the loader's own list.
 * Invariants: what _dl_find_object(3) says of an object are copies; the loader's struct link_map,
 *             and the path that it points to, are freed by dlclose(3).
 * Locks:      none.
 * Flow:       calls _dl_find_object(3), os/memory/readable.c.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "base/bits.h"
#include "os/symbol/object.h"
#include "os/memory/readable.h"

#define PAGE 4096ul /* or a part of the system's */

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc >= 2.35 */
bool os_object_find(uintptr_t address, struct os_object *object)
{
	struct dl_find_object found;

	if (_dl_find_object((void *)address, &found))
		return false;
	*object = (struct os_object){
		.map = found.dlfo_link_map,
		.start = found.dlfo_map_start,
		.end = found.dlfo_map_end,
		.eh_frame = found.dlfo_eh_frame,
	};
	return true;
}
#else
bool os_object_find(uintptr_t address, struct os_object *object)
{
	(void)address;
	(void)object;
	return false;
}
#endif

bool os_object_is_loaded(const struct os_object *object)
{
	struct os_object now;

	return os_object_find((uintptr_t)object->start, &now) && now.map == object->map &&
	       now.start == object->start && now.end == object->end &&
	       now.eh_frame == object->eh_frame;
}

/* A path is read page by page: behind its end there may be nothing. */
static bool copy_path(char path[OS_OBJECT_PATH_BYTES], const char *from)
{
	size_t done = 0;

	while (done < OS_OBJECT_PATH_BYTES) {
		size_t n = MIN(OS_OBJECT_PATH_BYTES - done, PAGE - (uintptr_t)(from + done) % PAGE);

		if (!os_readable_copy(path + done, from + done, n))
			return false;
		if (memchr(path + done, '\0', n))
			return true;
		done += n;
	}
	return false;
}

bool os_object_file(const struct os_object *object, struct os_object_file *file)
{
	struct link_map map;

	if (!os_readable_copy(&map, object->map, sizeof(map)))
		return false;
	file->bias = map.l_addr;
	file->path[0] = '\0';
	return (!map.l_name || copy_path(file->path, map.l_name)) && os_object_is_loaded(object);
}
