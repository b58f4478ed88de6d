//! What is to be measured, checked against the machine before anything is written.

use super::super::args::{Options, PlaceArgs};
use super::super::{Database, Workload};
use super::{Measurement, tool};
use crate::instrument::process;
use crate::machine::disk;
use crate::stats::FEWEST_RUNS;
use crate::study::Wishes;
use crate::study::options::PlanArgs;
use crate::study::plan::Plan;
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::time::Duration;

const WARMUP: u32 = 1;
const MOST_RUNS: u32 = 30;

/// Checks the options against each other and against the machine, and unpacks the executable below `cache`.
/// `wishes` supply what the options leave open.
///
/// # Errors
/// Names the option that can't be satisfied, and says what to do.
pub fn checked(options: Options, wishes: &Wishes, cache: PathBuf) -> Result<Measurement> {
    let Options { mut workload, plan, mut place } = options;
    let plan = wished(plan, &wishes.plan);
    place.temp_dir = place.temp_dir.or_else(|| wishes.temp_dir.clone());
    workload.database = match (workload.memdb, &place.database) {
        (true, _) => Database::Memory,
        (false, Some(_)) => Database::File,
        (false, None) => workload.database,
    };
    workload.check().map_err(anyhow::Error::msg)?;
    check_place(&workload, &place)?;
    let allowed = process::allowed_cpus();
    if let Some(cpu) = plan.pin.filter(|cpu| !allowed.contains(cpu)) {
        bail!("--pin {cpu}: this process may not use that CPU; choose one of {allowed:?}");
    }
    let runs = plan.runs.unwrap_or(FEWEST_RUNS);
    let above = u64::from(workload.size.saturating_sub(100));
    let deadline = plan.deadline.map_or(Duration::from_secs(600 + 6 * above), Duration::from_secs_f64);
    Ok(Measurement {
        workload,
        plan: Plan {
            warmup: plan.warmup.unwrap_or(WARMUP),
            runs,
            until: plan.until_ci,
            max_runs: plan.max_runs.unwrap_or(MOST_RUNS).max(runs),
            cooldown: Duration::from_secs_f64(plan.cooldown.unwrap_or(0.0)),
        },
        cpu: plan.pin,
        deadline,
        check_answer: !plan.no_answer_check,
        place,
        variants: wishes.build_variants,
        tool: tool::unpack(&cache)?,
        launcher: process::own_path()?,
        cache,
    })
}

/// Returns the plan with each missing option taken from the wishes.
fn wished(plan: PlanArgs, wishes: &PlanArgs) -> PlanArgs {
    PlanArgs {
        runs: plan.runs.or(wishes.runs),
        warmup: plan.warmup.or(wishes.warmup),
        until_ci: plan.until_ci.or(wishes.until_ci),
        max_runs: plan.max_runs.or(wishes.max_runs),
        pin: plan.pin.or(wishes.pin),
        cooldown: plan.cooldown.or(wishes.cooldown),
        deadline: plan.deadline.or(wishes.deadline),
        no_answer_check: plan.no_answer_check || wishes.no_answer_check,
    }
}

/// Returns the folder that the tool writes to.
pub fn directory(place: &PlaceArgs) -> PathBuf {
    match &place.database {
        Some(path) => {
            path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_path_buf()
        }
        None => disk::sqlite_temporary_directory(place.temp_dir.as_deref()),
    }
}

/// Returns the paths of the database and of the files that SQLite puts beside it.
pub fn database_files(path: &Path) -> Vec<PathBuf> {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    vec![path.to_path_buf(), beside("-journal"), beside("-wal"), beside("-shm")]
}

/// Checks that the database file can be created. The tool deletes the file that it is given, so the name must
/// be free.
fn check_place(workload: &Workload, place: &PlaceArgs) -> Result<()> {
    let directory = directory(place);
    if let Some(path) = &place.database
        && let Some(taken) = database_files(path).iter().find(|file| file.symlink_metadata().is_ok())
    {
        bail!(
            "--database {}: {} exists, and speedtest1 would delete it; name a new file",
            path.display(),
            taken.display()
        );
    }
    if let Some(dir) = place.temp_dir.as_deref().filter(|dir| directory != *dir && place.database.is_none()) {
        bail!("--temp-dir {}: not a folder that can be written to", dir.display());
    }
    let writable =
        nix::unistd::access(&directory, nix::unistd::AccessFlags::W_OK | nix::unistd::AccessFlags::X_OK);
    if workload.database != Database::Memory && writable.is_err() {
        bail!("{}: no permission to write there, or no such folder", directory.display());
    }
    let needed = workload.disk_bytes();
    if let Some(free) = disk::free_bytes(&directory).filter(|free| *free < needed) {
        bail!(
            "{}: {:.1} MB free, but size {} may take {:.1} MB; choose another place with --temp-dir or --database",
            directory.display(),
            free as f64 / 1e6,
            workload.size,
            needed as f64 / 1e6
        );
    }
    Ok(())
}
