//! The lines of a journal, which its reader cuts with `str.splitlines`.

use crate::json::Value;
use crate::runtimes::python::loads::{Failure, check};
use crate::runtimes::python::text::{splitlines, strip};

/// What a reader of JSON lines makes of a line that is not blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalLine<'a> {
    /// An object.
    Event(Value<'a>),
    /// Not JSON, or another value.
    Malformed,
}

/// Returns the lines of a journal that are not blank. Ends after the first that the
/// reader would not survive, which is an error.
pub fn events(text: &[u8], too_deep: usize) -> impl Iterator<Item = Result<JournalLine<'_>, Failure>> {
    let mut failed = false;
    let lines = splitlines(text).filter_map(|line| text.get(line.start..line.start + line.len));
    lines.filter(|line| !strip(line).is_empty()).map_while(move |line| {
        if failed {
            return None;
        }
        Some(match check(line, too_deep) {
            Ok(value) if value.is_object() => Ok(JournalLine::Event(value)),
            Ok(_) | Err(Failure::Syntax(_)) => Ok(JournalLine::Malformed),
            Err(failure @ (Failure::LongInteger | Failure::TooDeep)) => {
                failed = true;
                Err(failure)
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_count_for_nothing_and_other_values_as_malformed() {
        let text = "{}\n \u{2003}\n[1]\n{\"a\":1\n\u{feff}{}\n{\"a\":\"x\u{2028}y\"}\n".as_bytes();
        let read: Vec<_> = events(text, 9).collect();
        assert_eq!(read.iter().filter(|line| **line == Ok(JournalLine::Malformed)).count(), 5);
        assert_eq!(read.len(), 6);
        let text = b"{}\n[[[[\n{}\n";
        assert_eq!(events(text, 3).collect::<Vec<_>>(), [Ok(JournalLine::Event(Value::EMPTY_OBJECT)), Err(Failure::TooDeep)]);
    }
}
