//! One message as an article of a page.

use crate::api::{Message, MessageKind, OtherFacts, Part, Role, StopReason, Usage};

use super::escape::{push_escaped, without_colours};
use super::markdown::{code_block, push_markdown};
use super::media::push_media;
use super::tool::{first_line, push_call, push_result, said_by_call};

/// What a filter of the page hides and shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    User,
    Assistant,
    System,
    Tool,
    Summary,
    Thinking,
    Calls,
    Results,
    Failures,
}

impl Kind {
    /// Returns its word in the page, and the one that a person reads.
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::User => ("user", "User"),
            Kind::Assistant => ("assistant", "Assistant"),
            Kind::System => ("system", "System"),
            Kind::Tool => ("tool", "Tool"),
            Kind::Summary => ("summary", "Summaries"),
            Kind::Thinking => ("think", "Thinking"),
            Kind::Calls => ("call", "Tool calls"),
            Kind::Results => ("result", "Tool results"),
            Kind::Failures => ("error", "Failures"),
        }
    }
}

/// Returns the kind that a message is as a whole.
fn kind_of(message: &Message) -> Kind {
    match (message.kind, message.role) {
        (MessageKind::Compaction | MessageKind::BranchSummary, _) => Kind::Summary,
        (MessageKind::Message, Role::User) => Kind::User,
        (MessageKind::Message, Role::Assistant) => Kind::Assistant,
        (MessageKind::Message, Role::System) => Kind::System,
        (MessageKind::Message, Role::Tool) => Kind::Tool,
    }
}

/// Returns everything that a filter could hide of a message.
pub(super) fn kinds(message: &Message) -> Vec<Kind> {
    let mut kinds = vec![kind_of(message)];
    for part in &message.parts {
        match part {
            Part::Thinking(_) => kinds.push(Kind::Thinking),
            Part::ToolCall(_) => kinds.push(Kind::Calls),
            Part::ToolResult(result) => {
                kinds.push(Kind::Results);
                kinds.extend((result.is_error == Some(true)).then_some(Kind::Failures));
            }
            Part::Text(_) | Part::Image(_) | Part::File(_) | Part::Shell(_) | Part::Other(_) => {}
        }
    }
    kinds.extend(message.error.is_some().then_some(Kind::Failures));
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// How an article differs from others with the same message.
pub(super) struct Standing<'a> {
    /// The number of the message in the page.
    pub(super) place: usize,
    /// How often it stood on the path before.
    pub(super) again: usize,
    /// Whether a later compaction took it out of what the model is given.
    pub(super) context: Context,
    /// What the turn came to that begins here.
    pub(super) turn: Option<&'a str>,
}

/// Whether a model is still given a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    Given,
    Compacted,
}

/// Appends a message as an article.
pub(super) fn push_article(message: &Message, standing: &Standing<'_>, out: &mut String) {
    let kind = kind_of(message);
    out.push_str(&format!("<article id=m{}", message.seq));
    if standing.again > 0 {
        out.push_str(&format!("-{}", standing.again + 1));
    }
    out.push_str(&format!(" data-p={} class=\"m {}", standing.place, kind.words().0));
    let says = |part: &Part| match part {
        Part::Text(text) => !text.as_str().trim().is_empty(),
        Part::Image(_) | Part::File(_) | Part::Shell(_) | Part::Other(_) => true,
        Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) => false,
    };
    let says_something = message.parts.iter().any(says) || message.error.is_some();
    if says_something {
        out.push_str(" t");
    } else if let [only] = *kinds(message).iter().filter(|of| **of > Kind::Summary && **of != Kind::Failures).collect::<Vec<_>>() {
        out.push_str(" only-");
        out.push_str(only.words().0);
    }
    if standing.context == Context::Compacted {
        out.push_str(" gone");
    }
    out.push_str("\">");
    push_header(message, kind, standing, out);
    out.push_str("<div class=body>");
    for part in &message.parts {
        push_part(part, message.role, out);
    }
    if let Some(error) = &message.error
        && *error != message.text()
    {
        out.push_str("<p class=\"error note\">");
        push_escaped(error, out);
        out.push_str("</p>");
    }
    out.push_str("</div></article>\n");
}

