/* SPDX-License-Identifier: MIT */
/*
 * support/stack_model.h - os_unwind() beside libgcc's unwinder, which is the model
 *
 * look() stores what both see of the same stack.
 */
#ifndef SUPPORT_STACK_MODEL_H
#define SUPPORT_STACK_MODEL_H

#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

#include "arch/unwind.h"
#include "base/bits.h"
#include "os/unwind/unwind.h"

/*
 * Stacks are found by tables here: of this CPU, and as glibc finds those of an object since 2.35.
 * Otherwise by frame pointers, which end in the first library that has none, and there is no model.
 */
#if ARCH_HAS_CFI && defined(DLFO_STRUCT_HAS_EH_DBASE)
#define HAS_MODEL 1
#else
#define HAS_MODEL 0
#define _Unwind_Backtrace(function, arg) ((void)(function), (void)(arg))
#define _Unwind_GetIPInfo(context, before) (*(before) = 0, (uintptr_t)(context))
#endif

/*
 * Callers are found: by tables, or by frame pointers, which only aarch64's compilers keep unasked.
 */
#if HAS_MODEL || defined(__aarch64__)
#define FINDS_CALLERS 1
#else
#define FINDS_CALLERS 0
#endif

#define DEPTH 48

struct stack {
	unsigned int nr;
	uintptr_t pc[DEPTH];
};

static __thread struct stack ours;
static __thread struct stack model;

/* What a signal interrupted is no call: the model says so, we count it as one byte on. */
static _Unwind_Reason_Code add_to_model(struct _Unwind_Context *context, void *arg)
{
	struct stack *s = arg;
	int before;
	uintptr_t pc = _Unwind_GetIPInfo(context, &before);

	if (pc && s->nr < DEPTH)
		s->pc[s->nr++] = pc + (before ? 1 : 0);
	return _URC_NO_REASON;
}

static noinline void look(void)
{
	ours.nr = os_unwind(NULL, ours.pc, DEPTH);
	model.nr = 0;
	_Unwind_Backtrace(add_to_model, &model);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

/* All but the first frame, which is that of look(): two places in it. */
static bool is_like_model(void)
{
	unsigned int i;

	if (!HAS_MODEL)
		return ours.nr > 0;
	if (ours.nr == model.nr && ours.nr > 1 &&
	    !memcmp(ours.pc + 1, model.pc + 1, (ours.nr - 1) * sizeof(ours.pc[0])))
		return true;
	for (i = 0; i < MAX(ours.nr, model.nr); i++)
		fprintf(stderr, "%2u ours %#lx model %#lx\n", i, i < ours.nr ? ours.pc[i] : 0,
			i < model.nr ? model.pc[i] : 0);
	return false;
}

#endif /* SUPPORT_STACK_MODEL_H */
