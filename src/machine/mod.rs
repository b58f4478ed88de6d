//! What the machine is and what else it is doing: facts for every record, and advice derived from them.
//!
//! This works on Linux only. Everything is read from /proc, /sys and system calls, as any user, and nothing
//! is changed.

pub mod advice;
mod cgroup;
pub mod cpu;
pub mod disk;
pub mod environment;
pub mod memory;
pub mod noise;
pub mod speed;
pub mod virtualisation;

use cpu::Cpu;
use memory::Memory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The facts of a machine, as far as they are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// The host name; present only if the user asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The operating system, as named in /etc/os-release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// The kernel release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The C library, such as `glibc 2.36`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub libc: Option<String>,
    /// The processors.
    pub cpu: Cpu,
    /// The sizes of the memory.
    pub memory: Memory,
    /// The hypervisor and the container, or [`virtualisation::NONE_SEEN`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtualisation: Option<String>,
    /// The kernel's clock source, such as `tsc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_source: Option<String>,
}

impl Host {
    /// Reads the facts of this machine. The host name is read only if `name` is set, since it may identify
    /// the user.
    pub fn capture(name: bool) -> Host {
        let system = nix::sys::utsname::uname().ok();
        let fact = |text: &std::ffi::OsStr| {
            Some(text.to_string_lossy().into_owned()).filter(|text| !text.is_empty())
        };
        let mounts = disk::mounts();
        Host {
            name: system.as_ref().filter(|_| name).and_then(|system| fact(system.nodename())),
            os: text("/etc/os-release")
                .or_else(|| text("/usr/lib/os-release"))
                .and_then(|text| pretty_name(&text)),
            kernel: system.as_ref().and_then(|system| fact(system.release())),
            libc: libc(),
            cpu: Cpu::capture(system.as_ref().and_then(|system| fact(system.machine())), &mounts),
            memory: Memory::capture(&mounts),
            virtualisation: virtualisation::capture(),
            clock_source: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        }
    }
}

/// Returns the name and version of the C library, as getconf(1) gives them; other libraries than glibc have no such name.
fn libc() -> Option<String> {
    let output = std::process::Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// Returns the value of PRETTY_NAME in the format of os-release(5), without its shell quotes.
fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.trim().strip_prefix("PRETTY_NAME="))?;
    let quoted = |quote| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    let bare = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
    Some(bare.replace('\\', "")).filter(|name| !name.is_empty())
}

/// Returns the content of a file without the white space around it, or `None` when it can't be read or is
/// empty.
fn text(path: impl AsRef<Path>) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    // Firmware strings and device tree properties may end in NUL.
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the number in a file.
fn number<T: std::str::FromStr>(path: impl AsRef<Path>) -> Option<T> {
    text(path)?.parse().ok()
}

/// Returns the entries of `directory` whose names are `prefix` and a number, such as cpu0, cpu1, …
fn numbered(directory: &str, prefix: &str) -> Vec<PathBuf> {
    let matches = |path: &PathBuf| {
        let number =
            path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(prefix));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(matches).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_system_loses_its_quotes() {
        let debian = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n";
        assert_eq!(pretty_name(debian).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(pretty_name("PRETTY_NAME='a \\$ b'").as_deref(), Some("a $ b"));
        assert_eq!(pretty_name("PRETTY_NAME=Alpine").as_deref(), Some("Alpine"));
        assert_eq!(pretty_name("PRETTY_NAME=\"").as_deref(), Some("\""));
        assert_eq!(pretty_name("PRETTY_NAME=\nID=x"), None);
        assert_eq!(pretty_name(""), None);
    }

    #[test]
    fn files_that_are_missing_or_odd_are_unknown() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cpu12");
        assert_eq!(text(&path), None);
        std::fs::write(&path, " 42\n\0").unwrap();
        assert_eq!((text(&path).as_deref(), number::<u32>(&path)), (Some("42"), Some(42)));
        std::fs::write(&path, b"\xff\n").unwrap();
        assert_eq!(number::<u32>(&path), None);
        std::fs::write(&path, "\n").unwrap();
        assert_eq!(text(&path), None);
        std::fs::write(directory.path().join("cpufreq"), "").unwrap();
        assert_eq!(numbered(directory.path().to_str().unwrap(), "cpu"), [path]);
        assert!(numbered("/nowhere", "cpu").is_empty());
    }

    #[test]
    fn the_host_name_is_kept_only_on_request() {
        let host = Host::capture(false);
        assert_eq!(host.name, None);
        assert!(!serde_json::to_string(&host).unwrap().contains("null"));
        let back: Host = serde_json::from_str(&serde_json::to_string(&host).unwrap()).unwrap();
        assert_eq!(back, host);
        assert!(Host::capture(true).name.is_some());
    }
}
