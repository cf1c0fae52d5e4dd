//! How a run ended, from the end of its journal: most of a journal is output,
//! and need not be read to know that it has ended.

use crate::json::Value;

use super::document::{is_true, number, text_of};

/// What the end of a run journal says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RunEnd {
    /// The state that it ended in; nothing where it has not.
    pub state: Option<String>,
    /// The latest time in what was read, in seconds.
    pub at: f64,
    /// The last line was cut off, or is of another run.
    pub is_unclear: bool,
}

impl RunEnd {
    /// Tells whether it ended as it should.
    pub(super) fn is_completed(&self) -> bool {
        matches!(self.state.as_deref(), Some("completed" | "tool_limit_reached"))
    }
}

/// Output: where it follows an end, the run goes on.
const OUTPUT: [&str; 9] =
    ["token", "reasoning", "interim_assistant", "tool", "tool_complete", "approval", "clarify", "compressing", "compressed"];

/// How much is read first; more, if that is not enough.
const FIRST_WINDOW: u64 = 16 * 1024;
const GROWTH: u64 = 16;

/// The head of a line: all but its payload.
#[derive(Default)]
struct Head {
    run: String,
    event: String,
    at: f64,
    is_terminal: bool,
    state: Option<String>,
}

fn head(line: &[u8]) -> Option<Head> {
    if line.first() != Some(&b'{') || line.last() != Some(&b'}') {
        return None;
    }
    let mut head = Head::default();
    // Not validated: a closing line holds a whole transcript, and nothing after the
    // head is looked at. A line that is not an object has no member that matters.
    for member in Value::trusted(line).members() {
        match member.name().as_ref() {
            "run_id" => head.run = text_of(member.value()),
            "event" => head.event = text_of(member.value()),
            "created_at" => head.at = number(member.value()).unwrap_or(0.0),
            "terminal" => head.is_terminal = is_true(Some(member.value())),
            "terminal_state" => head.state = Some(text_of(member.value())).filter(|state| !state.is_empty()),
            // The last that matters comes before it.
            "payload" => break,
            _ => {}
        }
    }
    Some(head)
}

/// Looks at a run's journal from its end; `from` reads from an offset to the end.
pub(super) fn run_end(run: &str, size: u64, from: &dyn Fn(u64) -> Vec<u8>) -> RunEnd {
    let mut window = FIRST_WINDOW;
    loop {
        let start = size.saturating_sub(window);
        let bytes = from(start);
        let skipped = if start == 0 { 0 } else { memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1) };
        match look(run, &bytes[skipped..]) {
            Look::Found(end) => return end,
            Look::More(end) if start == 0 => return end,
            Look::More(_) => window = window.saturating_mul(GROWTH),
        }
    }
}

enum Look {
    Found(RunEnd),
    /// What there is so far; what stands before it may say more.
    More(RunEnd),
}

fn look(run: &str, tail: &[u8]) -> Look {
    let mut end = RunEnd::default();
    let Some(mut rest) = tail.strip_suffix(b"\n") else {
        // Nothing at all may be a line that is longer than what was read.
        return if tail.is_empty() { Look::More(end) } else { Look::Found(RunEnd { is_unclear: true, ..end }) };
    };
    loop {
        let start = memchr::memrchr(b'\n', rest).map_or(0, |at| at + 1);
        let line = rest[start..].trim_ascii();
        match head(line).filter(|head| head.run == run) {
            _ if line.is_empty() => {}
            None => return Look::Found(RunEnd { is_unclear: true, ..end }),
            Some(head) => {
                end.at = end.at.max(head.at);
                if head.is_terminal {
                    end.state = Some(head.state.unwrap_or_else(|| "completed".to_owned()));
                    // The end of the stream follows every end, and says less.
                    if head.event != "stream_end" {
                        return Look::Found(end);
                    }
                } else if OUTPUT.contains(&head.event.as_str()) {
                    return Look::Found(end);
                }
            }
        }
        match start {
            0 => return Look::More(end),
            start => rest = &rest[..start - 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(event: &str, at: u32, more: &str) -> String {
        format!("{{\"version\":1,\"run_id\":\"r\",\"event\":\"{event}\",\"created_at\":{at}.5,{more}\"payload\":{{\"terminal\":true}}}}\n")
    }

    fn end_of(text: &str) -> RunEnd {
        run_end("r", text.len() as u64, &|from| text.as_bytes()[from as usize..].to_vec())
    }

    #[test]
    fn a_run_has_ended_when_nothing_but_book_keeping_follows_its_end() {
        let token = line("token", 1, "");
        let done = line("done", 2, "\"terminal\":true,\"terminal_state\":\"completed\",");
        let error = line("apperror", 2, "\"terminal\":true,\"terminal_state\":\"errored\",");
        let stream_end = line("stream_end", 4, "\"terminal\":true,");
        let title = line("title", 3, "");
        let state = |text: String| end_of(&text).state;
        assert_eq!(
            end_of(&[&*token, &done, &title, &stream_end].concat()),
            RunEnd { state: Some("completed".into()), at: 4.5, is_unclear: false }
        );
        assert_eq!(state([&*token, &error, &stream_end].concat()).as_deref(), Some("errored"));
        assert_eq!(state([&*token, &stream_end].concat()).as_deref(), Some("completed"));
        assert_eq!(state([&*token, &title].concat()), None);
        assert_eq!(state([&*done, &token].concat()), None, "it goes on");
        assert_eq!(state(String::new()), None);
        assert!(end_of(&[&*done, "{\"ev"].concat()).is_unclear);
        assert!(end_of(&done.replace("\"r\"", "\"s\"")).is_unclear);
    }

    #[test]
    fn an_end_is_found_however_long_its_line_is() {
        let long = format!(
            "{}{}",
            line("done", 2, "\"terminal\":true,").replace("{\"terminal\":true}", &format!("\"{}\"", "x".repeat(700_000))),
            line("title", 3, "")
        );
        assert_eq!(end_of(&long).state.as_deref(), Some("completed"));
        let token = line("token", 2, "").replace("{\"terminal\":true}", &format!("\"{}\"", "x".repeat(700_000)));
        assert_eq!(end_of(&token).state, None);
    }
}
