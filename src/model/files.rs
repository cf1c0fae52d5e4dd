//! The files of one session, as bytes.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use super::digest::sha256_hex;
use super::text_or_bytes::{bytes_of, text_or_b64};

/// A path inside a session, as the bytes it has on disk, `/` between its parts.
/// A folder of many sessions has many of them, several times: their bytes are
/// shared.
#[derive(Clone)]
pub struct RelPath {
    shared: Arc<[u8]>,
    /// How many bytes of that stand before it, and how many after it.
    before: u32,
    after: u32,
}

impl RelPath {
    /// Returns the path with these bytes.
    pub fn new(bytes: impl AsRef<[u8]>) -> RelPath {
        RelPath { shared: bytes.as_ref().into(), before: 0, after: 0 }
    }

    /// Returns the paths that these bytes are, one after the other and each so long.
    pub fn each_of<L: IntoIterator<Item = usize>>(bytes: &[u8], lengths: L) -> impl Iterator<Item = RelPath> + use<L> {
        let shared: Arc<[u8]> = bytes.into();
        let mut at = 0;
        lengths.into_iter().map(move |length| {
            let (from, to) = (at, (at + length).min(shared.len()));
            at = to;
            match (u32::try_from(from), u32::try_from(shared.len() - to)) {
                (Ok(before), Ok(after)) => RelPath { shared: Arc::clone(&shared), before, after },
                _ => RelPath::new(&shared[from..to]),
            }
        })
    }

    /// Returns the rest of it after so many bytes.
    #[must_use]
    pub fn from_byte(&self, skip: usize) -> RelPath {
        match u32::try_from(self.before as usize + skip) {
            Ok(before) if skip <= self.as_bytes().len() => RelPath { before, ..self.clone() },
            _ => RelPath::new(self.as_bytes().get(skip..).unwrap_or_default()),
        }
    }

    /// Returns the bytes on disk.
    #[must_use]
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.shared[self.before as usize..self.shared.len() - self.after as usize]
    }

    /// Returns the text, where the name is UTF-8.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        std::str::from_utf8(self.as_bytes()).ok()
    }

    /// Returns the path as a text that no other path has: where the name is not UTF-8,
    /// base64 after a zero byte, which no name can hold.
    #[must_use]
    pub fn key(&self) -> String {
        match text_or_b64(self.as_bytes()) {
            (Some(text), _) => text,
            (None, b64) => format!("\0{}", b64.unwrap_or_default()),
        }
    }

    /// Returns the path in base64.
    #[must_use]
    pub fn to_b64(&self) -> String {
        use base64::Engine;
        base64::engine::general_purpose::STANDARD.encode(self.as_bytes())
    }

    /// Returns the path in base64, where it is not UTF-8 and a text of it not exact.
    #[must_use]
    pub fn as_b64(&self) -> Option<String> {
        text_or_b64(self.as_bytes()).1
    }

    /// Tells whether this is its key.
    #[must_use]
    pub fn has_key(&self, key: &str) -> bool {
        self.as_text().map_or_else(|| self.key() == key, |text| text == key)
    }

    /// Returns the path with this key.
    #[must_use]
    pub fn from_key(key: &str) -> RelPath {
        let bytes = match key.strip_prefix('\0') {
            Some(b64) => bytes_of(None, Some(b64)),
            None => bytes_of(Some(key), None),
        };
        RelPath::new(bytes.unwrap_or_default())
    }

    /// Tells whether it leads to something inside the folder that it is below: it is
    /// not absolute, does not climb, and is spelt in the one way that it can be.
    #[must_use]
    pub fn stays_inside(&self) -> bool {
        let parts = self.as_bytes().split(|b| *b == b'/');
        !self.as_bytes().contains(&0) && parts.into_iter().all(|part| !matches!(part, b"" | b"." | b".."))
    }

    /// Returns the folders that it lies in, the nearest first.
    pub fn folders(&self) -> impl Iterator<Item = RelPath> + '_ {
        memchr::memrchr_iter(b'/', self.as_bytes()).map(|at| RelPath::new(&self.as_bytes()[..at]))
    }

    /// Returns this path below a folder.
    #[must_use]
    pub fn below(&self, folder: &RelPath) -> RelPath {
        if folder.as_bytes().is_empty() {
            return self.clone();
        }
        RelPath::new([folder.as_bytes(), b"/", self.as_bytes()].concat())
    }
}

