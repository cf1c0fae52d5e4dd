//! What a program shows of a branch, told once more on a path of its own. The
//! tree of a log has each entry in one place; a program that goes round in a
//! circle, or reads an edit before what it edits, shows entries in places that
//! no tree can give them.

use std::collections::HashSet;

use crate::json;
use crate::model::event::{Body, Draft, EventKind};
use crate::model::files::RelPath;
use crate::model::heads::{Head, HeadName, HeadOp, Repeat};
use crate::model::ids::Seq;
use crate::model::stream::StreamError;

use super::entry::{get, with_members};
use super::file::{File, Placed};
use super::read::Reader;
use super::scan::Scan;
use super::schema::{Pass, TreeSchema};

/// The part of a path that a program shows, where a compaction hides the rest.
#[derive(Debug)]
pub(in crate::adapters) struct Context<'p> {
    /// The latest compaction.
    pub ruling: Option<usize>,
    /// The entries before it that are shown all the same.
    pub kept: &'p [usize],
    /// The entries after it; all of them, where there is none.
    pub after: &'p [usize],
}

/// Branches of a file that are told once more.
pub(in crate::adapters) struct Retelling<'a, 'f, 'r, 's, S: TreeSchema> {
    reader: &'r mut Reader<'a, 's, S>,
    file: File<'a, 'f, S>,
    /// Entries that are shown otherwise than where they stand, and are put once more.
    again: HashSet<usize>,
}

impl<'a, 's, S: TreeSchema> Reader<'a, 's, S> {
    /// Begins to tell branches of a file once more; `seqs` are its events. No
    /// head moves meanwhile.
    pub(in crate::adapters) fn retell<'f, 'r>(
        &'r mut self,
        path: &'a RelPath,
        scan: &'f Scan<'a, S>,
        placed: &'f Placed<S>,
        seqs: &[Seq],
    ) -> Result<Retelling<'a, 'f, 'r, 's, S>, StreamError> {
        self.switch_to_nobody()?;
        let mut file = File::new(path, scan, placed);
        file.seqs = seqs.to_vec();
        Ok(Retelling { reader: self, file, again: HashSet::new() })
    }

    /// From here on nodes move no head.
    pub(in crate::adapters) fn switch_to_nobody(&mut self) -> Result<(), StreamError> {
        let nobody = Head { name: String::new(), ..Head::to(&HeadName::main(), Seq::ROOT, HeadOp::Switch) };
        self.to.events.put(Draft { ts: None, parent: None, body: Body::Head(&nobody) })?;
        Ok(())
    }
}

impl<S: TreeSchema> Retelling<'_, '_, '_, '_, S> {
    /// Puts these entries once more instead of repeating them, because their traits
    /// are others on this branch.
    pub(in crate::adapters) fn put_again(&mut self, entries: HashSet<usize>) {
        self.again = entries;
    }

    /// Tells one branch; `edits` are the entries that others change, and those
    /// others. Returns its last node.
    pub(in crate::adapters) fn branch(&mut self, context: &Context<'_>, edits: &[(usize, usize)]) -> Result<Seq, StreamError> {
        let mut told = Told { node: Seq::ROOT, nodes: Vec::new(), run: None };
        for n in context.kept {
            self.entry(*n, &mut told)?;
        }
        if let Some(ruling) = context.ruling {
            told.end_run(self.reader)?;
            let kept = told.nodes.first().map(|(_, seq)| *seq);
            let entry = &self.file.scan.entries[ruling];
            told.node = self.reader.put(&mut self.file, entry, told.node, kept, Pass::Retold)?;
            told.nodes.push((ruling, told.node));
        }
        for n in context.after {
            self.entry(*n, &mut told)?;
        }
        told.end_run(self.reader)?;
        for (target, edit) in edits {
            if let Some((_, seq)) = told.nodes.iter().find(|(n, _)| n == target) {
                self.edit(*seq, *edit, &mut told.node)?;
            }
        }
        Ok(told.node)
    }

    fn entry(&mut self, n: usize, told: &mut Told) -> Result<(), StreamError> {
        let seq = self.file.seqs[n];
        if self.again.contains(&n) {
            told.end_run(self.reader)?;
            let entry = &self.file.scan.entries[n];
            told.node = self.reader.put(&mut self.file, entry, told.node, None, Pass::Retold)?;
            told.nodes.push((n, told.node));
            return Ok(());
        }
        if let Some(&message) = self.reader.repeat_of.get(&seq) {
            told.end_run(self.reader)?;
            told.run = Some((message, message));
            told.nodes.push((n, message));
            return Ok(());
        }
        let kind = self.reader.to.events.kind(seq);
        if kind == EventKind::Message {
            let goes_on = told.run.is_some_and(|(_, last)| self.file.placed.parents[n].map(|above| self.file.seqs[above]) == Some(last));
            match &mut told.run {
                Some((_, last)) if goes_on => *last = seq,
                _ => {
                    told.end_run(self.reader)?;
                    told.run = Some((seq, seq));
                }
            }
            told.nodes.push((n, seq));
        }
        // What is neither is not shown.
        if matches!(kind, EventKind::Compaction | EventKind::BranchSummary | EventKind::Custom) {
            told.end_run(self.reader)?;
            let entry = &self.file.scan.entries[n];
            told.node = self.reader.put(&mut self.file, entry, told.node, None, Pass::Retold)?;
            told.nodes.push((n, told.node));
        }
        Ok(())
    }

    fn edit(&mut self, target: Seq, edit: usize, node: &mut Seq) -> Result<(), StreamError> {
        let payload = with_members(&self.file.scan.entries[edit], |members| {
            let mut payload = format!("{{\"target\":{target},\"replacement\":").into_bytes();
            json::push_carried_value(get(members, S::KEYS.replacement).unwrap_or(b"null"), S::STYLE.escapes, &mut payload);
            payload.push(b'}');
            payload
        });
        *node = self.reader.to.put(EventKind::Edit, None, Some(*node), &payload)?;
        Ok(())
    }
}

/// A branch as far as it is told.
struct Told {
    node: Seq,
    /// What each entry is shown by.
    nodes: Vec<(usize, Seq)>,
    /// Messages that stand below each other in the log as well.
    run: Option<(Seq, Seq)>,
}

impl Told {
    fn end_run<S: TreeSchema>(&mut self, reader: &mut Reader<'_, '_, S>) -> Result<(), StreamError> {
        if let Some((first, last)) = self.run.take() {
            let repeat = Repeat { first, last, source_id: None };
            self.node = reader.to.events.put(Draft { ts: None, parent: Some(self.node), body: Body::Repeat(&repeat) })?;
        }
        Ok(())
    }
}
