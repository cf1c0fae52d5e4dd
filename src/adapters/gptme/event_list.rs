//! The list that an event log comes to, and how it changes as a whole: placed
//! again after an edit, cut short by an undo.

use crate::json::Value;
use crate::model::ids::Seq;
use crate::model::stream::StreamError;

use super::event_log::{EventMessage, Journal};
use super::read::Reader;
use crate::adapters::kit::place::Placing;

impl<'a> Reader<'a, '_> {
    /// Returns the node at the end of a list that was cut: inside a repeat nothing has
    /// a number, so a shorter one is written.
    pub(super) fn end_of(&mut self, state: &mut [(Seq, Seq)]) -> Result<Seq, StreamError> {
        let Some(&(message, node)) = state.last() else { return Ok(Seq::ROOT) };
        if self.repeats.last_message(node) == message {
            return Ok(node);
        }
        let parent = self.to.events.parent(node);
        let first = self.repeats.first_message(node);
        let shorter = self.repeats.put(self.to.events, parent, first, message)?;
        for entry in state.iter_mut().rev().take_while(|entry| entry.1 == node) {
            entry.1 = shorter;
        }
        Ok(shorter)
    }

    /// Places a whole list, which the events come to from now on.
    pub(super) fn set_list(&mut self, journal: &mut Journal<'a>, messages: &[Value<'a>]) -> Result<(), StreamError> {
        let mut placing = Placing::without_head();
        let mut placed = Vec::with_capacity(messages.len());
        for (n, message) in messages.iter().enumerate() {
            match self.find(*message, journal.style) {
                Some(EventMessage::Known(seq)) => {
                    let known = &self.known;
                    let mut ahead =
                        |k: usize| if k == 0 { Some(seq) } else { messages.get(n + k).and_then(|later| known.by_record(later.text(), 0)) };
                    placing.known(seq, self.to.events, &mut self.repeats, &mut ahead)?;
                    placed.push(seq);
                }
                Some(EventMessage::New(new)) => {
                    let parent = placing.parent_of_new(self.to.events, &mut self.repeats)?;
                    let seq = self.put_new(new, parent)?;
                    placing.added(seq);
                    placed.push(seq);
                }
                None => {}
            }
        }
        journal.node = placing.finish(self.to.events, &mut self.repeats)?;
        journal.state = self.nodes_of(&placed, journal.node);
        Ok(())
    }

    /// Returns which node brought each message of the list that ends at `node`.
    fn nodes_of(&self, placed: &[Seq], node: Seq) -> Vec<(Seq, Seq)> {
        let mut state: Vec<(Seq, Seq)> = placed.iter().map(|message| (*message, Seq::ROOT)).collect();
        let mut at = node;
        let mut end = state.len();
        while end > 0 && !at.is_root() {
            let first = self.repeats.first_message(at);
            loop {
                end -= 1;
                state[end].1 = at;
                if state[end].0 == first || end == 0 {
                    break;
                }
            }
            at = self.to.events.parent(at);
        }
        state
    }

    /// Places the list again with another message in one place.
    pub(super) fn replace_at(&mut self, journal: &mut Journal<'a>, at: usize, message: Value<'a>) -> Result<(), StreamError> {
        let mut placing = Placing::without_head();
        let mut placed: Vec<Seq> = journal.state.iter().map(|(message, _)| *message).collect();
        for n in 0..placed.len() {
            let found = if n == at { self.find(message, journal.style) } else { Some(EventMessage::Known(placed[n])) };
            match found {
                Some(EventMessage::Known(seq)) => {
                    placed[n] = seq;
                    let mut ahead = |k: usize| placed.get(n + k).copied().filter(|_| k == 0 || n > at || n + k < at);
                    placing.known(seq, self.to.events, &mut self.repeats, &mut ahead)?;
                }
                Some(EventMessage::New(new)) => {
                    let parent = placing.parent_of_new(self.to.events, &mut self.repeats)?;
                    placed[n] = self.put_new(new, parent)?;
                    placing.added(placed[n]);
                }
                None => {}
            }
        }
        journal.node = placing.finish(self.to.events, &mut self.repeats)?;
        journal.state = self.nodes_of(&placed, journal.node);
        Ok(())
    }
}
