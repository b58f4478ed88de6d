//! The real-workload study when it is killed, interrupted, out of time or out of space: what is done is kept,
//! nothing is left behind, and the user's files are untouched.

mod common;

use common::oltp::*;
use common::{Done, Home, Tmpfs, list, load, wait_until, why};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The program on a terminal, where it shows the phase; it leads a process group of its own.
struct Watched {
    child: Child,
    seen: Arc<Mutex<String>>,
}

impl Watched {
    fn start(home: &Home, arguments: &[&str]) -> Watched {
        let size = nix::pty::Winsize { ws_row: 25, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = nix::pty::openpty(&size, None).unwrap();
        let mut command = Command::new(common::REPRO);
        command.args(arguments).current_dir(home.work()).envs(home.variables()).env("TERM", "xterm");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(terminal.slave).process_group(0);
        let child = command.spawn().unwrap();
        drop(command);
        let seen = Arc::new(Mutex::new(String::new()));
        let writer = Arc::clone(&seen);
        let mut screen = File::from(terminal.master);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                writer.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        });
        Watched { child, seen }
    }

    fn screen(&self) -> String {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until the screen shows `phase`, and returns the name of the phase that it shows then.
    #[track_caller]
    fn wait_for(&mut self, phase: &str) -> &'static str {
        let limit = std::time::Instant::now() + PATIENCE;
        while !self.screen().contains(&format!("· {phase}")) {
            let status = self.child.try_wait().unwrap();
            assert!(status.is_none(), "it ended ({status:?}) before {phase}: {}", self.screen());
            assert!(std::time::Instant::now() < limit, "not within {PATIENCE:?}: {phase}: {}", self.screen());
            std::thread::sleep(Duration::from_millis(1));
        }
        self.phase()
    }

    /// Returns the phase that the screen shows.
    fn phase(&self) -> &'static str {
        let screen = self.screen();
        let last =
            PHASES.iter().filter_map(|phase| Some((screen.rfind(&format!("· {phase}"))?, *phase))).max();
        last.map_or("none", |(_, phase)| phase)
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn signal(&self, signal: Signal) {
        killpg(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    #[track_caller]
    fn end(mut self, limit: Duration) -> Done {
        let status = wait_until("the program has ended", limit, || self.child.try_wait().unwrap());
        // The terminal's remaining output can be read until its last holder is gone.
        std::thread::sleep(Duration::from_millis(50));
        Done { code: status.code(), out: String::new(), err: self.screen() }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the processes whose command line names `folder`.
fn processes_of(folder: &Path) -> Vec<String> {
    let name = folder.to_str().unwrap();
    let command = |process: PathBuf| {
        process.file_name()?.to_str()?.parse::<u32>().ok()?;
        let line = String::from_utf8_lossy(&fs::read(process.join("cmdline")).ok()?).replace('\0', " ");
        line.contains(name).then_some(line)
    };
    list(Path::new("/proc")).into_iter().filter_map(command).collect()
}

#[track_caller]
fn assert_no_process_is_left(folder: &Path) {
    wait_until("its processes are gone", Duration::from_secs(3), || {
        processes_of(folder).is_empty().then_some(())
    });
}

/// Returns the control groups that the process `pid` made.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    fn search(folder: &Path, start: &str, depth: u32, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if entry.file_name().to_string_lossy().starts_with(start) {
                found.push(entry.path());
            }
            if depth > 0 {
                search(&entry.path(), start, depth - 1, found);
            }
        }
    }
    let mut found = Vec::new();
    search(Path::new("/sys/fs/cgroup"), &format!("repro-{pid}-"), 8, &mut found);
    found
}

/// A process id that no process can have.
const NOBODY: u32 = 999_999_999;
/// The file in a folder made by the program that lists what may be removed from it.
const MARK: &str = "made-by-repro";

