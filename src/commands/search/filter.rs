//! What of a session is searched.

use crate::api::Role;

/// What of a session is searched.
#[derive(Debug)]
pub struct Filter {
    /// Only what this role said.
    pub role: Option<Role>,
    /// Only calls and answers of this tool.
    pub tool: Option<String>,
    /// Only messages that are not older than this time, in UTC and without a `Z`.
    pub since: Option<String>,
    /// Which branches.
    pub branch: Branch,
    /// So many lines before and after each match are shown.
    pub context: usize,
}

/// Which branches are searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Branch {
    /// The one that the program shows.
    Active,
    /// Everything that was ever said.
    All,
    /// This one.
    Named(String),
}
