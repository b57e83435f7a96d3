/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve_library.h - functions of the libraries of C++ and Rust, by file and name
 */
#ifndef TOOLS_RESOLVE_LIBRARY_H
#define TOOLS_RESOLVE_LIBRARY_H

#include <stdbool.h>

#include "symbols/resolve.h"

/* Without a file the name decides. */
bool resolve_is_of_library(const struct resolve_frame *frame);

#endif /* TOOLS_RESOLVE_LIBRARY_H */
