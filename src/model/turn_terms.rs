//! The words of a program that keeps journals of turns and runs. The log carries
//! them as they are; whoever reads turns from a log needs to know what they mean.

/// What the words in `turn` and `run` events, and in a session's own facts, mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnTerms {
    /// The state of a turn whose prompt was taken.
    pub submitted: &'static str,
    /// The state of a turn whose run has begun.
    pub started: &'static str,
    /// The states in which a turn ends.
    pub ends: &'static [&'static str],
    /// The `kind` of runs that answer turns.
    pub run_kind: &'static str,
    /// The event of a run that has a piece of the answer, as `text` in its data.
    pub text_event: &'static str,
    /// The event of a run that calls a tool, with its `name` in the data.
    pub tool_event: &'static str,
    /// The event that follows the end of a run and does not end it again.
    pub after_end: &'static str,
    /// Where a session says which prompt it waits for.
    pub pending: PendingTerms,
}

/// Where a `meta` event says which prompt a session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingTerms {
    /// What such an event is `of`.
    pub of: &'static str,
    /// The member with the prompt.
    pub prompt: &'static str,
    /// The member with the time, in seconds since the epoch.
    pub started_at: &'static str,
    /// The member with the run.
    pub stream: &'static str,
}
