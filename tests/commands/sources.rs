//! Several sources in one store: each has its folder, none meets another.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::bench::{code, lines};
use support::{run, stderr, stdout, tree};
use tempfile::TempDir;

/// A home folder with sessions of two programs, and two sources whose sessions
/// have one name.
struct Home(TempDir);

impl Home {
    fn new() -> Home {
        let home = Home(TempDir::new().unwrap());
        home.conversation("work", 3);
        home.conversation("private", 5);
        home
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn conversation(&self, source: &str, messages: u32) {
        let folder = self.at(source).join("chat");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("conversation.jsonl"), lines(messages)).unwrap();
    }

    /// Runs a command with nothing in the environment but this home.
    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_everlog"));
        run(command.args(words).current_dir(self.0.path()).env_clear().env("HOME", self.at("")))
    }

    fn both(&self, words: &[&str]) -> Output {
        self.run(&[&["migrate", "work", "private", "-o", "store"], words].concat())
    }
}

fn well(done: &Output) -> String {
    assert_eq!(code(done), Some(0), "{}{}", stdout(done), stderr(done));
    stdout(done) + &stderr(done)
}

#[test]
fn sessions_of_two_sources_never_meet_under_one_name() {
    let home = Home::new();
    well(&home.both(&[]));
    for (source, messages) in [("work", 3), ("private", 5)] {
        let log = home.at("store").join(source).join("chat.everlog.jsonl");
        assert_eq!(stdout(&home.run(&["replay", log.to_str().unwrap()])).lines().count(), messages as usize, "{source}");
        // Whichever way it is named, each source is compared with its own logs.
        assert!(well(&home.run(&["verify", "store", "--source", source])).contains("2 the same"));
        assert!(well(&home.run(&["verify", &format!("store/{source}"), "--source", source])).contains("1 the same"));
        well(&home.run(&["contains", source, &format!("store/{source}")]));
        well(&home.run(&["audit", source, "-o", "store"]));
        well(&home.run(&["prune", source, "-o", "store", "--check"]));
    }
    assert!(well(&home.run(&["ls", "store"])).contains("2 sessions in "));
    let before = tree(&home.at("store"));
    // Alone and in another order: each is known by its path.
    well(&home.run(&["migrate", "private", "-o", "store"]));
    well(&home.run(&["migrate", "private/chat", "-o", "store"]));
    well(&home.run(&["migrate", "private", "work", "-o", "store"]));
    assert_eq!(tree(&home.at("store")), before);
    // A change in one is a difference of that one.
    home.conversation("work", 4);
    assert_eq!(code(&home.run(&["verify", "store", "--source", "work"])), Some(1));
    well(&home.run(&["verify", "store", "--source", "private"]));
}

#[test]
fn what_would_mix_is_refused_and_nothing_is_written() {
    let home = Home::new();
    well(&home.run(&["migrate", "work", "-o", "store"]));
    let before = tree(&home.at("store"));
    for words in [&["migrate", "private", "-o", "store"][..], &["migrate", "work", "private", "-o", "store"]] {
        let refused = home.run(words);
        assert_eq!(code(&refused), Some(2), "{words:?}");
        let said = stderr(&refused);
        assert!(said.contains("could have the same name") && said.contains("-o"), "{said}");
        assert_eq!(tree(&home.at("store")), before);
    }
    // A source that has moved is the same source.
    fs::rename(home.at("work"), home.at("moved")).unwrap();
    assert!(well(&home.run(&["migrate", "moved", "-o", "store"])).contains("1 unchanged"));
    assert!(fs::read_to_string(home.at("store/.everlog/sources.json")).unwrap().contains("/moved\""));
    // In a store of several, a source that it does not know has no logs.
    home.conversation("work", 3);
    fs::remove_dir_all(home.at("store")).unwrap();
    well(&home.both(&[]));
    let unknown = home.run(&["verify", "store", "--source", "moved"]);
    assert_eq!(code(&unknown), Some(2), "{}", stdout(&unknown));
    assert!(stderr(&unknown).contains("sources.json"), "{}", stderr(&unknown));
}

