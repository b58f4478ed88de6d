//! The citation of a record: one line, BibTeX, and the grade.

use super::table::{Text, Tone};
use crate::figure::{Effect, FigureKey, Figures, spelt};
use crate::record::Record;
use crate::verify::grade::{self, Condition};
use jiff::civil::Date;
use jiff::tz::Offset;

/// The figure that a record is cited for.
pub struct Headline {
    /// The key of the figure.
    pub key: FigureKey,
    /// A description of what was measured, the figure with its interval, and how the engine was built.
    pub words: String,
}

/// The record that is cited, and by whom.
pub struct Source<'a> {
    /// The name of the record.
    pub name: &'a str,
    /// The SHA-256 of the record's file, if there is one.
    pub sha256: Option<&'a str>,
    /// The author, if the user named one.
    pub author: Option<&'a str>,
    /// The address of the record, if the user gave one.
    pub url: Option<&'a str>,
}

/// Returns one line that says what was measured, on which machine, how often and how precisely.
fn line(figures: Figures, headline: &Headline) -> String {
    let record = figures.record;
    let date = measured_on(record).map_or("date not known".to_string(), |date| date.to_string());
    let filesystem = record.storage.as_ref().and_then(|storage| storage.filesystem.as_ref());
    let storage = filesystem.map(|filesystem| format!("files on {}", filesystem.kind));
    let parts = [
        Some(headline.words.clone()),
        options(figures, &headline.words),
        storage,
        Some(machine(record)),
        Some(date),
        Some(format!("repro {} ({})", record.program.version, record.program.revision)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Returns the date of a measurement. That of an import says nothing about it.
fn measured_on(record: &Record) -> Option<Date> {
    match &record.imported {
        Some(imported) => imported.stated.date,
        None => Some(Offset::UTC.to_datetime(record.started).date()),
    }
}

fn machine(record: &Record) -> String {
    let stated = || record.stated().and_then(|stated| stated.machine.clone());
    let cpu = record.host.as_ref().and_then(|host| host.cpu.model.clone());
    cpu.or_else(stated).unwrap_or("unknown CPU".to_string())
}

/// Returns every option that is not the default, affects what is measured and is not among the words already, as the
/// command line spells it; `None` if there is none.
fn options(figures: Figures, words: &str) -> Option<String> {
    let defaults = (figures.shape.parameters)(&serde_json::json!({})).unwrap_or_default();
    let other = |(name, value): (&String, &serde_json::Value)| {
        let value = &figures.shape.plain(name, Some(value))?;
        let affects = (figures.shape.effect)(name) != Effect::Nothing && defaults.get(name) != Some(value);
        let option = format!("--{}", name.replace('_', "-"));
        let spelt = match value {
            serde_json::Value::Bool(true) => option,
            value => format!("{option} {}", spelt(Some(value))),
        };
        (affects && !words.contains(&spelt)).then_some(spelt)
    };
    let other: Vec<String> = figures.record.parameters.iter().filter_map(other).collect();
    (!other.is_empty()).then(|| format!("with {}", other.join(" ")))
}

/// A citation with its grade.
pub struct Citation {
    /// Whether every condition of citation grade is met.
    pub citable: bool,
    /// The grade, the line and the BibTeX entry.
    pub text: Vec<Text>,
}

/// Returns the citation of a record; if its study has no figure to cite, the text says why.
pub fn of(figures: Figures, headline: Result<Headline, String>, source: &Source) -> Citation {
    let key = headline.as_ref().ok().map(|headline| headline.key.clone());
    let conditions = grade::conditions(figures, key);
    let citable = grade::citable(&conditions);
    let open = conditions.iter().filter(|condition| condition.met != Some(true)).count();
    let mut lines = vec![match (citable, open) {
        (true, _) => Text::new("citation grade: every condition is met", Tone::Good),
        (false, 0) => Text::new("NOT CITATION GRADE: the record has no leg", Tone::Bad),
        (false, open) => {
            let verb = if open == 1 { "is" } else { "are" };
            let text = format!("NOT CITATION GRADE: {open} of {} conditions {verb} open", conditions.len());
            Text::new(text, Tone::Bad)
        }
    }];
    lines.extend(conditions.iter().map(condition));
    lines.push(Text::default());
    match headline {
        Ok(headline) => {
            let line = line(figures, &headline);
            let entry = bibtex(figures.record, source, &line, citable);
            lines.extend([line.into(), Text::default(), entry.into()]);
        }
        Err(reason) => lines.push(reason.into()),
    }
    Citation { citable, text: lines }
}

fn condition(condition: &Condition) -> Text {
    let (mark, tone) = match condition.met {
        Some(true) => ("met    ", Tone::Good),
        Some(false) => ("open   ", Tone::Bad),
        None => ("unknown", Tone::Warning),
    };
    Text::new(format!("  {mark}  {}: {}", condition.requirement.words(), condition.detail), tone)
}

fn bibtex(record: &Record, source: &Source, line: &str, citable: bool) -> String {
    let key: String = source.name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let key = if key.is_empty() { "record".to_string() } else { key };
    let program = format!("repro {} ({})", record.program.version, record.program.revision);
    let warning = if citable { "" } else { "Not citation grade. " };
    let hash = source.sha256.map_or(String::new(), |hash| format!(". SHA-256 of the record: {hash}"));
    let mut fields = vec![
        ("author", format!("{{{}}}", escaped(source.author.unwrap_or(&program)))),
        ("title", format!("{{SQLite {}, measured with repro}}", escaped(&record.study))),
    ];
    if let Some(date) = measured_on(record) {
        fields.push(("year", date.year().to_string()));
        fields.push(("date", date.to_string()));
    }
    fields.extend([("note", format!("{}{}{}", warning, escaped(line), escaped(&hash)))]);
    // URL packages take the address as it is; only characters that would end the field are removed.
    fields.extend(source.url.map(|url| ("url", url.replace(['{', '}', '\\', ' '], ""))));
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("  {name:6} = {{{value}}}")).collect();
    format!("@misc{{{key},\n{}\n}}", fields.join(",\n"))
}

/// Escapes the characters that are special in TeX, so that the text is printed as it is.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '%' | '_' | '&' | '#' | '$' | '{' | '}' => escaped.extend(['\\', sign]),
            sign if sign.is_control() => escaped.push(' '),
            sign => escaped.push(sign),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_tex_are_escaped() {
        assert_eq!(escaped("50 % of a_b & {c} #1 $2"), "50 \\% of a\\_b \\& \\{c\\} \\#1 \\$2");
        assert_eq!(escaped("C:\\x~y^z\n"), "C:\\textbackslash{}x\\textasciitilde{}y\\textasciicircum{}z ");
    }
}
