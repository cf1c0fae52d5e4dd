//! A source folder as a listing: names, kinds and sizes, nothing read yet.

use std::cell::RefCell;
use std::collections::HashMap;

use super::files::RelPath;

/// What stands at a path of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedKind {
    /// A regular file.
    File,
    /// A symbolic link, never followed.
    Link,
    /// A folder.
    Folder,
    /// A pipe, a socket, a device.
    Special,
    /// Something that could not be looked at, and why.
    Unreadable(String),
}

/// One entry of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The path below the listing's root.
    pub path: RelPath,
    /// What stands there.
    pub kind: ListedKind,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written, in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Its permission bits.
    pub mode: u32,
}

/// Everything below a folder, in byte order of path.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    entries: Vec<Listed>,
}

impl Listing {
    /// A listing of these entries.
    #[must_use]
    pub fn new(mut entries: Vec<Listed>) -> Listing {
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Listing { entries }
    }

    /// All entries.
    #[must_use]
    pub fn entries(&self) -> &[Listed] {
        &self.entries
    }

    /// The entry at a path.
    #[must_use]
    pub fn get(&self, path: &RelPath) -> Option<&Listed> {
        self.entries.binary_search_by(|entry| entry.path.cmp(path)).ok().map(|at| &self.entries[at])
    }

    /// Everything below a folder, which itself is left out.
    #[must_use]
    pub fn below(&self, folder: &RelPath) -> &[Listed] {
        if folder.as_bytes().is_empty() {
            return &self.entries;
        }
        let prefix = [folder.as_bytes(), b"/"].concat();
        let from = self.entries.partition_point(|entry| entry.path.as_bytes() < prefix.as_slice());
        let len = self.entries[from..].partition_point(|entry| entry.path.as_bytes().starts_with(&prefix));
        &self.entries[from..from + len]
    }
}

/// One folder of a listing, with a look at the first bytes of its files.
pub struct FolderView<'a> {
    listing: &'a Listing,
    folder: &'a RelPath,
    peek: Peek<'a>,
    seen: RefCell<Seen>,
}

/// First bytes that were read: every adapter looks at the same few files.
#[derive(Default)]
struct Seen {
    of: HashMap<RelPath, Vec<u8>>,
    bytes: usize,
}

/// No more than this is kept of a folder, however many files are in it.
const MOST_SEEN: usize = 8 * 1024 * 1024;

/// Reads up to so many first bytes of a file; what cannot be read is empty.
pub type Peek<'a> = &'a (dyn Fn(&RelPath, u64) -> Vec<u8> + Sync);

/// Enough of most files to tell what they are…
const FEW_BYTES: u64 = 4 * 1024;
/// …and of those that begin with a long line.
const FIRST_BYTES: u64 = 64 * 1024;

impl<'a> FolderView<'a> {
    /// A view of `folder`; `peek` reads the first bytes of a file.
    pub fn new(listing: &'a Listing, folder: &'a RelPath, peek: Peek<'a>) -> FolderView<'a> {
        FolderView { listing, folder, peek, seen: RefCell::default() }
    }

    /// This folder's path below the listing's root.
    #[must_use]
    pub fn path(&self) -> &RelPath {
        self.folder
    }

    /// The entry at a path below this folder.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Listed> {
        self.listing.get(&RelPath::new(path).below(self.folder))
    }

    /// Whether a regular file stands at a path below this folder.
    #[must_use]
    pub fn has_file(&self, path: &str) -> bool {
        self.get(path).is_some_and(|entry| entry.kind == ListedKind::File)
    }

    /// The first bytes of a file below this folder: at least one line, unless
    /// that is very long.
    #[must_use]
    pub fn first_bytes(&self, path: &str) -> Vec<u8> {
        let path = RelPath::new(path).below(self.folder);
        let mut seen = self.seen.borrow_mut();
        if let Some(first) = seen.of.get(&path) {
            return first.clone();
        }
        let few = (self.peek)(&path, FEW_BYTES);
        let enough = memchr::memchr(b'\n', &few).is_some() || (few.len() as u64) < FEW_BYTES;
        let first = if enough { few } else { (self.peek)(&path, FIRST_BYTES) };
        if seen.bytes + first.len() <= MOST_SEEN {
            seen.bytes += first.len();
            seen.of.insert(path, first.clone());
        }
        first
    }

    /// All bytes of a file below this folder, for the few that must be judged
    /// by their end.
    #[must_use]
    pub fn all_bytes(&self, path: &str) -> Vec<u8> {
        (self.peek)(&RelPath::new(path).below(self.folder), u64::MAX)
    }

    /// Everything below this folder, each with its path relative to it.
    pub fn entries(&self) -> impl Iterator<Item = (&'a [u8], &'a Listed)> {
        let skip = if self.folder.as_bytes().is_empty() { 0 } else { self.folder.as_bytes().len() + 1 };
        self.listing.below(self.folder).iter().map(move |entry| (&entry.path.as_bytes()[skip..], entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI32, Ordering};

    #[test]
    fn a_file_that_several_look_at_is_read_once() {
        let listing = Listing::new(Vec::new());
        let (root, reads) = (RelPath::new(""), AtomicI32::new(0));
        let peek = |_: &RelPath, _: u64| {
            reads.fetch_add(1, Ordering::Relaxed);
            b"{}\n".to_vec()
        };
        let view = FolderView::new(&listing, &root, &peek);
        assert_eq!(view.first_bytes("a"), view.first_bytes("a"));
        assert_eq!((view.first_bytes("b").len(), reads.into_inner()), (3, 2));
    }

    #[test]
    fn what_is_below_a_folder_is_not_what_begins_like_it() {
        let listed = |path: &str| Listed { path: RelPath::new(path), kind: ListedKind::File, size: 0, mtime_ns: 0, mode: 0 };
        let listing = Listing::new(["a", "a/x", "a-b", "a-b/y", "a/z/w", "ab"].map(listed).to_vec());
        let below: Vec<_> = listing.below(&RelPath::new("a")).iter().map(|entry| entry.path.to_string()).collect();
        assert_eq!(below, ["a/x", "a/z/w"]);
        assert_eq!(listing.below(&RelPath::new("")).len(), 6);
    }
}
