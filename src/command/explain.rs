//! The subcommand `repro explain`.

use super::output;
use crate::exit::Exit;
use crate::study::registry::STUDIES;
use anyhow::{Result, bail};

/// Prints the explanation of a topic, or the names of all topics.
pub fn run(topic: Option<&str>) -> Result<Exit> {
    let all = || STUDIES.iter().flat_map(|study| study.explanations());
    let names = all().map(|(name, _)| *name).collect::<Vec<_>>().join("\n");
    match topic {
        None => output::print(&format!("{names}\n"))?,
        Some(topic) => match all().find(|(name, _)| *name == topic) {
            Some((_, text)) => output::print(text)?,
            None => bail!("`{topic}`: no such topic; the topics are: {names}"),
        },
    }
    Ok(Exit::Fine)
}
