//! A redactor: finds secrets in texts, and gives each its placeholder.

use memchr::memmem::Finder;
use regex::Regex;
use std::collections::HashMap;
use std::fmt;

use crate::model::ids::Seq;

use super::report::{Redaction, Redactions, RemovedFrom};
use super::rules::{self, Secret};

/// Replaces secrets by placeholders, and remembers which it gave to which.
///
/// One redactor serves one session: placeholders are numbered in the order in
/// which secrets are found, so that the same session always gives the same text.
#[derive(Debug)]
pub struct Redactor {
    patterns: Vec<Regex>,
    /// The number of a secret in `redactions.removed`.
    known: HashMap<String, usize>,
    /// Secrets that are looked for by themselves from the first time on: a key
    /// that was seen after its name is the same key without it.
    learned: Vec<(Finder<'static>, usize)>,
    kinds: HashMap<&'static str, u64>,
    redactions: Redactions,
}

/// A pattern of a person's own that is not a regular expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidPattern {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for InvalidPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid pattern {:?}: {}", self.pattern, self.why)
    }
}

impl std::error::Error for InvalidPattern {}

/// A secret is looked for by itself if it has so many bytes: a shorter one could
/// be a word of the language.
const LONG_ENOUGH: usize = 12;

impl Redactor {
    /// Returns a redactor with the rules, and with a person's own patterns.
    ///
    /// # Errors
    /// When a pattern is not a regular expression.
    pub fn new(patterns: &[String]) -> Result<Redactor, InvalidPattern> {
        let compiled = patterns.iter().map(|pattern| {
            let why = |error: regex::Error| InvalidPattern { pattern: pattern.clone(), why: error.to_string() };
            Regex::new(pattern).map_err(why)
        });
        Ok(Redactor {
            patterns: compiled.collect::<Result<_, _>>()?,
            known: HashMap::new(),
            learned: Vec::new(),
            kinds: HashMap::new(),
            redactions: Redactions::default(),
        })
    }

    /// Returns a redactor with the same patterns that knows no secret yet.
    #[must_use]
    pub fn fresh(&self) -> Redactor {
        Redactor {
            patterns: self.patterns.clone(),
            known: HashMap::new(),
            learned: Vec::new(),
            kinds: HashMap::new(),
            redactions: Redactions::default(),
        }
    }

    /// Returns what was removed so far.
    #[must_use]
    pub fn redactions(&self) -> &Redactions {
        &self.redactions
    }

    /// Notes that a message was left out.
    pub(super) fn leave_out(&mut self, seq: Seq) {
        self.redactions.left_out.push(seq);
    }

    /// Returns a text without its secrets; `None` where it has none.
    pub fn text(&mut self, text: &str, place: RemovedFrom) -> Option<String> {
        self.replaced(text, Some(place))
    }

    /// Returns a text without its secrets. They are counted where a place says
    /// where they were.
    pub(super) fn replaced(&mut self, text: &str, place: Option<RemovedFrom>) -> Option<String> {
        let found = self.find(text);
        if found.is_empty() {
            return None;
        }
        let (mut out, mut from) = (String::with_capacity(text.len()), 0);
        for Secret { range, kind } in found {
            out.push_str(&text[from..range.start]);
            from = range.end;
            out.push_str(&self.placeholder(&text[range], kind, place));
        }
        out.push_str(&text[from..]);
        Some(out)
    }

    /// Returns the placeholder of a secret, and counts it.
    pub(super) fn placeholder(&mut self, secret: &str, kind: &'static str, place: Option<RemovedFrom>) -> String {
        let number = match self.known.get(secret) {
            Some(number) => *number,
            None => self.learn(secret, kind),
        };
        let redaction = &mut self.redactions.removed[number];
        if let Some(place) = place {
            redaction.count += 1;
            if redaction.places.last() != Some(&place) {
                redaction.places.push(place);
            }
        }
        redaction.placeholder.clone()
    }

