//! Filesystems and limits as they are in life: full, read-only, another one,
//! few open files, odd names, odd times, odd kinds of files, and the permissions
//! of everything that is written. What a machine cannot offer is said.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, UNIX_EPOCH};
use support::bench::{Bench, code, lines};
use support::scenarios::{lines as many_lines, scratch};
use support::{everlog, stderr, stdout, tree};
use tempfile::TempDir;

/// Runs the program below a shell that sets limits first.
fn limited(limits: &str, words: &[&str]) -> Output {
    let script = format!("{limits}; exec \"$0\" \"$@\"");
    Command::new("bash").args(["-c", &script, env!("CARGO_BIN_EXE_everlog")]).args(words).env("NO_COLOR", "1").output().unwrap()
}

/// A small filesystem of our own, where we may mount one.
struct Mounted(TempDir);

impl Mounted {
    fn new(options: &str) -> Option<Mounted> {
        let folder = TempDir::new().unwrap();
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder.path()).output();
        done.is_ok_and(|done| done.status.success()).then_some(Mounted(folder))
    }

    fn again(&self, options: &str) {
        assert!(Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(self.0.path()).status().unwrap().success());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

fn temporaries(folder: &Path) -> Vec<String> {
    tree(folder).into_keys().filter(|name| name.contains("everlog-tmp")).collect()
}

#[test]
fn a_disk_that_fills_up_keeps_what_is_done_and_the_next_run_goes_on() {
    let Some(small) = Mounted::new("size=400k") else {
        return support::campaign::missing("no filesystem can be mounted here: a full disk is not tested");
    };
    let bench = Bench::new();
    for n in 0..40 {
        bench.conversation(&format!("s{n:02}"), &many_lines(200));
    }
    let (source, dest) = (bench.source(), small.0.path().join("dest"));
    let words = ["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap()];
    let done = everlog(&words);
    assert!(matches!(code(&done), Some(1 | 2)), "{}{}", stdout(&done), stderr(&done));
    assert!(stderr(&done).contains("No space left"), "{}", stderr(&done));
    assert!(!stderr(&done).contains("panicked"));
    assert_eq!(temporaries(&dest), Vec::<String>::new());
    small.again("size=50m");
    assert_eq!(code(&everlog(&words)), Some(0));
    bench.migrate(&[]);
    let logs = |folder: &Path| -> Vec<_> {
        tree(folder).into_iter().filter(|(name, _)| name.ends_with(".everlog.jsonl")).map(|(name, (bytes, _))| (name, bytes)).collect()
    };
    assert!(logs(&dest) == logs(&bench.dest()), "another end than without a full disk");
    // And one that may not be written to at all.
    small.again("ro");
    bench.conversation("new", &lines(2));
    let done = everlog(&words);
    assert_eq!(code(&done), Some(2), "{}{}", stdout(&done), stderr(&done));
    assert!(stderr(&done).contains("Read-only") && stderr(&done).contains("hint: choose another destination"), "{}", stderr(&done));
    // Looking is still possible.
    assert_eq!(code(&everlog(&["verify", dest.to_str().unwrap()])), Some(0));
}

#[test]
fn a_destination_that_may_not_be_written_to_is_said_and_nothing_is_done() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(3));
    let closed = bench.path("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(bench.scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_everlog"));
    command.args(["migrate", bench.source().to_str().unwrap(), "-o", closed.join("dest").to_str().unwrap()]);
    if fs::write(closed.join("probe"), "").is_ok() {
        fs::remove_file(closed.join("probe")).unwrap();
        // The superuser may write anywhere: then somebody else has to try.
        command.uid(65534).gid(65534);
    }
    let done = command.output().unwrap();
    assert_eq!(code(&done), Some(2), "{}{}", stdout(&done), stderr(&done));
    assert!(stderr(&done).contains("ermission denied") && stderr(&done).contains("hint: check the permissions"), "{}", stderr(&done));
    assert!(!closed.join("dest").exists());
}

