//! Where files are stored: the filesystem of a path, its free space, and SQLite's choice for temporary files.

use nix::unistd::{AccessFlags, access};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::env::var_os;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A mounted filesystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Filesystem {
    /// The path where it is mounted.
    pub mount_point: String,
    /// What is mounted: a block device, or a word that the filesystem chose.
    pub device: String,
    /// The type, such as `ext4`.
    pub kind: String,
    /// The options of the mount and of the filesystem, separated by commas, without paths, addresses and user
    /// names.
    pub options: String,
}

/// A line of /proc/self/mountinfo.
pub(crate) struct Mount {
    /// The part of the filesystem that is mounted.
    pub root: PathBuf,
    pub point: PathBuf,
    pub device: String,
    pub kind: String,
    pub options: String,
    pub super_options: String,
}

/// Returns the mounts that this process sees, in the order in which they were made.
pub(crate) fn mounts() -> Vec<Mount> {
    super::text("/proc/self/mountinfo").map_or_else(Vec::new, |text| parse_mounts(&text))
}

/// Returns the filesystem that holds `path`, which must exist.
pub fn filesystem_of(path: &Path) -> Option<Filesystem> {
    filesystem_in(&mounts(), &path.canonicalize().ok()?)
}

/// Returns the number of bytes that this user can still write to the filesystem of `path`.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let facts = nix::sys::statvfs::statvfs(path).ok()?;
    // The width of these two differs between architectures.
    #[allow(clippy::useless_conversion)]
    u64::from(facts.blocks_available()).checked_mul(u64::from(facts.fragment_size()))
}

/// Returns the directory in which SQLite puts temporary files; `override_dir` stands for SQLITE_TMPDIR.
///
/// The rule is that of `unixTempFileDir` and `azTempDirs` in os_unix.c (sqlite3.c 3.53.4, lines 46459 to
/// 46500): the first directory that can be written to and searched. If there is none, the result is the last
/// candidate, ".", and SQLite fails with SQLITE_IOERR_GETTEMPPATH.
pub fn sqlite_temporary_directory(override_dir: Option<&Path>) -> PathBuf {
    let variable = |name| var_os(name).map(PathBuf::from);
    let chosen = override_dir.map(Path::to_path_buf).or_else(|| variable("SQLITE_TMPDIR"));
    let fixed = ["/var/tmp", "/usr/tmp", "/tmp"].map(PathBuf::from);
    let mut candidates = [chosen, variable("TMPDIR")].into_iter().flatten().chain(fixed);
    candidates.find(|path| is_usable(path)).unwrap_or_else(|| PathBuf::from("."))
}

/// Returns whether the real user can use a directory, as in SQLite's own test `osAccess(zDir, 03)`, which
/// ignores the effective user.
pub(super) fn is_usable(directory: &Path) -> bool {
    directory.is_dir() && access(directory, AccessFlags::W_OK | AccessFlags::X_OK).is_ok()
}

fn filesystem_in(mounts: &[Mount], path: &Path) -> Option<Filesystem> {
    let around = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    // Of several mounts on one path, the last one covers the others.
    let mount = around.max_by_key(|mount| mount.point.components().count())?;
    Some(Filesystem {
        mount_point: mount.point.to_string_lossy().into_owned(),
        device: mount.device.clone(),
        kind: mount.kind.clone(),
        options: public_options(&mount.options, &mount.super_options),
    })
}

/// Returns the options of both lists, each option once. Records are published, so users, hosts and paths are
/// left out.
fn public_options(options: &str, super_options: &str) -> String {
    const PRIVATE: [&str; 9] =
        ["username", "user", "domain", "addr", "clientaddr", "mountaddr", "srcaddr", "name", "secret"];
    let mut kept: Vec<&str> = Vec::new();
    // The mount itself says whether it is read-only; the filesystem's option may differ.
    let of_filesystem = super_options.split(',').filter(|option| !matches!(*option, "rw" | "ro"));
    for option in options.split(',').chain(of_filesystem) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        if !option.is_empty() && !PRIVATE.contains(&key) && !value.contains('/') && !kept.contains(&option) {
            kept.push(option);
        }
    }
    kept.join(",")
}

