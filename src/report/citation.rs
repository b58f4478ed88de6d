//! The citation of a record: one line, BibTeX, and the grade.

use super::table::seconds;
use crate::record::Record;
use crate::verify::grade::{self, Condition};

/// One line that says what was measured, where, how often and how surely.
pub fn line(record: &Record) -> Option<String> {
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
    let host = record
        .host
        .as_ref()
        .and_then(|host| host.cpu.model.clone())
        .unwrap_or_else(|| "unknown CPU".to_string());
    Some(format!(
        "speedtest1 {size}, SQLite {version}: TOTAL {} s (median of {} runs, {interval}); {command}; {host}; {}; repro {} ({})",
        seconds(total.median),
        total.n,
        record.started.strftime("%Y-%m-%d"),
        record.program.version,
        record.program.revision
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
        lines.extend([String::new(), "no counted run with a TOTAL: there is no figure to cite".to_string()]);
    }
    lines.join("\n") + "\n"
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
        "@misc{{{key},\n  title = {{{{SQLite speedtest1, measured with repro}}}},\n  year  = {{{}}},\n  note  = {{{warning}{}}}\n}}",
        record.started.strftime("%Y"),
        escape(line)
    )
}
