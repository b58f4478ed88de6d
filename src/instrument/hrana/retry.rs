//! Retries after a pause when the server is busy.

use super::failure::Failure;
use std::time::Duration;

/// How often to try, and how long to pause in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The pause before the second attempt; it doubles before each further attempt.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
    /// The largest number of attempts, including the first.
    pub attempts: u32,
}

impl Default for Backoff {
    /// Pauses for 2, 4, 8, 16, 32, 64, 100, 100 … ms: about 10 s in all before giving up, and again as long
    /// on a server that waits 100 ms itself before it reports that it is busy.
    fn default() -> Self {
        Backoff { first: Duration::from_millis(2), longest: Duration::from_millis(100), attempts: 100 }
    }
}

/// The result of a call that may have been repeated.
#[derive(Debug)]
pub struct Retried<T> {
    /// The result of the last attempt.
    pub outcome: Result<T, Failure>,
    /// How often the server was busy.
    pub busy: u32,
    /// How long the first attempt took.
    pub first: Duration,
}

impl Backoff {
    /// Repeats the call until the result is anything but BUSY. `on_busy` sleeps, and returns whether to go
    /// on.
    pub fn run<T>(
        &self,
        mut call: impl FnMut() -> Result<T, Failure>,
        mut on_busy: impl FnMut(Duration) -> bool,
    ) -> Retried<T> {
        let begun = std::time::Instant::now();
        let mut outcome = call();
        let first = begun.elapsed();
        let mut busy = 0;
        let mut pause = self.first;
        while let Err(failure) = &outcome
            && failure.is_busy()
        {
            busy += 1;
            if busy >= self.attempts || !on_busy(pause) {
                break;
            }
            pause = (pause * 2).min(self.longest);
            outcome = call();
        }
        Retried { outcome, busy, first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy() -> Failure {
        Failure::Server { code: "SQLITE_BUSY".into(), message: "database is locked".into() }
    }

    #[test]
    fn only_busy_is_repeated() {
        let mut pauses = Vec::new();
        let mut answers = vec![Err(busy()), Err(busy()), Ok(7)].into_iter();
        let retried = Backoff::default().run(
            || answers.next().unwrap(),
            |pause| {
                pauses.push(pause.as_millis());
                true
            },
        );
        assert_eq!((retried.outcome, retried.busy, pauses), (Ok(7), 2, vec![2, 4]));
        let other =
            Backoff::default().run(|| Err::<(), _>(Failure::Dropped("x".into())), |_| panic!("no pause"));
        assert_eq!(other.busy, 0);
    }

    #[test]
    fn it_ends() {
        let few = Backoff { attempts: 3, ..Backoff::default() };
        let retried = few.run(|| Err::<(), _>(busy()), |_| true);
        assert_eq!((retried.busy, retried.outcome), (3, Err(busy())));
        assert_eq!(few.run(|| Err::<(), _>(busy()), |_| false).busy, 1);
    }
}
