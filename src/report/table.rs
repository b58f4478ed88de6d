//! A table with text before and after it, and its two renderings.

use comfy_table::{CellAlignment, presets};

/// A column.
pub struct Column {
    /// Its heading.
    pub name: &'static str,
    /// Whether numbers stand in it.
    pub right: bool,
}

/// Text, table, text.
pub struct Table {
    /// Lines before it.
    pub head: Vec<String>,
    /// Columns.
    pub columns: Vec<Column>,
    /// Cells, row by row.
    pub rows: Vec<Vec<String>>,
    /// Lines after it.
    pub notes: Vec<String>,
}

/// A left-aligned column.
pub fn left(name: &'static str) -> Column {
    Column { name, right: false }
}

/// A right-aligned column.
pub fn right(name: &'static str) -> Column {
    Column { name, right: true }
}

impl Table {
    /// For a terminal, as wide as its content.
    pub fn terminal(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_header(self.columns.iter().map(|column| column.name));
        table.add_rows(self.rows.iter().map(|row| self.padded(row)));
        for (index, column) in self.columns.iter().enumerate() {
            if let (true, Some(cells)) = (column.right, table.column_mut(index)) {
                cells.set_cell_alignment(CellAlignment::Right);
            }
        }
        let grid: Vec<String> = table.lines().map(|line| line.trim_end().to_string()).collect();
        let body = if self.rows.is_empty() { Vec::new() } else { grid };
        paragraphs([&self.head, &body, &self.notes], "\n")
    }

    /// A heading within the table has its first cell only.
    fn padded(&self, row: &[String]) -> Vec<String> {
        let mut cells = row.to_vec();
        cells.resize(self.columns.len(), String::new());
        cells
    }

    /// For a page.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let escape = |cell: &String| cell.trim().replace('|', "\\|");
        let mut body = Vec::new();
        if !self.rows.is_empty() {
            body.push(line(self.columns.iter().map(|column| column.name.to_string()).collect()));
            let rule = |column: &Column| if column.right { "---:" } else { "---" }.to_string();
            body.push(line(self.columns.iter().map(rule).collect()));
            body.extend(self.rows.iter().map(|row| line(self.padded(row).iter().map(escape).collect())));
        }
        let list = |lines: &[String]| lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>();
        paragraphs([&list(&self.head), &body, &list(&self.notes)], "\n")
    }
}

/// Tables one after the other, for a terminal.
pub fn terminal(tables: &[Table]) -> String {
    tables.iter().map(Table::terminal).collect::<Vec<_>>().join("\n")
}

/// Tables one after the other, for a page.
pub fn markdown(tables: &[Table]) -> String {
    tables.iter().map(Table::markdown).collect::<Vec<_>>().join("\n")
}

fn paragraphs(parts: [&Vec<String>; 3], end: &str) -> String {
    let texts: Vec<String> =
        parts.iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    texts.join("\n\n") + end
}

/// Milliseconds without needless decimals: `58`, `58.5`.
pub fn ms(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// Three digits, or all of a whole part: `0.257`, `5.73`, `89.2`, `5116`.
pub fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size < 1.0 => 3,
        size if size < 10.0 => 2,
        size if size < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// A count with commas: `9,714`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group));
    groups.collect::<Vec<_>>().join(",")
}

/// Seconds with three decimals, from milliseconds.
pub fn seconds(ms: f64) -> String {
    format!("{:.3}", ms / 1000.0)
}

/// `+1.2 %`.
pub fn percent(fraction: f64) -> String {
    format!("{:+.1} %", fraction * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        Table {
            head: vec!["head".into()],
            columns: vec![left("step"), right("ms")],
            rows: vec![vec!["a|b".into(), "58".into()], vec!["c".into(), "7".into()]],
            notes: vec!["note".into()],
        }
    }

    #[test]
    fn both_renderings() {
        assert_eq!(sample().terminal(), "head\n\n step  ms\n a|b   58\n c      7\n\nnote\n");
        assert_eq!(
            sample().markdown(),
            "- head\n\n| step | ms |\n| --- | ---: |\n| a\\|b | 58 |\n| c | 7 |\n\n- note\n"
        );
    }

    #[test]
    fn numbers() {
        assert_eq!(
            (ms(58.0), ms(58.5), seconds(3708.0), percent(-0.0123)),
            ("58".into(), "58.5".into(), "3.708".into(), "-1.2 %".into())
        );
        let digits = [0.2571, -5.731, 89.24, 5116.4].map(three_digits);
        assert_eq!(digits, ["0.257", "-5.73", "89.2", "5116"]);
        assert_eq!([0, 999, 9714, 1_000_000].map(count), ["0", "999", "9,714", "1,000,000"]);
    }
}
