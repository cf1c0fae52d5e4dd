//! Where something is: `file:line:byte`, both numbers from 1, so that editors
//! can jump there.

use serde::{Deserialize, Serialize};
use std::fmt;

use super::files::RelPath;

/// A place in a file, or the file as a whole.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Location {
    /// The file, relative to the session or to the source.
    pub file: String,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The byte within that line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte: Option<u64>,
    /// The file's path in base64, where it is not UTF-8 and `file` is not exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_b64: Option<Box<str>>,
}

impl Location {
    /// Returns the file as a whole.
    pub fn file(file: impl Into<String>) -> Location {
        Location { file: file.into(), line: None, byte: None, path_b64: None }
    }

    /// Returns the file at a path as a whole, exactly.
    #[must_use]
    pub fn of_path(path: &RelPath) -> Location {
        Location { path_b64: path.as_b64().map(String::into_boxed_str), ..Location::file(path.to_string()) }
    }

    /// Returns a byte of a line, both from 1.
    pub fn at(file: impl Into<String>, line: u64, byte: u64) -> Location {
        Location { file: file.into(), line: Some(line), byte: Some(byte), path_b64: None }
    }

    /// Returns the place of a byte offset in a text.
    pub fn of_offset(file: impl Into<String>, text: &[u8], offset: usize) -> Location {
        let before = &text[..offset.min(text.len())];
        let line = memchr::memchr_iter(b'\n', before).count() as u64 + 1;
        let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        Location::at(file, line, (before.len() - start) as u64 + 1)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let (Some(_), Some(byte)) = (self.line, self.byte) {
            write!(f, ":{byte}")?;
        }
        Ok(())
    }
}
