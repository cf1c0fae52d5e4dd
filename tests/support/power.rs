//! A disk in memory that forgets: it is told what was done, step by step, and
//! says what could be there after the power was cut. Bytes are safe once their
//! file is synced, names once their folder is; until then any of them may
//! survive, in any order that their own name or file does not forbid.

use super::damage::Seeded;
use super::watched::{Step, Watch};
use everlog::store::StoreError;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Folder,
    Link(PathBuf),
    /// Which of the files.
    File(usize),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Content {
    bytes: Vec<u8>,
    mode: u32,
    mtime_ns: Option<i64>,
}

#[derive(Debug, Clone, Default)]
struct Inode {
    safe: Content,
    now: Content,
}

/// Names that change together.
type Change = Vec<(PathBuf, Option<Node>)>;

/// What survives of what was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survival {
    Nothing,
    /// All names, and no bytes.
    Names,
    /// As chance has it.
    Seeded(u64),
}

/// The disk as it is, and as much of it as is safe.
#[derive(Debug, Clone, Default)]
pub struct Model {
    root: PathBuf,
    safe: BTreeMap<PathBuf, Node>,
    now: BTreeMap<PathBuf, Node>,
    pending: Vec<Change>,
    inodes: Vec<Inode>,
}

impl Model {
    /// A disk on which everything below a folder is safe.
    pub fn of(root: &Path) -> Model {
        let mut model = Model { root: root.to_owned(), ..Model::default() };
        let mut open = vec![root.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).unwrap().flatten() {
                let (path, meta) = (entry.path(), entry.metadata().unwrap());
                let node = if meta.is_dir() {
                    open.push(path.clone());
                    Node::Folder
                } else if meta.is_symlink() {
                    Node::Link(fs::read_link(&path).unwrap())
                } else {
                    let mtime_ns = Some(meta.mtime() * 1_000_000_000 + meta.mtime_nsec());
                    let content = Content { bytes: fs::read(&path).unwrap(), mode: meta.mode() & 0o7777, mtime_ns };
                    model.inodes.push(Inode { safe: content.clone(), now: content });
                    Node::File(model.inodes.len() - 1)
                };
                model.safe.insert(path, node);
            }
        }
        model.now = model.safe.clone();
        model
    }

    fn change(&mut self, change: Change) {
        for (path, node) in &change {
            set(&mut self.now, path, node.clone());
        }
        self.pending.push(change);
    }

    fn new_file(&mut self, path: &Path) {
        self.inodes.push(Inode { now: Content { mode: 0o600, ..Content::default() }, ..Inode::default() });
        let node = Node::File(self.inodes.len() - 1);
        self.change(vec![(path.to_owned(), Some(node))]);
    }

    fn file(&mut self, path: &Path) -> &mut Inode {
        match self.now.get(path) {
            Some(Node::File(number)) => &mut self.inodes[*number],
            other => panic!("{}: {other:?} is no file", path.display()),
        }
    }

    /// Names that change are safe once their folder is synced, and what the
    /// same names were before with them.
    fn settle(&mut self, is_synced: impl Fn(&Path) -> bool) {
        let chosen = closed(&self.pending, |change| change.iter().any(|(path, _)| is_synced(path)));
        for (change, is_chosen) in std::mem::take(&mut self.pending).into_iter().zip(chosen) {
            if is_chosen {
                change.iter().for_each(|(path, node)| set(&mut self.safe, path, node.clone()));
            } else {
                self.pending.push(change);
            }
        }
    }

    fn apply(&mut self, step: &Step<'_>) {
        match *step {
            Step::CreatePrivate { path } => self.new_file(path),
            Step::OpenLock { path } => {
                if !self.now.contains_key(path) {
                    self.new_file(path);
                }
            }
            Step::Write { path, bytes, .. } | Step::Extend { path, bytes, .. } => self.file(path).now.bytes.extend_from_slice(bytes),
            Step::Append { path, bytes } => {
                if !self.now.contains_key(path) {
                    self.new_file(path);
                }
                self.file(path).now.bytes.extend_from_slice(bytes);
            }
            Step::Truncate { path, len } => self.file(path).now.bytes.truncate(len as usize),
            Step::Dress { path, look } => {
                let now = &mut self.file(path).now;
                (now.mode, now.mtime_ns) = (look.mode, look.mtime_ns.or(now.mtime_ns));
            }
            Step::Sync { path } => match self.now.get(path) {
                Some(Node::File(number)) => {
                    let inode = &mut self.inodes[*number];
                    inode.safe = inode.now.clone();
                }
                _ => self.settle(|name| name.parent() == Some(path)),
            },
            Step::SyncAllBelow { .. } => {
                self.settle(|_| true);
                self.inodes.iter_mut().for_each(|inode| inode.safe = inode.now.clone());
            }
            Step::Rename { from, path } | Step::RenameNew { from, path } => {
                let node = self.now.get(from).cloned();
                self.change(vec![(from.to_owned(), None), (path.to_owned(), node)]);
            }
            Step::Link { from, path } => {
                let node = self.now.get(from).cloned();
                self.change(vec![(path.to_owned(), node)]);
            }
            Step::Symlink { target, path } => self.change(vec![(path.to_owned(), Some(Node::Link(target.to_owned())))]),
            Step::Remove { path } => self.change(vec![(path.to_owned(), None)]),
            Step::CreateFolder { path } => self.change(vec![(path.to_owned(), Some(Node::Folder))]),
        }
    }

    /// Whether a cut now could leave more than one thing behind.
    pub fn is_settled(&self) -> bool {
        self.pending.is_empty() && self.inodes.iter().all(|inode| inode.safe == inode.now)
    }

    /// Puts on a real disk what a power cut leaves.
    pub fn cut(&self, survival: Survival, target: &Path) {
        let mut random = Seeded(if let Survival::Seeded(seed) = survival { seed } else { 0 });
        let lucky: Vec<bool> = self
            .pending
            .iter()
            .map(|_| match survival {
                Survival::Nothing => false,
                Survival::Names => true,
                Survival::Seeded(_) => random.below(2) == 0,
            })
            .collect();
        let mut number = 0;
        let chosen = closed(&self.pending, |_| {
            number += 1;
            lucky[self.pending.len() - number]
        });
        let mut names = self.safe.clone();
        for (change, _) in self.pending.iter().zip(chosen).filter(|(_, is_chosen)| *is_chosen) {
            change.iter().for_each(|(path, node)| set(&mut names, path, node.clone()));
        }
        let contents: Vec<Content> = self.inodes.iter().map(|inode| surviving(inode, survival, &mut random)).collect();
        // In the order of names a folder comes before what lies in it.
        let mut folders = BTreeSet::from([self.root.clone()]);
        for (path, node) in &names {
            if !path.parent().is_some_and(|folder| folders.contains(folder)) {
                continue;
            }
            let place = target.join(path.strip_prefix(&self.root).unwrap());
            match node {
                Node::Folder => {
                    fs::create_dir(&place).unwrap();
                    folders.insert(path.clone());
                }
                Node::Link(to) => symlink(to, &place).unwrap(),
                Node::File(number) => {
                    let content = &contents[*number];
                    fs::write(&place, &content.bytes).unwrap();
                    fs::set_permissions(&place, fs::Permissions::from_mode(content.mode)).unwrap();
                    if let Some(mtime_ns) = content.mtime_ns {
                        super::set_mtime(&place, mtime_ns);
                    }
                }
            }
        }
    }
}

