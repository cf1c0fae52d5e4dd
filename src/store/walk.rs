//! Opening what lies in folders that others may write to, without following a
//! link. No path that is opened here may pass through a symbolic link: where a
//! person names a folder through one, [`real_path`] resolves it once, before the
//! first use. So a link that somebody plants later, at any level and at any
//! moment, is refused; and a pipe or a device is neither waited for nor written.

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::model::files::RelPath;

use super::error::StoreError;

/// How a folder is opened that is only walked through.
#[cfg(target_os = "linux")]
const THROUGH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const THROUGH: OFlags = OFlags::RDONLY;

/// What every open has in common: no link is followed.
const LINKS: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);

/// What every open of a file has in common besides: no pipe is waited for, no
/// terminal taken.
const ALWAYS: OFlags = LINKS.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Opens a path, no part of which may be a symbolic link.
fn open_path(path: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    open_from(CWD, path, flags, mode)
}

/// Opens a path below an open folder for reading.
///
/// # Errors
/// When it cannot, or a link is on the way.
pub(super) fn open_below(folder: &File, path: &RelPath) -> io::Result<File> {
    let path = Path::new(OsStr::from_bytes(path.as_bytes()));
    Ok(open_from(folder.as_fd(), path, OFlags::RDONLY, Mode::empty())?.into())
}

fn open_from(folder: BorrowedFd<'_>, path: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    // `openat2` refuses flags and modes that make no difference.
    let flags = if flags.contains(THROUGH) && !THROUGH.is_empty() { flags | LINKS } else { flags | ALWAYS };
    let mode = if flags.contains(OFlags::CREATE) { mode } else { Mode::empty() };
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        loop {
            match openat2(folder, path, flags, mode, ResolveFlags::NO_SYMLINKS) {
                // A folder on the way was being renamed.
                Err(Errno::AGAIN | Errno::INTR) => {}
                // Older than this call, or a sandbox that does not know it.
                Err(Errno::NOSYS | Errno::PERM) => break,
                opened => return opened,
            }
        }
    }
    open_by_steps(folder, path, flags, mode)
}

/// Opens a path from folder to folder, where the system cannot do that in one call.
fn open_by_steps(folder: BorrowedFd<'_>, path: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    let start = if path.is_absolute() { Path::new("/") } else { Path::new(".") };
    let is_step = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    let mut steps = path.components().filter(is_step).peekable();
    if steps.peek().is_none() {
        return rustix::fs::openat(folder, start, flags, mode);
    }
    let mut at = rustix::fs::openat(folder, start, THROUGH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    while let Some(step) = steps.next() {
        let name: &OsStr = step.as_os_str();
        if steps.peek().is_none() {
            return rustix::fs::openat(&at, name, flags, mode);
        }
        at = rustix::fs::openat(&at, name, THROUGH | OFlags::DIRECTORY | LINKS, Mode::empty())?;
    }
    Ok(at)
}

/// Returns what stands somewhere, in words, where it is not a regular file.
fn kind_in_words(kind: FileType) -> Option<&'static str> {
    match kind {
        FileType::RegularFile => None,
        FileType::Symlink => Some("a symbolic link"),
        FileType::Directory => Some("a folder"),
        FileType::Fifo => Some("a named pipe"),
        FileType::Socket => Some("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("a device"),
        FileType::Unknown => Some("of a kind that is unknown"),
    }
}

fn kind_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// What is wanted at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpectedKind {
    File,
    Folder,
}

