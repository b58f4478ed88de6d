//! Whether data comes from the disk or from memory: the page cache of a file.

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::unistd::{AccessFlags, access};
use std::fs::{File, metadata};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

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
