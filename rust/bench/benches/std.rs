// SPDX-License-Identifier: MIT
//! All loads on libc, by std.

#[global_allocator]
static GLOBAL: std::alloc::System = std::alloc::System;

fn main() {
    let mut criterion = uslab_bench::criterion();

    uslab_bench::all(&mut criterion, "std");
    criterion.final_summary();
}