/// Says why a path cannot be opened: what stands there or on the way there, if that
/// is the reason, or else what the system said.
fn refusal(doing: &'static str, path: &Path, wanted: ExpectedKind, why: Errno) -> StoreError {
    let lstat = |path: &Path| fs::symlink_metadata(path).ok();
    let on_the_way: Vec<&Path> = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()).collect();
    if let Some(link) = on_the_way.into_iter().rev().find(|folder| lstat(folder).is_some_and(|meta| meta.is_symlink())) {
        return StoreError::Planted { path: link.to_owned(), what: "a symbolic link", wanted: "a folder" };
    }
    let stands = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| kind_of(&stat));
    let what = match (stands, wanted) {
        (Some(FileType::Directory), ExpectedKind::Folder) | (None, _) => None,
        (Some(FileType::RegularFile), ExpectedKind::Folder) => Some("a file"),
        (Some(kind), ExpectedKind::File | ExpectedKind::Folder) => kind_in_words(kind),
    };
    match (what, wanted) {
        (Some(what), ExpectedKind::File) => StoreError::Planted { path: path.to_owned(), what, wanted: "a file" },
        (Some(what), ExpectedKind::Folder) => StoreError::Planted { path: path.to_owned(), what, wanted: "a folder" },
        (None, _) => StoreError::Io { doing, path: path.to_owned(), source: why.into() },
    }
}

/// Opens a regular file. Where the flags create it, only its owner can read it.
///
/// # Errors
/// When it cannot, or something else stands there.
pub(super) fn open_file(doing: &'static str, path: &Path, flags: OFlags) -> Result<File, StoreError> {
    let opened = open_path(path, flags, Mode::RUSR | Mode::WUSR);
    let file = opened.map_err(|why| match why {
        Errno::EXIST => StoreError::Exists { path: path.to_owned() },
        why => refusal(doing, path, ExpectedKind::File, why),
    })?;
    let stat = rustix::fs::fstat(&file).map_err(|why| StoreError::io(doing, path)(why.into()))?;
    match kind_in_words(kind_of(&stat)) {
        None => Ok(file.into()),
        Some(what) => Err(StoreError::Planted { path: path.to_owned(), what, wanted: "a file" }),
    }
}

/// Opens a regular file to change its bytes in place. One that has a second name
/// is refused: somebody else's file would change with it.
///
/// # Errors
/// When it cannot, or something else stands there.
pub(super) fn open_in_place(doing: &'static str, path: &Path, flags: OFlags) -> Result<File, StoreError> {
    let file = open_file(doing, path, flags)?;
    let stat = rustix::fs::fstat(&file).map_err(|why| StoreError::io(doing, path)(why.into()))?;
    if stat.st_nlink > 1 {
        return Err(StoreError::Planted { path: path.to_owned(), what: "a hard link to another file", wanted: "a file of its own" });
    }
    Ok(file)
}

/// Opens a file or a folder to sync it.
///
/// # Errors
/// When it cannot, or something else stands there.
pub(super) fn open_any(doing: &'static str, path: &Path) -> Result<File, StoreError> {
    let opened = open_path(path, OFlags::RDONLY, Mode::empty()).map_err(|why| refusal(doing, path, ExpectedKind::File, why))?;
    let stat = rustix::fs::fstat(&opened).map_err(|why| StoreError::io(doing, path)(why.into()))?;
    let kind = kind_of(&stat);
    if matches!(kind, FileType::RegularFile | FileType::Directory) {
        return Ok(opened.into());
    }
    Err(StoreError::Planted { path: path.to_owned(), what: kind_in_words(kind).unwrap_or("a file"), wanted: "a file" })
}

/// A folder that is open, with the name of something in it: what is done to it
/// is done in this folder, whatever becomes of its path meanwhile.
#[derive(Debug)]
pub(super) struct OpenParent<'p> {
    folder: OwnedFd,
    pub(super) name: &'p OsStr,
}

impl AsFd for OpenParent<'_> {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

/// Returns the folder that a name lies in; a bare name lies in the one that we are in.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens the folder that a path lies in.
///
/// # Errors
/// When it cannot, or the path has no name at its end.
pub(super) fn place<'p>(doing: &'static str, path: &'p Path) -> Result<OpenParent<'p>, StoreError> {
    let name = path.file_name().ok_or_else(|| StoreError::io(doing, path)(io::ErrorKind::InvalidInput.into()))?;
    let above = folder_of(path);
    let folder = open_path(above, THROUGH | OFlags::DIRECTORY, Mode::empty());
    let folder = folder.map_err(|why| refusal(doing, above, ExpectedKind::Folder, why))?;
    Ok(OpenParent { folder, name })
}

