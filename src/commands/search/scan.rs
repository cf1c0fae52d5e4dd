//! One log, searched: lines by their bytes, then the texts of messages, then
//! whether the message is on the branch that is meant.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::ops::{ControlFlow, Range};

use crate::api::{CallFacts, Message, MessageKind, Part, Role};
use crate::commands::error::CommandError;
use crate::commands::sessions::SessionRow;
use crate::commands::{logs, nodes};
use crate::log::{LogTail, Projection, Reach, Salvage, decode_line, each_stretch};
use crate::model::event::{EventKind, EventRef, Run};
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::model::shown::Shown;
use crate::model::stream::StreamError;
use crate::store::disk;

use super::filter::{Branch, Filter};
use super::pattern::Pattern;

/// What kind of text a match is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// What was said.
    Text,
    /// What a model thought.
    Thinking,
    /// What a tool was called with.
    Call,
    /// What a tool answered.
    Result,
    /// A command that a person ran, or what it printed.
    Shell,
    /// The summary of a compaction, or of a branch.
    Summary,
}

/// A line that matches.
#[derive(Debug, Clone)]
pub(super) struct Hit {
    pub seq: Seq,
    pub ts: Option<String>,
    pub role: Role,
    pub part: PartKind,
    pub tool: Option<String>,
    /// Which line of its text it is, from 1.
    pub line: usize,
    /// The line; the lines, where the match goes over their ends.
    pub text: String,
    /// Where in it matches are.
    pub matches: Vec<Range<usize>>,
    /// Lines before and after it.
    pub before: Vec<String>,
    pub after: Vec<String>,
}

/// How far to search a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Enough {
    /// All of it.
    All,
    /// One match says it.
    One,
}

/// Finds what matches in one log.
pub(super) fn hits(row: &SessionRow, pattern: &Pattern, filter: &Filter, enough: Enough) -> Result<Vec<Hit>, CommandError> {
    let stream = |source: StreamError| CommandError::Stream { path: row.path(), source };
    let file = disk::open(&row.path())?;
    let mut search = Search { row, pattern, filter, on_branch: None, called: HashMap::new(), hits: Vec::new(), failure: None };
    each_stretch(&file, |stretch| search.stretch(stretch, enough)).map_err(stream)?;
    match search.failure {
        Some(failure) => Err(failure),
        None => Ok(search.hits),
    }
}

/// The messages of the branch that is meant.
enum OnBranch {
    All,
    Runs(Vec<Run>),
    Set(HashSet<Seq>),
}

impl OnBranch {
    fn has(&self, seq: Seq) -> bool {
        match self {
            OnBranch::All => true,
            OnBranch::Runs(runs) => runs.iter().any(|Run(first, last, _, _)| (*first..=*last).contains(&seq)),
            OnBranch::Set(set) => set.contains(&seq),
        }
    }

    fn of(row: &SessionRow, branch: &Branch) -> Result<OnBranch, CommandError> {
        let stream = |source: StreamError| CommandError::Stream { path: row.path(), source };
        let head = match branch {
            Branch::All => return Ok(OnBranch::All),
            Branch::Active => {
                // The last checkpoint names the path that is shown by default.
                let tail: Option<LogTail<File>> = LogTail::open(disk::open(&row.path())?).map_err(stream)?;
                if let Some(tail) = tail.filter(|tail| !tail.projects()) {
                    return Ok(OnBranch::Runs(tail.path().to_vec()));
                }
                None
            }
            Branch::Named(name) => Some(HeadName::parse(name)),
        };
        let mut view = logs::open_any(&row.path(), None)?;
        let node = match nodes::wanted(&mut view, &row.path(), head.as_ref(), None) {
            Ok(node) => node,
            // A session without such a branch has nothing on it.
            Err(CommandError::NoSuchHead { .. }) => Seq::ROOT,
            Err(error) => return Err(error),
        };
        let mut projection = Projection::of(&mut view, node, Reach::Path, Salvage::Hidden).map_err(stream)?;
        let mut set = HashSet::new();
        while let Some(item) = projection.next_item(&mut view).map_err(stream)? {
            set.insert(item.seq);
        }
        Ok(OnBranch::Set(set))
    }
}

struct Search<'a> {
    row: &'a SessionRow,
    pattern: &'a Pattern,
    filter: &'a Filter,
    on_branch: Option<OnBranch>,
    /// The names of the tools that were called, by the ids of the calls; kept
    /// only where a tool is asked for.
    called: HashMap<String, String>,
    hits: Vec<Hit>,
    failure: Option<CommandError>,
}

/// One text of a message.
struct Said<'m> {
    role: Role,
    part: PartKind,
    tool: Option<String>,
    text: std::borrow::Cow<'m, str>,
}

