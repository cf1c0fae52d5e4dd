//! A whole file that is one JSON object: each of its members is a record, and
//! an event of its own.

use crate::adapters::format::Check;
use crate::adapters::kit::conversion::Conversion;
use crate::json::{self, Dialect, Escapes, Member, Separators, Style, Value};
use crate::model::event::EventKind;
use crate::model::files::RelPath;
use crate::model::finding::FindingCode;
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::stream::{LogAccess, RecordRenderer, RecordSink, StreamError};

/// What such a file holds, in its recipe's words.
pub(in crate::adapters) const MEMBERS: &str = "members";

/// As JavaScript writes a file for people.
pub(in crate::adapters) const USUAL: Style = Style { separators: Separators::Indented, escapes: Escapes::Utf8 };

/// Puts each member of a file as an event that says the file's name, the key
/// and the value; a file that is not an object is damage. Returns the members.
pub(in crate::adapters) fn read<'a>(
    to: &mut Conversion<'a, '_>,
    path: &'a RelPath,
    bytes: &'a [u8],
    program: &str,
) -> Result<Vec<Member<'a>>, StreamError> {
    let mut recipe = RecipeBuilder::default();
    let style = style_of(bytes);
    let mut members = Vec::new();
    let scanned = json::scan_object(bytes, Dialect::Strict, &mut members);
    let is_object = scanned.is_ok();
    if let Err(error) = scanned {
        members.clear();
        if !bytes.is_empty() {
            let message = format!("not a JSON object: {}; {program} takes it for empty; kept as damage", error.what);
            to.findings.add(FindingCode::NotJson, Location::of_offset(path.to_string(), bytes, error.at), message);
            let seq = to.put_damage(path, 1, 0, "not_json", bytes)?;
            recipe.events(seq, seq, |_, _| false);
        }
    }
    let starts: Vec<usize> = members.iter().map(|member| member.span_in(bytes).start).collect();
    let text = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
    if let Some(first) = starts.first() {
        recipe.gap(&text(&bytes[..*first]));
    } else if is_object {
        recipe.gap(&text(bytes));
    }
    for (n, member) in members.iter().enumerate() {
        let end = member.span_in(bytes).end;
        let after = &bytes[end..starts.get(n + 1).copied().unwrap_or(bytes.len())];
        let record = &bytes[starts[n]..end];
        let payload = payload(path, member, style.escapes);
        let seq = to.put(EventKind::Meta, None, None, &payload)?;
        recipe.line_end(&text(after));
        let rendered =
            (to.check == Check::EachRecord).then(|| rendered(Value::trusted(&payload), style)).filter(|rendered| rendered != record);
        match rendered {
            Some(rendered) => {
                let count = to.residual((seq, seq), &rendered, record);
                recipe.residual(count);
            }
            None => recipe.events(seq, seq, |end, next| next.number() == end.number() + 1),
        }
    }
    to.rebuilt(path, MEMBERS, style.unless(USUAL), recipe);
    Ok(members)
}

fn payload(path: &RelPath, member: &Member<'_>, writer: Escapes) -> Vec<u8> {
    let mut payload = b"{\"file\":".to_vec();
    json::push_string(&path.to_string(), &mut payload);
    payload.extend_from_slice(b",\"key\":");
    json::push_carried_string(member.key(), writer, &mut payload);
    payload.extend_from_slice(b",\"value\":");
    json::push_carried_value(member.value(), writer, &mut payload);
    payload.push(b'}');
    payload
}

fn rendered(payload: Value<'_>, style: Style) -> Vec<u8> {
    let mut out = Vec::new();
    style.push_value_at(payload.first("key").unwrap_or_default(), 1, &mut out);
    style.push_colon(&mut out);
    style.push_value_at(payload.first("value").unwrap_or_default(), 1, &mut out);
    out
}

/// Returns how a file is written, by what follows its first brace and colon.
fn style_of(bytes: &[u8]) -> Style {
    let inside = bytes.iter().position(|b| *b == b'{').and_then(|at| bytes.get(at + 1));
    let colon = memchr::memmem::find(bytes, b"\":").and_then(|at| bytes.get(at + 2));
    let separators = match (inside, colon) {
        (Some(b'\n' | b'\r'), _) => Separators::Indented,
        (_, Some(b' ')) => Separators::Spaced,
        (Some(b'}') | None, _) => Separators::Indented,
        _ => Separators::Compact,
    };
    Style { separators, escapes: Escapes::Utf8 }
}

/// Returns the renderer of such files.
pub(in crate::adapters) fn renderer(style: Option<&str>) -> Option<Box<dyn RecordRenderer>> {
    Some(Box::new(Members { style: Style::named(style, USUAL)? }))
}

struct Members {
    style: Style,
}

impl RecordRenderer for Members {
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        if log.kind(seq) != EventKind::Meta {
            return Ok(());
        }
        let record = rendered(log.event(seq)?.value(), self.style);
        out.record(&record)
    }

    fn render_own(&mut self, _: &mut dyn LogAccess, _: &[u8], _: &mut dyn RecordSink) -> Result<(), StreamError> {
        Err(StreamError::log(Seq::ROOT, "does not know a piece of this recipe"))
    }
}
