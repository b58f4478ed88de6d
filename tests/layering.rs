//! Data flows one way, and studies are independent of each other. Parses every file in `src` and fails, with
//! file and line, on code that breaks a rule of the layout. Each rule is also tried on made-up files, which
//! it must refuse.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, Lit, Type, UseTree};

/// Each module at the root of the crate with the others that it may name.
const ALLOWED: &[(&str, &[&str])] = &[
    ("stats", &[]),
    ("machine", &[]),
    ("exit", &["record"]),
    ("record", &["machine", "exit"]),
    ("instrument", &["machine", "record", "exit"]),
    ("figure", &["record", "stats"]),
    ("verify", &["record", "figure", "stats"]),
    ("report", &["record", "figure", "stats", "verify"]),
    ("export", &["record", "figure", "stats", "verify", "report"]),
    ("study", &["exit", "figure", "instrument", "machine", "record", "report", "stats"]),
    ("cli", &["study", "exit", "export"]),
];

/// The modules that join the others and may name each of them.
const FREE: &[&str] = &["command", "main", "lib"];

/// The only module with unsafe code, because SQLite's C interface can't be called otherwise.
const UNSAFE: [&str; 2] = ["instrument", "engine"];

/// The smallest numbers of things that a rule must find in `src`; a rule that finds fewer is blind.
const LEAST_ARROWS: usize = 51;
const LEAST_NAMES: usize = 4;
const LEAST_TYPES: usize = 3;

/// The end of a path whose whole content is imported, by a glob or under another name, so that what the code
/// then uses of it can't be seen.
const WHOLE: &str = "*";

/// A fact that the rules look at.
enum What {
    /// The start of the file, which stands for the file itself.
    Start,
    /// A path from the root of the crate: `crate::a::b` is `["a", "b"]`.
    Path(Vec<String>),
    /// A declaration `mod x;`, with the path of that module.
    File(Vec<String>),
    Word(String),
    /// The value of a string literal.
    Text(String),
    /// The name of a study that users see.
    StudyName(String),
    /// A type that implements `Study`.
    StudyType(String),
    Unsafe,
}

struct Fact {
    line: usize,
    /// Whether the code is compiled only for tests.
    test: bool,
    what: What,
}

struct Source {
    /// The path of the file below `src`.
    path: String,
    module: Vec<String>,
    facts: Vec<Fact>,
}

/// Names or types, each with the folders of the studies that it belongs to.
type Owned = BTreeMap<String, BTreeSet<String>>;

#[derive(Default)]
struct Tree {
    sources: Vec<Source>,
    /// The folders in `src/study`.
    studies: BTreeSet<String>,
    names: Owned,
    types: Owned,
}

/// The files of this project, read once for all tests.
static REAL: LazyLock<Tree> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut files = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let inside = path.strip_prefix(&root).unwrap().to_str().unwrap().to_string();
                files.insert(inside, fs::read_to_string(&path).unwrap());
            }
        }
    }
    Tree::of(files)
});

impl Tree {
    fn of<T: AsRef<str>>(files: impl IntoIterator<Item = (T, T)>) -> Tree {
        let sources =
            files.into_iter().map(|(path, text)| Source::of(path.as_ref(), text.as_ref())).collect();
        let mut tree = Tree { sources, ..Tree::default() };
        let for_tests = tree.facts().filter_map(|(_, fact)| match &fact.what {
            What::File(module) if fact.test => Some(module.clone()),
            _ => None,
        });
        let for_tests: Vec<Vec<String>> = for_tests.collect();
        for source in &mut tree.sources {
            let parts: Vec<&str> = source.path.split('/').collect();
            let named_so = parts.contains(&"tests") || parts.contains(&"tests.rs");
            if named_so || for_tests.iter().any(|module| source.module.starts_with(module)) {
                source.facts.iter_mut().for_each(|fact| fact.test = true);
            } else if let ["study", folder, _, ..] = parts[..] {
                tree.studies.insert(folder.to_string());
            }
        }
        let (mut names, mut types) = (Owned::new(), Owned::new());
        for (source, fact) in tree.facts().filter(|(_, fact)| !fact.test) {
            let Some(study) = tree.study_at(&source.module) else { continue };
            match &fact.what {
                What::StudyName(name) => names.entry(name.clone()).or_default().insert(study.to_string()),
                What::StudyType(name) => types.entry(name.clone()).or_default().insert(study.to_string()),
                _ => continue,
            };
        }
        Tree { names, types, ..tree }
    }

