//! A source folder as a listing: names, kinds and sizes, nothing read yet.

use rayon::prelude::*;
use std::cell::{OnceCell, RefCell};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

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
    Unreadable(Box<str>),
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
    /// Returns a listing of these entries.
    #[must_use]
    pub fn new(mut entries: Vec<Listed>) -> Listing {
        // They come in long runs that are in order already, or in one.
        if !entries.par_windows(2).all(|two| two[0].path <= two[1].path) {
            entries.sort_by(|a, b| a.path.cmp(&b.path));
        }
        Listing { entries }
    }

    /// Returns all entries.
    #[must_use]
    pub fn entries(&self) -> &[Listed] {
        &self.entries
    }

    /// Returns the entry at a path.
    #[must_use]
    pub fn get(&self, path: &RelPath) -> Option<&Listed> {
        self.entries.binary_search_by(|entry| entry.path.cmp(path)).ok().map(|at| &self.entries[at])
    }

    /// Everything below a folder, which itself is left out.
    #[must_use]
    pub fn below(&self, folder: &RelPath) -> &[Listed] {
        &self.entries[self.numbers_below(folder)]
    }

    /// Returns the numbers of those among all entries.
    #[must_use]
    pub fn numbers_below(&self, folder: &RelPath) -> Range<usize> {
        if folder.as_bytes().is_empty() {
            return 0..self.entries.len();
        }
        self.numbers_after(self.entries.partition_point(|entry| entry.path < *folder), folder)
    }

    /// Returns the numbers of all that is below the folder with this number.
    #[must_use]
    pub fn numbers_below_number(&self, n: usize) -> Range<usize> {
        self.entries.get(n).map_or(0..0, |folder| self.numbers_after(n, &folder.path))
    }

    /// Returns the numbers of what is below a folder, all of which follows this one.
    fn numbers_after(&self, n: usize, folder: &RelPath) -> Range<usize> {
        let folder = folder.as_bytes();
        // Against the folder and a slash after it, without putting them together.
        let against = |entry: &Listed| {
            let (start, rest) = entry.path.as_bytes().split_at(folder.len().min(entry.path.as_bytes().len()));
            start.cmp(folder).then_with(|| if rest.starts_with(b"/") { Ordering::Equal } else { rest.cmp(b"/") })
        };
        let from = n + first_not(&self.entries[n..], |entry| against(entry) == Ordering::Less);
        from..from + first_not(&self.entries[from..], |entry| against(entry) == Ordering::Equal)
    }

    /// Returns the number of the first entry at a path below a folder, which these
    /// numbers are below.
    #[must_use]
    pub fn number_of(&self, numbers: &Range<usize>, folder: &RelPath, path: &RelPath) -> Option<usize> {
        let (below, skip) = (&self.entries[numbers.clone()], skip(folder));
        let first = below.partition_point(|entry| &entry.path.as_bytes()[skip..] < path.as_bytes());
        let is_it = below.get(first).is_some_and(|entry| entry.path.as_bytes()[skip..] == *path.as_bytes());
        is_it.then_some(numbers.start + first)
    }

    /// Returns what lies in a folder itself, which these numbers are below, each with its
    /// number.
    pub fn direct(&self, numbers: Range<usize>, folder: &RelPath) -> impl Iterator<Item = (usize, &Listed)> {
        let first = numbers.start;
        Near { below: &self.entries[numbers], at: 0, skip: skip(folder), inside: &[] }.map(move |(n, _, entry)| (first + n, entry))
    }

    /// Returns what stands at each of these paths below a folder, which these numbers are
    /// below.
    pub fn each_below<'l>(
        &'l self,
        numbers: Range<usize>,
        folder: &RelPath,
        paths: &[RelPath],
    ) -> impl Iterator<Item = Option<&'l Listed>> {
        let (below, skip) = (&self.entries[numbers], skip(folder));
        paths.iter().map(move |path| at(below, skip, path.as_bytes()))
    }
}

/// Returns how many entries are of one kind, which stand before all others. Most folders
/// are small, and end nearby.
fn first_not(entries: &[Listed], is_of_it: impl Fn(&Listed) -> bool) -> usize {
    if !entries.first().is_some_and(&is_of_it) {
        return 0;
    }
    let mut far = 8;
    while entries.get(far).is_some_and(&is_of_it) {
        far *= 2;
    }
    entries[..far.min(entries.len())].partition_point(is_of_it)
}

/// What lies in a folder itself, and in some of the folders in it: the others are
/// skipped, however much is in them.
struct Near<'a> {
    below: &'a [Listed],
    at: usize,
    skip: usize,
    /// The names of those folders, each with a slash after it.
    inside: &'static [&'static str],
}

