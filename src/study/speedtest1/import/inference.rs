//! What the rows of a run say about its options: each testset tells its size in the name of one of its rows.

use super::super::testset::{self, TestsetList};
use super::super::{StepRow, Workload};

/// For each testset the text around the count in the name of one row, and the count for `--size 1`
/// (speedtest1.c of [`testset::STEPS_OF`]).
const COUNTS: &[(&str, &str, &str, u32)] = &[
    ("orm", "Fill ", " rows", 250),
    ("cte", "EXCEPT operator on ", "-element tables", 10_000),
    ("json", "table J1 is ", " rows of JSONB", 5),
    ("fp", "Fill a table with ", " FP values", 10_000),
    ("parsenumber", "parsing ", " small integers", 100),
    ("rtree", "", " INSERTs into an r-tree", 500),
    ("star", "Create a fact table with ", " entries", 50),
    ("app", "Open and use the database ", " times", 3),
];

/// What is known of the size and the testsets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extent {
    /// The names of the testsets, in order.
    pub names: Vec<String>,
    /// The size at which each of them ran.
    sizes: Vec<Option<u32>>,
    /// The value of `--size`.
    pub size: Option<u32>,
    /// The value of `--testset`.
    pub testset: Option<TestsetList>,
}

/// Returns what the rows of a run of this version say.
pub fn extent(rows: &[StepRow], version: Option<&str>) -> Extent {
    let mut names: Vec<String> = rows.iter().map(|row| row.key.testset.clone()).collect();
    names.dedup();
    let known = version == Some(testset::STEPS_OF);
    let sizes: Vec<Option<u32>> = names.iter().map(|name| size(rows, name, known)).collect();
    let mut extent = Extent { names, sizes, ..Extent::default() };
    let default = TestsetList::default();
    (extent.size, extent.testset) = match (extent.names.as_slice(), extent.sizes.as_slice()) {
        ([name], [size]) => (*size, name.parse().ok()),
        (names, sizes) if default.names().starts_with(names) => {
            let size = sizes.first().copied().flatten().filter(|size| extent.fits(&default, *size));
            let whole = names.len() == default.names().len() && known;
            (size, size.filter(|_| whole).map(|_| default))
        }
        (names, sizes) => list(names, sizes).map_or((None, None), |(size, list)| (Some(size), Some(list))),
    };
    extent
}

/// Returns the size at which a testset ran, as its rows say it.
fn size(rows: &[StepRow], testset: &str, known: bool) -> Option<u32> {
    let mut names = rows.iter().filter(|row| row.key.testset == testset).map(|row| row.name.as_str());
    if testset == "main" {
        return names.find_map(testset::size_of_main);
    }
    let (_, before, after, unit) = COUNTS.iter().find(|(name, ..)| *name == testset && known)?;
    let count = |name: &str| name.strip_prefix(before)?.strip_suffix(after)?.parse::<u32>().ok();
    names.find_map(count).filter(|count| *count > 0 && count.is_multiple_of(*unit)).map(|count| count / unit)
}

/// Returns a size and a list with scales that make these sizes, if there is only one such list for the largest
/// of them.
fn list(names: &[String], sizes: &[Option<u32>]) -> Option<(u32, TestsetList)> {
    let sizes: Vec<u32> = sizes.iter().copied().collect::<Option<_>>()?;
    let size = *sizes.iter().max()?;
    let scaled = |(name, own): (&String, &u32)| {
        let mut scales = (1..=100).filter(|scale| testset::scaled(size, *scale) == *own);
        match (scales.next()?, scales.next()) {
            (100, None) => Some(name.clone()),
            (scale, None) => Some(format!("{name}/{scale}")),
            (_, Some(_)) => None,
        }
    };
    let items = names.iter().zip(&sizes).map(scaled).collect::<Option<Vec<_>>>()?;
    Some((size, items.join(",").parse().ok()?))
}

