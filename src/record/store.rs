//! Where records are stored, and how they are written: completely or not at all.

use super::Record;
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The largest size of a record file, in bytes; a larger file is not a record of this program.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Where a record is to be written.
pub enum Destination {
    /// The record is not written.
    Nowhere,
    /// The record is written to this file, which must not exist yet unless `force` is set.
    File {
        /// The path of the file.
        path: PathBuf,
        /// Whether an existing file may be overwritten.
        force: bool,
    },
    /// The record is written to a new file in this folder.
    Folder(PathBuf),
}

impl Destination {
    /// Creates the file and writes `record` to it; returns `None` for [`Destination::Nowhere`].
    ///
    /// # Errors
    /// Fails when the place can't be written to or is taken, and leaves nothing behind.
    pub fn begin(&self, record: &Record) -> Result<Option<Target>> {
        let target = match self {
            Destination::Nowhere => return Ok(None),
            Destination::File { path, force } => Target::at(path, *force)?,
            Destination::Folder(folder) => Target::in_folder(folder, &record.study, record.started)?,
        };
        target.save(record).inspect_err(|_| target.discard())?;
        Ok(Some(target))
    }
}

/// A file that holds the record of a running measurement and can be read at any moment.
pub struct Target {
    path: PathBuf,
    /// Whether this program created the file and so may remove it.
    made: bool,
}

impl Target {
    /// Creates a file in `folder`, named after the time and the study.
    ///
    /// # Errors
    /// Fails when the folder can't be created or written to.
    pub fn in_folder(folder: &Path, study: &str, started: Timestamp) -> Result<Target> {
        fs::create_dir_all(folder)
            .with_context(|| format!("{}: can't create the records folder", folder.display()))?;
        let time = started.strftime("%Y%m%dT%H%M%SZ");
        for attempt in 1.. {
            let suffix = if attempt == 1 { String::new() } else { format!("-{attempt}") };
            let path = folder.join(format!("{time}-{study}{suffix}.json"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(_) => return Ok(Target { path, made: true }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("{}: can't write a record there", path.display()));
                }
            }
        }
        unreachable!("every attempt has another name")
    }

    /// Opens the file `path`, which must not exist unless `force` is set.
    ///
    /// # Errors
    /// Fails when the file exists without `force`, or can't be written to.
    pub fn at(path: &Path, force: bool) -> Result<Target> {
        let made = !force || !path.exists();
        match OpenOptions::new().write(true).create(true).truncate(false).create_new(!force).open(path) {
            Ok(_) => Ok(Target { path: path.to_path_buf(), made }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                bail!(
                    "{}: already exists; name another file, or give --force to overwrite it",
                    path.display()
                )
            }
            Err(error) => Err(error).with_context(|| format!("{}: can't write there", path.display())),
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the content with `record`.
    ///
    /// # Errors
    /// Fails when the file can't be written, as on a full disk; the previous content then remains.
    pub fn save(&self, record: &Record) -> Result<()> {
        let text = super::write(record)?;
        write_whole(&self.path, text.as_bytes())
            .with_context(|| format!("{}: can't save the record", self.path.display()))
    }

    /// Removes the file, if this program created it, after a measurement that never began.
    pub fn discard(&self) {
        if self.made {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Writes a file in such a way that a reader sees either the old or the new content, never a part of it.
///
/// # Errors
/// Passes on errors of the filesystem; nothing is left behind.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A device or a pipe is written to directly: replacing it with a file would destroy it.
    if fs::metadata(path).is_ok_and(|facts| !facts.is_file()) {
        return OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = path.with_file_name(format!(".{name}.part"));
    let write = || {
        let mut file = File::create(&unfinished)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&unfinished);
    })
}

/// Reads the record at `path`.
///
/// # Errors
/// Fails when the file is missing, too large, not UTF-8, not a record, of another format version, or
/// inconsistent.
pub fn load(path: &Path) -> Result<Record> {
    let text = read_text(path, LARGEST)?;
    super::read(&text).map_err(|reason| anyhow::anyhow!("{}: {reason}", path.display()))
}

/// Reads a text file of at most `limit` bytes.
///
/// # Errors
/// Names the file and says whether it is missing, too large, UTF-16, or otherwise not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> Result<String> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("{name}: can't be read"))?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).with_context(|| format!("{name}: can't be read"))?;
    if bytes.len() as u64 > limit {
        bail!("{name}: larger than {limit} bytes, which is too large for a file of this kind");
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        bail!("{name}: is UTF-16; save it as UTF-8");
    }
    String::from_utf8(bytes).map_err(|error| {
        anyhow::anyhow!("{name}: not UTF-8 (byte {}); save it as UTF-8", error.utf8_error().valid_up_to())
    })
}
