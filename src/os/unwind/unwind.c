/* SPDX-License-Identifier: MIT */
/*
 * os/unwind/unwind.c - the call stack of this thread
 *
 * Data:       known[]: rules by code address, one word each; checked[]: which of them were found to
 *             hold.
 * Invariants: a word of the stack is read only above the stack pointer of a frame that was reached
 *             before, in pages that the kernel said are readable. Errors in tables,
 *             objects that are unloaded, memory that looks like frames: all of them give
 *             a short or a wrong stack, never a fault. Tables of code that this thread
 *             may not be in are read as copies.
 * Locks:      none: one word per entry, so that no reader (another thread, a signal
 *             handler) sees half of one.
 * Flow:       calls os/unwind/unwind_cfi.c for rules that are not known, os/unwind/unwind_stack.c
 *             and os/memory/readable.c for pages.
 */
#include "arch/frame.h"
#include "arch/unwind.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/symbol/object.h"
#include "os/memory/readable.h"
#include "os/unwind/unwind.h"
#include "os/unwind/unwind_cfi.h"
#include "os/unwind/unwind_stack.h"

#define WORD sizeof(uintptr_t)
#define PAGE STACK_PAGE
#define MAX_GAP (256 * PAGE) /* a frame larger than that is not looked through page by page */
#define MAX_JOIN (16 * PAGE)
#define MAX_SKIPPED 64	    /* frames between here and the caller */
#define LOWEST_CODE 65536ul /* no program has code below */

/* ---- known rules ----------------------------------------------------------------------------- */

/*
 * A set has two entries, the one learnt last first: of all the frames of a program some pairs share
 * a set, and would push each other out with each walk.
 * An entry: address / 2048 (37 bits), offset (16, signed), fp_slot (8), kind (3). What the address
 * is below 2048 follows from the index, as the hash only mixes the higher bits in.
 */
#define SET_BITS 11
#define TAG_BITS 37
#define OFFSET_BITS 16
#define SLOT_BITS 8
#define MULTIPLIER 0x9e3779b97f4a7c15ull /* 2^64 / the golden ratio */

static uint64_t known[1ul << SET_BITS][2];

static inline uint64_t *known_set(uintptr_t address)
{
	uint64_t mixed = (address >> SET_BITS) * MULTIPLIER >> (64 - SET_BITS);

	return known[(address ^ mixed) & (ARRAY_SIZE(known) - 1)];
}

static inline bool is_entry_of(uint64_t entry, uintptr_t address)
{
	return (entry & ((1ul << TAG_BITS) - 1)) == address >> SET_BITS;
}

static uint64_t known_pack(uintptr_t address, struct unwind_rule rule)
{
	return address >> SET_BITS | (uint64_t)(uint16_t)rule.offset << TAG_BITS |
	       (uint64_t)rule.fp_slot << (TAG_BITS + OFFSET_BITS) |
	       (uint64_t)rule.kind << (TAG_BITS + OFFSET_BITS + SLOT_BITS);
}

static struct unwind_rule known_unpack(uint64_t entry)
{
	return (struct unwind_rule){
		.kind = (enum unwind_kind)(entry >> (TAG_BITS + OFFSET_BITS + SLOT_BITS)),
		.offset = (int16_t)(entry >> TAG_BITS),
		.fp_slot = (unsigned int)(entry >> (TAG_BITS + OFFSET_BITS)) &
			   ((1u << SLOT_BITS) - 1),
	};
}

/* The word of an address, or 0. */
static inline uint64_t known_word(uintptr_t address)
{
	const uint64_t *set = known_set(address);
	uint64_t entry = load_relaxed(&set[0]);

	if (likely(is_entry_of(entry, address)))
		return entry;
	entry = load_relaxed(&set[1]);
	return is_entry_of(entry, address) ? entry : 0;
}

/* Two threads at once: an entry is lost, and learnt again. */
static void known_add(uintptr_t address, uint64_t entry)
{
	uint64_t *set = known_set(address);
	uint64_t first = load_relaxed(&set[0]);

	if (!is_entry_of(first, address))
		store_relaxed(&set[1], first);
	store_relaxed(&set[0], entry);
}

