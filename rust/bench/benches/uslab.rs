// SPDX-License-Identifier: MIT
//! All loads on uslab.

#[global_allocator]
static GLOBAL: uslab::Uslab = uslab::Uslab;

fn main() {
    let mut criterion = uslab_bench::criterion();

    uslab_bench::all(&mut criterion, "uslab");
    criterion.final_summary();
}
