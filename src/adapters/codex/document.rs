//! Sessions of the first version, in TypeScript: one JSON document with the list of
//! items as the API gave them. It can be shown, and never resumed.

use std::collections::HashMap;

use crate::adapters::format::{Check, ReadSummary};
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::document::{self, Document, DocumentPiece, Frame};
use crate::adapters::kit::mapping::Target::{List, To as Field};
use crate::adapters::kit::mapping::ValueKind::Any;
use crate::adapters::kit::mapping::{Table, To};
use crate::json::{self, Dialect, Kind, Member, Style};
use crate::model::event::{Body, Draft, EventKind, Outcome, Session, SessionKind};
use crate::model::files::{Files, RelPath};
use crate::model::finding::FindingCode;
use crate::model::heads::{HeadName, HeadOp, Repeat};
use crate::model::ids::Seq;
use crate::model::jsonl::{Lines, Newlines};
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::shape::{Order, Shapes};
use crate::model::stream::{LogAccess, RecordRenderer, RecordSink, StreamError};
use crate::runtimes::javascript::decode_utf8;
use crate::runtimes::rust;

use super::item::Item;
use super::lay::no_record_between;
use super::members::{members_of, text};
use super::message::{self, DEPTH_IN_DOCUMENT, DOCUMENT, Form, IN_DOCUMENT};
use super::names::{self, ID};
use super::repeated::repeated;

/// What such a file holds, in its recipe's words.
const HOLDS_ITEMS: &str = "items";

const TABLE: Table = Table(&[("session", Field("session", Any)), ("items", List)]);

/// Why nothing is shown of a document without a list.
const NOT_A_DOCUMENT: &str = "the rollout is not a document with items";

/// Whether a file is such a document, by its content.
pub(super) fn is_document(bytes: &[u8]) -> bool {
    parse(bytes).is_some()
}

fn parse(bytes: &[u8]) -> Option<Document<'_>> {
    let first = Lines::new(bytes, Newlines::LineFeed).find(|line| !rust::is_blank(line.text))?;
    let parsed = Document::parse(bytes, Dialect::Strict, &TABLE).ok()?;
    // A document has many lines, of which the first is an open brace.
    let is_one_line = rust::parse(first.text).is_some();
    let has_both = || parsed.get("session").is_some() && parsed.get("items").is_some();
    (if is_one_line { has_both() } else { first.text.trim_ascii() == b"{" }).then_some(parsed)
}

/// Converts the unit of such a document.
pub(super) fn read<'a>(
    files: &'a Files,
    path: &'a RelPath,
    bytes: &'a [u8],
    mut to: Conversion<'a, '_>,
) -> Result<ReadSummary, StreamError> {
    let mut shapes = Shapes::new(Order::default());
    let parsed = parse(bytes).filter(|parsed| parsed.get("items").is_some_and(|items| items.kind() == Kind::Array));
    let about: Vec<Member<'_>> =
        parsed.as_ref().and_then(|parsed| parsed.get("session")).map(|session| members_of(session.text())).unwrap_or_default();
    let named = names::parse(path.as_bytes()).map(|name| name.thread.to_owned());
    let id = text(&about, "id").or(named).unwrap_or_else(|| files.name().to_owned());
    to.put_json(
        EventKind::Session,
        &Session { above: names::above(path), created: text(&about, "timestamp"), ..Session::new(SessionKind::Session, ID, id) },
    )?;
    let mut outcome = Outcome { active: Some(HeadName::main().to_string()), ..Outcome::default() };
    let mut node = Seq::ROOT;
    let mut known = HashMap::new();
    match parsed {
        Some(parsed) => {
            let style = parsed.style(DOCUMENT.escapes);
            let mut payload = parsed.payload(&TABLE, &[("of", "\"file\"")], DOCUMENT.escapes);
            payload.push(b'}');
            let payload = decode_utf8(&payload);
            let frame = Frame::put(&mut to, &TABLE, &payload, style)?;
            let mut recipe = RecipeBuilder::default();
            for piece in parsed.pieces() {
                match piece {
                    DocumentPiece::Part(n, bytes) => frame.part(&mut to, &mut recipe, n, bytes)?,
                    DocumentPiece::Gap(bytes) => recipe.gap(&String::from_utf8_lossy(bytes)),
                    DocumentPiece::Record { value, end, .. } => {
                        recipe.line_end(&String::from_utf8_lossy(end));
                        item(&mut to, (&mut shapes, &mut known), &mut node, value.text(), style, &mut recipe)?;
                    }
                }
            }
            to.rebuilt(path, HOLDS_ITEMS, style.unless(DOCUMENT), recipe);
        }
        None => {
            to.findings.add(FindingCode::LoaderFails, Location::of_path(path), format!("Codex cannot show this session: {NOT_A_DOCUMENT}"));
            outcome.error = Some(NOT_A_DOCUMENT.to_owned());
            if !bytes.is_empty() {
                let seq = to.put_damage(path, 1, 0, "not_json", bytes)?;
                let mut recipe = RecipeBuilder::default();
                recipe.events(seq, seq, |_, _| false);
                to.rebuilt(path, HOLDS_ITEMS, None, recipe);
            }
        }
    }
    if node.is_root() {
        to.put_head(&HeadName::main(), node, HeadOp::Branch)?;
    }
    to.put_json(EventKind::Outcome, &outcome)?;
    to.events.close_facts(&HeadName::main().to_string())?;
    to.trailer(shapes.others())
}

