//! Messages and sessions without their secrets.

use crate::api::{Message, NamesOf, SaidIn, Session, TextToRewrite};

use super::bytes::{Carried, carried, encoded};
use super::redactor::Redactor;
use super::report::RemovedFrom;
use super::rules;

/// The placeholder's word for bytes that nobody can look into.
const FILE: &str = "file";

impl Redactor {
    /// Returns a message without its secrets, with its ids and signatures as
    /// they are; `None` where some text of it cannot be looked into, so that it
    /// has to be left out.
    pub fn message(&mut self, message: Message) -> Option<Message> {
        let seq = message.seq;
        let redacted =
            if rules::are_usable() { message.rewritten(&mut |said| self.said(&said, RemovedFrom::Message(seq))).ok() } else { None };
        if redacted.is_none() {
            self.leave_out(seq);
        }
        redacted
    }

    /// Returns what is said about a session, without its secrets. Its id stays.
    #[must_use]
    pub fn session(&mut self, mut session: Session) -> Session {
        let Session { title, cwd, created, model, summary, error, .. } = &mut session;
        for text in [title, cwd, created, model, summary, error].into_iter().flatten() {
            if let Some(new) = self.text(text, RemovedFrom::Session) {
                *text = new;
            }
        }
        session
    }

    fn said(&mut self, said: &TextToRewrite<'_>, place: RemovedFrom) -> Option<String> {
        // The payload says once more what the message says: it is counted there.
        let place = (said.place == SaidIn::Message).then_some(place);
        let member = said.member.unwrap_or_default();
        if said.names == NamesOf::Program && (member.ends_with("signature") || member.ends_with("Signature")) {
            return None;
        }
        if member == "data"
            && let Some(carried) = carried(said.text)
        {
            return self.carried(carried, said.text, place);
        }
        if let Some((head, base64)) = said.text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"))
            && let Some(carried) = carried(base64)
        {
            return self.carried(carried, base64, place).map(|new| format!("data:{head};base64,{new}"));
        }
        if rules::is_secret_member(member, said.text) {
            return Some(self.placeholder(said.text, rules::SECRET, place));
        }
        self.replaced(said.text, place)
    }

    /// Returns what takes the place of bytes in base64.
    fn carried(&mut self, carried: Carried, base64: &str, place: Option<RemovedFrom>) -> Option<String> {
        match carried {
            Carried::Picture => None,
            Carried::Text(text) => self.replaced(&text, place).map(|new| encoded(&new)),
            Carried::Unknown => Some(encoded(&self.placeholder(base64, FILE, place))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Part;
    use crate::model::event::{EventKind, EventRef};
    use crate::model::ids::Seq;
    use crate::model::shown::Shown;

    const KEY: &str = "AKIAIOSFODNN7EXAMPLE";

    fn message(payload: &str) -> Message {
        let event = EventRef { seq: Seq::new(5), ts: None, kind: EventKind::Message, parent: None, payload: payload.as_bytes() };
        Message::of(&Shown::plain(event), 0).unwrap().unwrap()
    }

    fn redact(payload: &str) -> (Option<Message>, Redactor) {
        let mut redactor = Redactor::new(&[]).unwrap();
        let redacted = redactor.message(message(payload));
        (redacted, redactor)
    }

    #[test]
    fn no_text_of_a_message_keeps_its_secret() {
        let payload = format!(
            r#"{{"role":"assistant","name":"{KEY}","model":"{KEY}","error":"{KEY}","content":[
            {{"type":"text","text":"{KEY}"}},{{"type":"text","text":{{"$raw":"\"\\ud800 {KEY}\""}}}},
            {{"type":"thinking","text":"{KEY}"}},
            {{"type":"tool_call","id":"1","name":"{KEY}","arguments":{{"{KEY}":["\u0041KIAIOSFODNN7EXAMPLE"]}}}},
            {{"type":"tool_call","id":"2","name":"x","arguments":"{{\"a\": \"\\u0041KIAIOSFODNN7EXAMPLE\"}}"}},
            {{"type":"tool_result","call_id":"1","content":[{{"type":"text","text":"{KEY}"}},{{"type":"file","path":"/{KEY}","uri":"x:{KEY}"}}]}},
            {{"type":"shell","command":"{KEY}","output":"{KEY}"}},
            {{"type":"new","x":{{"y":"{KEY}"}}}}],"ext":{{"z":"{KEY}"}}}}"#
        );
        let (redacted, redactor) = redact(&payload);
        let redacted = redacted.unwrap();
        let shown = format!("{redacted:?}").replace("\\u0041", "A");
        assert!(!shown.contains(KEY), "{shown}");
        let removed = &redactor.redactions().removed;
        assert_eq!((removed.len(), removed[0].placeholder.as_str()), (1, "[aws-key-1]"));
        // Each once, though the payload has all of them a second time.
        assert_eq!(removed[0].count, 16);
        assert_eq!(removed[0].places, [RemovedFrom::Message(Seq::new(5))]);
        assert!(serde_json::from_str::<serde_json::Value>(redacted.raw.as_str()).is_ok());
    }

