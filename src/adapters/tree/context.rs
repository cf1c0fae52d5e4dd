//! What of a path a program gives to a model: the latest compaction, what that
//! keeps, what stands behind it, and which entries others change. Asked only
//! where a log's own projection cannot answer: what fails, and what has to be
//! told once more.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::model::json::{self, Kind};

use super::entry::{Entry, get, with_members};
use super::js;
use super::read::Renames;
use super::tables::Record;

/// The part of a path that is shown.
#[derive(Debug)]
pub(in crate::adapters) struct Context<'p> {
    /// The latest compaction.
    pub ruling: Option<usize>,
    /// The entries before it that are shown all the same.
    pub kept: &'p [usize],
    /// What stands behind it; everything, where there is none.
    pub behind: &'p [usize],
}

impl<'p> Context<'p> {
    /// The context of a path; `first_kept` says which entry a compaction keeps
    /// first.
    pub(in crate::adapters) fn of(path: &'p [usize], entries: &[Entry<'_>], first_kept: impl Fn(usize) -> Option<usize>) -> Context<'p> {
        let Some(at) = path.iter().rposition(|n| entries[*n].kind == Record::Compaction) else {
            return Context { ruling: None, kept: &[], behind: path };
        };
        let kept = first_kept(path[at]).and_then(|first| path[..at].iter().position(|n| *n == first)).unwrap_or(at);
        Context { ruling: Some(path[at]), kept: &path[kept..at], behind: &path[at + 1..] }
    }

    /// Every entry of it but the latest compaction.
    pub(in crate::adapters) fn others(&self) -> impl Iterator<Item = usize> {
        self.kept.iter().chain(self.behind).copied()
    }

    /// The last edit of each id among the entries that are shown.
    pub(in crate::adapters) fn edits<'e>(&self, entries: &'e [Entry<'_>]) -> HashMap<Cow<'e, [u8]>, usize> {
        let edits = self.others().filter(|n| entries[*n].kind == Record::Edit);
        edits.filter_map(|n| with_members(&entries[n], |members| key(get(members, "targetId"))).map(|target| (target, n))).collect()
    }
}

/// What ids are compared by, owned.
pub(in crate::adapters) fn key(id: Option<&[u8]>) -> Option<Cow<'static, [u8]>> {
    js::map_key(id).map(|key| Cow::Owned(key.into_owned()))
}

/// Whether an entry becomes a message of its own time.
pub(in crate::adapters) fn is_timed(entry: &Entry<'_>) -> bool {
    matches!(entry.kind, Record::CustomMessage | Record::Compaction) || is_told_summary(entry)
}

/// Whether an entry is the summary of a branch, with something in it.
pub(in crate::adapters) fn is_told_summary(entry: &Entry<'_>) -> bool {
    entry.kind == Record::BranchSummary
        && with_members(entry, |members| get(members, "summary").is_some_and(|summary| !js::is_falsy(summary)))
}

/// Whether JavaScript cannot even try to make a time of what an entry says.
pub(in crate::adapters) fn has_no_time_at_all(entry: &Entry<'_>) -> bool {
    with_members(entry, |members| js::time_of(get(members, "timestamp")).is_err())
}

/// Whether an entry's time is a text that can be read as one.
pub(in crate::adapters) fn has_sound_time(entry: &Entry<'_>) -> bool {
    with_members(entry, |members| {
        let time = get(members, "timestamp").filter(|time| json::kind_of(time) == Kind::String);
        time.is_some_and(|time| js::time_of(Some(time)) != Ok(None))
    })
}

/// Whether an edit says nothing of what stands in the target's place.
pub(in crate::adapters) fn lacks_replacement(entry: &Entry<'_>) -> bool {
    entry.kind == Record::Edit && with_members(entry, |members| get(members, "replacement").is_none())
}

/// Whether the content of what an entry shows can be replaced, so that an edit
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
    let is_message = matches!(entry.kind, Record::UserMessage | Record::AssistantMessage | Record::ResultMessage);
    entry.kind == Record::CustomMessage
        || (is_message && says_role("message"))
        || (entry.kind == Record::Compaction && says_role("systemMessage"))
}

/// For each entry whether it or one above it is marked; parents are settled.
pub(in crate::adapters) fn on_path(parents: &[Option<usize>], is_marked: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut known: Vec<Option<bool>> = vec![None; parents.len()];
    let mut way = Vec::new();
    for start in 0..parents.len() {
        let mut at = Some(start);
        while let Some(node) = at.filter(|node| known[*node].is_none()) {
            way.push(node);
            at = parents[node];
        }
        let mut marked = at.and_then(|node| known[node]).unwrap_or_default();
        while let Some(node) = way.pop() {
            marked |= is_marked(node);
            known[node] = Some(marked);
        }
    }
    known.into_iter().map(Option::unwrap_or_default).collect()
}
