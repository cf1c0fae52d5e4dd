//! The flat message as a row.

use crate::api::{FlatFile, FlatMessage, FlatShell, FlatToolCall, FlatToolResult, Message, MessageKind, Session, Usage};
use crate::tables::cell::{Cell, Row};
use crate::tables::schema::TableName;

use super::common::{Common, place_cell, seq_cell, word};

pub(super) fn row(message: &Message, place: Option<u32>, session: &Session, common: &Common) -> Row {
    let flat = message.flat(session);
    // Destructured, so that a member that is added is not forgotten here.
    let FlatMessage {
        session: _,
        format: _,
        seq,
        index: _,
        kind,
        ts,
        time,
        role,
        source_role,
        text,
        thinking,
        tool_calls,
        tool_results,
        shell,
        files,
        name,
        model,
        provider,
        usage,
        cost,
        stop_reason,
        source_stop_reason,
        error,
        hidden_from,
        source_id,
        lossy,
    } = flat;
    let mut row = common.row(TableName::Messages);
    row.extend([
        seq_cell(seq),
        place_cell(place),
        kind_cell(kind),
        Cell::text(ts),
        Cell::time(time.as_deref()),
        Cell::Text(role.to_string()),
        Cell::text(source_role),
        Cell::Text(text),
        thinking.map_or(Cell::Null, Cell::Text),
        Cell::Records(tool_calls.iter().map(call).collect()),
        Cell::Records(tool_results.into_iter().map(result).collect()),
        shell.as_ref().map_or(Cell::Null, |shell| Cell::Record(command(shell))),
        Cell::Records(files.iter().map(file).collect()),
        Cell::text(name),
        Cell::text(model),
        Cell::text(provider),
        usage.as_ref().map_or(Cell::Null, |usage| Cell::Record(tokens(usage).into())),
        Cell::real(cost),
        stop_reason.map_or(Cell::Null, |reason| Cell::Text(reason.name().to_owned())),
        Cell::text(source_stop_reason),
        Cell::text(error),
        Cell::Texts(hidden_from.to_vec()),
        Cell::text(source_id),
        Cell::Flag(lossy),
    ]);
    row
}

pub(super) fn kind_cell(kind: MessageKind) -> Cell {
    word(&kind)
}

pub(super) fn tokens(usage: &Usage) -> [Cell; 6] {
    [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning, usage.total].map(Cell::count)
}

/// Returns what a call is called with, as JSON.
pub(super) fn arguments(call: &FlatToolCall<'_>) -> Cell {
    Cell::text(call.arguments.as_ref().map(|arguments| arguments.get()))
}

fn call(call: &FlatToolCall<'_>) -> Vec<Cell> {
    vec![Cell::text(call.id), Cell::text(call.name), arguments(call)]
}

fn result(result: FlatToolResult<'_>) -> Vec<Cell> {
    vec![Cell::text(result.call_id), Cell::text(result.name), Cell::flag(result.is_error), Cell::Text(result.text)]
}

fn command(shell: &FlatShell<'_>) -> Vec<Cell> {
    let text = |text: &str| Cell::Text(text.to_owned());
    vec![text(shell.command), text(shell.output), shell.exit_code.map_or(Cell::Null, Cell::Integer)]
}

fn file(file: &FlatFile<'_>) -> Vec<Cell> {
    let FlatFile { kind, path, uri, name, media_type, embedded } = file;
    vec![
        Cell::Text((*kind).to_owned()),
        Cell::text(*path),
        Cell::text(*uri),
        Cell::text(*name),
        Cell::text(*media_type),
        Cell::Flag(*embedded),
    ]
}
