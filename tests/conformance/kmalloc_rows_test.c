/* SPDX-License-Identifier: MIT */
/*
 * conformance/kmalloc_rows_test.c - kmalloc with rows does the same, for every engine with every
 * front
 */
#define PAIRS_CONF "kmalloc.partition=random"
#define KMALLOC_PLACE(n) ((const void *)(0x401000ul + (n) % 97 * 5))
#include "conformance/kmalloc_test.c"
