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
            title: log.session.title.clone(),
            cwd: log.session.cwd.clone(),
            branches: log.state().heads().filter(|(name, _)| name.kind == HeadKind::Branch).count() as u64,
            ..About::default()
        };
        let mut last = String::new();
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
                if about.prompt.is_none() {
                    about.prompt = first_line(event.payload);
                }
            }
        }
        about.last = Some(last).filter(|last| !last.is_empty());
        Ok(about)
    }
}

/// The first line that a message says, cut to the length of a title.
fn first_line(payload: &[u8]) -> Option<String> {
    let content = json::members(payload).find(|member| member.is("content"))?.value;
    let texts = json::elements(content).filter(|part| json::kind_of(part) == Kind::Object);
    let texts = texts.filter_map(|part| json::members(part).find(|member| member.is("text")).map(|member| member.value));
    let text = texts.filter(|text| json::kind_of(text) == Kind::String).map(json::unescape).find(|text| !text.trim().is_empty())?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(PROMPT).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_the_first_line_that_says_something() {
        let payload = br#"{"role":"user","content":[{"type":"image","data":"x"},{"type":"text","text":"  \n hello\nthere"}]}"#;
        assert_eq!(first_line(payload).as_deref(), Some("hello"));
        assert_eq!(first_line(br#"{"role":"user","content":[]}"#), None);
        let long = format!("{{\"content\":[{{\"text\":\"{}\"}}]}}", "你".repeat(300));
        assert_eq!(first_line(long.as_bytes()).map(|line| line.chars().count()), Some(PROMPT));
    }
}
