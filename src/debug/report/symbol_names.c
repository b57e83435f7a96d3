/* SPDX-License-Identifier: MIT */
/*
 * debug/report/symbol_names.c - a cache of the names of functions in recent reports
 *
 * Data:       names[], the last one of each hash.
 * Invariants: a loaded object is identified by its address and a checksum of its first page, which
 *             has the build id: another library, or a new version, loaded at the same address has
 *             another checksum.
 * Locks:      see debug/report/symbol_names.h.
 * Flow:       see debug/report/symbol_names.h.
 *
 * Reports of one program are of the same few functions again and again, and with T there is one for
 * each call. To look up a name opens the object's file and goes through its symbols, of which there
 * may be some hundred thousand.
 */
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/mix.h"
#include "debug/report/symbol_names.h"
#include "os/symbol/object.h"
#include "os/memory/readable.h"
#include "os/symbol/symbol.h"

#define NAMES 256u
#define SUMMED 4096ul /* bytes */

struct place {
	struct os_object object;
	uint64_t sum;
};

static struct {
	uintptr_t address; /* 0: none */
	struct place place;
	char text[NAME_MAX_BYTES];
} names[NAMES];

/* false: nothing is loaded there, or not all of it is readable. */
static bool find_place(uintptr_t address, struct place *place)
{
	uint64_t words[64];

	if (!os_object_find(address - 1, &place->object))
		return false;
	place->sum = 0;
	for (size_t at = 0; at < SUMMED; at += sizeof(words)) {
		if (!os_readable_copy(words, place->object.start + at, sizeof(words)))
			return false;
		for (unsigned int i = 0; i < ARRAY_SIZE(words); i++)
			place->sum = mix_multiply(place->sum ^ words[i]);
	}
	return true;
}

/* A name that was not found is not cached: maybe no file descriptor was free. */
static bool is_name(const char *text)
{
	/* behind the offset in a function there is its size; of a long name both are cut off */
	return strlen(text) >= NAME_MAX_BYTES - 1 || strstr(text, "/0x");
}

void symbol_names_text(char *buf, uintptr_t address)
{
	unsigned int i = (unsigned int)((address ^ address >> 8) % NAMES);
	struct place place;
	bool loaded = find_place(address, &place);

	if (loaded && names[i].address == address &&
	    !memcmp(&names[i].place, &place, sizeof(place))) {
		memcpy(buf, names[i].text, NAME_MAX_BYTES);
		return;
	}
	os_symbol_text(buf, NAME_MAX_BYTES, address);
	if (!loaded || !is_name(buf) || !os_object_is_loaded(&place.object))
		return;
	xchg(&names[i].address, 0); /* first, and the address last: fork() may copy half of this */
	names[i].place = place;	    /* pointers and a number: no padding */
	memcpy(names[i].text, buf, NAME_MAX_BYTES);
	store_release(&names[i].address, address); /* pairs with the child's read, if any */
}
