//! A part of a larger run: which sessions fall to it, whoever runs it and
//! wherever.

use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// What a log's name ends in; the rest of it is the session's name.
const LOG_SUFFIX: &str = ".everlog.jsonl";

/// Part K of N. K is at least 1 and at most N.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    // In this order: parts of one larger run sort together.
    of: u32,
    number: u32,
}

/// A text that is not `K/N` with K = 1…N.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAShard;

impl fmt::Display for NotAShard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a part of a run: say K/N with K from 1 to N, as in 3/8")
    }
}

impl std::error::Error for NotAShard {}

impl Shard {
    /// Part `number` of `of`, if there is such a part.
    #[must_use]
    pub fn new(number: u32, of: u32) -> Option<Shard> {
        (1..=of).contains(&number).then_some(Shard { of, number })
    }

    /// Reads the `K-of-N` of a file's name, exactly as [`Shard::in_names`] gives it.
    #[must_use]
    pub fn from_name(text: &str) -> Option<Shard> {
        let (number, of) = text.split_once("-of-")?;
        let shard = Shard::new(number.parse().ok()?, of.parse().ok()?)?;
        // `01-of-2` would be a second name for the same part.
        (shard.in_names() == text).then_some(shard)
    }

    /// Returns the part as names of files have it: `K-of-N`.
    #[must_use]
    pub fn in_names(self) -> String {
        format!("{}-of-{}", self.number, self.of)
    }

    /// Returns which part it is, from 1.
    #[must_use]
    pub fn number(self) -> u32 {
        self.number
    }

    /// Returns how many parts there are.
    #[must_use]
    pub fn of(self) -> u32 {
        self.of
    }

    /// Tells whether it is the part that also does what belongs to no session.
    #[must_use]
    pub fn is_first(self) -> bool {
        self.number == 1
    }

    /// Tells whether two parts are of the same larger run, and not the same.
    #[must_use]
    pub fn is_beside(self, other: Shard) -> bool {
        self.of == other.of && self.number != other.number
    }

    /// Tells whether a session falls to this part: by the name of its log below
    /// the store. The first eight bytes of the SHA-256 of that name, without its
    /// ending and in lower case, are a big-endian number; modulo N it is K - 1.
    #[must_use]
    pub fn takes(self, log: &str) -> bool {
        let name = log.strip_suffix(LOG_SUFFIX).unwrap_or(log);
        // Some file systems take names that differ only in case for one: then the
        // same part must meet both, so that the first of them gets the log.
        let hash = Sha256::digest(name.to_lowercase());
        let number = hash.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        number % u64::from(self.of) == u64::from(self.number - 1)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = NotAShard;

    fn from_str(text: &str) -> Result<Shard, NotAShard> {
        let (number, of) = text.split_once('/').ok_or(NotAShard)?;
        let number_of = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        number_of(number).zip(number_of(of)).and_then(|(number, of)| Shard::new(number, of)).ok_or(NotAShard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_session_falls_to_one_part_and_the_parts_are_of_a_size() {
        let names: Vec<String> = (0..2_000).map(|n| format!("folder/session-{n}.everlog.jsonl")).collect();
        for of in [1, 2, 3, 7, 64] {
            let mut counts = vec![0; of as usize];
            for name in &names {
                let takers: Vec<u32> = (1..=of).filter(|number| Shard::new(*number, of).unwrap().takes(name)).collect();
                assert_eq!(takers.len(), 1, "{name} of {of}");
                counts[takers[0] as usize - 1] += 1;
            }
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(*most < 3 * least, "{of} parts have {counts:?}");
        }
    }

    #[test]
    fn which_part_a_session_falls_to_never_changes() {
        // Stores of other releases and other machines go by this. The numbers are from
        // `int(hashlib.sha256(name.encode()).hexdigest()[:16], 16) % 5 + 1` in Python.
        let part = |log: &str| (1..=5).find(|number| Shard::new(*number, 5).unwrap().takes(log)).unwrap();
        assert_eq!(["a", "b", "chat/telegram_42", "你好"].map(part), [1, 2, 5, 4]);
        assert_eq!(part("Chat/A.everlog.jsonl"), part("chat/a"));
    }

    #[test]
    fn only_parts_that_there_are_can_be_named() {
        assert_eq!("3/8".parse(), Ok(Shard::new(3, 8).unwrap()));
        assert_eq!(Shard::from_name("3-of-8"), Shard::new(3, 8));
        for wrong in ["", "3", "0/8", "9/8", "1/0", "-1/2", "+1/2", "1/2/3", "a/b", " 1/2", "1/99999999999"] {
            assert_eq!(wrong.parse::<Shard>(), Err(NotAShard), "{wrong}");
        }
        for wrong in ["03-of-8", "+3-of-8", "3-of-08", "9-of-8", "3-of-", "3/8"] {
            assert_eq!(Shard::from_name(wrong), None, "{wrong}");
        }
    }
}
