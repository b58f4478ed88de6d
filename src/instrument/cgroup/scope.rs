//! A scope of systemd, which an ordinary user of a desktop or a server can have without being root.

use super::hierarchy::{Host, Version};
use super::{Limits, Mechanism, MemoryGroup, Tree, next_name};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long systemd may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A script that prints the group that it runs in (below the mount in $1), then the limits that apply there.
const PROBE: &str = r#"
while IFS= read -r line; do case $line in 0::*) group=$1${line#0::};; esac; done </proc/self/cgroup
echo "$group"; cat "$group/memory.max"; if [ "$2" = cpu ]; then cat "$group/cpu.max"; fi"#;

/// Makes a group that systemd creates when the child starts. It is tried out first, because systemd silently
/// accepts limits for which it has no controller.
pub(super) fn make(host: &Host, limits: &Limits) -> Result<MemoryGroup, String> {
    let program = host.systemd_run.as_deref().ok_or("systemd-run is not installed.")?;
    let top = host.place_of_scopes()?;
    let name = next_name();
    let mut probe = command(program, &format!("{name}-probe"), limits);
    probe.extend(["sh", "-c", PROBE, "sh"].map(OsString::from));
    probe.push(top.into_os_string());
    probe.push(if limits.cpus.is_some() { "cpu" } else { "" }.into());
    let directory = directory_from(&answer(&probe)?, limits)?;
    // The group has the name of its unit, and both units are in the same slice.
    let memory = directory.with_file_name(format!("{name}.scope"));
    let wrapper = Some(command(program, &name, limits));
    let tree = Tree { memory, ..Tree::empty(Version::Two) };
    Ok(MemoryGroup { mechanism: Mechanism::Scope, wrapper, tree })
}

fn command(program: &Path, unit: &str, limits: &Limits) -> Vec<OsString> {
    let mut command: Vec<OsString> = vec![program.into()];
    // root uses the system's manager; a user's manager exists only while the user is logged in.
    if !nix::unistd::geteuid().is_root() {
        command.push("--user".into());
    }
    // Without --collect, a scope whose process was killed would remain in the state failed.
    command.extend(["--scope", "--quiet", "--collect"].map(OsString::from));
    command.push(format!("--unit={unit}").into());
    if let Some(bytes) = limits.memory_bytes {
        command.extend(["-p", &format!("MemoryMax={bytes}"), "-p", "MemorySwapMax=0"].map(OsString::from));
    }
    if let Some(cpus) = limits.cpus {
        command.extend(["-p", &format!("CPUQuota={:.2}%", cpus * 100.0)].map(OsString::from));
    }
    command.push("--".into());
    command
}

/// Returns the directory that [`PROBE`] printed, if the limits do apply in it.
fn directory_from(answer: &str, limits: &Limits) -> Result<PathBuf, String> {
    let mut lines = answer.lines();
    let directory = lines.next().filter(|line| line.starts_with('/'));
    let directory = directory.ok_or("systemd-run did not put its child into a group of version 2.")?;
    let memory = lines.next().and_then(|line| line.parse::<u64>().ok());
    if limits.memory_bytes.is_some_and(|limit| memory.is_none_or(|set| set > limit)) {
        return Err("systemd-run created a scope, but its memory limit does not hold.".to_owned());
    }
    let quota = lines.next().and_then(|line| line.split(' ').next()?.parse::<u64>().ok());
    if limits.cpus.is_some() && quota.is_none() {
        return Err("systemd-run created a scope, but its CPU limit does not hold.".to_owned());
    }
    Ok(PathBuf::from(directory))
}

/// Returns the standard output of a short command.
fn answer(command: &[OsString]) -> Result<String, String> {
    let (program, arguments) = command.split_first().ok_or("systemd-run is not installed.")?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("systemd-run can't be started: {error}."))?;
    let until = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < until => sleep(Duration::from_millis(5)),
            Ok(Some(status)) => break Some(status),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
        }
    };
    let Some(status) = status else {
        return Err(format!("systemd-run did not answer within {} s.", PATIENCE.as_secs()));
    };
    // Both outputs are far smaller than a pipe, so waiting first was safe.
    let (stdout, stderr) = (text(child.stdout.take()), text(child.stderr.take()));
    if status.success() {
        return Ok(stdout);
    }
    let reason = stderr.lines().next().unwrap_or("no reason given").trim_end_matches('.');
    Err(format!("systemd-run created no scope: {reason}."))
}

fn text(stream: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    let _ = stream.map(|stream| stream.take(64 * 1024).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::disk::parse_mounts;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const LIMITS: Limits = Limits { memory_bytes: Some(32 << 20), cpus: Some(1.5) };

    /// Returns a machine whose systemd-run is a script that stores its arguments and continues with `rest`.
    fn host(folder: &Path, rest: &str) -> Host {
        let program = folder.join("systemd-run");
        fs::write(&program, format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$0.args\"\n{rest}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Host {
            root: PathBuf::from("/"),
            groups: "0::/user.slice/session-1.scope\n".to_owned(),
            mounts: parse_mounts("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            systemd_run: Some(program),
        }
    }

    #[test]
    fn a_scope_wraps_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let host = host(
            folder.path(),
            "echo /sys/fs/cgroup/app.slice/x-probe.scope; echo 33554432; echo 150000 100000",
        );
        let group = make(&host, &LIMITS).unwrap();
        assert_eq!(group.mechanism(), Mechanism::Scope);
        assert!(group.procs_files().is_empty());
        assert_eq!(group.usage(), None);
        let words = group.wrapper_command().unwrap();
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let unit = words.iter().find_map(|word| word.strip_prefix("--unit=")).unwrap();
        assert_eq!(group.tree.memory, PathBuf::from(format!("/sys/fs/cgroup/app.slice/{unit}.scope")));
        let expected = ["-p", "MemoryMax=33554432", "-p", "MemorySwapMax=0", "-p", "CPUQuota=150.00%", "--"];
        assert!(words.ends_with(&expected.map(str::to_owned)), "{words:?}");
        let tried = fs::read_to_string(folder.path().join("systemd-run.args")).unwrap();
        assert!(tried.contains("-probe\n") && tried.ends_with("\nsh\n/sys/fs/cgroup\ncpu\n"), "{tried}");
    }

    #[test]
    fn a_scope_without_its_limits_is_none() {
        let refused = |rest: &str| {
            let folder = tempfile::tempdir().unwrap();
            make(&host(folder.path(), rest), &LIMITS).unwrap_err()
        };
        let scope = "echo /sys/fs/cgroup/x.scope";
        assert!(refused(&format!("{scope}; echo max; echo 1 1")).contains("memory limit does not hold"));
        assert!(refused(&format!("{scope}; echo 33554432; echo max 100000")).contains("CPU limit"));
        assert!(refused("echo").contains("did not put its child into a group"));
        let reason = refused("echo 'Failed to connect to bus: No medium found' >&2; exit 1");
        assert_eq!(reason, "systemd-run created no scope: Failed to connect to bus: No medium found.");
    }
}
