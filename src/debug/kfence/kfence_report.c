/* SPDX-License-Identifier: MIT */
/*
 * debug/kfence/kfence_report.c - the reports of KFENCE, in the kernel's words (spec 11.2)
 *
 * Data:       none.
 * Invariants: nothing here allocates; safe in a signal handler.
 * Locks:      kfence_pool.lock, held by the caller; opens the text, which report_deliver() closes.
 * Flow:       called by kfence.c, kfence_fault.c; calls report_text.c, report_policy.c.
 *
 * Addresses are not hashed as in the kernel: who can read the report can read the process.
 */
#include "base/bits.h"
#include "debug/kfence/kfence.h"
#include "debug/kfence/kfence_pool.h"
#include "debug/report/report_style.h"

#define RULE "=================================================================="
#define CORRUPTION_BYTES 16

BUILD_ASSERT(sizeof(RULE) == 67);

/* The third is not the kernel's: a jump into an object. */
static const char *what(enum kfence_access access)
{
	static const char *const words[] = { "read", "write", "execute" };

	return words[access];
}

static void put_title(enum kfence_bug bug, enum kfence_access access, uintptr_t pc)
{
	report_text_print("BUG: KFENCE: ");
	switch (bug) {
	case KFENCE_OUT_OF_BOUNDS:
		report_text_print("out-of-bounds %s", what(access));
		break;
	case KFENCE_USE_AFTER_FREE:
		report_text_print("use-after-free %s", what(access));
		break;
	case KFENCE_CORRUPTION:
		report_text_print("memory corruption");
		break;
	case KFENCE_INVALID_ACCESS:
		report_text_print("invalid %s", what(access));
		break;
	case KFENCE_INVALID_FREE:
		report_text_print("invalid free");
		break;
	}
	report_text_print(" in ");
	report_text_symbol(pc);
	report_text_print("\n\n");
}

/* The bytes from the first wrong one on, up to the object or the end of the page. */
static void put_corruption(const struct kfence_object *o, const char *address)
{
	const char *end = address < o->addr ? o->addr : kfence_object_page(o) + PAGE_SIZE;
	size_t n = MIN((size_t)(end - address), (size_t)CORRUPTION_BYTES);

	report_text_print("Corrupted memory at 0x%lx [", (unsigned long)address);
	for (size_t i = 0; i < n; i++) {
		unsigned char byte = (unsigned char)address[i];

		if (byte == kfence_canary(address + i))
			report_text_print(" .");
		else
			report_text_print(" 0x%02x", byte);
	}
	report_text_print(" ] (in kfence-#%u):\n", kfence_number(o));
}

static void put_out_of_bounds(const struct kfence_object *o, const char *address,
			      enum kfence_access access)
{
	bool left = address < o->addr;

	report_text_print("Out-of-bounds %s at 0x%lx (%luB %s of kfence-#%u):\n", what(access),
			  (unsigned long)address,
			  (unsigned long)(left ? o->addr - address : address - o->addr),
			  left ? "left" : "right", kfence_number(o));
}

static void put_detail(enum kfence_bug bug, const struct kfence_object *o, const char *address,
		       enum kfence_access access)
{
	unsigned long a = (unsigned long)address;

	switch (bug) {
	case KFENCE_OUT_OF_BOUNDS:
		put_out_of_bounds(o, address, access);
		break;
	case KFENCE_USE_AFTER_FREE:
		report_text_print("Use-after-free %s at 0x%lx (in kfence-#%u):\n", what(access), a,
				  kfence_number(o));
		break;
	case KFENCE_CORRUPTION:
		put_corruption(o, address);
		break;
	case KFENCE_INVALID_ACCESS:
		report_text_print("Invalid %s at 0x%lx:\n", what(access), a);
		break;
	case KFENCE_INVALID_FREE:
		report_text_print("Invalid free of 0x%lx (in kfence-#%u):\n", a, kfence_number(o));
		break;
	}
}

static void put_track(const struct kfence_track *track, const char *verb, const char *noun)
{
	report_text_print("%s by task %u on cpu %u at %lu.%06lus:\n", verb, track->tid, track->cpu,
			  (unsigned long)(track->when_us / 1000000),
			  (unsigned long)(track->when_us % 1000000));
	if (!report_text_stack(" ", track->stack))
		report_text_print(" no %s stack\n", noun);
}

static const char *name_of(const struct kfence_object *o)
{
	return o->engine ? o->engine->name : "<destroyed>";
}

static void put_object(const struct kfence_object *o)
{
	if (o->state == KFENCE_UNUSED) {
		report_text_print("kfence-#%u unused\n", kfence_number(o));
		return;
	}
	report_text_print("kfence-#%u: 0x%lx-0x%lx, size=%lu, cache=%s\n\n", kfence_number(o),
			  (unsigned long)o->addr, (unsigned long)(o->addr + o->size - 1),
			  (unsigned long)o->size, name_of(o));
	put_track(&o->alloc, "allocated", "allocation");
	if (o->state != KFENCE_ALLOCATED) {
		report_text_print("\n");
		put_track(&o->free, "freed", "deallocation");
	}
}

/* What the kernel's report does not say: a double free, or an address inside of an object. */
static void put_note(const struct kfence_object *o, const char *address)
{
	if (address != o->addr)
		report_text_print("uslab: 0x%lx lies inside of an object of %s, not at its start\n",
				  (unsigned long)address, name_of(o));
	else if (o->state != KFENCE_ALLOCATED)
		report_text_print("uslab: %s\n", report_reason(REPORT_FREE_ALREADY));
	report_text_print("\n");
}

void kfence_report_locked(enum kfence_bug bug, const struct kfence_object *o, const char *address,
			  enum kfence_access access, const uintptr_t *pcs, unsigned int nr)
{
	report_error_begin(o && o->engine ? o->engine->name : "kfence", REPORT_GUARDED);
	report_text_print("%s\n", RULE);
	put_title(bug, access, pcs[0]);
	put_detail(bug, o, address, access);
	report_text_frames(" ", pcs, nr);
	report_text_print("\n");
	if (o) {
		put_object(o);
		report_text_print("\n");
	}
	if (o && o->state != KFENCE_UNUSED && bug == KFENCE_INVALID_FREE)
		put_note(o, address);
	report_cpu_line();
	report_text_print("%s\n", RULE);
	report_taint();
	kfence_counters.bugs++;
}
