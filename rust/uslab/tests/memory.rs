// SPDX-License-Identifier: MIT
//! Without memory: values come back, nothing is lost, and what may not fail ends the program.

use std::cell::Cell;
use std::process::Command;

use uslab::{sys, AllocError, Cache, Flags, SlabBox};

/// "1,100,0,-1": every allocation fails; "": none.
fn failslab(text: &[u8]) {
    // SAFETY: a string that ends with NUL.
    assert_eq!(unsafe { sys::uslab_set_failslab(text.as_ptr().cast()) }, 0);
}

fn values_come_back() {
    let cache: Cache<String> = Cache::builder("scarce")
        .flags(Flags::NO_MERGE)
        .build()
        .unwrap();
    let called = Cell::new(0);
    let count = || {
        called.set(called.get() + 1);
        String::from("made")
    };

    failslab(b"1,100,0,-1\0");
    let refused = SlabBox::try_new(&cache, String::from("text"));
    let with = SlabBox::try_new_with(&cache, count);
    let batch = cache.try_batch(100, |_| count());
    failslab(b"\0");
    match refused {
        Err(AllocError(text)) => assert_eq!(text, "text"),
        Ok(_) => panic!("there was memory"),
    }
    assert!(with.is_err() && batch.is_err());
    assert_eq!((called.get(), cache.stats().objects), (0, 0));
    assert_eq!(
        **cache.try_boxed(String::from("again")).as_ref().unwrap(),
        "again"
    );
}

fn ends_the_program() {
    let cache = Cache::new("scarce").unwrap();

    failslab(b"1,100,0,-1\0");
    drop(SlabBox::new(&cache, 1));
}

/// Fault injection spares requests that may wait unless the environment says otherwise, from the
/// start: so this is done in a process of its own.
fn in_child(name: &str) -> std::process::Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("USLAB_TEST_CHILD", "1")
        .env("USLAB_CONF", "failslab.ignore-gfp-wait=N")
        .output()
        .unwrap()
}

#[test]
fn without_memory_values_come_back() {
    if sys::FAKE || std::env::var_os("USLAB_TEST_CHILD").is_some() {
        values_come_back();
        return;
    }
    let run = in_child("without_memory_values_come_back");
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
}

#[test]
#[cfg_attr(miri, ignore)]
fn without_memory_new_ends_the_program() {
    if std::env::var_os("USLAB_TEST_CHILD").is_some() {
        ends_the_program();
        return;
    }
    let run = in_child("without_memory_new_ends_the_program");
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(!run.status.success());
    assert!(
        said.contains("memory allocation of 4 bytes failed"),
        "{}",
        said
    );
}