/// Tells whether a folder stands at a path; nothing does where it is `false`.
///
/// # Errors
/// When something else does, there or on the way there.
pub fn is_folder(doing: &'static str, path: &Path) -> Result<bool, StoreError> {
    match open_path(path, THROUGH | OFlags::DIRECTORY, Mode::empty()) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(why) => Err(refusal(doing, path, ExpectedKind::Folder, why)),
    }
}

/// Tells whether a regular file stands at a path; nothing does where it is `false`.
///
/// # Errors
/// When something else does, there or on the way there.
pub fn is_file(path: &Path) -> Result<bool, StoreError> {
    match open_file("open", path, OFlags::RDONLY) {
        Ok(_) => Ok(true),
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(false),
        // Whoever reads it says so; here it only matters what it is.
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => Ok(true),
        Err(error) => Err(error),
    }
}

/// Returns a path that a person has named, without symbolic links: they may name a folder
/// through one, but none is followed from there on. What does not exist yet stays
/// as it is named.
#[must_use]
pub fn real_path(path: &Path) -> PathBuf {
    let is_plain = |path: &Path| open_path(path, THROUGH, Mode::empty()).is_ok();
    let mut missing = Vec::new();
    let mut there = path;
    loop {
        // With `O_PATH` a last link is opened itself: it is looked at apart.
        let is_link = fs::symlink_metadata(there).is_ok_and(|meta| meta.is_symlink());
        let resolved = if !is_link && is_plain(there) { Some(there.to_owned()) } else { fs::canonicalize(there).ok() };
        if let Some(mut resolved) = resolved {
            // Unchanged where nothing had to be resolved: messages then name it
            // as the person did.
            if resolved == there {
                return path.to_owned();
            }
            resolved.extend(missing.into_iter().rev());
            return resolved;
        }
        match (there.file_name(), there.parent()) {
            (Some(name), Some(above)) if !above.as_os_str().is_empty() => {
                missing.push(name);
                there = above;
            }
            _ => return path.to_owned(),
        }
    }
}

/// Returns the path of a file that a person wants written: the folder that it lies in may
/// be named through links, but a link of its own name is not followed.
#[must_use]
pub fn real_folder_of(path: &Path) -> PathBuf {
    match (path.parent().filter(|folder| !folder.as_os_str().is_empty()), path.file_name()) {
        (Some(folder), Some(name)) => real_path(folder).join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes what somebody else would have made")]
    fn no_link_is_passed_in_one_call_or_step_by_step() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        drop(open_path(&root.join("a/b/file"), OFlags::WRONLY | OFlags::CREATE, Mode::RUSR).unwrap());
        symlink("a", root.join("door")).unwrap();
        symlink("file", root.join("a/b/link")).unwrap();
        let read = OFlags::RDONLY;
        type Open = fn(&Path, OFlags) -> rustix::io::Result<OwnedFd>;
        let ways: [(&str, Open); 2] = [
            ("in one call", |path, flags| open_path(path, flags, Mode::empty())),
            ("step by step", |path, flags| open_by_steps(CWD, path, flags | ALWAYS, Mode::empty())),
        ];
        for (way, open) in ways {
            assert!(open(&root.join("a/b/file"), read).is_ok(), "{way}");
            assert!(open(&root.join("a/../a/b/file"), read).is_ok(), "{way}");
            assert!(open(&root.join("a/b"), read | OFlags::DIRECTORY).is_ok(), "{way}");
            for path in ["door/b/file", "door", "a/b/link", "door/../a/b/file"] {
                assert!(open(&root.join(path), read).is_err(), "{way}: {path}");
            }
        }
        // A person may name a folder through a link, and one that is to be made.
        assert_eq!(real_path(&root.join("door/b")), root.join("a/b"));
        assert_eq!(real_path(&root.join("door/new/er")), root.join("a/new/er"));
        assert_eq!(real_path(&root.join("a/./b")), root.join("a/./b"));
        assert_eq!(real_folder_of(&root.join("door/b/link")), root.join("a/b/link"));
        let refused = open_file("open", &root.join("door/b/file"), read).unwrap_err();
        assert!(matches!(&refused, StoreError::Planted { path, what: "a symbolic link", .. } if path.ends_with("door")), "{refused}");
    }
}
