//! How fast the machine is at the moment: two short loops of fixed work, timed before and after each run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Instant;

/// The times of the two loops in ns. Each is the shortest of five, so that it shows the speed of the CPU and of the
/// memory, not who else used the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Speed {
    /// A chain of shifts in registers.
    pub register_ns: u64,
    /// A walk through 32 MiB of memory in which each address depends on the one before.
    pub memory_ns: u64,
}

/// The speed before and after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Speeds {
    /// The speed right before the run.
    pub before: Speed,
    /// The speed right after it.
    pub after: Speed,
}

/// How often each loop is timed.
const REPEATS: u32 = 5;
/// About 4 ms each on a CPU of 3 GHz. An unoptimised build makes a tenth of them, and compares only with itself.
const SHIFTS: u64 = if cfg!(debug_assertions) { 200_000 } else { 2_000_000 };
const STEPS: u32 = if cfg!(debug_assertions) { 2_000 } else { 20_000 };

/// The number of 64-byte lines in 32 MiB.
const LINES: u32 = 1 << 19;

/// A line of the memory that is walked through; its first word is the index of the next line.
#[repr(align(64))]
#[derive(Clone)]
struct Line(u32);

/// All lines in one cycle, in a random order that no prefetcher guesses.
static CYCLE: LazyLock<Vec<Line>> = LazyLock::new(|| {
    let mut lines: Vec<Line> = (0..LINES).map(Line).collect();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    // Sattolo's algorithm: each element swaps with one before it, so one cycle remains.
    for last in (1..LINES as usize).rev() {
        random = shifted(random);
        let other = ((random >> 32) as usize) % last;
        let held = lines[last].0;
        lines[last].0 = lines[other].0;
        lines[other].0 = held;
    }
    lines
});

/// Returns the next number of a xorshift generator. Unlike multiplications, no compiler folds two such steps into one.
fn shifted(mut x: u64) -> u64 {
    x ^= x << 13;
    x ^= x >> 7;
    x ^ (x << 17)
}

impl Speed {
    /// Times both loops now, which takes about 40 ms, and once more the time to lay out the memory.
    pub fn measure() -> Speed {
        let lines = &*CYCLE;
        let mut at = 0;
        let register = || (0..SHIFTS).fold(black_box(1), |x, _| shifted(x));
        let walk = || {
            at = (0..STEPS).fold(at, |at, _| lines[at as usize].0);
            u64::from(at)
        };
        Speed { register_ns: shortest(register), memory_ns: shortest(walk) }
    }
}

fn shortest(mut work: impl FnMut() -> u64) -> u64 {
    let time = |_| {
        let begin = Instant::now();
        black_box(work());
        begin.elapsed().as_nanos() as u64
    };
    (0..REPEATS).map(time).min().unwrap_or_default().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_one_cycle() {
        let (mut at, mut length) = (0, 0);
        loop {
            at = CYCLE[at as usize].0;
            length += 1;
            if at == 0 {
                break;
            }
        }
        assert_eq!(length, LINES);
    }

    #[test]
    fn both_loops_take_time() {
        let Speed { register_ns, memory_ns } = Speed::measure();
        assert!(register_ns > 10_000 && memory_ns > 10_000, "{register_ns} {memory_ns}");
    }
}
