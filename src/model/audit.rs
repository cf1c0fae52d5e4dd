//! What an audit reports: a finding, the facts behind it, and who can repair it.

use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

use super::database::Tables;
use super::finding::{Finding, FindingCode, Severity};
use super::location::Location;

/// Who can repair what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairedBy {
    /// `everlog repair` can.
    Everlog,
    /// Only a person can.
    Hand,
}

/// A fact behind a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Fact {
    /// A name or a word.
    Text(String),
    /// A count; -1 for what cannot be counted.
    Count(i64),
}

/// One thing that an audit found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditItem {
    /// What, where, and how much it matters.
    #[serde(flatten)]
    pub finding: Finding,
    /// Who can repair it.
    #[serde(rename = "repairable", serialize_with = "as_bool")]
    pub repaired_by: RepairedBy,
    /// What else is known, by name.
    #[serde(flatten)]
    pub facts: BTreeMap<&'static str, Fact>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn as_bool<S: Serializer>(repaired_by: &RepairedBy, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bool(*repaired_by == RepairedBy::Everlog)
}

impl AuditItem {
    /// Returns an item that only a person can repair.
    pub fn new(code: FindingCode, location: Location, message: impl Into<String>) -> AuditItem {
        let finding = Finding::new(code, location, message);
        AuditItem { finding, repaired_by: RepairedBy::Hand, facts: BTreeMap::new() }
    }

    /// Returns the item as one that `everlog repair` can repair.
    #[must_use]
    pub fn repairable(mut self) -> AuditItem {
        self.repaired_by = RepairedBy::Everlog;
        self
    }

    /// Returns the item with another severity than its code usually has.
    #[must_use]
    pub fn matters(mut self, severity: Severity) -> AuditItem {
        self.finding.severity = severity;
        self
    }

    /// Returns the item with one more fact about it: a name or a word.
    #[must_use]
    pub fn text(mut self, name: &'static str, text: impl Into<String>) -> AuditItem {
        self.facts.insert(name, Fact::Text(text.into()));
        self
    }

    /// Returns the item with one more fact about it: a count.
    #[must_use]
    pub fn count(mut self, name: &'static str, count: i64) -> AuditItem {
        self.facts.insert(name, Fact::Count(count));
        self
    }
}

/// The database that belongs to a folder of sessions.
pub enum Database<'e> {
    /// There is none.
    None,
    /// There is one, and it cannot be read.
    Unreadable {
        /// Why not.
        why: String,
    },
    /// A copy of it, at which nobody else looks.
    Copy(&'e dyn Tables),
}

/// What lies outside a folder of sessions and matters to it.
pub struct Evidence<'e> {
    /// The database beside it.
    pub database: Database<'e>,
    /// Where that lies, seen from the folder.
    pub place: String,
    /// Those of profiles, by the profile's name, and where they lie.
    pub profiles: Vec<(String, String, Database<'e>)>,
    /// The time, in nanoseconds since the epoch: whether something was written
    /// just now.
    pub now_ns: i64,
    /// The time that a repair writes into files.
    pub stamp_ns: i64,
    /// Whether the process with this number still runs that last wrote a file
    /// at this time (in nanoseconds since the epoch).
    pub still_runs: &'e dyn Fn(u32, i64) -> bool,
}

impl<'e> Database<'e> {
    /// Returns the tables, where they can be read.
    #[must_use]
    pub fn tables(&self) -> Option<&'e dyn Tables> {
        match self {
            Database::Copy(tables) => Some(*tables),
            Database::None | Database::Unreadable { .. } => None,
        }
    }
}

impl<'e> Evidence<'e> {
    /// Returns all databases, each with its profile and place: the one of no profile
    /// first.
    pub fn databases(&self) -> impl Iterator<Item = (Option<&str>, &str, &Database<'e>)> {
        let of_profiles = self.profiles.iter().map(|(name, place, database)| (Some(name.as_str()), place.as_str(), database));
        std::iter::once((None, self.place.as_str(), &self.database)).chain(of_profiles)
    }

    /// Returns the database of a profile; one that has none of its own uses that of no
    /// profile.
    #[must_use]
    pub fn database_of(&self, profile: Option<&str>) -> &Database<'e> {
        let own = self.profiles.iter().find(|(name, _, _)| Some(name.as_str()) == profile);
        own.map_or(&self.database, |(_, _, database)| database)
    }

    /// Returns the tables of a profile's database, where they can be read.
    #[must_use]
    pub fn tables_of(&self, profile: Option<&str>) -> Option<&'e dyn Tables> {
        self.database_of(profile).tables()
    }
}
