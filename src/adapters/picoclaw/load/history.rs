//! The history in a `.jsonl`: which of its lines are messages that show.

use crate::runtimes::go::{Marshal, ScanLines, TokenTooLong, unmarshal};

use super::message::Message;

/// What the program's scanner has room for.
const BUFFER: usize = 10 * 1024 * 1024;

/// Shows every message after the first `skip` lines.
pub fn show(file: &[u8], skip: i64, show: &mut dyn FnMut(&[u8])) -> Result<(), TokenTooLong> {
    let mut out = Vec::new();
    let mut number = 0;
    for line in ScanLines::new(file, BUFFER) {
        let line = line?;
        if line.is_empty() {
            continue;
        }
        // What no message can be read from is counted all the same.
        number += 1;
        if number <= skip {
            continue;
        }
        let Ok(message) = unmarshal::<Message<'_>>(line) else { continue };
        if !message.is_thought() {
            out.clear();
            message.marshal(&mut out);
            show(&out);
        }
    }
    Ok(())
}
