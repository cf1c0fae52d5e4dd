//! Lines that `skip` has hidden: picoclaw's own `compact`, but that every line
//! that is left keeps its bytes.

use std::ops::Range;

use crate::adapters::maintenance::{Maintenance, ProcessFile};
use crate::adapters::picoclaw::discover;
use crate::json::{self, Dialect, Member, Value};
use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::model::folder::{FolderView, ListedKind};
use crate::model::retention::{Completion, Due, Edit, Prunable, Removal, RetentionContext, Rule, Share, Stay, StayCode, iso_to_ns};

use crate::adapters::picoclaw::layout::{LINES, META};
use crate::runtimes::go::matches_key;

/// Retention of lines that picoclaw has hidden, and its running gateway.
pub(super) struct PicoclawMaintenance;

impl Maintenance for PicoclawMaintenance {
    fn format(&self) -> &'static str {
        "picoclaw"
    }

    fn overwritten_by(&self, name: &RelPath, bytes: &[u8], folder: &FolderView<'_>) -> Option<RelPath> {
        discover::overwritten_by(name, bytes, folder)
    }

    fn process_file(&self) -> Option<ProcessFile> {
        // The gateway writes it into its home, two levels above `workspace/sessions`.
        Some(ProcessFile { name: ".picoclaw.pid", levels_above: 2, home: "PICOCLAW_HOME", program: "picoclaw" })
    }

    fn retention_rules(&self) -> &'static [Rule] {
        &[Rule::HiddenLines]
    }

    fn retention(&self, folder: &FolderView<'_>, _: &RetentionContext<'_>) -> Vec<Prunable> {
        items(folder)
    }

    fn can_prune(&self, rule: Rule, path: &str, _old: &[u8]) -> bool {
        rule == Rule::HiddenLines && !path.contains('/') && (path.ends_with(META) || path.ends_with(LINES))
    }
}

/// Returns the sessions of a folder that have hidden lines.
fn items(folder: &FolderView<'_>) -> Vec<Prunable> {
    let files = folder.entries().filter(|(_, entry)| entry.kind == ListedKind::File);
    let names = files.filter_map(|(path, _)| std::str::from_utf8(path).ok()).filter(|path| !path.contains('/'));
    let bases = names.filter_map(|path| path.strip_suffix(META)).filter(|base| folder.has_file(format!("{base}{LINES}")));
    bases.filter_map(|base| item(base, folder)).collect()
}

/// A number of the meta file, and where it stands.
struct Number {
    span: Range<usize>,
    value: u64,
}

/// What the meta file says, where it says it once and plainly.
struct Meta {
    skip: Number,
    count: Number,
    updated_ns: Option<i64>,
}

impl Meta {
    fn of(bytes: &[u8]) -> Option<Meta> {
        let mut members: Vec<Member<'_>> = Vec::new();
        json::scan_object(bytes, Dialect::Strict, &mut members).ok()?;
        let only = |key: &str| {
            // Its reader takes keys in any case, and of equal ones the last.
            let mut named = members.iter().filter(|member| matches_key(key, &member.name()));
            named.next().filter(|_| named.next().is_none()).map(|member| member.value())
        };
        let number = |key: &str| {
            let number = only(key)?;
            Some(Number { span: number.span_in(bytes), value: number.parse()? })
        };
        let updated = only("updated_at").and_then(Value::as_str);
        Some(Meta { skip: number("skip")?, count: number("count")?, updated_ns: updated.and_then(|time| iso_to_ns(&time)) })
    }
}

fn item(base: &str, folder: &FolderView<'_>) -> Option<Prunable> {
    let (meta_file, lines_file) = (format!("{base}{META}"), format!("{base}{LINES}"));
    let (meta_bytes, lines) = (folder.all_bytes(&meta_file), folder.all_bytes(&lines_file));
    // A meta file that cannot be read is a matter for the audit.
    let meta = Meta::of(&meta_bytes)?;
    let (hidden, end, left) = hidden(&lines, meta.skip.value);
    if hidden == 0 {
        return None;
    }
    let standing = match meta.skip.value == hidden {
        true => Ok(Completion::By("its meta file says that they are deleted")),
        false => Err(Stay::new(StayCode::Unclear, "its meta file hides more lines than there are")),
    };
    let share = |file: &str, bytes: u64, edits: Vec<Edit>, sha256: String| Share {
        file: RelPath::new(file),
        removal: Removal::Bytes { edits, sha256 },
        bytes,
        writer: None,
        lock: None,
    };
    let put = |number: &Number, value: u64| Edit { from: number.span.start as u64, to: number.span.end as u64, put: value.to_string() };
    let mut numbers = vec![put(&meta.skip, 0), put(&meta.count, left)];
    numbers.sort_by_key(|edit| edit.from);
    let [was, is] = [numbers.iter().map(|edit| edit.to - edit.from).sum::<u64>(), numbers.iter().map(|edit| edit.put.len() as u64).sum()];
    Some(Prunable {
        rule: Rule::HiddenLines,
        name: RelPath::new(lines_file.as_str()).below(folder.path()).to_string(),
        parts: hidden,
        // The meta file first, as the program does it: the other way round, what
        // is left would be hidden until the second file has followed.
        shares: vec![
            share(&meta_file, was.saturating_sub(is), numbers, sha256_hex(&meta_bytes)),
            share(&lines_file, end as u64, vec![Edit::cut(0..end)], sha256_hex(&lines)),
        ],
        own_ns: meta.updated_ns,
        due: Due::ByPolicy,
        standing,
    })
}

/// Returns how many lines are hidden, where the last of them ends, and how many are
/// left. Lines count as its reader counts them: all that are not empty.
fn hidden(bytes: &[u8], skip: u64) -> (u64, usize, u64) {
    let (mut counted, mut end, mut at) = (0, 0, 0);
    for raw in bytes.split_inclusive(|b| *b == b'\n') {
        at += raw.len();
        let line = raw.strip_suffix(b"\n").unwrap_or(raw);
        if line.strip_suffix(b"\r").unwrap_or(line).is_empty() {
            continue;
        }
        counted += 1;
        if counted <= skip {
            end = at;
        }
    }
    (skip.min(counted), end, counted - skip.min(counted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_their_reader_counts_them() {
        assert_eq!(hidden(b"a\n\n\r\n \nb\nc", 2), (2, 7, 2));
        assert_eq!(hidden(b"a\nb\n", 9), (2, 4, 0));
        assert_eq!(hidden(b"a\n", 0), (0, 0, 1));
    }

    #[test]
    fn a_meta_file_must_say_it_once_and_plainly() {
        let meta = Meta::of(b"{\"skip\": 12, \"count\":30}").unwrap();
        assert_eq!((meta.skip.span, meta.skip.value, meta.count.span), (9..11, 12, 21..23));
        for text in [
            "{\"skip\": 1, \"Skip\": 2, \"count\": 3}",
            "{\"skip\": 1.0, \"count\": 3}",
            "{\"skip\": 1}",
            "[]",
            "{\"skip\": -1, \"count\": 3}",
        ] {
            assert!(Meta::of(text.as_bytes()).is_none(), "{text}");
        }
    }
}
