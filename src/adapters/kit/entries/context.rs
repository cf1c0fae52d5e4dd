//! The part of a path that a program gives to a model: the latest compaction, the
//! entries that it keeps, those after it, and which entries others change. Asked
//! only where a log's own projection cannot answer: for branches that fail, and for
//! those that have to be told once more.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::adapters::kit::tree::entry::{get, with_members};
use crate::adapters::kit::tree::retell::Context;
use crate::json::{self, Kind};
use crate::runtimes::javascript as js;

use super::records::Record;
use super::schema::{Entry, Renames};

impl<'p> Context<'p> {
    /// Returns the context of a path; `first_kept` says which entry a compaction keeps
    /// first.
    pub(in crate::adapters) fn of(path: &'p [usize], entries: &[Entry<'_>], first_kept: impl Fn(usize) -> Option<usize>) -> Context<'p> {
        let Some(at) = path.iter().rposition(|n| entries[*n].kind == Record::Compaction) else {
            return Context { ruling: None, kept: &[], after: path };
        };
        let kept = first_kept(path[at]).and_then(|first| path[..at].iter().position(|n| *n == first)).unwrap_or(at);
        Context { ruling: Some(path[at]), kept: &path[kept..at], after: &path[at + 1..] }
    }

    /// Returns every entry of it but the latest compaction.
    pub(in crate::adapters) fn others(&self) -> impl Iterator<Item = usize> {
        self.kept.iter().chain(self.after).copied()
    }

    /// Returns the last edit of each id among the entries that are shown.
    pub(in crate::adapters) fn edits<'e>(&self, entries: &'e [Entry<'_>]) -> HashMap<Cow<'e, [u8]>, usize> {
        let edits = self.others().filter(|n| entries[*n].kind == Record::Edit);
        edits.filter_map(|n| with_members(&entries[n], |members| key(get(members, "targetId"))).map(|target| (target, n))).collect()
    }
}

/// Returns what ids are compared by, owned.
pub(in crate::adapters) fn key(id: Option<&[u8]>) -> Option<Cow<'static, [u8]>> {
    js::map_key(id).map(|key| Cow::Owned(key.into_owned()))
}

/// Tells whether an entry becomes a message of its own time.
pub(in crate::adapters) fn is_timed(entry: &Entry<'_>) -> bool {
    matches!(entry.kind, Record::CustomMessage | Record::Compaction) || is_told_summary(entry)
}

/// Tells whether an entry is the summary of a branch, with something in it.
pub(in crate::adapters) fn is_told_summary(entry: &Entry<'_>) -> bool {
    entry.kind == Record::BranchSummary && with_members(entry, |members| get(members, "summary").is_some_and(js::is_truthy))
}

/// Tells whether JavaScript cannot even try to make a time of what an entry says.
pub(in crate::adapters) fn has_no_time_at_all(entry: &Entry<'_>) -> bool {
    with_members(entry, |members| js::to_time(get(members, "timestamp")).is_err())
}

/// Tells whether an entry's time is a text that can be read as one.
pub(in crate::adapters) fn has_sound_time(entry: &Entry<'_>) -> bool {
    with_members(entry, |members| {
        let time = get(members, "timestamp").filter(|time| json::kind_of(time) == Kind::String);
        time.is_some_and(|time| js::to_time(Some(time)) != Ok(None))
    })
}

/// Tells whether an edit names nothing to put in its target's place.
pub(in crate::adapters) fn lacks_replacement(entry: &Entry<'_>) -> bool {
    entry.kind == Record::Edit && with_members(entry, |members| get(members, "replacement").is_none())
}

/// Tells whether the content of what an entry shows can be replaced, so that an edit
/// without a replacement fails.
pub(in crate::adapters) fn can_be_edited(entry: &Entry<'_>, renames: Renames) -> bool {
    let is_known = |role: Option<&[u8]>| match js::map_key(role).as_deref() {
        Some(b"\"user\"" | b"\"assistant\"" | b"\"toolResult\"" | b"\"custom\"") => true,
        Some(b"\"hookMessage\"") => renames == Renames::Hooks,
        _ => false,
    };
    let role_of = |object: &[u8]| {
        let is_object = json::kind_of(object) == Kind::Object;
        is_object && is_known(json::members(object).filter(|member| member.name() == "role").last().map(|member| member.value))
    };
    let says_role = |key: &str| with_members(entry, |members| get(members, key).is_some_and(role_of));
    let is_message = entry.kind.is_message();
    entry.kind == Record::CustomMessage
        || (is_message && says_role("message"))
        || (entry.kind == Record::Compaction && says_role("systemMessage"))
}

/// How entries name their parents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Lineage {
    /// By id.
    ById,
    /// Not at all: it is the line before (version 1).
    ByLine,
}

/// A compaction of version 1 names the first kept record by its number among
/// all that could be read.
pub(in crate::adapters) fn kept_by_number(entries: &[Entry<'_>]) -> HashMap<usize, usize> {
    let compactions = entries.iter().enumerate().filter(|(_, entry)| entry.kind == Record::Compaction);
    let kept = compactions.filter_map(|(n, entry)| {
        let index = with_members(entry, |members| {
            get(members, "firstKeptEntryIndex").filter(|index| json::kind_of(index) == Kind::Number).map(js::number)
        })?;
        let kept = index as usize;
        (index >= 0.0 && kept as f64 == index && kept < n && entries[kept].kind != Record::Header).then_some((n, kept))
    });
    kept.collect()
}
