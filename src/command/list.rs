//! The subcommand `repro list`.

use super::{output, references};
use crate::cli::ListArgs;
use crate::exit::Exit;
use crate::study::registry::STUDIES;
use anyhow::Result;

/// Prints the studies, references and engines.
pub fn run(args: &ListArgs) -> Result<Exit> {
    let mut lines = vec!["studies".to_string()];
    lines.extend(STUDIES.iter().map(|study| format!("  {:12}  {}", study.shape().name, study.shape().about)));
    lines.push("references".to_string());
    for (place, reference) in references::all(args.folder.as_deref())? {
        lines.push(match reference {
            Ok(reference) => format!(
                "  {place:20}  {}: {} figures, {} claims; {}",
                reference.about.study,
                reference.figures.len(),
                reference.about.claims.len(),
                reference.about.title
            ),
            Err(error) => format!("  {place:20}  can't be used: {error:#}"),
        });
    }
    lines.push("engines".to_string());
    lines.extend(STUDIES.iter().flat_map(|study| study.engines()).map(|line| format!("  {line}")));
    output::print(&(lines.join("\n") + "\n"))?;
    Ok(Exit::Fine)
}