fn push_header(message: &Message, kind: Kind, standing: &Standing<'_>, out: &mut String) {
    out.push_str("<header><b>");
    out.push_str(match message.kind {
        MessageKind::Compaction => "Compaction",
        MessageKind::BranchSummary => "Summary of a branch",
        MessageKind::Message => kind.words().1,
    });
    out.push_str("</b>");
    if let Some(own) = message.name.as_ref().or(message.source_role.as_ref()).filter(|_| message.kind == MessageKind::Message) {
        out.push_str("<i class=as>");
        push_escaped(own, out);
        out.push_str("</i>");
    }
    if let Some(ts) = &message.ts {
        out.push_str("<time datetime=\"");
        push_escaped(ts, out);
        out.push_str("\">");
        push_escaped(&shown_time(ts), out);
        out.push_str("</time>");
    }
    if let Some(model) = &message.model {
        out.push_str("<span class=model>");
        push_escaped(model, out);
        out.push_str("</span>");
    }
    if let Some(usage) = message.usage.as_ref().map(usage_words).filter(|words| !words.is_empty()) {
        out.push_str("<span>");
        out.push_str(&usage);
        out.push_str("</span>");
    }
    if standing.context == Context::Compacted {
        out.push_str("<span class=mark>compacted</span>");
    }
    if !message.hidden_from.is_empty() {
        out.push_str("<span class=mark>hidden from ");
        push_escaped(&message.hidden_from.join(", "), out);
        out.push_str("</span>");
    }
    if let Some(end) = message.stop_reason.and_then(bad_end) {
        out.push_str("<span class=\"mark error\">");
        out.push_str(end);
        out.push_str("</span>");
    }
    if let Some(turn) = standing.turn {
        out.push_str("<span class=turn>");
        out.push_str(turn);
        out.push_str("</span>");
    }
    let seq = message.seq;
    out.push_str(&format!("<a class=here href=#m{seq} title=\"Link to this message\">#{seq}</a></header>"));
}

/// What is said of a message that did not end well.
fn bad_end(stop: StopReason) -> Option<&'static str> {
    match stop {
        StopReason::Aborted => Some("interrupted"),
        StopReason::Error => Some("failed"),
        StopReason::MaxTokens => Some("cut off at its longest length"),
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Other => None,
    }
}

/// A time as it is read: the source's own, without fractions.
pub(super) fn shown_time(ts: &str) -> String {
    let Some((day, time)) = ts.split_once('T') else { return ts.to_owned() };
    let zone = time.find(['Z', '+', '-']).map_or("", |at| &time[at..]);
    let clock = time.get(..8).unwrap_or(time);
    let zone = if matches!(zone, "Z" | "+00:00") {
        " UTC".to_owned()
    } else if zone.is_empty() {
        String::new()
    } else {
        format!(" {zone}")
    };
    format!("{day} {clock}{zone}")
}

fn usage_words(usage: &Usage) -> String {
    let count = |tokens: Option<u64>, word: &str| tokens.filter(|tokens| *tokens > 0).map(|tokens| format!("{} {word}", thousands(tokens)));
    let tokens = [count(usage.input, "in"), count(usage.output, "out"), count(usage.cache_read, "cached")];
    let mut words: Vec<String> = tokens.into_iter().flatten().collect();
    words.extend(usage.cost.filter(|cost| *cost > 0.0).map(money));
    words.join(" · ")
}

/// An amount of dollars, with cents or, where it is smaller, with what there is.
pub(super) fn money(cost: f64) -> String {
    if cost >= 0.1 { format!("${cost:.2}") } else { format!("${cost:.4}") }
}

