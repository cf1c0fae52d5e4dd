//! Which of several files of one session the program would resume.

use crate::model::files::{RelPath, SourceFile};
use crate::runtimes::javascript::{Value, to_time};

use super::classify::Resumes;
use super::fold::{Form, Survey};
use super::layout::{base, is_listed, stem};

/// A file of a session.
pub(super) struct Candidate<'a> {
    pub path: &'a RelPath,
    pub file: &'a SourceFile,
    pub survey: Survey<'a>,
}

impl Candidate<'_> {
    /// Tells whether the program's list looks at the file.
    pub(super) fn is_listed(&self) -> bool {
        is_listed(base(self.path.as_bytes()))
    }

    /// Tells whether the file has a name that some loader of the program takes.
    pub(super) fn is_session_name(&self) -> bool {
        stem(base(self.path.as_bytes())).is_some()
    }
}

/// When a file's session was last written.
enum Written {
    At(i64),
    /// Now, whenever that is: it says no time, and then the program takes the
    /// time of loading.
    Now,
    /// At no time that the program can compare.
    Unreadable,
}

impl Written {
    fn is_later_than(&self, other: &Written) -> bool {
        match (self, other) {
            (Written::At(own), Written::At(other)) => own > other,
            (Written::Now, Written::At(_)) => true,
            (Written::Now | Written::At(_), Written::Now | Written::Unreadable) | (Written::Unreadable, _) => false,
        }
    }
}

/// The number of the file that the program would resume, and whether that
/// depends on the time of a file. Where it would resume none, the one that was
/// written last.
pub(super) fn chosen(candidates: &[Candidate<'_>]) -> (usize, bool) {
    let offered = |candidate: &&(usize, &Candidate<'_>)| {
        let Candidate { survey, .. } = candidate.1;
        candidate.1.is_listed() && survey.resumes == Resumes::Yes && !survey.meta.kind.is("subagent")
    };
    let has_listed = candidates.iter().any(Candidate::is_listed);
    let may_be = |candidate: &Candidate<'_>| candidate.is_session_name() && (candidate.is_listed() || !has_listed);
    let loaded = |candidate: &&(usize, &Candidate<'_>)| candidate.1.survey.form != Form::Nothing && may_be(candidate.1);
    let all: Vec<(usize, &Candidate<'_>)> = candidates.iter().enumerate().collect();
    let among = |which: Vec<(usize, &Candidate<'_>)>| latest(which);
    among(all.iter().filter(offered).copied().collect())
        .or_else(|| among(all.iter().filter(loaded).copied().collect()))
        .unwrap_or_else(|| among(all).unwrap_or((0, false)))
}

fn latest(candidates: Vec<(usize, &Candidate<'_>)>) -> Option<(usize, bool)> {
    let mut best: Option<(usize, Written)> = None;
    let mut uses_time = false;
    let is_only = candidates.len() == 1;
    for (n, candidate) in candidates {
        let meta = &candidate.survey.meta;
        let said = meta.updated.is_truthy().then_some(meta.updated);
        let said = said.or_else(|| (candidate.survey.form == Form::Whole && meta.created.is_truthy()).then_some(meta.created));
        let written = match (said, candidate.survey.form) {
            (Some(said), _) => time_of(said).map_or(Written::Unreadable, Written::At),
            (None, Form::Lines) => Written::Now,
            (None, Form::Whole | Form::Nothing) => {
                uses_time |= !is_only;
                Written::At(candidate.file.mtime_ns / 1_000_000)
            }
        };
        if best.as_ref().is_none_or(|(_, best)| written.is_later_than(best)) {
            best = Some((n, written));
        }
    }
    best.map(|(n, _)| (n, uses_time))
}

/// When a session was last written, as the program compares it.
pub(super) fn time_of(value: Value<'_>) -> Option<i64> {
    to_time(value.defined()).ok().flatten()
}
