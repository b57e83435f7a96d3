/* SPDX-License-Identifier: MIT */
/*
 * cache/profile/sites.c - call sites, and what is counted for each on each CPU
 *
 * Data:       sites_table; modules, a list that goes through memory of the modules themselves.
 * Invariants: see sites.h. While profiling is on each tag of each module on the list has a site.
 * Locks:      sites_lock; each CPU's own. sites_begin() takes both, one CPU's after the other's.
 * Flow:       see sites.h; calls os/symbol/object.c for the names of modules, metadata.
 *
 * Why a lock per CPU, where an atomic addition would do for a counter: the generation must not
 * change between the look at it and the addition, or a free of the last generation would be taken
 * from a counter of this one. With the lock the two are one step, and there is one atomic
 * instruction instead of one for each counter. A thread that was moved to another CPU meanwhile
 * takes the lock of the CPU that it was on: that only costs.
 */
#include "cache/profile/sites.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/mix.h"
#include "os/cpu/cpu.h"
#include "os/symbol/object.h"
#include "os/time/clock.h"
#include "page/meta.h"

#define CHUNK_BYTES (SITES_PER_CHUNK * sizeof(struct site_counters))

struct sites *sites_table;
USLAB_API int uslab_mem_profiling_on; /* written by profile.c, read by programs inline */

static struct lock sites_lock = LOCK_INIT(RANK_SITES);
static struct uslab_alloc_tags *modules; /* sites_lock */

/* ---- sites ---- */

struct text {
	const char *start;
	size_t bytes;
};

/* What makes a site another one. */
struct key {
	struct text file;
	struct text function;
	struct text module;
	uint32_t line;
};

static struct text start_of(const char *text, size_t most)
{
	return (struct text){ text, strnlen(text, most) };
}

static struct text end_of(const char *text, size_t most)
{
	size_t bytes = strlen(text);

	return bytes <= most ? (struct text){ text, bytes }
			     : (struct text){ text + bytes - most, most };
}

/* The name of the object's file, without folders; "": the program, or nothing is known. */
static struct text module_of(const void *address, struct os_object_file *file)
{
	struct os_object object;
	const char *slash;

	if (!os_object_find((uintptr_t)address, &object) || !os_object_file(&object, file))
		return (struct text){ "", 0 };
	slash = strrchr(file->path, '/');
	return start_of(slash ? slash + 1 : file->path, SITE_MODULE_MAX);
}

static struct key key_of(const struct alloc_tag *tag, struct text module)
{
	return (struct key){
		.file = end_of(tag->file, SITE_FILE_MAX),
		.function = start_of(tag->function, SITE_FUNCTION_MAX),
		.module = module,
		.line = tag->line,
	};
}

static uint64_t hash_text(uint64_t hash, const struct text *text)
{
	for (size_t i = 0; i < text->bytes; i++)
		hash = mix_multiply(hash ^ (unsigned char)text->start[i]) >> 1;
	return mix_bits(hash + text->bytes);
}

static uint32_t *bucket_of(const struct key *key)
{
	uint64_t hash = mix_bits(key->line);

	hash = hash_text(hash, &key->file);
	hash = hash_text(hash, &key->function);
	hash = hash_text(hash, &key->module);
	return &sites_table->bucket[hash % SITES_BUCKETS];
}

static bool same_text(const char *at, size_t bytes, const struct text *text)
{
	return bytes == text->bytes && !memcmp(at, text->start, bytes);
}

static bool is_site(const struct site *site, const struct key *key)
{
	const char *function = site->text + site->file + 1;

	return site->line == key->line && same_text(site->text, site->file, &key->file) &&
	       same_text(function, site->function, &key->function) &&
	       same_text(function + site->function + 1, site->module, &key->module);
}

static char *add_text(char *to, const struct text *text)
{
	memcpy(to, text->start, text->bytes); /* metadata is 0: a NUL follows */
	return to + text->bytes + 1;
}

