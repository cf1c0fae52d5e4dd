//! What answers took. A program may keep one answer as several messages, each of
//! which says what the whole answer took so far: only the last of them counts.

use std::collections::HashMap;

use crate::api::{Message, MessageKind, Role};
use crate::tables::cell::Cell;
use crate::tables::error::TableError;
use crate::tables::schema::TableName;

use super::common::{Common, RowSink, place_cell, seq_cell};
use super::messages::{kind_cell, tokens};

/// The answers of a session so far.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Each answer after the columns that all tables begin with, by number.
    rows: Vec<Option<Vec<Cell>>>,
    /// The numbers of answers, by their ids at their providers.
    by_id: HashMap<String, usize>,
}

impl Answers {
    pub(super) fn note(&mut self, message: &Message, place: Option<u32>) {
        let is_answer = message.kind == MessageKind::Message && message.role == Role::Assistant;
        if !is_answer && message.usage.is_none() {
            return;
        }
        if let Some(id) = message.answer_id()
            && let Some(before) = self.by_id.insert(id, self.rows.len())
        {
            self.rows[before] = None;
        }
        let usage = message.usage.unwrap_or_default();
        let mut cells = vec![
            seq_cell(message.seq),
            place_cell(place),
            kind_cell(message.kind),
            Cell::Text(message.role.to_string()),
            Cell::text(message.ts.as_deref()),
            Cell::time(message.time().as_deref()),
            Cell::text(message.model.as_deref()),
            Cell::text(message.provider.as_deref()),
        ];
        cells.extend(tokens(&usage));
        cells.push(Cell::real(usage.cost));
        self.rows.push(Some(cells));
    }

    pub(super) fn close(self, common: &Common, sink: &mut dyn RowSink) -> Result<(), TableError> {
        self.rows.into_iter().flatten().try_for_each(|cells| {
            let mut row = common.row(TableName::Usage);
            row.extend(cells);
            sink.row(TableName::Usage, row)
        })
    }
}