    fn facts(&self) -> impl Iterator<Item = (&Source, &Fact)> {
        self.sources.iter().flat_map(|source| source.facts.iter().map(move |fact| (source, fact)))
    }

    /// Returns the study whose folder a path leads into; `WHOLE` stands for all studies.
    fn study_at<'a>(&self, path: &'a [String]) -> Option<&'a str> {
        let [root, study, ..] = path else { return None };
        (root == "study" && (study == WHOLE || self.studies.contains(study))).then_some(study)
    }
}

impl Source {
    fn of(path: &str, text: &str) -> Source {
        let mut module: Vec<String> = path.trim_end_matches(".rs").split('/').map(str::to_string).collect();
        module.pop_if(|last| last == "mod");
        if path == "lib.rs" || path == "main.rs" {
            module.clear();
        }
        let mut reader = Reader { file: &module, here: module.clone(), test: false, facts: Vec::new() };
        reader.note(1, What::Start);
        let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("src/{path}: {error}"));
        reader.note_unsafe(tokens.clone());
        reader.visit_file(&syn::parse2(tokens).unwrap_or_else(|error| panic!("src/{path}: {error}")));
        Source { path: path.to_string(), facts: reader.facts, module }
    }

    /// Returns the module at the root of the crate that this file belongs to.
    fn stage(&self) -> &str {
        self.path.split(['/', '.']).next().unwrap_or_default()
    }

    fn is_registry(&self) -> bool {
        self.module == ["study", "registry"]
    }
}

/// Collects the facts of a file.
struct Reader<'a> {
    file: &'a [String],
    /// The module of the file, and the inline modules in it that are open.
    here: Vec<String>,
    test: bool,
    facts: Vec<Fact>,
}