impl AsRef<[u8]> for RelPath {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.as_bytes()))
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl PartialEq for RelPath {
    fn eq(&self, other: &RelPath) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for RelPath {}

impl PartialOrd for RelPath {
    fn partial_cmp(&self, other: &RelPath) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RelPath {
    fn cmp(&self, other: &RelPath) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for RelPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A regular file.
    File(SourceFile),
    /// Rows of the database at this path, as text (see [`super::rows`]).
    Rows(SourceFile),
    /// A symbolic link, which is never followed.
    Link {
        /// The bytes of its target.
        target: Vec<u8>,
    },
    /// A folder that holds nothing (others follow from their files).
    EmptyFolder,
}

/// A regular file's bytes, and the one time a loader may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// All of it.
    pub bytes: Vec<u8>,
    /// When it was last written, in nanoseconds since the epoch.
    pub mtime_ns: i64,
}

/// What a file that serves a whole folder says of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// That file.
    pub file: RelPath,
    /// Under which key.
    pub key: String,
    /// The JSON text.
    pub text: Vec<u8>,
}

/// What files outside of a session say about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SharedFacts {
    /// What files that serve the whole folder say of it.
    pub slices: Vec<Slice>,
    /// The session that its program opens when asked for this one's key, where
    /// that is another.
    pub canonical: Option<RelPath>,
    /// The session whose messages its program copied to its beginning.
    pub promoted_from: Option<RelPath>,
    /// Other sessions of its key: its program would take one that is left for
    /// all, so that none is retired without the others.
    pub retires_with: Vec<RelPath>,
}

/// All files of one session, by path in byte order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Files {
    name: String,
    name_bytes: Vec<u8>,
    entries: BTreeMap<RelPath, Held>,
    shared: SharedFacts,
}

/// What stands at a path, and its hash once that was asked for.
#[derive(Debug, Clone)]
struct Held {
    entry: Entry,
    sha256: OnceLock<String>,
}

impl PartialEq for Held {
    fn eq(&self, other: &Held) -> bool {
        self.entry == other.entry
    }
}

impl Eq for Held {}

/// From so many bytes on a session, or a file, is worth a second thread.
pub const LARGE: u64 = 4 * 1024 * 1024;

impl Files {
    /// No files yet; `name` is what the source program calls the session.
    pub fn new(name: impl Into<Vec<u8>>) -> Files {
        let name_bytes = name.into();
        Files {
            name: String::from_utf8_lossy(&name_bytes).into_owned(),
            name_bytes,
            entries: BTreeMap::new(),
            shared: SharedFacts::default(),
        }
    }

    /// Returns the rows of the database that the session is in, as text, and the path of its
    /// main file; `None` where the session lives in files.
    #[must_use]
    pub fn rows(&self) -> Option<(&RelPath, &[u8])> {
        self.iter().find_map(|(path, entry)| match entry {
            Entry::Rows(rows) => Some((path, rows.bytes.as_slice())),
            Entry::File(_) | Entry::Link { .. } | Entry::EmptyFolder => None,
        })
    }

    /// Returns the session's own name: that of its folder, or of its file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the session's own name as the bytes it has on disk.
    #[must_use]
    pub fn name_bytes(&self) -> &[u8] {
        &self.name_bytes
    }

    /// Returns the files with what is known of the session from what lies beside it.
    #[must_use]
    pub fn with_shared_facts(mut self, facts: SharedFacts) -> Files {
        self.shared = facts;
        self
    }

    /// Returns what is known of the session from what lies beside it.
    #[must_use]
    pub fn shared_facts(&self) -> &SharedFacts {
        &self.shared
    }

