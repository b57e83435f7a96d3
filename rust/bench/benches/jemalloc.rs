// SPDX-License-Identifier: MIT
//! All loads on jemalloc.

#[global_allocator]
static GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    let mut criterion = uslab_bench::criterion();

    uslab_bench::all(&mut criterion, "jemalloc");
    criterion.final_summary();
}
