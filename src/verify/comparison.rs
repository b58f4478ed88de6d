//! From a reference and a record to a report.

use super::claim::show;
use super::reference::{Figure, FigureKey, Reference};
use super::verdict::{FigureJudgement, Judgement, Report, Verdict, WorkCheck};
use crate::record::{Answer, CLOCK_ERROR_MS, Leg, Record};
use crate::stats::{Ratio, Summary, geometric_mean, rank};
use serde_json::Value;
use std::collections::BTreeMap;

/// Judges `record` by `reference`; `strict` judges absolute times too.
///
/// # Errors
/// A record without a single counted run.
pub fn judge(reference: &Reference, record: &Record, strict: bool) -> Result<Report, String> {
    let leg = record.legs.first().filter(|leg| !leg.counted().is_empty());
    let leg = leg.ok_or("the record holds no run that counts; nothing can be judged by it")?;
    let work = same_work(reference, record, leg);
    let measured: Vec<Measured> = reference.figures.iter().map(|figure| Measured::of(figure, leg)).collect();
    let steps: Vec<&Measured> = measured.iter().filter(|m| m.figure.key != FigureKey::Total).collect();
    let ratios: Vec<f64> = steps.iter().filter_map(|m| m.ratio.map(|ratio| ratio.value)).collect();
    let totals: Vec<f64> = measured.iter().filter_map(|m| m.ratio.map(|ratio| ratio.value)).collect();
    let machine_factor = geometric_mean(if ratios.is_empty() { &totals } else { &ratios });
    let differing: Vec<&str> =
        work.iter().filter(|check| check.same == Some(false)).map(|check| check.what.as_str()).collect();
    let other_work = (!differing.is_empty()).then(|| format!("not the same work: {}", differing.join(", ")));
    let context = Context { reference, machine_factor, strict, other_work };
    Ok(Report {
        reference: reference.name.clone(),
        citation: reference.about.citation.to_string(),
        runs: leg.counted().len(),
        partial: record.partial.clone(),
        machine_factor: machine_factor.filter(|_| context.other_work.is_none()),
        tolerance: reference.about.tolerance.factor,
        rank_correlation: rank_correlation(&steps).filter(|_| context.other_work.is_none()),
        strict,
        figures: measured.iter().map(|m| context.figure(m)).collect(),
        claims: context.claims(record, leg),
        work,
    })
}

/// A published figure and the samples of it.
struct Measured<'a> {
    figure: &'a Figure,
    name: Option<&'a str>,
    summary: Option<Summary>,
    ratio: Option<Ratio>,
}

impl<'a> Measured<'a> {
    fn of(figure: &'a Figure, leg: &'a Leg) -> Self {
        let (name, samples, error) = match &figure.key {
            FigureKey::Total => (Some("TOTAL"), leg.totals(), leg.total_error()),
            FigureKey::Step(key) => match leg.step(key) {
                Some(step) => (Some(step.name.as_str()), leg.reported(step), CLOCK_ERROR_MS),
                None => (None, Vec::new(), CLOCK_ERROR_MS),
            },
        };
        let published_error = figure.error_ms.max(error);
        Measured {
            figure,
            name,
            summary: Summary::of(&samples, error),
            ratio: Ratio::of_medians(&samples, error, &[figure.ms], published_error),
        }
    }
}

struct Context<'a> {
    reference: &'a Reference,
    machine_factor: Option<f64>,
    strict: bool,
    other_work: Option<String>,
}

impl Context<'_> {
    fn figure(&self, measured: &Measured) -> FigureJudgement {
        let relative =
            measured.ratio.zip(self.machine_factor).map(|(ratio, factor)| ratio.divided_by(factor));
        let (verdict, reason) = self.judge_figure(measured, relative);
        let known = relative.filter(|_| self.other_work.is_none());
        let ends = |ratio: Ratio| ratio.interval.map(|i| (i.low, i.high));
        FigureJudgement {
            key: measured.figure.key.to_string(),
            name: measured.figure.step.clone(),
            published_ms: measured.figure.ms,
            measured_ms: measured.summary.map(|summary| summary.median),
            interval_ms: measured.summary.and_then(|summary| summary.interval).map(|i| (i.low, i.high)),
            ratio: measured.ratio.map(|ratio| ratio.value),
            relative: known.map(|ratio| ratio.value),
            relative_interval: known.and_then(ends),
            verdict,
            reason,
        }
    }

    fn judge_figure(&self, measured: &Measured, relative: Option<Ratio>) -> (Verdict, String) {
        let figure = measured.figure;
        if let Some(reason) = &self.other_work {
            return (Verdict::NotComparable, reason.clone());
        }
        let Some(name) = measured.name.filter(|_| measured.summary.is_some()) else {
            return (Verdict::Missing, "the record has no sample of it".to_string());
        };
        if figure.key != FigureKey::Total && name != figure.step {
            return (
                Verdict::NotComparable,
                format!("another step: the record calls {} `{name}`", figure.key),
            );
        }
        let (Some(ratio), Some(relative)) = (measured.ratio, relative) else {
            return (Verdict::NotComparable, "below the clock's resolution of 1 ms".to_string());
        };
        let tolerance = self.reference.about.tolerance.factor;
        let shape = Verdict::within(&relative, 1.0 / tolerance, tolerance);
        let reason = match shape {
            Verdict::NotComparable => {
                format!("undecided: {} crosses the tolerance of {tolerance}×", show(&relative))
            }
            _ => format!("{} of the machine factor; tolerance {tolerance}×", show(&relative)),
        };
        if !self.strict || shape != Verdict::Reproduced {
            return (shape, reason);
        }
        let strict = self.reference.about.tolerance.strict;
        let absolute = Verdict::within(&ratio, 1.0 / strict, strict);
        (absolute, format!("absolute: {} of the published time; tolerance {strict}×", show(&ratio)))
    }

    fn claims(&self, record: &Record, leg: &Leg) -> Vec<Judgement> {
        let judged = self.reference.about.claims.iter().filter(|claim| self.strict || !claim.strict);
        let mut judgements: Vec<Judgement> = judged.map(|claim| claim.judge(record, leg)).collect();
        if let Some(reason) = &self.other_work {
            for judgement in &mut judgements {
                judgement.verdict = Verdict::NotComparable;
                judgement.reason = reason.clone();
            }
        }
        judgements
    }
}

