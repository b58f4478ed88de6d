//! Compares a record with a reference, and reports the verdicts.

use super::claim::Claim;
use super::extent::Extent;
use super::factor::{Group, Member};
use super::noise::Noise;
use super::power;
use super::reference::{Figure, Reference};
use super::verdict::{FigureJudgement, Judgement, Report, Verdict, other_work};
use super::work::same_work;
use crate::figure::{Figures, Kind, Values};
use crate::record::Record;
use crate::stats::{FEWEST_RUNS, Ratio};
use std::collections::BTreeMap;

/// Judges `record` by `reference`; with `strict`, absolute values are judged, too.
///
/// # Errors
/// Fails when the record has no counted run.
pub fn judge(reference: &Reference, record: &Record, strict: bool) -> Result<Report, String> {
    let figures = Figures::new(reference.shape, record);
    let leg = record.legs.iter().find(|leg| !leg.counted().is_empty());
    let leg = leg.ok_or("the record holds no run that counts; nothing can be judged by it")?;
    let work = same_work(reference, record, leg);
    let extent = Extent::of(reference, record);
    let measured: Vec<Measured> =
        reference.figures.iter().map(|figure| Measured::of(figure, figures, &extent)).collect();
    let other_work = other_work(&work).map(|what| format!("not the same work: {what}"));
    let groups = if other_work.is_none() { groups(&measured) } else { Vec::new() };
    let noise = Noise::of(record, reference.shape).filter(|noise| noise.factor() > 1.0);
    let context = Context { reference, groups: &groups, extent, strict, other_work, noise: noise.as_ref() };
    let (checks, claims) = context.claims(figures);
    Ok(Report {
        reference: reference.name.clone(),
        citation: reference.about.citation.to_string(),
        runs: leg.counted().len(),
        partial: record.partial.as_ref().map(ToString::to_string),
        tolerance: reference.about.tolerance.factor,
        power: power::of(reference),
        spread_bound: reference.about.tolerance.spread(),
        noise: noise.as_ref().map(Noise::factor),
        noise_in_words: noise.as_ref().map(Noise::in_words),
        strict,
        figures: measured.iter().map(|m| context.figure(m)).collect(),
        checks,
        claims,
        factors: groups.iter().filter_map(Group::factor).collect(),
        work,
    })
}

/// A published figure and what the record has of it.
struct Measured<'a> {
    figure: &'a Figure,
    values: Option<Values>,
    name: Option<String>,
    ratio: Option<Ratio>,
    /// Why the measured value says nothing about the published one; `None` if it does.
    spoilt: Option<String>,
}

impl<'a> Measured<'a> {
    fn of(figure: &'a Figure, figures: Figures, extent: &Extent) -> Self {
        let values = figures.cited(&figure.key);
        let name = match figures.shape.has_rows() && !figure.key.is_sum() {
            true => figures.title(&figure.key).map(str::to_string),
            false => values.as_ref().map(|_| figure.step.clone()),
        };
        let ratio = values.as_ref().and_then(|values| values.against(figure.value, figure.error));
        let spoilt = figures.spoilt(&figure.key).or_else(|| extent.why_unscaled(&figure.key));
        Measured { figure, values, name, ratio, spoilt }
    }

    /// Returns why there is nothing to divide, or nothing to divide by.
    fn why_no_ratio(&self) -> String {
        let Figure { key, value, error, .. } = self.figure;
        let (unit, coarse) = (key.kind().unit(), value <= error);
        match (coarse, unit, self.values.as_ref().map_or(0.0, Values::error)) {
            (true, "ms", _) => format!("published at or below the clock's resolution of {error} ms"),
            (true, ..) => {
                format!("published as {value} {unit}, which is not more than one unit of its last digit")
            }
            (false, _, own) if own > 0.0 => format!("below the clock's resolution of {own:.0} ms"),
            (false, ..) => format!("0 {unit} here"),
        }
    }

    /// Returns the figure as a member of its group; `None` if it says nothing about the machine factor.
    fn member(&self) -> Option<Member<'_>> {
        let same_step = self.name.as_ref() == Some(&self.figure.step);
        let counts = self.figure.not_comparable.is_none() && self.spoilt.is_none() && same_step;
        let values = self.values.as_ref().filter(|_| counts && self.figure.key.has_machine_factor())?;
        Member::of(self.figure, values)
    }
}

/// Returns the groups of figures that share a machine factor. A sum is left out if its parts are present, because it
/// would count them twice.
fn groups<'a>(measured: &'a [Measured]) -> Vec<Group<'a>> {
    let mut groups: BTreeMap<String, Vec<Member>> = BTreeMap::new();
    for member in measured.iter().filter_map(Measured::member) {
        groups.entry(member.figure.key.group()).or_default().push(member);
    }
    let group = |(name, mut members): (String, Vec<Member<'a>>)| {
        if members.iter().any(|member| !member.figure.key.is_sum()) {
            members.retain(|member| !member.figure.key.is_sum());
        }
        Group::of(name, members)
    };
    groups.into_iter().map(group).collect()
}

struct Context<'a> {
    reference: &'a Reference,
    groups: &'a [Group<'a>],
    extent: Extent<'a>,
    strict: bool,
    other_work: Option<String>,
    /// What the machine did besides, if it was not quiet and steady.
    noise: Option<&'a Noise>,
}

