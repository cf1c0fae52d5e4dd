//! What the Claude Agent SDK (0.3.326) returns for a session:
//! `getSessionMessages(id)`, and `getSubagentMessages(id, agent)` for its
//! subagents. Written again from its behaviour. It shares JavaScript itself
//! ([`crate::runtimes::javascript`]) and nothing else with the rest of this
//! adapter.
//!
//! The files of a session are found by their names, in whatever folder: the
//! transcript `<uuid>.jsonl`, and below a folder `subagents/` the transcripts
//! `agent-<id>.jsonl` with `agent-<id>.meta.json` beside them. All others are not
//! looked at; nor are flat `agent-*.jsonl` files, which the SDK does not know.
//!
//! Heads: `branch:main`; `branch:agent-<id>` for each subagent; and for each other
//! tip of the main conversation a branch named by the uuid of its last user or
//! assistant record, unless `main` shows that record. A session always loads:
//! where nothing is found there are no messages. Facts: none.

mod blocks;
mod commands;
mod large;
mod queue;
mod record;
mod show;
mod tree;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::model::files::{Entry, Files};
use crate::model::heads::{HeadKind, HeadName};
use crate::model::loaded::{LoadOutcome, Loader};
use crate::runtimes::javascript::Value;

use blocks::Blocks;
use queue::Queue;
use record::{Kind, Line, Record};
use show::{Command, Filter, Shape, Taken};
use tree::{Index, NoList, Tree};

const NO_SUCH_BRANCH: &str = "no such branch";
const NO_LIST: &str = "a compaction says of the messages that it kept something that is not a list of them";

/// The loader of one session.
#[must_use]
pub fn loader(files: &Files) -> Box<dyn Loader + '_> {
    Box::new(Session::new(files))
}

/// A session's transcript, and those of its subagents by the names of their heads.
struct Session<'f> {
    main: Main<'f>,
    agents: BTreeMap<String, Agent<'f>>,
}

/// The transcript of a subagent, and what is noted about it.
struct Agent<'f> {
    text: &'f [u8],
    meta: &'f [u8],
}

/// A transcript that was read.
struct Main<'f> {
    tree: Tree<'f>,
    blocks: Blocks<'f>,
    queue: Queue<'f>,
    leaf: Result<Option<Index>, NoList>,
    /// The leaves of the other branches, by the names of their heads.
    others: BTreeMap<String, Index>,
}

fn is_uuid(name: &str) -> bool {
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && name.split('-').all(is_hex)
}

impl<'f> Session<'f> {
    fn new(files: &'f Files) -> Session<'f> {
        let bytes = |path: &str| files.file(path).map(|file| file.bytes.as_slice()).unwrap_or_default();
        let mut transcript = None;
        let mut agents = BTreeMap::new();
        for (path, entry) in files.iter() {
            let (Some(path), Entry::File(file)) = (path.as_text(), entry) else { continue };
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let Some(stem) = name.strip_suffix(".jsonl") else { continue };
            if folder.split('/').any(|part| part == "subagents") {
                if stem.starts_with("agent-") {
                    let meta = path.strip_suffix(".jsonl").map(|path| bytes(&format!("{path}.meta.json"))).unwrap_or_default();
                    agents.entry(stem.to_owned()).or_insert(Agent { text: &file.bytes, meta });
                }
            } else if is_uuid(stem) {
                transcript = transcript.or(Some(file.bytes.as_slice()));
            }
        }
        // A person said that this file is a transcript.
        let lone = || files.lone_file().map(|(_, file)| file.bytes.as_slice());
        let main = Main::read(transcript.or_else(lone).unwrap_or_default());
        Session { main, agents }
    }

    fn load_head(&self, head: &HeadName, show: &mut dyn FnMut(&[u8])) -> Result<(), &'static str> {
        if head.kind != HeadKind::Branch {
            return Err(NO_SUCH_BRANCH);
        }
        if *head == HeadName::main() {
            let leaf = self.main.leaf.map_err(|NoList| NO_LIST)?;
            leaf.into_iter().for_each(|leaf| self.main.show(leaf, show));
        } else if let Some(agent) = self.agents.get(&head.name) {
            agent.show(show);
        } else {
            let leaf = self.main.others.get(&head.name).ok_or(NO_SUCH_BRANCH)?;
            self.main.show(*leaf, show);
        }
        Ok(())
    }
}

