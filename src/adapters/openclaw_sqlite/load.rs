//! What OpenClaw 2026.9.6 itself would show of a session: `SessionManager.openAsync`
//! and `buildSessionContext`, written again from their behaviour. It shares JavaScript
//! itself ([`crate::runtimes::javascript`]) and nothing else with the rest of this
//! adapter, so that the two cannot be wrong together.
//!
//! Heads are `branch:main` (the active branch, always there), `branch:ID` for every
//! other node that none has for its parent, and `backup:NAME` for every archive in the
//! database. A transcript that was moved to a cold archive is loaded from that archive,
//! as the program would load it from the rows that were there before. What belongs to no
//! session shows nothing but archives.
//!
//! Not followed: a message that is kept across a reset although it is marked to be left
//! out of the context, and results of tools there that stand after another answer than
//! that of their call.

mod context;
mod entry;
mod failure;
mod rows;
mod show;
mod tree;

use crate::model::files::Files;
use crate::model::heads::{HeadKind, HeadName};
use crate::model::loaded::{LoadOutcome, Loader};

use context::Context;
use failure::Failure;
use rows::Source;
use tree::Tree;

/// The loader of a session, or of what belongs to none.
#[must_use]
pub fn loader(files: &Files) -> Box<dyn Loader + '_> {
    Box::new(Session { source: Source::of(files), main: None })
}

struct Session {
    source: Source,
    main: Option<Result<Tree, Failure>>,
}

impl Session {
    fn tree(&mut self) -> Result<&mut Tree, Failure> {
        let source = &self.source;
        let open = || if source.lacks_cold { Err(Failure::Cold) } else { Tree::open(&source.transcript) };
        self.main.get_or_insert_with(open).as_mut().map_err(|failure| *failure)
    }

    fn default_load(&mut self, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        let mut outcome = LoadOutcome { active: Some(HeadName::main()), ..LoadOutcome::default() };
        let is_session = self.source.is_session;
        let failure = match self.tree() {
            Err(failure) => Some(failure),
            Ok(tree) => {
                outcome.facts = tree.facts();
                match Context::of(tree, tree.leaf()) {
                    Err(failure) => Some(failure),
                    Ok(context) => {
                        context.show(tree, show);
                        if is_session {
                            outcome.model = context.model(tree);
                            outcome.facts.insert("thinking_level".to_owned(), context.thinking_level(tree));
                        }
                        None
                    }
                }
            }
        };
        outcome.error = failure.map(|failure| failure.name().to_owned());
        outcome
    }

    fn load_head(&mut self, head: &HeadName, show: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        if head.kind == HeadKind::Backup {
            let texts = self.source.archives.get(&head.name).ok_or(Failure::NoHead)?;
            let tree = Tree::open(texts)?;
            Context::of(&tree, tree.leaf())?.show(&tree, show);
            return Ok(());
        }
        let is_main = *head == HeadName::main();
        let tree = self.tree()?;
        let leaf = if is_main { tree.leaf() } else { Some(tree.other_leaves().get(&head.name).copied().ok_or(Failure::NoHead)?) };
        Context::of(tree, leaf)?.show(tree, show);
        Ok(())
    }
}

impl Loader for Session {
    fn heads(&mut self) -> Vec<HeadName> {
        let mut heads = vec![HeadName::main()];
        if let Ok(tree) = self.tree() {
            heads.extend(tree.other_leaves().keys().map(|id| HeadName::new(HeadKind::Branch, id)));
        }
        heads.extend(self.source.archives.keys().map(|name| HeadName::new(HeadKind::Backup, name)));
        heads
    }

    fn load(&mut self, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        match head {
            None => self.default_load(show),
            Some(head) => {
                let error = self.load_head(head, show).err().map(|failure| failure.name().to_owned());
                LoadOutcome { error, ..LoadOutcome::default() }
            }
        }
    }
}
