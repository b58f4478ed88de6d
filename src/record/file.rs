//! The file format of a record: one JSON object, whose first member is `schema`.

use super::Record;
use schemars::{JsonSchema, Schema as JsonType, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};
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
    let blank = Record { sha256: Some(BLANK.to_string()), ..record.clone() };
    let mut text = serde_json::to_string_pretty(&blank)?;
    text.push('\n');
    let hash = sha256(&text);
    Ok(text.replacen(BLANK, &hash, 1))
}

/// What stands in the place of the hash while it is computed.
const BLANK: &str = "0000000000000000000000000000000000000000000000000000000000000000";

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns whether the text of a record is as it was written; `None` if the record has no hash.
fn unchanged(text: &str, record: &Record) -> Option<bool> {
    let hash = record.sha256.as_deref()?;
    Some(sha256(&text.replacen(hash, BLANK, 1)) == hash)
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
            let mut record: Record =
                serde_json::from_str(text).map_err(|error| format!("not a valid record: {error}"))?;
            record.unchanged = unchanged(text, &record);
            record.check().map(|()| record)
        }
    }
}

/// Returns the JSON schema of a record file.
pub fn json_schema() -> Value {
    schemars::schema_for!(Record).to_value()
}
