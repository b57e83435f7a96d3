/* SPDX-License-Identifier: MIT */
/*
 * os/symbol/pin.h - a shared object that dlclose() must not unload
 *
 * Data:       none; the loader's own mark.
 * Invariants: errno is preserved. A pinned object stays until the process ends.
 * Locks:      none held by the caller: the dynamic loader takes its own.
 * Flow:       called by api/init.c, from constructors.
 */
#ifndef OS_PIN_H
#define OS_PIN_H

#include "base/compiler.h"

/*
 * Pins the object that an address lies in. The program itself, which is never unloaded, counts
 * as pinned. false: no object, or the loader does not find it again by the name that it has.
 * Not from a signal handler.
 */
bool os_pin_object(const void *address);

#endif /* OS_PIN_H */
