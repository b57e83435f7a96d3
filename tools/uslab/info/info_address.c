/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_address.c - what is this pointer: the kernel's words for it (spec 5.14), then
 * more
 *
 * Flow:       called by cmd_info.c; calls inspect/address.c for the object, inspect/tracks.c for
 *             its users, symbols/resolve.c for names and info_report.c. In: an address; out: text.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "info/info.h"
#include "inspect/tracks.h"
#include "util.h"

#define HEX "0x%llx"

static unsigned long long hex(uint64_t value)
{
	return (unsigned long long)value;
}

/* `    SYMBOL`: the caller is among them only where no stack was kept. */
static void print_stack(struct info_subject *subject, struct resolve *resolve,
			const struct track *track)
{
	uint64_t pcs[STACKS_DEPTH];
	unsigned int n = tracks_stack(subject->s, track->handle, pcs, STACKS_DEPTH);

	for (unsigned int i = 0; i < n; i++)
		printf("    %s\n", resolve_address(resolve, pcs[i])->text);
}

static void print_user(struct info_subject *subject, const char *what, const struct track *track)
{
	uint64_t now = tracks_now(subject->s);

	printf("  %-10s pid %u, CPU %u, %llu ms ago\n", what, track->pid, track->cpu,
	       hex(now > track->when ? now - track->when : 0));
}

static int print_tracks(struct info_subject *subject, const struct address_info *info)
{
	const struct track *alloc = &info->track.alloc;
	const struct track *last = &info->track.free;
	struct resolve *resolve = info_resolve(subject);

	if (!resolve)
		return util_fail(INFO_COMMAND, "out of memory");
	if (alloc->addr)
		printf(" allocated at %s", resolve_address(resolve, alloc->addr)->text);
	putchar('\n');
	print_stack(subject, resolve, alloc);
	if (last->addr) {
		puts(" Free path:");
		print_stack(subject, resolve, last);
	}
	if (alloc->addr)
		print_user(subject, "allocated", alloc);
	if (last->addr)
		print_user(subject, "freed", last);
	return EXIT_OK;
}

static void print_debug(const struct address_info *info)
{
	printf("  %-10s%s%s%s%s\n", "debugging", info->debug & SLAB_RED_ZONE ? " red zones," : "",
	       info->debug & SLAB_POISON ? " poison," : "",
	       info->debug & SLAB_STORE_USER ? " users," : "",
	       info->kind == ADDRESS_GUARDED ? " guard page" : " checked slab");
}

static void print_slab(const struct address_info *info)
{
	static const char *const states[] = {
		[OBJECT_UNKNOWN] = "not known whether live or free",
		[OBJECT_LIVE] = "live",
		[OBJECT_FREE] = "free",
		[OBJECT_CACHED] = "free, cached by a CPU or node, or lent",
	};

	if (info->kind != ADDRESS_PADDING)
		printf("  %-10s %s\n", "object", states[(unsigned int)info->state & 3]);
	printf("  %-10s number %u of slab " HEX ", %llu bytes, page " HEX "\n", "place",
	       info->index, hex(info->slab), hex(info->slab_bytes), hex(info->descriptor));
	if (info->debug || info->kind == ADDRESS_GUARDED)
		print_debug(info);
}

static const char *cache_name(const struct info_subject *subject, const struct address_info *info)
{
	return info->cache < subject->s->nr_caches ? subject->s->cache[info->cache].name : "?";
}

static int print_object(struct info_subject *subject, uint64_t address,
			const struct address_info *info)
{
	int status = EXIT_OK;

	printf(" slab %s", cache_name(subject, info));
	if (info->kind == ADDRESS_GUARDED)
		printf(" (kfence)");
	if (info->kind == ADDRESS_PADDING) {
		puts(" padding");
		print_slab(info);
		return EXIT_OK;
	}
	printf(" start " HEX, hex(info->object));
	if (info->red_left_pad)
		printf(" data offset %u", info->red_left_pad);
	if (address >= info->object)
		printf(" pointer offset %llu", hex(address - info->object));
	else
		printf(" pointer offset -%llu", hex(info->object - address));
	printf(" size %u", info->object_size);
	if (info->tracked)
		status = print_tracks(subject, info);
	else
		putchar('\n');
	print_slab(info);
	return status;
}

/* Whole pages may be tracked, a heap's page is not. */
static int print_block(struct info_subject *subject, uint64_t address, const char *what,
		       const struct address_info *info)
{
	printf(" %s start " HEX " pointer offset %llu size %llu", what, hex(info->slab),
	       hex(address - info->slab), hex(info->slab_bytes));
	if (info->tracked)
		return print_tracks(subject, info);
	putchar('\n');
	return EXIT_OK;
}

int info_print_address(struct info_subject *subject, uint64_t address)
{
	struct address_info info;
	int ret = tracks_address(subject->s, address, &info);

	if (ret)
		return util_fail(INFO_COMMAND, "cannot look at " HEX ": %s", hex(address),
				 strerror(-ret));
	printf(HEX, hex(address));
	switch (info.kind) {
	case ADDRESS_OBJECT:
	case ADDRESS_PADDING:
	case ADDRESS_GUARDED:
		return print_object(subject, address, &info);
	case ADDRESS_PAGES:
		return print_block(subject, address, "large allocation", &info);
	case ADDRESS_FREE:
		puts(" free page");
		break;
	case ADDRESS_HEAP:
		return print_block(subject, address, "page of a heap", &info);
	case ADDRESS_METADATA:
		puts(" the allocator's own data");
		break;
	case ADDRESS_UNKNOWN:
		puts(" non-slab memory");
		break;
	}
	return EXIT_OK;
}
