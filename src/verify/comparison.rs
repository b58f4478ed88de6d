//! From a reference and a record to a report.

use super::claim::show;
use super::figure::FigureKey;
use super::measured::{self, Values};
use super::reference::{Figure, Reference};
use super::verdict::{Factor, FigureJudgement, Judgement, Report, Verdict, WorkCheck};
use crate::record::{Answer, Leg, Record};
use crate::stats::{Ratio, geometric_mean, rank};
use serde_json::Value;

/// Judges `record` by `reference`; `strict` judges absolute values too.
///
/// # Errors
/// A record without a single counted run.
pub fn judge(reference: &Reference, record: &Record, strict: bool) -> Result<Report, String> {
    let leg = record.legs.iter().find(|leg| !leg.counted().is_empty());
    let leg = leg.ok_or("the record holds no run that counts; nothing can be judged by it")?;
    let work = same_work(reference, record, leg);
    let measured: Vec<Measured> =
        reference.figures.iter().map(|figure| Measured::of(figure, record)).collect();
    let differing: Vec<&str> =
        work.iter().filter(|check| check.same == Some(false)).map(|check| check.what.as_str()).collect();
    let other_work = (!differing.is_empty()).then(|| format!("not the same work: {}", differing.join(", ")));
    let factors = if other_work.is_none() { factors(&measured) } else { Vec::new() };
    let context = Context { reference, factors: &factors, strict, other_work };
    Ok(Report {
        reference: reference.name.clone(),
        citation: reference.about.citation.to_string(),
        runs: leg.counted().len(),
        partial: record.partial.clone(),
        tolerance: reference.about.tolerance.factor,
        strict,
        figures: measured.iter().map(|m| context.figure(m)).collect(),
        claims: context.claims(record),
        work,
        factors,
    })
}

/// A published figure and what the record has of it.
struct Measured<'a> {
    figure: &'a Figure,
    values: Option<Values>,
    name: Option<String>,
    ratio: Option<Ratio>,
}

impl<'a> Measured<'a> {
    fn of(figure: &'a Figure, record: &Record) -> Self {
        let values = measured::cited(record, &figure.key);
        let name = match &figure.key {
            FigureKey::Step(key) => {
                record.legs.first().and_then(|leg| leg.step(key)).map(|step| step.name.clone())
            }
            FigureKey::Total | FigureKey::Phase { .. } => values.as_ref().map(|_| figure.step.clone()),
        };
        let ratio = values.as_ref().and_then(|values| values.against(figure.value, figure.error));
        Measured { figure, values, name, ratio }
    }

    fn counts_for_shape(&self) -> bool {
        self.figure.not_comparable.is_none() && !self.figure.key.is_latency()
    }
}

/// The machine factor of each group of figures: the geometric mean of measured / published. TOTAL is left out
/// where its rows are there, for it would count them twice.
fn factors(measured: &[Measured]) -> Vec<Factor> {
    let mut groups: Vec<String> =
        measured.iter().filter(|m| m.counts_for_shape()).map(|m| m.figure.key.group()).collect();
    groups.sort();
    groups.dedup();
    groups.into_iter().filter_map(|group| factor(group, measured)).collect()
}

fn factor(group: String, measured: &[Measured]) -> Option<Factor> {
    let all: Vec<&Measured> =
        measured.iter().filter(|m| m.counts_for_shape() && m.figure.key.group() == group).collect();
    let rows: Vec<&Measured> = all.iter().copied().filter(|m| m.figure.key != FigureKey::Total).collect();
    let members = if rows.is_empty() { all } else { rows };
    let ratios: Vec<f64> = members.iter().filter_map(|m| m.ratio.map(|ratio| ratio.value)).collect();
    let pairs = members.iter().filter_map(|m| Some((m.values.as_ref()?.estimate()?.0, m.figure.value)));
    let (here, there): (Vec<f64>, Vec<f64>) = pairs.unzip();
    Some(Factor { group, value: geometric_mean(&ratios)?, rank_correlation: rank::spearman(&here, &there) })
}

struct Context<'a> {
    reference: &'a Reference,
    factors: &'a [Factor],
    strict: bool,
    other_work: Option<String>,
}

