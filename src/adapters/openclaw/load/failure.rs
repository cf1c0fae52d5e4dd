//! Why nothing is shown.

/// How a load fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The program looks for a member of `null`, or coerces what cannot be.
    Type,
    /// The program refuses a summary or a plugin's message for its time.
    Time,
    /// Only copies of a transcript are there.
    NoTranscript,
    /// The session has no such head.
    NoSuchHead,
}

impl Failure {
    /// Returns the failure as a text that stays the same.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Failure::Type => "TypeError",
            Failure::Time => "invalid timestamp",
            Failure::NoTranscript => "no transcript",
            Failure::NoSuchHead => "no such head",
        }
    }
}
