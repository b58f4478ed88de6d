//! The power of a reference: which other builds and workloads its figures would refuse, and which they can't tell
//! from the cited one. It is computed from measured variants, `power.csv`, which `benches/calibration.rs` made.

use super::factor::{Group, Member};
use super::reference::Reference;
use crate::figure::Values;
use serde::Serialize;

const VARIANTS: &str = include_str!("power.csv");

/// What a reference can and can't tell apart, by the names of the variants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Power {
    /// Variants that differ by the spread or by a figure.
    pub refused: Vec<String>,
    /// Variants that would be taken for the cited one.
    pub passed: Vec<String>,
    /// Whether the cited build itself, on the machine that measured the variants, would be taken for it.
    pub cited_passes: bool,
}

/// How a variant stands to a reference.
#[derive(Clone, Debug)]
pub struct Distance {
    /// The name of the variant.
    pub variant: String,
    /// The number of figures that it has.
    pub figures: usize,
    /// The root mean square of ln(ratio / factor).
    pub spread: f64,
    /// The largest ratio to the factor of the other figures, or its inverse if that is larger.
    pub furthest: f64,
}

/// Returns the power of a reference; `None` if no variant has figures of it.
pub fn of(reference: &Reference) -> Option<Power> {
    let tolerance = &reference.about.tolerance;
    let refuses =
        |distance: &Distance| distance.spread > tolerance.spread() || distance.furthest > tolerance.factor;
    let distances = distances(reference);
    let cited = distances.first().cloned()?;
    let others = distances.into_iter().skip(1);
    let (refused, passed): (Vec<Distance>, Vec<Distance>) = others.partition(refuses);
    let names = |distances: Vec<Distance>| distances.into_iter().map(|distance| distance.variant).collect();
    Some(Power { refused: names(refused), passed: names(passed), cited_passes: !refuses(&cited) })
}

/// Returns how each variant stands to a reference, in the order of the table. One of whose rows fewer than three
/// are published, or resolved by its clock, is left out.
pub fn distances(reference: &Reference) -> Vec<Distance> {
    let mut reader = csv::Reader::from_reader(VARIANTS.as_bytes());
    let names: Vec<String> = reader.headers().into_iter().flatten().skip(1).map(str::to_string).collect();
    let rows: Vec<csv::StringRecord> = reader.records().flatten().collect();
    let variant = |(column, name): (usize, &String)| distance(reference, name, &rows, column + 1);
    names.iter().enumerate().filter_map(variant).collect()
}

fn distance(
    reference: &Reference,
    name: &str,
    rows: &[csv::StringRecord],
    column: usize,
) -> Option<Distance> {
    let ms = |key: &str| {
        let row = rows.iter().find(|row| row.get(0) == Some(key))?;
        row.get(column)?.parse::<f64>().ok().filter(|ms| *ms > 0.0)
    };
    let parts =
        reference.figures.iter().filter(|figure| figure.not_comparable.is_none() && !figure.key.is_sum());
    let found: Vec<_> = parts
        .filter_map(|figure| Some((figure, Values::printed(&[(1, ms(&figure.key.to_string())?)])?)))
        .collect();
    let members = || found.iter().filter_map(|(figure, values)| Member::of(figure, values));
    let group = Group::of(String::new(), members().collect());
    let furthest = members().filter_map(|member| group.relative(&member));
    Some(Distance {
        variant: name.to_string(),
        figures: members().count(),
        spread: group.factor()?.spread?,
        furthest: furthest.map(|ratio| ratio.value.max(1.0 / ratio.value)).fold(1.0, f64::max),
    })
}