impl<'a> Iterator for Near<'a> {
    /// Its number, its path below the folder, and itself.
    type Item = (usize, &'a [u8], &'a Listed);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (n, entry) = (self.at, self.below.get(self.at)?);
            let path = &entry.path.as_bytes()[self.skip..];
            let folder = memchr::memchr(b'/', path).map(|end| &path[..=end]);
            match folder.filter(|folder| !self.inside.iter().any(|name| name.as_bytes() == *folder)) {
                Some(other) => self.at += first_not(&self.below[n..], |entry| entry.path.as_bytes()[self.skip..].starts_with(other)),
                None => {
                    self.at += 1;
                    return Some((n, path, entry));
                }
            }
        }
    }
}

/// Returns how much of a path below a folder is the folder's.
fn skip(folder: &RelPath) -> usize {
    if folder.as_bytes().is_empty() { 0 } else { folder.as_bytes().len() + 1 }
}

/// Returns what stands at a path below a folder, by what is below it and what to skip.
fn at<'l>(below: &'l [Listed], skip: usize, path: &[u8]) -> Option<&'l Listed> {
    below.binary_search_by(|entry| entry.path.as_bytes()[skip..].cmp(path)).ok().map(|at| &below[at])
}

/// One folder of a listing, with a look at the first bytes of its files.
pub struct FolderView<'a> {
    folder: &'a RelPath,
    /// Everything below it, and its numbers in the listing.
    below: &'a [Listed],
    numbers: Range<usize>,
    peek: Peek<'a>,
    known: Option<Known<'a>>,
    named: Option<&'a RelPath>,
    /// The numbers below this folder of what lies in it itself.
    direct: OnceCell<Vec<usize>>,
    seen: RefCell<Seen>,
}

/// What was read: every adapter looks at the same few files.
#[derive(Default)]
struct Seen {
    beginnings: HashMap<Vec<u8>, Rc<Vec<u8>>>,
    whole: HashMap<Vec<u8>, Rc<Vec<u8>>>,
    bytes: usize,
}

/// No more than this is kept of a folder, however many files are in it.
const MOST_SEEN: usize = 8 * 1024 * 1024;

/// How much of a file is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Portion {
    /// [`FEW_BYTES`], or [`FIRST_BYTES`] where no line ends in those.
    Beginning,
    /// All of it.
    Whole,
}

/// Reads a part of a file; what cannot be read is empty.
pub type Peek<'a> = &'a (dyn Fn(&RelPath, Portion) -> Vec<u8> + Sync);

/// Whether the session in a folder was of a format for sure when its file at
/// this path was what is listed now.
pub type Known<'a> = &'a (dyn Fn(&RelPath, &str, &str, &Listed) -> bool + Sync);

/// Enough of most files to tell what they are…
pub const FEW_BYTES: usize = 4 * 1024;
/// …and of those that begin with a long line.
pub const FIRST_BYTES: usize = 64 * 1024;

