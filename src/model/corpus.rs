//! The corpus of real sessions, where it lies beside the project: what loaders
//! are held against.

#![allow(clippy::disallowed_methods)]

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::digest::hex;
use crate::json::{self, Kind, elements, kind_of, members, unescape};

/// One case: the files that a program left, and what its own loader made of them.
pub(crate) struct Case {
    pub(crate) name: String,
    /// Every file by its path below the folder, with its time where that matters.
    pub(crate) files: BTreeMap<String, (Vec<u8>, i64)>,
    pub(crate) sessions: Vec<Session>,
    /// All that the program's loader derives, as JSON.
    pub(crate) expected: Vec<u8>,
}

/// What a program's loader made of one session.
pub(crate) struct Session {
    pub(crate) file: String,
    /// The head that is asked for, if it is not the default.
    pub(crate) head: Option<String>,
    /// The messages as JSON texts; nothing where the program refuses.
    pub(crate) messages: Option<Vec<Vec<u8>>>,
}

/// Returns the cases of a format; none, and a word about it, where there is no corpus.
pub(crate) fn cases(format: &str) -> Vec<Case> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = || here.ancestors().map(|folder| folder.join("shared/corpus")).find(|folder| folder.is_dir());
    let Some(corpus) = std::env::var_os("EVERLOG_CORPUS").map(PathBuf::from).or_else(beside) else {
        eprintln!("SKIPPED: no corpus lies beside the project (EVERLOG_CORPUS)");
        assert!(std::env::var_os("REQUIRE_ALL").is_none(), "REQUIRE_ALL is set, and there is no corpus");
        return Vec::new();
    };
    let wanted = std::env::var("CASE").unwrap_or_default();
    let mut cases: Vec<Case> = std::fs::read_dir(corpus.join(format))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|folder| folder.join("truth.json").exists() && folder.to_string_lossy().contains(&wanted))
        .map(|folder| case(&folder))
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

fn case(folder: &Path) -> Case {
    let truth = std::fs::read(folder.join("truth.json")).unwrap();
    let mut files = BTreeMap::new();
    add_files(&folder.join("input"), "", &mut files);
    let make = folder.join("make_input.py");
    if make.exists() {
        let made = tempfile::tempdir().unwrap();
        assert!(Command::new("python3").arg(&make).arg(made.path()).output().unwrap().status.success(), "{}", make.display());
        add_files(made.path(), "", &mut files);
    }
    for time in member(&truth, "mtimes").into_iter().flat_map(elements) {
        let number = std::str::from_utf8(member(time, "mtime_ns").unwrap()).unwrap().parse().unwrap();
        if let Some((_, time)) = files.get_mut(&text(time, "file").unwrap()) {
            *time = number;
        }
    }
    let sessions = elements(member(&truth, "sessions").unwrap()).map(session).collect();
    let expected = std::fs::read(folder.join("expected.json")).unwrap();
    Case { name: folder.file_name().unwrap().to_string_lossy().into_owned(), files, sessions, expected }
}

fn session(session: &[u8]) -> Session {
    let args: Vec<String> = member(session, "args").into_iter().flat_map(elements).map(|arg| unescape(arg).into_owned()).collect();
    assert!(args.is_empty() || (args.len() == 2 && args[0] == "--head"), "{args:?}");
    let messages = member(session, "messages").map(|all| elements(all).map(<[u8]>::to_vec).collect());
    Session { file: text(session, "file").unwrap(), head: args.into_iter().nth(1), messages }
}

fn add_files(folder: &Path, below: &str, files: &mut BTreeMap<String, (Vec<u8>, i64)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            add_files(&entry.path(), &format!("{name}/"), files);
        } else {
            files.insert(name, (std::fs::read(entry.path()).unwrap(), 0));
        }
    }
}

fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    members(object).filter(|member| member.is(name)).last().map(|member| member.value)
}

fn text(object: &[u8], name: &str) -> Option<String> {
    member(object, name).map(|text| unescape(text).into_owned())
}

/// Returns what is wrong with what a loader gave, if anything is.
pub(crate) fn difference(want: &[Vec<u8>], got: &[Vec<u8>]) -> Option<String> {
    let shown = |text: &[u8]| String::from_utf8_lossy(text).chars().take(300).collect::<String>();
    let first = want.iter().zip(got).position(|(want, got)| !same(want, got));
    match first {
        Some(at) => Some(format!("message {at}: want {} got {}", shown(&want[at]), shown(&got[at]))),
        None if want.len() != got.len() => Some(format!("{} messages, want {}", got.len(), want.len())),
        None => None,
    }
}

/// Tells whether a value is the wanted one, in which objects with one key that begins
/// with `$` stand for what strict JSON cannot say.
fn same(want: &[u8], got: &[u8]) -> bool {
    if kind_of(want) == Kind::Object {
        let all: Vec<_> = members(want).collect();
        if let [only] = all[..]
            && let Some(same) = same_marked(&only.name(), only.value, got)
        {
            return same;
        }
        let names = |object| members(object).map(|member| member.name().into_owned()).collect::<std::collections::BTreeSet<_>>();
        return kind_of(got) == Kind::Object
            && names(want) == names(got)
            && names(want).iter().all(|name| same(member(want, name).unwrap(), member(got, name).unwrap()));
    }
    if kind_of(want) == Kind::Array {
        let (want, got): (Vec<_>, Vec<_>) =
            (elements(want).collect(), if kind_of(got) == Kind::Array { elements(got).collect() } else { return false });
        return want.len() == got.len() && want.iter().zip(got).all(|(want, got)| same(want, got));
    }
    let double = |number: &[u8]| std::str::from_utf8(number).ok().and_then(|number| number.parse::<f64>().ok());
    json::same_value(want, got) || (kind_of(want) == Kind::Number && kind_of(got) == Kind::Number && double(want) == double(got))
}

fn same_marked(mark: &str, value: &[u8], got: &[u8]) -> Option<bool> {
    let is_text = kind_of(got) == Kind::String;
    match mark {
        "$big" => Some(is_text && hex(&Sha256::digest(unescape(got).as_bytes())) == text(value, "sha256_utf8").unwrap()),
        "$utf16be_hex" => {
            let units: String =
                unescape(value).as_bytes().chunks(4).map(|unit| format!("\\u{}", std::str::from_utf8(unit).unwrap())).collect();
            Some(is_text && json::same_value(format!("\"{units}\"").as_bytes(), got))
        }
        "$json" => Some(json::same_value(unescape(value).as_bytes(), got)),
        _ => None,
    }
}
