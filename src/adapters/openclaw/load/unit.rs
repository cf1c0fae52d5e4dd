//! The files of a unit, and the heads that they make.

use std::collections::BTreeMap;

use crate::json::{Kind, kind_of};
use crate::model::files::{Entry, Files, RelPath, SourceFile};
use crate::model::heads::{HeadKind, HeadName};
use crate::model::loaded::{LoadOutcome, Loader};
use crate::runtimes::javascript::{decode, is_text, lossy, push_string, stringify, trim};

use super::branch::Branch;
use super::entry::NONE;
use super::failure::Failure;
use super::names::{FileRole, place_of};
use super::older;
use super::rows::{Row, Rows, Type, What};
use super::show::text_or_json;
use super::tree::{Age, Tree};

/// A transcript that is read when it is first asked for.
struct Transcript<'f> {
    file: &'f SourceFile,
    tree: Option<Result<Tree<'f>, Failure>>,
}

impl<'f> Transcript<'f> {
    fn new(file: &'f SourceFile) -> Transcript<'f> {
        Transcript { file, tree: None }
    }

    fn tree(&mut self) -> Result<&mut Tree<'f>, Failure> {
        let file = self.file;
        self.tree.get_or_insert_with(|| Tree::open(&file.bytes)).as_mut().map_err(|failure| *failure)
    }

    /// Shows the active branch.
    fn show(&mut self, show: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let tree = self.tree()?;
        let leaf = tree.with_id(tree.leaf);
        Branch::to(tree, leaf)?.show(tree, show);
        Ok(())
    }
}

/// A unit's files.
pub struct Unit<'f> {
    /// The transcript, if it has one.
    main: Option<Transcript<'f>>,
    /// Its copies by file name.
    copies: BTreeMap<String, Transcript<'f>>,
    /// The leaves besides the active one by name, once they were asked for.
    others: Option<BTreeMap<String, u32>>,
}

impl<'f> Unit<'f> {
    /// Sorts the files by what they are.
    #[must_use]
    pub fn new(files: &'f Files) -> Unit<'f> {
        let mut found: Vec<(FileRole, String, &SourceFile)> = Vec::new();
        for (path, entry) in files.iter() {
            let Entry::File(file) = entry else { continue };
            let name = path.as_bytes().rsplit(|b| *b == b'/').next().unwrap_or_default();
            let place = place_of(&String::from_utf8_lossy(name));
            let place = match place {
                // A person named it as a transcript.
                FileRole::Unknown if files.lone_file().is_some() => FileRole::Live,
                FileRole::Unknown => FileRole::Beside,
                FileRole::Live | FileRole::Archive | FileRole::Shortened | FileRole::Copy | FileRole::Beside => place,
            };
            if place != FileRole::Beside && !is_run_log(path, file) {
                found.push((place, RelPath::new(name).key(), file));
            }
        }
        // Live before archived, and otherwise in byte order.
        found.sort_by_key(|(place, _, _)| *place);
        let is_main = match found.as_slice() {
            [(FileRole::Live | FileRole::Archive, ..), ..] | [(FileRole::Shortened, ..)] => 1,
            _ => 0,
        };
        let copies = found.split_off(is_main);
        Unit {
            main: found.pop().map(|(_, _, file)| Transcript::new(file)),
            copies: copies.into_iter().map(|(_, name, file)| (name, Transcript::new(file))).collect(),
            others: None,
        }
    }

    /// Returns the leaves that have a name of their own. None has where the program
    /// makes the ids up, and none may be called as the active branch is.
    fn others(&mut self) -> &BTreeMap<String, u32> {
        let main = &mut self.main;
        self.others.get_or_insert_with(|| {
            let Some(Ok(tree)) = main.as_mut().map(Transcript::tree) else { return BTreeMap::new() };
            if tree.age == Age::Linear {
                return BTreeMap::new();
            }
            let name = |leaf: &u32| Some(lossy(&decode(tree.row(*leaf)?.member("id")?)));
            let named = tree.other_leaves().into_iter().rev().filter_map(|leaf| Some((name(&leaf)?, leaf)));
            named.filter(|(name, _)| *name != HeadName::main().name).collect()
        })
    }

    fn load_default(&mut self, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        let mut outcome = LoadOutcome { active: Some(HeadName::main()), ..LoadOutcome::default() };
        let Some(main) = &mut self.main else {
            outcome.error = (!self.copies.is_empty()).then(|| Failure::NoTranscript.name().to_owned());
            return outcome;
        };
        let mut count = 0;
        let file = main.file;
        let failure = match main.tree() {
            Err(failure) => Some(failure),
            Ok(tree) => {
                state_facts(tree, &mut outcome.facts);
                let leaf = tree.with_id(tree.leaf);
                match Branch::to(tree, leaf) {
                    Err(failure) => Some(failure),
                    Ok(branch) => {
                        count = branch.show(tree, show);
                        outcome.model = branch.model(tree);
                        let level = branch.thinking_level(tree);
                        outcome.facts.extend(level.map(|level| ("thinking_level".to_owned(), level)));
                        None
                    }
                }
            }
        };
        // What older versions show is not an outcome of today's load: only tests ask.
        if cfg!(test) {
            let older = match main.tree() {
                Ok(tree) => older::count(&tree.rows),
                Err(_) => older::count(&Rows::parse(&file.bytes)),
            };
            if older != count {
                outcome.facts.insert("older_loader_shows".to_owned(), older.to_string());
            }
        }
        outcome.error = failure.map(|failure| failure.name().to_owned());
        outcome
    }

    fn load_head(&mut self, head: &HeadName, show: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        if *head == HeadName::main() {
            return match &mut self.main {
                Some(main) => main.show(show),
                None if self.copies.is_empty() => Ok(()),
                None => Err(Failure::NoTranscript),
            };
        }
        match head.kind {
            HeadKind::Branch => {
                let leaf = self.others().get(&head.name).copied().ok_or(Failure::NoSuchHead)?;
                let tree = self.main.as_mut().ok_or(Failure::NoSuchHead)?.tree()?;
                Branch::to(tree, leaf)?.show(tree, show);
                Ok(())
            }
            HeadKind::Backup => self.copies.get_mut(&head.name).ok_or(Failure::NoSuchHead)?.show(show),
            HeadKind::View | HeadKind::Context | HeadKind::Events => Err(Failure::NoSuchHead),
        }
    }
}

impl Loader for Unit<'_> {
    fn heads(&mut self) -> Vec<HeadName> {
        let mut heads = vec![HeadName::main()];
        heads.extend(self.others().keys().map(|name| HeadName::new(HeadKind::Branch, name)));
        heads.extend(self.copies.keys().map(|name| HeadName::new(HeadKind::Backup, name)));
        heads
    }

