//! Where the database of a run is, and what it contains.

use crate::instrument::scratch::{Scratch, database_files};
use crate::record::store;
use crate::study::oltp::args::{Identity, LegPlan};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// The folder of one run's database, which is removed with everything in it unless it is to be kept.
pub struct Place(Scratch);

const DATABASE: &str = "oltp.db";
/// The file that says what the database in the folder contains.
const IDENTITY: &str = "oltp.json";

impl Place {
    /// Creates a new folder.
    ///
    /// # Errors
    /// Fails when the parent can't be written to.
    pub fn new(parent: &Path, plan: &LegPlan, keep: bool) -> Result<Place> {
        let mut ours = database_files(DATABASE).to_vec();
        ours.push(IDENTITY.to_string());
        let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
        Scratch::new(parent, plan.leg.name(), &ours, keep).map(Place)
    }

    /// Writes down what the database contains, once every row is in it.
    ///
    /// # Errors
    /// Passes on errors of the filesystem.
    pub fn mark(&self, plan: &LegPlan) -> Result<()> {
        let identity = serde_json::to_string_pretty(&plan.identity())?;
        std::fs::write(self.0.path().join(IDENTITY), identity)
            .with_context(|| self.0.path().display().to_string())
    }

    /// Opens a folder that was kept, if its database is the one that is needed.
    ///
    /// # Errors
    /// Fails when the folder has no such database.
    pub fn again(folder: &Path, plan: &LegPlan) -> Result<Place> {
        let path = folder.join(IDENTITY);
        let text = store::read_text(&path, 4096).context("--reuse needs a folder that --keep has left")?;
        let found: Identity = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        if found != plan.identity() {
            bail!(
                "--reuse {}: this database does not fit the options: found {found:?}, needed {:?}",
                folder.display(),
                plan.identity()
            );
        }
        Ok(Place(Scratch::again(folder)))
    }

    /// Returns the path of the database in the folder.
    pub fn database(&self) -> PathBuf {
        self.0.path().join(DATABASE)
    }
}
