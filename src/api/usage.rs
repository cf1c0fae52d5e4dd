//! What a message cost.

use serde::Serialize;

use crate::json::{self, Dialect};

use super::reading::Object;

/// The tokens that a message took, and what they cost.
///
/// A count is absent where the source has none; nothing is added up or guessed.
/// Whether `input` includes what was read from a cache differs between providers.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let log = everlog::Log::open("examples/logs/two-branches.jsonl.everlog.jsonl")?;
/// let mut written = 0;
/// for message in log.messages(&log.active())? {
///     written += message?.usage.and_then(|usage| usage.output).unwrap_or_default();
/// }
/// assert_eq!(written, 30);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens that the model read.
    pub input: Option<u64>,
    /// Tokens that the model wrote.
    pub output: Option<u64>,
    /// Tokens that were read from a cache.
    pub cache_read: Option<u64>,
    /// Tokens that were written to a cache.
    pub cache_write: Option<u64>,
    /// Tokens that the model spent on thinking.
    pub reasoning: Option<u64>,
    /// All tokens, where the source has that number.
    pub total: Option<u64>,
    /// The cost in the source's currency, which is US dollars in every program
    /// known so far. Flat messages have it one level higher.
    #[serde(skip)]
    pub cost: Option<f64>,
}

impl Usage {
    /// Reads the `usage` of a payload that need not be valid JSON.
    pub(crate) fn of_payload(payload: &[u8]) -> Option<Usage> {
        json::scan_object(payload, Dialect::Strict, &mut Vec::new()).ok()?;
        Usage::of(&Object::of(payload))
    }

    /// Reads the `usage` of a payload.
    pub(super) fn of(payload: &Object<'_>) -> Option<Usage> {
        payload.get("usage")?;
        let usage = payload.object("usage");
        // Some programs have one number for it, some a breakdown with its total.
        let cost = usage.number("cost").or_else(|| usage.object("cost").number("total"));
        Some(Usage {
            input: usage.count("input"),
            output: usage.count("output"),
            cache_read: usage.count("cache_read"),
            cache_write: usage.count("cache_write"),
            reasoning: usage.count("reasoning"),
            total: usage.count("total"),
            cost,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(text: &str) -> Usage {
        Usage::of(&Object::of(text.as_bytes())).unwrap()
    }

    #[test]
    fn a_cost_is_a_number_whatever_the_source_has() {
        assert_eq!(usage(r#"{"usage":{"cost":0.5}}"#).cost, Some(0.5));
        assert_eq!(usage(r#"{"usage":{"cost":{"input":1,"total":2.5}}}"#).cost, Some(2.5));
        assert_eq!(usage(r#"{"usage":{"cost":{"$raw":"NaN"}}}"#).cost, None);
        assert_eq!(usage(r#"{"usage":{"cost":1e400}}"#).cost, None);
    }

    #[test]
    fn a_count_that_is_none_is_unknown() {
        let odd = usage(r#"{"usage":{"input":9007199254740993,"output":-1,"total":1.5,"reasoning":12.0,"cache_read":null}}"#);
        assert_eq!((odd.input, odd.output, odd.total), (Some(9_007_199_254_740_993), None, None));
        assert_eq!((odd.reasoning, odd.cache_read), (Some(12), None));
        assert_eq!(Usage::of(&Object::of(br#"{"usage":null}"#)), None);
    }
}
