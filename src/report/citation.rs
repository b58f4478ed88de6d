//! The citation of a record: one line, BibTeX, and the grade.

use super::table::{Text, Tone};
use crate::figure::{FigureKey, Figures};
use crate::record::Record;
use crate::verify::grade::{self, Condition};

/// The figure that a record is cited for.
pub struct Headline {
    /// What it is.
    pub key: FigureKey,
    /// What was measured, the figure with its interval, and how it was built.
    pub words: String,
}

/// Who cites, and what.
pub struct Source<'a> {
    /// Name of the record.
    pub name: &'a str,
    /// SHA-256 of its file, where it lies in one.
    pub sha256: Option<&'a str>,
    /// The author, where the user named one.
    pub author: Option<&'a str>,
    /// Where the record can be found, where the user said so.
    pub url: Option<&'a str>,
}

/// One line that says what was measured, where, how often and how surely.
fn line(record: &Record, headline: &Headline) -> String {
    format!(
        "{}; {}; {}; repro {} ({})",
        headline.words,
        record.host.as_ref().and_then(|host| host.cpu.model.as_deref()).unwrap_or("unknown CPU"),
        record.started.strftime("%Y-%m-%d"),
        record.program.version,
        record.program.revision
    )
}

/// The whole text of a citation; where a study has no figure to cite, it says why.
pub fn text(figures: Figures, headline: Result<Headline, String>, source: &Source) -> Vec<Text> {
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
            let line = line(figures.record, &headline);
            let entry = bibtex(figures.record, source, &line, citable);
            lines.extend([line.into(), Text::default(), entry.into()]);
        }
        Err(reason) => lines.push(reason.into()),
    }
    lines
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
        ("year", record.started.strftime("%Y").to_string()),
        ("date", record.started.strftime("%Y-%m-%d").to_string()),
        ("note", format!("{}{}{}", warning, escaped(line), escaped(&hash))),
    ];
    // A package for URLs takes it as it is; only what would end the field is not one.
    fields.extend(source.url.map(|url| ("url", url.replace(['{', '}', '\\', ' '], ""))));
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("  {name:6} = {{{value}}}")).collect();
    format!("@misc{{{key},\n{}\n}}", fields.join(",\n"))
}

/// As TeX prints it: none of its own signs are left.
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
