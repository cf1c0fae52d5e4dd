//! Findings as people read them: each with its code, those of one kind
//! together, and no more examples than a screen has room for.

use std::fmt::Write as _;

use crate::model::finding::{Finding, FindingCode, Severity};
use crate::verify::difference::visible;

pub use super::printer::Listing;
use super::printer::Printer;
use super::text::{code_name, count, thousands};

/// So many findings of one code are shown; the rest is counted.
const EXAMPLES: usize = 3;

/// Findings on their way to people.
#[derive(Debug, Default)]
pub struct FindingList {
    groups: Vec<Group>,
}

/// All findings of one code.
#[derive(Debug)]
struct Group {
    severity: Severity,
    code: FindingCode,
    entries: Vec<ListedFinding>,
    more: u64,
}

#[derive(Debug)]
struct ListedFinding {
    message: String,
    place: String,
    more: u64,
    /// What can be done about it, in a few words.
    remark: &'static str,
}

impl FindingList {
    /// Takes in a finding; `inside` is the folder that its file lies in.
    pub fn add(&mut self, finding: &Finding, inside: &str) {
        self.add_with(finding, inside, "");
    }

    /// Takes in a finding with a remark on what can be done about it.
    pub fn add_with(&mut self, finding: &Finding, inside: &str, remark: &'static str) {
        let place = if inside.is_empty() { finding.location.to_string() } else { format!("{inside}/{}", finding.location) };
        let entry = ListedFinding { message: finding.message.clone(), place, more: finding.more, remark };
        match self.groups.iter_mut().find(|group| group.code == finding.code && group.severity == finding.severity) {
            Some(group) => group.entries.push(entry),
            None => self.groups.push(Group { severity: finding.severity, code: finding.code, entries: vec![entry], more: 0 }),
        }
    }

    /// Returns the lines that people read, one text per finding or group.
    #[must_use]
    pub fn texts(mut self, listing: Listing) -> Vec<String> {
        self.groups.iter_mut().for_each(|group| group.more = group.entries.iter().map(|entry| entry.more).sum());
        self.groups.iter().flat_map(|group| group.texts(listing)).collect()
    }

    /// Says them on stderr.
    pub fn say(self, out: &Printer) {
        self.texts(out.listing()).iter().for_each(|text| out.say(text));
    }

    /// Prints them on stdout.
    pub fn print(self, out: &Printer) {
        self.texts(out.listing()).iter().for_each(|text| out.text(text));
    }
}

impl Group {
    fn texts(&self, listing: Listing) -> Vec<String> {
        let shown = match listing {
            Listing::All => self.entries.len(),
            Listing::Grouped => EXAMPLES,
        };
        let is_same = |entry: &ListedFinding| entry.message == self.entries[0].message && entry.remark == self.entries[0].remark;
        if listing == Listing::Grouped && self.entries.len() > 1 && self.entries.iter().all(is_same) {
            return vec![self.same(shown)];
        }
        let mut texts: Vec<String> = self.entries.iter().take(shown).map(|entry| self.alone(entry)).collect();
        let rest = self.entries.iter().skip(shown).map(|entry| 1 + entry.more).sum::<u64>();
        if let Some(last) = texts.last_mut().filter(|_| rest > 0) {
            let _ =
                write!(last, "\n  and {} [{}] elsewhere; `--all-findings` lists them", count(rest, "more finding"), code_name(self.code));
        }
        texts
    }

    fn heading(&self, entry: &ListedFinding) -> String {
        format!("{}: {} [{}]", self.severity, visible(&entry.message), code_name(self.code))
    }

    fn alone(&self, entry: &ListedFinding) -> String {
        let mut text = format!("{}\n  at {}", self.heading(entry), visible(&entry.place));
        if entry.more > 0 {
            let _ = write!(text, "\n  and {} more like it in this file", thousands(entry.more));
        }
        if !entry.remark.is_empty() {
            let _ = write!(text, "\n  {}", entry.remark);
        }
        text
    }

