//! A conversation on its way to a reader: which messages, with which marks
//! between them, in which order. How they look is the writer's business.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::sync::Arc;

use crate::adapters::format::Format;
use crate::api::{Message, MessageKind, Session};
use crate::commands::nodes::other_branches;
use crate::commands::replay::Branches;
use crate::commands::tree_line::words;
use crate::log::{LogView, ProjectedNode, Projection, Reach, Salvage};
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::model::stream::{LogAccess, StreamError};
use crate::report::terminal::Tint;
use crate::report::text::{count, thousands};

use super::marks::{Mark, Marks};

/// Who writes a conversation down.
pub(super) trait Writer {
    /// Begins with what the session is.
    fn begin(&mut self, title: &str, facts: &str);
    /// Writes a message.
    fn message(&mut self, message: &Message, files: &Files);
    /// Writes a line that nobody said.
    fn mark(&mut self, mark: &Mark);
    /// Tells whether nobody reads any more.
    fn is_closed(&self) -> bool;
}

/// The sizes of a session's files, by their paths.
#[derive(Debug, Default)]
pub(super) struct Files(HashMap<String, u64>);

impl Files {
    fn of(view: &mut LogView<Arc<File>>) -> Result<Files, StreamError> {
        let mut sizes = HashMap::new();
        for seq in view.files().to_vec() {
            let event = view.event(seq)?;
            let path = event.value().first("path").and_then(|path| path.as_str()).map(std::borrow::Cow::into_owned);
            let size = event.value().first("size").and_then(|size| size.parse());
            sizes.extend(path.zip(size));
        }
        Ok(Files(sizes))
    }

    /// Returns the size of a file that a message names.
    pub(super) fn size(&self, path: Option<&str>) -> Option<u64> {
        let path = path?;
        let inside = |name: &str| path == name || path.strip_suffix(name).is_some_and(|before| before.ends_with('/'));
        self.0.get(path).or_else(|| self.0.iter().find(|(name, _)| inside(name)).map(|(_, size)| size)).copied()
    }
}

/// Which part of a log is written down.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// The end of the path that is shown.
    pub node: Seq,
    /// Only so many messages at the end.
    pub last: Option<usize>,
    /// Whether the other branches follow.
    pub branches: Branches,
}

/// Writes a conversation down.
pub(super) fn write(view: &mut LogView<Arc<File>>, adapter: &dyn Format, part: Part, writer: &mut dyn Writer) -> Result<(), StreamError> {
    let mut marks = Marks::of(view, adapter, part.node)?;
    let files = Files::of(view)?;
    let session = Session::of(&view.session, &view.outcome);
    let (mut projection, mut items) = items(view, part.node)?;
    let messages = items.iter().filter(|item| view.kind(item.seq) == EventKind::Message).count() as u64;
    writer.begin(session.title.as_deref().unwrap_or_default(), &facts(&session, messages));
    if let Some(error) = &session.error {
        writer.mark(&Mark::of(Tint::Damage, format!("✗ {} fails to load this session: {error}", session.format)));
    }
    if let Some(last) = part.last {
        let shown = |item: &ProjectedNode| MessageKind::of(view.kind(item.seq)).is_some();
        let skipped = items.iter().filter(|item| shown(item)).count().saturating_sub(last);
        let at = items.iter().enumerate().filter(|(_, item)| shown(item)).nth(skipped).map_or(items.len(), |(at, _)| at);
        let left_out = items.drain(..if skipped > 0 { at } else { 0 }).count();
        if left_out > 0 {
            writer.mark(&Mark::of(Tint::Guide, format!("… {} before …", count(skipped as u64, "message"))));
        }
        let shown: HashSet<Seq> = items.iter().map(|item| item.seq).collect();
        marks.keep_after(&shown, items.first().filter(|_| left_out > 0).map(|item| item.seq));
    }
    marks.after(Seq::ROOT).iter().for_each(|mark| writer.mark(mark));
    let mut index = 0;
    for item in &items {
        if writer.is_closed() {
            return Ok(());
        }
        marks.before(item.seq).iter().for_each(|mark| writer.mark(mark));
        item_written(view, &mut projection, *item, &mut index, &files, writer)?;
        marks.after(item.seq).iter().for_each(|mark| writer.mark(mark));
    }
    marks.rest().iter().for_each(|mark| writer.mark(mark));
    if part.branches == Branches::All {
        let seen = items.iter().map(|item| item.seq).collect();
        rest_of_branches(view, part.node, seen, &mut index, &files, writer)?;
    }
    Ok(())
}

/// Writes what other branches have and those before them have not.
fn rest_of_branches(
    view: &mut LogView<Arc<File>>,
    node: Seq,
    mut seen: HashSet<Seq>,
    index: &mut u64,
    files: &Files,
    writer: &mut dyn Writer,
) -> Result<(), StreamError> {
    for (name, end) in other_branches(view, node) {
        let (mut projection, items) = items(view, end)?;
        let is_new = items.iter().any(|item| !seen.contains(&item.seq));
        let words = if is_new { String::new() } else { ": all of it is above".to_owned() };
        writer.mark(&Mark::of(Tint::Mark, format!("━━ branch {}{words} ━━", name.name)));
        let mut above = 0;
        for item in items.iter().filter(|_| is_new) {
            if writer.is_closed() {
                return Ok(());
            }
            if !seen.insert(item.seq) {
                above += u64::from(MessageKind::of(view.kind(item.seq)).is_some());
                continue;
            }
            passed_over(&mut above, writer);
            item_written(view, &mut projection, *item, index, files, writer)?;
        }
        passed_over(&mut above, writer);
    }
    Ok(())
}

fn passed_over(above: &mut u64, writer: &mut dyn Writer) {
    let messages = std::mem::take(above);
    if messages > 0 {
        writer.mark(&Mark::of(Tint::Guide, format!("… {} shown above …", count(messages, "message"))));
    }
}

/// All that stands on the path to a node.
fn items(view: &mut LogView<Arc<File>>, node: Seq) -> Result<(Projection, Vec<ProjectedNode>), StreamError> {
    let mut projection = Projection::of(view, node, Reach::Path, Salvage::Hidden)?;
    let mut items = Vec::new();
    while let Some(item) = projection.next_item(view)? {
        items.push(item);
    }
    Ok((projection, items))
}

fn item_written(
    view: &mut LogView<Arc<File>>,
    projection: &mut Projection,
    item: ProjectedNode,
    index: &mut u64,
    files: &Files,
    writer: &mut dyn Writer,
) -> Result<(), StreamError> {
    let shown = projection.read(item, view)?;
    if let Some(message) = Message::of(&shown, *index)? {
        *index += 1;
        writer.message(&message, files);
    } else if matches!(shown.event.kind, EventKind::ModelChange | EventKind::SettingChange | EventKind::Label) {
        let said = words(&shown.event, |seq| format!("#{seq}"));
        writer.mark(&Mark::of(Tint::Guide, format!("· {}: {}", said.who, said.text)));
    }
    Ok(())
}

/// What a session is, in one line.
fn facts(session: &Session, messages: u64) -> String {
    let noun = if messages == 1 { "message" } else { "messages" };
    let cwd = session.cwd.as_ref().map(|cwd| format!(", in {cwd}")).unwrap_or_default();
    format!("{} {}, {} {noun}{cwd}", session.format, session.id, thousands(messages))
}