/// Files and folders of a user in the folder of the databases, some of which resemble those of the program.
struct Precious(Vec<(PathBuf, &'static str)>);

impl Precious {
    fn write(folder: &Path) -> Precious {
        let stale = format!("repro-scratch-{NOBODY}-in-ram");
        let files = vec![
            ("oltp.db".to_string(), "a database of mine"),
            ("notes.txt".to_string(), "notes"),
            ("repro-scratch-mine/oltp.db".to_string(), "no number in its name"),
            (format!("repro-scratch-{NOBODY}-notes"), "a file, no folder"),
            (format!("{stale}/oltp.db"), "a stranger is beside it"),
            (format!("{stale}/notes.txt"), "a stranger"),
            (format!("{stale}/{MARK}"), "oltp.db"),
            (format!("repro-scratch-{NOBODY}-disk-bound/oltp.db/deep.txt"), "in a folder of that name"),
            (format!("repro-scratch-{NOBODY}-backup/oltp.db-backup.sql"), "not a name of SQLite's"),
        ];
        let write = |(name, content): (String, &'static str)| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            (path, content)
        };
        Precious(files.into_iter().map(write).collect())
    }

    /// Asserts that none of them is gone or changed.
    #[track_caller]
    fn assert_untouched(&self) {
        let harmed: Vec<&PathBuf> = self
            .0
            .iter()
            .filter(|(path, content)| fs::read_to_string(path).ok().as_deref() != Some(*content))
            .map(|(path, _)| path)
            .collect();
        assert!(harmed.is_empty(), "gone or changed: {harmed:?}");
    }
}

#[test]
fn what_belongs_to_the_user_is_untouched() {
    let _shared = shared();
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let precious = Precious::write(folder.path());
    let elsewhere = home.write("oltp.db", "behind a link");
    std::os::unix::fs::symlink(home.work(), folder.path().join(format!("repro-scratch-{NOBODY}-link")))
        .unwrap();
    let stale = folder.path().join(format!("repro-scratch-{NOBODY}-stale"));
    fs::create_dir(&stale).unwrap();
    let ours = ["oltp.db", "oltp.db-wal", "oltp.db-shm"];
    fs::write(stale.join(MARK), ours.join("\n")).unwrap();
    for name in ours {
        fs::write(stale.join(name), "left by a kill").unwrap();
    }
    measure(&home, folder.path(), "a.json", &SMALL);
    assert!(!stale.exists(), "what a kill has left is still there");
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "behind a link");
    precious.assert_untouched();
}

/// Kills the whole process group in each phase. Each run follows the kill of the one before.
fn killed_in_each_phase(folder: &Path, options: &[&str]) {
    let home = Home::new();
    let precious = folder.join("oltp.db");
    fs::write(&precious, "a database of mine").unwrap();
    let mut killed: Vec<u32> = Vec::new();
    let mut hit = Vec::new();
    for phase in PHASES {
        let record = format!("{phase}.json");
        let mut program = Watched::start(&home, &words(folder, &record, options));
        program.wait_for(phase);
        // The program cleaned up before it began.
        for pid in &killed {
            assert_eq!(groups_of(*pid), Vec::<PathBuf>::new(), "after a kill, at the next run's {phase}");
        }
        let folders = list(folder);
        assert_eq!(folders.len(), 2, "the user's file and one database: {folders:?}");
        // The kill does not always come at the beginning of the phase.
        std::thread::sleep(Duration::from_millis(37 * hit.len() as u64));
        hit.push(program.phase());
        let pid = program.pid();
        program.signal(Signal::SIGKILL);
        assert_eq!(program.end(SOON).code, None);
        assert_no_process_is_left(folder);
        killed.push(pid);
        let record = load(&home.file(&record));
        assert_eq!(why(&record, "partial"), "not finished: still running, or killed", "{phase}");
        assert_eq!(record.get("finished"), None);
        home.repro(&["show", &format!("{phase}.json")]).exits(0).prints(&["PARTIAL"]);
        assert_eq!(list(&home.temporary()), Vec::<PathBuf>::new());
    }
    eprintln!("killed in {hit:?}");
    assert_eq!(hit.iter().filter(|phase| PHASES.contains(phase)).count(), 7);
    let record = measure(&home, folder, "last.json", options);
    assert_eq!(record["legs"][0]["answer"]["verdict"], "right");
    for pid in &killed {
        assert_eq!(groups_of(*pid), Vec::<PathBuf>::new());
    }
    assert_eq!(list(folder), std::slice::from_ref(&precious));
    assert_eq!(fs::read_to_string(precious).unwrap(), "a database of mine");
}

#[test]
fn killed_in_each_phase_disk_bound() {
    let _shared = shared();
    let Some(folder) = folder_on_disk().filter(|_| can_limit_memory()) else { return };
    killed_in_each_phase(folder.path(), &DISK_BOUND);
}

#[test]
fn killed_in_each_phase_in_ram() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let options = ["--leg", "in-ram", "--scale", "1/20", "--operations", "2000000"];
    killed_in_each_phase(folder.path(), &options);
}

