//! The table of a record: rows below their testsets, and TOTAL.

use crate::figure::{FigureKey, Figures, WHOLE};
use crate::record::Leg;
use crate::report::record::median_and_interval;
use crate::report::table::{Table, Text, cells, left, ms, right};
use crate::stats::Summary;

/// Returns the table of a record.
pub fn rows(figures: Figures, leg: &Leg) -> Table {
    let columns = vec![
        left("step"),
        left("name"),
        right("median ms"),
        right("95 % interval"),
        right("min"),
        right("max"),
        right("observed"),
    ];
    let mut table = Table::new(columns);
    let mut testset = "";
    for phase in &leg.phases {
        let (own, number) = phase.name.split_once('/').unwrap_or((&phase.name, ""));
        if own != testset {
            testset = own;
            table.rows.push(testset_row(figures, leg, testset));
        }
        let key = FigureKey::row(&phase.name);
        let reported = figures.cited(&key).and_then(|values| values.summary());
        let observed = figures.observed(&key).and_then(|values| values.median());
        let observed = observed.map_or(String::new(), |value| format!("{value:.2}"));
        let title = phase.title.clone().unwrap_or_default();
        table.rows.push(row(format!("  {number}"), title, reported, observed));
    }
    let total = figures.cited(&FigureKey::row(WHOLE)).and_then(|values| values.summary());
    table.rows.push(row("TOTAL".to_string(), "all rows".to_string(), total, String::new()));
    table
}

/// Returns the table row of a testset with the sum of its rows, taken run by run.
fn testset_row(figures: Figures, leg: &Leg, testset: &str) -> Vec<Text> {
    let names = leg.phases.iter().map(|phase| phase.name.as_str());
    let own: Vec<&str> =
        names.filter(|name| name.split_once('/').is_some_and(|(of, _)| of == testset)).collect();
    let sum = figures.sum_of_rows(leg, &own).and_then(|values| values.summary());
    row(testset.to_string(), format!("{} rows", own.len()), sum, String::new())
}

fn row(key: String, name: String, summary: Option<Summary>, observed: String) -> Vec<Text> {
    let [median, interval] = summary.map(|s| median_and_interval(&s, ms)).unwrap_or_default();
    let text = |value: Option<f64>| value.map_or(String::new(), ms);
    cells([key, name, median, interval, text(summary.map(|s| s.min)), text(summary.map(|s| s.max)), observed])
}
