//! Repairs from the agent's databases, and what comes before and after them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::commands::repair::Action;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use support::repairing::{Bench, CUT_SHORT, contents, database, messages, said};
use support::webui::{Folder, turn};
use support::{everlog, stdout};

#[test]
fn a_sidecar_comes_back_from_its_backup_else_the_database_else_the_journal_and_never_from_the_dead() {
    let folder = Folder::new();
    database(folder.home(), &["both", "broken", "dbonly", "deleted"]);
    folder.sidecar("both.json.bak", "both", &["from", "the", "backup"], "");
    folder.write("broken.json", "{\"session_id\": \"broken\", \"messages\": [{");
    folder.sidecar("stranger.json.bak", "stranger", &["hi"], "");
    folder.write("_turn_journal/unknown~1.jsonl", &turn("submitted", "t", 9, r#""content":"x","#).replace("aaa", "unknown"));
    folder.sidecar("deleted.json.bak", "deleted", &["hi"], "");
    folder.write("_deleted_webui_sessions.json", "{\n  \"version\": 1,\n  \"ids\": [\n    \"deleted\"\n  ]\n}");
    let bench = Bench::of(&folder.path(), folder.home());
    assert_eq!(bench.repair(), ["both.json", "broken.json", "dbonly.json", "_index.json"]);
    assert_eq!(messages(&folder.path().join("both.json")).len(), 3);
    for id in ["broken", "dbonly"] {
        assert_eq!(messages(&folder.path().join(format!("{id}.json"))), said(&[("user", "asked"), ("assistant", "answered")]));
    }
    assert_eq!(bench.plan().0, Vec::<String>::new());
    // Without a database the journal is all there is.
    let folder = Folder::new();
    folder.sidecar("aaa.json", "aaa", &["hi"], "");
    folder.index(&["aaa"]);
    let journal = [turn("submitted", "t", 9, r#""content":"one","#), turn("submitted", "u", 19, r#""content":"two","#)].concat();
    folder.write("_turn_journal/lost~1.jsonl", &journal.replace("aaa", "lost"));
    let bench = Bench::of(&folder.path(), folder.home());
    assert_eq!(bench.repair(), ["lost.json", "_index.json"]);
    assert_eq!(messages(&folder.path().join("lost.json")), said(&[("user", "one"), CUT_SHORT, ("user", "two"), CUT_SHORT]));
    assert_eq!(bench.plan().0, Vec::<String>::new());
}

fn audited(folder: &Folder) -> Vec<Value> {
    let done = everlog(&["audit", folder.path().to_str().unwrap(), "--json"]);
    stdout(&done).lines().map(|line| serde_json::from_str(line).unwrap()).filter(|row: &Value| row["code"].is_string()).collect()
}

#[test]
fn sessions_of_a_profile_come_back_from_its_own_database() {
    let folder = Folder::new();
    database(folder.home(), &["mine"]);
    database(&folder.home().join("profiles/work"), &["theirs", "known"]);
    folder.sidecar("known.json.bak", "known", &["hi", "ho", "hi"], "");
    folder.sidecar("unknown.json.bak", "unknown", &["hi"], "");
    folder.sidecar("mine.json", "mine", &["hi"], "");
    // Its turn is in the database of its profile, and in no other.
    let waits = |profile: &str| {
        format!(
            "\n  \"profile\": \"{profile}\",\n  \"active_stream_id\": \"r\",\n  \"pending_user_message\": \"asked\",\n  \"pending_started_at\": 1699990001.5,"
        )
    };
    folder.sidecar("theirs.json", "theirs", &["hi", "ho"], &waits("work"));
    folder.index(&["mine", "theirs"]);
    let bench = Bench::of(&folder.path(), folder.home());
    assert_eq!(bench.repair(), ["known.json", "theirs.json", "_index.json"]);
    assert_eq!(messages(&folder.path().join("theirs.json"))[2..], said(&[("user", "asked"), ("assistant", "answered")]));
    fs::remove_file(folder.path().join("theirs.json")).unwrap();
    let rows = audited(&folder);
    let gone = rows.iter().find(|row| row["code"] == "state_db_missing_sidecar").unwrap();
    assert_eq!((&gone["session_id"], &gone["repairable"]), (&"theirs".into(), &true.into()));
    assert_eq!(bench.repair(), ["theirs.json", "_index.json"]);
    let made: Value = serde_json::from_slice(&fs::read(folder.path().join("theirs.json")).unwrap()).unwrap();
    assert_eq!((&made["profile"], &made["messages"][1]["content"]), (&"work".into(), &"answered".into()));
    assert_eq!(bench.plan().0, Vec::<String>::new());
    // One that cannot be read may know anything.
    fs::write(folder.home().join("profiles/work/state.db"), [7; 4096]).unwrap();
    let rows = audited(&folder);
    let bad = rows.iter().find(|row| row["code"] == "state_db_unreadable").unwrap();
    assert_eq!(bad["file"], "../../profiles/work/state.db");
    assert_eq!(bench.plan().0, Vec::<String>::new());
}

#[test]
fn a_turn_of_another_profile_is_not_taken_for_its_own() {
    let folder = Folder::new();
    database(&folder.home().join("profiles/work"), &["aaa"]);
    database(folder.home(), &["other"]);
    let waits = "\n  \"active_stream_id\": \"r\",\n  \"pending_user_message\": \"asked\",\n  \"pending_started_at\": 1699990001.5,";
    folder.sidecar("aaa.json", "aaa", &["hi", "ho"], waits);
    folder.sidecar("other.json", "other", &["hi", "ho"], "");
    folder.index(&["aaa", "other"]);
    Bench::of(&folder.path(), folder.home()).repair();
    assert_eq!(messages(&folder.path().join("aaa.json"))[2..], said(&[("user", "asked"), CUT_SHORT]));
}

#[test]
fn names_from_outside_lead_nowhere() {
    let folder = Folder::new();
    folder.sidecar("aaa.json", "aaa", &["hi"], "");
    folder.sidecar("real.json", "real", &["hi"], "");
    folder.sidecar("linked.json.bak", "linked", &["hi", "ho"], "");
    symlink("real.json", folder.path().join("linked.json")).unwrap();
    folder.index(&["aaa", "real", "linked"]);
    database(folder.home(), &["../../evil", "_hidden", "a.b", "aaa", "linked", "/tmp/evil"]);
    folder.write("_turn_journal/d.ot~1.jsonl", &turn("submitted", "t", 9, r#""content":"x","#).replace("aaa", "d.ot"));
    let before = contents(folder.home());
    let bench = Bench::of(&folder.path(), folder.home());
    assert_eq!(bench.repair(), Vec::<String>::new());
    assert!(contents(folder.home()) == before);
    let rows = audited(&folder);
    assert_eq!(rows.iter().filter(|row| row["code"] == "state_db_missing_sidecar").count(), 4, "{rows:#?}");
    assert!(rows.iter().all(|row| row["repairable"] == false), "{rows:#?}");
}

#[test]
fn nothing_is_repaired_that_a_database_which_cannot_be_read_may_know_better() {
    let folder = Folder::new();
    fs::write(folder.home().join("state.db"), [7; 4096]).unwrap();
    folder.sidecar("orphan.json.bak", "orphan", &["hi", "ho"], "");
    let journal = turn("submitted", "t", 9, r#""content":"one","#);
    folder.write("_turn_journal/lost~1.jsonl", &journal.replace("aaa", "lost"));
    let pending = "\n  \"active_stream_id\": \"run-p\",\n  \"pending_user_message\": \"go\",\n  \"pending_started_at\": 1699999999.5,";
    folder.sidecar("waits.json", "waits", &["hi", "ho"], pending);
    folder.sidecar("shrunken.json", "shrunken", &["hi"], "");
    folder.sidecar("shrunken.json.bak", "shrunken", &["hi", "ho"], "");
    folder.index(&["shrunken", "waits", "gone"]);
    let rows = audited(&folder);
    let found = |code: &str| rows.iter().find(|row| row["code"] == code).unwrap_or_else(|| panic!("no {code}: {rows:#?}"));
    for code in ["orphan_backup", "orphan_journal", "stale_pending_turn", "index_missing_file"] {
        assert_eq!(found(code)["repairable"], false, "{code}");
    }
    assert_eq!((&found("state_db_unreadable")["file"], &found("shrunken_live")["repairable"]), (&"../../state.db".into(), &true.into()));
    let bench = Bench::of(&folder.path(), folder.home());
    let (_, plan) = bench.run(Action::Plan).unwrap();
    let left: Vec<&str> = plan.iter().filter_map(|row| row["left"]["file"].as_str()).collect();
    assert_eq!(left, ["lost.json", "orphan.json", "waits.json"], "{plan:#?}");
    // What needs no database is repaired.
    assert_eq!(bench.repair(), ["shrunken.json", "_index.json"]);
    assert!(fs::read_to_string(folder.path().join("_index.json")).unwrap().contains("\"gone\""));
    // From the home of the agent the database is where it is.
    let done = everlog(&["audit", folder.home().to_str().unwrap(), "--json"]);
    assert!(stdout(&done).contains("\"file\":\"state.db\""), "{}", stdout(&done));
    fs::remove_file(folder.home().join("state.db")).unwrap();
    assert_eq!(bench.repair(), ["lost.json", "orphan.json", "waits.json", "_index.json"]);
}

#[test]
fn a_list_that_is_not_a_file_is_left_alone_and_the_rest_is_repaired() {
    for is_link in [true, false] {
        let folder = Folder::new();
        folder.sidecar("aaa.json", "aaa", &["hi"], "");
        folder.sidecar("aaa.json.bak", "aaa", &["hi", "ho"], "");
        let list = folder.path().join("_index.json");
        if is_link {
            symlink("elsewhere.json", &list).unwrap()
        } else {
            fs::create_dir(&list).unwrap()
        }
        let rows = audited(&folder);
        let about: Vec<&Value> = rows.iter().filter(|row| row["code"].as_str().unwrap().starts_with("index")).collect();
        assert!(!about.is_empty() && about.iter().all(|row| row["repairable"] == false), "{rows:#?}");
        let bench = Bench::of(&folder.path(), folder.home());
        assert_eq!(bench.repair(), ["aaa.json"]);
        assert_eq!(messages(&folder.path().join("aaa.json")).len(), 2);
        assert_eq!(list.symlink_metadata().unwrap().is_symlink(), is_link);
    }
}
