/* SPDX-License-Identifier: MIT */
/*
 * os/unwind/unwind_cfi.h - how to go from a code address to the frame around it, as the unwind
 * tables say
 *
 * Data:       struct unwind_rule.
 * Invariants: offset and fp_slot count words of 8 bytes.
 * Locks:      none; safe in a signal handler.
 * Flow:       called by os/unwind/unwind.c; calls os/unwind/unwind_table.c.
 */
#ifndef OS_UNWIND_CFI_H
#define OS_UNWIND_CFI_H

#include "base/compiler.h"

/* CFA: the stack pointer before the call, behind the return address. */
enum unwind_kind {
	UNWIND_UNKNOWN, /* no loaded object has this address (code made at run time) */
	UNWIND_CHAIN,	/* tables say nothing, or what is not understood here */
	UNWIND_END,	/* the first function of a thread */
	UNWIND_SIGNAL,	/* a signal handler returns to here */
	UNWIND_SP,	/* CFA = stack pointer + offset */
	UNWIND_FP,	/* CFA = frame pointer + offset */
	/* CFA = word at frame pointer + offset: GCC's frames of their own alignment */
	UNWIND_FP_DEREF,
};

#define UNWIND_SLOT_SAME 0   /* the frame pointer is the caller's */
#define UNWIND_SLOT_LOST 255 /* it cannot be known */

struct unwind_rule {
	enum unwind_kind kind;
	int offset;
	/*
	 * The caller's frame pointer lies at CFA - fp_slot; with
	 * UNWIND_FP_DEREF at the frame pointer.
	 */
	unsigned int fp_slot;
};

/*
 * The rule at a code address: that of the call, i.e. the return address - 1. in_use: this thread is
 * in that code, so nobody may unload it meanwhile. Else it is looked up in a slower way, and is
 * UNWIND_UNKNOWN where part of its table has gone.
 */
struct unwind_rule unwind_cfi_rule(uintptr_t address, bool in_use);

#endif /* OS_UNWIND_CFI_H */
