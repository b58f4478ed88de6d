//! The file format of a record: one JSON object, whose first member is `schema`.

use super::Record;
use schemars::{JsonSchema, Schema as JsonType, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;

/// The version of the format that this program writes, and the only one that it reads.
pub const SCHEMA: u64 = 2;

/// Stands for [`SCHEMA`] in a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schema;

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(SCHEMA)
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u64::deserialize(deserializer)? {
            SCHEMA => Ok(Schema),
            other => Err(serde::de::Error::custom(format!("schema {other}, expected {SCHEMA}"))),
        }
    }
}

impl JsonSchema for Schema {
    fn schema_name() -> Cow<'static, str> {
        "Schema".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> JsonType {
        json_schema!({ "type": "integer", "const": SCHEMA })
    }
}

/// Returns the text of a record file.
///
/// # Errors
/// Passes on errors of serde_json; no record causes one.
pub fn write(record: &Record) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(record)?;
    text.push('\n');
    Ok(text)
}

/// Reads the text of a record file and checks the record.
///
/// # Errors
/// Says what is wrong with the text and where; for another version of the format, also what to do.
pub fn read(text: &str) -> Result<Record, String> {
    #[derive(Deserialize)]
    struct Versioned {
        schema: u64,
    }
    let versioned: Versioned =
        serde_json::from_str(text).map_err(|error| format!("not a record written by repro: {error}"))?;
    match versioned.schema {
        newer if newer > SCHEMA => Err(format!(
            "written by a newer repro (schema {newer}); this one reads schema {SCHEMA}; update repro"
        )),
        older if older < SCHEMA => Err(format!(
            "written by an older repro (schema {older}); this one reads schema {SCHEMA}; measure again, or read it \
             with the version that wrote it"
        )),
        _ => {
            let record: Record =
                serde_json::from_str(text).map_err(|error| format!("not a valid record: {error}"))?;
            record.check().map(|()| record)
        }
    }
}

/// Returns the JSON schema of a record file.
pub fn json_schema() -> Value {
    schemars::schema_for!(Record).to_value()
}