    #[test]
    fn ids_and_signatures_stay() {
        let payload = format!(
            r#"{{"role":"assistant","source_id":"{KEY}1","content":[{{"type":"thinking","text":"t","signature":"sk-{0}"}},
            {{"type":"tool_call","id":"sk-{0}1","name":"n","arguments":{{"signature":"sk-{0}2"}}}}],"ext":{{"thoughtSignature":"sk-{0}3"}}}}"#,
            "a1".repeat(20)
        );
        let (redacted, _) = redact(&payload);
        let redacted = redacted.unwrap();
        let raw = redacted.raw.as_str();
        assert_eq!(raw.matches("sk-").count(), 3, "{raw}");
        assert!(raw.contains(r#"{"signature":"[api-key-1]"}"#) && raw.contains(&format!("{KEY}1")), "{raw}");
        assert_eq!(redacted.source_id, Some(format!("{KEY}1")));
    }

    #[test]
    fn a_member_with_the_name_of_a_secret_has_one() {
        let payload = r#"{"role":"assistant","content":[{"type":"tool_call","id":"1","name":"n","arguments":{"password":"abc def","pin":12345,"api_token":987654,"max_tokens":4096}}]}"#;
        let redacted = redact(payload).0.unwrap();
        let arguments = redacted.tool_calls().next().and_then(|call| call.arguments.as_ref()?.json()).unwrap();
        assert_eq!(arguments.as_str(), r#"{"password":"[secret-1]","pin":12345,"api_token":"[secret-2]","max_tokens":4096}"#);
    }

    #[test]
    fn what_cannot_be_looked_into_is_left_out() {
        let hidden = r#"{"role":"user","content":[{"type":"other","value":{"$raw":"{\"a\": NaN, \"k\": \"\\u0041KIA\"}"}}]}"#;
        let (redacted, redactor) = redact(hidden);
        assert_eq!(redacted, None);
        assert_eq!(redactor.redactions().left_out, [Seq::new(5)]);
    }

    #[test]
    fn files_are_looked_into_and_pictures_stay() {
        let text = encoded(&format!("key {KEY}"));
        let picture = "iVBORw0KGgoAAAANSUhEUg==";
        let unknown = "/////w==";
        let payload = format!(
            r#"{{"role":"user","content":[{{"type":"file","data":"{text}"}},{{"type":"image","data":"{picture}"}},{{"type":"file","data":"{unknown}"}},{{"type":"image","uri":"data:image/svg+xml;base64,{text}"}}]}}"#
        );
        let redacted = redact(&payload).0.unwrap();
        let media: Vec<_> =
            redacted.parts.iter().map(|part| if let Part::File(media) | Part::Image(media) = part { media } else { panic!() }).collect();
        assert_eq!(media[0].data.as_deref(), Some(encoded("key [aws-key-1]").as_str()));
        assert_eq!(media[1].data.as_deref(), Some(picture));
        assert_eq!(media[2].data.as_deref(), Some(encoded("[file-1]").as_str()));
        assert_eq!(media[3].uri, Some(format!("data:image/svg+xml;base64,{}", encoded("key [aws-key-1]"))));
        assert!(!redacted.raw.as_str().contains(&text));
    }
}
