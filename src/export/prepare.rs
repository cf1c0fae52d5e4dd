//! From the events of a path to the entries of a target: what the target cannot
//! say becomes something that it can, or is left out, and each time that is
//! declared. A loss that is declared here may turn out to be none: the proof
//! compares, and strikes it.

use crate::adapters::exporter::{Exporter, Kinship};
use crate::api::{Media, Message, MessageKind, Part, Role, StopReason, ToolCall, ToolResult};
use crate::json::Value;
use crate::model::event::EventKind;
use crate::model::export::ability::Ability::{self, *};
use crate::model::export::ability::{Abilities, Need};
use crate::model::export::loss::{LossCode, Losses};
use crate::model::export::transcript::{Answer, Body, Call, CallResult, Image, Outcome, Piece, Stop, Tokens, text_of};
use crate::model::ids::Seq;

use super::arguments::object_of;
use super::carry::Origin;
use super::source::SourceEvent;

/// An entry to be, and the events that it is made of.
#[derive(Debug, Clone)]
pub struct Draft {
    /// What it says.
    pub body: Body,
    /// Its events.
    pub origin: Origin,
}

/// Turns events into drafts, one after the other.
pub struct Preparation<'e> {
    exporter: &'e dyn Exporter,
    abilities: Abilities,
    kinships: &'e [Kinship],
    /// That of the event at hand.
    kinship: Kinship,
    events: &'e [SourceEvent],
    drafts: Vec<Draft>,
    summary: Option<String>,
    losses: Losses,
}

/// A path that a target can say.
pub struct Prepared {
    /// Its entries to be.
    pub drafts: Vec<Draft>,
    /// What stands beside them for what is no longer among them.
    pub summary: Option<String>,
    /// What is lost.
    pub losses: Losses,
}

/// Prepares the events of a path for a target. `sent` is the summary that the
/// source's program sends before them.
#[must_use]
pub fn prepare<'e>(
    events: &'e [SourceEvent],
    kinships: &'e [Kinship],
    sent: Option<String>,
    exporter: &'e dyn Exporter,
    losses: Losses,
) -> Prepared {
    let abilities = exporter.abilities();
    let mut preparation =
        Preparation { exporter, abilities, kinships, kinship: Kinship::Foreign, events, drafts: Vec::new(), summary: None, losses };
    if let Some(summary) = sent {
        preparation.sent(summary);
    }
    for at in 0..events.len() {
        preparation.event(at);
    }
    Prepared { drafts: preparation.drafts, summary: preparation.summary, losses: preparation.losses }
}

