//! Known answers: the hash that a `--verify` run must print.

use super::args::Workload;
use super::output::VerificationHash;
use crate::record;
use serde::Deserialize;
use std::sync::LazyLock;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerFile {
    answer: Vec<Answer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    version: String,
    testset: String,
    size: u32,
    bytes: u64,
    hash: String,
}

/// The answers in `reference/answers.toml`, which says how each hash was established.
static ANSWERS: LazyLock<Vec<Answer>> = LazyLock::new(|| {
    let text = include_str!("../../../reference/answers.toml");
    toml::from_str::<AnswerFile>(text).expect("reference/answers.toml is tested").answer
});

/// Returns the hash that `workload` must give on SQLite `version`, or `None` if nobody has established it.
pub fn known(version: &str, workload: &Workload) -> Option<VerificationHash> {
    if !workload.keeps_answers() {
        return None;
    }
    let testset = workload.testset.as_str();
    let fits = |a: &&Answer| a.version == version && a.testset == testset && a.size == workload.size;
    ANSWERS.iter().find(fits).map(|a| VerificationHash { bytes: a.bytes, hash: a.hash.clone() })
}

/// Judges the hash of a `--verify` run of `workload` on SQLite `version`.
pub fn judge(version: Option<&str>, workload: &Workload, hash: &VerificationHash) -> record::Answer {
    let found = hash.to_string();
    let known = version.and_then(|version| known(version, workload)).map(|known| known.to_string());
    match known {
        _ if hash.bytes == 0 => record::Answer::NotChecked {
            reason: format!("the testsets {} put no results into the verification hash", workload.testset),
        },
        Some(expected) if expected == found => record::Answer::Right { found },
        Some(expected) => record::Answer::Wrong { found, expected },
        None => record::Answer::Unknown { found },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_file_is_sound() {
        let mut seen = HashSet::new();
        for answer in ANSWERS.iter() {
            assert_eq!(answer.hash.len(), 48);
            assert!(answer.hash.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase()));
            assert!(
                seen.insert((&answer.version, &answer.testset, answer.size)),
                "twice: {}",
                answer.testset
            );
        }
    }

    #[test]
    fn the_default_run_is_known_and_others_are_not_guessed() {
        let default = Workload::default();
        assert_eq!(
            known("3.53.4", &default).unwrap().hash,
            "cc784acae6e8154e2d9fba03dd8cb9ac7ae8f309abebbfd4"
        );
        assert_eq!(known("3.53.3", &default), None);
        assert_eq!(known("3.53.4", &Workload { size: 12345, ..default }), None);
    }
}
