//! What a source program's own loader ends in.

use super::heads::HeadName;
use std::collections::BTreeMap;

/// How a load ends, besides the messages it shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoadOutcome {
    /// The head that the program shows by default.
    pub active: Option<HeadName>,
    /// The model that the session is set to.
    pub model: Option<String>,
    /// The summary that the program keeps of what it no longer shows.
    pub summary: Option<String>,
    /// Why the program fails to load the session at all.
    pub error: Option<String>,
    /// Heads that cannot be loaded although others can, and why.
    pub failures: BTreeMap<String, String>,
}
