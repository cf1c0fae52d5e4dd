//! Why the program shows nothing.

use crate::runtimes::javascript::TypeError;

/// Why nothing can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// No record is a session header, or one stands before it.
    NotASession,
    /// The harness does not find an entry that the file names.
    NotAHarnessSession,
    /// JavaScript would throw while the file is opened or the list is built.
    TypeError,
    /// The walk to the root never ends; the program hangs.
    Circle,
    /// The branch that was asked for does not exist.
    NoSuchBranch,
}

impl From<TypeError> for Failure {
    fn from(_: TypeError) -> Failure {
        Failure::TypeError
    }
}

impl Failure {
    /// Returns the words that an outcome has for it.
    pub fn words(self) -> String {
        match self {
            Failure::NotASession => "Session file is not a valid pi session",
            Failure::NotAHarnessSession => "Session file is not a valid harness session",
            Failure::TypeError => "TypeError",
            Failure::Circle => "the branch is a circle",
            Failure::NoSuchBranch => "no such branch",
        }
        .to_owned()
    }
}