/* The number of a new site; 0: there is no memory, or no number. */
static uint32_t make_locked(const struct key *key, uint32_t *bucket)
{
	struct site *site = NULL;
	uint32_t number = sites_table->nr + 1;

	if (number < SITES_MAX)
		site = meta_alloc(sizeof(*site) + key->file.bytes + key->function.bytes +
				  key->module.bytes + 3);
	if (!site)
		return 0;
	*site = (struct site){
		.next = *bucket,
		.line = key->line,
		.file = (uint16_t)key->file.bytes,
		.function = (uint16_t)key->function.bytes,
		.module = (uint16_t)key->module.bytes,
	};
	add_text(add_text(add_text(site->text, &key->file), &key->function), &key->module);
	sites_table->site[number] = site;
	*bucket = number;
	store_release(&sites_table->nr, number); /* pairs with who reads sites up to nr */
	return number;
}

static uint32_t find_locked(const struct key *key)
{
	uint32_t *bucket = bucket_of(key);
	uint32_t number = *bucket;

	while (number && !is_site(sites_table->site[number], key))
		number = sites_table->site[number]->next;
	if (!number)
		return make_locked(key, bucket);
	store_relaxed(&sites_table->site[number]->gone, 0);
	return number;
}

uint32_t sites_find(struct alloc_tag *tag)
{
	struct os_object_file file;
	struct key key = key_of(tag, module_of(tag, &file));
	uint32_t number;

	lock_acquire(&sites_lock);
	number = find_locked(&key);
	lock_release(&sites_lock);
	store_relaxed(&tag->site, number);
	return number;
}

/* ---- modules ---- */

static void find_all_locked(const struct uslab_alloc_tags *tags)
{
	struct os_object_file file;
	struct text module = module_of(tags->start, &file);

	for (struct alloc_tag *tag = tags->start; tag < tags->end; tag++) {
		struct key key = key_of(tag, module);

		store_relaxed(&tag->site, find_locked(&key));
	}
}

void sites_register(struct uslab_alloc_tags *tags)
{
	lock_acquire(&sites_lock);
	tags->next = modules;
	modules = tags;
	if (sites_table && sites_table->on)
		find_all_locked(tags);
	lock_release(&sites_lock);
}

static void forget_site(uint32_t number)
{
	if (number)
		store_relaxed(&sites_table->site[number]->gone, 1);
}

void sites_unregister(struct uslab_alloc_tags *tags)
{
	struct uslab_alloc_tags **at = &modules;

	lock_acquire(&sites_lock);
	while (*at && *at != tags)
		at = &(*at)->next;
	if (*at)
		*at = tags->next;
	for (struct alloc_tag *tag = tags->start; sites_table && tag < tags->end; tag++)
		forget_site(load_relaxed(&tag->site));
	lock_release(&sites_lock);
}

/* ---- counters ---- */

static struct site_counters *counters_locked(struct sites_cpu *cpu, uint32_t site, bool make)
{
	struct site_counters **chunk = &cpu->chunk[site / SITES_PER_CHUNK];

	if (unlikely(!*chunk) && make)
		store_release(chunk, meta_alloc(CHUNK_BYTES)); /* pairs with sites_sum() */
	return *chunk ? &(*chunk)[site % SITES_PER_CHUNK] : NULL;
}

/* Stored atomically: others read them without the lock. */
static bool count_on(struct sites_cpu *cpu, bool make, uint32_t site, uint32_t generation,
		     uint64_t bytes, uint64_t calls)
{
	struct site_counters *counters = NULL;

	lock_acquire(&cpu->lock);
	if (likely(cpu->generation == generation))
		counters = counters_locked(cpu, site, make);
	if (likely(counters)) {
		store_relaxed(&counters->bytes, counters->bytes + bytes);
		store_relaxed(&counters->calls, counters->calls + calls);
	}
	lock_release(&cpu->lock);
	return counters;
}

/* Without memory on this CPU: where another one has counters. */
static noinline bool count_elsewhere(uint32_t site, uint32_t generation, uint64_t bytes,
				     uint64_t calls)
{
	for (uint32_t i = 0; i < sites_table->nr_cpus; i++)
		if (count_on(sites_table->cpu[i], false, site, generation, bytes, calls))
			return true;
	return false;
}

bool sites_count(uint32_t site, uint32_t generation, uint64_t bytes, uint64_t calls)
{
	struct sites_cpu *cpu = sites_table->cpu[os_current_cpu()];

	return likely(count_on(cpu, true, site, generation, bytes, calls)) ||
	       count_elsewhere(site, generation, bytes, calls);
}

