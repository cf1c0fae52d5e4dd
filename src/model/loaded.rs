//! What a source program's own loader shows and ends in.

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
    /// What else the program derives, by name: texts as they are, lists and
    /// maps as compact JSON.
    pub facts: BTreeMap<String, String>,
}

/// A session as its own program would load it. Reads the files once; each head
/// then costs what it shows.
pub trait Loader {
    /// Every head that can be asked for.
    fn heads(&mut self) -> Vec<HeadName>;

    /// What the program shows, one JSON line per message, and how its load
    /// ends: for `None` the default load, for a head that list by itself, whose
    /// outcome says no more than its error.
    fn load(&mut self, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome;
}
