//! `pathlib` on a POSIX system.

use crate::runtimes::wtf8::{Piece, pieces};

/// `str(PurePosixPath(text))`: no doubled slashes, no `.` parts, no slash at the
/// end.
#[must_use]
pub fn normal(text: &[u8]) -> Vec<u8> {
    // POSIX leaves open what two slashes mean, so pathlib keeps exactly two.
    let root: &[u8] = match text.iter().take_while(|b| **b == b'/').count() {
        0 => b"",
        2 => b"//",
        _ => b"/",
    };
    let parts: Vec<&[u8]> = parts(text).collect();
    let path = [root, &parts.join(&b'/')].concat();
    if path.is_empty() { b".".to_vec() } else { path }
}

fn parts(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| *b == b'/').filter(|part| !part.is_empty() && *part != b".")
}

/// `PurePosixPath(text).suffix` of a normal path.
#[must_use]
pub fn suffix(path: &[u8]) -> &[u8] {
    let name = path.rsplit(|b| *b == b'/').next().unwrap_or_default();
    match name.iter().rposition(|b| *b == b'.') {
        Some(at) if at > 0 && at + 1 < name.len() => name.get(at..).unwrap_or_default(),
        _ => b"",
    }
}

/// What `str(Path(text).expanduser().resolve())` gives in a world without files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// This absolute path.
    Path(Vec<u8>),
    /// A path below the current folder or below a home folder.
    Elsewhere,
}

/// Resolves a path; none where Python raises: for a NUL, a text that no file
/// name can hold, or the home of a user that need not exist.
#[must_use]
pub fn resolved(text: &[u8]) -> Option<Resolved> {
    if text.contains(&0) || !is_encodable(text) {
        return None;
    }
    if !text.starts_with(b"/") {
        // `root` is the only user that every machine has.
        let is_unknown = |first: &[u8]| first.starts_with(b"~") && first != b"~" && first != b"~root";
        return if parts(text).next().is_some_and(is_unknown) { None } else { Some(Resolved::Elsewhere) };
    }
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in parts(text) {
        match part {
            b".." => drop(kept.pop()),
            _ => kept.push(part),
        }
    }
    Some(Resolved::Path([b"/", kept.join(&b'/').as_slice()].concat()))
}

/// Tells whether a file name can hold a text. Python represents bytes of a file name
/// that are not UTF-8 as U+DC80 to U+DCFF; other lone surrogates stand for nothing.
fn is_encodable(text: &[u8]) -> bool {
    pieces(text).all(|piece| match piece {
        Piece::Text(_) => true,
        Piece::Lone(unit) => (0xdc80..=0xdcff).contains(&unit),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_depends_on_the_machine_is_told_from_what_raises() {
        for text in ["", "a/~b", "~/x", "~root", "."] {
            assert_eq!(resolved(text.as_bytes()), Some(Resolved::Elsewhere), "{text}");
        }
        for text in [&b"/a\0"[..], b"/\xed\xa0\x80", b"/\xed\xbf\xbf", b"/\xed\xb1\xbf", b"~nobody-here/x", b"./~x"] {
            assert_eq!(resolved(text), None, "{text:?}");
        }
        assert!(resolved(b"/\xed\xb3\xbf\xed\xb2\x80").is_some());
    }
}
