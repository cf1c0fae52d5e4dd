//! The parts of an item's content.

use crate::json::Value;

use super::object::Object;

/// What a part is, by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    InputText,
    OutputText,
    InputImage,
    InputAudio,
    EncryptedContent,
    SummaryText,
    ReasoningText,
    Text,
}

/// What is sent in place of an image that lies on another machine.
const REMOTE_IMAGE: &str = "image content omitted because remote image URLs are not supported";

impl Part {
    pub(super) const OF_MESSAGE: [Part; 4] = [Part::InputText, Part::OutputText, Part::InputImage, Part::InputAudio];
    pub(super) const OF_AGENT: [Part; 2] = [Part::InputText, Part::EncryptedContent];
    const OF_OUTPUT: [Part; 4] = [Part::InputText, Part::InputImage, Part::InputAudio, Part::EncryptedContent];
    const ALL: [Part; 8] = [
        Part::InputText,
        Part::OutputText,
        Part::InputImage,
        Part::InputAudio,
        Part::EncryptedContent,
        Part::SummaryText,
        Part::ReasoningText,
        Part::Text,
    ];

    /// The lists that the text of a model may have beside it.
    const LISTS: [&'static str; 2] = ["annotations", "logprobs"];

    /// Its name, and the member that it consists of.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Part::InputText => ("input_text", "text"),
            Part::OutputText => ("output_text", "text"),
            Part::InputImage => ("input_image", "image_url"),
            Part::InputAudio => ("input_audio", "audio_url"),
            Part::EncryptedContent => ("encrypted_content", "encrypted_content"),
            Part::SummaryText => ("summary_text", "text"),
            Part::ReasoningText => ("reasoning_text", "text"),
            Part::Text => ("text", "text"),
        }
    }

    /// What a part is, if it is any.
    pub(super) fn of(part: Value<'_>) -> Option<Part> {
        let kind = part.get("type")?;
        Part::ALL.into_iter().find(|known| kind.is_str(known.words().0))
    }

    /// Tells whether a part has the members of its kind.
    fn fits(self, part: Value<'_>) -> bool {
        let is_detail = |detail: Value<'_>| detail.is_null() || ["auto", "low", "high", "original"].iter().any(|word| detail.is_str(word));
        let has_detail = self != Part::InputImage || part.get("detail").is_none_or(is_detail);
        let may_be_list = |name: &str| part.get(name).is_none_or(|list: Value<'_>| list.is_null() || list.is_array());
        let has_lists = self != Part::OutputText || Part::LISTS.into_iter().all(may_be_list);
        has_detail && has_lists && part.get(self.words().1).is_some_and(Value::is_string)
    }
}

/// Tells whether a value is a list of such parts.
pub(super) fn is_list_of(list: Option<Value<'_>>, parts: &[Part]) -> bool {
    let fits = |part: Value<'_>| Part::of(part).is_some_and(|kind| parts.contains(&kind) && kind.fits(part));
    list.is_some_and(|list| list.is_array() && list.elements().all(fits))
}

/// Tells whether a value is the output of a tool.
pub(super) fn is_output(output: Option<Value<'_>>) -> bool {
    output.is_some_and(Value::is_string) || is_list_of(output, &Part::OF_OUTPUT)
}

/// Appends parts as they are sent.
pub(super) fn push_list<'a>(parts: impl Iterator<Item = Value<'a>>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, part) in parts.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push(part, out);
    }
    out.push(b']');
}

fn push(part: Value<'_>, out: &mut Vec<u8>) {
    let mut object = Object::new(out);
    let Some(kind) = Part::of(part) else { return object.close() };
    let (name, member) = kind.words();
    let content = part.get(member).unwrap_or_default();
    if kind == Part::InputImage && is_remote(content) {
        object.text("type", Part::InputText.words().0);
        object.text("text", REMOTE_IMAGE);
        return object.close();
    }
    object.text("type", name);
    object.value(member, content);
    if kind == Part::InputImage {
        object.present("detail", part.get("detail"));
    } else if kind == Part::OutputText {
        Part::LISTS.into_iter().for_each(|name| object.present(name, part.get(name)));
    }
    object.close();
}

fn is_remote(url: Value<'_>) -> bool {
    let url = url.to_str();
    let is_web = |scheme: &str| scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    url.split_once(':').is_some_and(|(scheme, _)| is_web(scheme))
}
