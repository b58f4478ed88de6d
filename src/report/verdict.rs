//! The verdicts of a reference.

use super::table::{Table, left, ms, right};
use crate::verify::verdict::{FigureJudgement, Report};

/// Figures with their verdicts; work, claims and the sum of it around them.
pub fn table(report: &Report) -> Table {
    Table {
        head: head(report),
        columns: vec![
            left("step"),
            left("name"),
            right("published ms"),
            right("here ms"),
            right("95 % interval"),
            right("here / published"),
            right("/ machine factor"),
            left("verdict"),
        ],
        rows: report.figures.iter().map(row).collect(),
        notes: notes(report),
    }
}

fn row(figure: &FigureJudgement) -> Vec<String> {
    let ratio = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2}"));
    let interval =
        figure.interval_ms.map_or(String::new(), |(low, high)| format!("{}–{}", ms(low), ms(high)));
    vec![
        figure.key.clone(),
        figure.name.clone(),
        ms(figure.published_ms),
        figure.measured_ms.map_or(String::new(), ms),
        interval,
        ratio(figure.ratio),
        ratio(figure.relative),
        figure.verdict.to_string(),
    ]
}

fn head(report: &Report) -> Vec<String> {
    let mut head = vec![format!("{}: {}", report.reference, report.citation)];
    if let Some(reason) = &report.partial {
        head.push(format!("PARTIAL RECORD: {reason}"));
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
        true => head.push(format!(
            "same work: {} of {} conditions agree",
            report.work.len() - unknown.len(),
            report.work.len()
        )),
        false => head.push(format!("NOT THE SAME WORK: {}", differing.join("; "))),
    }
    if !unknown.is_empty() {
        head.push(format!("not known: {}", unknown.join("; ")));
    }
    if let Some(factor) = report.machine_factor {
        let rank =
            report.rank_correlation.map_or(String::new(), |rank| format!(", rank correlation {rank:.2}"));
        let strict = if report.strict { ", strict" } else { "" };
        head.push(format!(
            "machine factor {factor:.2} over {} runs, tolerance {}×{rank}{strict}",
            report.runs, report.tolerance
        ));
    }
    head
}

fn notes(report: &Report) -> Vec<String> {
    let decided = |figure: &&FigureJudgement| figure.verdict != crate::verify::Verdict::Reproduced;
    let mut notes: Vec<String> = report
        .figures
        .iter()
        .filter(decided)
        .map(|f| format!("{:14}  {}: {}", f.verdict, f.key, f.reason))
        .collect();
    for claim in &report.claims {
        notes.push(format!("{:14}  {} ({})", claim.verdict, claim.subject, claim.reason));
    }
    let [reproduced, differs, missing, not_comparable] = report.counts();
    notes.push(format!(
        "{reproduced} reproduced, {differs} differ, {missing} missing, {not_comparable} not comparable"
    ));
    notes
}