/* Addresses without an object are not kept: a library may be loaded there. */
static struct unwind_rule learn(uintptr_t address, bool in_use)
{
	struct unwind_rule rule = unwind_cfi_rule(address, in_use);

	if (rule.kind != UNWIND_UNKNOWN && !(address >> SET_BITS >> TAG_BITS) &&
	    rule.offset == (int16_t)rule.offset)
		known_add(address, known_pack(address, rule));
	return rule;
}

static cold void forget_all(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		store_relaxed(&known[i][0], 0);
		store_relaxed(&known[i][1], 0);
	}
}

/* ---- rules that are known to hold ------------------------------------------------------------ */

/*
 * By address: a hash of the object that it was in when its rule was found to hold. With the same
 * object in its place it still does. Looking the rule up again takes some fifty system calls where
 * the object may be unloaded meanwhile, and code made at run time (a JIT's) asks with each walk.
 */
static uint64_t checked[64];

static uint64_t *checked_entry(uintptr_t address)
{
	return &checked[address * MULTIPLIER >> 58];
}

/* 0: no object is there. */
static uint64_t object_hash(uintptr_t address)
{
	struct os_object object;
	uint64_t hash = address;

	if (!os_object_find(address, &object))
		return 0;
	hash = (hash ^ (uintptr_t)object.map) * MULTIPLIER;
	hash = (hash ^ hash >> 32 ^ (uintptr_t)object.start) * MULTIPLIER;
	hash = (hash ^ hash >> 32 ^ (uintptr_t)object.end) * MULTIPLIER;
	hash = (hash ^ hash >> 32 ^ (uintptr_t)object.eh_frame) * MULTIPLIER;
	return hash | 1;
}

/* false: an object was unloaded, and the rule is of that. */
static bool still_holds(uintptr_t address, uint64_t entry, bool in_use)
{
	uint64_t hash = object_hash(address); /* before the rule: what comes later is another one */

	if (!hash)
		return false;
	if (likely(load_relaxed(checked_entry(address)) == hash))
		return true;
	if (known_pack(address, unwind_cfi_rule(address, in_use)) != entry)
		return false;
	store_relaxed(checked_entry(address), hash);
	return true;
}

/* ---- memory that may be read ----------------------------------------------------------------- */

/* Where the function that returns to pc stands. */
struct frame {
	uintptr_t pc;
	uintptr_t sp;
	uintptr_t fp;
	uintptr_t from; /* the rule that led to pc is that of this address; 0: none did */
};

/* What a walk has learnt of the stack. Invariant: range.start <= frame.sp. */
struct walk {
	struct frame frame;
	struct range range;   /* readable */
	struct range earlier; /* readable, as an earlier walk of this thread found; or empty */
	bool is_whole;	      /* range is one piece of this thread's stack, found by tables only */
	bool in_use;	      /* all frames were found by tables: this thread is in their code */
	bool is_stale;	      /* an object was unloaded; what is known of rules is of no use */
};

/* From here on nothing that was found readable before is relied upon. */
static void distrust(struct walk *w, uintptr_t address)
{
	w->range = (struct range){ address, address };
	w->earlier = (struct range){ 0, 0 };
	w->is_whole = false;
}

/* Extends the range upwards, page by page, to one that has the address. */
static noinline bool extend(struct walk *w, uintptr_t address)
{
	uintptr_t page = ALIGN_DOWN(address, PAGE);

	if (address < w->range.start)
		return false;
	if (page - w->range.end > MAX_GAP)
		distrust(w, page);
	while (page >= w->range.end) {
		if (w->earlier.start <= w->range.end && w->range.end < w->earlier.end) {
			w->range.end = w->earlier.end;
		} else {
			if (!os_readable_page(w->range.end))
				return false;
			w->range.end += PAGE;
		}
	}
	return true;
}

/*
 * What this walk found readable, for later ones. A recursion comes back to where the earlier ones
 * were, so the two are joined if there is little between them.
 */
static void remember_range(struct walk *w)
{
	if (!w->is_whole)
		return;
	if (w->earlier.start > w->range.end && w->earlier.start - w->range.end <= MAX_JOIN)
		extend(w, w->earlier.start);
	if (w->range.start != w->earlier.start || w->range.end != w->earlier.end)
		unwind_stack_remember(w->range);
}

