//! `everlog export --to parquet`, `--to sqlite` and `everlog verify --tables`: the rows
//! are what logs say, and only what has changed is made again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use everlog::json;
use everlog::tables::parquet::PartReader;
use everlog::tables::schema::{Column, Kind};
use everlog::tables::{Cell, Row, TableName};
use everlog::{Log, Message, Session};
use rusqlite::types::Value as Stored;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::bench::{Bench, code, lines};
use support::{copy_tree, everlog, golden_logs, stderr, stdout, tree};
use tempfile::TempDir;

/// Exports, and returns the report.
fn export(store: &Path, tables: &Path, more: &[&str]) -> Value {
    let words = [&["export", store.to_str().unwrap(), "--to", "parquet", "-o", tables.to_str().unwrap(), "--json"], more].concat();
    let done = everlog(&words);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    serde_json::from_str(stdout(&done).trim()).unwrap()
}

/// Compares tables with logs; the report, and whether they are equal.
fn compare(store: &Path, tables: &Path) -> (Value, bool) {
    let done = everlog(&["verify", store.to_str().unwrap(), "--tables", tables.to_str().unwrap(), "--level", "seal", "--json"]);
    let last = stdout(&done).lines().last().map(str::to_owned).unwrap_or_default();
    (serde_json::from_str(&last).unwrap_or(Value::Null), code(&done) == Some(0))
}

/// The files of a folder of tables, without what is locked.
fn files(tables: &Path) -> BTreeMap<String, Vec<u8>> {
    tree(tables).into_iter().filter(|(name, _)| !name.ends_with(".lock")).map(|(name, (bytes, _))| (name, bytes)).collect()
}

/// The rows of a table, by log and in the order of the files.
fn rows(tables: &Path, table: TableName) -> BTreeMap<String, Vec<Row>> {
    let folder = tables.join(table.name());
    let mut rows: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for name in tree(&folder).into_keys().filter(|name| name.ends_with(".parquet")) {
        let mut file = PartReader::open(&folder.join(name), table).unwrap();
        while let Some(row) = file.next_row().unwrap() {
            rows.entry(cell(&row, table, "log").as_text().unwrap().to_owned()).or_default().push(row);
        }
    }
    rows
}

fn cell<'r>(row: &'r Row, table: TableName, name: &str) -> &'r Cell {
    &row[table.table().columns.iter().position(|column| column.name == name).unwrap()]
}

/// A cell as the JSON that a flat message has for it.
fn json_of(cell: &Cell, column: &Column) -> String {
    let members = match column.kind {
        Kind::Record(members) | Kind::Records(members) => members,
        Kind::Text | Kind::LongText | Kind::Integer | Kind::Real | Kind::Flag | Kind::Time | Kind::Texts => &[],
    };
    let record = |cells: &Vec<Cell>| {
        let members: Vec<String> =
            members.iter().zip(cells).map(|(member, cell)| format!("{:?}:{}", member.name, json_of(cell, member))).collect();
        format!("{{{}}}", members.join(","))
    };
    match cell {
        Cell::Null => "null".to_owned(),
        // It is JSON already.
        Cell::Text(text) if column.name == "arguments" => text.clone(),
        Cell::Text(text) => serde_json::to_string(text).unwrap(),
        Cell::Shared(text) => serde_json::to_string(text.as_ref()).unwrap(),
        Cell::Integer(number) | Cell::Time(number) => number.to_string(),
        Cell::Real(number) => serde_json::to_string(number).unwrap(),
        Cell::Flag(flag) => flag.to_string(),
        Cell::Texts(texts) => serde_json::to_string(texts).unwrap(),
        Cell::Record(cells) => record(cells),
        Cell::Records(records) => format!("[{}]", records.iter().map(record).collect::<Vec<_>>().join(",")),
    }
}

/// A row of `messages` as a flat message, whose time is compared by itself.
fn flat(row: &Row, message: &Message) -> String {
    let mut members = Vec::new();
    for (cell, column) in row.iter().zip(TableName::Messages.table().columns) {
        match column.name {
            "month" | "log" => {}
            "place" => members.push(format!("\"index\":{}", json_of(cell, column))),
            "time" => {
                let moment = message.time().map(|time| {
                    let digits: String = time[19..time.len() - 1].trim_start_matches('.').chars().chain("000000".chars()).take(6).collect();
                    let second: jiff::civil::DateTime = time[..19].parse().unwrap();
                    second.duration_since(jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0)).as_secs() * 1_000_000
                        + digits.parse::<i64>().unwrap()
                });
                assert_eq!(*cell, moment.map_or(Cell::Null, Cell::Time));
                members.push(format!("\"time\":{}", serde_json::to_string(&message.time()).unwrap()));
            }
            name => members.push(format!("{name:?}:{}", json_of(cell, column))),
        }
    }
    format!("{{{}}}", members.join(","))
}

