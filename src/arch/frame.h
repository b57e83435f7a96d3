/* SPDX-License-Identifier: MIT */
/*
 * arch/frame.h - what a function's frame looks like on this CPU, if it keeps a frame pointer
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       used by os/unwind/unwind.c; includes the file of this CPU.
 *
 * Contract: ARCH_FRAME_RECORD: words from where a frame pointer points to where the caller's frame
 *           pointer is saved, behind which the return address is.
 *           arch_code_address(word): the address in a saved return address, which may be signed.
 */
#ifndef ARCH_FRAME_H
#define ARCH_FRAME_H

#include <stdint.h>

#if defined(__aarch64__)
#include "arch/aarch64/frame.h"
#elif defined(__riscv)
#include "arch/riscv64/frame.h"
#else
#include "arch/generic/frame.h"
#endif

#endif /* ARCH_FRAME_H */
