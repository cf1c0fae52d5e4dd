//! The branch tree of a log as lines from top to bottom, without words yet. At
//! a branch point the smaller branches are drawn first, set in; the largest, or
//! the one that is shown by default, goes on below them. So a line stands in at
//! most as deep as the tree can be halved, and long histories stay flat.

use crate::log::LogView;
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::model::stream::{LogAccess, ReadAt};

/// One line of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TreeLine {
    /// How far it is set in.
    pub depth: u32,
    pub begins: Begins,
    pub what: LineOf,
}

/// Whether a line is the first of a branch that is set in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begins {
    Branch,
    Nothing,
}

/// What a line stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineOf {
    Node(Seq),
    Run(Run),
}

/// Nodes below each other of which none is of note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub first: Seq,
    pub last: Seq,
    pub nodes: u64,
    /// How many messages they stand for.
    pub messages: u64,
    /// How many of them are something else.
    pub others: u64,
    /// The first and the last message of them.
    pub ends: Option<(Seq, Seq)>,
}

/// What hangs below what.
pub(super) struct Shape {
    /// The children of node `n` are `children[starts[n]..starts[n + 1]]`.
    starts: Vec<u32>,
    children: Vec<Seq>,
    /// How many nodes hang at a node, itself included.
    sizes: Vec<u32>,
    /// How many messages the path to a node has.
    messages: Vec<u64>,
    is_active: Vec<bool>,
}

impl Shape {
    /// Returns the shape of a log; `active` is the node that is shown by default.
    pub(super) fn of<R: ReadAt>(log: &LogView<R>, active: Seq) -> Shape {
        let last = log.last_followed();
        let len = last.index() + 1;
        let nodes = || (1..=last.number()).map(Seq::new).filter(|seq| log.is_node(*seq));
        let mut starts = vec![0_u32; len + 1];
        let mut messages = vec![0_u64; len];
        for seq in nodes() {
            let above = log.parent(seq).index();
            starts[above + 1] += 1;
            let own = match log.repeat(seq) {
                Some((first, last)) => (messages[last.index()] + 1).saturating_sub(messages.get(first.index()).copied().unwrap_or(0)),
                None => u64::from(log.kind(seq) == EventKind::Message),
            };
            messages[seq.index()] = messages[above].saturating_add(own);
        }
        for n in 1..=len {
            starts[n] += starts[n - 1];
        }
        let mut free = starts.clone();
        let mut children = vec![Seq::ROOT; starts[len] as usize];
        for seq in nodes() {
            let at = &mut free[log.parent(seq).index()];
            children[*at as usize] = seq;
            *at += 1;
        }
        let mut sizes = vec![1_u32; len];
        for seq in nodes().rev() {
            sizes[log.parent(seq).index()] += sizes[seq.index()];
        }
        let mut is_active = vec![false; len];
        let mut at = active;
        while log.is_node(at) && at <= last {
            is_active[at.index()] = true;
            at = log.parent(at);
        }
        Shape { starts, children, sizes, messages, is_active }
    }

    /// Returns what hangs directly below a node.
    pub(super) fn children(&self, node: Seq) -> &[Seq] {
        let at = node.index();
        &self.children[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Tells whether a node stands on the path that is shown by default.
    pub(super) fn is_active(&self, node: Seq) -> bool {
        self.is_active.get(node.index()).copied().unwrap_or(false)
    }

    /// Returns how many nodes more than one hang below.
    pub(super) fn branch_points(&self) -> u64 {
        (0..self.sizes.len()).filter(|n| self.starts[n + 1] - self.starts[*n] > 1).count() as u64
    }

    /// Returns the child that goes on in the line of its parent.
    fn goes_on(&self, node: Seq) -> Option<Seq> {
        self.children(node).iter().copied().max_by_key(|child| (self.is_active(*child), self.sizes[child.index()], *child))
    }

    /// Returns the lines of the tree, top to bottom; what is not of note goes together.
    pub(super) fn lines<R: ReadAt>(&self, log: &LogView<R>, is_of_note: impl Fn(Seq) -> bool) -> Vec<TreeLine> {
        let mut lines = Lines { lines: Vec::new(), open: None };
        let mut waiting = vec![(Seq::ROOT, 0, Begins::Nothing)];
        while let Some((node, depth, begins)) = waiting.pop() {
            if !node.is_root() && is_of_note(node) {
                lines.close();
                lines.lines.push(TreeLine { depth, begins, what: LineOf::Node(node) });
            } else if !node.is_root() {
                let own = self.messages[node.index()] - self.messages[log.parent(node).index()];
                let ends = log.repeat(node).or((own > 0).then_some((node, node)));
                let run = Run { first: node, last: node, nodes: 1, messages: own, others: u64::from(ends.is_none()), ends };
                lines.fold(TreeLine { depth, begins, what: LineOf::Run(run) }, log.parent(node), run);
            }
            let Some(next) = self.goes_on(node) else { continue };
            // What is taken last is put first.
            waiting.push((next, depth, Begins::Nothing));
            let aside = self.children(node).iter().rev().filter(|child| **child != next);
            waiting.extend(aside.map(|child| (*child, depth + 1, Begins::Branch)));
        }
        lines.close();
        lines.lines
    }
}

struct Lines {
    lines: Vec<TreeLine>,
    /// The run at hand.
    open: Option<TreeLine>,
}

impl Lines {
    /// Takes one more node: into the run at hand where it stands below that.
    fn fold(&mut self, line: TreeLine, above: Seq, node: Run) {
        if let Some(TreeLine { what: LineOf::Run(run), .. }) = &mut self.open
            && run.last == above
            && line.begins == Begins::Nothing
        {
            run.last = node.last;
            run.nodes += 1;
            run.messages = run.messages.saturating_add(node.messages);
            run.others += node.others;
            run.ends = match (run.ends, node.ends) {
                (Some((first, _)), Some((_, last))) => Some((first, last)),
                (before, now) => before.or(now),
            };
            return;
        }
        self.close();
        self.open = Some(line);
    }

    fn close(&mut self) {
        let Some(line) = self.open.take() else { return };
        // A single node needs no counting.
        let what = match line.what {
            LineOf::Run(run) if run.nodes == 1 && run.messages <= 1 => LineOf::Node(run.first),
            what @ (LineOf::Run(_) | LineOf::Node(_)) => what,
        };
        self.lines.push(TreeLine { what, ..line });
    }
}
