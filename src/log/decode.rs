//! One line of a log to an event. Our own lines are read by their exact
//! prefix; what another writer may have put differently goes the general way.

use crate::json::{self, Dialect, Value};
use crate::model::event::{EventKind, EventRef};
use crate::model::ids::Seq;

/// Reads one line without its `\n`.
///
/// # Errors
/// With what is wrong, in words that follow "line 7 …".
pub fn decode_line(line: &[u8]) -> Result<EventRef<'_>, &'static str> {
    match decode_own(line) {
        Some(event) => Ok(event),
        None => decode_any(line),
    }
}

fn decode_own(line: &[u8]) -> Option<EventRef<'_>> {
    let rest = line.strip_prefix(b"{\"seq\":")?;
    let (seq, mut rest) = leading_number(rest)?;
    let mut ts = None;
    if let Some(quoted) = rest.strip_prefix(b",\"ts\":\"") {
        let end = memchr::memchr2(b'"', b'\\', quoted)?;
        ts = Some(std::str::from_utf8(&quoted[..end]).ok()?);
        rest = quoted[end..].strip_prefix(b"\"")?;
    }
    let rest = rest.strip_prefix(b",\"type\":\"")?;
    let end = memchr::memchr2(b'"', b'\\', rest)?;
    let kind = EventKind::from_name(&rest[..end]);
    let mut rest = rest[end..].strip_prefix(b"\"")?;
    let mut parent = None;
    if let Some(number) = rest.strip_prefix(b",\"parent\":") {
        let (above, after) = leading_number(number)?;
        (parent, rest) = (Some(above), after);
    }
    let payload = rest.strip_prefix(b",\"payload\":")?.strip_suffix(b"}")?;
    (payload.first() == Some(&b'{')).then_some(EventRef { seq, ts, kind, parent, payload })
}

fn leading_number(text: &[u8]) -> Option<(Seq, &[u8])> {
    let mut number = 0_u32;
    let mut len = 0;
    while let Some(digit @ b'0'..=b'9') = text.get(len) {
        number = number.checked_mul(10)?.checked_add(u32::from(digit - b'0'))?;
        len += 1;
    }
    (len > 0).then(|| (Seq::new(number), &text[len..]))
}

fn decode_any(line: &[u8]) -> Result<EventRef<'_>, &'static str> {
    let mut members = Vec::new();
    json::scan_object(line, Dialect::Strict, &mut members).map_err(|_| "is not a JSON object")?;
    let mut event = EventRef { seq: Seq::ROOT, ts: None, kind: EventKind::Unknown, parent: None, payload: b"{}" };
    let number = |value: Value<'_>| leading_number(value.text()).filter(|(_, rest)| rest.is_empty()).map(|(seq, _)| seq);
    for member in members {
        match member.name().as_ref() {
            "seq" => event.seq = number(member.value()).ok_or("has no whole number as `seq`")?,
            "parent" => event.parent = Some(number(member.value()).ok_or("has no whole number as `parent`")?),
            "ts" => {
                let inner = member.value().text().strip_prefix(b"\"").and_then(|v| v.strip_suffix(b"\"")).ok_or("has no text as `ts`")?;
                event.ts = Some(std::str::from_utf8(inner).map_err(|_| "is not UTF-8")?);
            }
            "type" => event.kind = EventKind::from_name(member.value().as_str().unwrap_or_default().as_bytes()),
            "payload" if member.value().is_object() => event.payload = member.value().text(),
            "payload" => return Err("has a payload that is not an object"),
            _ => {}
        }
    }
    if event.seq.is_root() { Err("has no `seq`") } else { Ok(event) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_lines_and_everyone_elses_read_alike() {
        let own = br#"{"seq":7,"ts":"2026-06-19T03:14:07Z","type":"message","parent":6,"payload":{"role":"user"}}"#;
        let other = br#"{ "type":"message", "parent":6, "payload":{"role":"user"}, "ts":"2026-06-19T03:14:07Z", "seq":7, "new":1 }"#;
        for line in [&own[..], other] {
            let event = decode_line(line).unwrap();
            assert_eq!((event.seq, event.parent, event.kind), (Seq::new(7), Some(Seq::new(6)), EventKind::Message));
            assert_eq!((event.ts, event.payload), (Some("2026-06-19T03:14:07Z"), &br#"{"role":"user"}"#[..]));
        }
        assert_eq!(decode_line(br#"{"seq":1,"type":"hologram","payload":{}}"#).unwrap().kind, EventKind::Unknown);
        assert!(decode_line(b"{\"seq\":1").is_err());
        assert!(decode_line(br#"{"type":"message","payload":{}}"#).is_err());
        assert!(decode_line(br#"{"seq":1,"type":"message","payload":[]}"#).is_err());
    }
}