/* Not below the frame that the walk has reached, and aligned: so a word never spans two pages. */
static bool is_readable(struct walk *w, uintptr_t address)
{
	if (address < w->frame.sp || address % WORD)
		return false;
	return address - w->range.start < w->range.end - w->range.start || extend(w, address);
}

/* Other functions' frames, which AddressSanitizer guards. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static inline uintptr_t
word_at(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

/* Where the caller's frame pointer is, and behind it the return address. */
static inline uintptr_t frame_record(uintptr_t fp)
{
	return fp + (uintptr_t)(ARCH_FRAME_RECORD * (long)WORD);
}

/* ---- one step -------------------------------------------------------------------------------- */

static inline uintptr_t rule_cfa(const struct frame *f, struct unwind_rule rule)
{
	return (rule.kind == UNWIND_SP ? f->sp : f->fp) + (uintptr_t)(long)rule.offset * WORD;
}

/* To the frame whose CFA this is. false: that cannot be, or there is no more. */
static bool step_to(struct walk *w, uintptr_t cfa, uintptr_t fp)
{
	if (cfa <= w->frame.sp || !is_readable(w, cfa - WORD))
		return false;
	w->frame.pc = arch_code_address(word_at(cfa - WORD));
	w->frame.sp = cfa;
	w->frame.fp = fp;
	return w->frame.pc >= LOWEST_CODE;
}

static bool step_cfa(struct walk *w, struct unwind_rule rule)
{
	uintptr_t cfa = rule_cfa(&w->frame, rule);
	uintptr_t slot = cfa - rule.fp_slot * WORD;

	if (rule.fp_slot == UNWIND_SLOT_SAME)
		return step_to(w, cfa, w->frame.fp);
	if (rule.fp_slot == UNWIND_SLOT_LOST || !is_readable(w, slot))
		return step_to(w, cfa, 0);
	return step_to(w, cfa, word_at(slot));
}

static bool step_deref(struct walk *w, struct unwind_rule rule)
{
	uintptr_t fp = w->frame.fp;
	uintptr_t place = rule_cfa(&w->frame, rule);

	if (!is_readable(w, place) || !is_readable(w, fp))
		return false;
	return step_to(w, word_at(place), rule.fp_slot == UNWIND_SLOT_LOST ? 0 : word_at(fp));
}

/* Code of an object; or of none, made at run time, that keeps frame pointers. */
static bool is_plausible(const struct walk *w, uintptr_t earlier_fp)
{
	struct os_object object;

	if (w->frame.pc - w->range.start < w->range.end - w->range.start)
		return false; /* the stack itself */
	return os_object_find(w->frame.pc - 1, &object) || w->frame.fp > earlier_fp;
}

/*
 * By frame pointer, where tables are silent. What looks like one may be anything: from the first
 * one on memory is checked anew.
 */
static bool step_chain(struct walk *w)
{
	uintptr_t fp = w->frame.fp;
	uintptr_t record = frame_record(fp);

	if (record < w->frame.sp || record - w->frame.sp > MAX_GAP)
		return false;
	if (w->is_whole || record >= w->range.end)
		distrust(w, ALIGN_DOWN(record, PAGE));
	w->in_use = false;
	return is_readable(w, record) && step_to(w, record + 2 * WORD, word_at(record)) &&
	       is_plausible(w, fp);
}

/*
 * To what a signal handler interrupted, maybe on another stack. It has not called anything: its
 * address itself is to be looked up, so it is given as that of a call that returns one byte on.
 */
static bool step_signal(struct walk *w)
{
	uintptr_t frame = w->frame.sp;
	uintptr_t sp;

	if (!is_readable(w, frame + ARCH_SIGNAL_FP) || !is_readable(w, frame + ARCH_SIGNAL_PC))
		return false;
	sp = word_at(frame + ARCH_SIGNAL_SP);
	w->frame.fp = word_at(frame + ARCH_SIGNAL_FP);
	w->frame.pc = word_at(frame + ARCH_SIGNAL_PC) + 1;
	if (sp < w->frame.sp || sp >= w->range.end)
		distrust(w, ALIGN_DOWN(sp, PAGE));
	w->frame.sp = sp;
	return w->frame.pc >= LOWEST_CODE;
}

