// SPDX-License-Identifier: MIT
//! All loads on mimalloc.

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let mut criterion = uslab_bench::criterion();

    uslab_bench::all(&mut criterion, "mimalloc");
    criterion.final_summary();
}
