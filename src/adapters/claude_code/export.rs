//! Sessions of other programs as Claude Code's own: a transcript in which each
//! record hangs on the one before it.

mod records;

use crate::adapters::exporter::{CARRIED, ExportedSession, Exporter};
use crate::json::Value;
use crate::model::export::ability::{Abilities, Ability, Need};
use crate::model::export::transcript::{Tokens, Transcript};
use crate::model::files::RelPath;

/// The exporter of Claude Code.
pub(super) struct ClaudeCodeExporter;

/// Longer names of project folders are cut here, and end in a hash.
const LONGEST_FOLDER: usize = 200;

impl Exporter for ClaudeCodeExporter {
    fn abilities(&self) -> Abilities {
        Abilities {
            can: &[
                Ability::OwnThinking,
                Ability::Images,
                Ability::ResultImages,
                Ability::ErrorFlags,
                Ability::StopReasons,
                Ability::Usage,
                Ability::Models,
                Ability::Titles,
                Ability::Order,
                Ability::Cwd,
                Ability::Times,
            ],
            // Releases from 2.1.145 to 2.1.200 never answer where the last answer has no
            // model. Those up to 2.1.50 go on after the newest time, wherever it stands.
            needs: &[Need::Model, Need::RisingTimes],
            digits: 3,
        }
    }

    fn counts(&self, tokens: Tokens) -> Tokens {
        Tokens { reasoning: None, total: None, ..tokens }
    }

    fn carried<'v>(&self, payload: Value<'v>) -> Option<Value<'v>> {
        // The member stands in the record, around the message.
        payload.first("ext")?.first("$entry")?.first(CARRIED)
    }

    fn write(&self, session: &Transcript) -> ExportedSession {
        let id = session.seed.uuid();
        let cwd = session.cwd.as_deref().unwrap_or("/");
        let path = format!("projects/{}/{id}.jsonl", folder_of(cwd));
        ExportedSession {
            files: vec![(RelPath::new(&path), records::lines(session, &id, cwd))],
            root: RelPath::new(""),
            name: path,
            go_on: format!("claude --resume {id}"),
        }
    }
}

/// The folder in which Claude Code keeps the sessions of a working folder.
fn folder_of(cwd: &str) -> String {
    let mut name: String =
        cwd.encode_utf16().map(|unit| u8::try_from(unit).ok().filter(u8::is_ascii_alphanumeric).map_or('-', char::from)).collect();
    if name.len() > LONGEST_FOLDER {
        let hash = cwd.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
        name.truncate(LONGEST_FOLDER);
        name.push('-');
        name.push_str(&base36(hash.unsigned_abs()));
    }
    name
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_folder_is_named_as_the_program_names_it() {
        assert_eq!(folder_of("/home/dev/my.project"), "-home-dev-my-project");
        // A character beyond the first plane is two units.
        assert_eq!(folder_of("/a/\u{1f600}"), "-a---");
        let long = folder_of(&format!("/{}", "a".repeat(220)));
        assert_eq!((long.len(), &long[..3], &long[200..201]), (207, "-aa", "-"));
    }
}