impl<'a> FolderView<'a> {
    /// Returns a view of `folder`; `peek` reads the first bytes of a file.
    pub fn new(listing: &'a Listing, folder: &'a RelPath, peek: Peek<'a>) -> FolderView<'a> {
        FolderView::among(listing, folder, listing.numbers_below(folder), peek)
    }

    /// Returns a view of `folder`, where it is known already which entries are below it.
    pub fn among(listing: &'a Listing, folder: &'a RelPath, numbers: Range<usize>, peek: Peek<'a>) -> FolderView<'a> {
        FolderView {
            folder,
            below: &listing.entries[numbers.clone()],
            numbers,
            peek,
            known: None,
            named: None,
            direct: OnceCell::new(),
            seen: RefCell::default(),
        }
    }

    /// Returns the view with what a run before found out about the folder.
    #[must_use]
    pub fn knowing(self, known: Option<Known<'a>>) -> FolderView<'a> {
        FolderView { known, ..self }
    }

    /// Returns the view of a folder in which somebody has named one file as a session.
    #[must_use]
    pub fn naming(self, named: Option<&'a RelPath>) -> FolderView<'a> {
        FolderView { named, ..self }
    }

    /// Tells whether the file at a path below this folder is the one that somebody named:
    /// then it is a session, whatever its name and its content say.
    #[must_use]
    pub fn is_named(&self, path: impl AsRef<[u8]>) -> bool {
        self.named.is_some_and(|named| *named == RelPath::new(path.as_ref()).below(self.folder))
    }

    /// Returns the name of that file, where it lies directly in this folder.
    #[must_use]
    pub fn named_file(&self) -> Option<&'a [u8]> {
        let named = self.named?.as_bytes();
        let name = memchr::memrchr(b'/', named).map_or(named, |at| &named[at + 1..]);
        self.get(name).filter(|entry| entry.kind == ListedKind::File && entry.path.as_bytes() == named).map(|_| name)
    }

    /// Tells whether this folder is known to be a session of a format as long as its
    /// file at a path is what it is: then that need not be read again.
    #[must_use]
    pub fn is_known(&self, format: &str, path: &str) -> bool {
        self.known.zip(self.get(path)).is_some_and(|(known, listed)| known(self.folder, format, path, listed))
    }

    /// Returns this folder's path below the listing's root.
    #[must_use]
    pub fn path(&self) -> &RelPath {
        self.folder
    }

    /// Returns the numbers in the listing of everything below this folder.
    #[must_use]
    pub fn numbers(&self) -> &Range<usize> {
        &self.numbers
    }

    /// Returns the entry at a path below this folder.
    #[must_use]
    pub fn get(&self, path: impl AsRef<[u8]>) -> Option<&'a Listed> {
        at(self.below, skip(self.folder), path.as_ref())
    }

    /// Tells whether a regular file stands at a path below this folder.
    #[must_use]
    pub fn has_file(&self, path: impl AsRef<[u8]>) -> bool {
        self.get(path).is_some_and(|entry| entry.kind == ListedKind::File)
    }

    /// Returns the first bytes of a file below this folder: at least one line, unless
    /// that is very long.
    #[must_use]
    pub fn first_bytes(&self, path: impl AsRef<[u8]>) -> Rc<Vec<u8>> {
        let path = path.as_ref();
        if let Some(first) = self.seen.borrow().beginnings.get(path) {
            return Rc::clone(first);
        }
        let first = self.read(path, Portion::Beginning);
        let mut seen = self.seen.borrow_mut();
        if seen.has_room_for(&first) {
            seen.beginnings.insert(path.to_vec(), Rc::clone(&first));
        }
        first
    }

    /// Returns all bytes of a file below this folder, for the few that must be judged
    /// by their end.
    #[must_use]
    pub fn all_bytes(&self, path: impl AsRef<[u8]>) -> Rc<Vec<u8>> {
        let path = path.as_ref();
        let seen = self.seen.borrow().all_of(path);
        seen.unwrap_or_else(|| self.read(path, Portion::Whole))
    }

    /// Returns all bytes of a file, and keeps them for others who will ask.
    #[must_use]
    pub fn all_bytes_for_others_too(&self, path: impl AsRef<[u8]>) -> Rc<Vec<u8>> {
        let path = path.as_ref();
        let all = self.all_bytes(path);
        let mut seen = self.seen.borrow_mut();
        if !seen.whole.contains_key(path) && seen.has_room_for(&all) {
            seen.whole.insert(path.to_vec(), Rc::clone(&all));
        }
        all
    }

    fn read(&self, path: &[u8], part: Portion) -> Rc<Vec<u8>> {
        Rc::new((self.peek)(&RelPath::new(path).below(self.folder), part))
    }

    /// Returns what lies in this folder itself, by name.
    pub fn direct(&self) -> impl Iterator<Item = (&'a [u8], &'a Listed)> {
        let (below, skip) = (self.below, skip(self.folder));
        // Every adapter asks for it.
        let numbers = self.direct.get_or_init(|| Near { below, at: 0, skip, inside: &[] }.map(|(n, _, _)| n).collect());
        numbers.iter().map(move |n| (&below[*n].path.as_bytes()[skip..], &below[*n]))
    }

    /// Returns what lies in this folder itself, and everything below those of its
    /// folders that are named, with a slash at the end; each with its path relative to
    /// this one.
    pub fn near(&self, inside: &'static [&'static str]) -> impl Iterator<Item = (&'a [u8], &'a Listed)> {
        let has_them = inside.iter().any(|start| self.beginning(start).next().is_some());
        let below = if has_them { self.below } else { &[] };
        let all = Near { below, at: 0, skip: skip(self.folder), inside }.map(|(_, path, entry)| (path, entry));
        all.chain((!has_them).then(|| self.direct()).into_iter().flatten())
    }

    /// Everything whose path relative to this folder begins so, with that path.
    pub fn beginning(&self, start: &'static str) -> impl Iterator<Item = (&'a [u8], &'a Listed)> + use<'a> {
        let skip = skip(self.folder);
        let from = self.below.partition_point(|entry| &entry.path.as_bytes()[skip..] < start.as_bytes());
        let rest = self.below[from..].iter().map(move |entry| (&entry.path.as_bytes()[skip..], entry));
        rest.take_while(move |(path, _)| path.starts_with(start.as_bytes()))
    }

    /// Everything below this folder, each with its path relative to it.
    pub fn entries(&self) -> impl Iterator<Item = (&'a [u8], &'a Listed)> + use<'a> {
        let skip = skip(self.folder);
        self.below.iter().map(move |entry| (&entry.path.as_bytes()[skip..], entry))
    }
}

impl Seen {
    /// Returns all bytes of a file, where they were read already.
    fn all_of(&self, path: &[u8]) -> Option<Rc<Vec<u8>>> {
        // A beginning that is shorter than what was asked for is all there is.
        let is_all = |first: &&Rc<Vec<u8>>| first.len() < FEW_BYTES || (first.len() > FEW_BYTES && first.len() < FIRST_BYTES);
        self.whole.get(path).or_else(|| self.beginnings.get(path).filter(is_all)).cloned()
    }