/*
 * The address belongs to no object: code made at run time. Or a rule of an object that was
 * unloaded, with another one in its place, has led here: then the rule is another one now.
 */
static bool step_unknown(struct walk *w)
{
	uintptr_t from = w->frame.from;
	uint64_t entry = from ? known_word(from) : 0;

	if (entry)
		w->is_stale = !still_holds(from, entry, w->in_use);
	w->frame.from = 0;
	return !w->is_stale && step_chain(w);
}

static bool step(struct walk *w)
{
	uintptr_t address = w->frame.pc - 1;
	uint64_t entry = known_word(address);
	struct unwind_rule rule = entry ? known_unpack(entry) : learn(address, w->in_use);

	if (rule.kind == UNWIND_UNKNOWN)
		return step_unknown(w);
	w->frame.from = address;
	switch (rule.kind) {
	case UNWIND_SP:
	case UNWIND_FP:
		return step_cfa(w, rule);
	case UNWIND_FP_DEREF:
		return step_deref(w, rule);
	case UNWIND_SIGNAL:
		return step_signal(w);
	case UNWIND_CHAIN:
		return step_chain(w);
	default:
		return false;
	}
}

/*
 * The same for what most frames are: known functions, in the readable part of the stack. false: it
 * is none of these, and nothing was done.
 */
static inline bool step_known(struct frame *f, struct range range)
{
	struct unwind_rule rule = known_unpack(known_word(f->pc - 1));
	uintptr_t cfa = rule_cfa(f, rule);
	uintptr_t slot = cfa - rule.fp_slot * WORD;
	uintptr_t pc;

	if (unlikely((rule.kind != UNWIND_SP && rule.kind != UNWIND_FP) || cfa <= f->sp ||
		     slot < f->sp || cfa > range.end || cfa % WORD ||
		     rule.fp_slot == UNWIND_SLOT_LOST))
		return false;
	pc = word_at(cfa - WORD);
	if (unlikely(pc < LOWEST_CODE))
		return false;
	f->from = f->pc - 1;
	f->pc = pc;
	f->sp = cfa;
	if (rule.fp_slot != UNWIND_SLOT_SAME)
		f->fp = word_at(slot);
	return true;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/*
 * Begins at the frame of a function of this thread that runs; frame is where
 * its frame pointer points.
 */
static struct walk begin(uintptr_t frame)
{
	uintptr_t record = frame_record(frame);
	struct walk w = {
		.frame = { arch_code_address(word_at(record + WORD)), record + 2 * WORD,
			   word_at(record), 0 },
		.range = { ALIGN_DOWN(record, PAGE), ALIGN_DOWN(record, PAGE) + PAGE },
		.earlier = unwind_stack_known(),
		.is_whole = true,
		.in_use = true,
	};

	if (w.range.start >= w.earlier.start && w.range.start < w.earlier.end)
		w.range = w.earlier;
	return w;
}

static inline bool advance(struct walk *w, struct frame *f)
{
	if (likely(step_known(f, w->range)))
		return true;
	w->frame = *f;
	if (!step(w))
		return false;
	*f = w->frame;
	return true;
}

static unsigned int follow(struct walk *w, uintptr_t caller, uintptr_t *pcs, unsigned int max)
{
	struct frame f = w->frame; /* in registers */
	bool found = !caller;
	unsigned int skipped = 0;
	unsigned int nr = 0;

	do {
		found |= f.pc == caller;
		if (found)
			pcs[nr++] = f.pc;
		else
			skipped++;
	} while (nr < max && skipped <= MAX_SKIPPED && advance(w, &f));
	return nr;
}

noinline unsigned int os_unwind(const void *caller, uintptr_t *pcs, unsigned int max)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	struct walk w = begin(frame);
	unsigned int nr = follow(&w, (uintptr_t)caller, pcs, max);

	if (unlikely(w.is_stale)) {
		forget_all();
		w = begin(frame);
		nr = follow(&w, (uintptr_t)caller, pcs, max);
	}
	remember_range(&w);
	if (!nr)
		pcs[nr++] = (uintptr_t)caller;
	return nr;
}