fn set(names: &mut BTreeMap<PathBuf, Node>, path: &Path, node: Option<Node>) {
    match node {
        Some(node) => drop(names.insert(path.to_owned(), node)),
        None => drop(names.remove(path)),
    }
}

/// The changes that are chosen, last to first, and those before them that are of
/// the same names: what happens to one name happens in its order.
fn closed(changes: &[Change], mut is_chosen: impl FnMut(&Change) -> bool) -> Vec<bool> {
    let mut names: BTreeSet<&Path> = BTreeSet::new();
    let mut chosen: Vec<bool> = changes
        .iter()
        .rev()
        .map(|change| {
            let is_chosen = is_chosen(change) || change.iter().any(|(path, _)| names.contains(path.as_path()));
            if is_chosen {
                names.extend(change.iter().map(|(path, _)| path.as_path()));
            }
            is_chosen
        })
        .collect();
    chosen.reverse();
    chosen
}

/// What is left of a file's bytes: the safe ones, all, some of the new ones, or
/// the new size without the new bytes.
fn surviving(inode: &Inode, survival: Survival, random: &mut Seeded) -> Content {
    let Inode { safe, now } = inode;
    let choice = match survival {
        Survival::Nothing | Survival::Names => 0,
        Survival::Seeded(_) => random.below(4),
    };
    if choice == 0 || safe == now {
        return safe.clone();
    }
    let mut content = now.clone();
    if now.bytes.len() > safe.bytes.len() && now.bytes.starts_with(&safe.bytes) {
        let new = now.bytes.len() - safe.bytes.len();
        match choice {
            2 => content.bytes.truncate(safe.bytes.len() + random.below(new + 1)),
            3 => content.bytes[safe.bytes.len()..].fill(0),
            _ => {}
        }
    }
    content
}

/// Looks on and keeps every state that the disk went through.
#[derive(Debug)]
pub struct Recorder(Mutex<Vec<Model>>);

impl Recorder {
    pub fn of(root: &Path) -> Recorder {
        Recorder(Mutex::new(vec![Model::of(root)]))
    }

    pub fn states(self) -> Vec<Model> {
        self.0.into_inner().unwrap()
    }
}

impl Watch for Recorder {
    fn before(&self, _step: &Step<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    fn after(&self, step: &Step<'_>) {
        let mut states = self.0.lock().unwrap();
        let mut next = states.last().unwrap().clone();
        next.apply(step);
        states.push(next);
    }
}
