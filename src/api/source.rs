//! A folder of sessions, looked through.

use std::path::Path;

use crate::adapters::format::Format;
use crate::adapters::{ALL, by_id};
use crate::pipeline::source::{self, Selection};

use super::error::Error;

/// A folder of sessions, one session's folder, or one of its files, looked
/// through: which sessions it has, and of which programs.
///
/// Nothing in the folder is ever changed.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let source = everlog::Source::open("examples/sessions")?;
/// for session in source.sessions() {
///     println!("{} {}: {} bytes", session.format, session.name, session.bytes);
/// }
/// assert_eq!(source.sessions().count(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Source {
    pub(super) inner: source::Source,
}

/// One session of a [`Source`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceSession {
    /// Its name: its path below the source.
    pub name: String,
    /// The format of its program.
    pub format: &'static str,
    /// How many files it has.
    pub files: usize,
    /// How many bytes they have.
    pub bytes: u64,
}

impl Source {
    /// Looks through a folder or a file for sessions of all known formats.
    ///
    /// # Errors
    /// [`Error::Store`] when it cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Source, Error> {
        Source::open_with(path.as_ref(), ALL)
    }

    /// Looks through a folder or a file for sessions of one format, which
    /// `everlog formats` lists.
    ///
    /// # Errors
    /// [`Error::UnknownFormat`], or [`Error::Store`] when it cannot be read.
    pub fn open_as(path: impl AsRef<Path>, format: &str) -> Result<Source, Error> {
        let adapter = by_id(format).ok_or_else(|| Error::UnknownFormat { format: format.to_owned() })?;
        Source::open_with(path.as_ref(), &[adapter])
    }

    fn open_with(path: &Path, adapters: &[&'static dyn Format]) -> Result<Source, Error> {
        Ok(Source { inner: source::Source::open(path, adapters, &Selection::default())? })
    }

    /// Returns the sessions, in the order of their names.
    pub fn sessions(&self) -> impl Iterator<Item = SourceSession> {
        self.inner.units.iter().map(|unit| SourceSession {
            name: unit.name.to_string(),
            format: unit.found.adapter.id(),
            files: unit.found.files.len(),
            bytes: unit.bytes(&self.inner.listing),
        })
    }

    /// Returns the folders that several formats fit equally well, with those
    /// formats. Their sessions are not converted: [`Source::open_as`] decides.
    pub fn undecided(&self) -> impl Iterator<Item = (String, &[&'static str])> {
        self.inner.discovery.ties.iter().map(|tie| (tie.folder.to_string(), tie.formats.as_slice()))
    }
}
