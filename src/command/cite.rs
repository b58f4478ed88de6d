//! The subcommand `repro cite`.

use super::{output, record};
use crate::cli::CiteArgs;
use crate::exit::Exit;
use crate::figure::Figures;
use crate::report::citation::{self, Source};
use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// Prints the citation with its grade; the status says whether the record is citable.
pub fn run(args: &CiteArgs) -> Result<Exit> {
    let (study, record) = record::load(&args.record)?;
    let bytes = std::fs::read(&args.record).with_context(|| args.record.display().to_string())?;
    let sha256: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let name = args.record.file_stem().unwrap_or_default().to_string_lossy();
    let source = Source {
        name: &name,
        sha256: Some(&sha256),
        author: args.author.as_deref(),
        url: args.url.as_deref(),
    };
    let figures = Figures::new(study.shape(), &record);
    let citation = citation::of(figures, study.headline(figures), &source);
    output::print_lines(&citation.text)?;
    Ok(if citation.citable { Exit::Fine } else { Exit::Differs })
}
