//! A model in memory of the tables as they must be after each step.

use crate::instrument::sql::Value;

/// A row of `items`.
pub struct Item {
    k: i64,
    name: String,
    val: f64,
    deleted: bool,
}

/// Both tables; a row's key is its position, counted from 1.
#[derive(Default)]
pub struct Model {
    /// The rows of `items`, including deleted ones.
    pub items: Vec<Item>,
    /// The rows of `blobs`.
    pub blobs: Vec<Vec<u8>>,
}

/// The number of rows and the sum of `k` up to each value of `k`.
pub struct Sums(Vec<(i64, i64)>);

impl Sums {
    /// Returns the number of rows with `first` ≤ k ≤ `last` and their sum of `k`.
    pub fn between(&self, first: i64, last: i64) -> (i64, i64) {
        let at = |k: i64| self.0[(k.max(0) as usize).min(self.0.len() - 1)];
        let (below, upto) = (at(first - 1), at(last));
        (upto.0 - below.0, upto.1 - below.1)
    }
}

impl Model {
    /// Adds a row to `items`.
    pub fn insert(&mut self, k: i64, name: &str, val: f64) {
        self.items.push(Item { k, name: name.to_string(), val, deleted: false });
    }

    /// Adds `amount` to `val` in the rows that `chosen` selects by key and `k`, and returns their number.
    pub fn add(&mut self, amount: f64, chosen: impl Fn(i64, i64) -> bool) -> u64 {
        let rows = self.items.iter_mut().zip(1..).filter(|(item, id)| !item.deleted && chosen(*id, item.k));
        rows.map(|(item, _)| item.val += amount).count() as u64
    }

    /// Deletes the keys from `first` to `last`, and returns the number of rows deleted.
    pub fn delete(&mut self, first: i64, last: i64) -> u64 {
        let rows = self.items[first as usize - 1..last as usize].iter_mut().filter(|item| !item.deleted);
        rows.map(|item| item.deleted = true).count() as u64
    }

    /// Returns the number of rows and the sum of `val`.
    pub fn count_and_sum(&self) -> (i64, f64) {
        let rows = || self.live().map(|(_, item)| item);
        (rows().count() as i64, rows().map(|item| item.val).sum())
    }

    /// Returns the numbers of rows and sums by `k`.
    pub fn sums_of_k(&self) -> Sums {
        let mut present = vec![false; self.items.len() + 1];
        self.live().for_each(|(_, item)| present[item.k as usize] = true);
        let mut so_far = (0, 0);
        let add = |(present, k): (bool, i64)| {
            so_far = (so_far.0 + i64::from(present), so_far.1 + if present { k } else { 0 });
            so_far
        };
        Sums(present.into_iter().zip(0..).map(add).collect())
    }

    /// Returns `k`, `name` and `val` of the row with this key, or `None` if it does not exist.
    pub fn by_key(&self, id: i64) -> Option<Vec<Value>> {
        let item = self.items.get(id as usize - 1).filter(|item| !item.deleted)?;
        Some(vec![item.k.into(), Value::Text(item.name.clone()), item.val.into()])
    }

    /// Returns `id` and `name` of the rows whose name begins with this word, in the order of the keys.
    pub fn named(&self, word: &str) -> Vec<Vec<Value>> {
        let rows = self.live().filter(|(_, item)| item.name.starts_with(word));
        rows.map(|(id, item)| vec![id.into(), Value::Text(item.name.clone())]).collect()
    }

    fn live(&self) -> impl Iterator<Item = (i64, &Item)> {
        (1..).zip(&self.items).filter(|(_, item)| !item.deleted)
    }
}
