//! The commands `repro` and `repro run`.

use super::output;
use crate::cli::StudyRun;
use crate::exit::Exit;
use crate::study::Wishes;
use crate::study::session;
use anyhow::Result;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Measures a study, shows its tables, and stores its record.
pub fn run(run: &StudyRun, interrupted: Arc<AtomicBool>) -> Result<Exit> {
    let (options, output) = (&run.options, &run.output);
    output::check_all(&output.formats, output.record.record.as_deref())?;
    let destination = output::destination(&output.record, output.formats.force)?;
    let setting = output.watch.setting(interrupted);
    let task = options.study.asked(&options.matches, &Wishes::default(), &setting)?;
    output::says_if_few(&*task, setting.quiet);
    let measured = session::measure(&*task, &setting, &destination)?;
    output::record(options.study, &measured.record, &output.formats)?;
    output::says_where(measured.path.as_deref());
    let wrong = measured.record.legs.iter().any(|leg| leg.answer.is_wrong());
    measured.failure.map_or(Ok(if wrong { Exit::Differs } else { Exit::Fine }), Err)
}
