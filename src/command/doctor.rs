//! The subcommand `repro doctor`.

use super::output;
use crate::cli::DoctorArgs;
use crate::exit::Exit;
use crate::machine::advice::{self, Severity};
use crate::machine::{Host, disk, noise::Snapshot};
use crate::report::table::{Text, Tone};
use crate::stats::counted;
use anyhow::Result;

/// Prints what would spoil a measurement on this machine, the worst first.
pub fn run(args: &DoctorArgs) -> Result<Exit> {
    let folder = disk::sqlite_temporary_directory(args.temp_dir.as_deref());
    let mut findings = advice::examine(&Host::capture(false), &Snapshot::take(), &folder);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut lines: Vec<Text> = Vec::new();
    for finding in &findings {
        let (mark, tone) = match finding.severity {
            Severity::Ok => ("ok     ", Tone::Good),
            Severity::Note => ("note   ", Tone::Plain),
            Severity::Warning => ("WARNING", Tone::Warning),
        };
        lines.push(Text::new(format!("{mark}  {}", finding.what), tone));
        lines.extend(finding.advice.as_ref().map(|advice| Text::from(format!("         {advice}"))));
    }
    let warnings = findings.iter().filter(|finding| finding.severity == Severity::Warning).count();
    lines.push(match warnings {
        0 => "nothing here would spoil a measurement".into(),
        n => format!("{}: figures measured now may not be fit to cite", counted(n as u64, "warning")).into(),
    });
    output::print_lines(&lines)?;
    Ok(Exit::Fine)
}
