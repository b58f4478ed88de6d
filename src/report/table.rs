//! A table with text above and below it, and its renderings.

use comfy_table::{Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Width, presets};
use std::fmt;
use std::ops::Deref;

/// How a text is highlighted where there is colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// The text is not highlighted.
    #[default]
    Plain,
    /// All is well.
    Good,
    /// Something is wrong.
    Bad,
    /// Something needs attention.
    Warning,
    /// The text is not important.
    Faint,
}

/// A cell, or a line above or below a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// The text itself.
    pub text: String,
    /// The highlighting of the text.
    pub tone: Tone,
}

impl Text {
    /// Returns a text with this highlighting.
    pub fn new(text: impl Into<String>, tone: Tone) -> Text {
        Text { text: text.into(), tone }
    }
}

impl<T: Into<String>> From<T> for Text {
    fn from(text: T) -> Text {
        Text::new(text, Tone::Plain)
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.text == *other
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// A column of a table.
pub struct Column {
    /// The heading of the column.
    pub name: &'static str,
    /// Whether the column is right-aligned, as numbers are.
    pub right: bool,
}

/// A table with lines of text above and below it.
#[derive(Default)]
pub struct Table {
    /// The lines above the table.
    pub head: Vec<Text>,
    /// The columns from left to right.
    pub columns: Vec<Column>,
    /// The cells, row by row. A row with only a first cell is a heading within the table.
    pub rows: Vec<Vec<Text>>,
    /// The lines below the table.
    pub notes: Vec<Text>,
}

/// The screen on which a table is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    /// The number of characters in a line; `None` if lines may have any length.
    pub width: Option<usize>,
    /// Whether the screen has colour.
    pub colour: bool,
}

/// Returns a left-aligned column.
pub fn left(name: &'static str) -> Column {
    Column { name, right: false }
}

/// Returns a right-aligned column.
pub fn right(name: &'static str) -> Column {
    Column { name, right: true }
}

/// Returns cells of plain text.
pub fn cells<T: Into<Text>>(row: impl IntoIterator<Item = T>) -> Vec<Text> {
    row.into_iter().map(Into::into).collect()
}

/// The number of spaces between two columns, and before the first.
const GAP: usize = 2;
/// The smallest width to which text is wrapped.
const NARROWEST: usize = 16;

impl Table {
    /// Returns an empty table with these columns.
    pub fn new(columns: Vec<Column>) -> Table {
        Table { columns, ..Table::default() }
    }

    /// Renders the table for a terminal. Text that does not fit into its width is wrapped; columns that still
    /// do not fit go into a second grid below, which repeats the first column.
    pub fn terminal(&self, screen: Screen) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|index| self.width_of(index)).collect();
        let grids = self.groups(&widths, screen.width).into_iter().map(|group| self.grid(&group, screen));
        let mut body: Vec<String> = Vec::new();
        for grid in grids.filter(|_| !self.rows.is_empty()) {
            if !body.is_empty() {
                body.push(String::new());
            }
            body.extend(grid);
        }
        let lines = |lines: &[Text]| lines.iter().map(|line| painted(line, screen)).collect::<Vec<_>>();
        paragraphs([&lines(&self.head), &body, &lines(&self.notes)], "\n")
    }

    fn width_of(&self, index: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.chars().count());
        // A heading within the table may extend over the columns beside it.
        let cells = cells.max().unwrap_or(0);
        cells.max(self.columns[index].name.chars().count())
    }

    /// Returns the groups of columns that fit side by side, with the width of a column that is wrapped.
    fn groups(&self, widths: &[usize], width: Option<usize>) -> Vec<Vec<(usize, Option<usize>)>> {
        let plain = |indices: Vec<usize>| indices.into_iter().map(|index| (index, None)).collect::<Vec<_>>();
        let all: Vec<usize> = (0..widths.len()).collect();
        let total: usize = widths.iter().map(|width| width + GAP).sum();
        let Some(limit) = width.filter(|limit| total > *limit) else { return vec![plain(all)] };
        let spare = |index: &usize| !self.columns[*index].right && *index > 0 && widths[*index] > NARROWEST;
        if let Some(widest) = all.iter().copied().filter(spare).max_by_key(|index| widths[*index])
            && total - widths[widest] + NARROWEST <= limit
        {
            let room = limit - (total - widths[widest]);
            return vec![all.into_iter().map(|index| (index, (index == widest).then_some(room))).collect()];
        }
        let mut groups: Vec<Vec<usize>> = vec![vec![0]];
        let mut used = widths[0] + GAP;
        for index in 1..widths.len() {
            let needed = widths[index] + GAP;
            if used + needed > limit && groups.last().is_some_and(|group| group.len() > 1) {
                groups.push(vec![0]);
                used = widths[0] + GAP;
            }
            used += needed;
            groups.last_mut().into_iter().for_each(|group| group.push(index));
        }
        groups.into_iter().map(plain).collect()
    }

    fn grid(&self, group: &[(usize, Option<usize>)], screen: Screen) -> Vec<String> {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        match screen.colour {
            true => table.enforce_styling(),
            false => table.force_no_tty(),
        };
        table.set_header(group.iter().map(|(index, _)| self.columns[*index].name));
        let empty = Text::default();
        for row in &self.rows {
            table.add_row(group.iter().map(|(index, _)| cell(row.get(*index).unwrap_or(&empty))));
        }
        for (place, (index, room)) in group.iter().enumerate() {
            let Some(column) = table.column_mut(place) else { continue };
            if self.columns[*index].right {
                column.set_cell_alignment(CellAlignment::Right);
            }
            if let Some(room) = room {
                column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed((room + GAP) as u16)));
            }
        }
        if group.iter().any(|(_, room)| room.is_some()) {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(screen.width.unwrap_or(usize::from(u16::MAX)) as u16);
        }
        table.lines().map(|line| line.trim_end().to_string()).collect()
    }

    /// Renders the table as Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let escape = |cell: Option<&Text>| cell.map_or("", |cell| cell.trim()).replace('|', "\\|");
        let mut body = Vec::new();
        if !self.rows.is_empty() {
            body.push(line(self.columns.iter().map(|column| column.name.to_string()).collect()));
            let rule = |column: &Column| if column.right { "---:" } else { "---" }.to_string();
            body.push(line(self.columns.iter().map(rule).collect()));
            let padded = |row: &Vec<Text>| (0..self.columns.len()).map(|i| escape(row.get(i))).collect();
            body.extend(self.rows.iter().map(|row| line(padded(row))));
        }
        let list = |lines: &[Text]| lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>();
        paragraphs([&list(&self.head), &body, &list(&self.notes)], "\n")
    }
}

