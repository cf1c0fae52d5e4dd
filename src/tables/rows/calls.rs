//! Calls of tools, each with its answer. Of a call only what its row needs is held,
//! and only until it is answered.

use std::collections::HashMap;

use crate::api::{FlatToolCall, Message, ToolResult};
use crate::tables::cell::{Cell, Row};
use crate::tables::error::TableError;
use crate::tables::schema::TableName;

use super::common::{Common, RowSink, place_cell, seq_cell};
use super::messages::arguments;

/// The calls of a session so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Calls that wait for their answers, by the numbers they were given.
    open: HashMap<u64, Row>,
    /// The last call of each id: its number, and the tool's name.
    by_id: HashMap<String, (u64, Option<String>)>,
    next: u64,
}

impl Calls {
    pub(super) fn note(
        &mut self,
        message: &Message,
        place: Option<u32>,
        common: &Common,
        sink: &mut dyn RowSink,
    ) -> Result<(), TableError> {
        for (n, call) in message.tool_calls().enumerate() {
            let flat = FlatToolCall::of(call);
            let mut row = common.row(TableName::ToolCalls);
            row.extend([
                seq_cell(message.seq),
                Cell::Integer(i64::try_from(n).unwrap_or(i64::MAX)),
                place_cell(place),
                Cell::text(flat.id),
                Cell::text(flat.name),
                arguments(&flat),
                Cell::text(message.ts.as_deref()),
                Cell::time(message.time().as_deref()),
                Cell::text(message.model.as_deref()),
            ]);
            if let Some(id) = &call.id {
                self.by_id.insert(id.clone(), (self.next, call.name.clone()));
                self.open.insert(self.next, row);
            } else {
                // Nothing can answer it.
                sink.row(TableName::ToolCalls, with_answer(row, None))?;
            }
            self.next += 1;
        }
        for result in message.tool_results() {
            let called = result.call_id.as_ref().and_then(|id| self.by_id.get(id));
            let row = match called.and_then(|(number, _)| self.open.remove(number)) {
                Some(row) => row,
                None => without_call(result, called.and_then(|(_, name)| name.as_deref()), place, common),
            };
            sink.row(TableName::ToolCalls, with_answer(row, Some((message, result))))?;
        }
        Ok(())
    }

    /// Writes the calls that nobody answered.
    pub(super) fn close(self, common: &Common, sink: &mut dyn RowSink) -> Result<(), TableError> {
        let Calls { open, by_id: _, next: _ } = self;
        let mut open: Vec<(u64, Row)> = open.into_iter().collect();
        open.sort_unstable_by_key(|(number, _)| *number);
        debug_assert!(open.iter().all(|(_, row)| row.first() == Some(&common.format)));
        open.into_iter().try_for_each(|(_, row)| sink.row(TableName::ToolCalls, with_answer(row, None)))
    }
}

/// Returns the beginning of a row for an answer whose call is not there, or has one.
fn without_call(result: &ToolResult, called: Option<&str>, place: Option<u32>, common: &Common) -> Row {
    let mut row = common.row(TableName::ToolCalls);
    row.extend([
        Cell::Null,
        Cell::Null,
        place_cell(place),
        Cell::text(result.call_id.as_deref()),
        Cell::text(called.or(result.name.as_deref())),
        Cell::Null,
        Cell::Null,
        Cell::Null,
        Cell::Null,
    ]);
    row
}

fn with_answer(mut row: Row, answer: Option<(&Message, &ToolResult)>) -> Row {
    row.extend(match answer {
        Some((message, result)) => [
            seq_cell(message.seq),
            Cell::text(message.ts.as_deref()),
            Cell::time(message.time().as_deref()),
            Cell::flag(result.is_error),
            Cell::Text(result.text()),
        ],
        None => [Cell::Null, Cell::Null, Cell::Null, Cell::Null, Cell::Null],
    });
    row
}