fn rank_correlation(steps: &[&Measured]) -> Option<f64> {
    let pairs: Vec<(f64, f64)> =
        steps.iter().filter_map(|m| Some((m.summary?.median, m.figure.ms))).collect();
    let (measured, published): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    rank::spearman(&measured, &published)
}

/// Whether both sides did the same work, condition by condition.
fn same_work(reference: &Reference, record: &Record, leg: &Leg) -> Vec<WorkCheck> {
    let about = &reference.about;
    let mut checks = vec![WorkCheck::equal("suite", &about.suite, Some(&record.suite))];
    checks.push(WorkCheck::equal(
        "SQLite version",
        &about.engine.sqlite_version,
        leg.engine.sqlite_version.as_ref(),
    ));
    if let Some(id) = &about.engine.source_id {
        checks.push(source_id(id, leg.engine.source_id.as_deref()));
    }
    if record.pinned() == Some(false) {
        let detail = "the record's sources are not the pinned ones".to_string();
        checks.push(WorkCheck { what: "sources".to_string(), same: Some(false), detail });
    }
    let flags = leg.engine.build.as_ref().map(|build| compile_flags(&build.command).join(" "));
    let published: Vec<String> = compile_flags(&about.engine.flags.join(" "));
    checks.push(WorkCheck::equal("compile flags", &published.join(" "), flags.as_ref()));
    checks.extend(parameters(reference, record));
    checks.push(answer(about.engine.answer.as_deref(), &leg.answer));
    checks
}

impl WorkCheck {
    fn equal(what: &str, published: &String, found: Option<&String>) -> WorkCheck {
        let detail = match found {
            Some(found) if found == published => found.clone(),
            Some(found) => format!("published {published}, here {found}"),
            None => format!("published {published}, not known of this record"),
        };
        WorkCheck { what: what.to_string(), same: found.map(|found| found == published), detail }
    }
}

/// Ids are compared as far as both go: the tool prints only the first 48 characters.
fn source_id(published: &str, found: Option<&str>) -> WorkCheck {
    let what = "source id".to_string();
    match found {
        None => WorkCheck { what, same: None, detail: "not known of this record".to_string() },
        Some(found) => {
            let same = found.starts_with(published) || published.starts_with(found);
            let detail =
                if same { found.to_string() } else { format!("published {published}, here {found}") };
            WorkCheck { what, same: Some(same), detail }
        }
    }
}

/// The flags of a compile command that change what is built, in alphabetical order.
fn compile_flags(command: &str) -> Vec<String> {
    let matters = |word: &&str| ["-O", "-D", "-m", "-f"].iter().any(|kind| word.starts_with(kind));
    let mut flags: Vec<String> = command.split_whitespace().filter(matters).map(str::to_string).collect();
    flags.sort();
    flags
}

/// Options that are measured but do not change the work.
const HARMLESS: &[&str] = &["stats"];

fn parameters(reference: &Reference, record: &Record) -> Vec<WorkCheck> {
    let published: BTreeMap<String, Value> = match serde_json::to_value(&reference.about.parameters) {
        Ok(Value::Object(map)) => map.into_iter().collect(),
        _ => BTreeMap::new(),
    };
    let imported = matches!(record.origin, crate::record::Origin::Imported { .. });
    let names: std::collections::BTreeSet<&String> =
        published.keys().chain(record.parameters.keys()).collect();
    let show = |value: Option<&Value>| match value {
        None => "the default".to_string(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let compare = |name: &&String| {
        let (there, here) = (published.get(*name), record.parameters.get(*name));
        // A saved output says nothing of most options.
        let unknown = imported && here.is_none();
        let same = (!unknown).then_some(there == here);
        let detail = match same {
            Some(true) => show(here),
            Some(false) => format!("published {}, here {}", show(there), show(here)),
            None => format!("published {}, not known of this record", show(there)),
        };
        WorkCheck { what: format!("--{name}"), same, detail }
    };
    names.iter().filter(|name| !HARMLESS.contains(&name.as_str())).map(compare).collect()
}

fn answer(published: Option<&str>, found: &Answer) -> WorkCheck {
    let (same, detail) = match (found, published) {
        (Answer::Wrong { found, expected }, _) => (Some(false), format!("{found}, expected {expected}")),
        (Answer::Right(hash) | Answer::Unknown(hash), Some(published)) if hash != published => {
            (Some(false), format!("published {published}, here {hash}"))
        }
        (Answer::Right(hash), _) | (Answer::Unknown(hash), Some(_)) => (Some(true), hash.clone()),
        (Answer::Unknown(hash), None) => (None, format!("{hash}; the right one is not known for this work")),
        (Answer::NotChecked(reason), _) => (None, format!("not checked: {reason}")),
    };
    WorkCheck { what: "answers".to_string(), same, detail }
}
