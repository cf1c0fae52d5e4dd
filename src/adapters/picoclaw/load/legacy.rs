//! A session in one JSON file, as the program wrote them before it had a file
//! of lines, and as it still reads them when that cannot be had.

use std::collections::BTreeMap;

use crate::runtimes::go::{Decode, Invalid, Marshal, Scanner, Series, Text, Time, record, to_utf8};

use super::message::Message;

record! {
    /// What the file says, besides its messages.
    pub struct Legacy<'a> {
        key: Text<'a> = "key",
        messages: Lists<'a> = "messages",
        /// What the program keeps of messages that it has dropped.
        pub summary: Text<'a> = "summary",
        created: Time = "created",
        updated: Time = "updated",
    }
}

impl Legacy<'_> {
    /// Returns what the file says beyond messages and summary, by name. Without a key,
    /// the file's own name is one.
    #[must_use]
    pub fn facts(&self, file_name: &[u8]) -> BTreeMap<String, String> {
        let key = self.key.non_empty().or_else(|| Some(to_utf8(file_name).into_owned()));
        let facts = [("key", key), ("created", self.created.non_zero()), ("updated", self.updated.non_zero())];
        facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect()
    }

    /// Shows the messages, one by one; only now are they looked into, so that
    /// the file may turn out to be undecodable after all.
    pub fn show(&self, show: &mut dyn FnMut(&[u8])) -> Result<(), Invalid> {
        let mut out = Vec::new();
        self.messages.merged(&mut |mut message| {
            if !message.is_thought() {
                message.forget_zero_time();
                out.clear();
                message.marshal(&mut out);
                show(&out);
            }
        })
    }
}

/// Tells whether a text begins as the program began such a file, be it whole or not: a
/// key that ends in `.meta` gave it the name of another kind of file.
#[must_use]
pub fn is_begun(text: &[u8]) -> bool {
    let mut at = Scanner::new(text);
    let mut begin = || -> Result<bool, Invalid> {
        let mut object = at.open_object()?;
        at.more(&mut object)?;
        let is_key = at.key()? == b"\"key\"";
        at.string()?;
        at.more(&mut object)?;
        let are_messages = at.key()? == b"\"messages\"";
        Ok(is_key && are_messages && (at.peek() == b'[' || at.word("null").is_ok()))
    };
    begin().unwrap_or(false)
}

/// The lists that stand under the name of `messages`. Usually that is one; each
/// further one is read into the elements of those before it.
#[derive(Debug, Clone, Default)]
struct Lists<'a>(Vec<List<'a>>);

/// One list, at the first element that has not been read yet.
#[derive(Debug, Clone)]
struct List<'a> {
    number: usize,
    at: Scanner<'a>,
    series: Series,
}

impl<'a> List<'a> {
    /// Reads the next element, if there is one.
    fn next(&mut self, message: &mut Message<'a>) -> Result<bool, Invalid> {
        let more = self.at.more(&mut self.series)?;
        if more {
            message.decode(&mut self.at)?;
        }
        Ok(more)
    }
}

impl<'a> Decode<'a, Scanner<'a>> for Lists<'a> {
    fn decode(&mut self, from: &mut Scanner<'a>) -> Result<(), Invalid> {
        if from.peek() == b'n' {
            from.word("null")?;
            return self.forget();
        }
        let (at, series) = from.set_aside()?;
        if !at.clone().more(&mut series.clone())? {
            return self.forget();
        }
        self.0.push(List { number: self.0.len(), at, series });
        Ok(())
    }
}

impl<'a> Lists<'a> {
    /// Begins anew, as an empty list or none does. What is forgotten must have
    /// been decodable.
    fn forget(&mut self) -> Result<(), Invalid> {
        self.merged(&mut |_| {})?;
        self.0.clear();
        Ok(())
    }

    /// Reads all lists abreast, and passes on the messages of the last one.
    fn merged(&self, take: &mut dyn FnMut(Message<'a>)) -> Result<(), Invalid> {
        let mut lists = self.0.clone();
        while !lists.is_empty() {
            let mut message = Message::default();
            let mut is_in_last = false;
            let mut result = Ok(());
            lists.retain_mut(|list| match list.next(&mut message) {
                Ok(more) => {
                    is_in_last = more && list.number + 1 == self.0.len();
                    more
                }
                Err(invalid) => {
                    result = Err(invalid);
                    false
                }
            });
            result?;
            if is_in_last {
                take(message);
            }
        }
        Ok(())
    }
}