impl Context<'_> {
    fn figure(&self, measured: &Measured) -> FigureJudgement {
        let factor = self.factors.iter().find(|factor| factor.group == measured.figure.key.group());
        let relative = measured.ratio.zip(factor).map(|(ratio, factor)| ratio.divided_by(factor.value));
        let (verdict, reason) = self.judge_figure(measured, relative);
        let estimate = measured.values.as_ref().and_then(Values::estimate);
        let ends = |interval: Option<crate::stats::Interval>| interval.map(|i| (i.low, i.high));
        FigureJudgement {
            key: measured.figure.key.to_string(),
            name: measured.figure.step.clone(),
            unit: if measured.figure.key.is_rate() { "/s" } else { "ms" },
            published: measured.figure.value,
            measured: estimate.map(|(value, _)| value),
            interval: estimate.and_then(|(_, interval)| ends(interval)),
            ratio: measured.ratio.map(|ratio| ratio.value),
            relative: relative.map(|ratio| ratio.value),
            relative_interval: relative.and_then(|ratio| ends(ratio.interval)),
            verdict,
            reason,
        }
    }

    fn judge_figure(&self, measured: &Measured, relative: Option<Ratio>) -> (Verdict, String) {
        let figure = measured.figure;
        let not_comparable = |reason: &str| (Verdict::NotComparable, reason.to_string());
        if let Some(reason) = self.other_work.as_ref().or(figure.not_comparable.as_ref()) {
            return not_comparable(reason);
        }
        let Some(name) = &measured.name else {
            return (Verdict::Missing, "the record has no sample of it".to_string());
        };
        if *name != figure.step {
            return not_comparable(&format!("another step: the record calls {} `{name}`", figure.key));
        }
        if figure.key.is_latency() && !self.strict {
            return not_comparable("a latency is of its machine; --strict judges it");
        }
        let Some(ratio) = measured.ratio else {
            return not_comparable("below the clock's resolution of 1 ms");
        };
        let tolerance = &self.reference.about.tolerance;
        if let Some(relative) = relative {
            let shape = Verdict::within(&relative, 1.0 / tolerance.factor, tolerance.factor);
            if !self.strict || shape != Verdict::Reproduced {
                let reason = match shape {
                    Verdict::NotComparable => {
                        format!(
                            "undecided: {} crosses the tolerance of {}×",
                            show(&relative),
                            tolerance.factor
                        )
                    }
                    _ => {
                        format!("{} of the machine factor; tolerance {}×", show(&relative), tolerance.factor)
                    }
                };
                return (shape, reason);
            }
        }
        let absolute = Verdict::within(&ratio, 1.0 / tolerance.strict, tolerance.strict);
        (
            absolute,
            format!("absolute: {} of the published value; tolerance {}×", show(&ratio), tolerance.strict),
        )
    }

    fn claims(&self, record: &Record) -> Vec<Judgement> {
        let judged = self.reference.about.claims.iter().filter(|claim| self.strict || !claim.strict);
        let mut judgements: Vec<Judgement> = judged.map(|claim| claim.judge(record)).collect();
        if let Some(reason) = &self.other_work {
            for judgement in &mut judgements {
                judgement.verdict = Verdict::NotComparable;
                judgement.reason = reason.clone();
            }
        }
        judgements
    }
}

/// Whether both sides did the same work, condition by condition.
fn same_work(reference: &Reference, record: &Record, leg: &Leg) -> Vec<WorkCheck> {
    let about = &reference.about;
    let mut checks = vec![WorkCheck::equal("suite", &about.suite, Some(&record.suite))];
    checks.push(version(&about.engine.sqlite_version, record));
    if let Some(id) = &about.engine.source_id {
        checks.push(source_id(id, leg.engine.source_id.as_deref()));
    }
    if record.pinned() == Some(false) {
        let detail = "the record's sources are not the pinned ones".to_string();
        checks.push(WorkCheck { what: "sources".to_string(), same: Some(false), detail });
    }
    if !about.engine.flags.is_empty() {
        checks.push(flags_check(&about.engine.flags, leg));
    }
    checks.extend(parameters(reference, record));
    let several = record.legs.len() > 1;
    checks.extend(record.legs.iter().map(|leg| answer(about.engine.answer.as_deref(), leg, several)));
    checks
}

fn flags_check(published: &[String], leg: &Leg) -> WorkCheck {
    let flags = leg.engine.build.as_ref().map(|build| compile_flags(&build.command).join(" "));
    let published: Vec<String> = compile_flags(&published.join(" "));
    WorkCheck::equal("compile flags", &published.join(" "), flags.as_ref())
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

/// Every leg must be of the published version.
fn version(published: &String, record: &Record) -> WorkCheck {
    let mut versions = record.legs.iter().map(|leg| leg.engine.sqlite_version.as_ref());
    let other = versions.find(|version| *version != Some(published));
    WorkCheck::equal("SQLite version", published, other.unwrap_or(Some(published)))
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

/// Parameters that do not change the work.
const HARMLESS: &[&str] = &["stats", "generator"];

fn parameters(reference: &Reference, record: &Record) -> Vec<WorkCheck> {
    let published = reference.about.all_parameters().unwrap_or_default();
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
        if name.as_str() == "scale" && there != here {
            // The shape survives it, the size does not: judged, but never without the remark.
            let detail = format!("published {}, here scaled down to {}", show(there), show(here));
            return WorkCheck { what: "--scale".to_string(), same: None, detail };
        }
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

fn answer(published: Option<&str>, leg: &Leg, several: bool) -> WorkCheck {
    let found = &leg.answer;
    let (same, detail) = match (found, published) {
        (Answer::Wrong { found, expected }, _) => (Some(false), format!("{found}, expected {expected}")),
        (Answer::Right(hash) | Answer::Unknown(hash), Some(published)) if hash != published => {
            (Some(false), format!("published {published}, here {hash}"))
        }
        (Answer::Right(hash), _) | (Answer::Unknown(hash), Some(_)) => (Some(true), hash.clone()),
        (Answer::Unknown(hash), None) => (None, format!("{hash}; the right one is not known for this work")),
        (Answer::NotChecked(reason), _) => (None, format!("not checked: {reason}")),
    };
    let what = if several { format!("answers of {}", leg.name) } else { "answers".to_string() };
    WorkCheck { what, same, detail }
}
