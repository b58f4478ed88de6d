//! The citation of a record: one line, BibTeX, and the grade.

use super::head;
use super::table::{seconds, three_digits};
use crate::record::Record;
use crate::suite::serverless;
use crate::verify::figure::{FigureKey, Metric};
use crate::verify::grade::{self, Condition};
use crate::verify::measured;

/// One line that says what was measured, where, how often and how surely.
pub fn line(record: &Record) -> Option<String> {
    let figure = if record.suite == serverless::SUITE.name { ratio_line } else { total_line };
    Some(format!(
        "{}; {}; {}; repro {} ({})",
        figure(record)?,
        record.host.as_ref().and_then(|host| host.cpu.model.as_deref()).unwrap_or("unknown CPU"),
        record.started.strftime("%Y-%m-%d"),
        record.program.version,
        record.program.revision
    ))
}

/// What a server costs.
fn ratio_line(record: &Record) -> Option<String> {
    let key = grade::headline(record)?;
    let FigureKey::Phase { leg: server, phase, .. } = &key else { return None };
    let ratios = measured::cited(record, &key)?;
    let (ratio, interval) = ratios.estimate()?;
    let interval = interval.map_or("no interval".to_string(), |i| {
        format!("95 % interval {} to {}", three_digits(i.low), three_digits(i.high))
    });
    let baseline = serverless::SUITE.baseline?;
    let time = |leg: &str| {
        let key = FigureKey::Phase { leg: leg.to_string(), phase: phase.clone(), metric: Metric::Time };
        Some(seconds(measured::cited(record, &key)?.estimate()?.0))
    };
    let engine = |name: &str| {
        let engine = &record.leg(name)?.engine;
        Some(format!("{}, SQLite {}", engine.name, engine.sqlite_version.as_deref().unwrap_or("unknown")))
    };
    Some(format!(
        "15 steps of SQL ({}), {server} over embedded: {}× (median of {} runs, {interval}; {} s against {} s); \
         {server}: {}; {baseline}: {}",
        head::parameters(record),
        three_digits(ratio),
        ratios.runs().len(),
        time(server)?,
        time(baseline)?,
        engine(server)?,
        engine(baseline)?
    ))
}

/// TOTAL of speedtest1.
fn total_line(record: &Record) -> Option<String> {
    let leg = record.legs.first()?;
    let total = leg.total()?;
    let interval = total.interval.map_or("no interval".to_string(), |i| {
        format!("95 % interval {} to {} s", seconds(i.low), seconds(i.high))
    });
    let size =
        record.parameters.get("size").map_or("size unknown".to_string(), |size| format!("--size {size}"));
    let version = leg.engine.sqlite_version.as_deref().unwrap_or("unknown");
    let command = leg.engine.build.as_ref().map_or("build unknown".to_string(), |build| {
        let flags: Vec<&str> = build
            .command
            .split(' ')
            .filter(|word| word.starts_with("-O") || word.starts_with("-D"))
            .collect();
        format!("{} {}", build.compiler, flags.join(" "))
    });
    Some(format!(
        "speedtest1 {size}, SQLite {version}: TOTAL {} s (median of {} runs, {interval}); {command}",
        seconds(total.median),
        total.n
    ))
}

/// The whole text of `repro cite`.
pub fn text(record: &Record, name: &str) -> String {
    let conditions = grade::conditions(record);
    let grade = match (grade::citable(&conditions), conditions.iter().filter(|c| c.met != Some(true)).count())
    {
        (true, _) => "citation grade: every condition is met".to_string(),
        (false, 0) => "NOT CITATION GRADE: the record has no leg".to_string(),
        (false, open) => format!("NOT CITATION GRADE: {open} of {} conditions are open", conditions.len()),
    };
    let mut lines = vec![grade];
    lines.extend(conditions.iter().map(condition));
    if let Some(line) = line(record) {
        lines.extend([
            String::new(),
            line.clone(),
            String::new(),
            bibtex(record, name, &line, grade::citable(&conditions)),
        ]);
    } else {
        lines.extend([String::new(), no_figure(record)]);
    }
    lines.join("\n") + "\n"
}

fn no_figure(record: &Record) -> String {
    match record.suite.as_str() {
        "speedtest1" => "no counted run with a TOTAL: there is no figure to cite".to_string(),
        "serverless" => "no counted run of both sides: there is no figure to cite".to_string(),
        suite => format!("{suite} has no single figure to cite: name a phase, with its interval"),
    }
}

fn condition(condition: &Condition) -> String {
    let mark = match condition.met {
        Some(true) => "met    ",
        Some(false) => "open   ",
        None => "unknown",
    };
    format!("  {mark}  {}: {}", condition.what, condition.detail)
}

fn bibtex(record: &Record, name: &str, line: &str, citable: bool) -> String {
    let key: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let escape = |text: &str| {
        text.replace('\\', "").replace('%', "\\%").replace('_', "\\_").replace('&', "\\&").replace('#', "\\#")
    };
    let warning = if citable { "" } else { "Not citation grade. " };
    format!(
        "@misc{{{key},\n  title = {{{{SQLite {}, measured with repro}}}},\n  year  = {{{}}},\n  note  = {{{warning}{}}}\n}}",
        record.suite,
        record.started.strftime("%Y"),
        escape(line)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::whole;

    #[test]
    fn of_legs_the_ratio_is_cited() {
        let said = text(&whole(5), "a");
        for expected in [
            "met      interval within ±1 %: 95 % interval of the median sqld/total/ratio is ±0.00 %",
            "met      same statements: the same sequence in 25 runs of all legs",
            "sqld over embedded: 8.00× (median of 5 runs, 95 % interval 8.00 to 8.00; 1.440 s against 0.180 s)",
            "title = {{SQLite serverless, measured with repro}}",
        ] {
            assert!(said.contains(expected), "{expected}: {said}");
        }
    }

    #[test]
    fn one_side_is_no_figure() {
        let mut record = whole(5);
        record.legs.truncate(1);
        assert!(text(&record, "a").ends_with("no counted run of both sides: there is no figure to cite\n"));
    }
}
