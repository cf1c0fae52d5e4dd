//! A session at a glance, from its log.

use crate::json::{self, Kind};
use crate::model::about::About;
use crate::model::event::EventKind;
use crate::model::heads::HeadKind;
use crate::model::ids::Seq;
use crate::model::stream::{ReadAt, StreamError};

use super::projection::{Projection, Reach, Salvage};
use super::view::LogView;

/// How a message of a person begins, as this program writes it.
const USER: &[u8] = b"{\"role\":\"user\"";

/// Characters of the first prompt that are kept: a line of a list.
const PROMPT: usize = 120;

impl About {
    /// Looks through the active branch of a log.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn of_log<R: ReadAt>(log: &mut LogView<R>) -> Result<About, StreamError> {
        let node = log.state().head(&log.active()).unwrap_or(Seq::ROOT);
        let mut about = About {
            id: log.session.id.clone(),
            title: log.session.title.clone().or_else(|| log.outcome.name().map(str::to_owned)),
            cwd: log.session.cwd.clone(),
            branches: log.state().heads().filter(|(name, _)| name.kind == HeadKind::Branch).count() as u64,
            ..About::default()
        };
        let mut last = String::new();
        let mut is_preamble = false;
        let mut projection = Projection::of(log, node, Reach::Path, Salvage::Hidden)?;
        while let Some(shown) = projection.next_shown(log)? {
            let event = shown.event;
            if event.kind != EventKind::Message {
                continue;
            }
            about.messages += 1;
            if let Some(ts) = event.ts {
                last.clear();
                last.push_str(ts);
            }
            if event.payload.starts_with(USER) {
                about.turns += 1;
                // What the program put before the person's words is a name only
                // where there is nothing else.
                if (about.prompt.is_none() || is_preamble)
                    && let Some(prompt) = first_line(event.payload)
                {
                    let is_next = event.is_hidden_from("display") || prompt.is_preamble;
                    if about.prompt.is_none() || !is_next {
                        about.prompt = Some(prompt.line);
                        is_preamble = is_next;
                    }
                }
            }
        }
        about.last = Some(last).filter(|last| !last.is_empty());
        Ok(about)
    }
}

/// How a message of the role user begins.
struct Prompt {
    /// Its first line, cut to the length of a title.
    line: String,
    /// Whether it is what programs put before the words of a person.
    is_preamble: bool,
}

/// The first line that a message says.
fn first_line(payload: &[u8]) -> Option<Prompt> {
    let content = json::members(payload).find(|member| member.is("content"))?.value;
    let texts = json::elements(content).filter(|part| json::kind_of(part) == Kind::Object);
    let texts = texts.filter_map(|part| json::members(part).find(|member| member.is("text")).map(|member| member.value));
    let text = texts.filter(|text| json::kind_of(text) == Kind::String).map(json::unescape).find(|text| !text.trim().is_empty())?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(Prompt { line: line.chars().take(PROMPT).collect(), is_preamble: is_preamble(text.trim()) })
}

/// Whether a text is markup from its beginning to its end, as programs wrap what they
/// tell a model of the folder, of rules or of a command; a heading may come first.
fn is_preamble(text: &str) -> bool {
    let name = |text: &str| text.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    let is_open = text.strip_prefix('<').is_some_and(name) || text.starts_with("# ");
    let last = text.strip_suffix('>').and_then(|text| text.rsplit_once("</"));
    is_open && last.is_some_and(|(_, closing)| name(closing) && !closing.contains(['<', '>']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_the_first_line_that_says_something() {
        let payload = br#"{"role":"user","content":[{"type":"image","data":"x"},{"type":"text","text":"  \n hello\nthere"}]}"#;
        let prompt = |payload: &[u8]| first_line(payload).map(|prompt| prompt.line);
        assert_eq!(prompt(payload).as_deref(), Some("hello"));
        assert_eq!(prompt(br#"{"role":"user","content":[]}"#), None);
        let long = format!("{{\"content\":[{{\"text\":\"{}\"}}]}}", "你".repeat(300));
        assert_eq!(prompt(long.as_bytes()).map(|line| line.chars().count()), Some(PROMPT));
    }
    #[test]
    fn markup_that_a_program_puts_first_is_not_what_a_person_said() {
        for text in [
            "<environment_context>\n<cwd>/a</cwd>\n</environment_context>",
            "<command-name>/compact</command-name>\n<command-args></command-args>",
            "# AGENTS.md instructions for /a\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>",
        ] {
            assert!(is_preamble(text), "{text}");
        }
        for text in ["<div> does not close here", "why is a < b and b > a?", "fix <b>this</b>", "# a title\ntext", "< b </b>", "<3"] {
            assert!(!is_preamble(text), "{text}");
        }
    }
}
