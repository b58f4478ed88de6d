//! Data flows one way. Reads every path in `src` and fails on an arrow that runs back.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each stage with the stages that it may name, beside itself. `command` joins them all.
const ALLOWED: &[(&str, &[&str])] = &[
    ("suite", &[]),
    ("environment", &[]),
    ("stats", &[]),
    ("driver", &["suite", "environment"]),
    ("measure", &["stats", "suite"]),
    ("record", &["suite", "environment", "stats"]),
    ("verify", &["record", "stats", "suite"]),
    ("export", &["record", "stats", "suite", "verify"]),
    ("report", &["record", "stats", "verify", "suite"]),
    ("cli", &["suite"]),
];

/// Files that may name every stage.
const FREE: &[&str] = &["command", "main", "lib"];

/// SQLite's C interface can't be called otherwise; nothing else is.
const UNSAFE: &str = "driver::engine";

/// A Rust file, with what is not code blanked out.
struct Source {
    path: PathBuf,
    /// `crate::a::b` is `["a", "b"]`.
    module: Vec<String>,
    code: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let inside = path.strip_prefix(&root).unwrap().with_extension("");
                let mut module: Vec<String> =
                    inside.iter().map(|part| part.to_str().unwrap().to_string()).collect();
                module.pop_if(|last| last == "mod");
                let code = code_of(&fs::read_to_string(&path).unwrap());
                sources.push(Source { path, module, code });
            }
        }
    }
    sources
}

/// Blanks out comments and the content of literals.
fn code_of(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let starts = |at: usize, what: &str| what.chars().enumerate().all(|(i, c)| chars.get(at + i) == Some(&c));
    let mut code = String::new();
    let mut at = 0;
    while at < chars.len() {
        let from = at;
        let raw = (chars[at] == 'r' && !code.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
            .then(|| chars[at + 1..].iter().take_while(|c| **c == '#').count())
            .filter(|hashes| chars.get(at + 1 + hashes) == Some(&'"'));
        if starts(at, "//") {
            while at < chars.len() && chars[at] != '\n' {
                at += 1;
            }
        } else if starts(at, "/*") {
            let mut depth = 0;
            loop {
                match () {
                    () if starts(at, "/*") => (depth, at) = (depth + 1, at + 2),
                    () if starts(at, "*/") => (depth, at) = (depth - 1, at + 2),
                    () => at += 1,
                }
                if depth == 0 || at >= chars.len() {
                    break;
                }
            }
        } else if let Some(hashes) = raw {
            let end = format!("\"{}", "#".repeat(hashes));
            at += hashes + 2;
            while at < chars.len() && !starts(at, &end) {
                at += 1;
            }
            at += end.len();
        } else if chars[at] == '"' {
            at += 1;
            while at < chars.len() && chars[at] != '"' {
                at += if chars[at] == '\\' { 2 } else { 1 };
            }
            at += 1;
        } else if chars[at] == '\'' && (chars.get(at + 1) == Some(&'\\') || chars.get(at + 2) == Some(&'\''))
        {
            at += 2;
            while at < chars.len() && chars[at] != '\'' {
                at += 1;
            }
            at += 1;
        } else {
            code.push(chars[at]);
            at += 1;
            continue;
        }
        let blanked = chars[from..at.min(chars.len())].iter().map(|c| if *c == '\n' { '\n' } else { ' ' });
        code.extend(blanked);
    }
    code
}

/// Words and the signs between them.
fn tokens(code: &str) -> Vec<&str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match () {
            () if rest.starts_with("::") => 2,
            () if word(first) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            () => first.len_utf8(),
        };
        tokens.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    tokens
}

/// The first names of a path that goes on at `at`: one, or those of a group.
fn heads<'a>(tokens: &[&'a str], at: usize) -> Vec<&'a str> {
    if tokens.get(at) != Some(&"{") {
        return tokens.get(at).copied().into_iter().collect();
    }
    let mut depth = 0;
    let mut heads = Vec::new();
    for pair in tokens[at..].windows(2) {
        match pair[0] {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && matches!(pair[0], "{" | ",") && pair[1] != "}" {
            heads.push(pair[1]);
        }
    }
    heads
}

/// The modules at the root of the crate that the code of `module` names: by `crate::`, or by as many
/// `super::` as lead there.
fn named(module: &[String], code: &str) -> BTreeSet<String> {
    let tokens = tokens(code);
    let mut found = BTreeSet::new();
    // Names of inline modules that are open, with the depth of braces in which each was opened.
    let mut inline: Vec<usize> = Vec::new();
    let mut depth = 0;
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at] {
            "mod" if tokens.get(at + 2) == Some(&"{") => inline.push(depth),
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                inline.pop_if(|opened| *opened == depth);
            }
            "crate" if tokens.get(at + 1) == Some(&"::") => {
                found.extend(heads(&tokens, at + 2).into_iter().map(str::to_string));
            }
            "super" if tokens.get(at + 1) == Some(&"::") => {
                let mut ups = 1;
                while tokens.get(at + 2) == Some(&"super") && tokens.get(at + 3) == Some(&"::") {
                    (ups, at) = (ups + 1, at + 2);
                }
                if ups == module.len() + inline.len() {
                    found.extend(heads(&tokens, at + 2).into_iter().map(str::to_string));
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

#[test]
fn no_arrow_runs_back() {
    let mut wrong = Vec::new();
    let mut arrows = 0;
    for source in sources() {
        let stage = source.module[0].as_str();
        if FREE.contains(&stage) {
            continue;
        }
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == stage) else {
            wrong.push(format!("{}: `{stage}` is not a stage that this test knows", source.path.display()));
            continue;
        };
        for target in named(&source.module, &source.code) {
            arrows += 1;
            if target != stage && !allowed.contains(&target.as_str()) {
                wrong.push(format!("{}: {stage} → {target}", source.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "arrows that run back:\n{}", wrong.join("\n"));
    assert!(arrows > 20, "only {arrows} arrows were seen: is this test blind?");
}

#[test]
fn only_the_c_interface_is_unsafe() {
    for source in sources().iter().filter(|source| !source.module.join("::").starts_with(UNSAFE)) {
        let found = tokens(&source.code).contains(&"unsafe");
        assert!(!found, "{}: `unsafe`", source.path.display());
    }
}

#[test]
fn this_test_sees_every_way_to_name_a_stage() {
    let names = |module: &str, code: &str| {
        let module: Vec<String> = module.split("::").map(str::to_string).collect();
        named(&module, &code_of(code)).into_iter().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names("stats", "use crate::record::Record;"), "record");
    assert_eq!(names("stats", "use crate::{\n  record::{self, Leg},\n  verify,\n};"), "record verify");
    assert_eq!(names("stats", "fn f(x: &crate::report::Table) {}"), "report");
    assert_eq!(names("stats::summary", "use super::super::driver;"), "driver");
    assert_eq!(names("stats::summary", "use super::driver;"), "");
    assert_eq!(names("stats", "use super::driver;"), "driver");
    assert_eq!(names("stats", "mod tests { use super::driver; } use super::suite;"), "suite");
    assert_eq!(names("stats", "// crate::a\n/* crate::b /* */ crate::c */ /// [`crate::d`]"), "");
    assert_eq!(names("stats", r###"let x = ("crate::a \" crate::b", r#"crate::c"#, '"', crate::d);"###), "d");
    assert_eq!(names("stats", "fn f<'a>(x: &'a crate::d::E) {}"), "d");
}