/// Compares the rows of a log with the flat messages of its active branch.
fn assert_flat(log: &Path, rows: &[Row]) -> usize {
    let log = Log::open(log).unwrap();
    let session: &Session = log.session();
    let messages: Vec<Message> = log.messages(&log.active()).unwrap().collect::<Result<_, _>>().unwrap();
    let place = |row: &&Row| if let Cell::Integer(place) = cell(row, TableName::Messages, "place") { *place } else { -1 };
    let mut shown: Vec<&Row> = rows.iter().filter(|row| place(row) >= 0).collect();
    shown.sort_by_key(place);
    assert_eq!(shown.len(), messages.len(), "{session:?}");
    for (row, message) in shown.iter().zip(&messages) {
        let (ours, theirs) = (flat(row, message), message.flat(session).to_json().unwrap());
        assert!(json::same_value(ours.as_bytes(), theirs.as_bytes()), "{ours}\n{theirs}");
    }
    messages.len()
}

/// The golden logs of all fixtures as one folder of logs.
fn every_log() -> (TempDir, PathBuf) {
    let scratch = TempDir::new().unwrap();
    let store = scratch.path().join("store");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    for log in golden_logs() {
        let to = store.join(log.strip_prefix(&fixtures).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&log, &to).unwrap();
    }
    (scratch, store)
}

#[test]
fn rows_of_every_fixture_are_its_flat_messages() {
    let (scratch, store) = every_log();
    let mut said = Vec::new();
    for (name, by) in [("whole", &[][..]), ("split", &["--partition-by", "month,format"])] {
        let tables = scratch.path().join(name);
        let report = export(&store, &tables, by);
        assert!(report["sessions"].as_u64().unwrap() > 200, "{report}");
        let rows = rows(&tables, TableName::Messages);
        let none = Vec::new();
        let logs = tree(&store).into_keys().filter(|log| log.ends_with(".everlog.jsonl"));
        let count: usize = logs.map(|log| assert_flat(&store.join(&log), rows.get(&log).unwrap_or(&none))).sum();
        assert!(count > 900, "the test looks at {count} messages");
        let (compared, is_equal) = compare(&store, &tables);
        assert_eq!((compared["verdict"].as_str(), &compared["rows"]), (Some("ok"), &Value::from(sum(&report))), "{is_equal} {compared}");
        said.push((report["rows"].clone(), rows));
    }
    assert!(said[0] == said[1], "what tables are split by changes no row");
    let folders = tree(&scratch.path().join("split/messages")).into_keys();
    for file in folders {
        let [month, format, part] = file.split('/').collect::<Vec<_>>()[..] else { panic!("{file}") };
        let mut reader = PartReader::open(&scratch.path().join("split/messages").join(&file), TableName::Messages).unwrap();
        while let Some(row) = reader.next_row().unwrap() {
            let value = |name| cell(&row, TableName::Messages, name).as_text().unwrap_or("__HIVE_DEFAULT_PARTITION__").to_owned();
            assert_eq!((month, format), (&*format!("month={}", value("month")), &*format!("format={}", value("format"))), "{part}");
        }
    }
}

fn sum(report: &Value) -> u64 {
    report["rows"].as_object().unwrap().values().map(|rows| rows.as_u64().unwrap()).sum()
}

