// SPDX-License-Identifier: MIT
//! CPU time of the calling thread, for criterion: what else runs on the machine counts little.

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::Throughput;

pub struct CpuTime;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

const CLOCK_THREAD_CPUTIME_ID: i32 = 3;

/// Nanoseconds.
fn now() -> f64 {
    let mut time = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };

    // SAFETY: libc writes the structure, which is as C has it on machines of 64 bits.
    assert_eq!(
        unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) },
        0
    );
    time.seconds as f64 * 1e9 + time.nanoseconds as f64
}

impl Measurement for CpuTime {
    type Intermediate = f64;
    type Value = f64;

    fn start(&self) -> f64 {
        now()
    }
    fn end(&self, start: f64) -> f64 {
        now() - start
    }
    fn add(&self, a: &f64, b: &f64) -> f64 {
        a + b
    }
    fn zero(&self) -> f64 {
        0.0
    }
    fn to_f64(&self, value: &f64) -> f64 {
        *value
    }
    fn formatter(&self) -> &dyn ValueFormatter {
        &Nanoseconds
    }
}

/// As criterion prints times.
struct Nanoseconds;

impl ValueFormatter for Nanoseconds {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        WallTime.formatter().scale_values(typical, values)
    }
    fn scale_throughputs(
        &self,
        typical: f64,
        per: &Throughput,
        values: &mut [f64],
    ) -> &'static str {
        WallTime.formatter().scale_throughputs(typical, per, values)
    }
    fn scale_for_machines(&self, values: &mut [f64]) -> &'static str {
        WallTime.formatter().scale_for_machines(values)
    }
}
