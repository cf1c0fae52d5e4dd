//! A session in one JSON file, as the program wrote them before it had a file
//! of lines, and as it still reads them when that cannot be had.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::cursor::{Cursor, Refused, Series};
use super::encode::Encode;
use super::fill::{Fill, members};
use super::message::Message;
use super::moment::Moment;
use super::text;

/// What the file says, besides its messages.
#[derive(Debug, Default)]
pub struct Legacy<'a> {
    key: Cow<'a, str>,
    /// What the program keeps of messages that it has dropped.
    pub summary: Cow<'a, str>,
    created: Moment,
    updated: Moment,
    messages: Lists<'a>,
}

impl<'a> Fill<'a> for Legacy<'a> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        members(from, |key, from| match key {
            "key" => self.key.fill(from),
            "messages" => self.messages.fill(from),
            "summary" => self.summary.fill(from),
            "created" => self.created.fill(from),
            "updated" => self.updated.fill(from),
            _ => from.skip().map(|_| ()),
        })
    }
}

impl Legacy<'_> {
    /// What the file says beyond messages and summary, by name. Without a key,
    /// the file's own name is one.
    #[must_use]
    pub fn facts(&self, file_name: &[u8]) -> BTreeMap<String, String> {
        let time = |moment: &Moment| (!moment.is_zero()).then(|| moment.text());
        let key = if self.key.is_empty() { text::mended(file_name) } else { Cow::Borrowed(&*self.key) };
        let facts = [("key", Some(key.into_owned())), ("created", time(&self.created)), ("updated", time(&self.updated))];
        facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect()
    }

    /// Shows the messages, one by one; only now are they looked into, so that
    /// the file may turn out to be undecodable after all.
    pub fn show(&self, show: &mut dyn FnMut(&[u8])) -> Result<(), Refused> {
        let mut out = Vec::new();
        self.messages.merged(&mut |mut message| {
            if !message.is_thought() {
                message.forget_zero_time();
                out.clear();
                message.push(&mut out);
                show(&out);
            }
        })
    }
}

/// Whether a text begins as the program began such a file, be it whole or not: a
/// key that ends in `.meta` gave it the name of another kind of file.
#[must_use]
pub fn is_begun(text: &[u8]) -> bool {
    let mut at = Cursor::new(text);
    let mut begin = || -> Result<bool, Refused> {
        let mut object = at.object()?;
        at.more(&mut object)?;
        let is_key = at.key()? == b"key";
        at.string()?;
        at.more(&mut object)?;
        let are_messages = at.key()? == b"messages";
        Ok(is_key && are_messages && (at.peek() == b'[' || at.word("null").is_ok()))
    };
    begin().unwrap_or(false)
}

/// The lists that stand under the name of `messages`. Usually that is one; each
/// further one is read into the elements of those before it.
#[derive(Debug, Default)]
struct Lists<'a>(Vec<List<'a>>);

/// One list, at the first element that has not been read yet.
#[derive(Debug, Clone)]
struct List<'a> {
    number: usize,
    at: Cursor<'a>,
    series: Series,
}

impl<'a> List<'a> {
    /// Reads the next element, if there is one.
    fn next(&mut self, message: &mut Message<'a>) -> Result<bool, Refused> {
        let more = self.at.more(&mut self.series)?;
        if more {
            message.fill(&mut self.at)?;
        }
        Ok(more)
    }
}

impl<'a> Fill<'a> for Lists<'a> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        if from.is_at_null() {
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
    fn forget(&mut self) -> Result<(), Refused> {
        self.merged(&mut |_| {})?;
        self.0.clear();
        Ok(())
    }

    /// Reads all lists abreast, and passes on the messages of the last one.
    fn merged(&self, take: &mut dyn FnMut(Message<'a>)) -> Result<(), Refused> {
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
                Err(refused) => {
                    result = Err(refused);
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
