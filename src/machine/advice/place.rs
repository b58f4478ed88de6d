//! Findings about the place of SQLite's temporary files; the database that speedtest1 opens without a name is
//! one of them.

use super::super::advice::Finding;
use super::super::disk::{Filesystem, filesystem_of, free_bytes, is_usable};
use std::path::Path;

/// The smallest amount of free space: many times what a run was seen to need (23 MB at size 100), so that no
/// run meets a filesystem that is nearly full, where each new block must be searched for.
const FREE_BYTES: u64 = 1 << 30;

const NETWORK: [&str; 12] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "glusterfs",
    "lustre",
    "nfs",
    "nfs4",
    "smb3",
    "smbfs",
    "virtiofs",
];

const CHOOSE: &str = "Set SQLITE_TMPDIR to a directory on a local disk";

pub(super) fn examine(directory: &Path) -> Vec<Finding> {
    if !is_usable(directory) {
        let what = format!(
            "{} can't hold temporary files: SQLite uses another directory, or fails",
            directory.display()
        );
        return vec![Finding::warning(what, "Set SQLITE_TMPDIR to a directory that you can write to")];
    }
    let checks = [
        filesystem_of(directory).map(|filesystem| kind(directory, &filesystem)),
        free_bytes(directory).map(|bytes| space(directory, bytes)),
    ];
    checks.into_iter().flatten().collect()
}

fn kind(directory: &Path, filesystem: &Filesystem) -> Finding {
    let kind = filesystem.kind.as_str();
    let what = format!("temporary files go to {}, on {kind}", directory.display());
    if matches!(kind, "tmpfs" | "ramfs") {
        Finding::note(format!("{what}: the figures measure memory, not a disk"), CHOOSE)
    } else if kind == "overlay" {
        let advice = "Mount a volume, and set SQLITE_TMPDIR to a directory in it";
        Finding::note(format!("{what}: each file goes through the container's layers"), advice)
    } else if NETWORK.contains(&kind) || kind.starts_with("fuse") {
        Finding::warning(format!("{what}: the figures measure a network or another process"), CHOOSE)
    } else {
        Finding::ok(what)
    }
}

fn space(directory: &Path, bytes: u64) -> Finding {
    let what = format!("{} MiB are free in {}", bytes >> 20, directory.display());
    if bytes >= FREE_BYTES {
        return Finding::ok(what);
    }
    Finding::warning(what, "Free some space, or set SQLITE_TMPDIR to a directory with more free space")
}

#[cfg(test)]
mod tests {
    use super::super::Severity::{Note, Ok, Warning};
    use super::*;

    #[test]
    fn memory_layers_and_networks_are_named() {
        let severity = |kind_: &str| {
            let [mount_point, device, options] = ["/", "none", "rw"].map(str::to_owned);
            kind(Path::new("/t"), &Filesystem { mount_point, device, kind: kind_.to_owned(), options })
                .severity
        };
        assert_eq!(["ext4", "xfs", "btrfs"].map(severity), [Ok; 3]);
        assert_eq!(["tmpfs", "ramfs", "overlay"].map(severity), [Note; 3]);
        assert_eq!(["nfs4", "cifs", "fuse.sshfs", "fuseblk"].map(severity), [Warning; 4]);
    }

    #[test]
    fn little_space_is_told() {
        assert_eq!(space(Path::new("/t"), FREE_BYTES), Finding::ok("1024 MiB are free in /t"));
        assert_eq!(space(Path::new("/t"), FREE_BYTES - 1).severity, Warning);
    }

    #[test]
    fn a_directory_that_is_none_is_told_first() {
        let findings = examine(Path::new("/nowhere"));
        assert_eq!((findings.len(), findings[0].severity), (1, Warning));
    }
}