#[test]
fn a_database_has_the_rows_of_the_files() {
    let (scratch, store) = every_log();
    let (tables, file) = (scratch.path().join("tables"), scratch.path().join("all.sqlite"));
    export(&store, &tables, &[]);
    let done = everlog(&["export", store.to_str().unwrap(), "--to", "sqlite", "-o", file.to_str().unwrap(), "--json"]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    let database = rusqlite::Connection::open(&file).unwrap();
    let mut compared = 0;
    for table in TableName::ALL {
        let columns = table.table().columns;
        let mut stored: BTreeMap<String, Vec<Vec<Stored>>> = BTreeMap::new();
        let mut query = database.prepare(&format!("SELECT * FROM {} ORDER BY rowid", table.name())).unwrap();
        let mut found = query.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            let values: Vec<Stored> = (0..columns.len()).map(|n| row.get(n).unwrap()).collect();
            stored.entry(row.get("log").unwrap()).or_default().push(values);
        }
        let rows = rows(&tables, table);
        assert_eq!(rows.keys().collect::<Vec<_>>(), stored.keys().collect::<Vec<_>>(), "{}", table.name());
        for (row, values) in rows.values().flatten().zip(stored.values().flatten()) {
            for ((cell, value), column) in row.iter().zip(values).zip(columns) {
                let is_same = match (cell, value) {
                    (Cell::Null, Stored::Null) => true,
                    (Cell::Text(text), Stored::Text(stored)) => text == stored,
                    (Cell::Integer(number), Stored::Integer(stored)) => number == stored,
                    (Cell::Flag(flag), Stored::Integer(stored)) => i64::from(*flag) == *stored,
                    (Cell::Real(number), Stored::Real(stored)) => number == stored,
                    (Cell::Time(micros), Stored::Text(stored)) => {
                        stored.parse::<jiff::Timestamp>().is_ok_and(|time| time.as_microsecond() == *micros)
                    }
                    (Cell::Texts(_) | Cell::Record(_) | Cell::Records(_), Stored::Text(stored)) => {
                        // Arguments are text in a database, as in a file.
                        let ours: Value = serde_json::from_str(&json_text(cell, column)).unwrap();
                        serde_json::from_str::<Value>(stored).unwrap() == ours
                    }
                    _ => false,
                };
                assert!(is_same, "{}.{}: {cell:?} {value:?}", table.name(), column.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 10_000, "the test looks at {compared} cells");
}

/// What a database has for a cell with several values.
fn json_text(cell: &Cell, column: &Column) -> String {
    let members = match column.kind {
        Kind::Record(members) | Kind::Records(members) => members,
        Kind::Text | Kind::LongText | Kind::Integer | Kind::Real | Kind::Flag | Kind::Time | Kind::Texts => &[],
    };
    let one = |cells: &Vec<Cell>| -> Value {
        let member = |(member, cell): (&Column, &Cell)| match cell.as_text() {
            Some(text) => (member.name.to_owned(), Value::from(text)),
            None => (member.name.to_owned(), serde_json::from_str(&json_of(cell, member)).unwrap()),
        };
        Value::Object(members.iter().zip(cells).map(member).collect())
    };
    match cell {
        Cell::Record(cells) => one(cells).to_string(),
        Cell::Records(records) => Value::from(records.iter().map(one).collect::<Vec<_>>()).to_string(),
        Cell::Null
        | Cell::Text(_)
        | Cell::Shared(_)
        | Cell::Integer(_)
        | Cell::Real(_)
        | Cell::Flag(_)
        | Cell::Time(_)
        | Cell::Texts(_) => json_of(cell, column),
    }
}

fn with_sessions(count: u32) -> Bench {
    let bench = Bench::new();
    for n in 0..count {
        bench.conversation(&format!("s{n}"), &lines(3 + n));
    }
    bench.migrate(&[]);
    bench
}

#[test]
fn only_what_has_changed_is_read_and_the_files_are_those_of_a_whole_run() {
    let bench = with_sessions(6);
    let (tables, anew) = (bench.path("tables"), bench.path("anew"));
    assert_eq!(export(&bench.dest(), &tables, &[])["read"], 6);
    let before = tree(&tables);
    let again = export(&bench.dest(), &tables, &[]);
    assert_eq!((&again["read"], &again["parts_written"]), (&Value::from(0), &Value::from(0)));
    assert!(before == tree(&tables), "a run with nothing to do writes nothing");
    bench.conversation("s2", &lines(40));
    bench.conversation("new", &lines(2));
    bench.migrate(&[]);
    let report = export(&bench.dest(), &tables, &[]);
    assert_eq!((&report["read"], &report["sessions"]), (&Value::from(2), &Value::from(7)), "{report}");
    export(&bench.dest(), &anew, &[]);
    assert!(files(&tables) == files(&anew), "what was added bit by bit is what is made at once");
    // A session that was removed leaves no rows. Its receipt goes with its log: a log
    // that is only gone is missed.
    fs::remove_file(bench.log("s4")).unwrap();
    let receipts = bench.dest().join(".everlog/receipts.jsonl");
    let kept: String = fs::read_to_string(&receipts)
        .unwrap()
        .lines()
        .filter(|line| !line.contains("\"s4.everlog.jsonl\""))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(&receipts, kept).unwrap();
    let report = export(&bench.dest(), &tables, &[]);
    assert_eq!((&report["read"], &report["sessions"]), (&Value::from(0), &Value::from(6)), "{report}");
    assert!(!rows(&tables, TableName::Messages).contains_key("s4.everlog.jsonl"));
    // Another way to split them needs no log either.
    let report = export(&bench.dest(), &tables, &["--partition-by", "month"]);
    assert_eq!(&report["read"], &Value::from(0), "{report}");
    let split = bench.path("split");
    export(&bench.dest(), &split, &["--partition-by", "month"]);
    assert!(files(&tables) == files(&split), "files of the other way are left");
}

#[test]
fn a_run_that_was_cut_short_is_finished() {
    let bench = with_sessions(4);
    let tables = bench.path("tables");
    export(&bench.dest(), &tables, &[]);
    let whole = files(&tables);
    // Killed before the manifest was written: the parts are taken as they are.
    fs::remove_file(tables.join("_everlog.jsonl")).unwrap();
    assert_eq!(export(&bench.dest(), &tables, &[])["read"], 0);
    assert!(files(&tables) == whole);
    // Killed before that: one file is missing, and a temporary is left.
    fs::remove_file(tables.join("_everlog.jsonl")).unwrap();
    let part = whole.keys().find(|name| name.starts_with("usage/")).unwrap();
    fs::remove_file(tables.join(part)).unwrap();
    fs::write(tables.join("usage/.1-1.everlog-tmp"), "half").unwrap();
    assert_eq!(export(&bench.dest(), &tables, &[])["read"], 4);
    assert!(files(&tables) == whole);
    // A file that somebody else put there stays.
    fs::write(tables.join("messages/mine.parquet"), "mine").unwrap();
    export(&bench.dest(), &tables, &[]);
    assert!(tables.join("messages/mine.parquet").exists());
}

#[test]
fn rows_that_are_not_what_logs_say_are_found() {
    let bench = with_sessions(3);
    let (tables, store) = (bench.path("tables"), bench.dest());
    export(&store, &tables, &[]);
    assert!(compare(&store, &tables).1);
    let differs = |why: &str| {
        let (report, is_equal) = compare(&store, &tables);
        let what = report["differences"].as_array().cloned().unwrap_or_default();
        assert!(!is_equal && what.iter().any(|one| one["what"].as_str().unwrap().contains(why)), "{why}: {report}");
    };
    let whole = tree(&tables);
    let restore = || whole.iter().for_each(|(name, (bytes, _))| fs::write(tables.join(name), bytes).unwrap());
    let messages = tables.join(whole.keys().find(|name| name.starts_with("messages/")).unwrap());
    let mut bytes = fs::read(&messages).unwrap();
    bytes[40] ^= 1;
    fs::write(&messages, &bytes).unwrap();
    differs("not as it was written");
    fs::remove_file(&messages).unwrap();
    differs("cannot open");
    restore();
    // Rows of another conversation, with a manifest that knows the file.
    let other = with_sessions(3);
    other.conversation("s1", &lines(4).replace("message 2", "message X"));
    other.migrate(&[]);
    let others = other.path("tables");
    export(&other.dest(), &others, &[]);
    let theirs = fs::read(others.join(messages.strip_prefix(&tables).unwrap())).unwrap();
    let manifest = fs::read_to_string(tables.join("_everlog.jsonl")).unwrap();
    let (mine, changed) = (everlog::model::digest::sha256_hex(&fs::read(&messages).unwrap()), everlog::model::digest::sha256_hex(&theirs));
    assert!(manifest.contains(&mine) && mine != changed);
    fs::write(&messages, theirs).unwrap();
    fs::write(tables.join("_everlog.jsonl"), manifest.replace(&mine, &changed)).unwrap();
    differs("the column text has \"message X\", and the log says \"message 2\"");
    let quiet = everlog(&["verify", store.to_str().unwrap(), "--tables", tables.to_str().unwrap(), "--no-content"]);
    assert!(stderr(&quiet).contains("the column text has another value") && !stderr(&quiet).contains("message X"), "{}", stderr(&quiet));
    restore();
    fs::write(tables.join("usage/part-0123456789abcdef.parquet"), "PAR1").unwrap();
    differs("the manifest does not know this file");
    fs::remove_file(tables.join("usage/part-0123456789abcdef.parquet")).unwrap();
    bench.conversation("s1", &lines(9));
    bench.conversation("more", &lines(1));
    bench.migrate(&[]);
    differs("this log is not in the tables");
    differs("the log has changed since the tables were made");
    fs::remove_file(bench.log("s0")).unwrap();
    differs("the store does not have it");
    fs::write(tables.join("_everlog.jsonl"), "{}").unwrap();
    let done = everlog(&["verify", store.to_str().unwrap(), "--tables", tables.to_str().unwrap()]);
    assert!(code(&done) != Some(0) && stderr(&done).contains("_everlog.jsonl: line 1 is not one of a manifest"), "{}", stderr(&done));
}

#[test]
fn the_hint_for_a_damaged_file_brings_it_back() {
    let bench = with_sessions(2);
    let (store, tables) = (bench.dest(), bench.path("tables"));
    export(&store, &tables, &[]);
    let whole = files(&tables);
    let damaged = whole.keys().find(|name| name.starts_with("messages/")).map(|name| tables.join(name)).unwrap();
    let mut bytes = fs::read(&damaged).unwrap();
    bytes[100] ^= 1;
    fs::remove_file(&damaged).unwrap();
    fs::write(&damaged, bytes).unwrap();
    let done = everlog(&["verify", store.to_str().unwrap(), "--tables", tables.to_str().unwrap()]);
    assert!(stderr(&done).contains("it writes a file again that you have removed"), "{}", stderr(&done));
    fs::remove_file(&damaged).unwrap();
    export(&store, &tables, &[]);
    assert_eq!(files(&tables), whole);
    assert!(compare(&store, &tables).1);
    // One file of another kind is no folder of tables, and is called what it is.
    let done = everlog(&["verify", store.to_str().unwrap(), "--tables", damaged.to_str().unwrap()]);
    assert!(code(&done) == Some(2) && stderr(&done).contains("only the folder that"), "{}", stderr(&done));
}

#[test]
fn hostile_values_are_kept_or_null() {
    let bench = Bench::new();
    let line = |content: &str, time: &str, more: &str| {
        format!("{{\"role\": \"assistant\", \"content\": \"{content}\", \"timestamp\": \"{time}\"{more}}}\n")
    };
    let huge = "long ".repeat(800_000);
    let usage = |cost: &str| {
        format!(", \"metadata\": {{\"model\": \"m\", \"cost\": {cost}, \"usage\": {{\"input_tokens\": 9223372036854775807}}}}")
    };
    let text = [
        line("a\\u0000b", "2026-01-01T00:00:00", ""),
        line("lone \\ud800 half", "2026-01-01T00:00:01", ""),
        // The program's loader takes no such year.
        line("year 0", "0000-01-01T00:00:00+00:00", ""),
        line(&huge, "9999-12-31T23:59:59.999999+00:00", &usage("NaN")),
        line("before all", "0001-01-01T00:00:00+01:00", &usage("1e400")),
        line("after all", "9999-12-31T23:59:59-01:00", &usage("Infinity")),
        line("\\ud83e\\udd80 \\u202e", "2026-01-01T00:00:02Z", &usage("-0.0")),
        line("no time", "yesterday", ""),
    ];
    bench.conversation("odd", &text.concat());
    bench.migrate(&[]);
    let tables = bench.path("tables");
    export(&bench.dest(), &tables, &["--partition-by", "month,format"]);
    let rows = rows(&tables, TableName::Messages);
    assert_eq!(assert_flat(&bench.log("odd"), &rows["odd.everlog.jsonl"]), 6);
    let texts: Vec<&str> = rows["odd.everlog.jsonl"].iter().filter_map(|row| cell(row, TableName::Messages, "text").as_text()).collect();
    assert!(texts[0] == "a\0b" && texts[2].len() == huge.len(), "{}", texts[0]);
    assert!(compare(&bench.dest(), &tables).1);
    let file = bench.path("odd.sqlite");
    let done = everlog(&["export", bench.dest().to_str().unwrap(), "--to", "sqlite", "-o", file.to_str().unwrap()]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    let stored: String =
        rusqlite::Connection::open(&file).unwrap().query_row("SELECT text FROM messages WHERE place = 0", [], |row| row.get(0)).unwrap();
    assert_eq!(stored, "a\0b");
}

#[test]
fn a_database_replaces_tables_of_an_earlier_run_and_nothing_else() {
    let bench = with_sessions(1);
    let file = bench.path("all.sqlite");
    let export = || everlog(&["export", bench.dest().to_str().unwrap(), "--to", "sqlite", "-o", file.to_str().unwrap()]);
    let refused = |what: &str| {
        let before = fs::read(&file).unwrap();
        let done = export();
        assert_eq!(code(&done), Some(2), "{what}: {}", stderr(&done));
        assert!(stderr(&done).contains("exists already"), "{what}: {}", stderr(&done));
        assert_eq!(fs::read(&file).unwrap(), before, "{what}");
        fs::remove_file(&file).unwrap();
    };
    assert_eq!(code(&export()), Some(0));
    let first = fs::read(&file).unwrap();
    let again = export();
    assert_eq!(code(&again), Some(0), "{}", stderr(&again));
    assert_eq!(fs::read(&file).unwrap(), first);
    fs::write(&file, &first[..70]).unwrap();
    refused("a part of a header");
    fs::write(&file, "a text of somebody").unwrap();
    refused("a text");
    fs::write(&file, "").unwrap();
    refused("an empty file");
    rusqlite::Connection::open(&file).unwrap().execute_batch("CREATE TABLE sessions (id TEXT); PRAGMA user_version=1").unwrap();
    refused("a database of another program");
}

#[test]
fn a_log_that_cannot_be_read_is_left_out_and_said() {
    let bench = with_sessions(3);
    let log = bench.log("s1");
    let text = fs::read_to_string(&log).unwrap();
    let at = text.find("\"payload\":{\"role\":\"user\"").unwrap();
    let mut broken = text.into_bytes();
    // As long as before, so that its receipt is taken for true.
    broken[at + 11] = b'!';
    fs::write(&log, broken).unwrap();
    let (store, tables) = (bench.dest(), bench.path("tables"));
    let done = everlog(&["export", store.to_str().unwrap(), "--to", "parquet", "-o", tables.to_str().unwrap(), "--json"]);
    assert_eq!(code(&done), Some(1), "{}", stderr(&done));
    assert!(stderr(&done).contains("s1.everlog.jsonl"), "{}", stderr(&done));
    let report: Value = serde_json::from_str(stdout(&done).trim()).unwrap();
    assert_eq!((&report["sessions"], &report["failed"]), (&Value::from(2), &Value::from(1)));
    assert_eq!(rows(&tables, TableName::Messages).len(), 2);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let bench = with_sessions(1);
    let (store, to) = (bench.dest(), bench.path("to"));
    for (words, why) in [
        (&["--to", "parquet", "--partition-by", "week"][..], "cannot be split by \"week\": the columns are month, format"),
        (&["--to", "parquet", "--partition-by", "month,month"], "names month twice"),
        (&["--to", "parquet", "--strict"], "goes with `--output` and `--partition-by` alone"),
        (&["--to", "sqlite", "--partition-by", "month"], "one file is not split"),
        (&["--to", "orc"], "atif, parquet, sqlite"),
    ] {
        let done = everlog(&[&["export", store.to_str().unwrap(), "-o", to.to_str().unwrap()], words].concat());
        assert!(code(&done) == Some(2) && stderr(&done).contains(why), "{words:?}: {}", stderr(&done));
    }
    assert!(!to.exists());
}

#[test]
fn the_questions_of_the_page_have_the_right_answers_in_duckdb_and_sqlite() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/questions.py");
    let python = Command::new("python3").arg(&script).arg("--python").output();
    let python = python.ok().filter(|done| done.status.success()).map(|done| String::from_utf8(done.stdout).unwrap());
    let Some(python) = python else {
        support::campaign::missing("DuckDB is not installed: `python3 scripts/questions.py --install` does it");
        return;
    };
    let bench = Bench::new();
    // One case of each program, and its store.
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    for case in ["gptme/tour", "pi/tour", "claude-code/tour", "picoclaw/tools", "openclaw/tour", "codex/tour"] {
        let (source, part) = (bench.path("sources").join(case), bench.path("store").join(case));
        assert!(fixtures.join(case).join("input").is_dir(), "{case} is not there");
        copy_tree(&fixtures.join(case).join("input"), &source);
        everlog(&["migrate", source.to_str().unwrap(), "-o", part.to_str().unwrap(), "--allow-live"]);
    }
    let own = Path::new(env!("CARGO_BIN_EXE_everlog"));
    let done = Command::new(python.trim())
        .arg(&script)
        .arg("--everlog")
        .arg(own)
        .arg(bench.path("store"))
        .arg(bench.path("work"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}\n{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(said.matches(": equal").count(), 15, "{said}");
}