    /// Returns the files with other names for some of them; a renamed file takes the
    /// place of the one that has its new name.
    #[must_use]
    pub fn renamed(mut self, name_of: impl Fn(&RelPath) -> Option<RelPath>) -> Files {
        let (others, same): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.entries).into_iter().partition(|(path, _)| name_of(path).is_some());
        self.entries = same;
        self.entries.extend(others.into_iter().map(|(path, entry)| (name_of(&path).unwrap_or(path), entry)));
        self
    }

    /// Puts an entry at a path.
    pub fn insert(&mut self, path: RelPath, entry: Entry) {
        self.entries.insert(path, Held { entry, sha256: OnceLock::new() });
    }

    /// Returns the regular file at a path, if one is there.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&SourceFile> {
        match self.entry(&RelPath::new(path)) {
            Some(Entry::File(file) | Entry::Rows(file)) => Some(file),
            _ => None,
        }
    }

    /// Returns the one file that a session consists of, where it lies in the session's own
    /// folder and nothing else belongs to it.
    #[must_use]
    pub fn lone_file(&self) -> Option<(&RelPath, &SourceFile)> {
        let mut all = self.iter();
        match (all.next(), all.next()) {
            (Some((path, Entry::File(file))), None) if !path.as_bytes().contains(&b'/') => Some((path, file)),
            _ => None,
        }
    }

    /// Returns what stands at a path.
    #[must_use]
    pub fn entry(&self, path: &RelPath) -> Option<&Entry> {
        self.entries.get(path).map(|held| &held.entry)
    }

    /// Returns the hash of the regular file at a path, if one is there. It is made once,
    /// and who asks while it is being made waits for it.
    #[must_use]
    pub fn sha256(&self, path: &RelPath) -> Option<&str> {
        self.entries.get(path)?.sha256()
    }

    /// Makes the hashes of all files.
    pub fn hash_all(&self) {
        self.entries.values().for_each(|held| _ = held.sha256());
    }

    /// Returns every path and what stands there, in byte order.
    pub fn iter(&self) -> impl Iterator<Item = (&RelPath, &Entry)> {
        self.entries.iter().map(|(path, held)| (path, &held.entry))
    }

    /// Tells whether the session is worth a second thread.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.total_bytes() >= LARGE
    }

    /// Returns the sum of all file sizes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.entries
            .values()
            .map(|held| match &held.entry {
                Entry::File(file) | Entry::Rows(file) => file.bytes.len() as u64,
                Entry::Link { .. } | Entry::EmptyFolder => 0,
            })
            .sum()
    }
}

impl Held {
    fn sha256(&self) -> Option<&str> {
        match &self.entry {
            Entry::File(file) | Entry::Rows(file) => Some(self.sha256.get_or_init(|| sha256_hex(&file.bytes))),
            Entry::Link { .. } | Entry::EmptyFolder => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_share_their_bytes_are_the_ones_that_have_their_own() {
        let shared: Vec<RelPath> = RelPath::each_of(b"a/bca/d", [3, 0, 1, 3, 9, 2]).collect();
        assert_eq!(shared, ["a/b", "", "c", "a/d", "", ""].map(RelPath::new));
        assert_eq!([0, 2, 3, 4].map(|skip| shared[0].from_byte(skip)), ["a/b", "b", "", ""].map(RelPath::new));
        assert_eq!(shared[3].from_byte(2).below(&shared[2]), RelPath::new("c/d"));
        assert!(shared[0] < shared[3] && shared[0].from_byte(2) > shared[0]);
    }

    #[test]
    fn every_path_has_a_key_of_its_own() {
        let paths = [&b"a/b"[..], b"caf\xe9", b"caf\xe8", "café".as_bytes(), b""];
        let keys: std::collections::BTreeSet<String> = paths.iter().map(|path| RelPath::new(*path).key()).collect();
        assert_eq!(keys.len(), paths.len());
        for path in paths {
            let key = RelPath::new(path).key();
            assert_eq!(RelPath::from_key(&key).as_bytes(), path);
            assert!(paths.iter().all(|other| RelPath::new(*other).has_key(&key) == (*other == path)));
        }
    }

    #[test]
    fn a_hash_is_of_the_files_own_bytes_and_tells_no_sessions_apart() {
        let session = || {
            let mut files = Files::new("s");
            files.insert(RelPath::new("a"), Entry::File(SourceFile { bytes: b"abc".to_vec(), mtime_ns: 0 }));
            files.insert(RelPath::new("b"), Entry::File(SourceFile { bytes: Vec::new(), mtime_ns: 0 }));
            files.insert(RelPath::new("c"), Entry::Link { target: b"abc".to_vec() });
            files
        };
        let (asked, other) = (session(), session());
        asked.hash_all();
        let hashes = ["a", "b", "c", "d"].map(|path| asked.sha256(&RelPath::new(path)));
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hashes, [Some(abc), Some(nothing), None, None]);
        assert!(asked == other && asked.clone() == other);
        // What takes the place of a file has a hash of its own.
        let mut replaced = asked;
        replaced.insert(RelPath::new("b"), Entry::File(SourceFile { bytes: b"abc".to_vec(), mtime_ns: 0 }));
        assert_eq!(replaced.sha256(&RelPath::new("b")), Some(abc));
        let is_b = |path: &RelPath| (path.as_bytes() == b"b").then(|| RelPath::new("d"));
        assert_eq!(replaced.renamed(is_b).sha256(&RelPath::new("d")), Some(abc));
    }
}