struct alloc_tag_counters sites_sum(uint32_t site)
{
	struct alloc_tag_counters sum = { 0, 0 };

	for (uint32_t i = 0; i < sites_table->nr_cpus; i++) {
		/* pairs with counters_locked() */
		const struct site_counters *chunk =
			load_acquire(&sites_table->cpu[i]->chunk[site / SITES_PER_CHUNK]);

		if (!chunk)
			continue;
		sum.bytes += load_relaxed(&chunk[site % SITES_PER_CHUNK].bytes);
		sum.calls += load_relaxed(&chunk[site % SITES_PER_CHUNK].calls);
	}
	return sum;
}

/* ---- generations ---- */

static bool make_cpus(struct sites *table)
{
	for (unsigned int i = 0; i < os_topology.nr_cpu_ids; i++) {
		table->cpu[i] = meta_alloc(sizeof(*table->cpu[i]));
		if (!table->cpu[i])
			return false;
		lock_init(&table->cpu[i]->lock, RANK_SITES);
	}
	table->nr_cpus = os_topology.nr_cpu_ids;
	return true;
}

static int make_table(void)
{
	struct sites *table = meta_alloc(sizeof(*table));

	if (table && make_cpus(table)) {
		store_release(&sites_table, table); /* pairs with profile_is_known() */
		return 0;
	}
	for (unsigned int i = 0; table && i < os_topology.nr_cpu_ids; i++)
		meta_free(table->cpu[i], sizeof(*table->cpu[i]));
	meta_free(table, sizeof(*table));
	return -ENOMEM;
}

static void clear_counters(struct sites_cpu *cpu)
{
	for (unsigned int chunk = 0; chunk < SITES_CHUNKS; chunk++)
		for (unsigned int i = 0; cpu->chunk[chunk] && i < SITES_PER_CHUNK; i++) {
			store_relaxed(&cpu->chunk[chunk][i].bytes, 0);
			store_relaxed(&cpu->chunk[chunk][i].calls, 0);
		}
}

static void set_generation(uint32_t generation)
{
	for (uint32_t i = 0; i < sites_table->nr_cpus; i++) {
		struct sites_cpu *cpu = sites_table->cpu[i];

		lock_acquire(&cpu->lock);
		cpu->generation = generation;
		if (generation)
			clear_counters(cpu);
		lock_release(&cpu->lock);
	}
}

int sites_begin(void)
{
	int ret = sites_table ? 0 : make_table();
	uint32_t generation;

	if (ret)
		return ret;
	generation = sites_table->generation + 1;
	if (generation > SITES_GENERATIONS)
		return -EOVERFLOW;
	set_generation(generation);
	store_relaxed(&sites_table->lost, 0);
	store_relaxed(&sites_table->since, os_clock_ms());
	lock_acquire(&sites_lock);
	store_relaxed(&sites_table->on, 1);
	for (struct uslab_alloc_tags *tags = modules; tags; tags = tags->next)
		find_all_locked(tags);
	lock_release(&sites_lock);
	store_release(&sites_table->generation, generation); /* pairs with profile.c */
	return (int)generation;
}

void sites_end(void)
{
	set_generation(0);
	lock_acquire(&sites_lock);
	store_relaxed(&sites_table->on, 0);
	lock_release(&sites_lock);
}

/* ---- for fork and tests ---- */

void sites_each_lock(void (*act)(struct lock *l))
{
	act(&sites_lock);
	for (uint32_t i = 0; sites_table && i < sites_table->nr_cpus; i++)
		act(&sites_table->cpu[i]->lock);
}

void sites_check(void)
{
	struct sites *table = sites_table;
	uint32_t found = 0;

	if (!table)
		return;
	for (unsigned int i = 0; i < SITES_BUCKETS; i++)
		for (uint32_t n = table->bucket[i]; n; n = table->site[n]->next, found++)
			CHECK(n <= table->nr && found < table->nr);
	CHECK(found == table->nr);
	for (uint32_t i = 0; i < table->nr_cpus; i++)
		CHECK(table->cpu[i]->generation == (table->on ? table->generation : 0));
}
