/* SPDX-License-Identifier: MIT */
/*
 * cache/callback.c - calls of functions of the program that make room: one at a time in each thread
 *
 * Data:       see callback.h.
 * Invariants: see callback.h.
 * Locks:      see callback.h.
 * Flow:       see callback.h.
 */
#include "cache/callback.h"

__thread uintptr_t *callback_inside;
