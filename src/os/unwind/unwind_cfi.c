/* SPDX-License-Identifier: MIT */
/*
 * os/unwind/unwind_cfi.c - call frame instructions (DWARF 5, section 6.4)
 *
 * Data:       struct columns: one row of a function's table, as far as it is needed here.
 * Invariants: none.
 * Locks:      none.
 * Flow:       see unwind_cfi.h; the instructions that os/unwind/unwind_table.c finds are performed
 *             up to the address.
 *
 * Only the columns of the CFA, the return address and the frame pointer are kept: compilers compute
 * CFAs from the stack or the frame pointer. What else there is (hand-written
 * tables) is UNWIND_CHAIN.
 */
#include <errno.h>

#include "arch/unwind.h"
#include "os/symbol/object.h"
#include "os/unwind/unwind_cfi.h"
#include "os/unwind/unwind_table.h"

#define WORD 8

#define OP_BREG0 0x70
#define OP_DEREF 0x06

#define MAX_REMEMBERED 8

/* ---- instructions ---------------------------------------------------------------------------- */

enum where {
	SAME,	   /* not saved: still what it was */
	AT_CFA,	   /* saved at CFA + offset */
	AT_FP,	   /* saved at frame pointer + offset */
	UNDEFINED, /* there is none */
	ELSEWHERE,
};

struct column {
	enum where where;
	int offset;
};

struct columns {
	bool cfa_deref;		   /* CFA = word at register + offset */
	unsigned int cfa_register; /* UINT_MAX: computed in another way */
	int cfa_offset;
	struct column fp;
	struct column ra;
};

struct machine {
	const struct unwind_cie *cie;
	struct columns now;
	struct columns initial; /* after the CIE's instructions */
	struct columns remembered[MAX_REMEMBERED];
	unsigned int nr_remembered;
	uintptr_t location;
	bool failed; /* something that this reader cannot do */
};

static struct column *column_of(struct columns *c, unsigned int number)
{
	return number == ARCH_CFI_FP ? &c->fp : number == ARCH_CFI_RA ? &c->ra : NULL;
}

static void set_column(struct machine *m, unsigned int number, enum where where, int offset)
{
	struct column *column = column_of(&m->now, number);

	if (column)
		*column = (struct column){ where, offset };
}

static void restore_column(struct machine *m, unsigned int number)
{
	const struct column *initial = column_of(&m->initial, number);

	if (initial)
		set_column(m, number, initial->where, initial->offset);
}

/*
 * register + offset is the one expression that is understood: `DW_OP_bregN
 * offset`, and what follows.
 */
static bool is_sum(struct bytes *expression, unsigned int *number, int *offset)
{
	*number = (unsigned int)take(expression, 1) - OP_BREG0;
	*offset = take_sleb(expression);
	return !expression->cut && *number < 32;
}

static void cfa_expression(struct machine *m, struct bytes expression)
{
	struct columns *now = &m->now;

	now->cfa_deref = true;
	if (!is_sum(&expression, &now->cfa_register, &now->cfa_offset) ||
	    take(&expression, 1) != OP_DEREF || expression.at != expression.end)
		now->cfa_register = UINT32_MAX;
}

static void column_expression(struct machine *m, unsigned int number, struct bytes expression)
{
	unsigned int base;
	int offset;

	if (is_sum(&expression, &base, &offset) && base == ARCH_CFI_FP &&
	    expression.at == expression.end)
		set_column(m, number, AT_FP, offset);
	else
		set_column(m, number, ELSEWHERE, 0);
}

static void remember(struct machine *m)
{
	if (m->nr_remembered < MAX_REMEMBERED)
		m->remembered[m->nr_remembered++] = m->now;
	else
		m->failed = true;
}

static void restore_remembered(struct machine *m)
{
	if (m->nr_remembered)
		m->now = m->remembered[--m->nr_remembered];
	else
		m->failed = true;
}

/* DW_CFA_def_cfa and its kind. false: it is none of these. */
static bool perform_cfa(struct machine *m, unsigned int op, struct bytes *b)
{
	struct columns *now = &m->now;

	switch (op) {
	case 0x0c: /* DW_CFA_def_cfa */
		now->cfa_register = take_uleb(b);
		now->cfa_offset = (int)take_uleb(b);
		break;
	case 0x0d: /* DW_CFA_def_cfa_register */
		now->cfa_register = take_uleb(b);
		break;
	case 0x0e: /* DW_CFA_def_cfa_offset */
		now->cfa_offset = (int)take_uleb(b);
		break;
	case 0x12: /* DW_CFA_def_cfa_sf */
		now->cfa_register = take_uleb(b);
		now->cfa_offset = take_sleb(b) * m->cie->data_align;
		break;
	case 0x13: /* DW_CFA_def_cfa_offset_sf */
		now->cfa_offset = take_sleb(b) * m->cie->data_align;
		break;
	case 0x0f: /* DW_CFA_def_cfa_expression */
		cfa_expression(m, take_block(b, take_leb(b, false)));
		return true;
	default:
		return false;
	}
	now->cfa_deref = false;
	return true;
}

