//! What a program derives from a session besides its messages: texts and other
//! values, by name.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A derived value. In a log a text is a JSON string, and anything else is JSON as
/// it is; older logs have lists, maps and numbers as JSON in strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// A text.
    Text(String),
    /// Another value, as compact JSON.
    Json(String),
}

impl Fact {
    /// Returns the text, or the JSON of another value.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Fact::Text(text) | Fact::Json(text) => text,
        }
    }
}

impl From<String> for Fact {
    fn from(text: String) -> Fact {
        Fact::Text(text)
    }
}

impl From<&str> for Fact {
    fn from(text: &str) -> Fact {
        Fact::Text(text.to_owned())
    }
}

impl Serialize for Fact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Fact::Text(text) => serializer.serialize_str(text),
            // What is not JSON after all, a number that only its program knows, is a text.
            Fact::Json(json) => match serde_json::from_str::<&RawValue>(json) {
                Ok(value) => value.serialize(serializer),
                Err(_) => serializer.serialize_str(json),
            },
        }
    }
}

impl<'de> Deserialize<'de> for Fact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fact, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        Ok(match serde_json::from_str::<String>(value.get()) {
            Ok(text) => Fact::Text(text),
            Err(_) => Fact::Json(value.get().to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Fact;

    #[test]
    fn a_text_stays_a_text_and_other_values_are_json() {
        for (fact, json) in [
            (Fact::Text("6".to_owned()), r#""6""#),
            (Fact::Json("6".to_owned()), "6"),
            (Fact::Json(r#"{"a":[1.10]}"#.to_owned()), r#"{"a":[1.10]}"#),
        ] {
            assert_eq!(serde_json::to_string(&fact).unwrap(), json);
            assert_eq!(serde_json::from_str::<Fact>(json).unwrap(), fact);
        }
        assert_eq!(serde_json::to_string(&Fact::Json("NaN".to_owned())).unwrap(), r#""NaN""#);
    }
}
