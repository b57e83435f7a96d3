/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/pagemap.c - which pages of a running process are resident
 *
 * Data:       the areas, by address; those without any page need no system call.
 * Flow:       called by resident.c; calls live.c and mapped_file.c. In: smaps and pagemap of a
 *             process; out: a byte for each page.
 *
 * A page that was only read is the one page of zeros: pagemap has it as present, and the kernel
 * does not count it. PAGEMAP_SCAN says which these are. Kernels before 6.7 have none: there a page
 * is in doubt that is of no file and not this process's alone, as both that page and pages shared
 * after fork() are, and counts where its area has shared pages.
 */
#define _GNU_SOURCE
#include "process/pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "process/live.h"
#include "process/mapped_file.h"

/* Of <linux/fs.h>, which may be of an older kernel: PAGEMAP_SCAN. */
struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

struct scan_region {
	uint64_t start, end, categories;
};

#define SCAN _IOWR('f', 16, struct scan)
#define SCAN_PRESENT (1u << 3)
#define SCAN_SWAPPED (1u << 4)
#define SCAN_ZEROS (1u << 5)
#define SCAN_HUGE (1u << 6)
#define SCAN_REGIONS 256

/* Bits of an entry of pagemap. */
#define ENTRY_PRESENT (1ull << 63)
#define ENTRY_SWAPPED (1ull << 62)
#define ENTRY_FILE (1ull << 61)
#define ENTRY_EXCLUSIVE (1ull << 56)
#define ENTRIES 512u

/* ---- mappings -------------------------------------------------------------------------------- */

/* The area of a head line; path: where its name begins. NULL: no such line, or out of memory. */
static struct pagemap_area *add_area(struct pagemap *p, const char *line, const char **path)
{
	struct pagemap_area area = { .start = 0 };
	struct pagemap_area *more;
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %*x %*s %*u %n", &area.start, &area.end,
		   &at) < 2 ||
	    !at || area.end <= area.start)
		return NULL;
	*path = line + at;
	if (!(p->nr_areas & (p->nr_areas - 1))) {
		more = reallocarray(p->area, p->nr_areas ? 2 * p->nr_areas : 1, sizeof(area));
		if (!more)
			return NULL;
		p->area = more;
	}
	p->area[p->nr_areas] = area;
	return &p->area[p->nr_areas++];
}

/*
 * A mapping of the library's file, or of no file behind the last one, which is its data. path ends
 * with a newline.
 */
static void add_range(struct pagemap *p, const struct pagemap_area *area, const char *line,
		      const char *path, const char *object)
{
	const struct memory_range *last = &p->range[p->nr_ranges - (p->nr_ranges > 0)];
	size_t len = strcspn(path, "\n");
	bool written = strchr(line, ' ')[2] == 'w';
	bool deleted;
	bool is_file;

	if (!object || p->nr_ranges == PAGEMAP_RANGES)
		return;
	is_file = !strncmp(path, object, mapped_file_length(object, &deleted)) &&
		  (len == strlen(object) || !strncmp(path + strlen(object), " (deleted)", 10));
	if (!is_file && (len || !p->nr_ranges || last->start + last->size != area->start))
		return;
	p->range[p->nr_ranges++] =
		(struct memory_range){ area->start, area->end - area->start,
				       written || !is_file ? MEMORY_DATA : MEMORY_CODE };
}

/* A line below the head: what of it is of use. */
static void add_value(struct pagemap *p, struct pagemap_area *area, const char *line)
{
	uint64_t kib;

	if (sscanf(line, "Rss: %" SCNu64, &kib) == 1) {
		area->resident = kib * 1024;
		p->resident += area->resident;
	} else if (sscanf(line, "Shared_Clean: %" SCNu64, &kib) == 1 ||
		   sscanf(line, "Shared_Dirty: %" SCNu64, &kib) == 1) {
		area->shared += kib * 1024;
	} else if (sscanf(line, "Swap: %" SCNu64, &kib) == 1) {
		area->swapped = kib * 1024;
	}
}

/* "1000-2000 r--p ..." and no "Size: ..."? */
static bool is_head(const char *line)
{
	size_t digits = strspn(line, "0123456789abcdef");

	return digits && line[digits] == '-';
}

static int read_areas(struct pagemap *p, FILE *smaps, const char *object)
{
	struct pagemap_area *area = NULL;
	char *line = NULL;
	const char *path;
	size_t size = 0;
	int ret = 0;

	while (!ret && getline(&line, &size, smaps) > 0) {
		if (is_head(line)) {
			area = add_area(p, line, &path);
			if (area)
				add_range(p, area, line, path, object);
			else
				ret = -ENOMEM;
		} else if (area) {
			add_value(p, area, line);
		}
	}
	if (!ret && ferror(smaps))
		ret = -errno;
	free(line);
	return ret || p->nr_areas ? ret : -ESRCH;
}

