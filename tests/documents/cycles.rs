//! No two modules import each other. A module is a file below `src`; what it
//! imports is every path in its code that starts at `crate`, `super`, `self`, one
//! of its own child modules, or a module that it has imported.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The segments of a path from the crate's root.
type ModulePath = Vec<String>;

/// The modules of the crate, each with the code of its file.
#[derive(Default)]
struct Crate {
    code: BTreeMap<ModulePath, String>,
    /// What a module re-exports: the name, and the path that stands for it.
    reexports: BTreeMap<ModulePath, Vec<(String, ModulePath)>>,
}

/// Code without comments, the contents of strings, and inline test modules, which
/// may use everything.
fn code_of(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
    let mut code = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(hashes) = raw_string(rest) {
            let end = format!("\"{}", "#".repeat(hashes));
            let from = hashes + 2;
            rest[from..].find(&end).map_or(rest.len(), |at| from + at + end.len())
        } else if first == '"' {
            let mut escaped = false;
            let end = rest.char_indices().skip(1).find(|(_, c)| {
                let ends = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |(at, _)| at + 1)
        } else if rest.starts_with("'\"'") || rest.starts_with("b'\"'") {
            rest.find("\"'").unwrap() + 2
        } else {
            code.push(first);
            first.len_utf8()
        };
        rest = &rest[skipped..];
    }
    code
}

/// How many `#` a raw string that starts here has.
fn raw_string(text: &str) -> Option<usize> {
    let text = text.strip_prefix('r')?;
    let hashes = text.len() - text.trim_start_matches('#').len();
    text[hashes..].starts_with('"').then_some(hashes)
}

/// The paths of a `use` tree, with the name that each gets.
fn use_paths(tree: &str) -> Vec<(String, ModulePath)> {
    let tree = tree.trim();
    if let Some(open) = tree.find('{') {
        let start: ModulePath = segments(&tree[..open]);
        let inner = tree[open + 1..].trim_end().strip_suffix('}').unwrap();
        let branches = split_branches(inner);
        return branches.iter().flat_map(|branch| use_paths(branch)).map(|(name, path)| (name, [start.clone(), path].concat())).collect();
    }
    let (path, name) = tree.split_once(" as ").map_or((tree, None), |(path, name)| (path, Some(name.trim().to_owned())));
    let path = segments(path);
    let name = name.or_else(|| path.last().cloned()).unwrap_or_default();
    vec![(name, path)]
}

fn segments(path: &str) -> ModulePath {
    path.split("::").map(|segment| segment.trim().to_owned()).filter(|segment| !segment.is_empty()).collect()
}