#[test]
fn a_destination_on_another_filesystem_is_as_good() {
    let memory = Path::new("/dev/shm");
    let device = |path: &Path| fs::metadata(path).unwrap().dev();
    let bench = Bench::with_tour();
    if !memory.is_dir() || device(memory) == device(bench.scratch.path()) {
        return support::campaign::missing("there is only one filesystem here: renames across two are not tested");
    }
    let other = TempDir::new_in(memory).unwrap();
    let (source, dest) = (bench.source(), other.path().join("dest"));
    let words = ["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap()];
    // Nothing may be moved from where temporary files usually lie.
    let done = Command::new(env!("CARGO_BIN_EXE_everlog")).args(words).env("TMPDIR", bench.scratch.path()).output().unwrap();
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    bench.migrate(&[]);
    // A store that is named through a link is fine; inside it no link is followed.
    let linked = bench.path("linked");
    symlink(other.path(), &linked).unwrap();
    let through = linked.join("through");
    let done = everlog(&["migrate", source.to_str().unwrap(), "-o", through.to_str().unwrap()]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    let logs = |folder: &Path| {
        tree(folder)
            .into_iter()
            .filter(|(name, _)| name.ends_with(".everlog.jsonl") && !name.contains('/'))
            .map(|(name, (bytes, _))| (name, bytes))
            .collect::<Vec<_>>()
    };
    assert!(logs(&dest) == logs(&bench.dest()) && logs(&other.path().join("through")) == logs(&dest));
    // Back over the border.
    let back = bench.path("back");
    assert_eq!(code(&everlog(&["restore", dest.to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
}

#[test]
fn few_open_files_are_enough_for_many_sessions_and_for_a_session_of_20_000_files() {
    // On a busy disk 20,000 files take their time.
    let bench = Bench { scratch: scratch() };
    for n in 0..120 {
        bench.conversation(&format!("s{n:03}"), &lines(2));
    }
    let folder = bench.conversation("wide", &lines(3));
    fs::create_dir(folder.join("files")).unwrap();
    for n in 0..20_000 {
        fs::write(folder.join(format!("files/{n:016x}.txt")), "x").unwrap();
    }
    let (source, dest) = (bench.source(), bench.dest());
    let done = limited("ulimit -n 40", &["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap(), "--jobs", "8"]);
    assert_eq!(code(&done), Some(0), "{}{}", stdout(&done), stderr(&done));
    let back = bench.path("back");
    let words = ["restore", dest.to_str().unwrap(), "-o", back.to_str().unwrap()];
    assert_eq!(code(&limited("ulimit -n 40", &words)), Some(0));
    assert_eq!(fs::read_dir(back.join("wide/files")).unwrap().count(), 20_000);
    assert!(limited("ulimit -n 40", &["verify", dest.to_str().unwrap(), "--source", source.to_str().unwrap()]).status.success());
}

#[test]
fn odd_names_come_back_and_do_not_reach_the_terminal() {
    let bench = Bench::new();
    let names = [
        &b"two\nlines"[..],
        b"bell\x07",
        b"\x1b[31mred",
        b"not \xff utf-8",
        b"not \xfe utf-8",
        b"back\\slash",
        b"quo\"te",
        b" ",
        b"-o",
        b"Chat",
        b"chat",
        b"CHAT",
        "e\u{301}".as_bytes(),
        "\u{e9}".as_bytes(),
        b"con.aux.nul",
        b"c:",
    ];
    for (n, name) in names.iter().enumerate() {
        let folder = bench.source().join(OsStr::from_bytes(name));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("conversation.jsonl"), lines(n as u32 + 1)).unwrap();
        fs::create_dir(folder.join("attachments")).unwrap();
        fs::write(folder.join("attachments").join(OsStr::from_bytes(name)), "a file of that name").unwrap();
    }
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(0), "{}{}", stdout(&done), stderr(&done));
    assert!(stdout(&done).starts_with(&format!("{} sessions", names.len())), "{}", stdout(&done));
    let (source, dest, back) = (bench.source(), bench.dest(), bench.path("back"));
    let first = tree(&dest);
    let again = bench.migrate(&[]);
    assert!(stdout(&again).contains(&format!("{} unchanged", names.len())), "{}", stdout(&again));
    assert!(tree(&dest) == first, "a second run wrote something");
    for words in [
        vec!["verify", dest.to_str().unwrap(), "--source", source.to_str().unwrap()],
        vec!["restore", dest.to_str().unwrap(), "-o", back.to_str().unwrap()],
        vec!["detect", source.to_str().unwrap()],
        vec!["audit", source.to_str().unwrap()],
    ] {
        let done = everlog(&words);
        assert_eq!(code(&done), Some(0), "{words:?}: {}", stderr(&done));
        for said in [&done.stdout, &done.stderr] {
            assert!(!said.iter().any(|b| matches!(b, 7 | 27)), "{words:?}: a name reached the terminal raw");
        }
    }
    let bytes = |folder: &Path| tree(folder).into_iter().map(|(name, (bytes, _))| (name, bytes)).collect::<Vec<_>>();
    assert!(bytes(&back) == bytes(&source));
}

#[test]
fn where_upper_and_lower_case_are_the_same_no_log_takes_the_place_of_another() {
    let bench = Bench::new();
    bench.conversation("Chat", &lines(2));
    bench.conversation("chat", &lines(5));
    // Such a filesystem is rare on this system: a second name for the lock is
    // what it would show.
    let private = bench.dest().join(".everlog");
    fs::create_dir_all(&private).unwrap();
    fs::write(private.join("lock"), "").unwrap();
    fs::hard_link(private.join("lock"), private.join("LOCK")).unwrap();
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(1), "{}{}", stdout(&done), stderr(&done));
    assert!(stderr(&done).contains("upper and lower case"), "{}", stderr(&done));
    assert!(bench.log("Chat").is_file() && !bench.log("chat").exists());
}

#[test]
fn links_in_circles_pipes_and_devices_are_reported_and_never_opened() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(2));
    fs::create_dir(folder.join("attachments")).unwrap();
    symlink("b", folder.join("attachments/a")).unwrap();
    symlink("a", folder.join("attachments/b")).unwrap();
    symlink("..", folder.join("attachments/up")).unwrap();
    symlink(".", bench.source().join("self")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.join("attachments/pipe")).status().unwrap().success());
    let has_device =
        Command::new("mknod").arg(folder.join("attachments/zero")).args(["c", "1", "5"]).output().is_ok_and(|done| done.status.success());
    if !has_device {
        support::campaign::missing("no device can be made here: pipes stand for them");
    }
    let done = limited("ulimit -t 20", &["migrate", bench.source().to_str().unwrap(), "-o", bench.dest().to_str().unwrap(), "--json"]);
    assert!(matches!(code(&done), Some(0 | 1)), "{}{}", stdout(&done), stderr(&done));
    assert!(stdout(&done).contains("\"special_file\"") && stdout(&done).contains("pipe"), "{}", stdout(&done));
    assert!(!has_device || stdout(&done).contains("zero"), "{}", stdout(&done));
    let back = bench.path("back");
    assert_eq!(code(&everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
    assert_eq!(fs::read_link(back.join("chat/attachments/a")).unwrap(), PathBuf::from("b"));
}

#[test]
fn clocks_that_jump_change_nothing() {
    let bench = Bench::new();
    let (ahead, behind, before) = (4_000_000_000, 0, 1_000_000_000);
    let times = [
        ("ahead", UNIX_EPOCH + Duration::from_secs(ahead)),
        ("behind", UNIX_EPOCH + Duration::from_secs(behind)),
        ("before", UNIX_EPOCH - Duration::from_secs(before)),
        ("far", UNIX_EPOCH + Duration::from_secs(15_000_000_000)),
    ];
    for (name, time) in times {
        let file = bench.conversation(name, &lines(2)).join("conversation.jsonl");
        fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
    }
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    let first = tree(&bench.dest().join("."));
    assert!(stdout(&bench.migrate(&[])).contains("4 unchanged"));
    assert!(tree(&bench.dest().join(".")) == first, "a second run wrote something");
    let (dest, back) = (bench.dest(), bench.path("back"));
    assert_eq!(code(&everlog(&["restore", dest.to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
    for (name, time) in &times[..3] {
        let restored = fs::metadata(back.join(name).join("conversation.jsonl")).unwrap().modified().unwrap();
        assert_eq!(restored, *time, "{name}");
    }
    // The same bytes at another time are the same session.
    let file = bench.source().join("ahead/conversation.jsonl");
    fs::File::options().write(true).open(file).unwrap().set_modified(UNIX_EPOCH).unwrap();
    assert!(stdout(&bench.migrate(&[])).contains("4 unchanged"));
}

#[test]
fn nothing_that_is_written_is_open_to_others_whatever_the_umask() {
    for umask in ["000", "077"] {
        let bench = Bench::new();
        let folder = bench.conversation("chat", &lines(3));
        fs::create_dir(folder.join("files")).unwrap();
        fs::write(folder.join("files/0123456789abcdef.bin"), b"\xff\xfe").unwrap();
        let modes = [("conversation.jsonl", 0o640), ("files/0123456789abcdef.bin", 0o604)];
        for (name, mode) in modes {
            fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let (source, dest, back, plain) = (bench.source(), bench.dest(), bench.path("back"), bench.path("plain"));
        let run = |words: &[&str]| assert_eq!(code(&limited(&format!("umask {umask}"), words)), Some(0), "{words:?}");
        run(&["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap()]);
        run(&["restore", dest.to_str().unwrap(), "-o", back.to_str().unwrap()]);
        let log = bench.log("chat");
        run(&["fork", log.to_str().unwrap(), "--at", "#2"]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        for name in tree(&dest).keys() {
            assert_eq!(mode(&dest.join(name)) & 0o077, 0, "{name} under umask {umask}");
        }
        for name in ["", ".everlog", ".everlog/blobs"] {
            assert_eq!(mode(&dest.join(name)) & 0o077, 0, "the folder {name:?} under umask {umask}");
        }
        for (name, was) in modes {
            assert_eq!(mode(&back.join("chat").join(name)), was, "{name} restored under umask {umask}");
        }
        // Without receipts nobody knows what it was: it is private.
        fs::remove_file(dest.join(".everlog/receipts.jsonl")).unwrap();
        run(&["restore", dest.to_str().unwrap(), "-o", plain.to_str().unwrap()]);
        assert_eq!(mode(&plain.join("chat/conversation.jsonl")), 0o600);
    }
}