impl<'f> Main<'f> {
    fn read(text: &'f [u8]) -> Main<'f> {
        let mut tree = Tree::new(record::read(large::read_part(text)));
        let linked = tree.relink();
        tree.link();
        let (leaf, leaves) = if linked.is_ok() { tree.leaves() } else { (None, Vec::new()) };
        let (blocks, queue) = (Blocks::of(&tree), Queue::of(&tree));
        let mut main = Main { tree, blocks, queue, leaf: linked.map(|()| leaf), others: BTreeMap::new() };
        let listed: HashSet<Index> = leaf.map(|leaf| main.list(leaf)).unwrap_or_default().into_iter().collect();
        let others: BTreeSet<Index> = leaves.into_iter().filter(|leaf| !listed.contains(leaf)).collect();
        let name = |leaf: &Index| main.tree.records[*leaf].uuid.lossy().unwrap_or_default();
        main.others = others.into_iter().map(|leaf| (name(&leaf), leaf)).filter(|(name, _)| name != "main").collect();
        main
    }

    /// The records up to a leaf, with what stands beside them.
    fn list(&self, leaf: Index) -> Vec<Index> {
        self.blocks.complete(&self.tree, &self.tree.chain(leaf))
    }

    fn show(&self, leaf: Index, show: &mut dyn FnMut(&[u8])) {
        let list = self.list(leaf);
        let below = queue::below_leaf(&self.tree, &list, leaf);
        let shape = Shape { filter: Filter::Session, tool_use: Value::UNDEFINED, agent: Value::UNDEFINED };
        show_list(&self.tree, &shape, (&list, &below), &self.queue, show);
    }
}

impl Agent<'_> {
    fn show(&self, show: &mut dyn FnMut(&[u8])) {
        let is_node = |line: &Line<'_>| match line {
            Line::Node(record) => matches!(record.kind, Kind::User | Kind::Assistant | Kind::Attachment),
            Line::Absorbed(_) => false,
        };
        let mut tree = Tree::new(record::read(self.text).filter(is_node));
        tree.link();
        let Some(leaf) = tree.last_said() else { return };
        let [tool_use, agent] = Value::parse(self.meta).unwrap_or(Value::UNDEFINED).get_all(["toolUseId", "parentAgentId"]);
        let tool_use = if show::is_id(tool_use, b"_.:-") { tool_use } else { Value::UNDEFINED };
        let agent = if show::is_id(agent, b"_-") { agent } else { Value::UNDEFINED };
        show_list(&tree, &Shape { filter: Filter::Agent, tool_use, agent }, (&tree.chain(leaf), &[]), &Queue::default(), show);
    }
}

/// Shows the messages of a list, and of what hangs below its last one.
fn show_list<'a>(tree: &Tree<'a>, shape: &Shape<'_>, (list, below): (&[Index], &[Index]), queue: &Queue<'a>, show: &mut dyn FnMut(&[u8])) {
    let records: Vec<&Record<'a>> = list.iter().chain(below).map(|index| &tree.records[*index]).collect();
    let completed = commands::completed(&records);
    let delivered = queue.delivered(&records, list.len(), &completed);
    let listed = records.iter().filter_map(|record| record.uuid.text()).collect();
    let mut taken = Taken { listed, shown: HashSet::new() };
    let mut line = Vec::new();
    for (at, record) in records.into_iter().enumerate() {
        line.clear();
        let command = if completed[at] { Command::Completed } else { Command::No };
        let printed = match delivered[at] {
            true => shape.print_queued(record, &mut taken, &mut line),
            false => shape.print(record, command, &mut line),
        };
        if printed.is_some() {
            show(&line);
        }
    }
}

impl Loader for Session<'_> {
    fn heads(&mut self) -> Vec<HeadName> {
        let names = self.agents.keys().chain(self.main.others.keys().filter(|name| !self.agents.contains_key(*name)));
        std::iter::once(HeadName::main()).chain(names.map(|name| HeadName::new(HeadKind::Branch, name))).collect()
    }

    fn load(&mut self, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        let main = HeadName::main();
        let error = self.load_head(head.unwrap_or(&main), show).err().map(str::to_owned);
        LoadOutcome { active: head.is_none().then_some(main), error, ..LoadOutcome::default() }
    }
}

#[cfg(test)]
mod tests;
