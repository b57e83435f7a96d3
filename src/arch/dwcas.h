/* SPDX-License-Identifier: MIT */
/*
 * arch/dwcas.h - compare and swap of two adjacent words
 *
 * Data:       struct dword, aligned to 16 bytes.
 * Invariants: none.
 * Locks:      none. Full barrier on success and on failure.
 * Flow:       used by os/cpu/dword.h and page/page.h.
 *
 * Contract: ARCH_HAS_DWCAS: 1 where there is
 *     bool arch_dwcas(p, expect, update):
 *         atomically { if *p == expect { *p = update; return true; } return false; }
 */
#ifndef ARCH_DWCAS_H
#define ARCH_DWCAS_H

#include "base/compiler.h"

struct dword {
	_Alignas(16) uint64_t lo;
	uint64_t hi;
};

#if defined(__x86_64__) && !defined(USLAB_NO_DWCAS)
#include "arch/x86_64/dwcas.h"
#elif defined(__aarch64__) && !defined(USLAB_NO_DWCAS)
#include "arch/aarch64/dwcas.h"
#else
#include "arch/generic/dwcas.h"
#endif

#endif /* ARCH_DWCAS_H */