fn colour(tone: Tone) -> Option<Color> {
    match tone {
        Tone::Plain => None,
        Tone::Good => Some(Color::Green),
        Tone::Bad => Some(Color::Red),
        Tone::Warning => Some(Color::Yellow),
        Tone::Faint => Some(Color::DarkGrey),
    }
}

fn cell(text: &Text) -> Cell {
    let cell = Cell::new(&text.text);
    match colour(text.tone) {
        Some(colour) => cell.fg(colour),
        None => cell,
    }
}

/// Returns a line in the colour of its tone, with ECMA-48 codes.
pub fn painted(line: &Text, screen: Screen) -> String {
    let code = match line.tone {
        _ if !screen.colour => None,
        Tone::Plain => None,
        Tone::Good => Some(32),
        Tone::Bad => Some(31),
        Tone::Warning => Some(33),
        Tone::Faint => Some(90),
    };
    code.map_or_else(|| line.text.clone(), |code| format!("\x1b[{code}m{line}\x1b[0m"))
}

/// Renders tables one after the other for a terminal.
pub fn terminal(tables: &[Table], screen: Screen) -> String {
    tables.iter().map(|table| table.terminal(screen)).collect::<Vec<_>>().join("\n")
}

/// Renders tables one after the other as Markdown.
pub fn markdown(tables: &[Table]) -> String {
    tables.iter().map(Table::markdown).collect::<Vec<_>>().join("\n")
}

fn paragraphs(parts: [&Vec<String>; 3], end: &str) -> String {
    let texts: Vec<String> =
        parts.iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    texts.join("\n\n") + end
}

/// Formats milliseconds without needless decimals: `58`, `58.5`.
pub fn ms(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// Formats a value with three significant digits, or with its whole integer part: `0.257`, `5.73`, `89.2`,
/// `5116`.
pub fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size < 1.0 => 3,
        size if size < 10.0 => 2,
        size if size < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// Formats a count with commas: `9,714`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group));
    groups.collect::<Vec<_>>().join(",")
}

/// Formats milliseconds as seconds with three decimals.
pub fn seconds(ms: f64) -> String {
    format!("{:.3}", ms / 1000.0)
}

/// Formats a fraction as a signed percentage: `+1.2 %`.
pub fn percent(fraction: f64) -> String {
    format!("{:+.1} %", fraction * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        Table {
            head: cells(["head"]),
            columns: vec![left("step"), right("ms")],
            rows: vec![cells(["a|b", "58"]), cells(["c", "7"])],
            notes: cells(["note"]),
        }
    }

    const PIPE: Screen = Screen { width: None, colour: false };

    #[test]
    fn both_renderings() {
        assert_eq!(sample().terminal(PIPE), "head\n\n step  ms\n a|b   58\n c      7\n\nnote\n");
        assert_eq!(
            sample().markdown(),
            "- head\n\n| step | ms |\n| --- | ---: |\n| a\\|b | 58 |\n| c | 7 |\n\n- note\n"
        );
    }

    #[test]
    fn colour_is_for_screens_that_have_it() {
        let mut table = sample();
        table.rows[1][1].tone = Tone::Bad;
        table.notes[0].tone = Tone::Warning;
        assert!(!table.terminal(PIPE).contains('\x1b') && !table.markdown().contains('\x1b'));
        let painted = table.terminal(Screen { colour: true, ..PIPE });
        assert!(painted.contains("\x1b[33mnote\x1b[0m"), "{painted:?}");
        assert!(painted.contains("\x1b[38;5;9m"), "{painted:?}");
    }

    /// Returns a table that `words` and eight numbers make wide.
    fn wide(words: &str) -> Table {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let columns = std::iter::once(left("step")).chain(names.map(right)).chain([left("why")]).collect();
        let row = ["insert-1"].into_iter().chain(["12345678"; 8]).chain([words]);
        Table { rows: vec![cells(row)], ..Table::new(columns) }
    }

    fn longest(text: &str) -> usize {
        text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    }

    #[test]
    fn it_keeps_to_the_width_of_the_screen() {
        let words = "a reason that goes on and on, and needs a line of its own";
        let screen = |width| Screen { width: Some(width), ..PIPE };
        let [narrow, fits, free] = [screen(80), screen(200), PIPE].map(|screen| wide(words).terminal(screen));
        assert!(longest(&narrow) <= 80 && longest(&fits) <= 200, "{narrow}\n{fits}");
        assert_eq!(fits, free);
        assert_eq!(narrow.matches("insert-1").count(), 2, "the first column again: {narrow}");
        let wrapped = wide(words).terminal(screen(120));
        assert!(longest(&wrapped) <= 120 && wrapped.matches("insert-1").count() == 1, "{wrapped}");
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
