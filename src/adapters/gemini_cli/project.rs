//! The prompts of a project: a list of all that was typed, in any of its
//! sessions. They are facts of the project, and no session's messages.

use crate::json::{self, Dialect, Kind, Separators, Style};
use crate::model::event::EventKind;
use crate::model::files::RelPath;
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::model::loaded::{LoadOutcome, Loader};
use crate::model::recipe::RecipeBuilder;
use crate::model::stream::{LogAccess, RecordRenderer, RecordSink, StreamError};
use crate::model::time::is_log_time;
use crate::runtimes::javascript::decode_utf8;

use super::fields::member;
use super::lane::no_record_between;
use super::messages::WRITER;
use super::reader::Reader;
use super::schema::DOCUMENT;

/// What such a file holds, in its recipe's words.
pub(super) const HOLDS_PROMPTS: &str = "prompts";

impl<'a> Reader<'a, '_> {
    /// Reads a file of prompts; one that is not a list is carried as it is.
    pub(super) fn prompts(&mut self, path: &'a RelPath, bytes: &'a [u8]) -> Result<(), StreamError> {
        let Ok(scan) = json::scan_value(bytes, Dialect::Strict) else { return Ok(()) };
        let start = bytes.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(0);
        let list = &bytes[start..scan.end.max(start)];
        let is_list = json::kind_of(list) == Kind::Array && bytes[scan.end..].trim_ascii().is_empty();
        if !is_list || json::elements(list).next().is_none() || std::str::from_utf8(bytes).is_err() {
            return Ok(());
        }
        let separators = if list.get(1) == Some(&b'\n') { Separators::Indented } else { Separators::Compact };
        let style = Style { separators, escapes: WRITER };
        let offset = |part: &[u8]| part.as_ptr() as usize - bytes.as_ptr() as usize;
        let rows: Vec<&'a [u8]> = json::elements(list).collect();
        let mut recipe = RecipeBuilder::default();
        recipe.gap(&String::from_utf8_lossy(&bytes[..rows.first().map_or(0, |first| offset(first))]));
        for (n, row) in rows.iter().enumerate() {
            let after = offset(row) + row.len();
            let end = &bytes[after..rows.get(n + 1).map_or(bytes.len(), |next| offset(next))];
            recipe.line_end(&String::from_utf8_lossy(end));
            let mut payload = b"{\"type\":\"prompt\",\"data\":".to_vec();
            json::push_carried_value(row, WRITER, &mut payload);
            payload.push(b'}');
            let payload = decode_utf8(&payload);
            let time = if json::kind_of(row) == Kind::Object { member(row, "timestamp") } else { None };
            let time = time.and_then(|time| time.strip_prefix(b"\"")?.strip_suffix(b"\"")).filter(|time| is_log_time(time));
            let time = time.and_then(|time| std::str::from_utf8(time).ok());
            let seq = self.to.put(EventKind::Custom, time, None, &payload)?;
            let rendered = rendered(&payload, style);
            if rendered == *row {
                recipe.events(seq, seq, |end, next| no_record_between(self.to.events, end, next));
            } else {
                let count = self.to.residual((seq, seq), &rendered, row);
                recipe.residual(count);
            }
        }
        self.to.rebuilt(path, HOLDS_PROMPTS, style.unless(DOCUMENT), recipe);
        Ok(())
    }
}

fn rendered(payload: &[u8], style: Style) -> Vec<u8> {
    let mut out = Vec::new();
    style.push_value_at(member(payload, "data").unwrap_or(b"null"), 1, &mut out);
    out
}

/// The renderer of such files.
pub(super) fn renderer(style: Option<&str>) -> Option<Box<dyn RecordRenderer>> {
    Some(Box::new(Prompts(Style::named(style, DOCUMENT)?)))
}

struct Prompts(Style);

impl RecordRenderer for Prompts {
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        if log.kind(seq) != EventKind::Custom {
            return Ok(());
        }
        let record = rendered(log.event(seq)?.payload, self.0);
        out.record(&record)
    }

    fn render_own(&mut self, _: &mut dyn LogAccess, _: &[u8], _: &mut dyn RecordSink) -> Result<(), StreamError> {
        Err(StreamError::log(Seq::ROOT, "does not know a piece of this recipe"))
    }
}

/// The loader of files that are not sessions: the program shows no message of
/// them.
pub(super) struct NoMessages;

impl Loader for NoMessages {
    fn heads(&mut self) -> Vec<HeadName> {
        vec![HeadName::main()]
    }

    fn load(&mut self, head: Option<&HeadName>, _: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        LoadOutcome { active: head.is_none().then(HeadName::main), ..LoadOutcome::default() }
    }
}
