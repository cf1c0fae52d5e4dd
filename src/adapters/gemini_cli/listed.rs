//! A session's file as the program's list of sessions sees it, which decides
//! what its clean-up deletes.

use super::choose::time_of;
use super::classify::Resumes;
use super::fold::{Form, survey};
use super::layout;

/// What the program's list makes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AsListed {
    /// It cannot load it.
    Unreadable,
    /// It belongs to a subagent.
    Subagent,
    /// Nothing in it can be resumed.
    NothingToResume,
    /// A session that was last written then, in milliseconds since the epoch,
    /// where it says so.
    Session(Option<i64>),
}

/// Looks at a file as the program's list of sessions does; it was written at this time,
/// in milliseconds since the epoch.
pub(crate) fn as_listed(bytes: &[u8], written_ms: i64) -> AsListed {
    let seen = survey(bytes);
    if seen.form == Form::Nothing || !seen.meta.session_id.is_truthy() {
        return AsListed::Unreadable;
    }
    if seen.meta.kind.is("subagent") {
        return AsListed::Subagent;
    }
    match seen.resumes {
        Resumes::No => AsListed::NothingToResume,
        Resumes::Yes => AsListed::Session(match seen.form {
            // Without a time it counts as written when it is loaded.
            Form::Lines | Form::Nothing => time_of(seen.meta.updated),
            Form::Whole => match [seen.meta.updated, seen.meta.created].into_iter().find(|time| time.is_truthy()) {
                Some(time) => time_of(time),
                None => Some(written_ms),
            },
        }),
    }
}

/// Tells whether the program's list looks at a file of this name.
pub(crate) fn is_listed(name: &[u8]) -> bool {
    layout::is_listed(name)
}

/// The characters of a session's id that are in the name of its file: the
/// program deletes by them.
pub(crate) fn short_id(name: &[u8]) -> Option<&[u8]> {
    let stem = layout::stem(name)?;
    let (rest, id) = stem.split_at(stem.len().checked_sub(8)?);
    (rest.ends_with(b"-") && id.iter().all(u8::is_ascii_alphanumeric)).then_some(id)
}