impl Context<'_> {
    fn figure(&self, measured: &Measured) -> FigureJudgement {
        let name = measured.figure.key.group();
        let group = self.groups.iter().find(|group| group.name() == name);
        let relative = group.zip(measured.member()).and_then(|(group, member)| group.relative(&member));
        let (verdict, reason) = self.judge_figure(measured, relative);
        let estimate = measured.values.as_ref().and_then(Values::estimate);
        let ends = |interval: Option<crate::stats::Interval>| interval.map(|i| (i.low, i.high));
        FigureJudgement {
            key: measured.figure.key.to_string(),
            name: measured.figure.step.clone(),
            unit: measured.figure.key.kind().unit(),
            published: measured.figure.value,
            published_runs: measured.figure.runs,
            measured: estimate.map(|(value, _)| value),
            interval: estimate.and_then(|(_, interval)| ends(interval)),
            ratio: measured.ratio.map(|ratio| ratio.value),
            relative: relative.map(|ratio| ratio.value),
            relative_interval: relative.and_then(|ratio| ends(ratio.interval)),
            only_strict: !self.strict && measured.figure.key.kind() == Kind::Latency,
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
            return match self.extent.why_none(&figure.key) {
                Some(reason) => not_comparable(&reason),
                None => (Verdict::Missing, "the record has no sample of it".to_string()),
            };
        };
        if *name != figure.step {
            return not_comparable(&format!("another row: the record calls {} `{name}`", figure.key));
        }
        if let Some(reason) = &measured.spoilt {
            return not_comparable(reason);
        }
        match (figure.key.kind(), measured.ratio) {
            (Kind::Count, _) => match self.extent.why_resized(&figure.key) {
                Some(reason) => not_comparable(&reason),
                None => not_comparable("a count belongs to its run; only claims judge it"),
            },
            (Kind::Size, _) => {
                not_comparable("the size of a file follows from the work; only claims judge it")
            }
            (Kind::Memory, _) => not_comparable("memory use belongs to its run; only claims judge it"),
            (Kind::Latency, _) if !self.strict => {
                not_comparable("a latency belongs to its machine; only --strict judges it")
            }
            (_, None) => not_comparable(&measured.why_no_ratio()),
            (Kind::Ratio, Some(ratio)) => self.shape(&ratio, "the published ratio"),
            // Alone in its group, or every other figure of it is below the clock's resolution.
            (_, Some(_)) if relative.is_none() && !self.strict => {
                not_comparable("no other figure of its group gives a machine factor; only --strict judges it")
            }
            (_, Some(ratio)) => match relative.map(|relative| self.shape(&relative, "the machine factor")) {
                Some(shape) if !self.strict || shape.0 != Verdict::Reproduced => shape,
                _ => self.absolute(&ratio),
            },
        }
    }

    /// Judges a ratio by the tolerance for what can be compared between machines.
    fn shape(&self, found: &Ratio, of: &str) -> (Verdict, String) {
        let factor = self.reference.about.tolerance.factor;
        let verdict = self.within(found, factor);
        let reason = match verdict {
            Verdict::Undecided if Verdict::within(found, 1.0 / factor, factor) == Verdict::Differs => {
                self.explained(&format!("{found} is outside the tolerance of {factor}×"))
            }
            Verdict::Undecided if found.interval.is_none() => {
                format!("{found}; at least {FEWEST_RUNS} runs decide")
            }
            Verdict::Undecided => format!("{found} crosses the tolerance of {factor}×"),
            _ => format!("{} times {of}; tolerance {factor}×", found),
        };
        (verdict, reason)
    }

    fn absolute(&self, found: &Ratio) -> (Verdict, String) {
        let strict = self.reference.about.tolerance.strict;
        let reason = format!("absolute: {} times the published value; tolerance {strict}×", found);
        match self.within(found, strict) {
            Verdict::Undecided if Verdict::within(found, 1.0 / strict, strict) == Verdict::Differs => {
                (Verdict::Undecided, self.explained(&reason))
            }
            verdict => (verdict, reason),
        }
    }

    /// Returns whether a ratio is within `factor`. What the noise can explain is no difference.
    fn within(&self, found: &Ratio, factor: f64) -> Verdict {
        let noise = self.noise.map_or(1.0, Noise::factor);
        match Verdict::within(found, 1.0 / factor, factor) {
            Verdict::Differs
                if Verdict::within(found, 1.0 / factor / noise, factor * noise) != Verdict::Differs =>
            {
                Verdict::Undecided
            }
            verdict => verdict,
        }
    }

    fn explained(&self, what: &str) -> String {
        let noise = self.noise.map(Noise::in_words).unwrap_or_default();
        format!("{what}, which the noise can explain: {noise}")
    }

    /// Returns the judgements of the checks and of the claims.
    fn claims(&self, figures: Figures) -> (Vec<Judgement>, Vec<Judgement>) {
        let judged = self.reference.about.claims.iter().filter(|claim| self.strict || !claim.strict);
        let (checks, claims): (Vec<&Claim>, Vec<&Claim>) = judged.partition(|claim| claim.is_check());
        let judge =
            |claims: Vec<&Claim>| claims.into_iter().map(|claim| self.claim(claim, figures)).collect();
        (judge(checks), judge(claims))
    }

    fn claim(&self, claim: &Claim, figures: Figures) -> Judgement {
        let mut judgement = claim.judge(figures);
        if let Some(noise) = self.noise.filter(|_| judgement.verdict == Verdict::Differs)
            && claim.relaxed(noise.factor()).judge(figures).verdict != Verdict::Differs
        {
            judgement.reason = self.explained(&judgement.reason);
            judgement.verdict = Verdict::Undecided;
        }
        let undecided = || self.extent.why_undecided(claim, &judgement);
        match self.other_work.clone().or_else(undecided) {
            Some(reason) => Judgement { verdict: Verdict::NotComparable, reason, ..judgement },
            None => judgement,
        }
    }
}
