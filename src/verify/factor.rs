//! The machine factor of a group of figures, how each figure stands to the others, and how far they spread.
//!
//! All of it is taken run by run, so that the interval between runs includes what the factor varies by.

use super::reference::Figure;
use super::verdict::Factor;
use crate::figure::Values;
use crate::stats::{Interval, Ratio, geometric_mean, median, order, rank};

/// The largest relative error, by the rounding of both sides, of a figure that counts for the spread: what is
/// coarser would show the clock and not the machine.
const COARSEST: f64 = 0.1;

/// The smallest number of figures that have a spread.
const FEWEST: usize = 3;

/// A figure whose measured / published is part of the factor.
pub struct Member<'a> {
    /// The published figure.
    pub figure: &'a Figure,
    /// What was measured of it.
    pub values: &'a Values,
    /// The medians' ratio here / published.
    pub ratio: f64,
}

impl<'a> Member<'a> {
    /// Returns a figure that was measured; `None` if a clock did not resolve it.
    pub fn of(figure: &'a Figure, values: &'a Values) -> Option<Member<'a>> {
        let ratio = values.against(figure.value, figure.error)?.value;
        Some(Member { figure, values, ratio })
    }

    /// Returns the errors of the measured and of the published value, as fractions of them.
    fn errors(&self) -> (f64, f64) {
        let Figure { value, error, .. } = self.figure;
        (self.values.error() / (self.ratio * value), error.max(self.values.error()) / value)
    }

    fn error(&self) -> f64 {
        let (own, published) = self.errors();
        own + published
    }
}

/// Figures of one leg and unit, which a faster machine changes by one factor.
pub struct Group<'a> {
    name: String,
    members: Vec<Member<'a>>,
    /// ln(here / published) by run and member, of the runs that have every member.
    logs: Vec<Vec<f64>>,
    /// The numbers of these runs.
    runs: Vec<u32>,
}

impl<'a> Group<'a> {
    /// Groups figures of one unit.
    pub fn of(name: String, members: Vec<Member<'a>>) -> Group<'a> {
        let first = members.first().map(|member| member.values.runs()).unwrap_or_default();
        let log = |member: &Member, run: u32| {
            let (_, value) = member.values.runs().iter().find(|(number, _)| *number == run)?;
            (*value > 0.0).then(|| (value / member.figure.value).ln())
        };
        let row = |run: u32| {
            Some((run, members.iter().map(|member| log(member, run)).collect::<Option<Vec<f64>>>()?))
        };
        let (runs, logs) = first.iter().filter_map(|(run, _)| row(*run)).unzip();
        Group { name, members, logs, runs }
    }

    /// Returns the name of the group, as a figure's key gives it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the factor as reports show it; `None` without members.
    pub fn factor(&self) -> Option<Factor> {
        let ratios: Vec<f64> = self.members.iter().map(|member| member.ratio).collect();
        let here: Vec<f64> = self.members.iter().map(|member| member.ratio * member.figure.value).collect();
        let there: Vec<f64> = self.members.iter().map(|member| member.figure.value).collect();
        let spread = self.spread();
        Some(Factor {
            group: self.name.clone(),
            value: geometric_mean(&ratios)?,
            figures: self.members.len(),
            spread: spread.map(|spread| spread.value),
            spread_interval: spread.and_then(|spread| spread.interval).map(|i| (i.low, i.high)),
            rank_correlation: rank::spearman(&here, &there),
        })
    }

    /// Returns the ratio here / published of a figure over the factor of all other members; `None` if there is
    /// no other member, or no run that has them all.
    pub fn relative(&self, figure: &Member) -> Option<Ratio> {
        let own = self.members.iter().position(|member| member.figure.key == figure.figure.key);
        let others: Vec<usize> = (0..self.members.len()).filter(|i| Some(*i) != own).collect();
        if others.is_empty() {
            return None;
        }
        let in_run = |(run, logs): (&u32, &Vec<f64>)| {
            let (_, value) = figure.values.runs().iter().find(|(number, _)| number == run)?;
            Some(value / figure.figure.value / mean(others.iter().map(|i| logs[*i])).exp())
        };
        let ratios: Vec<f64> = self.runs.iter().zip(&self.logs).filter_map(in_run).collect();
        // The roundings of the others are independent of each other and average out.
        let squares: f64 = others.iter().map(|i| self.members[*i].error().powi(2)).sum();
        let of_factor = (squares.sqrt() / others.len() as f64).exp();
        let (here, published) = figure.errors();
        let widened = |i: Interval| Interval {
            low: i.low * (1.0 - here) / (1.0 + published) / of_factor,
            high: i.high * (1.0 + here) / (1.0 - published) * of_factor,
        };
        Some(Ratio { value: median(&ratios)?, interval: order::of_median(&ratios).map(widened) })
    }

    /// Returns the root mean square of ln(ratio / factor) over the members that are not coarse.
    fn spread(&self) -> Option<Ratio> {
        let fine: Vec<usize> =
            (0..self.members.len()).filter(|i| self.members[*i].error() <= COARSEST).collect();
        if fine.len() < FEWEST {
            return None;
        }
        let in_run = |logs: &Vec<f64>| {
            let center = mean(fine.iter().map(|i| logs[*i]));
            mean(fine.iter().map(|i| (logs[*i] - center).powi(2))).sqrt()
        };
        let spreads: Vec<f64> = self.logs.iter().map(in_run).collect();
        Some(Ratio { value: median(&spreads)?, interval: order::of_median(&spreads) })
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}
