//! `repro compare`.

use super::{Exit, output};
use crate::cli::CompareArgs;
use crate::record::store;
use crate::report::compare::compare;
use anyhow::{Result, anyhow};

/// Prints two records side by side.
pub fn run(args: &CompareArgs) -> Result<Exit> {
    let (new, base) = (store::load(&args.new)?, store::load(&args.base)?);
    let comparison = compare(&new, &base)
        .map_err(|reason| anyhow!("{} and {}: {reason}", args.new.display(), args.base.display()))?;
    output::print(&comparison.table.terminal())?;
    let Some(limit) = args.fail_over else { return Ok(Exit::Fine) };
    let slower: Vec<&str> = comparison
        .totals
        .iter()
        .filter(|(_, ratio)| ratio.interval.is_some_and(|interval| interval.low > 1.0 + limit))
        .map(|(name, _)| name.as_str())
        .collect();
    let word = match slower.is_empty() {
        true => "A is not shown to be slower than that".to_string(),
        false => format!("A is slower than that ({})", slower.join(", ")),
    };
    output::print(&format!("limit +{:.1} %: {word}\n", limit * 100.0))?;
    Ok(if slower.is_empty() { Exit::Fine } else { Exit::Differs })
}
