//! Why nothing is shown.

/// How a load fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// A row is not JSON.
    Syntax,
    /// A version cannot be compared with a number.
    Type,
    /// The header says that the transcript is older than version 3.
    Legacy,
    /// The transcript was moved to a file that is not there, or is damaged.
    Cold,
    /// A summary or a plugin's message has no time.
    Time,
    /// There is no such head.
    NoHead,
}

impl Failure {
    /// The failure as a text that stays the same.
    pub fn name(self) -> &'static str {
        match self {
            Failure::Syntax => "SyntaxError",
            Failure::Type => "TypeError",
            Failure::Legacy => "legacy transcript",
            Failure::Cold => "SessionTranscriptColdError",
            Failure::Time => "invalid timestamp",
            Failure::NoHead => "no such head",
        }
    }
}
