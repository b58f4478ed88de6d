//! Whether data comes from the disk or from memory: the page cache of a file, and what a process really read.

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::unistd::{AccessFlags, access};
use std::fs::{File, metadata, read_to_string};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Bytes between a process and storage, as the kernel counts them. What came from the page cache is not among
/// them; what the kernel read ahead is, also when it was thrown away again before anyone looked at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessIo {
    /// Bytes that were fetched from storage.
    pub read_bytes: u64,
    /// Bytes that were given to the page cache to be written to storage, be it later.
    pub write_bytes: u64,
}

impl ProcessIo {
    /// Those of a process and of its children that it has waited for; of an ended one until it is waited for.
    /// `None` when the process is gone or another user's, or when the kernel does not count.
    pub fn of(pid: u32) -> Option<ProcessIo> {
        parse_io(&read_to_string(format!("/proc/{pid}/io")).ok()?)
    }

    /// What was added since `before`.
    pub fn since(self, before: ProcessIo) -> ProcessIo {
        ProcessIo {
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            write_bytes: self.write_bytes.saturating_sub(before.write_bytes),
        }
    }
}

/// Page faults of a process, all threads, that needed a disk. `None` when the process is gone.
pub fn major_faults(pid: u32) -> Option<u64> {
    parse_major_faults(&read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Writes what is not yet written of a file, and takes it out of the page cache; any user may. Pages stay that
/// some process has mapped. The files of a database are several: the journal and the log have their own.
///
/// # Errors
/// When the file can't be opened for reading, or written back.
pub fn drop_file(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    // Only clean pages can go.
    file.sync_all()?;
    Ok(posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?)
}

/// How much of a file is in the page cache, bytes, whole pages.
///
/// The kernel tells it through mincore(2), of a mapping, and cachestat(2), since Linux 6.5; neither can be called
/// without unsafe code. So `fincore` of util-linux is asked; without it the answer is `None`. So it is for a file
/// that this user can't write: the kernel then hides the truth, and calls every page present.
pub fn resident_bytes(path: &Path) -> Option<u64> {
    access(path, AccessFlags::W_OK).ok()?;
    // An empty file can't be mapped.
    if metadata(path).ok()?.len() == 0 {
        return Some(0);
    }
    let output = Command::new("fincore")
        .args(["--bytes", "--noheadings", "--output", "RES", "--"])
        .arg(path)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let output = output.ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

fn parse_io(text: &str) -> Option<ProcessIo> {
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some(ProcessIo { read_bytes: value("read_bytes:")?, write_bytes: value("write_bytes:")? })
}

/// The twelfth field of `/proc/<pid>/stat`. The second, in parentheses, may itself hold blanks and parentheses.
fn parse_major_faults(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(9)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_counters() {
        let text = "rchar: 9\nwchar: 8\nread_bytes: 4096\nwrite_bytes: 512\ncancelled_write_bytes: 3\n";
        let io = ProcessIo { read_bytes: 4096, write_bytes: 512 };
        assert_eq!(parse_io(text), Some(io));
        assert_eq!(parse_io("read_bytes: 1\n"), None);
        assert_eq!(
            io.since(ProcessIo { read_bytes: 96, write_bytes: 600 }),
            ProcessIo { read_bytes: 4000, write_bytes: 0 }
        );
    }

    #[test]
    fn major_faults_after_any_name() {
        let stat = "7 (a) b (c) S 1 2 3 4 5 4194560 700 800 91 20 0 0";
        assert_eq!(parse_major_faults(stat), Some(91));
        assert_eq!(parse_major_faults("7 (a) S 1"), None);
        assert_eq!(parse_major_faults(""), None);
    }

    #[test]
    fn of_processes_that_are_not_there() {
        assert_eq!(ProcessIo::of(u32::MAX), None);
        assert_eq!(major_faults(u32::MAX), None);
        assert!(major_faults(std::process::id()).is_some());
    }

    #[test]
    fn of_files_that_are_not_there() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(drop_file(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(resident_bytes(&folder.path().join("none")), None);
        let empty = folder.path().join("-empty");
        File::create(&empty).unwrap();
        assert_eq!(resident_bytes(&empty), Some(0));
    }
}