/// Parses /proc/self/mountinfo, see proc_pid_mountinfo(5); lines that can't be parsed are left out.
pub(crate) fn parse_mounts(mountinfo: &str) -> Vec<Mount> {
    mountinfo.lines().filter_map(parse_mount).collect()
}

fn parse_mount(line: &str) -> Option<Mount> {
    let (mount, filesystem) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(3);
    let mut filesystem = filesystem.split(' ');
    Some(Mount {
        root: unescape(mount.next()?).into(),
        point: unescape(mount.next()?).into(),
        options: mount.next()?.to_owned(),
        kind: filesystem.next()?.to_owned(),
        device: unescape(filesystem.next()?).to_string_lossy().into_owned(),
        super_options: filesystem.next().unwrap_or_default().to_owned(),
    })
}

/// Undoes the kernel's escapes: space, tab, newline, backslash and `#` become a backslash and three octal
/// digits.
fn unescape(field: &str) -> OsString {
    let mut rest = field.as_bytes();
    let mut plain = Vec::with_capacity(rest.len());
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = after.get(..3).filter(|_| byte == b'\\').and_then(octal);
        plain.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(plain)
}

fn octal(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0_u8, |value, digit| match digit {
        b'0'..=b'7' => value.checked_mul(8)?.checked_add(digit - b'0'),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = r"
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard,resuid=65534
28 27 0:25 / /mnt/my\040disk rw,noatime shared:1 master:2 - xfs /dev/mapper/a\134b rw,attr2
29 27 0:40 / /mnt rw - cifs //nas/share rw,vers=3.1.1,username=me,addr=10.0.0.1,seal
30 27 0:41 / /mnt ro,nodev - overlay overlay rw,lowerdir=/a:/b,index=off
31 27 0:42
garbage
";

    fn found(path: &str) -> Filesystem {
        filesystem_in(&parse_mounts(MOUNTS), Path::new(path)).unwrap()
    }

    fn filesystem(mount_point: &str, device: &str, kind: &str, options: &str) -> Filesystem {
        let [mount_point, device, kind, options] = [mount_point, device, kind, options].map(str::to_owned);
        Filesystem { mount_point, device, kind, options }
    }

    #[test]
    fn the_longest_prefix_wins_and_the_last_of_equals() {
        assert_eq!(parse_mounts(MOUNTS).len(), 4);
        assert_eq!(
            found("/var/tmp"),
            filesystem("/", "/dev/vda", "ext4", "rw,relatime,discard,resuid=65534")
        );
        assert_eq!(
            found("/mnt/my disk/x"),
            filesystem("/mnt/my disk", "/dev/mapper/a\\b", "xfs", "rw,noatime,attr2")
        );
        assert_eq!(found("/mnt/my"), filesystem("/mnt", "overlay", "overlay", "ro,nodev,index=off"));
        assert_eq!(found("/mntx").mount_point, "/");
        assert_eq!(filesystem_in(&[], Path::new("/")), None);
    }

    #[test]
    fn options_name_no_one() {
        assert_eq!(
            public_options("rw", "rw,vers=3.1.1,username=me,addr=10.0.0.1,seal"),
            "rw,vers=3.1.1,seal"
        );
        assert_eq!(public_options("", ""), "");
    }

    #[test]
    fn escapes_are_undone_and_broken_ones_kept() {
        assert_eq!(unescape(r"a\040b\011c\134\043"), "a b\tc\\#");
        assert_eq!(unescape(r"a\04"), r"a\04");
        assert_eq!(unescape(r"\999\"), r"\999\");
        assert_eq!(unescape(r"\777"), r"\777");
        assert_eq!(unescape("é\\040"), "é ");
    }

    #[test]
    fn the_override_comes_first_if_it_can_be_used() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(sqlite_temporary_directory(Some(directory.path())), directory.path());
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        for unusable in [&file, Path::new("/nowhere"), Path::new("")] {
            assert!(!is_usable(unusable));
            assert_ne!(sqlite_temporary_directory(Some(unusable)), unusable);
        }
    }

    #[test]
    fn this_machine_has_a_root_with_room() {
        assert_eq!(filesystem_of(Path::new("/proc")).map(|found| found.kind).as_deref(), Some("proc"));
        assert_eq!(filesystem_of(Path::new("/nowhere")), None);
        assert_eq!((free_bytes(Path::new("/")).is_some(), free_bytes(Path::new("/nowhere"))), (true, None));
    }
}
