//! What the programs that write pi's session files would themselves show: pi
//! 1.5.0 (`SessionManager.open`, `buildSessionContext`), the harness of
//! pi-agent-core 0.80.10 for its own files, and the tutorial's page for those
//! that follow it. Written again from their behaviour, odd cases included. It
//! shares JavaScript itself ([`crate::runtimes::javascript`]) and nothing else with
//! the rest of this adapter, so that the two cannot be wrong together.

mod context;
mod facts;
mod failure;
mod flavour;
mod message;
mod record;
mod tree;

use std::collections::BTreeMap;

use crate::model::files::{Entry, Files};
use crate::model::heads::{HeadKind, HeadName};
use crate::model::loaded::{LoadOutcome, Loader};
use crate::runtimes::javascript::Type;

use context::Context;
use failure::Failure;
use flavour::Flavour;
use record::{Kind, Records};
use tree::{Leaf, Tree};

/// Returns the loader of the one session file that a unit consists of.
#[must_use]
pub fn loader(files: &Files) -> Box<dyn Loader + '_> {
    let bytes = files.iter().find_map(|(_, entry)| match entry {
        Entry::File(file) => Some(file.bytes.as_slice()),
        Entry::Rows(_) | Entry::Link { .. } | Entry::EmptyFolder => None,
    });
    Box::new(Session { opened: open(bytes.unwrap_or_default()) })
}

/// A file as far as it could be opened; nothing at all begins a new session.
struct Session<'a> {
    opened: Result<Option<Opened<'a>>, Failure>,
}

struct Opened<'a> {
    tree: Tree<'a>,
    labels: facts::Labels<'a>,
}

fn open(text: &[u8]) -> Result<Option<Opened<'_>>, Failure> {
    if text.is_empty() {
        return Ok(None);
    }
    let records = Records::read(text);
    if records.kind(0) != Kind::Session || records.id(0).type_of() != Type::String {
        return Err(Failure::NotASession);
    }
    let flavour = Flavour::of(&records)?;
    let tree = Tree::new(records, flavour)?;
    let labels = facts::labels(&tree)?;
    Ok(Some(Opened { tree, labels }))
}

impl Loader for Session<'_> {
    fn heads(&mut self) -> Vec<HeadName> {
        let main = HeadName::main();
        let others = self.opened.iter().flatten().flat_map(|opened| opened.tree.other_leaves());
        // An entry may be called as the active branch is; then it has no name left.
        let others = others.map(|id| HeadName::new(HeadKind::Branch, id)).filter(|head| *head != main);
        std::iter::once(main.clone()).chain(others).collect()
    }

    fn load(&mut self, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        match head {
            None => {
                let outcome = self
                    .load_default(show)
                    .unwrap_or_else(|failure| LoadOutcome { error: Some(failure.words()), ..LoadOutcome::default() });
                LoadOutcome { active: Some(HeadName::main()), ..outcome }
            }
            Some(head) => LoadOutcome { error: self.load_head(head, show).err().map(Failure::words), ..LoadOutcome::default() },
        }
    }
}

impl Session<'_> {
    fn load_default(&self, show: &mut dyn FnMut(&[u8])) -> Result<LoadOutcome, Failure> {
        let Some(Opened { tree, labels }) = self.opened.as_ref().map_err(|failure| *failure)? else {
            let facts = BTreeMap::from([("thinking_level".to_owned(), "off".to_owned())]);
            return Ok(LoadOutcome { facts, ..LoadOutcome::default() });
        };
        let context = Context::new(tree, tree.leaf)?;
        context.show(show)?;
        let leaf = match tree.leaf {
            Leaf::Entry(index) => tree.id(index).lossy(),
            Leaf::Nowhere | Leaf::Missing => None,
        };
        let facts = [
            ("leaf", leaf),
            ("thinking_level", facts::thinking_level(tree, &context.path)),
            ("name", facts::name(tree)),
            ("labels", facts::labels_json(labels)),
        ];
        Ok(LoadOutcome {
            model: facts::model(tree, &context.path),
            facts: facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect(),
            ..LoadOutcome::default()
        })
    }

    fn load_head(&self, head: &HeadName, show: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let opened = self.opened.as_ref().map_err(|failure| *failure)?.as_ref();
        let is_main = *head == HeadName::main();
        let Some(Opened { tree, .. }) = opened else {
            return if is_main { Ok(()) } else { Err(Failure::NoSuchBranch) };
        };
        let leaf = match head.kind {
            _ if is_main => tree.leaf,
            HeadKind::Branch => tree.by_name(&head.name)?,
            HeadKind::View | HeadKind::Context | HeadKind::Backup | HeadKind::Events => return Err(Failure::NoSuchBranch),
        };
        Context::new(tree, leaf)?.show(show)
    }
}

#[cfg(test)]
mod tests;