    fn load(&mut self, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        match head {
            None => self.load_default(show),
            Some(head) => {
                let error = self.load_head(head, show).err().map(|failure| failure.name().to_owned());
                LoadOutcome { error, ..LoadOutcome::default() }
            }
        }
    }
}

/// What the program knows of a session before it makes messages of it.
fn state_facts(tree: &Tree<'_>, facts: &mut BTreeMap<String, String>) {
    let leaf = tree.with_id(tree.leaf);
    // An id that the program makes up is another with every load.
    if leaf != NONE
        && tree.age != Age::Linear
        && let Some(id) = tree.row(leaf).and_then(|row| row.member("id"))
    {
        facts.insert("leaf".to_owned(), text_or_json(id));
    }
    facts.extend(session_name(tree).map(|name| ("name".to_owned(), name)));
    if !tree.labels.is_empty() {
        facts.insert("labels".to_owned(), labels(tree));
    }
    if tree.is_recovered {
        facts.insert("header_recovered".to_owned(), "true".to_owned());
    }
}

/// Returns the name that was given last, whichever branch it was given on.
fn session_name(tree: &Tree<'_>) -> Option<String> {
    let row = tree.entries.iter().rev().filter_map(|entry| tree.rows.at(entry.row)).find(|row| row.kind() == Type::SessionInfo)?;
    let name = row.member("name").filter(|name| kind_of(name) == Kind::String)?;
    Some(lossy(trim(&decode(name)))).filter(|name| !name.is_empty())
}

fn labels(tree: &Tree<'_>) -> String {
    let mut json = b"{".to_vec();
    for (id, label) in &tree.labels {
        if json.len() > 1 {
            json.push(b',');
        }
        push_string(id, &mut json);
        json.push(b':');
        json.extend_from_slice(&stringify(label));
    }
    json.push(b'}');
    String::from_utf8(json).unwrap_or_default()
}

/// Tells whether a file that is named as a transcript is the log of a scheduled job.
fn is_run_log(path: &RelPath, file: &SourceFile) -> bool {
    let is_run = |row: &Row<'_>| {
        let is_finished = row.member("action").is_some_and(|action| is_text(action, "finished"));
        let has_job = row.member("jobId").is_some_and(|job| kind_of(job) == Kind::String);
        matches!(row.what, What::Record(_)) && is_finished && has_job && row.member("type").is_none()
    };
    path.as_bytes().rsplit(|b| *b == b'/').nth(1) == Some(b"runs") || Rows::first(&file.bytes, is_run)
}