    /// Tells whether so many bytes more may be kept; they count as kept then.
    fn has_room_for(&mut self, more: &[u8]) -> bool {
        let has_room = self.bytes + more.len() <= MOST_SEEN;
        self.bytes += if has_room { more.len() } else { 0 };
        has_room
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
        let peek = |path: &RelPath, part: Portion| {
            reads.fetch_add(1, Ordering::Relaxed);
            let len = if path.as_bytes() == b"small" { 3 } else { 100_000 };
            vec![b'x'; if part == Portion::Beginning { len.min(FIRST_BYTES) } else { len }]
        };
        let view = FolderView::new(&listing, &root, &peek);
        let mut sizes = Vec::new();
        for name in ["small", "large", "small", "large"] {
            sizes.extend([view.first_bytes(name).len(), view.all_bytes_for_others_too(name).len()]);
        }
        assert_eq!(sizes, [3, 3, FIRST_BYTES, 100_000, 3, 3, FIRST_BYTES, 100_000]);
        // The small one once, and of the large one its beginning and the whole.
        assert_eq!(reads.into_inner(), 3);
    }

    #[test]
    fn what_is_near_is_found_among_all_that_is_below() {
        let listed = |path: &str| Listed { path: RelPath::new(path), kind: ListedKind::File, size: 0, mtime_ns: 0, mode: 0 };
        let many = (0..40).map(|n| format!("f/a/{n}"));
        let few = ["f", "f/a", "f/a-b", "f/a-b/x", "f/a.x", "f/b/c/d", "f/b-/e", "f/z", "g/y", "fa"].map(str::to_owned);
        let listing = Listing::new(many.chain(few).map(|path| listed(&path)).collect());
        let (folder, root, peek) = (RelPath::new("f"), RelPath::new(""), |_: &RelPath, _: Portion| Vec::new());
        let names = |found: &mut dyn Iterator<Item = (&[u8], &Listed)>| -> Vec<String> {
            found.map(|(path, _)| String::from_utf8_lossy(path).into_owned()).collect()
        };
        let view = FolderView::new(&listing, &folder, &peek);
        assert_eq!(names(&mut view.direct()), ["a", "a-b", "a.x", "z"]);
        assert_eq!(names(&mut view.near(&["b/", "a-b/"])), ["a", "a-b", "a-b/x", "a.x", "b/c/d", "z"]);
        assert_eq!(names(&mut view.near(&["a/"])).len(), 44);
        assert_eq!(names(&mut view.beginning("b/")), ["b/c/d"]);
        assert_eq!(names(&mut view.beginning("a-")), ["a-b", "a-b/x"]);
        assert_eq!(names(&mut FolderView::new(&listing, &root, &peek).direct()), ["f", "fa"]);
        for (n, entry) in listing.direct(view.numbers().clone(), &folder) {
            assert_eq!(listing.entries()[n], *entry);
            assert_eq!(listing.numbers_below_number(n), listing.numbers_below(&entry.path));
        }
    }

    #[test]
    fn what_is_below_a_folder_is_not_what_begins_like_it() {
        let listed = |path: &str| Listed { path: RelPath::new(path), kind: ListedKind::File, size: 0, mtime_ns: 0, mode: 0 };
        let listing = Listing::new(["a", "a/x", "a-b", "a-b/y", "a/z/w", "ab"].map(listed).to_vec());
        let below: Vec<_> = listing.below(&RelPath::new("a")).iter().map(|entry| entry.path.to_string()).collect();
        assert_eq!(below, ["a/x", "a/z/w"]);
        assert_eq!(listing.below(&RelPath::new("")).len(), 6);
        for many in [7, 8, 9, 16, 17, 40] {
            let inside = (0..many).map(|n| listed(&format!("a/{n}")));
            let listing = Listing::new(inside.chain(["a", "a-b", "b/y", "c"].map(listed)).collect());
            assert_eq!(listing.below(&RelPath::new("a")).len(), many);
        }
    }
}
