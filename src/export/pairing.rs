//! What makes a request valid: every call has its result directly after it, no
//! result is without a call, ids and names are in a form that every provider
//! takes, and the model never speaks first.

use std::collections::{HashMap, HashSet};

use crate::model::export::ability::{Abilities, Need};
use crate::model::export::loss::{LossCode, Losses};
use crate::model::export::transcript::{Answer, Body, CallResult, Outcome, Piece, Seed, text_of};

use super::carry::Origin;
use super::prepare::Draft;
use super::source::SourceEvent;

/// What a call gets that was never answered.
const NO_RESULT: &str = "(no result: the session ended here)";
/// What precedes an answer that no question precedes.
const NO_BEGINNING: &str = "(the beginning is missing)";

/// The longest id that every provider takes.
const LONGEST_ID: usize = 40;
/// The longest name of a tool.
const LONGEST_NAME: usize = 64;

/// Pairs calls with their results and makes ids fit.
pub struct Pairing<'a> {
    /// The events that drafts are made of.
    pub events: &'a [SourceEvent],
    /// Where new ids come from.
    pub seed: &'a Seed,
    /// What is lost.
    pub losses: &'a mut Losses,
}

impl Pairing<'_> {
    fn lose(&mut self, code: LossCode, origin: &Origin) {
        let of: Vec<usize> = match origin {
            Origin::Invented(of) => of.iter().copied().collect(),
            Origin::Events(of) => of.clone(),
        };
        for at in of {
            self.losses.add(code, self.events[at].seq);
        }
    }

    /// Brings drafts into an order that every provider takes.
    pub fn settle(&mut self, drafts: Vec<Draft>, abilities: Abilities) -> Vec<Draft> {
        let drafts = self.paired(drafts);
        let drafts = self.begun_by_the_user(drafts);
        let drafts = if abilities.needs(Need::SingleAnswers) { self.joined(drafts) } else { drafts };
        if abilities.needs(Need::SingleParts) { drafts.into_iter().flat_map(single_parts).collect() } else { drafts }
    }

    fn paired(&mut self, drafts: Vec<Draft>) -> Vec<Draft> {
        let mut left: Vec<Option<Draft>> = drafts.into_iter().map(Some).collect();
        // Where the results of an id are, last first.
        let mut results: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, draft) in left.iter().enumerate().rev() {
            if let Some(Draft { body: Body::Result(result), .. }) = draft {
                results.entry(result.call_id.clone()).or_default().push(at);
            }
        }
        let mut names = Names::default();
        // What each call was answered with.
        let mut answers: HashMap<String, String> = HashMap::new();
        let mut out = Vec::with_capacity(left.len());
        for at in 0..left.len() {
            let Some(mut draft) = left[at].take() else { continue };
            let Body::Answer(answer) = &mut draft.body else {
                if let Body::Result(result) = &draft.body {
                    // Some programs write each result twice.
                    if answers.get(&result.call_id).is_some_and(|said| *said == text_of(&result.pieces)) {
                        self.lose(LossCode::ResultRepeated, &draft.origin);
                        continue;
                    }
                    draft = self.orphan(draft);
                }
                out.push(draft);
                continue;
            };
            let mut answered: Vec<(usize, Draft)> = Vec::new();
            let origin = draft.origin.clone();
            for place in 0..answer.pieces.len() {
                let Piece::Call(call) = &mut answer.pieces[place] else { continue };
                let old = call.id.clone();
                call.id = names.id(&old, || format!("call_{}", &self.seed.derive(&format!("{at}#{place}"))[..24]));
                let name = fitting_name(&call.name);
                if call.id != old {
                    self.lose(LossCode::CallIdChanged, &origin);
                }
                if name != call.name {
                    self.lose(LossCode::ToolNameChanged, &origin);
                    call.name = name;
                }
                let list = results.get_mut(&old);
                // The first result after the call, and not one before it.
                let found = list.and_then(|list| {
                    while list.last().is_some_and(|result| *result < at) {
                        list.pop();
                    }
                    list.pop()
                });
                let (id, name) = (call.id.clone(), call.name.clone());
                match found.and_then(|found| left[found].take().map(|draft| (found, draft))) {
                    Some((found, mut result)) => {
                        if let Body::Result(said) = &result.body {
                            answers.insert(old, text_of(&said.pieces));
                        }
                        self.name_result(&mut result, &id, &name);
                        answered.push((found, result));
                    }
                    None => {
                        self.lose(LossCode::CallClosed, &origin);
                        answered.push((usize::MAX, closed(&origin, id, name)));
                    }
                }
            }
            answered.sort_by_key(|(found, _)| *found);
            let is_next = |n: usize, found: usize| found == usize::MAX || found == at + 1 + n;
            for (n, (found, result)) in answered.iter().enumerate() {
                if !is_next(n, *found) && !left[at + 1..*found].iter().all(Option::is_none) {
                    self.lose(LossCode::OrderChanged, &result.origin);
                }
            }
            out.push(draft);
            out.extend(answered.into_iter().map(|(_, result)| result));
        }
        out
    }

    fn name_result(&mut self, draft: &mut Draft, id: &str, name: &str) {
        let origin = draft.origin.clone();
        let Body::Result(result) = &mut draft.body else { return };
        if result.call_id != id {
            result.call_id = id.to_owned();
            self.lose(LossCode::CallIdChanged, &origin);
        }
        result.name = name.to_owned();
    }

    /// A result that answers no call is a message of the user.
    fn orphan(&mut self, draft: Draft) -> Draft {
        self.lose(LossCode::ResultAsText, &draft.origin);
        let Body::Result(result) = draft.body else { return draft };
        let of = if result.name.is_empty() { "[result]".to_owned() } else { format!("[result of {}]", result.name) };
        let images = result.pieces.iter().filter(|piece| matches!(piece, Piece::Image(_))).cloned();
        let mut pieces = vec![Piece::Text(format!("{of} {}", text_of(&result.pieces)).trim_end().to_owned())];
        pieces.extend(images);
        Draft { body: Body::User(pieces), origin: draft.origin }
    }

    fn begun_by_the_user(&mut self, mut drafts: Vec<Draft>) -> Vec<Draft> {
        let first = drafts.iter().position(|draft| match draft.body {
            Body::User(_) | Body::Answer(_) | Body::Note { .. } | Body::BranchSummary(_) | Body::Result(_) => true,
            Body::System(_) | Body::Compaction { .. } | Body::Model { .. } | Body::Title(_) => false,
        });
        let Some(first) = first.filter(|first| matches!(drafts[*first].body, Body::Answer(_))) else { return drafts };
        let origin = drafts[first].origin.clone();
        self.lose(LossCode::TextAltered, &origin);
        let of = match origin {
            Origin::Invented(of) => of,
            Origin::Events(of) => of.first().copied(),
        };
        let body = Body::User(vec![Piece::Text(NO_BEGINNING.to_owned())]);
        drafts.insert(first, Draft { body, origin: Origin::Invented(of) });
        drafts
    }

    fn joined(&mut self, drafts: Vec<Draft>) -> Vec<Draft> {
        let mut out: Vec<Draft> = Vec::with_capacity(drafts.len());
        for draft in drafts {
            match (out.last_mut(), draft) {
                (
                    Some(Draft { body: Body::Answer(before), origin: Origin::Events(of) }),
                    Draft { body: Body::Answer(answer), origin: Origin::Events(more) },
                ) if before.calls().next().is_none() => {
                    of.extend(more);
                    join(before, answer);
                    let origin = Origin::Events(of.clone());
                    self.lose(LossCode::Joined, &origin);
                }
                (_, draft) => out.push(draft),
            }
        }
        out
    }
}

