//! The lines above the table of a record: engines, parameters, place, and runs.

use super::table::{Text, Tone};
use crate::record::{Answer, Engine, Imported, Leg, Record, Stated};
use crate::stats;

/// Returns all lines above the table.
pub fn head(record: &Record) -> Vec<Text> {
    let mut head: Vec<Text> = engines(record).into_iter().map(Text::from).collect();
    head.push(parameters(record).into());
    if let Some(storage) = &record.storage {
        let filesystem = storage
            .filesystem
            .as_ref()
            .map_or("unknown".to_string(), |f| format!("{}, {}", f.kind, f.options));
        head.push(format!("files in {} ({filesystem})", storage.directory).into());
    }
    head.extend(record.imported.iter().flat_map(origin).map(Text::from));
    let wrong = record.legs.iter().any(|leg| leg.answer.is_wrong());
    let tone = if wrong { Tone::Bad } else { Tone::Plain };
    let runs = |leg: &Leg| runs(leg, record.knows_every_parameter());
    head.extend(grouped(record, runs).into_iter().map(|line| Text::new(line, tone)));
    head
}

/// Returns where an imported record comes from, and what the user stated about it.
fn origin(from: &Imported) -> Vec<String> {
    let heading = from.heading.as_ref().map_or(String::new(), |heading| format!(", under `{heading}`"));
    let mut lines =
        vec![format!("read from {}, lines {} to {}{heading}", from.file, from.first_line, from.last_line)];
    lines.extend(from.command.as_ref().map(|command| format!("made by `{command}`")));
    let Stated { flags, machine, date } = &from.stated;
    let date = date.map(|date| date.to_string());
    let stated = [("flags", flags), ("machine", machine), ("date", &date)];
    let stated: Vec<String> =
        stated.into_iter().filter_map(|(what, said)| Some(format!("{what} {}", said.as_ref()?))).collect();
    lines.extend((!stated.is_empty()).then(|| format!("stated, not confirmed: {}", stated.join(" · "))));
    lines
}

/// Returns all parameters in one line.
pub fn parameters(record: &Record) -> String {
    let of = |(name, value)| format!("{name} {}", plain(value));
    record.parameters.iter().map(of).collect::<Vec<_>>().join(" · ")
}

/// Returns a line for each engine and each build, preceded by the legs that used it if there are several.
pub fn engines(record: &Record) -> Vec<String> {
    let mut lines = grouped(record, |leg| engine(&leg.engine, record.imported.is_some()));
    lines.extend(grouped(record, |leg| build(&leg.engine)));
    lines
}

/// Groups legs by what `line` returns for them, in the order of the legs. Legs with an empty line are left
/// out.
pub fn groups(record: &Record, line: impl Fn(&Leg) -> String) -> Vec<(Vec<&str>, String)> {
    let mut groups: Vec<(Vec<&str>, String)> = Vec::new();
    for leg in &record.legs {
        let line = line(leg);
        match groups.iter_mut().find(|(_, other)| *other == line) {
            Some((legs, _)) => legs.push(&leg.name),
            None => groups.push((vec![&leg.name], line)),
        }
    }
    groups.retain(|(_, line)| !line.is_empty());
    groups
}

/// Returns the groups as lines, which name the legs unless all have the same line.
fn grouped(record: &Record, line: impl Fn(&Leg) -> String) -> Vec<String> {
    let text = |(legs, line): (Vec<&str>, String)| match legs.len() == record.legs.len() {
        true => line,
        false => format!("{}: {line}", legs.join(", ")),
    };
    groups(record, line).into_iter().map(text).collect()
}

fn engine(engine: &Engine, imported: bool) -> String {
    // An echo has neither a version nor a build. An imported output may lack them, too, but comes from
    // SQLite.
    if !imported && engine.sqlite_version.is_none() && engine.source_id.is_none() && engine.build.is_none() {
        return engine.name.clone();
    }
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_string());
    let pin = match (&engine.build, engine.compile_options.is_empty()) {
        (Some(build), _) if build.pinned => "pinned",
        (None, _) if engine.bundled => "bundled",
        (Some(_), _) => "UNPINNED",
        (None, true) => "build unknown",
        (None, false) => "compile options in the record",
    };
    let (version, source) = (known(&engine.sqlite_version), known(&engine.source_id));
    format!("{} · SQLite {version} ({source}) · {pin}", engine.name)
}

/// Returns the compile command, or for a prebuilt program where it came from.
fn build(engine: &Engine) -> String {
    match &engine.build {
        Some(build) if build.command.is_empty() => {
            format!("{} · SHA-256 {}", build.origin, build.executable)
        }
        Some(build) => format!("{} · {}", build.command, build.compiler),
        None => String::new(),
    }
}

fn runs(leg: &Leg, options_known: bool) -> String {
    let warmups = leg.runs.iter().filter(|run| run.warmup).count();
    let runs = stats::counted(leg.counted().len() as u64, "counted run");
    let doubt = match leg.answer.is_wrong() && !options_known {
        true => "; unless an option that changes the answers was given",
        false => "",
    };
    format!("{runs} after {warmups} warm-up · {}{doubt}", answer(&leg.answer))
}

fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

fn answer(answer: &Answer) -> String {
    match answer {
        Answer::Right { found } => format!("answers right ({found})"),
        Answer::Wrong { found, expected } => format!("ANSWERS WRONG ({found}, expected {expected})"),
        Answer::Unknown { found } => format!("right answers not known for this work (found {found})"),
        Answer::NotChecked { reason } => format!("answers not checked: {reason}"),
    }
}
