//! Files of the JSON tree that the database lacks, with the files without which the
//! program's migration leaves them out: a part's message, a message's session, a
//! session's project.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::adapters::containment::{Answer, Rescued, StoreFiles};
use crate::model::database::TablesError;
use crate::model::files::RelPath;
use crate::runtimes::javascript::{Type, Value, push_string, stringify};

use super::tree::{Record, record};

/// What is being written out.
pub(super) struct Rescuer {
    /// The files of the tree that is rescued from, by their paths in any tree.
    all: BTreeMap<String, RelPath>,
    /// The sessions and messages of that tree, by id.
    sessions: HashMap<String, String>,
    messages: HashMap<String, (String, String)>,
    lacking: BTreeSet<String>,
    needed: BTreeSet<String>,
    /// Why the migration will leave some of them out.
    notes: BTreeMap<String, &'static str>,
}

const NO_MESSAGE: &str = "its message file is gone, so that the program does not import it; `everlog migrate` keeps it readable";
const NO_SESSION: &str = "its session file is gone, so that the program does not import it; `everlog migrate` keeps it readable";
const MADE: &str = "the project file is gone; this one was made from the folder that its session names";

impl Rescuer {
    /// Looks at which files a tree has.
    pub(super) fn of(paths: &[RelPath]) -> Rescuer {
        let (mut all, mut sessions, mut messages) = (BTreeMap::new(), HashMap::new(), HashMap::new());
        for path in paths {
            let Some((below, record)) = record(path) else { continue };
            match record {
                Record::Session { id } => {
                    sessions.insert(id, below.clone());
                }
                Record::Message { session, id } => {
                    messages.insert(id, (session, below.clone()));
                }
                Record::Part { .. } | Record::Todo { .. } | Record::Project { .. } => {}
            }
            all.insert(below, path.clone());
        }
        Rescuer { all, sessions, messages, lacking: BTreeSet::new(), needed: BTreeSet::new(), notes: BTreeMap::new() }
    }

    /// Adds a file that the database lacks.
    pub(super) fn add(&mut self, below: &str, record: &Record) {
        self.lacking.insert(below.to_owned());
        let missing = match record {
            Record::Part { message, .. } => match self.messages.get(message).cloned() {
                Some((session, path)) => {
                    self.needed.insert(path);
                    self.need_session(&session)
                }
                None => Some(NO_MESSAGE),
            },
            Record::Message { session, .. } | Record::Todo { session } => self.need_session(session),
            Record::Session { .. } => {
                self.need_project(below);
                None
            }
            Record::Project { .. } => None,
        };
        if let Some(why) = missing {
            self.notes.insert(below.to_owned(), why);
        }
    }

    fn need_session(&mut self, session: &str) -> Option<&'static str> {
        let Some(path) = self.sessions.get(session).cloned() else { return Some(NO_SESSION) };
        self.need_project(&path);
        self.needed.insert(path);
        None
    }

    /// Adds the project in whose folder a session is.
    fn need_project(&mut self, session: &str) {
        if let Some(project) = session.split('/').nth(1) {
            self.needed.insert(format!("project/{project}.json"));
        }
    }

    /// Writes all of them.
    pub(super) fn write(self, files: &dyn StoreFiles, answer: &mut dyn Answer) -> Result<(), TablesError> {
        for below in self.lacking.union(&self.needed) {
            let records = u64::from(self.lacking.contains(below));
            let (bytes, note) = match self.all.get(below) {
                Some(path) => (files.read(path)?, self.notes.get(below).copied()),
                None => match self.made_project(below, files)? {
                    Some(bytes) => (bytes, Some(MADE)),
                    None => continue,
                },
            };
            let path = RelPath::new(format!("storage/{below}"));
            answer.rescued(Rescued { path, bytes, records, note: note.map(str::to_owned) })?;
        }
        Ok(())
    }

    /// Makes a project file of the folder that one of its sessions names: without any,
    /// the migration leaves out all sessions of the project.
    fn made_project(&self, below: &str, files: &dyn StoreFiles) -> Result<Option<Vec<u8>>, TablesError> {
        let Some(project) = below.strip_prefix("project/").and_then(|name| name.strip_suffix(".json")) else { return Ok(None) };
        let prefix = format!("session/{project}/");
        for (_, path) in self.all.range(prefix.clone()..).take_while(|(below, _)| below.starts_with(&prefix)) {
            let bytes = files.read(path)?;
            let Some(session) = Value::parse(&bytes) else { continue };
            let (folder, created) = (session.get("directory"), session.get("time").get("created"));
            if folder.type_of() != Type::String || created.type_of() != Type::Number {
                continue;
            }
            let mut out = b"{\n  \"id\": ".to_vec();
            push_string(project.as_bytes(), &mut out);
            out.extend_from_slice(b",\n  \"worktree\": ");
            out.extend_from_slice(&stringify(folder.token()));
            out.extend_from_slice(b",\n  \"time\": {\n    \"created\": ");
            out.extend_from_slice(&stringify(created.token()));
            out.extend_from_slice(b",\n    \"updated\": ");
            out.extend_from_slice(&stringify(created.token()));
            out.extend_from_slice(b"\n  },\n  \"sandboxes\": []\n}");
            return Ok(Some(out));
        }
        Ok(None)
    }
}
