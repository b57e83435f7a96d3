/* SPDX-License-Identifier: MIT */
/*
 * debug/report/report_modern.c - the format of Linux 6.1 (spec 7.1, 7.2)
 *
 * Data:       none.
 * Invariants: see report_style.h.
 * Locks:      the text is open.
 * Flow:       called by kfence_report.c and through report_modern; calls report_text.c, os/.
 */
#include "base/bits.h"
#include "debug/report/report_style.h"
#include "os/cpu/cpu.h"
#include "os/process/die.h"
#include "os/process/process.h"

#define ASCII_COLUMN 49 /* of a dump, behind the address */
#define PG_SLAB 0x200ul /* bit of the kernel's page flags */
#define NODE_SHIFT 58	/* where these hold the node */
#define STACK_DEPTH 48	/* with some of the allocator's own */

static const char *taint(void)
{
	/* A letter or a blank for each of the kernel's 19 reasons: G, modules; B, bad memory. */
	return report_tainted() ? "Tainted: G    B             " : "Not tainted";
}

static void put_banner(const char *cache, const char *reason)
{
	report_text_print("%s\nBUG %s (%s): %s\n%s\n\n", REPORT_RULE_DOUBLE, cache, taint(), reason,
			  REPORT_RULE_SINGLE);
}

static void put_wrong(const char *start, const unsigned char *first, const void *last,
		      unsigned char expected)
{
	report_text_print("0x%lx-0x%lx @offset=%lu. First byte 0x%x instead of 0x%x\n",
			  (unsigned long)first, (unsigned long)last, report_distance(start, first),
			  *first, expected);
}

static void put_track(const char *verb, const char *noun, const struct track *track)
{
	if (!track->addr)
		return;
	report_text_print("%s in ", verb);
	report_text_symbol(track->addr);
	report_text_print(" age=%lu cpu=%u pid=%u\n", report_age(track), track->cpu, track->pid);
	if (!report_text_stack(" ", track->handle))
		report_text_print("object %s stack trace missing\n", noun);
}

static void put_slab(const struct page *slab)
{
	struct slab_counters counters = report_slab_counters(slab);
	bool is_slab = slab->type == PAGE_SLAB;
	unsigned long flags = (is_slab ? PG_SLAB : 0) | (unsigned long)slab->node << NODE_SHIFT;

	report_text_print("Slab 0x%lx objects=%u used=%u fp=0x%lx flags=0x%lx(%snode=%u)\n",
			  (unsigned long)slab, (unsigned int)counters.objects,
			  (unsigned int)counters.inuse, is_slab ? (unsigned long)slab->freelist : 0,
			  flags, is_slab ? "slab|" : "", slab->node);
}

static void put_object(const char *start, const void *obj, const void *fp)
{
	report_text_print("Object 0x%lx @offset=%lu fp=0x%lx\n\n", (unsigned long)obj,
			  report_distance(start, obj), (unsigned long)fp);
}

static void put_leak(const struct page *slab, const void *obj)
{
	report_text_print("Object 0x%lx @offset=%lu\n", (unsigned long)obj,
			  report_offset(slab, obj));
}

static void put_leaked(const char *cache, const void *caller)
{
	report_text_print("kmem_cache_destroy %s: Slab cache still has objects when called from ",
			  cache);
	report_text_symbol((uintptr_t)caller);
	report_text_print("\n");
}

static void put_dump_line(const unsigned char *bytes, size_t n)
{
	char line[ASCII_COLUMN + REPORT_DUMP_LINE + 1];
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += os_format(line + len, sizeof(line) - len, "%02x ", bytes[i]);
	while (len < ASCII_COLUMN)
		line[len++] = ' ';
	for (size_t i = 0; i < n; i++)
		line[len++] = bytes[i] >= ' ' && bytes[i] <= '~' ? (char)bytes[i] : '.';
	line[len] = '\0';
	report_text_print("%s\n", line);
}

static void put_dump(const char *label, size_t width, const void *start, size_t len)
{
	const unsigned char *bytes = start;

	for (size_t done = 0; done < len; done += REPORT_DUMP_LINE) {
		report_text_print(width == 9 ? "%-9s" : width == 8 ? "%-8s" : "%-7s", label);
		report_text_print("%lx: ", (unsigned long)(bytes + done));
		put_dump_line(bytes + done, MIN(len - done, (size_t)REPORT_DUMP_LINE));
	}
}

