//! What the rest of the program must know about a study to read its records, as data and not as code of the
//! study.

use serde_json::Value;
use std::collections::BTreeMap;

/// Parameters by name, as a record holds them.
pub type Parameters = BTreeMap<String, Value>;

/// The shape of a study's records.
pub struct Shape {
    /// The name on the command line and in records.
    pub name: &'static str,
    /// A sentence that says what the study measures.
    pub about: &'static str,
    /// The names of its legs.
    pub legs: Vec<&'static str>,
    /// The phases of each leg.
    pub phases: Phases,
    /// The kinds that its phases count, which are the keys of `counts` in a measure.
    pub counts: &'static [&'static str],
    /// The leg that ratios are taken to; `None` if the study has no baseline.
    pub baseline: Option<&'static str>,
    /// Returns every parameter, defaults included, from those that are written down; the error says what is
    /// wrong.
    pub parameters: fn(written: &Value) -> Result<Parameters, String>,
    /// Returns what a parameter affects.
    pub effect: fn(parameter: &str) -> Effect,
    /// Returns the phases that these parameters select, or `None` if they select none in particular.
    pub asked_for: fn(parameters: &Parameters) -> Option<Vec<String>>,
    /// Returns whether a phase shrinks by the scale that these parameters give.
    pub shrinks: fn(phase: &str, parameters: &Parameters) -> bool,
    /// How to check a tool that prints its own figures; `None` if this program takes them.
    pub tool: Option<Tool>,
}

/// How to check what a study's own tool printed.
pub struct Tool {
    /// Reads again what the tool printed in a run with these parameters; the error says what is wrong with it.
    pub read: fn(output: &str, parameters: &Parameters) -> Result<Printed, String>,
    /// Returns the answer that this version of the tool must give for these parameters, if it is known.
    pub answer: fn(version: &str, parameters: &Parameters) -> Option<String>,
}

/// What a tool printed in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The source id in its banner.
    pub source_id: Option<String>,
    /// The rows in order, each with its time in ms.
    pub rows: Vec<(String, i64)>,
    /// Its TOTAL in ms.
    pub total_ms: Option<i64>,
    /// The answer that it gave.
    pub answer: Option<String>,
}

/// The phases of a leg.
pub enum Phases {
    /// These phases, in the order in which they run.
    Named(Vec<&'static str>),
    /// Any number of phases with this prefix, such as `clients-16` for `clients`.
    Numbered(&'static str),
    /// The rows of testsets, which a tool prints and adds up, such as `main/310`.
    Rows,
}

/// What a parameter affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// What is done: another value means different work.
    Work,
    /// How the engine does the work. For a reference another value means different work; two records may
    /// differ in it, since that is what they are compared for.
    Setting,
    /// How much of everything is done: the shape is preserved, counts are not.
    Scale,
    /// How long each phase runs.
    Length,
    /// Which phases run.
    Phases,
    /// Only the machine, which is not part of the work.
    Machine,
    /// Nothing that is measured.
    Nothing,
}

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shape").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Effect {
    /// Returns whether the parameter only says how much of the work is done.
    pub fn is_extent(self) -> bool {
        matches!(self, Effect::Scale | Effect::Length | Effect::Phases)
    }
}

impl Shape {
    /// Returns whether a leg of the study can have a phase of this name.
    pub fn knows_phase(&self, name: &str) -> bool {
        match &self.phases {
            Phases::Named(names) => names.contains(&name),
            Phases::Numbered(prefix) => {
                name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('-')).is_some_and(is_number)
            }
            Phases::Rows => is_row(name),
        }
    }

    /// Returns the phases in the form in which a user writes them.
    pub fn phases_in_words(&self) -> String {
        match &self.phases {
            Phases::Named(names) => names.join(", "),
            Phases::Numbered(prefix) => format!("{prefix}-N"),
            Phases::Rows => "TESTSET/NUMBER".to_string(),
        }
    }

    /// Returns the phases that make up a complete run, or `None` if their number is not fixed.
    pub fn whole(&self) -> Option<&[&'static str]> {
        match &self.phases {
            Phases::Named(names) if !names.is_empty() => Some(names),
            _ => None,
        }
    }

    /// Returns a parameter's value as a measured record holds it, which is not at all if it is a default that the
    /// study leaves out.
    pub fn plain(&self, name: &str, value: Option<&Value>) -> Option<Value> {
        let value = value?;
        match (self.parameters)(&serde_json::json!({ name: value })) {
            Ok(all) => all.get(name).cloned(),
            Err(_) => Some(value.clone()),
        }
    }

    /// Returns whether the phases are rows that a tool adds up.
    pub fn has_rows(&self) -> bool {
        matches!(self.phases, Phases::Rows)
    }
}

/// Returns a parameter as its command-line option spells it.
pub fn spelt(value: Option<&Value>) -> String {
    match value {
        None => "the default".to_string(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(all)) => all.iter().map(Value::to_string).collect::<Vec<_>>().join(","),
        Some(other) => other.to_string(),
    }
}

/// Returns whether the text is a number from 1 without leading zeros.
pub(super) fn is_number(text: &str) -> bool {
    !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u32>().is_ok()
}

/// Returns whether the text is `TESTSET/NUMBER`, with `#2` for the second row of that number.
pub(super) fn is_row(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u32>().is_ok();
    let Some((testset, rest)) = text.split_once('/') else { return false };
    let (number, occurrence) = rest.split_once('#').unwrap_or((rest, "1"));
    !testset.is_empty() && digits(number) && is_number(occurrence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(phases: Phases) -> Shape {
        Shape {
            name: "made-up",
            about: "",
            legs: vec!["sqld"],
            phases,
            counts: &[],
            baseline: None,
            parameters: |_| Ok(Parameters::new()),
            effect: |_| Effect::Work,
            asked_for: |_| None,
            shrinks: |_, _| true,
            tool: None,
        }
    }

    #[test]
    fn phases_of_any_number() {
        let numbered = shape(Phases::Numbered("clients"));
        for known in ["clients-1", "clients-16"] {
            assert!(numbered.knows_phase(known), "{known}");
        }
        for other in
            ["", "clients", "clients-", "clients-N", "clients-0", "clients-01", "clients--1", "clients-+1"]
        {
            assert!(!numbered.knows_phase(other), "{other}");
        }
        assert!(numbered.whole().is_none() && !numbered.has_rows());
    }

    #[test]
    fn phases_with_names_make_a_whole() {
        let named = shape(Phases::Named(vec!["insert", "read"]));
        assert!(named.knows_phase("read") && !named.knows_phase("") && !named.knows_phase("main/100"));
        assert_eq!(named.whole().unwrap(), ["insert", "read"]);
        assert!(shape(Phases::Named(Vec::new())).whole().is_none());
    }

    #[test]
    fn rows_have_a_testset_and_a_number() {
        let rows = shape(Phases::Rows);
        for known in ["main/310", "star/130#2"] {
            assert!(rows.knows_phase(known), "{known}");
        }
        for other in ["", "main", "main/x", "/100", "main/1#0", "main/+1", "main/1#x", "total"] {
            assert!(!rows.knows_phase(other), "{other}");
        }
    }
}
