/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/pages/blocks_test.c - the table of tracked blocks: kept, found, forgotten, full
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/bits.h"
#include "child.h"
#include "debug/pages/blocks.h"
#include "os/process/process.h"

/* Addresses are only compared. */
static void *block(unsigned long number)
{
	return (void *)(0x700000000000ul + (number << 15));
}

static void add(void *p, size_t size, const void *caller)
{
	struct block_record record = {
		.address = (uintptr_t)p,
		.size = size,
		.track = { .addr = (uintptr_t)caller, .pid = os_thread_id() },
		.base = (uintptr_t)p,
		.bytes = size,
		.body = size,
		.debug_flags = SLAB_STORE_USER,
	};

	blocks_add(&record);
}

static bool drop(void *p)
{
	struct block_record record;

	return blocks_are_known() && blocks_take(p, &record);
}

static const struct block_record *find(const void *p)
{
	uint32_t i = blocks_table->bucket[blocks_bucket((uintptr_t)p)];

	while (i && blocks_table->record[i].address != (uintptr_t)p)
		i = blocks_table->record[i].next;
	return i ? &blocks_table->record[i] : NULL;
}

IN_CHILD(nothing_is_kept_before)
{
	CHILD_CHECK(blocks_switch(0) == 0);
	CHILD_CHECK(!blocks_table && !blocks_debug_flags() && !blocks_are_known());
	CHILD_CHECK(blocks_each(NULL) == 0);
	blocks_check();
}

IN_CHILD(who_holds_it)
{
	const struct block_record *record;

	CHILD_CHECK(blocks_switch(SLAB_STORE_USER) == 0 && blocks_debug_flags() == SLAB_STORE_USER);
	add(block(1), 100000, (void *)who_holds_it_in_child);
	CHILD_CHECK(blocks_table->held == 1);
	record = find(block(1));
	CHILD_CHECK(record && record->size == 100000);
	CHILD_CHECK(record->track.addr == (uintptr_t)who_holds_it_in_child);
	blocks_check();
	CHILD_CHECK(drop(block(1)) && !drop(block(1)));
	CHILD_CHECK(!find(block(1)) && blocks_table->held == 0);
	blocks_check();
}

/* What is known stays known when debug flags go. */
IN_CHILD(on_and_off)
{
	CHILD_CHECK(blocks_switch(SLAB_STORE_USER) == 0);
	CHILD_CHECK(!drop(block(7)));
	add(block(1), 1, NULL);
	CHILD_CHECK(blocks_switch(0) == 0 && !blocks_debug_flags());
	CHILD_CHECK(find(block(1)) && !drop(block(2)) && drop(block(1)));
	CHILD_CHECK(blocks_table->held == 0);
	blocks_check();
}

/* More than there is room for; the rest is counted, and room that was given back is used again. */
IN_CHILD(full)
{
	unsigned long i;

	CHILD_CHECK(blocks_switch(SLAB_STORE_USER) == 0);
	for (i = 1; i < BLOCKS_MAX + 10; i++)
		add(block(i), i, NULL);
	CHILD_CHECK(blocks_table->held == BLOCKS_MAX - 1 && blocks_table->lost == 10);
	blocks_check();
	for (i = 1; i < BLOCKS_MAX + 10; i += 2)
		drop(block(i));
	blocks_check();
	add(block(BLOCKS_MAX + 20), 5, NULL);
	CHILD_CHECK(find(block(BLOCKS_MAX + 20))->size == 5 && blocks_table->lost == 10);
	CHILD_CHECK(blocks_table->high == BLOCKS_MAX - 1);
	for (i = 2; i < BLOCKS_MAX + 10; i += 2)
		drop(block(i));
	CHILD_CHECK(blocks_table->held == 1);
	blocks_check();
}

static struct block_record freed(unsigned long number, enum block_state state)
{
	return (struct block_record){
		.address = (uintptr_t)block(number),
		.size = 4096,
		.base = (uintptr_t)block(number),
		.bytes = 8192 * number,
		.body = 4096,
		.debug_flags = BLOCKS_DEBUG_FLAGS,
		.state = state,
	};
}

/* Oldest first; what is gone counts as known until there is another block. */
IN_CHILD(freed_blocks_wait)
{
	struct block_record record;

	CHILD_CHECK(blocks_switch(BLOCKS_DEBUG_FLAGS) == 0);
	for (unsigned long i = 1; i <= 10; i++) {
		record = freed(i, i % 2 ? BLOCK_FREED : BLOCK_GONE);
		CHILD_CHECK(blocks_add_freed(&record));
	}
	blocks_check();
	CHILD_CHECK(blocks_table->freed == 10 && blocks_table->freed_bytes == 25 * 8192);
	CHILD_CHECK(!blocks_take_surplus(false, &record));
	CHILD_CHECK(!blocks_take_freed(8192 * 4, 0, 4096, &record));
	CHILD_CHECK(blocks_take_freed(8192 * 5, 0, 4096, &record) &&
		    record.address == (uintptr_t)block(5));
	blocks_check();
	CHILD_CHECK(blocks_look_up(block(4), &record) && record.state == BLOCK_GONE);
	add(block(4), 5, NULL);
	CHILD_CHECK(blocks_look_up(block(4), &record) && record.state == BLOCK_LIVE);
	CHILD_CHECK(drop(block(4)) && !blocks_look_up(block(4), &record));
	CHILD_CHECK(blocks_find_around((char *)block(9) + 5000, &record) &&
		    record.address == (uintptr_t)block(9));
	blocks_forget(block(10));
	blocks_check();
	for (unsigned long i = 1; i <= 9; i += 2) {
		if (i == 5)
			continue;
		CHILD_CHECK(blocks_take_surplus(true, &record));
		CHILD_CHECK(record.address == (uintptr_t)block(i));
		blocks_check();
	}
	CHILD_CHECK(!blocks_take_surplus(true, &record) && blocks_table->freed == 0);
	CHILD_CHECK(blocks_table->oldest == 0 && blocks_table->newest == 0);
}

static void *add_and_remove(void *arg)
{
	unsigned long first = (unsigned long)arg << 20;

	for (unsigned int round = 0; round < 20; round++) {
		for (unsigned long i = 0; i < 200; i++)
			add(block(first + i), i, __builtin_return_address(0));
		for (unsigned long i = 0; i < 200; i++)
			CHILD_CHECK(drop(block(first + i)));
	}
	return NULL;
}

/* And the switch is turned meanwhile. */
IN_CHILD(many_threads)
{
	pthread_t thread[4];

	CHILD_CHECK(blocks_switch(SLAB_STORE_USER) == 0);
	for (unsigned long i = 0; i < ARRAY_SIZE(thread); i++)
		CHILD_CHECK(!pthread_create(&thread[i], NULL, add_and_remove, (void *)i));
	for (unsigned int i = 0; i < 1000; i++)
		blocks_switch(i % 2 ? SLAB_STORE_USER : 0);
	for (unsigned long i = 0; i < ARRAY_SIZE(thread); i++)
		pthread_join(thread[i], NULL);
	CHILD_CHECK(blocks_table->held == 0);
	blocks_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_kept_before),
		cmocka_unit_test(who_holds_it),
		cmocka_unit_test(on_and_off),
		cmocka_unit_test(full),
		cmocka_unit_test(freed_blocks_wait),
		cmocka_unit_test(many_threads),
	};

	return cmocka_run_group_tests_name("blocks", tests, NULL, NULL);
}