/// A number with its thousands apart.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn push_part(part: &Part, role: Role, out: &mut String) {
    match part {
        Part::Text(text) if text.as_str().trim().is_empty() => {}
        Part::Text(text) if role == Role::Tool => push_output(text.as_str(), out),
        Part::Text(text) => {
            out.push_str("<div class=md>");
            push_markdown(text.as_str(), out);
            out.push_str("</div>");
        }
        Part::Thinking(thinking) => {
            let first = first_line(thinking.text.as_str());
            out.push_str("<details class=think><summary><b>thinking</b> ");
            push_escaped(if first.is_empty() { "that its provider keeps to itself" } else { &first }, out);
            out.push_str("</summary><div class=md>");
            push_markdown(thinking.text.as_str(), out);
            out.push_str("</div></details>");
        }
        Part::Image(media) | Part::File(media) => push_media(media, out),
        Part::ToolCall(call) => push_call(call, out),
        Part::ToolResult(result) => push_result(result, out),
        Part::Shell(shell) => {
            out.push_str("<div class=shell>");
            out.push_str(&code_block(&format!("$ {}", shell.command), "bash"));
            if !shell.output.as_str().is_empty() {
                push_output(shell.output.as_str(), out);
            }
            if let Some(code) = shell.exit_code.filter(|code| *code != 0) {
                out.push_str(&format!("<p class=\"error note\">exit code {code}</p>"));
            }
            out.push_str("</div>");
        }
        Part::Other(json) => {
            out.push_str("<details class=\"raw other\"><summary>");
            push_escaped(&first_line(&OtherFacts::of(json).line()), out);
            out.push_str("</summary>");
            out.push_str(&code_block(json.as_str(), "json"));
            out.push_str("</details>");
        }
    }
}

/// Appends what a program printed. A long output is folded.
fn push_output(text: &str, out: &mut String) {
    const SHORT: usize = 12;
    let text = without_colours(text);
    let lines = text.lines().count();
    let is_long = lines > SHORT;
    if is_long {
        out.push_str("<details class=output><summary><code>");
        push_escaped(&first_line(&text), out);
        out.push_str(&format!("</code> <small>{lines} lines</small></summary>"));
    }
    out.push_str("<pre class=out>");
    push_escaped(&text, out);
    out.push_str(if is_long { "</pre></details>" } else { "</pre>" });
}

/// Returns what is searched of a message: what was said and called, and the
/// beginning of what tools printed.
#[must_use]
pub fn searched_text(message: &Message) -> String {
    const OF_A_RESULT: usize = 4_000;
    let mut texts = Vec::new();
    for part in &message.parts {
        texts.push(match part {
            Part::Text(text) => text.as_str().to_owned(),
            Part::Thinking(thinking) => thinking.text.as_str().to_owned(),
            Part::ToolCall(call) => said_by_call(call),
            Part::ToolResult(result) => result.text().chars().take(OF_A_RESULT).collect(),
            Part::Shell(shell) => format!("{}\n{}", shell.command, shell.output),
            Part::Image(media) | Part::File(media) => media.name.clone().or_else(|| media.path.clone()).unwrap_or_default(),
            Part::Other(_) => String::new(),
        });
    }
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!((thousands(999), thousands(1_234_567)), ("999".to_owned(), "1,234,567".to_owned()));
        assert_eq!((money(0.00123), money(1.5)), ("$0.0012".to_owned(), "$1.50".to_owned()));
        assert_eq!(shown_time("2026-01-02T08:00:03.123Z"), "2026-01-02 08:00:03 UTC");
        assert_eq!(shown_time("2026-01-02T08:00:03+02:00"), "2026-01-02 08:00:03 +02:00");
        assert_eq!(shown_time("2026-01-02T08:00:03"), "2026-01-02 08:00:03");
    }
}
