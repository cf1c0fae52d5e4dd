//! What events were rendered to. Both proofs look at an event's record: the one
//! that rebuilds files renders it, and the one that replays takes it from there.

use crate::model::ids::Seq;

/// The records of events that were rendered and found in their files, as they
/// stand there.
#[derive(Debug, Default)]
pub struct Records<'f> {
    /// By the number of their event.
    by_number: Vec<RecordOf<'f>>,
}

#[derive(Debug, Clone, Copy, Default)]
enum RecordOf<'f> {
    #[default]
    None,
    One(&'f [u8]),
    /// More than one for a single event: none of them is all of it.
    Several,
}

impl<'f> Records<'f> {
    /// Notes a record that an event was rendered to.
    pub(super) fn add(&mut self, event: Seq, record: &'f [u8], turn: Occurrence) {
        let number = event.number() as usize;
        if number >= self.by_number.len() {
            self.by_number.resize(number + 1, RecordOf::None);
        }
        self.by_number[number] = match turn {
            Occurrence::First => RecordOf::One(record),
            Occurrence::Further => RecordOf::Several,
        };
    }

    /// Returns the record of an event, where it was rendered to exactly one.
    #[must_use]
    pub fn of(&self, event: Seq) -> Option<&'f [u8]> {
        match self.by_number.get(event.number() as usize) {
            Some(RecordOf::One(record)) => Some(record),
            Some(RecordOf::None | RecordOf::Several) | None => None,
        }
    }
}

/// Whether a record is the first that its event is rendered to at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occurrence {
    First,
    Further,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_the_whole_record_of_an_event_is_its_record() {
        let mut records = Records::default();
        records.add(Seq::new(3), b"three", Occurrence::First);
        records.add(Seq::new(5), b"five", Occurrence::First);
        records.add(Seq::new(5), b"and a half", Occurrence::Further);
        assert_eq!([0, 2, 3, 4, 5, 6].map(|n| records.of(Seq::new(n))), [None, None, Some(&b"three"[..]), None, None, None]);
    }
}
