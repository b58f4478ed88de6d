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
    let slower =
        comparison.total.and_then(|ratio| ratio.interval).is_some_and(|interval| interval.low > 1.0 + limit);
    let word = if slower { "slower than that" } else { "not shown to be slower than that" };
    output::print(&format!("limit +{:.1} %: A is {word}\n", limit * 100.0))?;
    Ok(if slower { Exit::Differs } else { Exit::Fine })
}
