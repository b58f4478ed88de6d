//! Memory groups as the kernel makes them. If this user can make none, or has no disk, a test says so and
//! passes; run the tests as root.

use repro::instrument::cgroup::{Limits, MemoryGroup, Usage, enter};
use repro::instrument::page_cache::{drop_file, resident_bytes};
use repro::instrument::proc::Io;
use repro::machine::disk;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;
/// The variable that names the files which a child of these tests enters.
const PROCS: &str = "REPRO_TEST_PROCS";
/// A script that enters the groups and then becomes the program.
const ENTER: &str = r#"while [ "$1" != -- ]; do echo 0 >"$1" || exit 99; shift; done; shift; exec "$@""#;

/// Says why a test is skipped, unless no test may be.
fn skipped(reason: &str) {
    assert!(std::env::var_os("REPRO_NO_SKIP").is_none(), "may not be skipped: {reason}");
    println!("skipped: {reason}");
}

fn group(memory_mib: u64) -> Option<MemoryGroup> {
    limited(Limits { memory_bytes: Some(memory_mib * MIB), cpus: None })
}

fn limited(limits: Limits) -> Option<MemoryGroup> {
    MemoryGroup::create(limits).inspect_err(|reason| skipped(&reason.to_string())).ok()
}

/// Creates a file of 64 MiB on a disk, none of it in memory.
fn file_on_disk() -> Option<(TempDir, PathBuf)> {
    let folder =
        tempfile::tempdir_in(std::env::var_os("REPRO_TEST_DISK").unwrap_or("/var/tmp".into())).unwrap();
    let kind = disk::filesystem_of(folder.path()).map(|filesystem| filesystem.kind).unwrap_or_default();
    if !["ext4", "ext3", "ext2", "xfs", "btrfs", "f2fs"].contains(&kind.as_str()) {
        skipped(&format!("{} is on {kind:?}, which is no disk", folder.path().display()));
        return None;
    }
    let path = folder.path().join("file");
    let mut file = File::create(&path).unwrap();
    for block in 0..64_u8 {
        file.write_all(&vec![block; MIB as usize]).unwrap();
    }
    drop(file);
    drop_file(&path).unwrap();
    Some((folder, path))
}

fn inside(group: &MemoryGroup, program: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", ENTER, "sh"]).args(group.procs_files()).arg("--");
    command.args(group.wrapper_command().unwrap_or_default()).args(program);
    command
}

/// Reads `path` twice with `command`; a line on standard input starts each pass. Returns the bytes that came
/// from storage in each pass.
fn read_twice(mut command: Command) -> [u64; 2] {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut ask = child.stdin.take().unwrap();
    let mut answer = BufReader::new(child.stdout.take().unwrap());
    let passes = [(); 2].map(|()| {
        let before = Io::of(child.id()).unwrap();
        ask.write_all(b"go\n").unwrap();
        let mut line = String::new();
        answer.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n");
        Io::of(child.id()).unwrap().since(before).read_bytes
    });
    drop(ask);
    assert!(child.wait().unwrap().success());
    passes
}

const PASSES: &str = r#"while read -r go; do cat "$1" >/dev/null && echo done; done"#;

/// Returns the command that runs this test program again, for one of the children below.
fn this_program(test: &str) -> Vec<String> {
    let program = std::env::current_exe().unwrap().to_string_lossy().into_owned();
    [&program, test, "--exact", "--ignored", "--nocapture"].map(str::to_owned).to_vec()
}

/// Watches the usage while `work` runs.
fn watch<T>(group: &MemoryGroup, work: impl FnOnce() -> T) -> (T, Vec<Usage>) {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut seen = Vec::new();
            while !ended.load(Ordering::Relaxed) {
                seen.extend(group.usage());
                thread::sleep(Duration::from_millis(2));
            }
            seen
        });
        let result = work();
        ended.store(true, Ordering::Relaxed);
        (result, watcher.join().unwrap())
    })
}