/// The branches between the commas that are in no inner braces.
fn split_branches(inner: &str) -> Vec<&str> {
    let (mut depth, mut from, mut branches) = (0, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                branches.push(&inner[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    branches.push(&inner[from..]);
    branches.into_iter().filter(|branch| !branch.trim().is_empty()).collect()
}

/// The `use` statements of some code: whether each is public, and its tree.
fn uses(code: &str) -> Vec<(bool, &str)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let before = code[..at].trim_end_matches(' ');
        let line = before.rsplit('\n').next().unwrap_or_default().trim();
        if !(line.is_empty() || line.starts_with("pub") || line.ends_with('{') || line.ends_with(';')) {
            continue;
        }
        let tree = &code[at + 4..];
        found.push((line.starts_with("pub"), &tree[..tree.find(';').unwrap()]));
    }
    found
}

/// The paths that code spells outside of `use` statements: words and `::`.
fn spelled_paths(code: &str) -> Vec<ModulePath> {
    let mut found = Vec::new();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = code;
    while let Some(start) = rest.find(is_word) {
        let tail = &rest[start..];
        let end = tail.find(|c: char| !is_word(c) && c != ':').unwrap_or(tail.len());
        let follows_a_path = rest[..start].ends_with("::");
        let path = tail[..end].trim_end_matches(':');
        if path.contains("::") && !follows_a_path {
            found.push(segments(path));
        }
        rest = &tail[end..];
    }
    found
}

impl Crate {
    fn read(src: &Path) -> Crate {
        let mut read = Crate::default();
        let mut folders = vec![(src.to_owned(), ModulePath::new())];
        while let Some((folder, above)) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let inside = |name: &str| [above.clone(), vec![name.to_owned()]].concat();
                if entry.path().is_dir() {
                    folders.push((entry.path(), inside(&name)));
                } else if let Some(stem) = name.strip_suffix(".rs").filter(|stem| *stem != "main") {
                    let module = if matches!(stem, "mod" | "lib") { above.clone() } else { inside(stem) };
                    read.code.insert(module, code_of(&fs::read_to_string(entry.path()).unwrap()));
                }
            }
        }
        let reexports = read.code.iter().map(|(module, code)| {
            let public = uses(code).into_iter().filter(|(is_public, _)| *is_public);
            let paths = public.flat_map(|(_, tree)| use_paths(tree));
            (module.clone(), paths.filter_map(|(name, path)| Some((name, read.absolute(module, &path)?))).collect())
        });
        read.reexports = reexports.collect();
        read
    }

    /// A path that code of a module spells, from the root; none if it leads to
    /// another crate, or starts with a type.
    fn absolute(&self, module: &ModulePath, path: &[String]) -> Option<ModulePath> {
        let (first, rest) = path.split_first()?;
        let start = match first.as_str() {
            "crate" => Vec::new(),
            "self" => module.clone(),
            "super" => module[..module.len() - 1].to_vec(),
            child => {
                let child = [module.clone(), vec![child.to_owned()]].concat();
                return self.code.contains_key(&child).then(|| [child, rest.to_vec()].concat());
            }
        };
        Some([start, rest.to_vec()].concat())
    }

    /// The module in which a path from the root ends, through re-exports.
    fn module_of(&self, path: &[String]) -> ModulePath {
        let mut module = ModulePath::new();
        for (at, segment) in path.iter().enumerate() {
            let inside = [module.clone(), vec![segment.clone()]].concat();
            if self.code.contains_key(&inside) {
                module = inside;
                continue;
            }
            let reexported = self.reexports.get(&module).into_iter().flatten().find(|(name, _)| name == segment);
            return match reexported {
                Some((_, to)) => self.module_of(&[to.clone(), path[at + 1..].to_vec()].concat()),
                None => module,
            };
        }
        module
    }

    /// The modules that a module imports.
    fn imports(&self, module: &ModulePath) -> BTreeSet<ModulePath> {
        let code = &self.code[module];
        let is_list_of_names = !code.contains("fn ");
        let mut imported = BTreeSet::new();
        let mut names: BTreeMap<String, ModulePath> = BTreeMap::new();
        for (is_public, tree) in uses(code) {
            for (name, path) in use_paths(tree) {
                let Some(path) = self.absolute(module, &path) else { continue };
                let target = self.module_of(&path);
                if target == path {
                    names.insert(name, target.clone());
                }
                // A `mod.rs` that only passes names on uses none of them.
                if !(is_public && is_list_of_names) {
                    imported.insert(target);
                }
            }
        }
        for path in spelled_paths(code) {
            let path = match names.get(&path[0]) {
                Some(target) => Some([target.clone(), path[1..].to_vec()].concat()),
                None => self.absolute(module, &path),
            };
            imported.extend(path.map(|path| self.module_of(&path)));
        }
        imported.remove(module);
        imported
    }
}

/// Pairs that are still to be taken apart.
const ALLOWED: &[&str] = &[];

#[test]
fn no_two_modules_import_each_other() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let modules = Crate::read(&src);
    let imports: BTreeMap<&ModulePath, BTreeSet<ModulePath>> =
        modules.code.keys().map(|module| (module, modules.imports(module))).collect();
    let seen: usize = imports.values().map(BTreeSet::len).sum();
    let pairs: Vec<String> = imports
        .iter()
        .flat_map(|(module, imported)| imported.iter().map(move |other| (*module, other)))
        .filter(|(module, other)| module < other && imports[*other].contains(*module))
        .map(|(module, other)| format!("{} <-> {}", module.join("::"), other.join("::")))
        .collect();
    assert!(seen > 1000, "the test looks at nothing: {seen}");
    let (allowed, wrong): (Vec<&String>, Vec<&String>) = pairs.iter().partition(|pair| ALLOWED.contains(&pair.as_str()));
    assert!(wrong.is_empty(), "{} pairs import each other: {wrong:#?}", wrong.len());
    let stale: Vec<&&str> = ALLOWED.iter().filter(|pair| !allowed.iter().any(|found| found == *pair)).collect();
    assert!(stale.is_empty(), "these pairs are gone; take them off the list: {stale:#?}");
}