/* Where a register was saved. false: it is none of these. */
static bool perform_column(struct machine *m, unsigned int op, struct bytes *b)
{
	int data_align = m->cie->data_align;
	unsigned int number;

	if (op < 0x05 || op > 0x16 || (op >= 0x0a && op <= 0x0f) || op == 0x12 || op == 0x13)
		return false;
	number = take_uleb(b);
	switch (op) {
	case 0x05: /* DW_CFA_offset_extended */
		set_column(m, number, AT_CFA, (int)take_uleb(b) * data_align);
		break;
	case 0x06: /* DW_CFA_restore_extended */
		restore_column(m, number);
		break;
	case 0x07: /* DW_CFA_undefined */
		set_column(m, number, UNDEFINED, 0);
		break;
	case 0x08: /* DW_CFA_same_value */
		set_column(m, number, SAME, 0);
		break;
	case 0x10: /* DW_CFA_expression */
		column_expression(m, number, take_block(b, take_leb(b, false)));
		break;
	case 0x11: /* DW_CFA_offset_extended_sf */
		set_column(m, number, AT_CFA, take_sleb(b) * data_align);
		break;
	case 0x16: /* DW_CFA_val_expression */
		take_block(b, take_leb(b, false));
		set_column(m, number, ELSEWHERE, 0);
		break;
	default: /* DW_CFA_register, DW_CFA_val_offset, DW_CFA_val_offset_sf */
		take_leb(b, false);
		set_column(m, number, ELSEWHERE, 0);
		break;
	}
	return true;
}

static void perform_other(struct machine *m, unsigned int op, struct bytes *b)
{
	switch (op) {
	case 0x00: /* DW_CFA_nop */
		break;
	case 0x02: /* DW_CFA_advance_loc1, 2, 4 */
	case 0x03:
	case 0x04:
		m->location += take(b, 1u << (op - 2)) * m->cie->code_align;
		break;
	case 0x0a: /* DW_CFA_remember_state */
		remember(m);
		break;
	case 0x0b: /* DW_CFA_restore_state */
		restore_remembered(m);
		break;
	case 0x2e: /* DW_CFA_GNU_args_size */
		take_leb(b, false);
		break;
	default:
		m->failed = true;
	}
}

/* Performs what holds at the address: all up to the instruction that moves beyond it. */
static void perform(struct machine *m, struct bytes b, uintptr_t address)
{
	while (b.at < b.end && !b.cut && !m->failed) {
		unsigned int op = (unsigned int)take(&b, 1);
		unsigned int low = op & 0x3f;

		if (op >> 6 == 1) /* DW_CFA_advance_loc */
			m->location += low * m->cie->code_align;
		else if (op >> 6 == 2) /* DW_CFA_offset */
			set_column(m, low, AT_CFA, (int)take_uleb(&b) * m->cie->data_align);
		else if (op >> 6 == 3) /* DW_CFA_restore */
			restore_column(m, low);
		else if (!perform_cfa(m, op, &b) && !perform_column(m, op, &b))
			perform_other(m, op, &b);
		if (m->location > address)
			return;
	}
	m->failed |= b.cut;
}

/* ---- the rule -------------------------------------------------------------------------------- */

static unsigned int slot_of(const struct columns *c)
{
	int words = -c->fp.offset / WORD;

	if (c->fp.where == SAME)
		return UNWIND_SLOT_SAME;
	if (c->cfa_deref)
		return c->fp.where == AT_FP && !c->fp.offset ? 1 : UNWIND_SLOT_LOST;
	if (c->fp.where != AT_CFA || words <= 0 || words >= UNWIND_SLOT_LOST)
		return UNWIND_SLOT_LOST;
	return (unsigned int)words;
}

static struct unwind_rule rule_of(const struct columns *c)
{
	struct unwind_rule rule = { UNWIND_CHAIN, c->cfa_offset / WORD, slot_of(c) };

	if (c->ra.where == UNDEFINED)
		rule.kind = UNWIND_END;
	else if (c->ra.where != AT_CFA || c->ra.offset != -WORD || c->cfa_offset % WORD)
		rule.kind = UNWIND_CHAIN;
	else if (c->cfa_register == ARCH_CFI_FP)
		rule.kind = c->cfa_deref ? UNWIND_FP_DEREF : UNWIND_FP;
	else if (c->cfa_register == ARCH_CFI_SP && !c->cfa_deref)
		rule.kind = UNWIND_SP;
	return rule;
}

static struct unwind_rule look_up(uintptr_t address, bool *gone)
{
	struct unwind_rule rule = { UNWIND_UNKNOWN, 0, 0 };
	struct unwind_entry entry;
	struct machine m;
	int ret = unwind_table_find(address, gone, &entry);

	if (ret == -ESRCH)
		return rule;
	rule.kind = UNWIND_CHAIN;
	if (ret)
		return rule;
	if (entry.cie.is_signal) {
		rule.kind = UNWIND_SIGNAL;
		return rule;
	}
	m.cie = &entry.cie;
	m.location = entry.function;
	m.now = (struct columns){ .cfa_register = UINT32_MAX };
	m.nr_remembered = 0;
	m.failed = false;
	perform(&m, entry.cie.instructions, address);
	m.initial = m.now;
	perform(&m, entry.instructions, address);
	return m.failed ? rule : rule_of(&m.now);
}

/* A table that has gone halfway says nothing, or something wrong. */
struct unwind_rule unwind_cfi_rule(uintptr_t address, bool in_use)
{
	const struct unwind_rule unknown = { UNWIND_UNKNOWN, 0, 0 };
	struct unwind_rule rule;
	struct os_object object;
	bool gone = false;

	if (in_use)
		return look_up(address, NULL);
	if (!os_object_find(address, &object))
		return unknown;
	rule = look_up(address, &gone);
	/* it may have come back meanwhile */
	return !gone && os_object_is_loaded(&object) ? rule : unknown;
}