/// Puts one item, or a repeat of the one that says the same.
fn item<'a>(
    to: &mut Conversion<'a, '_>,
    (shapes, known): (&mut Shapes, &mut HashMap<Vec<u8>, Seq>),
    node: &mut Seq,
    value: &'a [u8],
    style: Style,
    recipe: &mut RecipeBuilder,
) -> Result<(), StreamError> {
    let members: Vec<Member<'_>> = if json::kind_of(value) == Kind::Object { json::all_members(value) } else { Vec::new() };
    let item = text(&members, "type").map_or(Item::Unknown, |name| Item::named(&name));
    let says = [("words", IN_DOCUMENT)];
    let fits = super::record::judge_item(&members).is_ok();
    let drafted = message::draft_item(value, if fits { item } else { Item::Unknown }, &says, shapes);
    let Some(mut drafted) = drafted else { return Err(StreamError::log(*node, "has an item after it that cannot be said")) };
    if std::str::from_utf8(&drafted.payload).is_err() {
        drafted.payload = decode_utf8(&drafted.payload).into_owned();
    }
    *node = match known.get(&drafted.payload) {
        Some(message) => {
            let repeat = Repeat { first: *message, last: *message, source_id: None };
            to.events.put(Draft { ts: None, parent: Some(*node), body: Body::Repeat(&repeat) })?
        }
        None => {
            let message = to.put(EventKind::Message, None, Some(*node), &drafted.payload)?;
            known.insert(drafted.payload.clone(), message);
            message
        }
    };
    let mut rendered = Vec::new();
    let given: Vec<Member<'_>> = json::all_members(&drafted.payload);
    let done = message::render_message(
        &drafted.payload,
        &given,
        None,
        Form::Item,
        shapes,
        To { style, depth: DEPTH_IN_DOCUMENT, out: &mut rendered },
    );
    if to.check == Check::EachRecord && (done.is_none() || rendered != value) {
        let count = to.residual((*node, *node), &rendered, value);
        recipe.residual(count);
    } else {
        recipe.events(*node, *node, |end, next| no_record_between(to.events, end, next));
    }
    Ok(())
}

/// The renderer of such a file.
pub(super) fn renderer(holds: &str, style: Option<&str>, shapes: &Shapes) -> Option<Box<dyn RecordRenderer>> {
    (holds == HOLDS_ITEMS).then_some(())?;
    Some(Box::new(Items { style: Style::named(style, DOCUMENT)?, shapes: shapes.clone() }))
}

struct Items {
    style: Style,
    shapes: Shapes,
}

impl RecordRenderer for Items {
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        let message = if log.kind(seq) == EventKind::Repeat { repeated(log, seq)? } else { seq };
        if log.kind(message) != EventKind::Message {
            return Ok(());
        }
        let event = log.event(message)?;
        let given: Vec<Member<'_>> = json::all_members(event.payload);
        let mut record = Vec::new();
        let to = To { style: self.style, depth: DEPTH_IN_DOCUMENT, out: &mut record };
        message::render_message(event.payload, &given, None, Form::Item, &self.shapes, to)
            .ok_or_else(|| StreamError::log(seq, "names a shape that the log does not have"))?;
        out.record(&record)
    }

    fn render_own(&mut self, log: &mut dyn LogAccess, piece: &[u8], out: &mut dyn RecordSink) -> Result<(), StreamError> {
        let part = document::render_part(piece, &TABLE, self.style, log, out);
        part.unwrap_or_else(|| Err(StreamError::log(Seq::ROOT, "does not know a piece of this recipe")))
    }
}