impl Preparation<'_> {
    fn can(&self, ability: Ability) -> bool {
        self.abilities.can(ability)
    }

    fn put(&mut self, at: usize, body: Body) {
        self.drafts.push(Draft { body, origin: Origin::Events(vec![at]) });
    }

    /// The summary that is sent before all messages, unless it is one of them.
    fn sent(&mut self, summary: String) {
        let is_there = |event: &SourceEvent| {
            event.message.as_ref().is_some_and(|message| message.kind == MessageKind::Compaction && message.text() == summary)
        };
        if self.events.iter().any(is_there) {
            return;
        }
        if self.can(Summary) {
            self.summary = Some(summary);
            return;
        }
        self.losses.add(LossCode::SummaryInserted, Seq::new(1));
        let body = self.summary_body(summary);
        self.drafts.push(Draft { body, origin: Origin::Invented(None) });
    }

    fn event(&mut self, at: usize) {
        let event = &self.events[at];
        self.kinship = self.kinships[at];
        let seq = event.seq;
        let Some(message) = &event.message else { return self.entry(at) };
        if message.hidden_from.iter().any(|who| who == "model") {
            return self.losses.add(LossCode::HiddenDropped, seq);
        }
        self.losses.add(LossCode::PinDropped, seq);
        if message.role != Role::Assistant {
            // Only answers have a place for these.
            let has = [
                (LossCode::ModelDropped, message.model.is_some() || message.provider.is_some()),
                (LossCode::UsageDropped, message.usage.is_some()),
                (LossCode::CostDropped, message.usage.is_some_and(|usage| usage.cost.is_some())),
                (LossCode::StopReasonDropped, message.stop_reason.is_some()),
                (LossCode::ErrorDropped, message.error.is_some()),
            ];
            has.into_iter().filter(|(_, has)| *has).for_each(|(code, _)| self.losses.add(code, seq));
            if message.tool_calls().next().is_some() {
                self.losses.add(LossCode::PartDropped, seq);
            }
        }
        match message.kind {
            MessageKind::Compaction => self.compaction(at, message),
            MessageKind::BranchSummary if self.can(BranchSummaries) => self.put(at, Body::BranchSummary(message.text())),
            MessageKind::BranchSummary => self.summary(at, message),
            MessageKind::Message => self.message(at, message),
        }
    }

    /// Something on the path that is not a message.
    fn entry(&mut self, at: usize) {
        let event = &self.events[at];
        let value = Value::trusted(&event.payload);
        let word = |name| value.first(name).filter(|value| value.is_string()).map(|value| value.to_str().into_owned());
        let code = if event.kind == EventKind::ModelChange {
            if let (true, Some(provider), Some(model)) = (self.can(ModelChanges), word("provider"), word("model")) {
                return self.put(at, Body::Model { provider, model });
            }
            LossCode::SettingDropped
        } else if event.kind == EventKind::Meta {
            if let (true, Some(title)) = (self.can(TitleEntries), word("title")) {
                return self.put(at, Body::Title(title));
            }
            LossCode::EntryDropped
        } else if event.kind == EventKind::SettingChange {
            LossCode::SettingDropped
        } else if event.kind == EventKind::Label {
            LossCode::LabelDropped
        } else {
            LossCode::EntryDropped
        };
        self.losses.add(code, event.seq);
    }

    fn compaction(&mut self, at: usize, message: &Message) {
        if self.can(Summary) && self.drafts.is_empty() && self.summary.is_none() {
            self.losses.add(LossCode::SummaryBeside, self.events[at].seq);
            self.summary = Some(message.text());
            return;
        }
        // A path with edits is exported as it is shown, with the last compaction in
        // front: an older one that it keeps must not take away what it keeps too.
        let seq = self.events[at].seq;
        let is_kept = self.events[..at].iter().any(|event| event.kind == EventKind::Compaction && event.seq > seq);
        if !self.can(Compactions) || is_kept {
            return self.summary(at, message);
        }
        let value = Value::trusted(&self.events[at].payload);
        let kept = value.first("first_kept").and_then(Value::parse).map(Seq::new);
        let first_kept = kept.and_then(|kept| self.events[..at].iter().position(|event| event.seq == kept));
        let tokens_before = value.first("tokens_before").and_then(Value::parse).unwrap_or(0);
        self.put(at, Body::Compaction { summary: message.text(), first_kept, tokens_before });
    }

    fn summary(&mut self, at: usize, message: &Message) {
        let (seq, summary) = (self.events[at].seq, message.text());
        if summary.trim().is_empty() {
            return self.losses.add(LossCode::EmptyLeftOut, seq);
        }
        self.losses.add(LossCode::SummaryAsText, seq);
        if self.can(Notes) {
            // Its kind is where others have the name of who said something.
            self.losses.add(LossCode::SystemAsUser, seq);
        }
        let body = self.summary_body(summary);
        self.put(at, body);
    }

    fn summary_body(&self, summary: String) -> Body {
        let pieces = vec![Piece::Text(summary)];
        match (self.can(Notes), self.can(SystemMessages)) {
            (true, _) => Body::Note { kind: "summary".to_owned(), pieces },
            (false, true) => Body::System(text_of(&pieces)),
            (false, false) => Body::User(pieces),
        }
    }

    fn message(&mut self, at: usize, message: &Message) {
        let seq = self.events[at].seq;
        let is_answer = message.role == Role::Assistant;
        let mut pieces = Vec::new();
        for part in &message.parts {
            match part {
                Part::ToolResult(result) => {
                    self.flush(at, message, std::mem::take(&mut pieces));
                    self.result(at, result);
                }
                Part::ToolCall(call) => pieces.push(Piece::Call(self.call(seq, call))),
                Part::Text(_) | Part::Thinking(_) | Part::Image(_) | Part::File(_) | Part::Shell(_) | Part::Other(_) => {
                    pieces.extend(self.piece(seq, part));
                }
            }
        }
        let has_results = message.parts.iter().any(|part| matches!(part, Part::ToolResult(_)));
        if !has_results || !pieces.is_empty() || (is_answer && message.error.is_some()) {
            self.flush(at, message, pieces);
        }
    }

    /// Puts what was said beside results, or all of it where there are none.
    fn flush(&mut self, at: usize, message: &Message, mut pieces: Vec<Piece>) {
        let seq = self.events[at].seq;
        let is_thought = pieces.iter().all(|piece| match piece {
            Piece::Thinking { .. } => true,
            Piece::Text(text) => text.trim().is_empty(),
            Piece::Image(_) | Piece::Call(_) => false,
        });
        let has_thoughts = pieces.iter().any(|piece| matches!(piece, Piece::Thinking { .. }));
        // Only answers have a place for it, though others may hold some.
        let has_no_place = message.role != Role::Assistant || (is_thought && self.abilities.needs(Need::SpokenAnswers));
        if has_thoughts && has_no_place {
            self.losses.add(LossCode::ThinkingDropped, seq);
            pieces.retain(|piece| !matches!(piece, Piece::Thinking { .. }));
        }
        let is_blank = !pieces.iter().any(|piece| match piece {
            Piece::Text(text) => !text.trim().is_empty(),
            Piece::Thinking { .. } | Piece::Image(_) | Piece::Call(_) => true,
        });
        let has_blank = pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if text.trim().is_empty()));
        if has_blank || is_blank {
            self.losses.add(LossCode::EmptyLeftOut, seq);
        }
        let pieces: Vec<Piece> = pieces.into_iter().filter(|piece| !matches!(piece, Piece::Text(text) if text.trim().is_empty())).collect();
        let says_error = message.role == Role::Assistant && message.error.is_some() && self.can(Errors);
        if is_blank && !says_error {
            if message.error.is_some() {
                self.losses.add(LossCode::ErrorDropped, seq);
            }
            return;
        }
        let is_own_word = message.source_role.is_some();
        match message.role {
            Role::Assistant => self.answer(at, message, pieces),
            Role::System if self.can(SystemMessages) => {
                self.losses.add(LossCode::ImageDropped, seq);
                self.losses.add(LossCode::NameDropped, seq);
                if is_own_word {
                    self.losses.add(LossCode::RoleChanged, seq);
                }
                self.put(at, Body::System(text_of(&pieces)));
            }
            Role::System if !is_own_word && (self.is_first(at) || !self.can(Notes)) => self.losses.add(LossCode::SystemDropped, seq),
            Role::System if self.can(Notes) => {
                self.losses.add(if is_own_word { LossCode::RoleChanged } else { LossCode::SystemAsUser }, seq);
                self.losses.add(LossCode::NameDropped, seq);
                let kind = message.name.clone().or_else(|| message.source_role.clone()).unwrap_or_else(|| "system-note".to_owned());
                self.put(at, Body::Note { kind, pieces: without_calls(pieces) });
            }
            Role::System | Role::User | Role::Tool => {
                if message.role != Role::User || is_own_word {
                    self.losses.add(LossCode::RoleChanged, seq);
                }
                self.losses.add(LossCode::NameDropped, seq);
                self.put(at, Body::User(without_calls(pieces)));
            }
        }
    }

    /// Whether nothing was said before it.
    fn is_first(&self, at: usize) -> bool {
        !self.events[..at].iter().any(|event| event.message.as_ref().is_some_and(|message| message.role != Role::System))
    }

    fn answer(&mut self, at: usize, message: &Message, pieces: Vec<Piece>) {
        let seq = self.events[at].seq;
        let usage = message.usage.map(|usage| Tokens {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            reasoning: usage.reasoning,
            total: usage.total,
            cost: usage.cost,
        });
        // An answer that results interrupt is several answers: what it took counts
        // once.
        let is_own = |draft: &&Draft| matches!(&draft.origin, Origin::Events(of) if of.contains(&at));
        let is_again = self.drafts.iter().rev().take_while(is_own).any(|draft| matches!(draft.body, Body::Answer(_)));
        let usage = if self.can(Usage) && !is_again { usage } else { None };
        let kept = usage.map(|usage| self.exporter.counts(usage));
        if message.usage.is_some() && (!self.can(Usage) || kept != usage) {
            self.losses.add(LossCode::UsageDropped, seq);
        }
        if message.usage.is_some_and(|usage| usage.cost.is_some()) && !self.can(Costs) {
            self.losses.add(LossCode::CostDropped, seq);
        }
        let usage = kept;
        let (usage, is_filled) = if self.abilities.needs(Need::Usage) { filled(usage) } else { (usage, false) };
        if is_filled {
            self.losses.add(LossCode::UsageZeroed, seq);
        }
        let mut stop = if self.can(StopReasons) { message.stop_reason.and_then(stop) } else { None };
        if message.stop_reason.is_some() {
            self.losses.add(LossCode::StopReasonDropped, seq);
        }
        if self.abilities.needs(Need::StopReason) && stop.is_none() {
            let has_calls = pieces.iter().any(|piece| matches!(piece, Piece::Call(_)));
            let usual = if has_calls { Stop::ToolUse } else { Stop::EndTurn };
            stop = Some(if message.error.is_some() && self.can(Errors) { Stop::Error } else { usual });
            self.losses.add(LossCode::StopReasonInvented, seq);
        }
        let (mut model, mut provider) = (message.model.clone(), message.provider.clone());
        if !self.can(Models) || !self.can(Providers) {
            if model.is_some() || provider.is_some() {
                self.losses.add(LossCode::ModelDropped, seq);
            }
            model = model.filter(|_| self.can(Models));
            provider = provider.filter(|_| self.can(Providers));
        }
        let lacks_provider = self.can(Providers) && provider.is_none();
        if self.abilities.needs(Need::Model) && (model.is_none() || lacks_provider) {
            self.losses.add(LossCode::ModelInvented, seq);
            model.get_or_insert_with(|| "unknown".to_owned());
            if lacks_provider {
                provider = Some("everlog".to_owned());
            }
        }
        let error = message.error.clone().filter(|_| self.can(Errors) && !is_again);
        if message.error.is_some() && !self.can(Errors) {
            self.losses.add(LossCode::ErrorDropped, seq);
        }
        self.losses.add(LossCode::NameDropped, seq);
        if pieces.iter().any(|piece| matches!(piece, Piece::Image(_))) {
            self.losses.add(LossCode::ImageDropped, seq);
        }
        let mut pieces: Vec<Piece> = pieces.into_iter().filter(|piece| !matches!(piece, Piece::Image(_))).collect();
        if !self.can(Order) {
            self.losses.add(LossCode::OrderChanged, seq);
            // Stable: only calls go to the end, and thinking to the beginning.
            pieces.sort_by_key(|piece| match piece {
                Piece::Thinking { .. } => 0,
                Piece::Text(_) | Piece::Image(_) => 1,
                Piece::Call(_) => 2,
            });
        }
        self.put(at, Body::Answer(Answer { pieces, model, provider, usage, stop, error }));
    }

    fn call(&mut self, seq: Seq, call: &ToolCall) -> Call {
        let object = object_of(call.arguments.as_ref());
        if let Some(code) = object.loss {
            self.losses.add(code, seq);
        }
        Call { id: call.id.clone().unwrap_or_default(), name: call.name.clone().unwrap_or_default(), arguments: object.text }
    }

    fn result(&mut self, at: usize, result: &ToolResult) {
        let seq = self.events[at].seq;
        let mut pieces = Vec::new();
        for part in &result.content {
            let piece = self.piece(seq, part);
            if matches!((part, &piece), (Part::Image(_) | Part::File(_), Some(Piece::Text(_)))) {
                self.losses.add(LossCode::TextAltered, seq);
            }
            match piece {
                Some(Piece::Image(_)) if !self.can(ResultImages) => self.losses.add(LossCode::ImageDropped, seq),
                piece => pieces.extend(piece),
            }
        }
        if !self.can(ErrorFlags) && result.is_error == Some(true) {
            self.losses.add(LossCode::ErrorFlagLost, seq);
        }
        if self.abilities.needs(Need::FilledResults) && text_of(&pieces).trim().is_empty() {
            self.losses.add(LossCode::TextAltered, seq);
            pieces.push(Piece::Text("(no output)".to_owned()));
        }
        let outcome = if result.is_error == Some(true) { Outcome::Failed } else { Outcome::Done };
        let call_id = result.call_id.clone().unwrap_or_default();
        self.put(at, Body::Result(CallResult { call_id, name: result.name.clone().unwrap_or_default(), outcome, pieces }));
    }

    /// A part that is neither a call nor a result.
    fn piece(&mut self, seq: Seq, part: &Part) -> Option<Piece> {
        match part {
            Part::Text(text) => {
                if text.original().is_some() {
                    self.losses.add(LossCode::TextAltered, seq);
                }
                Some(Piece::Text(text.as_str().to_owned()))
            }
            Part::Thinking(thinking) => {
                let is_own = self.kinship == Kinship::SameFormat;
                if !(self.can(Thinking) || is_own && self.can(OwnThinking)) {
                    self.losses.add(LossCode::ThinkingDropped, seq);
                    return None;
                }
                let signature = thinking.signature.clone().filter(|_| is_own);
                if thinking.signature.is_some() && signature.is_none() {
                    self.losses.add(LossCode::SignatureDropped, seq);
                }
                Some(Piece::Thinking { text: thinking.text.as_str().to_owned(), signature })
            }
            Part::Image(media) => Some(match image(media) {
                Some(image) if self.can(Images) => {
                    if self.can(ImageFiles) {
                        self.losses.add(LossCode::ImageAsFile, seq);
                    }
                    if self.can(DearImages) {
                        self.losses.add(LossCode::ImageCosts, seq);
                    }
                    Piece::Image(image)
                }
                _ => {
                    self.losses.add(LossCode::ImageMissing, seq);
                    Piece::Text(format!("[image: {}]", named(media)))
                }
            }),
            Part::File(media) => {
                self.losses.add(LossCode::FileAsText, seq);
                Some(Piece::Text(format!("[file: {}]", named(media))))
            }
            Part::Shell(shell) => {
                self.losses.add(LossCode::ShellAsText, seq);
                Some(Piece::Text(format!("Ran `{}`\n```\n{}\n```", shell.command, shell.output)))
            }
            Part::Other(_) => {
                self.losses.add(LossCode::PartDropped, seq);
                None
            }
            Part::ToolCall(_) | Part::ToolResult(_) => None,
        }
    }
}

