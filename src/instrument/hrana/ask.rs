//! What a server says of itself. It may refuse what it likes: then it says nothing.

use super::{Client, Failure, Stream};
use crate::instrument::sql::{Statement, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The rows that answer a query, as text; none when the server refuses it.
///
/// # Errors
/// Any class but [`Failure::Server`].
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

/// The pragmas of these names, as far as the server tells them.
///
/// # Errors
/// Any class but [`Failure::Server`].
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