    /// Findings that differ only in where they are.
    fn same(&self, shown: usize) -> String {
        let total = self.entries.len() as u64 + self.more;
        let mut text = format!("{}, {} times", self.heading(&self.entries[0]), thousands(total));
        for entry in self.entries.iter().take(shown) {
            let _ = write!(text, "\n  at {}", visible(&entry.place));
        }
        let rest = total.saturating_sub(shown as u64);
        if rest > 0 {
            let _ = write!(text, "\n  and {}; `--all-findings` lists them", count(rest, "more place"));
        }
        if !self.entries[0].remark.is_empty() {
            let _ = write!(text, "\n  {}", self.entries[0].remark);
        }
        text
    }
}

/// Says whether a file belongs to a version control system, a file manager or
/// an editor, by the names on its path. Nobody looks for a session there.
#[must_use]
pub fn is_of_other_tools(path: &str) -> bool {
    const NAMES: &[&str] = &[
        ".git",
        ".hg",
        ".svn",
        ".jj",
        ".DS_Store",
        "Thumbs.db",
        "desktop.ini",
        "__pycache__",
        "node_modules",
        ".idea",
        ".vscode",
        ".venv",
        ".gitignore",
        ".gitattributes",
        ".cache",
        ".Trash",
    ];
    path.split('/').any(|part| NAMES.contains(&part) || part.starts_with("._") || part.ends_with('~'))
}

/// Orders files that were left out: those that may hold a session come first.
#[must_use]
pub fn session_likelihood(path: &str) -> u8 {
    let name = path.rsplit('/').next().unwrap_or(path);
    let has = |suffixes: &[&str]| suffixes.iter().any(|suffix| name.contains(suffix));
    match name {
        _ if is_of_other_tools(path) => 4,
        _ if has(&[".jsonl"]) => 0,
        _ if has(&[".json", ".db", ".sqlite"]) => 1,
        _ if has(&[".bak", ".tmp", ".log", ".txt", ".md"]) => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::location::Location;

    fn list(findings: &[(FindingCode, &str, &str)]) -> FindingList {
        let mut list = FindingList::default();
        findings.iter().for_each(|(code, file, message)| list.add(&Finding::new(*code, Location::at(*file, 1, 2), *message), ""));
        list
    }

    #[test]
    fn findings_that_differ_only_in_their_place_are_one() {
        let files = ["a", "b", "c", "d", "e"];
        let findings: Vec<_> = files.iter().map(|file| (FindingCode::TornTail, *file, "cut off")).collect();
        let text =
            "warning: cut off [torn_tail], 5 times\n  at a:1:2\n  at b:1:2\n  at c:1:2\n  and 2 more places; `--all-findings` lists them";
        assert_eq!(list(&findings).texts(Listing::Grouped), [text]);
        assert_eq!(list(&findings).texts(Listing::All).len(), 5);
    }

    #[test]
    fn findings_of_one_code_with_several_messages_show_three() {
        let messages = ["1", "2", "3", "4", "5"];
        let findings: Vec<_> = messages.iter().map(|message| (FindingCode::NotJson, "f", *message)).collect();
        let texts = list(&findings).texts(Listing::Grouped);
        assert_eq!(texts.len(), 3);
        assert_eq!(texts[0], "warning: 1 [not_json]\n  at f:1:2");
        assert!(texts[2].ends_with("\n  and 2 more findings [not_json] elsewhere; `--all-findings` lists them"), "{}", texts[2]);
    }

    #[test]
    fn likely_sessions_come_first_and_other_tools_last() {
        let mut files = [".git/HEAD", "notes.md", "x.json", "photo.png", "chat.jsonl.old", "a/.DS_Store"];
        files.sort_by_key(|file| session_likelihood(file));
        assert_eq!(files, ["chat.jsonl.old", "x.json", "notes.md", "photo.png", ".git/HEAD", "a/.DS_Store"]);
    }
}