fn without_calls(pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.into_iter().filter(|piece| matches!(piece, Piece::Text(_) | Piece::Image(_))).collect()
}

/// The picture, where its bytes are at hand.
fn image(media: &Media) -> Option<Image> {
    let of_address = || {
        let (head, data) = media.uri.as_deref()?.strip_prefix("data:")?.split_once(',')?;
        let media_type = head.strip_suffix(";base64")?;
        Some((media_type.to_owned(), data.to_owned()))
    };
    let (media_type, data) = match &media.data {
        Some(data) => (media.media_type.clone().unwrap_or_default(), data.clone()),
        None => of_address()?,
    };
    let media_type = if media_type.is_empty() { "image/png".to_owned() } else { media_type };
    (!data.is_empty()).then_some(Image { media_type, data })
}

fn named(media: &Media) -> String {
    let address = || media.uri.clone().filter(|uri| !uri.starts_with("data:"));
    media.path.clone().or_else(address).or_else(|| media.name.clone()).unwrap_or_else(|| "without a name".to_owned())
}

/// Token counts in which nothing is missing, and whether something was.
fn filled(usage: Option<Tokens>) -> (Option<Tokens>, bool) {
    let before = usage.unwrap_or_default();
    let count = |count: Option<u64>| Some(count.unwrap_or(0));
    let parts = [before.input, before.output, before.cache_read, before.cache_write];
    let sum = parts.into_iter().flatten().fold(0_u64, u64::saturating_add);
    let after = Tokens {
        input: count(before.input),
        output: count(before.output),
        cache_read: count(before.cache_read),
        cache_write: count(before.cache_write),
        total: Some(before.total.unwrap_or(sum)),
        cost: Some(before.cost.unwrap_or(0.0)),
        reasoning: before.reasoning,
    };
    (Some(after), after != before || usage.is_none())
}

fn stop(reason: StopReason) -> Option<Stop> {
    match reason {
        StopReason::EndTurn => Some(Stop::EndTurn),
        StopReason::ToolUse => Some(Stop::ToolUse),
        StopReason::MaxTokens => Some(Stop::MaxTokens),
        StopReason::Aborted => Some(Stop::Aborted),
        StopReason::Error => Some(Stop::Error),
        StopReason::Other => None,
    }
}
