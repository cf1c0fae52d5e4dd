//! What was taken out of sessions before they left the machine, for people.

use crate::redact::{Redactions, RemovedFrom};
use crate::report::printer::Printer;
use crate::report::text;
use crate::verify::difference::visible;

/// Lists what was taken out of a session, and where it was; never what it was.
pub(super) fn say(log: &str, redactions: &Redactions, out: &Printer) {
    if redactions.removed.iter().all(|one| one.count == 0) && redactions.left_out.is_empty() {
        return;
    }
    const PLACES: usize = 8;
    let mut lines = format!("redacted in {}:", visible(log));
    for one in redactions.removed.iter().filter(|one| one.count > 0) {
        let places: Vec<String> = one.places.iter().take(PLACES).map(place_words).collect();
        let more = if one.places.len() > PLACES { format!(" and {} more", one.places.len() - PLACES) } else { String::new() };
        lines += &format!("\n  {} {}: {}{more}", one.placeholder, text::count(one.count, "time"), places.join(", "));
    }
    for seq in &redactions.left_out {
        lines += &format!("\n  message #{seq} is left out: it cannot be looked into");
    }
    out.say(&lines);
}

fn place_words(place: &RemovedFrom) -> String {
    match place {
        RemovedFrom::Session => "the session's title or folder".to_owned(),
        RemovedFrom::Message(seq) => format!("#{seq}"),
    }
}