impl Reader<'_> {
    fn note(&mut self, line: usize, what: What) {
        self.facts.push(Fact { line, test: self.test, what });
    }

    /// Notes each `unsafe`. As a keyword, it is the same in code, in macros and in attributes.
    fn note_unsafe(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.note_unsafe(group.stream()),
                TokenTree::Ident(word) if word == "unsafe" => self.note(line(&word), What::Unsafe),
                _ => {}
            }
        }
    }

    /// Notes where a path leads, seen from the root. In `main.rs` the name of the package stands for `crate`.
    fn note_path(&mut self, line: usize, path: &[String]) {
        let path = path.strip_suffix(&["self".to_string()]).unwrap_or(path);
        let Some(first) = path.first() else { return };
        let (mut full, mut rest) = match first.as_str() {
            "crate" | env!("CARGO_PKG_NAME") => (Vec::new(), &path[1..]),
            "self" => (self.here.clone(), &path[1..]),
            "super" => (self.here.clone(), path),
            // This is the module `study` after `use crate::study`, which is an arrow itself.
            "study" if self.imports_study() => (Vec::new(), path),
            // This is a neighbour, or a name from elsewhere that looks like one.
            _ => (self.file.to_vec(), path),
        };
        while rest.first().is_some_and(|name| name == "super") {
            full.pop();
            rest = &rest[1..];
        }
        self.note(line, What::Path([&full, rest].concat()));
    }

    fn imports_study(&self) -> bool {
        self.facts.iter().any(|fact| matches!(&fact.what, What::Path(path) if path[..] == ["study"]))
    }

    fn note_use(&mut self, tree: &UseTree, path: &[String]) {
        let with = |name: &Ident| [path, &[name.to_string()]].concat();
        let whole = |path: &[String]| [path, &[WHOLE.to_string()]].concat();
        match tree {
            UseTree::Path(step) => self.note_use(&step.tree, &with(&step.ident)),
            UseTree::Name(name) => self.note_path(line(&name.ident), &with(&name.ident)),
            UseTree::Rename(name) if name.ident == "self" => self.note_path(line(&name.ident), &whole(path)),
            UseTree::Rename(name) => self.note_path(line(&name.ident), &whole(&with(&name.ident))),
            UseTree::Glob(glob) => self.note_path(glob.star_token.spans[0].start().line, &whole(path)),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.note_use(tree, path)),
        }
    }

    /// Follows a path in the tokens of a macro, and into the group at its end.
    fn follow(&mut self, line: usize, tokens: &[TokenTree], path: &[String]) {
        match tokens {
            [TokenTree::Ident(name), rest @ ..] => {
                let path = [path, &[name.to_string()]].concat();
                match rest {
                    [one, two, rest @ ..] if is(one, ':') && is(two, ':') => self.follow(line, rest, &path),
                    _ if path.len() > 1 => self.note_path(line, &path),
                    _ => {}
                }
            }
            [TokenTree::Group(group), ..] if group.delimiter() == Delimiter::Brace => {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                inside.split(|token| is(token, ',')).for_each(|part| self.follow(line, part, path));
            }
            [star, ..] if is(star, '*') => self.note_path(line, &[path, &[WHOLE.to_string()]].concat()),
            _ => self.note_path(line, path),
        }
    }

    fn note_study_name(&mut self, wanted: &str, name: &Ident, value: &Expr) {
        if let (true, Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) = (name == wanted, value) {
            self.note(line(name), What::StudyName(text.value()));
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    /// Attributes come first, so `#[cfg(test)]` applies from there to the end of its item.
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let outside = self.test;
        visit::visit_item(self, item);
        self.test = outside;
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        let outside = self.test;
        visit::visit_impl_item(self, item);
        self.test = outside;
    }

    fn visit_stmt(&mut self, statement: &'ast syn::Stmt) {
        let outside = self.test;
        visit::visit_stmt(self, statement);
        self.test = outside;
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let cfg = attribute.path().is_ident("cfg");
        self.test |= cfg && attribute.parse_args::<Ident>().is_ok_and(|what| what == "test");
        // Documentation is not code.
        if !attribute.path().is_ident("doc") {
            visit::visit_attribute(self, attribute);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.here.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        if item.content.is_none() {
            self.note(line(&item.ident), What::File(self.here.clone()));
        }
        self.here.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        visit::visit_item_use(self, item);
        if item.leading_colon.is_none() {
            self.note_use(&item.tree, &[]);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1 && path.leading_colon.is_none() {
            self.note_path(line(&path.segments[0].ident), &names);
        }
        visit::visit_path(self, path);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        visit::visit_item_impl(self, item);
        if let (Some((_, path, _)), Type::Path(of)) = (&item.trait_, &*item.self_ty)
            && let (Some(implemented), Some(name)) = (path.segments.last(), of.path.segments.last())
            && implemented.ident == "Study"
        {
            self.note(line(&name.ident), What::StudyType(name.ident.to_string()));
        }
    }

    fn visit_expr_struct(&mut self, item: &'ast syn::ExprStruct) {
        visit::visit_expr_struct(self, item);
        let is_shape = item.path.segments.last().is_some_and(|last| last.ident == "Shape");
        for field in item.fields.iter().filter(|_| is_shape) {
            if let syn::Member::Named(field_name) = &field.member {
                self.note_study_name("name", field_name, &field.expr);
            }
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        visit::visit_item_const(self, item);
        self.note_study_name("NAME", &item.ident, &item.expr);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        visit::visit_impl_item_const(self, item);
        self.note_study_name("NAME", &item.ident, &item.expr);
    }

    fn visit_ident(&mut self, word: &'ast Ident) {
        self.note(line(word), What::Word(word.to_string()));
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.note(text.span().start().line, What::Text(text.value()));
    }

    /// Visits the inside of a macro or of an attribute, whose grammar only the macro knows.
    fn visit_token_stream(&mut self, tokens: &'ast TokenStream) {
        let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                // A doc comment appears as `#[doc = "…"]` here.
                TokenTree::Group(group) if group.stream().to_string().starts_with("doc =") => {}
                TokenTree::Group(group) => self.visit_token_stream(&group.stream()),
                TokenTree::Literal(literal) => self.visit_lit(&Lit::new(literal.clone())),
                TokenTree::Ident(word) => {
                    self.visit_ident(word);
                    if at < 2 || !tokens[at - 2..at].iter().all(|sign| is(sign, ':')) {
                        self.follow(line(word), &tokens[at..], &[]);
                    }
                }
                TokenTree::Punct(_) => {}
            }
        }
    }
}

fn line(word: &Ident) -> usize {
    word.span().start().line
}

fn is(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(found) if found.as_char() == sign)
}

/// Returns the other module at the root to which an arrow leads.
fn target<'a>(source: &Source, fact: &'a Fact) -> Option<&'a str> {
    let What::Path(path) = &fact.what else { return None };
    path.first().map(String::as_str).filter(|target| !source.module.is_empty() && *target != source.stage())
}

/// Returns why a fact breaks the rule, if it does.
type Rule = fn(&Tree, &Source, &Fact) -> Option<String>;

