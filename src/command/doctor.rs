//! `repro doctor`.

use super::{Exit, output};
use crate::cli::DoctorArgs;
use crate::environment::advice::{self, Severity};
use crate::environment::{Host, disk, noise::Snapshot};
use anyhow::Result;

/// Prints what would spoil a measurement here, the worst first.
pub fn run(args: &DoctorArgs) -> Result<Exit> {
    let folder = disk::sqlite_temporary_directory(args.temp_dir.as_deref());
    let mut findings = advice::examine(&Host::capture(false), &Snapshot::take(), &folder);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut lines = Vec::new();
    for finding in &findings {
        let mark = match finding.severity {
            Severity::Ok => "ok     ",
            Severity::Note => "note   ",
            Severity::Warning => "WARNING",
        };
        lines.push(format!("{mark}  {}", finding.what));
        lines.extend(finding.advice.as_ref().map(|advice| format!("         {advice}")));
    }
    let warnings = findings.iter().filter(|finding| finding.severity == Severity::Warning).count();
    lines.push(match warnings {
        0 => "nothing here would spoil a measurement".to_string(),
        1 => "1 warning: figures measured now may not be fit to cite".to_string(),
        n => format!("{n} warnings: figures measured now may not be fit to cite"),
    });
    output::print(&(lines.join("\n") + "\n"))?;
    Ok(Exit::Fine)
}
