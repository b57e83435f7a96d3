/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_print.c - rows as the table of spec 8.3, aliases as in spec 8.7
 *
 * Flow:       called by cmd_info.c, info_options.c and info_totals.c; calls inspect/text.c for each
 *             column, info_activity.c with -D, and memory_text.c for names. In: rows; out: lines on
 *             stdout.
 */
#include <stdio.h>
#include <string.h>

#include "info/info.h"
#include "info/memory_text.h"
#include "inspect/text.h"

static void print_table(const struct info_row *rows, unsigned int count,
			const struct info_options *options)
{
	struct text_options text = { .loss = options->loss_column, .bytes = options->bytes };
	char line[TEXT_LINE_MAX];

	for (unsigned int i = 0; i < count; i++) {
		if (!i && text_header(line, sizeof(line), &text))
			fputs(line, stdout);
		text_line(line, sizeof(line), rows[i].name, rows[i].cache, &text);
		fputs(line, stdout);
	}
}

void info_print_list(const struct info_row *rows, unsigned int count,
		     const struct info_options *options)
{
	if (options->activity_columns)
		info_print_activity(rows, count);
	else
		print_table(rows, count, options);
}

void info_print_aliases(const struct info_alias *aliases, unsigned int count,
			const struct info_options *options)
{
	const char *target = "";
	unsigned long lines = 0;

	for (unsigned int i = 0; i < count; i++) {
		bool same = !options->inverted && !strcmp(target, aliases[i].target);

		if (!same && ++lines > options->lines)
			break;
		if (options->inverted)
			printf("%-15s -> %s\n", aliases[i].name, aliases[i].target);
		else if (same)
			printf(" %s", aliases[i].name);
		else
			printf("\n%-12s <- %s", aliases[i].target, aliases[i].name);
		target = aliases[i].target;
	}
	if (count && !options->inverted)
		putchar('\n');
}

static void print_memory_fields(void)
{
	puts("memory, in bytes:");
	for (enum memory_sum sum = 0; sum < NR_MEMORY_SUMS; sum++)
		printf("  %-24s %s\n", memory_sum_key(sum), memory_sum_help(sum));
	puts("memory, kinds (resident bytes):");
	for (enum memory_kind kind = 0; kind < NR_MEMORY_KINDS; kind++)
		printf("  %-24s %s\n", memory_key(kind), memory_help(kind));
}

void info_print_fields(void)
{
	puts("uslab:");
#define TOTAL_TEXT(member, size, key, help) printf("  %-24s %s\n", key, help);
#define TOTAL_FIELD(type, member, key, help) printf("  %-24s %s\n", key, help);
#define TOTAL_ADDRESS(member, key, help) printf("  %-24s %s\n", key, help);
#include "inspect/fields.def"
	print_memory_fields();
	puts("nodes, of machines with several:");
#define NODE_FIELD(member, key, help) printf("  %-24s %s\n", key, help);
#include "inspect/fields.def"
	puts("caches:");
#define CACHE_TEXT(member, size, key, help) printf("  %-24s %s\n", key, help);
#define CACHE_FIELD(type, member, key, help) printf("  %-24s %s\n", key, help);
#include "inspect/fields.def"
	puts("caches, flags:");
#define CACHE_FLAG(letter, bit, key, help) printf("  %-24s %c  %s\n", key, letter, help);
#define CACHE_BIT(bit, key, help) printf("  %-24s    %s\n", key, help);
#include "inspect/fields.def"
	puts("caches, stats (counted with USLAB_CONF=stats):");
#define CACHE_STAT(item, key, help) printf("  %-24s %s\n", key, help);
#include "inspect/fields.def"
}
