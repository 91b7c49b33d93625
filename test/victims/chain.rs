// SPDX-License-Identifier: Apache-2.0
//! The plain chain in Rust, built as a release.
use std::arch::asm;

#[repr(C)]
struct Timespec {
    sec: i64,
    nsec: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, t: *mut Timespec) -> i32;
}

const CLOCK_THREAD_CPUTIME_ID: i32 = 3;

fn cpu_ns() -> u64 {
    let mut t = Timespec { sec: 0, nsec: 0 };
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.sec as u64 * 1_000_000_000 + t.nsec as u64
}

/// A value of which the optimiser knows nothing.
#[inline(always)]
fn opaque(mut x: u64) -> u64 {
    unsafe { asm!("/* {0} */", inout(reg) x) };
    x
}

/// Leaves differ by a constant, so that the linker does not fold them into one.
macro_rules! leaf {
    ($name:ident, $seed:expr) => {
        #[inline(never)]
        fn $name(n: u64) -> u64 {
            let mut x: u64 = $seed;
            for i in 0..n {
                x = opaque(x.wrapping_mul(6364136223846793005).wrapping_add(i));
            }
            x
        }
    };
}

leaf!(leaf_a, 101);
leaf!(leaf_b, 202);
leaf!(leaf_c, 303);

macro_rules! timed {
    ($spent:expr, $call:expr) => {
        let from = cpu_ns();
        opaque($call);
        $spent += cpu_ns() - from;
    };
}

#[inline(never)]
fn middle(n: u64, spent: &mut [u64; 3]) -> u64 {
    timed!(spent[0], leaf_a(opaque(6 * n)));
    timed!(spent[1], leaf_b(opaque(3 * n)));
    timed!(spent[2], leaf_c(opaque(n)));
    opaque(n)
}

#[inline(never)]
fn outer(n: u64, spent: &mut [u64; 3]) -> u64 {
    opaque(middle(opaque(n), spent)) + 1
}

#[inline(never)]
fn victim_main(budget_ns: u64) -> [u64; 3] {
    let mut spent = [0; 3];
    let start = cpu_ns();
    let (mut now, mut n) = (start, 1000);
    while now - start < budget_ns {
        let from = now;
        opaque(outer(n, &mut spent));
        now = cpu_ns();
        if now - from < 5_000_000 {
            n *= 2;
        }
    }
    spent
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1.0);
    let [a, b, c] = victim_main((seconds * 1e9) as u64);
    println!("{{\"pid\": {}, \"leaf_a\": {}, \"leaf_b\": {}, \"leaf_c\": {}}}", std::process::id(), a, b, c);
}
