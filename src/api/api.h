/* SPDX-License-Identifier: MIT */
/*
 * api/api.h - what the files of this folder share
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       included by api/ only.
 */
#ifndef API_API_H
#define API_API_H

/* The whole library ready, kmalloc caches included: 0 or -errno. Cheap after the first time. */
int api_init(void);

#endif /* API_API_H */