impl Extent {
    /// Returns this work if the rows can come from it, with its testsets completed where the command left them
    /// to the tool's default, which was `main` before there was a list.
    pub fn confirms(&self, workload: &Workload) -> Option<Workload> {
        let mut workload = workload.clone();
        if workload.testset == TestsetList::default() && self.names == ["main"] {
            workload.testset = "main".parse().ok()?;
        }
        (workload.testset.names() == self.names && self.fits(&workload.testset, workload.size))
            .then_some(workload)
    }

    /// Returns this extent with a list that the user states, or `None` if the rows contradict it. The rows of a
    /// run that has not `ended` may be of its first testsets only.
    pub fn state(&self, list: TestsetList, ended: bool) -> Option<Extent> {
        let names = list.names();
        let same = if ended { names == self.names } else { names.starts_with(&self.names) };
        let size = self.size.or(self.sizes.first().copied().flatten());
        let fits = size.is_none_or(|size| self.fits(&list, size));
        (same && fits).then(|| Extent { size, testset: Some(list), ..self.clone() })
    }

    /// Returns whether the testsets of a list had these sizes, as far as the rows tell.
    fn fits(&self, list: &TestsetList, size: u32) -> bool {
        list.sizes(size).iter().zip(&self.sizes).all(|(own, found)| found.is_none_or(|found| found == *own))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::StepKey;
    use super::*;

    fn rows(names: &[(&str, &str)]) -> Vec<StepRow> {
        let row = |(testset, name): &(&str, &str)| StepRow {
            key: StepKey { testset: testset.to_string(), number: 100, occurrence: 1 },
            name: name.to_string(),
            reported_ms: 1,
        };
        names.iter().map(row).collect()
    }

    const MAIN: (&str, &str) = ("main", "50000 INSERTs into table with no index");

    #[test]
    fn a_single_testset_tells_its_size() {
        let star = extent(&rows(&[("star", "Create a fact table with 250 entries")]), Some("3.53.4"));
        assert_eq!((star.size, star.testset.unwrap().as_str()), (Some(5), "star"));
        // The counts of other versions may differ, except in `main`.
        let old = extent(&rows(&[("star", "Create a fact table with 250 entries")]), Some("3.40.1"));
        assert_eq!((old.size, old.testset.unwrap().as_str()), (None, "star"));
        assert_eq!(extent(&rows(&[MAIN]), None).size, Some(100));
    }

    #[test]
    fn scales_of_a_list_are_found_where_they_are_certain() {
        let of = |list: &[(&str, &str)]| {
            let found = extent(&rows(list), Some("3.53.4"));
            (found.size, found.testset.map(|list| list.to_string()))
        };
        let list = [MAIN, ("star", "Create a fact table with 1000 entries")];
        assert_eq!(of(&list), (Some(100), Some("main,star/20".to_string())));
        // At size 5, a scale from 20 to 39 gives the same work.
        let small = [
            ("main", "2500 INSERTs into table with no index"),
            ("star", "Create a fact table with 50 entries"),
        ];
        assert_eq!(of(&small), (None, None));
        // A default list has its own scales.
        assert_eq!(of(&[MAIN, ("orm", "Fill 6250 rows")]).0, Some(100));
        assert_eq!(of(&[MAIN, ("orm", "Fill 25000 rows")]).0, None);
    }

    #[test]
    fn a_command_must_fit_the_rows() {
        let found = extent(&rows(&[MAIN]), Some("3.53.4"));
        let confirms = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            Workload::of_command(&words).and_then(|workload| found.confirms(&workload)).map(|w| w.to_string())
        };
        assert_eq!(confirms("--nosync x.db").unwrap(), "--size 100 --testset main --nosync");
        assert_eq!(confirms("--size 200 --testset main/50").unwrap(), "--size 200 --testset main/50");
        assert_eq!(confirms("--size 200"), None);
        assert_eq!(confirms("--testset orm"), None);
    }
}
