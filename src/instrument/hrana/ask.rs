//! Queries about the server itself. It may refuse any of them; the answer is then empty.

use super::{Client, Failure, Stream};
use crate::instrument::sql::{Statement, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Returns the rows that answer a query, as text, or no rows if the server refuses it.
///
/// # Errors
/// Fails with any class except [`Failure::Server`].
pub fn ask(
    client: &mut Client,
    stream: Stream,
    sql: impl Into<Cow<'static, str>>,
) -> Result<Vec<Vec<String>>, Failure> {
    let rows = match client.execute(stream, &Statement::new(sql, Vec::new())) {
        Err(failure) if failure.leaves_connection() => Vec::new(),
        other => other?.answer.rows,
    };
    Ok(rows.iter().map(|row| row.iter().map(text).collect()).collect())
}

/// Returns the values of the pragmas with these names, as far as the server reports them.
///
/// # Errors
/// Fails with any class except [`Failure::Server`].
pub fn settings(
    client: &mut Client,
    stream: Stream,
    names: &[&str],
) -> Result<BTreeMap<String, String>, Failure> {
    let mut settings = BTreeMap::new();
    for name in names {
        if let Some(value) = ask(client, stream, format!("PRAGMA {name}"))?.into_iter().flatten().next() {
            settings.insert(name.to_string(), value);
        }
    }
    Ok(settings)
}

fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Integer(value) => value.to_string(),
        other => format!("{other:?}"),
    }
}
