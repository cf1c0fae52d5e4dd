//! The rollouts of a thread, and those that it goes on from.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io::Read;

use uuid::Uuid;

use crate::model::files::{Entry, Files};

/// The program cannot decompress the file.
pub(super) const NOT_COMPRESSED: &str = "the compressed rollout cannot be read";

/// All rollouts that are known of, by number.
pub(super) struct Rollouts<'f> {
    all: Vec<Rollout<'f>>,
    /// The number of the one that is loaded.
    main: Option<usize>,
}

/// One rollout.
struct Rollout<'f> {
    /// Its rollout id as its name has it.
    id: String,
    bytes: &'f [u8],
    compression: Compression,
    /// The plain bytes of a compressed one, once they were asked for.
    plain: OnceCell<Option<Vec<u8>>>,
    origin: Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compression {
    None,
    Zstandard,
}

/// Whether a rollout is a file of the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Own,
    Beside,
}

/// A file name without what it ends in, and what that says.
fn stem(path: &str) -> Option<(&str, Compression)> {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let plain = |end| name.strip_suffix(end).map(|stem| (stem, Compression::None));
    let compressed = || name.strip_suffix(".jsonl.zst").map(|stem| (stem, Compression::Zstandard));
    plain(".jsonl").or_else(|| plain(".json")).or_else(compressed).filter(|(stem, _)| stem.starts_with("rollout-"))
}

/// The rollout id in a stem: `rollout-<date and time>-<thread>[_<rollout>]`.
fn rollout_id(stem: &str) -> &str {
    const THREAD: usize = 36;
    let after = |at: usize| stem.get(stem.len().checked_sub(at)?..);
    let last = stem.rsplit_once('_').map(|(_, rollout)| rollout);
    last.or_else(|| after(THREAD)).unwrap_or(stem)
}

impl<'f> Rollouts<'f> {
    pub(super) fn of(files: &'f Files) -> Rollouts<'f> {
        // By stem the one that the program takes: a plain file before a compressed
        // one, and the newer of two folders.
        let mut own: BTreeMap<&str, (Compression, &[u8], &str)> = BTreeMap::new();
        for (path, entry) in files.iter() {
            let (Some(path), Entry::File(file)) = (path.as_text(), entry) else { continue };
            let Some((stem, compression)) = stem(path) else { continue };
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let found = own.entry(stem).or_insert((compression, &file.bytes, folder));
            if compression == Compression::None || found.0 == Compression::Zstandard {
                *found = (compression, &file.bytes, folder);
            }
        }
        if own.is_empty() {
            // A person said that this file is a rollout.
            let is_compressed = |bytes: &[u8]| bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
            let compression = |bytes| if is_compressed(bytes) { Compression::Zstandard } else { Compression::None };
            own.extend(files.lone_file().map(|(_, file)| ("", (compression(&file.bytes), file.bytes.as_slice(), ""))));
        }
        let rollout =
            |id: &str, compression, bytes, origin| Rollout { id: id.to_owned(), bytes, compression, plain: OnceCell::new(), origin };
        // The program looks into the newest folder first, and there for the greatest name.
        let main = own.iter().enumerate().max_by_key(|(_, (stem, (_, _, folder)))| (*folder, **stem)).map(|(at, _)| at);
        let mut all: Vec<Rollout<'_>> =
            own.into_iter().map(|(stem, (compression, bytes, _))| rollout(rollout_id(stem), compression, bytes, Origin::Own)).collect();
        for slice in &files.shared_facts().slices {
            if let Some((stem, _)) = slice.file.as_text().and_then(stem) {
                all.push(rollout(rollout_id(stem), Compression::None, &slice.text, Origin::Beside));
            }
        }
        Rollouts { all, main }
    }

    /// The rollout that is loaded.
    pub(super) fn main(&self) -> Option<usize> {
        self.main
    }

    /// The other rollouts of the thread.
    pub(super) fn others(&self) -> impl Iterator<Item = (&str, usize)> {
        let own = self.all.iter().enumerate().filter(|(at, rollout)| rollout.origin == Origin::Own && Some(*at) != self.main);
        own.map(|(at, rollout)| (rollout.id.as_str(), at))
    }

    /// The rollout with this id; of several the longest.
    pub(super) fn find(&self, id: Uuid) -> Option<usize> {
        let is_it = |rollout: &Rollout<'_>| Uuid::try_parse(&rollout.id) == Ok(id);
        let found = self.all.iter().enumerate().filter(|(_, rollout)| is_it(rollout));
        found.max_by_key(|(_, rollout)| (rollout.origin == Origin::Own, rollout.bytes.len())).map(|(at, _)| at)
    }

    /// The id of a rollout.
    pub(super) fn id(&self, at: usize) -> Option<Uuid> {
        self.all.get(at).and_then(|rollout| Uuid::try_parse(&rollout.id).ok())
    }

    /// The plain bytes of a rollout.
    pub(super) fn text(&self, at: usize) -> Result<&[u8], &'static str> {
        let Some(rollout) = self.all.get(at) else { return Ok(b"") };
        match rollout.compression {
            Compression::None => Ok(rollout.bytes),
            Compression::Zstandard => rollout.plain.get_or_init(|| decompressed(rollout.bytes)).as_deref().ok_or(NOT_COMPRESSED),
        }
    }
}

/// The plain bytes of a compressed file.
fn decompressed(bytes: &[u8]) -> Option<Vec<u8>> {
    // A file that was made to fill the memory is refused: rollouts shrink to a
    // tenth, and a thousandth is far from what text can do.
    const ALWAYS: u64 = 64 << 20;
    const RATIO: u64 = 1000;
    let limit = ALWAYS + RATIO * bytes.len() as u64;
    let mut plain = Vec::new();
    let decoder = zstd::stream::read::Decoder::with_buffer(bytes).ok()?;
    decoder.take(limit + 1).read_to_end(&mut plain).ok()?;
    (plain.len() as u64 <= limit).then_some(plain)
}
