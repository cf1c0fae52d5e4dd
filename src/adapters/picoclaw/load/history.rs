//! The history in a `.jsonl`: which of its lines are messages that show.

use super::encode::Encode;
use super::fill;
use super::message::Message;

/// A line as long as this, its `\r` counted and its `\n` not, no longer fits
/// into what the program reads lines with.
const TOO_LONG: usize = 10 * 1024 * 1024;

/// A line is too long, and the session cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenTooLong;

/// Shows every message behind the first `skip` lines.
pub fn show(file: &[u8], skip: i64, show: &mut dyn FnMut(&[u8])) -> Result<(), TokenTooLong> {
    let mut out = Vec::new();
    let mut rest = file;
    let mut number = 0;
    while !rest.is_empty() {
        let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        if len >= TOO_LONG {
            return Err(TokenTooLong);
        }
        let (raw, behind) = rest.split_at(len);
        rest = behind.get(1..).unwrap_or_default();
        let line = raw.strip_suffix(b"\r").unwrap_or(raw);
        if line.is_empty() {
            continue;
        }
        // What no message can be read from is counted all the same.
        number += 1;
        if number <= skip {
            continue;
        }
        let Ok(message) = fill::read::<Message<'_>>(line) else { continue };
        if !message.is_thought() {
            out.clear();
            message.push(&mut out);
            show(&out);
        }
    }
    Ok(())
}
