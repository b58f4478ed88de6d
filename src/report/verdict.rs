//! The table of the verdicts of a reference.

use super::table::{Table, Text, Tone, cells, left, ms, right};
use crate::stats::{self, ratio::shown};
use crate::verify::power::Power;
use crate::verify::verdict::{FigureJudgement, Report, Verdict};

/// Returns the table of figures with their verdicts, with the work, the claims and a summary around it.
pub fn table(report: &Report) -> Table {
    Table {
        head: head(report),
        columns: vec![
            left("step"),
            left("name"),
            right("published"),
            right("here"),
            left("unit"),
            right("95 % interval"),
            right("here / published"),
            right("/ machine factor"),
            left("verdict"),
        ],
        rows: report.figures.iter().filter(|figure| !figure.only_strict).map(row).collect(),
        notes: notes(report),
    }
}

fn row(figure: &FigureJudgement) -> Vec<Text> {
    let ratio = |value: Option<f64>| value.map_or(String::new(), shown);
    let number = |value| number(value, figure.unit);
    let interval =
        figure.interval.map_or(String::new(), |(low, high)| format!("{}–{}", number(low), number(high)));
    let mut row = cells([
        figure.key.clone(),
        figure.name.clone(),
        number(figure.published),
        figure.measured.map_or(String::new(), number),
        figure.unit.to_string(),
        interval,
        ratio(figure.ratio),
        ratio(figure.relative),
    ]);
    row.push(Text::new(figure.verdict.to_string(), tone(figure.verdict)));
    row
}

/// Returns how a verdict is highlighted.
fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Reproduced => Tone::Good,
        Verdict::Differs => Tone::Bad,
        Verdict::Missing | Verdict::Undecided => Tone::Warning,
        Verdict::NotComparable => Tone::Faint,
    }
}

/// Formats a value with as many digits as are meaningful in its unit; only zero is shown as zero.
fn number(value: f64, unit: &str) -> String {
    match unit {
        "x" | "MB" | "/s" if value != 0.0 && value.abs() < 1.0 => shown(value),
        "ms" if value < 10.0 && value.fract() != 0.0 => format!("{value:.3}"),
        "ms" => ms(value),
        "x" | "MB" => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn head(report: &Report) -> Vec<Text> {
    let mut head = cells([format!("{}: {}", report.reference, report.citation)]);
    if let Some(reason) = &report.partial {
        head.push(Text::new(format!("PARTIAL RECORD: {reason}"), Tone::Bad));
    }
    let differing: Vec<String> = report
        .work
        .iter()
        .filter(|c| c.same == Some(false))
        .map(|c| format!("{} ({})", c.what, c.detail))
        .collect();
    let unknown: Vec<String> = report
        .work
        .iter()
        .filter(|c| c.same.is_none())
        .map(|c| format!("{} ({})", c.what, c.detail))
        .collect();
    match differing.is_empty() {
        true => head.push(Text::from(format!(
            "same work: {} of {} conditions agree",
            report.work.len() - unknown.len(),
            report.work.len()
        ))),
        false => {
            head.push(Text::new(format!("NOT THE SAME WORK: {}", differing.join("; ")), Tone::Bad));
        }
    }
    if !unknown.is_empty() {
        head.push(format!("not known: {}", unknown.join("; ")).into());
    }
    let few = |figure: &&FigureJudgement| figure.published_runs.is_some_and(|runs| runs < stats::FEWEST_RUNS);
    let few = report.figures.iter().filter(few).count();
    if few > 0 {
        let figures = stats::counted(few as u64, "figure");
        head.push(
            format!(
                "{figures} published from fewer than {} runs: how far off they are is not known",
                stats::FEWEST_RUNS
            )
            .into(),
        );
    }
    if let Some(noise) = &report.noise_in_words {
        head.push(Text::new(format!("noise: {noise}; what it can explain is undecided"), Tone::Warning));
    }
    for factor in &report.factors {
        let rank =
            factor.rank_correlation.map_or(String::new(), |rank| format!(", rank correlation {rank:.2}"));
        let strict = if report.strict { ", strict" } else { "" };
        let spread = factor.spread_in_words().map_or(String::new(), |spread| {
            format!(", {spread} (at most {:.2} is allowed)", report.spread_bound)
        });
        head.push(Text::from(format!(
            "machine factor of {}: {} over {} and {}, tolerance {}×{spread}{rank}{strict}",
            factor.group,
            shown(factor.value),
            stats::counted(factor.figures as u64, "figure"),
            stats::counted(report.runs as u64, "run"),
            report.tolerance
        )));
    }
    head
}

fn notes(report: &Report) -> Vec<Text> {
    let mut notes: Vec<Text> = Vec::new();
    let mut open: Vec<&FigureJudgement> =
        report.figures.iter().filter(|f| f.verdict != Verdict::Reproduced).collect();
    while let Some(first) = open.first().copied() {
        let (alike, others): (Vec<_>, Vec<_>) = open.into_iter().partition(|f| f.reason == first.reason);
        let subject = if alike.len() > 2 { format!("{} figures", alike.len()) } else { keys(&alike) };
        let line = format!("{:14}  {subject}: {}", first.verdict, first.reason);
        notes.push(Text::new(line, tone(first.verdict)));
        open = others;
    }
    for check in &report.checks {
        let word = match check.verdict {
            Verdict::Reproduced => "holds",
            Verdict::Differs => "fails",
            other => &other.to_string(),
        };
        let tone = if check.verdict == Verdict::Reproduced { Tone::Faint } else { tone(check.verdict) };
        notes.push(Text::new(format!("check {word:8}  {} ({})", check.subject, check.reason), tone));
    }
    for claim in &report.claims {
        let line = format!("{:14}  {} ({})", claim.verdict, claim.subject, claim.reason);
        notes.push(Text::new(line, tone(claim.verdict)));
    }
    let [reproduced, differs, missing, undecided, not_comparable] = report.counts();
    let differ = if differs == 1 { "differs" } else { "differ" };
    notes.push(Text::from(format!(
        "{reproduced} reproduced, {differs} {differ}, {missing} missing, {undecided} undecided, {not_comparable} not \
         comparable"
    )));
    notes.extend(report.power.as_ref().map(|power| power_line(power).into()));
    let (verdict, reason) = report.whole();
    notes.push(Text::new(format!("{}: {verdict}: {reason}", report.reference), tone(verdict)));
    notes
}

fn power_line(power: &Power) -> String {
    let list = |names: &[String]| if names.is_empty() { "none".to_string() } else { names.join(", ") };
    let cited = match power.cited_passes {
        true => "",
        false => {
            "; on the machine that measured them they refuse the cited build, too, so what differs may be the machine"
        }
    };
    format!(
        "power: of the measured builds and workloads (docs/power.md), these figures refuse {}; they can't tell from the \
         cited one: {}{cited}",
        list(&power.refused),
        list(&power.passed)
    )
}

fn keys(figures: &[&FigureJudgement]) -> String {
    figures.iter().map(|figure| figure.key.as_str()).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_has_its_digits() {
        for (value, unit, text) in [
            (0.257, "ms", "0.257"),
            (16.25, "ms", "16.2"),
            (483.0, "ms", "483"),
            (124_123.4, "/s", "124123"),
            (116.0, "x", "116.0"),
            (9.87, "x", "9.9"),
            (30.04, "MB", "30.0"),
            (5000.0, "1", "5000"),
        ] {
            assert_eq!(number(value, unit), text, "{unit}");
        }
    }
}
