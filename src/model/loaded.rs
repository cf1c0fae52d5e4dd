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

/// What asking for a head ends in that the session does not have.
pub const NO_SUCH_HEAD: &str = "no such head";

impl LoadOutcome {
    /// Shows a session that is one list, `branch:main`, and says how its load ends:
    /// with an error where there are no `lines`, as their program fails as a whole.
    pub fn of_one_list(head: Option<&HeadName>, lines: Result<Vec<Vec<u8>>, &str>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        let main = HeadName::main();
        let lines = if head.is_some_and(|head| *head != main) { Err(NO_SUCH_HEAD) } else { lines };
        let error = match lines {
            Ok(lines) => {
                lines.iter().for_each(|line| show(line));
                None
            }
            Err(error) => Some(error.to_owned()),
        };
        LoadOutcome { active: head.is_none().then_some(main), error, ..LoadOutcome::default() }
    }
}

/// A session as its own program would load it. Reads the files once; each head
/// then costs what it shows.
pub trait Loader {
    /// Returns every head that can be asked for.
    fn heads(&mut self) -> Vec<HeadName>;

    /// Returns what the program shows, one JSON line per message, and how its load
    /// ends: for `None` the default load, for a head that list by itself, whose
    /// outcome says no more than its error.
    fn load(&mut self, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome;
}