/// Asserts that the directories are gone; that of a scope goes when systemd sees that it is empty.
fn assert_gone(procs_files: &[PathBuf]) {
    for file in procs_files {
        assert!(!file.parent().unwrap().exists(), "{}", file.display());
    }
}

#[test]
fn a_file_larger_than_the_limit_is_read_from_disk_again() {
    let (Some((_folder, path)), Some(group)) = (file_on_disk(), group(16)) else { return };
    let path = path.to_str().unwrap();
    let command = inside(&group, &["sh", "-c", PASSES, "sh", path]);
    let (passes, seen) = watch(&group, || read_twice(command));
    println!("{}: storage gave {passes:?} bytes; {:?}", group.mechanism(), seen.last());
    assert!(passes[0] >= 64 * MIB && passes[1] >= 48 * MIB, "{passes:?}");
    assert!(seen.iter().all(|usage| usage.current_bytes <= 16 * MIB), "{seen:?}");
    assert!(seen.iter().all(|usage| usage.page_cache_bytes <= 16 * MIB), "{seen:?}");
    assert!(seen.iter().any(|usage| usage.page_cache_bytes >= 4 * MIB), "{seen:?}");
    let last = seen.last().unwrap();
    assert!(last.peak_bytes.is_none_or(|peak| peak > 12 * MIB && peak <= 16 * MIB), "{last:?}");
    assert!(last.limit_hits.is_none_or(|hits| hits > 0), "{last:?}");
    assert_eq!(last.oom_kills.unwrap_or(0), 0);
    assert!(resident_bytes(Path::new(path)).is_none_or(|bytes| bytes <= 16 * MIB));
}

#[test]
fn without_a_group_the_second_pass_is_from_memory() {
    let Some((_folder, path)) = file_on_disk() else { return };
    assert!(resident_bytes(&path).is_none_or(|bytes| bytes == 0));
    let mut command = Command::new("sh");
    command.args(["-c", PASSES, "sh"]).arg(&path);
    let passes = read_twice(command);
    assert!(passes[0] >= 64 * MIB && passes[1] < 16 * MIB, "{passes:?}");
    assert!(resident_bytes(&path).is_none_or(|bytes| bytes >= 48 * MIB));
    drop_file(&path).unwrap();
    assert!(resident_bytes(&path).is_none_or(|bytes| bytes == 0));
}

