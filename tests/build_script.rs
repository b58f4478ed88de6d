//! The real build script: with a pin that does not match, without a compiler, and without a network.

mod common;

use common::{Done, list, skip};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Runs the real build script in a project of its own that has its files but none of the program's
/// dependencies, which would be compiled for nothing. What is compiled is kept below `target` for the next
/// time.
fn build_script(case: &str, prepare: impl Fn(&Path), environment: &[(&str, &str)]) -> Option<Done> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !root.join("vendor/sqlite/ORIGIN").is_file() {
        skip("vendor/sqlite is empty: this was built from sources elsewhere");
        return None;
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("build-script");
    let project = place.join(case);
    let _ = fs::remove_dir_all(&project);
    for folder in ["src/instrument/build", "vendor/sqlite", "reference"] {
        fs::create_dir_all(project.join(folder)).unwrap();
    }
    for file in
        ["build.rs", "Cargo.lock", "src/instrument/build/compile.rs", "vendor/fetch", "vendor/sqlite.lock"]
    {
        fs::copy(root.join(file), project.join(file)).unwrap();
    }
    for file in list(&root.join("vendor/sqlite")) {
        fs::copy(&file, project.join("vendor/sqlite").join(file.file_name().unwrap())).unwrap();
    }
    fs::write(project.join("src/lib.rs"), "").unwrap();
    let mut manifest: toml::Table = fs::read_to_string(root.join("Cargo.toml")).unwrap().parse().unwrap();
    manifest.retain(|name, _| ["package", "build-dependencies"].contains(&name));
    manifest.insert("workspace".to_string(), toml::Table::new().into());
    manifest.insert(
        "profile".to_string(),
        "dev.build-override.opt-level = 1".parse::<toml::Table>().unwrap().into(),
    );
    fs::write(project.join("Cargo.toml"), manifest.to_string()).unwrap();
    prepare(&project);

    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["check", "--offline", "--quiet", "--target-dir"])
        .arg(place.join("target"))
        .current_dir(&project);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["CC", "REPRO_SQLITE_SRC", "REPRO_OFFLINE", "CARGO_NET_OFFLINE"].contains(&&*text)
            || text.starts_with("CC_")
        {
            command.env_remove(name);
        }
    }
    Some(Done::from(&command.envs(environment.iter().copied()).output().unwrap()))
}

#[test]
fn sources_that_are_not_the_pin_are_refused() {
    let flip = |project: &Path| {
        let path = project.join("vendor/sqlite/speedtest1.c");
        let mut bytes = fs::read(&path).unwrap();
        bytes[1000] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    let Some(done) = build_script("changed-source", flip, &[]) else { return };
    assert_ne!(done.code, Some(0));
    done.says(&[
        "error: ",
        "vendor/sqlite/speedtest1.c: SHA-256 is ",
        ", but vendor/sqlite.lock pins b5eaf4bbcbb320fd8eb3f3e6c4cd5f51a64dd0cd70efe969634d1785e3419675",
        "build again to fetch it again",
        "name them in REPRO_SQLITE_SRC",
    ]);
}

#[test]
fn a_compiler_that_is_missing_is_named() {
    let Some(done) = build_script("no-compiler", |_| (), &[("CC", "/nonexistent/cc")]) else { return };
    assert_ne!(done.code, Some(0));
    done.says(&[
        "C compiler `/nonexistent/cc` can't be started (",
        "install gcc or clang, or name another compiler in CC",
    ]);
}

#[test]
fn missing_sources_without_a_network_say_what_to_do() {
    let empty = |project: &Path| {
        for file in list(&project.join("vendor/sqlite")) {
            fs::remove_file(file).unwrap();
        }
    };
    let Some(done) = build_script("offline", empty, &[("REPRO_OFFLINE", "1")]) else { return };
    assert_ne!(done.code, Some(0));
    done.says(&[
        "vendor/fetch could not get SQLite's sources",
        "sqlite.org: not tried, because the network is switched off",
        "debian: not tried, because the network is switched off",
        "REPRO_SQLITE_SRC",
    ]);
}