fn join(before: &mut Answer, answer: Answer) {
    before.pieces.extend(answer.pieces);
    before.model = answer.model.or(before.model.take());
    before.provider = answer.provider.or(before.provider.take());
    before.usage = answer.usage.or(before.usage);
    before.stop = answer.stop.or(before.stop);
    before.error = answer.error.or(before.error.take());
}

/// Takes an answer apart: thoughts that follow each other stay together, and so do
/// texts. What holds for the answer as a whole is said once.
fn single_parts(draft: Draft) -> Vec<Draft> {
    let Body::Answer(mut answer) = draft.body else { return vec![draft] };
    let mut parts: Vec<Vec<Piece>> = Vec::new();
    for piece in std::mem::take(&mut answer.pieces) {
        match (parts.last_mut(), &piece) {
            (Some(part), Piece::Text(_)) if matches!(part[..], [Piece::Text(_), ..]) => part.push(piece),
            // A signature ends what it is of.
            (Some(part), Piece::Thinking { .. }) if matches!(part[..], [.., Piece::Thinking { signature: None, .. }]) => part.push(piece),
            (_, _) => parts.push(vec![piece]),
        }
    }
    let mut rest = parts.into_iter();
    answer.pieces = rest.next().unwrap_or_default();
    let others = rest.map(|pieces| Answer { pieces, usage: None, stop: None, error: None, ..answer.clone() }).collect::<Vec<_>>();
    let origin = draft.origin;
    std::iter::once(answer).chain(others).map(|answer| Draft { body: Body::Answer(answer), origin: origin.clone() }).collect()
}

fn closed(origin: &Origin, call_id: String, name: String) -> Draft {
    let of = match origin {
        Origin::Invented(of) => *of,
        Origin::Events(of) => of.first().copied(),
    };
    let pieces = vec![Piece::Text(NO_RESULT.to_owned())];
    Draft { body: Body::Result(CallResult { call_id, name, outcome: Outcome::Failed, pieces }), origin: Origin::Invented(of) }
}

/// The ids that are taken.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    /// An id that fits and is not taken.
    fn id(&mut self, old: &str, new: impl Fn() -> String) -> String {
        let fits = (1..=LONGEST_ID).contains(&old.len()) && old.bytes().all(is_fit);
        let id = if fits && !self.0.contains(old) { old.to_owned() } else { new() };
        self.0.insert(id.clone());
        id
    }
}

fn is_fit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// The name with `_` in the place of every character that providers refuse.
fn fitting_name(name: &str) -> String {
    let fitting: String = name.chars().map(|c| if c.is_ascii() && is_fit(c as u8) { c } else { '_' }).take(LONGEST_NAME).collect();
    if fitting.is_empty() { "unknown".to_owned() } else { fitting }
}
