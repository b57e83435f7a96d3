/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/rust_v0.h - the newer form of Rust's mangled names, _R...
 */
#ifndef TOOLS_RUST_V0_H
#define TOOLS_RUST_V0_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The name as people write it, with its 0, without hashes and the numbers of crates. false: it is
 * no such name, it does not fit into size bytes, or it refers to its parts too often.
 * Source: Rust RFC 2603, and "Symbol Mangling" in the rustc book.
 */
bool rust_v0_demangle(const char *name, char *buf, size_t size);

#endif /* TOOLS_RUST_V0_H */