#[test]
fn a_process_over_the_limit_is_killed_and_counted() {
    let Some(group) = group(24) else { return };
    let mut command = Command::new("sh");
    // The program enters the group itself, through the function for that.
    command.args(["-c", r#"exec "$@""#, "sh"]).args(group.wrapper_command().unwrap_or_default());
    command.args(this_program("child_allocates_64_mib"));
    command.env(PROCS, std::env::join_paths(group.procs_files()).unwrap());
    let output = command.output().unwrap();
    assert_eq!(output.status.signal(), Some(9), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("entered"), "{output:?}");
    if let Some(usage) = group.usage() {
        assert!(usage.oom_kills.is_none_or(|kills| kills == 1), "{usage:?}");
        assert!(usage.peak_bytes.is_none_or(|peak| peak <= 24 * MIB), "{usage:?}");
    }
}

#[test]
#[ignore = "a child of the test above"]
fn child_allocates_64_mib() {
    let Some(procs) = std::env::var_os(PROCS) else { return };
    std::env::split_paths(&procs).filter(|path| path.is_absolute()).for_each(|path| enter(&path).unwrap());
    println!("entered");
    let memory = vec![1_u8; 64 << 20];
    println!("{} bytes were there", std::hint::black_box(&memory).len());
}

#[test]
fn a_group_that_is_dropped_takes_everything_with_it() {
    let Some(group) = group(16) else { return };
    let files = group.procs_files();
    let mut child =
        inside(&group, &["sh", "-c", "sleep 100 & echo up; wait"]).stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    for file in &files {
        assert_eq!(fs::read_to_string(file).unwrap().lines().count(), 2, "{}", file.display());
    }
    let started = Instant::now();
    drop(group);
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    assert_gone(&files);
    files.first().inspect(|file| assert!(enter(file).is_err()));
}

#[test]
fn the_group_of_a_killed_run_is_removed_by_the_next() {
    let mut run = Command::new(this_program("child_makes_a_group")[0].clone());
    run.args(&this_program("child_makes_a_group")[1..]).env(PROCS, "").stdout(Stdio::piped());
    let mut run: Child = run.spawn().unwrap();
    let lines = BufReader::new(run.stdout.take().unwrap()).lines();
    let said: Vec<_> = lines.map(Result::unwrap).take_while(|line| line != "made").collect();
    let files: Vec<_> =
        said.iter().filter(|line| line.ends_with("/cgroup.procs")).map(PathBuf::from).collect();
    // While the process lives, its groups are left alone.
    MemoryGroup::remove_stale();
    let all_there = files.iter().all(|file| file.exists());
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(all_there);
    println!("{said:?}");
    let removed = MemoryGroup::remove_stale();
    // Another process of these tests may get the same id, but not that soon.
    assert_gone(&files);
    assert!(removed >= files.len(), "{removed}");
}

#[test]
#[ignore = "a child of the test above"]
fn child_makes_a_group() {
    if std::env::var_os(PROCS).is_none() {
        return;
    }
    let group = limited(Limits { memory_bytes: Some(16 * MIB), cpus: Some(1.0) });
    let files = group.as_ref().map(MemoryGroup::procs_files).unwrap_or_default();
    files.iter().for_each(|file| println!("\n{}", file.display()));
    println!("\nmade");
    thread::sleep(Duration::from_secs(60));
}

#[test]
fn two_groups_have_a_limit_each() {
    let (Some((_a, small)), Some((_b, large))) = (file_on_disk(), file_on_disk()) else { return };
    let (Some(at_8), Some(at_32)) = (group(8), group(32)) else { return };
    let files = [at_8.procs_files(), at_32.procs_files()].concat();
    let mut children = [(&at_8, &small), (&at_32, &large)].map(|(group, path)| {
        inside(group, &["cat", path.to_str().unwrap()]).stdout(Stdio::null()).spawn().unwrap()
    });
    children.iter_mut().for_each(|child| assert!(child.wait().unwrap().success()));
    if let (Some(small), Some(large)) = (at_8.usage(), at_32.usage()) {
        assert!(small.current_bytes <= 8 * MIB && large.current_bytes <= 32 * MIB, "{small:?} {large:?}");
        assert!(large.page_cache_bytes > 16 * MIB, "{large:?}");
    }
    // The end of the first group leaves the second alone.
    drop(at_8);
    assert!(inside(&at_32, &["true"]).status().unwrap().success());
    drop(at_32);
    assert_gone(&files);
}

#[test]
fn cpu_time_is_limited() {
    let Some(group) = limited(Limits { memory_bytes: Some(16 * MIB), cpus: Some(0.25) }) else { return };
    let mut command = inside(&group, &["sh", "-c", "echo up; while :; do :; done"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let (started, before) = (Instant::now(), cpu_seconds(child.id()));
    thread::sleep(Duration::from_millis(1200));
    let (wall, used) = (started.elapsed().as_secs_f64(), cpu_seconds(child.id()) - before);
    let files = group.procs_files();
    drop(group);
    child.wait().unwrap();
    assert_gone(&files);
    println!("{used} s of CPU time in {wall} s");
    assert!(used > 0.02 && used < 0.5 * wall, "{used} s of {wall} s");
}

/// Returns the user and system time of a process, which the kernel gives in hundredths of a second.
fn cpu_seconds(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}