int pagemap_open(struct pagemap *p, pid_t pid, const char *object)
{
	struct scan nothing = { .size = sizeof(nothing) };
	char path[LIVE_PATH];
	FILE *smaps;
	int ret;

	memset(p, 0, sizeof(*p));
	p->fd = open(live_path(path, pid, "pagemap"), O_RDONLY | O_CLOEXEC);
	if (p->fd < 0)
		return -errno;
	p->can_scan = !ioctl(p->fd, SCAN, &nothing);
	smaps = fopen(live_path(path, pid, "smaps"), "re");
	if (!smaps)
		return -errno;
	ret = read_areas(p, smaps, object);
	fclose(smaps);
	return ret;
}

void pagemap_close(struct pagemap *p)
{
	if (p->fd >= 0)
		close(p->fd);
	free(p->area);
	memset(p, 0, sizeof(*p));
	p->fd = -1;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* What is asked for: state has a byte for each page of PAGE_SIZE between the two addresses. */
struct span {
	uint64_t start;
	uint64_t end;
	uint8_t *state;
};

static void set_states(const struct span *span, uint64_t start, uint64_t end, uint8_t state)
{
	start = most(start, span->start);
	end = least(end, span->end);
	if (start < end)
		memset(span->state + (start - span->start) / PAGE_SIZE, state,
		       (end - start) / PAGE_SIZE);
}

static uint8_t state_of_region(uint64_t categories)
{
	if (categories & SCAN_SWAPPED)
		return MEMORY_SWAPPED;
	if (!(categories & SCAN_PRESENT) || categories & SCAN_ZEROS)
		return 0;
	return categories & SCAN_HUGE ? MEMORY_RESIDENT | MEMORY_HUGE : MEMORY_RESIDENT;
}

static int scan_pages(const struct pagemap *p, const struct span *span, uint64_t at, uint64_t end)
{
	struct scan_region region[SCAN_REGIONS];
	uint64_t wanted = SCAN_PRESENT | SCAN_SWAPPED;

	while (at < end) {
		struct scan scan = { .size = sizeof(scan),
				     .start = at,
				     .end = end,
				     .vec = (uintptr_t)region,
				     .vec_len = SCAN_REGIONS };
		int n;

		scan.category_anyof_mask = wanted;
		scan.return_mask = wanted | SCAN_ZEROS | SCAN_HUGE;
		n = ioctl(p->fd, SCAN, &scan);
		if (n < 0)
			return errno == EINTR ? -EAGAIN : -errno;
		for (int i = 0; i < n; i++)
			set_states(span, region[i].start, region[i].end,
				   state_of_region(region[i].categories));
		if (scan.walk_end <= at) /* the mapping is gone */
			break;
		at = scan.walk_end;
	}
	return 0;
}

static uint8_t state_of_entry(const struct pagemap_area *area, uint64_t entry)
{
	if (entry & ENTRY_SWAPPED)
		return MEMORY_SWAPPED;
	if (!(entry & ENTRY_PRESENT))
		return 0;
	return entry & (ENTRY_FILE | ENTRY_EXCLUSIVE) || area->shared ? MEMORY_RESIDENT : 0;
}

static int read_pages(const struct pagemap *p, const struct pagemap_area *area,
		      const struct span *span, uint64_t at, uint64_t end)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t entry[ENTRIES];

	at -= at % page;
	while (at < end) {
		size_t wanted = (size_t)least((end - at + page - 1) / page, ENTRIES);
		ssize_t n = pread(p->fd, entry, wanted * sizeof(*entry),
				  (off_t)(at / page * sizeof(*entry)));

		if (n < 0)
			return -errno;
		if (n < (ssize_t)sizeof(*entry)) /* it has ended */
			return -ESRCH;
		for (size_t i = 0; i < (size_t)n / sizeof(*entry); i++, at += page)
			set_states(span, at, at + page, state_of_entry(area, entry[i]));
	}
	return 0;
}

/* The first area that ends behind an address. */
static size_t find_area(const struct pagemap *p, uint64_t addr)
{
	size_t low = 0;
	size_t high = p->nr_areas;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (p->area[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int pagemap_states(void *ctx, uint64_t addr, size_t nr, uint8_t *state)
{
	const struct pagemap *p = ctx;
	struct span span = { addr, addr + nr * PAGE_SIZE, state };
	int ret = 0;

	memset(state, 0, nr);
	for (size_t i = find_area(p, addr); !ret && i < p->nr_areas; i++) {
		const struct pagemap_area *area = &p->area[i];
		uint64_t start = most(area->start, span.start);
		uint64_t end = least(area->end, span.end);

		if (area->start >= span.end)
			break;
		if (!area->resident && !area->swapped)
			continue;
		ret = p->can_scan ? scan_pages(p, &span, start, end)
				  : read_pages(p, area, &span, start, end);
	}
	return ret;
}

uint64_t pagemap_resident(const struct pagemap *p, uint64_t start, uint64_t end)
{
	uint64_t bytes = 0;

	for (size_t i = find_area(p, start); i < p->nr_areas && p->area[i].start < end; i++)
		if (p->area[i].start >= start && p->area[i].end <= end)
			bytes += p->area[i].resident;
	return bytes;
}
