//! What would spoil a measurement on this machine, and what to do about it.

mod machine;
mod moment;
mod place;

use super::Host;
use super::noise::Snapshot;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Everything is as it should be.
    Ok,
    /// It is good to know, and may widen the intervals.
    Note,
    /// It is likely to spoil figures.
    Warning,
}

/// One property that was examined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// How much the finding matters.
    pub severity: Severity,
    /// What was found.
    pub what: String,
    /// What to do about it; absent when nothing needs to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Finding {
    fn ok(what: impl Into<String>) -> Finding {
        Finding { severity: Severity::Ok, what: what.into(), advice: None }
    }

    fn note(what: impl Into<String>, advice: &str) -> Finding {
        Finding { severity: Severity::Note, what: what.into(), advice: Some(advice.to_owned()) }
    }

    fn warning(what: impl Into<String>, advice: &str) -> Finding {
        Finding { severity: Severity::Warning, what: what.into(), advice: Some(advice.to_owned()) }
    }
}

/// Examines the machine, its state at `before`, and the directory of SQLite's temporary files. What is
/// unknown is left out, unless it matters that it is unknown.
pub fn examine(host: &Host, before: &Snapshot, temp_dir: &Path) -> Vec<Finding> {
    [machine::examine(host), moment::examine(host, before), place::examine(temp_dir)].concat()
}

#[cfg(test)]
mod tests {
    use super::super::{cpu::Cpu, memory::Memory, virtualisation::NONE_SEEN};
    use super::*;

    /// Returns a machine that is as good as can be: eight threads, no boost, no SMT, bare metal.
    pub fn good_host() -> Host {
        let own = |text: &str| Some(text.to_owned());
        let cpu = Cpu {
            model: own("Test CPU"),
            logical_cpus: 8,
            allowed_cpus: Some(8),
            cores: Some(8),
            smt: Some(false),
            governor: own("performance"),
            scaling_driver: own("intel_pstate"),
            max_mhz: Some(3000),
            boost: Some(false),
            architecture: "x86_64".to_owned(),
            cgroup_cpu_limit: None,
            ..Cpu::default()
        };
        let memory = Memory { total_bytes: Some(16 << 30), swap_bytes: Some(0), cgroup_limit_bytes: None };
        let [os, kernel] = [own("Test OS"), own("6.1.0")];
        Host {
            name: None,
            os,
            kernel,
            libc: None,
            cpu,
            memory,
            virtualisation: own(NONE_SEEN),
            clock_source: own("tsc"),
        }
    }

    /// Returns the worst severity, and the texts of the findings that have it.
    pub fn worst(findings: &[Finding]) -> (Severity, String) {
        let worst = findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Ok);
        let of_worst = findings.iter().filter(|finding| finding.severity == worst);
        (worst, of_worst.map(|finding| finding.what.as_str()).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn whatever_is_not_ok_comes_with_advice() {
        let findings = examine(&Host::capture(false), &Snapshot::take(), &std::env::temp_dir());
        assert!(
            findings.iter().all(|finding| (finding.severity == Severity::Ok) == finding.advice.is_none())
        );
        assert!(findings.len() >= 4);
    }
}
