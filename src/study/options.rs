//! Options that studies share, and which options of a plan a study accepts.

use super::Scale;
use clap::Args;
use std::fmt;
use std::path::PathBuf;

/// Repeats and limits.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Plan")]
pub struct PlanArgs {
    /// The number of runs that count [default: 6; capture: fixed by a pilot]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,

    /// The number of warm-up runs, which come first and do not count [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub warmup: Option<u32>,

    /// Continue until the 95 % interval of TOTAL is within ± this percentage, such as 1%
    #[arg(long, value_name = "PERCENT", value_parser = super::parse::percent)]
    pub until_ci: Option<f64>,

    /// The largest number of counted runs with --until-ci [default: 30]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_runs: Option<u32>,

    /// Bind the tool to this CPU
    #[arg(long, value_name = "CPU")]
    pub pin: Option<usize>,

    /// Pause this long before each run [default: no pause]
    #[arg(long, value_name = "SECONDS", value_parser = super::parse::seconds)]
    pub cooldown: Option<f64>,

    /// Stop a run that takes longer than this [default: 600 s, plus 6 s for each unit of --size above 100]
    #[arg(long, value_name = "SECONDS", value_parser = super::parse::positive_seconds)]
    pub deadline: Option<f64>,

    /// Skip the untimed run that checks the answers
    #[arg(long)]
    pub no_answer_check: bool,
}

/// The server that a study starts.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Server")]
pub struct ServerArgs {
    /// The sqld to start [default: the one in SQLD, PATH or vendor/; fetched if none]
    #[arg(long, value_name = "FILE")]
    pub sqld: Option<PathBuf>,

    /// An additional argument for sqld, such as --sqld-arg=--checkpoint-interval-s=86400
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub sqld_arg: Vec<String>,

    /// The folder for the databases [default: where SQLite puts temporary files]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// Keep the databases afterwards
    #[arg(long)]
    pub keep: bool,
}

/// What may be wished of the plan of any study, whatever it measures.
#[derive(Args, Clone, Debug, Default)]
pub struct Wishes {
    /// Repeats and limits.
    #[command(flatten)]
    pub plan: PlanArgs,

    /// The folder for databases and for SQLite's temporary files
    #[arg(long, value_name = "DIR", help_heading = "Plan")]
    pub temp_dir: Option<PathBuf>,

    /// The sqld of a study that needs a server [default: the one in SQLD, PATH or vendor/; fetched if none]
    #[arg(long, value_name = "FILE", help_heading = "Plan")]
    pub sqld: Option<PathBuf>,

    /// Shrink the study: its rows, its operations or the length of its phases
    #[arg(long, value_name = "1/N", help_heading = "Plan")]
    pub scale: Option<Scale>,

    /// Also compile and run the other builds that claims are about (takes about a minute)
    #[arg(long, help_heading = "Plan")]
    pub build_variants: bool,
}

/// An option of [`Wishes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum PlanOption {
    Runs,
    Warmup,
    UntilCi,
    MaxRuns,
    Pin,
    Cooldown,
    Deadline,
    NoAnswerCheck,
    TempDir,
    Sqld,
    Scale,
    BuildVariants,
}

impl fmt::Display for PlanOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PlanOption::Runs => "--runs",
            PlanOption::Warmup => "--warmup",
            PlanOption::UntilCi => "--until-ci",
            PlanOption::MaxRuns => "--max-runs",
            PlanOption::Pin => "--pin",
            PlanOption::Cooldown => "--cooldown",
            PlanOption::Deadline => "--deadline",
            PlanOption::NoAnswerCheck => "--no-answer-check",
            PlanOption::TempDir => "--temp-dir",
            PlanOption::Sqld => "--sqld",
            PlanOption::Scale => "--scale",
            PlanOption::BuildVariants => "--build-variants",
        })
    }
}

impl Wishes {
    /// Returns the options that the user gave.
    fn expressed(&self) -> Vec<PlanOption> {
        let plan = &self.plan;
        let all = [
            (PlanOption::Runs, plan.runs.is_some()),
            (PlanOption::Warmup, plan.warmup.is_some()),
            (PlanOption::UntilCi, plan.until_ci.is_some()),
            (PlanOption::MaxRuns, plan.max_runs.is_some()),
            (PlanOption::Pin, plan.pin.is_some()),
            (PlanOption::Cooldown, plan.cooldown.is_some()),
            (PlanOption::Deadline, plan.deadline.is_some()),
            (PlanOption::NoAnswerCheck, plan.no_answer_check),
            (PlanOption::TempDir, self.temp_dir.is_some()),
            (PlanOption::Sqld, self.sqld.is_some()),
            (PlanOption::Scale, self.scale.is_some()),
            (PlanOption::BuildVariants, self.build_variants),
        ];
        all.into_iter().filter(|(_, expressed)| *expressed).map(|(option, _)| option).collect()
    }

    /// Refuses options that a study does not take.
    ///
    /// # Errors
    /// Names the option, the study, and the options that the study takes.
    pub fn check(&self, study: &str, takes: &[PlanOption]) -> Result<(), String> {
        match self.expressed().into_iter().find(|option| !takes.contains(option)) {
            None => Ok(()),
            Some(stranger) => {
                let takes: Vec<String> = takes.iter().map(PlanOption::to_string).collect();
                Err(format!(
                    "{stranger} does not apply to {study}: leave it out; {study} takes {}",
                    takes.join(", ")
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_that_would_be_ignored_is_refused() {
        let wishes = Wishes { scale: Some(Scale::default()), ..Wishes::default() };
        assert_eq!(wishes.check("a", &[PlanOption::Runs, PlanOption::Scale]), Ok(()));
        assert_eq!(
            wishes.check("a", &[PlanOption::Runs, PlanOption::Pin]),
            Err("--scale does not apply to a: leave it out; a takes --runs, --pin".to_string())
        );
        assert_eq!(Wishes::default().check("a", &[]), Ok(()));
    }
}
