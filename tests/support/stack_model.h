/* SPDX-License-Identifier: MIT */
/*
 * support/stack_model.h - os_unwind() beside libgcc's unwinder, which is the model
 *
 * look() stores what both see of the same stack.
 */
#ifndef SUPPORT_STACK_MODEL_H
#define SUPPORT_STACK_MODEL_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

#include "arch/unwind.h"
#include "base/bits.h"
#include "os/unwind.h"

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

	if (!ARCH_HAS_CFI) /* frame pointers end in the first library that has none */
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
