/* SPDX-License-Identifier: MIT */
/*
 * debug/report/report_old.c - the format of Linux 2.6.29 (spec 7.6)
 *
 * Data:       none.
 * Invariants: see report_style.h.
 * Locks:      the text is open.
 * Flow:       called through report_old; calls report_text.c, os/.
 */
#include "base/bits.h"
#include "debug/report/report_style.h"
#include "os/process/die.h"
#include "os/process/process.h"

#define OBJECT_MAX 128 /* bytes that are dumped */
#define NODE_SHIFT 58  /* where page flags hold the node */
#define STACK_DEPTH 48 /* with some of the allocator's own */
#define UTF8_MAX 2     /* bytes of a Latin-1 character */

/* Bits of that kernel's page flags: it has the slab locked while it reports. */
#define PG_LOCKED 0x01ul
#define PG_DEBUG 0x02ul
#define PG_FROZEN 0x40ul
#define PG_SLAB 0x80ul

static void put_banner(const char *cache, const char *reason)
{
	report_text_print("%s\nBUG %s: %s\n%s\n\n", REPORT_RULE_DOUBLE, cache, reason,
			  REPORT_RULE_SINGLE);
}

static void put_wrong(const char *start, const unsigned char *first, const void *last,
		      unsigned char expected)
{
	(void)start;
	report_text_print("INFO: 0x%lx-0x%lx. First byte 0x%x instead of 0x%x\n",
			  (unsigned long)first, (unsigned long)last, *first, expected);
}

static void put_track(const char *verb, const char *noun, const struct track *track)
{
	(void)noun;
	if (!track->addr)
		return;
	report_text_print("INFO: %s in ", verb);
	report_text_symbol(track->addr);
	report_text_print(" age=%lu cpu=%u pid=%u\n", report_age(track), track->cpu, track->pid);
}

static unsigned long slab_flags(const struct page *slab, const struct slab_counters *counters)
{
	unsigned long flags = PG_LOCKED | (unsigned long)slab->node << NODE_SHIFT;

	if (slab->type == PAGE_SLAB)
		flags |= PG_SLAB;
	if (debug_is_slab(slab))
		flags |= PG_DEBUG;
	return counters->frozen ? flags | PG_FROZEN : flags;
}

static void put_slab(const struct page *slab)
{
	struct slab_counters counters = report_slab_counters(slab);

	report_text_print("INFO: Slab 0x%lx objects=%u used=%u fp=0x%lx flags=0x%04lx\n",
			  (unsigned long)slab, (unsigned int)counters.objects,
			  (unsigned int)counters.inuse,
			  slab->type == PAGE_SLAB ? (unsigned long)slab->freelist : 0,
			  slab_flags(slab, &counters));
}

static void put_object(const char *start, const void *obj, const void *fp)
{
	report_text_print("INFO: Object 0x%lx @offset=%lu fp=0x%lx\n\n", (unsigned long)obj,
			  report_distance(start, obj), (unsigned long)fp);
}

static void put_leak(const struct page *slab, const void *obj)
{
	report_text_print("INFO: Object 0x%lx @offset=%lu\n", (unsigned long)obj,
			  report_offset(slab, obj));
}

/* That kernel's isgraph(), for Latin-1; written as UTF-8, as today's terminals read it. */
static size_t put_ascii(char *out, unsigned char c)
{
	if (c > 0xa0) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	*out = c > ' ' && c <= '~' ? (char)c : '.';
	return 1;
}

static void put_dump_line(const unsigned char *bytes, size_t n)
{
	char ascii[REPORT_DUMP_LINE * UTF8_MAX + 1];
	size_t len = 0;

	for (size_t i = 0; i < REPORT_DUMP_LINE; i++) {
		if (i < n) {
			report_text_print(" %02x", bytes[i]);
			len += put_ascii(ascii + len, bytes[i]);
		} else {
			report_text_print("   ");
			ascii[len++] = ' ';
		}
	}
	ascii[len] = '\0';
	report_text_print(" %s\n", ascii);
}

static void put_dump(const char *label, size_t width, const void *start, size_t len)
{
	const unsigned char *bytes = start;

	(void)width;
	for (size_t done = 0; done < len; done += REPORT_DUMP_LINE) {
		report_text_print("%8s 0x%lx: ", label, (unsigned long)(bytes + done));
		put_dump_line(bytes + done, MIN(len - done, (size_t)REPORT_DUMP_LINE));
	}
}

static void put_stack(void)
{
	uintptr_t pcs[STACK_DEPTH];
	char name[OS_THREAD_NAME_MAX];
	unsigned int nr = report_call_trace(pcs, STACK_DEPTH);

	os_thread_name(name);
	report_text_print("Pid: %u, comm: %s Not tainted uslab %s\nCall Trace:\n", os_thread_id(),
			  name, USLAB_VERSION_TEXT);
	for (unsigned int i = 0; i < nr; i++) {
		report_text_print(" [<%lx>] ", (unsigned long)pcs[i]);
		report_text_symbol(pcs[i]);
		report_text_print("\n");
	}
}

/* "... still has objects", and the stack says who called. */
static void put_leaked(const char *cache, const void *caller)
{
	(void)caller;
	report_text_print("kmem_cache_destroy %s: Slab cache still has objects\n", cache);
	put_stack();
}

static void put_fix_bytes(const char *cache, const char *area, const void *first, const void *last,
			  unsigned char value)
{
	(void)area;
	report_text_print("FIX %s: Restoring 0x%lx-0x%lx=0x%x\n\n", cache, (unsigned long)first,
			  (unsigned long)last, value);
}

const struct report_style report_old = {
	.object_max = OBJECT_MAX,
	.left_redzone = false,
	.says_not_freed = false,
	.reason = { [REPORT_PADDING] = "Padding overwritten. 0x%lx-0x%lx" },
	/* There was one red zone, and one word for poison. */
	.area = { [AREA_LEFT_REDZONE] = "Redzone",
		  [AREA_RIGHT_REDZONE] = "Redzone",
		  [AREA_KMALLOC_REDZONE] = "Redzone",
		  [AREA_END_POISON] = "Poison" },
	.repair = { [FIX_OBJECTS] = "Number of objects adjusted.",
		    [FIX_COUNT] = "Object count adjusted." },
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
