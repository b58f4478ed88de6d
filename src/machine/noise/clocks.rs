//! The clocks of the kernel against each other: whether one was stepped or slewed, and whether the machine slept.

use nix::time::{ClockId, clock_gettime};

/// Four clocks, read one after the other, in µs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// The wall clock.
    realtime: i64,
    /// The clock that is never stepped, but slewed, and stands still while the machine sleeps.
    monotonic: i64,
    /// The same without being slewed.
    raw: i64,
    /// The monotonic clock with the time asleep.
    boot: i64,
}

impl Clocks {
    /// Reads them all, or returns `None` if the kernel lacks one.
    pub fn read() -> Option<Clocks> {
        let micros =
            |id| clock_gettime(id).ok().map(|time| time.tv_sec() * 1_000_000 + time.tv_nsec() / 1000);
        Some(Clocks {
            realtime: micros(ClockId::CLOCK_REALTIME)?,
            monotonic: micros(ClockId::CLOCK_MONOTONIC)?,
            raw: micros(ClockId::CLOCK_MONOTONIC_RAW)?,
            boot: micros(ClockId::CLOCK_BOOTTIME)?,
        })
    }

    /// Returns the wall clock over the one that also counts sleep; it changes only when somebody steps the clock.
    pub fn step_us(&self) -> i64 {
        self.realtime - self.boot
    }

    /// Returns by how much the monotonic clock was slewed since boot.
    pub fn slew_us(&self) -> i64 {
        self.monotonic - self.raw
    }

    /// Returns the time asleep since boot.
    pub fn asleep_us(&self) -> i64 {
        self.boot - self.monotonic
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_sleep_are_apart() {
        let before = Clocks { realtime: 1_000_000, monotonic: 500, raw: 500, boot: 500 };
        let slept = Clocks { realtime: 4_000_000, monotonic: 1_000_500, raw: 1_000_500, boot: 3_000_500 };
        let change = |of: fn(&Clocks) -> i64, after: &Clocks| of(after) - of(&before);
        assert_eq!(change(Clocks::asleep_us, &slept), 2_000_000);
        assert_eq!(change(Clocks::step_us, &slept), 0);
        let stepped = Clocks { realtime: 500_000, ..before };
        assert_eq!(change(Clocks::step_us, &stepped), -500_000);
        assert_eq!(change(Clocks::slew_us, &Clocks { monotonic: 510, boot: 510, ..before }), 10);
    }

    #[test]
    fn this_machine_has_them_all() {
        let (before, after) = (Clocks::read().unwrap(), Clocks::read().unwrap());
        assert!((after.step_us() - before.step_us()).abs() < 1_000_000);
    }
}
