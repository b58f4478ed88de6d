//! The subcommand `repro compare`.

use super::{output, record};
use crate::cli::CompareArgs;
use crate::exit::Exit;
use crate::report::compare::compare;
use anyhow::{Result, anyhow};

/// Prints two records side by side.
pub fn run(args: &CompareArgs) -> Result<Exit> {
    let ((study, new), (_, base)) = (record::load(&args.new)?, record::load(&args.base)?);
    let comparison = compare(study.shape(), &new, &base)
        .map_err(|reason| anyhow!("{} and {}: {reason}", args.new.display(), args.base.display()))?;
    output::print_tables(&[comparison.table])?;
    let Some(limit) = args.fail_over else { return Ok(Exit::Fine) };
    let slower: Vec<&str> = comparison
        .totals
        .iter()
        .filter(|(_, ratio)| ratio.interval.is_some_and(|interval| interval.low > 1.0 + limit))
        .map(|(name, _)| name.as_str())
        .collect();
    let word = match slower.is_empty() {
        true => "no total of A is shown to exceed it".to_string(),
        false => format!("A exceeds it ({})", slower.join(", ")),
    };
    output::print(&format!("limit +{:.1} %: {word}\n", limit * 100.0))?;
    Ok(if slower.is_empty() { Exit::Fine } else { Exit::Differs })
}
