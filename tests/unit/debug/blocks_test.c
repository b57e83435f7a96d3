/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/blocks_test.c - the table of tracked blocks: kept, found, forgotten, full
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
#include "debug/blocks.h"
#include "os/process.h"

/* Addresses are only compared. */
static void *block(unsigned long number)
{
	return (void *)(0x700000000000ul + (number << 15));
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
	blocks_add(block(1), 100000, __builtin_return_address(0));
	blocks_remove(block(1));
	CHILD_CHECK(blocks_switch(false) == 0);
	CHILD_CHECK(!blocks_table && !blocks_are_tracked());
	blocks_check();
}

IN_CHILD(who_holds_it)
{
	const struct block_record *record;

	CHILD_CHECK(blocks_switch(true) == 0 && blocks_are_tracked());
	blocks_add(block(1), 100000, (void *)who_holds_it_in_child);
	blocks_add(NULL, 100000, NULL); /* out of memory: there is none */
	CHILD_CHECK(blocks_table->held == 1);
	record = find(block(1));
	CHILD_CHECK(record && record->size == 100000);
	CHILD_CHECK(record->track.addr == (uintptr_t)who_holds_it_in_child);
	CHILD_CHECK(record->track.pid == os_thread_id() && record->track.when);
	blocks_check();
	blocks_remove(block(1));
	CHILD_CHECK(!find(block(1)) && blocks_table->held == 0);
	blocks_check();
}

/* Blocks from before are nobody's; what is known stays known when tracking ends. */
IN_CHILD(on_and_off)
{
	CHILD_CHECK(blocks_switch(true) == 0);
	blocks_remove(block(7));
	blocks_add(block(1), 1, NULL);
	CHILD_CHECK(blocks_switch(false) == 0 && !blocks_are_tracked());
	blocks_add(block(2), 1, NULL);
	CHILD_CHECK(find(block(1)) && !find(block(2)));
	blocks_remove(block(2));
	blocks_remove(block(1));
	CHILD_CHECK(blocks_table->held == 0);
	blocks_check();
}

/* More than there is room for; the rest is counted, and room that was given back is used again. */
IN_CHILD(full)
{
	struct track track = { .addr = 1 };
	unsigned long i;

	CHILD_CHECK(blocks_switch(true) == 0);
	for (i = 1; i < BLOCKS_MAX + 10; i++)
		blocks_add_record(block(i), i, &track);
	CHILD_CHECK(blocks_table->held == BLOCKS_MAX - 1 && blocks_table->lost == 10);
	blocks_check();
	for (i = 1; i < BLOCKS_MAX + 10; i += 2)
		blocks_remove(block(i));
	blocks_check();
	blocks_add_record(block(BLOCKS_MAX + 20), 5, &track);
	CHILD_CHECK(find(block(BLOCKS_MAX + 20))->size == 5 && blocks_table->lost == 10);
	CHILD_CHECK(blocks_table->high == BLOCKS_MAX - 1);
	for (i = 2; i < BLOCKS_MAX + 10; i += 2)
		blocks_remove(block(i));
	CHILD_CHECK(blocks_table->held == 1);
	blocks_check();
}

static void *add_and_remove(void *arg)
{
	unsigned long first = (unsigned long)arg << 20;

	for (unsigned int round = 0; round < 20; round++) {
		for (unsigned long i = 0; i < 200; i++)
			blocks_add(block(first + i), i, __builtin_return_address(0));
		for (unsigned long i = 0; i < 200; i++)
			blocks_remove(block(first + i));
	}
	return NULL;
}

/* And the switch is turned meanwhile: a block that was not kept is not missed. */
IN_CHILD(many_threads)
{
	pthread_t thread[4];

	CHILD_CHECK(blocks_switch(true) == 0);
	for (unsigned long i = 0; i < ARRAY_SIZE(thread); i++)
		CHILD_CHECK(!pthread_create(&thread[i], NULL, add_and_remove, (void *)i));
	for (unsigned int i = 0; i < 1000; i++)
		blocks_switch(i % 2);
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
		cmocka_unit_test(many_threads),
	};

	return cmocka_run_group_tests_name("blocks", tests, NULL, NULL);
}
