//! The records of the tree by their paths.

use crate::model::files::RelPath;

/// A file of the tree that is a record, with what its path says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Record {
    Session { id: String },
    Message { session: String, id: String },
    Part { message: String, id: String },
    Todo { session: String },
    Project { id: String },
}

/// Returns a file's path below the storage folder, and the record that it is; `None`
/// for files that the program's own migration leaves where they are.
pub(super) fn record(path: &RelPath) -> Option<(String, Record)> {
    let text = path.as_text()?;
    let below = text.rsplit_once("storage/").map_or(text, |(_, below)| below);
    let steps: Vec<&str> = below.split('/').collect();
    let stem = |name: &str| name.strip_suffix(".json").map(str::to_owned);
    let record = match steps[..] {
        ["session", _, name] => Record::Session { id: stem(name)? },
        ["message", session, name] => Record::Message { session: session.to_owned(), id: stem(name)? },
        ["part", message, name] => Record::Part { message: message.to_owned(), id: stem(name)? },
        ["todo", name] => Record::Todo { session: stem(name)? },
        ["project", name] => Record::Project { id: stem(name)? },
        _ => return None,
    };
    Some((below.to_owned(), record))
}