void report_cpu_line(void)
{
	char name[OS_THREAD_NAME_MAX];

	os_thread_name(name);
	report_text_print("CPU: %u PID: %u Comm: %s %s uslab %s\n", os_current_cpu(),
			  os_thread_id(), name, taint(), USLAB_VERSION_TEXT);
}

static void put_stack(void)
{
	uintptr_t pcs[STACK_DEPTH];
	unsigned int nr = report_call_trace(pcs, STACK_DEPTH);

	report_cpu_line();
	report_text_print("Call Trace:\n");
	report_text_frames(" ", pcs, nr);
}

static void put_fix_bytes(const char *cache, const char *area, const void *first, const void *last,
			  unsigned char value)
{
	report_text_print("FIX %s: Restoring %s 0x%lx-0x%lx=0x%x\n", cache, area,
			  (unsigned long)first, (unsigned long)last, value);
}

const struct report_style report_modern = {
	.object_max = PAGE_SIZE,
	.left_redzone = true,
	.says_not_freed = true,
	.shows_taken = true,
	.reason = {
		[REPORT_OVERWRITTEN] = "%s overwritten",
		[REPORT_PADDING] = "Padding overwritten. 0x%lx-0x%lx @offset=%lu",
		[REPORT_FREE_ALREADY] = "Object already free",
		[REPORT_INVALID_POINTER] = "Invalid object pointer 0x%lx",
		[REPORT_FREE_POINTER] = "Freepointer corrupt",
		[REPORT_FREE_LIST] = "Freepointer corrupt",
		[REPORT_FREE_CHAIN] = "Freechain corrupt",
		[REPORT_ALLOC_POINTER] = "Freelist Pointer check fails",
		[REPORT_NO_SLAB] = "Not a valid slab page",
		[REPORT_MOST_OBJECTS] = "objects %u > max %d",
		[REPORT_MOST_INUSE] = "inuse %u > max %d",
		[REPORT_ISOLATED] = "Slab disabled since SLUB metadata consistency check failed",
		[REPORT_OBJECTS] = "Wrong number of objects. Found %u but should be %d",
		[REPORT_COUNT] = "Wrong object count. Counter is %u but counted were %d",
		[REPORT_NONE_IN_USE] = "Slab has 0 allocated objects but 1 are to be freed\n",
		[REPORT_SHEAF] = "Wrong use of a lent sheaf",
		[REPORT_GRACE] = "Wrong use of kfree_rcu()",
		[REPORT_REMAINING] = "Objects remaining in %s on __kmem_cache_shutdown()",
		[REPORT_WRONG_PARTIAL] = "SLUB %s: %lu partial slabs counted but counter=%lu",
		[REPORT_WRONG_CACHE] = "cache_from_obj: Wrong slab cache. %s but object is from %s\n"
				       "uslab: 0x%lx goes back to %s%s",
	},
	.area = {
		[AREA_LEFT_REDZONE] = "Left Redzone",
		[AREA_RIGHT_REDZONE] = "Right Redzone",
		[AREA_KMALLOC_REDZONE] = "kmalloc Redzone",
		[AREA_POISON] = "Poison",
		[AREA_END_POISON] = "End Poison",
		[AREA_ALIGNMENT] = "Alignment padding",
		[AREA_OBJECT_PADDING] = "Object padding",
		[AREA_SLAB_PADDING] = "slab padding",
	},
	.repair = {
		[FIX_NOT_FREED] = "Object at 0x%lx not freed",
		[FIX_NOT_RESIZED] = "Object at 0x%lx not resized",
		[FIX_WAS_WRITTEN] = "Object at 0x%lx was written to while it was free",
		[FIX_ALL_USED] = "Marking all objects used",
		[FIX_OBJECTS] = "Number of objects adjusted",
		[FIX_COUNT] = "Object count adjusted",
		[FIX_FREE_LIST] = "Freelist cleared",
		[FIX_FREE_CHAIN] = "Isolate corrupted freechain",
		[FIX_PAGES_UNUSED] = "Pages at 0x%lx not used again",
	},
	.banner = put_banner,
	.wrong = put_wrong,
	.track = put_track,
	.slab = put_slab,
	.object = put_object,
	.leak = put_leak,
	.leaked = put_leaked,
	.dump = put_dump,
	.stack = put_stack,
	.fix_bytes = put_fix_bytes,
};
