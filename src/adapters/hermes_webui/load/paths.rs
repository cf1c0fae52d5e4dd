//! What `str(Path(value).expanduser().resolve())` makes of a stored path: in a
//! world without files or users, either a path, something that depends on the
//! machine, or an exception that the constructor of a session lets through.

use crate::model::json::{Kind, kind_of};

use super::text::decode;

/// What a stored path becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// This absolute path.
    Path(Vec<u8>),
    /// A path below the current or a home folder.
    Elsewhere,
}

/// The path, as resolved; none where Python raises.
#[must_use]
pub fn resolved(value: &[u8]) -> Option<Resolved> {
    if kind_of(value) != Kind::String {
        return None;
    }
    let path = decode(value);
    if path.contains(&0) || has_unwritable_surrogate(&path) {
        return None;
    }
    let mut parts = path.split(|b| *b == b'/').filter(|part| !part.is_empty() && *part != b".");
    if path.starts_with(b"/") {
        let mut kept: Vec<&[u8]> = Vec::new();
        for part in parts {
            match part {
                b".." => drop(kept.pop()),
                _ => kept.push(part),
            }
        }
        let joined: Vec<u8> = kept.iter().flat_map(|part| [b"/".as_slice(), part].concat()).collect();
        return Some(Resolved::Path(if joined.is_empty() { b"/".to_vec() } else { joined }));
    }
    match parts.next() {
        // Only one name is known everywhere; others have no home, and that is
        // an exception.
        Some(first) if first.starts_with(b"~") && first != b"~" && first != b"~root" => None,
        Some(_) | None => Some(Resolved::Elsewhere),
    }
}

/// Whether a lone surrogate is there that stands for no byte: Python smuggles
/// bytes that are not UTF-8 through file names as U+DC80 to U+DCFF.
fn has_unwritable_surrogate(text: &[u8]) -> bool {
    text.windows(3).any(|w| matches!(w, [0xed, 0xa0..=0xb1 | 0xb4..=0xbf, _]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_resolve_or_raise_as_in_python() {
        for (value, path) in [(r#""/a//b/./c/../d/""#, "/a/b/d"), (r#""//x""#, "/x"), (r#""/..""#, "/"), (r#""/\u00e9""#, "/é")] {
            assert_eq!(resolved(value.as_bytes()), Some(Resolved::Path(path.as_bytes().to_vec())));
        }
        for value in [r#""""#, r#""a/~b""#, r#""~/x""#, r#""~root""#, r#"".""#] {
            assert_eq!(resolved(value.as_bytes()), Some(Resolved::Elsewhere), "{value}");
        }
        for value in ["null", "1", "[]", "true", r#""/a\u0000""#, r#""/\ud800""#, r#""/\udfff""#, r#""~nobody-here/x""#, r#""./~x""#] {
            assert_eq!(resolved(value.as_bytes()), None, "{value}");
        }
        assert!(resolved(br#""/\udcff\udc80""#).is_some());
        assert_eq!(resolved(br#""/\udc7f""#), None);
    }
}
