//! Measures what a reference of the official tool can tell apart: other optimisation levels, compilers and
//! workloads than the cited ones, row by row.
//!
//!     cargo bench --bench calibration [-- ROUNDS [OUTPUT …]] > src/verify/power.csv
//!
//! Each round runs every variant once; the table holds the median of ROUNDS (default 5) of each row, in ms. An
//! OUTPUT is a saved output of the tool from elsewhere, whose file name names the variant; its first run is taken
//! as it is, and one that can't be read is left out. The sources are those that this program was built from. Progress goes to stderr.

use repro::instrument::build::{CITED_FLAGS, compile};
use repro::stats::median;
use repro::study::speedtest1::{BUILD, import};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The options of the tool that make other work, beside the cited `--size 100`.
const WORKLOADS: [&[&str]; 7] = [
    &["--size", "50"],
    &["--size", "200"],
    &["--memdb", "--nosync"],
    &["--journal", "wal"],
    &["--pagesize", "512"],
    &["--utf16be"],
    &["--without-rowid"],
];
const LEVELS: [&str; 5] = ["-O3", "-O2", "-O1", "-Os", "-O0"];

/// What is measured: an executable with its options.
struct Variant {
    name: String,
    tool: PathBuf,
    options: Vec<&'static str>,
}

/// The times of rows in ms, by variant and key.
type Times = BTreeMap<String, BTreeMap<String, Vec<f64>>>;

fn main() {
    // Cargo itself adds `--bench` to the arguments.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let rounds: u32 = words.first().map_or(5, |word| word.parse().expect("ROUNDS is a number"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let variants = variants(folder.path());
    let (mut keys, mut times) = (Vec::new(), Times::new());
    for round in 1..=rounds {
        for variant in &variants {
            eprintln!("round {round} of {rounds}: {}", variant.name);
            let output =
                Command::new(&variant.tool).args(&variant.options).current_dir(folder.path()).output();
            add(&mut times, &mut keys, &variant.name, &output.expect("the tool runs").stdout);
        }
    }
    let mut order: Vec<String> = variants.into_iter().map(|variant| variant.name).collect();
    for file in words.iter().skip(1) {
        let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let output = std::fs::read(file).expect("OUTPUT can be read");
        match import::import(&output) {
            Ok(_) => {
                add(&mut times, &mut keys, &name, &output);
                order.push(name);
            }
            Err(error) => eprintln!("{name} is left out: {error}"),
        }
    }
    print(&order, &keys, &times);
}

/// Compiles every level with every compiler there is; the first variant is the cited one.
fn variants(folder: &Path) -> Vec<Variant> {
    let mut variants = Vec::new();
    for compiler in ["gcc", "clang"] {
        for level in LEVELS {
            let flags = [&[level], &CITED_FLAGS[1..]].concat();
            let tool = folder.join(format!("{compiler}{level}"));
            match compile(compiler.as_ref(), &flags, Path::new(BUILD.sources_dir), &tool) {
                Ok(()) => variants.push(Variant {
                    name: format!("{compiler} {level}"),
                    tool,
                    options: vec!["--size", "100"],
                }),
                Err(reason) => {
                    eprintln!("{compiler} {level} is left out: {}", reason.lines().next().unwrap_or(""))
                }
            }
        }
    }
    let cited = variants.first().expect("a compiler").tool.clone();
    for options in WORKLOADS {
        let size: &[&str] = if options[0] == "--size" { &[] } else { &["--size", "100"] };
        let options: Vec<&str> = options.iter().chain(size).copied().collect();
        let name =
            options.iter().filter(|word| size.iter().all(|own| own != *word)).copied().collect::<Vec<_>>();
        variants.push(Variant { name: name.join(" "), tool: cited.clone(), options });
    }
    variants
}

/// Adds the first run of an output.
fn add(times: &mut Times, keys: &mut Vec<String>, name: &str, output: &[u8]) {
    let runs = import::import(output).expect("the tool's output can be read");
    let rows = times.entry(name.to_string()).or_default();
    for row in &runs[0].output.steps {
        let key = row.key.to_string();
        if !keys.contains(&key) {
            keys.push(key.clone());
        }
        rows.entry(key).or_default().push(row.reported_ms as f64);
    }
}

fn print(variants: &[String], keys: &[String], times: &Times) {
    let mut writer = csv::Writer::from_writer(std::io::stdout());
    let head = std::iter::once("key").chain(variants.iter().map(String::as_str));
    writer.write_record(head).expect("stdout can be written");
    for key in keys {
        let cell = |variant: &String| {
            let middle = times[variant].get(key).and_then(|all| median(all));
            middle.map_or(String::new(), |ms| ms.to_string())
        };
        let row = std::iter::once(key.clone()).chain(variants.iter().map(cell));
        writer.write_record(row).expect("stdout can be written");
    }
    writer.flush().expect("stdout can be written");
}