fn runs_back(_: &Tree, source: &Source, fact: &Fact) -> Option<String> {
    let stage = source.stage();
    let entry = ALLOWED.iter().find(|(name, _)| *name == stage);
    if matches!(fact.what, What::Start) && entry.is_none() && !FREE.contains(&stage) {
        return Some(format!("ALLOWED doesn't know the module {stage}"));
    }
    // A test may use the record of a study as an example.
    match target(source, fact).filter(|_| !fact.test)? {
        WHOLE => Some("the root of the crate as a whole hides which modules are named".to_string()),
        target if entry?.1.contains(&target) => None,
        target => Some(format!("{stage} may not name {target}")),
    }
}

/// Returns the study whose folder a path enters from outside.
fn study_entered<'a>(tree: &Tree, source: &Source, fact: &'a Fact) -> Option<&'a str> {
    let What::Path(path) = &fact.what else { return None };
    tree.study_at(path).filter(|study| tree.study_at(&source.module) != Some(study))
}

fn names_another_study(tree: &Tree, source: &Source, fact: &Fact) -> Option<String> {
    let study = study_entered(tree, source, fact)?;
    // In `study/mod.rs` the tests begin with `use super::*`, which is that file itself.
    let own = study == WHOLE && source.module == ["study"];
    let free = own || source.is_registry() || source.stage() != "study";
    (!free).then(|| format!("in study only the registry may name study::{study}"))
}

fn names_a_study_from_outside(tree: &Tree, source: &Source, fact: &Fact) -> Option<String> {
    let study = study_entered(tree, source, fact)?;
    let free = fact.test || source.stage() == "study";
    (!free).then(|| format!("only the registry may name study::{study}; ask it for the study"))
}

/// Returns an error if a study's name or type occurs outside its study's folder and the registry.
fn astray(tree: &Tree, source: &Source, owned: &Owned, has: impl Fn(&str) -> bool) -> Option<String> {
    let here = tree.study_at(&source.module).unwrap_or_default();
    let (name, homes) = owned.iter().find(|(name, homes)| !homes.contains(here) && has(name))?;
    let why = || format!("`{name}` may stand only in the registry and in the folder of study {homes:?}");
    (!source.is_registry()).then(why)
}

fn has_a_name_astray(tree: &Tree, source: &Source, fact: &Fact) -> Option<String> {
    match &fact.what {
        What::Text(text) if !fact.test => astray(tree, source, &tree.names, |name| has_word(text, name)),
        _ => None,
    }
}

fn has_a_type_astray(tree: &Tree, source: &Source, fact: &Fact) -> Option<String> {
    match &fact.what {
        What::Word(word) if !fact.test => astray(tree, source, &tree.types, |name| word == name),
        _ => None,
    }
}

/// Returns whether a text contains a word. `speedtest1.c` is a file and `speedtest1-` begins another name, so
/// neither contains the word `speedtest1`.
fn has_word(text: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let mut places = text.match_indices(word);
    places.any(|(at, _)| !text[..at].ends_with(joins) && !text[at + word.len()..].starts_with(joins))
}

fn is_unsafe(_: &Tree, source: &Source, fact: &Fact) -> Option<String> {
    let free = source.module.len() > 1 && source.module[..2] == UNSAFE;
    (matches!(fact.what, What::Unsafe) && !free)
        .then(|| format!("`unsafe` may stand in {} alone", UNSAFE.join("/")))
}

fn is_left_out(tree: &Tree, source: &Source, fact: &Fact) -> Option<String> {
    let export = source.module.get(..2).filter(|_| source.stage() == "export")?;
    let declares = |fact: &Fact| matches!(&fact.what, What::File(file) if file == export);
    let left_out = matches!(fact.what, What::Start) && !tree.facts().any(|(_, fact)| declares(fact));
    left_out.then(|| "src/export/mod.rs has no `mod` for this file".to_string())
}

/// Made-up files. `//~` marks a line that the rules named there must refuse; they may refuse no other.
const MADE_UP: &str = include_str!("layering/made-up.txt");

fn faults(tree: &Tree, rule: Rule) -> Vec<String> {
    let broken = |(source, fact): (&Source, &Fact)| {
        Some(format!("src/{}:{}: {}", source.path, fact.line, rule(tree, source, fact)?))
    };
    tree.facts().filter_map(broken).collect()
}