#[test]
fn a_store_of_several_sources_gives_retired_files_back() {
    let home = Home::new();
    let before = tree(&home.at("work"));
    well(&home.both(&["--retire"]));
    assert!(home.at("work/chat/conversation.jsonl.migrated").exists() && home.at("private/chat/conversation.jsonl.migrated").exists());
    assert!(well(&home.both(&[])).contains("1 skipped"));
    well(&home.run(&["verify", "store", "--source", "work"]));
    well(&home.run(&["migrate", "work", "-o", "store", "--unretire"]));
    assert_eq!(tree(&home.at("work")), before);
    assert!(home.at("private/chat/conversation.jsonl.migrated").exists(), "the other source stays retired");
    // Where the receipts are lost, the log's bytes tell, in its own folder.
    fs::remove_file(home.at("store/.everlog/receipts.jsonl")).unwrap();
    well(&home.run(&["migrate", "private", "-o", "store", "--unretire"]));
    assert!(home.at("private/chat/conversation.jsonl").exists());
}

#[test]
fn what_programs_keep_at_their_usual_places_is_found_and_converted() {
    let home = Home::new();
    assert_eq!(code(&home.run(&["migrate", "--all"])), Some(2));
    home.conversation(".local/share/gptme/logs", 2);
    fs::create_dir_all(home.at(".pi/agent/sessions")).unwrap();
    let seen = well(&home.run(&["detect"]));
    assert!(seen.contains(".local/share/gptme/logs") && seen.contains(".pi/agent/sessions") && seen.contains("1 session\n"), "{seen}");
    let done = well(&home.run(&["migrate", "--all"]));
    assert!(done.starts_with("2 folders of sessions on this machine:\n  gptme "), "{done}");
    assert!(home.at(".local/share/everlog/gptme/chat.everlog.jsonl").is_file());
    // Reading commands look there, too.
    assert!(well(&home.run(&["ls"])).contains("1 session in "));
    // A variable that is set counts instead of the home folder.
    let mut moved = Command::new(env!("CARGO_BIN_EXE_everlog"));
    moved.args(["detect"]).current_dir(home.0.path()).env_clear().env("HOME", home.at("")).env("GPTME_LOGS_HOME", home.at("work"));
    let moved = well(&moved.output().unwrap());
    assert!(moved.contains("/work") && !moved.contains("gptme/logs"), "{moved}");
}

#[test]
fn a_folder_of_sessions_beside_a_database_has_a_place_of_its_own() {
    let home = Home::new();
    let program = home.at(".local/share/opencode");
    for case in ["opencode/tour", "opencode-tree/plain"] {
        support::copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(case).join("input"), &program);
    }
    // As an update of the program leaves them: first both at once, then again, and the
    // second one by itself.
    for words in [&["migrate", "--all"][..], &["migrate", "--all"], &["migrate", ".local/share/opencode/storage"]] {
        well(&home.run(&[words, &["-o", "store"]].concat()));
    }
    assert!(home.at("store/opencode").is_dir() && home.at("store/opencode-tree").is_dir());
    well(&home.run(&["verify", "store", "--source", ".local/share/opencode/storage"]));
    // What the source around it has already is not converted once more.
    let inside = home.at("work/inside");
    fs::create_dir_all(inside.join("deep/chat")).unwrap();
    fs::write(inside.join("deep/chat/conversation.jsonl"), lines(2)).unwrap();
    well(&home.both(&[]));
    assert_eq!(code(&home.run(&["migrate", "work/inside", "-o", "store"])), Some(2));
}

#[test]
fn settings_name_sources_and_store_for_migrate_and_verify() {
    let home = Home::new();
    let config = "[migrate]\nsources = [\"work\", \"private\"]\noutput = \"store\"\n[verify]\nsource = \"work\"\n";
    fs::write(home.at("everlog.toml"), config).unwrap();
    well(&home.run(&["migrate"]));
    assert!(Path::new(&home.at("store/private/chat.everlog.jsonl")).is_file());
    assert!(well(&home.run(&["verify"])).contains("checked against their source"));
    // What is typed counts.
    well(&home.run(&["migrate", "work"]));
    assert!(home.at("work.everlog/chat.everlog.jsonl").is_file());
    fs::write(home.at("everlog.toml"), "[migrate]\nsource = \"work\"\n").unwrap();
    let wrong = home.run(&["migrate"]);
    assert_eq!(code(&wrong), Some(2));
    assert!(stderr(&wrong).contains("everlog.toml") && stderr(&wrong).contains("source"), "{}", stderr(&wrong));
}
