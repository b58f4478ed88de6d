//! The subcommand `repro verify`.

use super::{output, record, references};
use crate::cli::VerifyArgs;
use crate::exit::Exit;
use crate::instrument::folders;
use crate::record::store::Destination;
use crate::record::{Cause, Failure, Record};
use crate::report::{self, Table};
use crate::study::session::{self, Setting};
use crate::study::{Study, Task, registry};
use crate::verify::verdict::Report;
use crate::verify::{Reference, Verdict, comparison, foresight};
use anyhow::{Result, anyhow, bail};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A reference, its study, and what there is to measure; no task if a record is given.
struct Subject {
    reference: Reference,
    study: &'static dyn Study,
    task: Option<Box<dyn Task>>,
}

/// Judges each reference; the command succeeds only if all of them are reproduced.
pub fn run(args: &VerifyArgs, interrupted: Arc<AtomicBool>) -> Result<Exit> {
    output::check(&[args.json.as_deref(), args.markdown.as_deref()], args.force)?;
    let given = args.judged.as_deref().map(record::load).transpose()?.map(|(_, record)| record);
    let setting = args.watch.setting(interrupted);
    let subject = |named: &PathBuf| subject(args, named, given.is_none(), &setting);
    let subjects = args.references.iter().map(subject).collect::<Result<Vec<Subject>>>()?;
    let mut measured: Vec<Record> = Vec::new();
    let (mut reports, mut tables) = (Vec::new(), Vec::new());
    for Subject { reference, study, task } in &subjects {
        let record = match (&given, task) {
            (Some(record), _) => record.clone(),
            (None, Some(task)) => {
                output::says_if_few(&**task, setting.quiet);
                measure(&**task, &setting, &mut measured)?
            }
            (None, None) => bail!("{}: nothing to measure", reference.name),
        };
        let report = comparison::judge(reference, &record, args.strict).map_err(|reason| match given {
            Some(_) => anyhow!("{}: {reason}", args.judged.as_deref().unwrap_or("".as_ref()).display()),
            None => Failure::saying(Cause::Error, reason).into(),
        })?;
        if study.explains_verdicts() && record.study == study.shape().name {
            tables.extend(output::tables(*study, &record));
        }
        tables.push(report::verdict::table(&report));
        reports.push(report);
    }
    publish(args, &reports, &tables)?;
    let statuses: Vec<Exit> = reports.iter().map(|report| status(report.whole().0)).collect();
    // What differs outweighs what is undecided.
    let worse = [Exit::Differs, Exit::Undecided].into_iter().find(|worse| statuses.contains(worse));
    Ok(worse.unwrap_or(Exit::Fine))
}

fn status(whole: Verdict) -> Exit {
    match whole {
        Verdict::Reproduced => Exit::Fine,
        Verdict::Undecided => Exit::Undecided,
        Verdict::Differs | Verdict::Missing | Verdict::NotComparable => Exit::Differs,
    }
}

/// Reads a reference and checks, before anything is measured, that its study can do what is asked for.
fn subject(args: &VerifyArgs, named: &Path, measures: bool, setting: &Setting) -> Result<Subject> {
    let reference = references::load(named, args.folder.as_deref())?;
    let study = registry::named(&reference.about.study).ok_or_else(|| {
        anyhow!("{}: no study is called `{}`; see `repro list`", reference.name, reference.about.study)
    })?;
    if !measures {
        return Ok(Subject { reference, study, task: None });
    }
    let name = &reference.name;
    args.wishes.check(study.shape().name, study.takes()).map_err(|reason| anyhow!("{name}: {reason}"))?;
    let task = study.published(&reference.parameters, &args.wishes, setting);
    let task = task.map_err(|error| error.context(name.clone()))?;
    foresee(&reference, &*task, setting.quiet)?;
    Ok(Subject { task: Some(task), reference, study })
}

/// Says what will not be compared, and stops if that is all.
fn foresee(reference: &Reference, task: &dyn Task, quiet: bool) -> Result<()> {
    let foresight = foresight::of(reference, &task.record());
    let name = &reference.name;
    if let Some(what) = foresight.other_work {
        let said = format!(
            "{name}: this would be other work, so nothing could be compared and nothing is measured: {what}"
        );
        return Err(Failure::saying(Cause::OtherWork, said).into());
    }
    for figures in foresight.figures.iter().filter(|_| !quiet) {
        eprintln!("{name}: will not compare {figures}");
    }
    Ok(())
}

/// Measures a task, but only once for all references of the same work.
fn measure(task: &dyn Task, setting: &Setting, measured: &mut Vec<Record>) -> Result<Record> {
    let planned = task.record();
    let same = |record: &&Record| record.study == planned.study && record.parameters == planned.parameters;
    if let Some(record) = measured.iter().find(same) {
        return Ok(record.clone());
    }
    let result = session::measure(task, setting, &Destination::Folder(folders::records()?))?;
    output::says_where(result.path.as_deref());
    let record = result.record;
    if let Some(failure) = result.failure {
        // A partial record can be judged, with a remark, unless it has several legs or a leg has no counted
        // run.
        let judged = !record.legs.is_empty() && record.legs.iter().all(|leg| !leg.counted().is_empty());
        if !judged || record.legs.len() > 1 {
            return Err(failure);
        }
        eprintln!("{failure:#}");
    }
    measured.push(record.clone());
    Ok(record)
}

/// A report as JSON, with the verdict on the whole.
#[derive(Serialize)]
struct Judged<'a> {
    verdict: Verdict,
    reason: String,
    #[serde(flatten)]
    report: &'a Report,
}

impl Judged<'_> {
    fn of(report: &Report) -> Judged<'_> {
        let (verdict, reason) = report.whole();
        Judged { verdict, reason, report }
    }
}

fn publish(args: &VerifyArgs, reports: &[Report], tables: &[Table]) -> Result<()> {
    let stdout = [&args.json, &args.markdown].into_iter().flatten().any(|path| output::claims_stdout(path));
    if !stdout {
        output::print_tables(tables)?;
    }
    if let Some(path) = &args.json {
        let judged: Vec<Judged> = reports.iter().map(Judged::of).collect();
        output::write(path, &(serde_json::to_string_pretty(&judged)? + "\n"))?;
    }
    if let Some(path) = &args.markdown {
        output::markdown(path, tables)?;
    }
    Ok(())
}