impl Search<'_> {
    fn stretch(&mut self, stretch: &[u8], enough: Enough) -> ControlFlow<()> {
        let mut at = 0;
        while at < stretch.len() {
            // Which tool an answer is of is said by the call, which need not match.
            let lines = self.pattern.lines.as_ref().filter(|_| self.filter.tool.is_none());
            let found = match lines {
                Some(lines) => match lines.find_at(stretch, at) {
                    Some(found) => found.start(),
                    None => return ControlFlow::Continue(()),
                },
                None => at,
            };
            let start = memchr::memrchr(b'\n', &stretch[at..found]).map_or(at, |end| at + end + 1);
            let end = memchr::memchr(b'\n', &stretch[found..]).map_or(stretch.len(), |end| found + end);
            if let Err(failure) = self.line(&stretch[start..end]) {
                self.failure = Some(failure);
                return ControlFlow::Break(());
            }
            if enough == Enough::One && !self.hits.is_empty() {
                return ControlFlow::Break(());
            }
            at = end + 1;
        }
        ControlFlow::Continue(())
    }

    fn line(&mut self, line: &[u8]) -> Result<(), CommandError> {
        // What is no event is no message; `verify` says what it is.
        let Ok(event) = decode_line(line) else { return Ok(()) };
        let is_message = matches!(event.kind, EventKind::Message | EventKind::Compaction | EventKind::BranchSummary);
        if !is_message || event.is_hidden_from("loader") || !self.is_recent(&event) {
            return Ok(());
        }
        let message = Message::of(&Shown::plain(event), 0).map_err(|source| CommandError::Stream { path: self.row.path(), source })?;
        let Some(message) = message else { return Ok(()) };
        let mut found = Vec::new();
        for said in self.said(&message) {
            let is_wanted = self.filter.role.is_none_or(|role| said.role == role)
                && self.filter.tool.as_ref().is_none_or(|tool| said.tool.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(tool)));
            if is_wanted {
                self.matches(&message, &said, &mut found);
            }
        }
        if !found.is_empty() && self.is_on_branch(message.seq)? {
            self.hits.append(&mut found);
        }
        Ok(())
    }

    fn is_recent(&self, event: &EventRef<'_>) -> bool {
        let Some(since) = &self.filter.since else { return true };
        // A time without a zone counts as UTC, as it does in lists.
        let utc = |ts: &str| crate::api::utc(ts).unwrap_or_else(|| ts.to_owned());
        event.ts.is_some_and(|ts| utc(ts).trim_end_matches('Z') >= since.as_str())
    }

    fn is_on_branch(&mut self, seq: Seq) -> Result<bool, CommandError> {
        if self.on_branch.is_none() {
            self.on_branch = Some(OnBranch::of(self.row, &self.filter.branch)?);
        }
        Ok(self.on_branch.as_ref().is_none_or(|branch| branch.has(seq)))
    }

    /// All texts of a message that people can search.
    fn said<'m>(&mut self, message: &'m Message) -> Vec<Said<'m>> {
        let usual = if message.kind == MessageKind::Message { PartKind::Text } else { PartKind::Summary };
        let mut all = Vec::new();
        for part in &message.parts {
            match part {
                Part::Text(text) => all.push(Said { role: message.role, part: usual, tool: None, text: text.as_str().into() }),
                Part::Thinking(thinking) => {
                    all.push(Said { role: message.role, part: PartKind::Thinking, tool: None, text: thinking.text.as_str().into() });
                }
                Part::ToolCall(call) => {
                    if let (Some(id), Some(name), Some(_)) = (&call.id, &call.name, &self.filter.tool) {
                        self.called.insert(id.clone(), name.clone());
                    }
                    let say = |text| Said { role: message.role, part: PartKind::Call, tool: call.name.clone(), text };
                    all.extend(CallFacts::of(call).arguments.into_iter().map(|argument| say(argument.value.into())));
                }
                Part::ToolResult(result) => {
                    let tool = result.name.clone().or_else(|| self.called.get(result.call_id.as_ref()?).cloned());
                    all.push(Said { role: Role::Tool, part: PartKind::Result, tool, text: result.text().into() });
                }
                Part::Shell(shell) => {
                    let say = |text: &'m str| Said { role: message.role, part: PartKind::Shell, tool: None, text: text.into() };
                    all.extend([say(shell.command.as_str()), say(shell.output.as_str())]);
                }
                Part::Image(_) | Part::File(_) | Part::Other(_) => {}
            }
        }
        all
    }

    /// Adds the lines of a text that match.
    fn matches(&self, message: &Message, said: &Said<'_>, found: &mut Vec<Hit>) {
        let text = said.text.as_ref();
        let (mut line, mut counted) = (1, 0);
        let mut last: Option<Range<usize>> = None;
        for at in self.pattern.text.find_iter(text).map(|found| found.range()).filter(|found| !found.is_empty()) {
            if let (Some(before), Some(hit)) = (&last, found.last_mut())
                && before.contains(&at.start)
                && at.end <= before.end
            {
                hit.matches.push(at.start - before.start..at.end - before.start);
                continue;
            }
            let start = memchr::memrchr(b'\n', &text.as_bytes()[..at.start]).map_or(0, |end| end + 1);
            let end = memchr::memchr(b'\n', &text.as_bytes()[at.end..]).map_or(text.len(), |len| at.end + len);
            line += memchr::memchr_iter(b'\n', &text.as_bytes()[counted..start]).count();
            counted = start;
            let near = self.filter.context;
            found.push(Hit {
                seq: message.seq,
                ts: message.ts.clone(),
                role: said.role,
                part: said.part,
                tool: said.tool.clone(),
                line,
                text: text[start..end].to_owned(),
                matches: std::iter::once(at.start - start..at.end - start).collect(),
                before: last_lines(&text[..start], near),
                after: text[end..].lines().skip(1).take(near).map(str::to_owned).collect(),
            });
            last = Some(start..end);
        }
    }
}

fn last_lines(text: &str, count: usize) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().rev().take(count).map(str::to_owned).collect();
    lines.reverse();
    lines
}
