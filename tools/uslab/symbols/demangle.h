/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/demangle.h - names of C++ and Rust as people write them
 */
#ifndef TOOLS_DEMANGLE_H
#define TOOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a name, mangled or, of Rust, demangled, with its 0: longer ones are left as they are. */
#define DEMANGLE_MOST 16384u

/*
 * To be freed; NULL: it is no mangled name, it is too long (or there is no memory). Names of Rust
 * have no hash, nor the numbers of crates.
 */
char *demangle(const char *name);

/* A mangled name of Rust, of either form: _R..., and _ZN...17h<16 digits>E. */
bool demangle_is_rust(const char *name);

/*
 * For people: `std::vector<...>::push_back()`, without template arguments that are
 * long. Cut to the buffer.
 */
void demangle_shorten(char *buf, size_t size, const char *name);

#endif /* TOOLS_DEMANGLE_H */