#[test]
fn interrupted_in_a_phase() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new();
    let cases = [
        ("bulk-insert", Signal::SIGINT),
        ("update", Signal::SIGTERM),
        ("mixed", Signal::SIGHUP),
        ("concurrent-writes", Signal::SIGINT),
    ];
    for (phase, signal) in cases {
        let record = format!("{phase}.json");
        let options = ["--leg", "in-ram", "--scale", "1/10", "--operations", "1000000"];
        let mut program = Watched::start(&home, &words(folder.path(), &record, &options));
        program.wait_for(phase);
        program.signal(signal);
        program.end(SOON).exits(3).says(&["interrupted"]);
        assert_no_process_is_left(folder.path());
        assert_eq!(list(folder.path()), Vec::<PathBuf>::new(), "{phase}");
        let record = load(&home.file(&record));
        assert_eq!(why(&record, "partial"), "in-ram: interrupted");
        assert!(record["finished"].is_string());
        assert_eq!(why(&record["legs"][0]["runs"][0], "rejected"), "interrupted");
        // The phases that had ended are kept.
        let kept = record["legs"][0]["phases"].as_array().map_or(0, Vec::len);
        assert_eq!(kept, PHASES.iter().position(|name| *name == phase).unwrap(), "{phase}");
    }
    measure(&home, folder.path(), "next.json", &SMALL);
}

#[test]
fn interrupted_and_killed_in_a_group() {
    let _shared = shared();
    let Some(folder) = folder_on_disk().filter(|_| can_limit_memory()) else { return };
    let home = Home::new();
    let mut program = Watched::start(&home, &words(folder.path(), "a.json", &DISK_BOUND));
    program.wait_for("update");
    let pid = program.pid();
    program.signal(Signal::SIGINT);
    program.end(SOON).exits(3).says(&["interrupted"]);
    // The group is removed at once, not by the next run.
    assert_eq!(groups_of(pid), Vec::<PathBuf>::new());
    assert_no_process_is_left(folder.path());
    assert_eq!(list(folder.path()), Vec::<PathBuf>::new());

    // This kills only the process of the leg, as the kernel or an administrator might.
    let mut program = Watched::start(&home, &words(folder.path(), "b.json", &DISK_BOUND));
    program.wait_for("select-range");
    let pid = program.pid();
    let parent = format!("PPid:\t{pid}\n");
    let is_child = |process: &PathBuf| {
        fs::read_to_string(process.join("status")).is_ok_and(|status| status.contains(&parent))
    };
    let leg = list(Path::new("/proc")).into_iter().find(is_child).expect("the process of the leg");
    let leg: i32 = leg.file_name().unwrap().to_str().unwrap().parse().unwrap();
    nix::sys::signal::kill(Pid::from_raw(leg), Signal::SIGKILL).unwrap();
    program.end(SOON).exits(3).says(&["killed by signal 9"]);
    assert_eq!(why(&load(&home.file("b.json")), "partial"), "disk-bound: killed by signal 9");
    assert_eq!(groups_of(pid), Vec::<PathBuf>::new());
    assert_eq!(list(folder.path()), Vec::<PathBuf>::new());
}

#[test]
fn stopped_at_the_deadline() {
    let _shared = shared();
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let options = [&SMALL[..], &["--deadline", "0.7"]].concat();
    home.repro(&words(folder.path(), "a.json", &options)).exits(3).says(&["stopped at the deadline"]);
    let record = load(&home.file("a.json"));
    assert_eq!(why(&record, "partial"), "in-ram: stopped at the deadline");
    assert_eq!(list(folder.path()), Vec::<PathBuf>::new());
}

#[test]
fn too_little_room_is_told_before_anything_is_written() {
    let _shared = shared();
    let Some(small) = Tmpfs::mount(32 * 1024) else { return };
    let home = Home::new();
    let folder = small.file("");
    let done = home.repro(&words(&folder, "a.json", &["--leg", "in-ram", "--scale", "1/100"])).exits(2);
    done.says(&["MB free", "are needed", "--dir"]);
    assert_eq!(small.names(), Vec::<String>::new());
    assert!(!home.file("a.json").exists() && home.records().is_empty());
}

#[test]
fn the_disk_fills_up_in_the_bulk_insert() {
    let _shared = shared();
    let Some(small) = Tmpfs::mount(192 * 1024) else { return };
    let home = Home::new();
    let folder = small.file("");
    let options = ["--leg", "in-ram", "--scale", "1/4", "--batch", "4000"];
    let mut program = Watched::start(&home, &words(&folder, "a.json", &options));
    program.wait_for("bulk-insert");
    small.fill();
    program.end(PATIENCE).exits(3).says(&["phase bulk-insert", "full"]);
    assert_eq!(small.names(), ["filler"]);
    let record = load(&home.file("a.json"));
    let reason = why(&record, "partial");
    eprintln!("the reason in the record: {reason}");
    assert!(reason.starts_with("in-ram: phase bulk-insert") && reason.contains("full"), "{reason}");
    assert!(record["finished"].is_string());
    assert!(record["legs"][0]["runs"][0]["rejected"]["message"].is_string());
    home.repro(&["show", "a.json"]).exits(0).prints(&["PARTIAL"]);
    fs::remove_file(small.file("filler")).unwrap();
    measure(&home, &folder, "b.json", &SMALL);
    assert_eq!(small.names(), Vec::<String>::new());
}