    fn learn(&mut self, secret: &str, kind: &'static str) -> usize {
        let of_kind = self.kinds.entry(kind).or_default();
        *of_kind += 1;
        let number = self.redactions.removed.len();
        self.redactions.removed.push(Redaction { placeholder: format!("[{kind}-{of_kind}]"), kind, count: 0, places: Vec::new() });
        self.known.insert(secret.to_owned(), number);
        let has = |wanted: fn(&char) -> bool| secret.chars().any(|c| wanted(&c));
        let is_a_word = !(has(char::is_ascii_digit) && has(char::is_ascii_alphabetic));
        if kind != rules::EMAIL && kind != rules::HOME && secret.len() >= LONG_ENOUGH && !is_a_word {
            self.learned.push((Finder::new(secret).into_owned(), number));
        }
        number
    }

    /// Returns the secrets in a text, in order and without overlaps.
    fn find(&self, text: &str) -> Vec<Secret> {
        let mut found = Vec::new();
        for pattern in &self.patterns {
            let ranges = pattern.find_iter(text).map(|m| m.range()).filter(|range| !range.is_empty());
            found.extend(ranges.map(|range| Secret { range, kind: rules::PATTERN }));
        }
        for (finder, number) in &self.learned {
            let kind = self.redactions.removed[*number].kind;
            let len = finder.needle().len();
            found.extend(finder.find_iter(text.as_bytes()).map(|at| Secret { range: at..at + len, kind }));
        }
        rules::find(text, &mut found);
        // Of those that overlap the earlier rule names the whole: the sort is
        // stable, and they came in the order of the rules.
        let mut apart: Vec<Secret> = Vec::new();
        let mut order: Vec<(usize, Secret)> = found.into_iter().enumerate().collect();
        order.sort_by_key(|(rule, found)| (found.range.start, std::cmp::Reverse(found.range.end), *rule));
        let mut best = usize::MAX;
        for (rule, found) in order {
            match apart.last_mut() {
                Some(last) if found.range.start < last.range.end => {
                    last.range.end = last.range.end.max(found.range.end);
                    if rule < best {
                        (last.kind, best) = (found.kind, rule);
                    }
                }
                _ => {
                    best = rule;
                    apart.push(found);
                }
            }
        }
        apart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> Redactor {
        Redactor::new(&[]).unwrap()
    }

    const AT: RemovedFrom = RemovedFrom::Session;

    #[test]
    fn the_same_secret_gets_the_same_placeholder() {
        let mut redactor = redactor();
        let (one, two) = ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPL2");
        assert_eq!(redactor.text(&format!("{one} {two} {one}"), AT).unwrap(), "[aws-key-1] [aws-key-2] [aws-key-1]");
        assert_eq!(redactor.text(two, RemovedFrom::Message(Seq::new(7))).unwrap(), "[aws-key-2]");
        let removed = &redactor.redactions().removed;
        assert_eq!((removed[0].count, removed[1].count), (2, 2));
        assert_eq!(removed[1].places, [RemovedFrom::Session, RemovedFrom::Message(Seq::new(7))]);
        assert_eq!(redactor.redactions().by_kind(), [("aws-key", 4)].into());
    }

    #[test]
    fn a_secret_that_had_a_name_is_known_without_it() {
        let mut redactor = redactor();
        assert_eq!(redactor.text("DB_PASSWORD=correct-horse-7", AT).unwrap(), "DB_PASSWORD=[secret-1]");
        assert_eq!(redactor.text("it was correct-horse-7, again", AT).unwrap(), "it was [secret-1], again");
        // A word of the language would be found everywhere.
        assert_eq!(redactor.text("password=mississippi-steamboat", AT).unwrap(), "password=[secret-2]");
        assert_eq!(redactor.text("a mississippi-steamboat", AT), None);
    }

    #[test]
    fn overlapping_secrets_are_one() {
        let mut redactor = redactor();
        let header = "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc";
        assert_eq!(redactor.text(header, AT).unwrap(), "Authorization: Bearer [jwt-1]");
        assert_eq!(redactor.text("https://bob:pass@example.org/x", AT).unwrap().matches('[').count(), 1);
    }

    #[test]
    fn patterns_of_a_person_count_too() {
        let mut redactor = Redactor::new(&["(?i)project \\w+".to_owned(), "x*".to_owned()]).unwrap();
        assert_eq!(redactor.text("about Project Falcon", AT).unwrap(), "about [redacted-1]");
        assert_eq!(redactor.text("nothing", AT), None);
        let error = Redactor::new(&["(".to_owned()]).unwrap_err();
        assert!(error.to_string().starts_with("invalid pattern \"(\": "), "{error}");
    }
}