/// Asserts that a rule refuses what is marked for it in the made-up files, and nothing in the real ones.
#[track_caller]
fn check(name: &str, rule: Rule) {
    let files: Vec<(&str, &str)> =
        MADE_UP.split("=== ").skip(1).filter_map(|file| file.split_once('\n')).collect();
    let refused = faults(&Tree::of(files.clone()), rule);
    let refused: BTreeSet<String> =
        refused.iter().filter_map(|fault| fault.split(": ").next()).map(str::to_string).collect();
    let mut marked = BTreeSet::new();
    for (path, text) in files {
        for (at, line) in text.lines().enumerate() {
            let marks = line.split_once("//~").map_or("", |(_, marks)| marks);
            if marks.split_whitespace().any(|mark| mark == name) {
                marked.insert(format!("src/{path}:{}", at + 1));
            }
        }
    }
    assert!(!marked.is_empty(), "no made-up file tries `{name}`");
    assert_eq!(refused, marked, "of the made-up files");
    let faults = faults(&REAL, rule);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn no_arrow_runs_back() {
    check("arrow", runs_back);
    let arrows = REAL.facts().filter_map(|(source, fact)| Some((&source.path, target(source, fact)?)));
    let arrows: BTreeSet<_> = arrows.collect();
    assert!(arrows.len() >= LEAST_ARROWS, "only {} arrows were seen: is this test blind?", arrows.len());
}

#[test]
fn no_study_names_another() {
    check("neighbour", names_another_study);
}

#[test]
fn no_study_is_named_from_outside() {
    check("outside", names_a_study_from_outside);
}

#[test]
fn names_of_studies_stay_at_home() {
    check("name", has_a_name_astray);
    assert!(REAL.names.len() >= LEAST_NAMES, "only {:?} were seen: is this test blind?", REAL.names);
}

#[test]
fn types_of_studies_stay_at_home() {
    check("type", has_a_type_astray);
    assert!(REAL.types.len() >= LEAST_TYPES, "only {:?} were seen: is this test blind?", REAL.types);
}

#[test]
fn only_the_c_interface_is_unsafe() {
    check("unsafe", is_unsafe);
}

#[test]
fn every_export_is_declared() {
    check("export", is_left_out);
    assert!(REAL.sources.iter().any(|source| source.stage() == "export"), "src/export was not found");
}

#[test]
fn every_way_to_name_a_module_is_seen() {
    let names = |path: &str, code: &str| {
        let tree = Tree::of([(path, code)]);
        let names: BTreeSet<&str> = tree.facts().filter_map(|(source, fact)| target(source, fact)).collect();
        names.into_iter().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names("stats.rs", "use crate::record::Record;"), "record");
    assert_eq!(names("stats.rs", "use crate::{\n  record::{self, Leg},\n  verify,\n};"), "record verify");
    assert_eq!(names("stats.rs", "use {crate::record as r, crate::verify::*};"), "record verify");
    assert_eq!(names("stats.rs", "fn f(x: &crate::report::Table) {}"), "report");
    assert_eq!(names("stats.rs", "fn f<'a>(x: &'a crate::d::E<crate::e::F>) {}"), "d e");
    assert_eq!(names("stats.rs", "impl crate::a::T for <crate::b::X as crate::c::Y>::Z {}"), "a b c");
    assert_eq!(names("stats.rs", "fn f() { match g() { crate::a::B => crate::c::D {}, _ => h } }"), "a c");
    assert_eq!(names("stats/summary.rs", "use super::super::driver;"), "driver");
    assert_eq!(names("stats/summary.rs", "use self::super::super::driver;"), "driver");
    assert_eq!(names("stats/summary.rs", "use super::driver;"), "");
    assert_eq!(names("stats/mod.rs", "use super::driver;"), "driver");
    assert_eq!(names("stats.rs", "mod tests { use super::driver; } use super::suite;"), "suite");
    assert_eq!(names("stats.rs", "mod tests { fn f() { super::super::a::b() } }"), "a");
    assert_eq!(names("stats.rs", "m! { x: crate::a::B, use crate::{b::{C, D}, c}; y::crate::z }"), "a b c");
    assert_eq!(names("stats.rs", "#[derive(crate::a::B)] struct S(#[c(crate::d::E)] u8);"), "a d");
    assert_eq!(
        names("stats.rs", "// crate::a\n/* crate::b /* */ crate::c */ /// [`crate::d`]\nfn f() {}"),
        ""
    );
    let literals = r###"fn f() { ("crate::a \" crate::b", r#"crate::c"#, '"', crate::d::E) }"###;
    assert_eq!(names("stats.rs", literals), "d");
}
