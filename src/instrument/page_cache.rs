//! The page cache of a file, which decides whether data comes from the disk or from memory.

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::unistd::{AccessFlags, access};
use std::fs::{File, metadata};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes the dirty pages of a file to the disk, and removes the file from the page cache, which any user may
/// do. Pages that a process has mapped remain. A database consists of several files: its journal and log are
/// separate.
///
/// # Errors
/// Fails when the file can't be opened for reading or written back.
pub fn drop_file(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    // Only clean pages can be removed.
    file.sync_all()?;
    Ok(posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?)
}

/// Returns the number of bytes of a file that are in the page cache, in whole pages.
///
/// The kernel reports this through mincore(2), for a mapping, and through cachestat(2), since Linux 6.5;
/// neither can be called without unsafe code, so `fincore` of util-linux is used. The result is `None`
/// without `fincore`, and also for a file that this user can't write: for such a file the kernel hides the
/// truth and reports every page as present.
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

#[cfg(test)]
mod tests {
    use super::*;

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
