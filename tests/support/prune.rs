//! Prune in process, and Hermes sessions with turns in every state.

use super::Said;
use super::schema;
use super::webui::Folder;
use everlog::adapters::ALL;
use everlog::commands::audit::{self, AuditJob};
use everlog::commands::migrate::{self, Live, MigrateJob, Requirement, Share, Sources};
use everlog::commands::prune::{Action, Copies, PruneJob, run};
use everlog::model::retention::{Policy, Rule};
use everlog::pipeline::source::Selection;
use everlog::pipeline::target::Mode;
use everlog::pipeline::unchanged::Trust;
use everlog::report::ExitStatus;
use everlog::report::printer::{Form, Printer, Talk};
use everlog::store::disk::{Disk, RealDisk};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub const DAY_NS: i64 = 86_400_000_000_000;
/// Files are written at 1.7e9 seconds; this is a hundred days later.
pub const NOW_NS: i64 = 1_700_000_000_000_000_000 + 100 * DAY_NS;

/// A printer in this process that says one object per row.
fn printer(said: &Said) -> Printer {
    Printer::to(Box::new(said.clone()), Form::Json, Talk::Quiet)
}

fn rows(said: &Said) -> Vec<Value> {
    said.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A source, its store, and how it is pruned.
#[derive(Clone)]
pub struct Bench<'a> {
    pub source: PathBuf,
    pub dest: PathBuf,
    pub policy: Policy,
    pub rules: Vec<Rule>,
    pub idle_ns: i64,
    pub copies: Copies,
    pub trash: Option<PathBuf>,
    pub now_ns: i64,
    pub disk: &'a dyn Disk,
}

impl<'a> Bench<'a> {
    pub fn of(source: &Path, scratch: &Path) -> Bench<'a> {
        Bench {
            source: source.to_owned(),
            dest: scratch.join("dest"),
            policy: Policy { older_than_ns: Some(30 * DAY_NS), ..Policy::default() },
            rules: Rule::ALL.to_vec(),
            idle_ns: 3_600_000_000_000,
            copies: Copies::InLogs,
            trash: None,
            now_ns: NOW_NS,
            disk: &RealDisk,
        }
    }

    pub fn migrate(&self) -> ExitStatus {
        let stop = AtomicBool::new(false);
        let job = MigrateJob {
            source: self.source.clone(),
            dest: self.dest.clone(),
            share: Share::Alone,
            requirement: Requirement::Required,
            selection: Selection::default(),
            adapters: ALL.to_vec(),
            mode: Mode::Replace,
            sources: Sources::Stay,
            live: Live::Refused,
            shard: None,
            trust: Trust::SizeAndTime,
            jobs: 1,
            stop: &stop,
            disk: &RealDisk,
        };
        migrate::run(&job, &printer(&Said::default())).unwrap()
    }

    pub fn run(&self, action: Action) -> Result<(ExitStatus, Vec<Value>), String> {
        self.run_until(action, &AtomicBool::new(false))
    }

    /// The same, until somebody stops it.
    pub fn run_until(&self, action: Action, stop: &AtomicBool) -> Result<(ExitStatus, Vec<Value>), String> {
        let job = PruneJob {
            source: self.source.clone(),
            dest: self.dest.clone(),
            selection: Selection::default(),
            adapters: ALL.to_vec(),
            rules: self.rules.clone(),
            policy: self.policy,
            idle_ns: self.idle_ns,
            copies: self.copies,
            trash: self.trash.clone(),
            action,
            jobs: 1,
            now_ns: self.now_ns,
            stop,
            disk: self.disk,
        };
        let said = Said::default();
        let done = run(&job, &printer(&said)).map_err(|error| error.to_string());
        schema::check("prune", said.text().as_bytes());
        done.map(|status| (status, rows(&said)))
    }

    /// Each item of the plan with the code of why it stays; an empty one goes.
    pub fn plan(&self) -> BTreeMap<String, String> {
        let (_, rows) = self.run(Action::Plan).unwrap();
        let items = rows.iter().filter(|row| row["item"].is_string());
        items.map(|row| (row["item"].as_str().unwrap().to_owned(), row["code"].as_str().unwrap_or_default().to_owned())).collect()
    }

    pub fn going(&self) -> Vec<String> {
        self.plan().into_iter().filter(|(_, code)| code.is_empty()).map(|(item, _)| item).collect()
    }

    pub fn apply(&self) -> Value {
        let (_, rows) = self.run(Action::Apply).unwrap();
        rows.last().unwrap()["pruned"].clone()
    }

    /// The findings of an audit at `warn` or above.
    pub fn audit(&self) -> Vec<Value> {
        let stop = AtomicBool::new(false);
        let said = Said::default();
        let job = AuditJob {
            source: self.source.clone(),
            dest: self.source.join("no-store"),
            findings: audit::Judgement::Report,
            selection: Selection::default(),
            adapters: ALL.to_vec(),
            jobs: 1,
            now_ns: self.now_ns,
            stop: &stop,
            disk: &RealDisk,
        };
        let printer = printer(&said);
        audit::run(&job, &printer).unwrap();
        drop(printer);
        rows(&said).into_iter().filter(|row| matches!(row["severity"].as_str(), Some("warn" | "error"))).collect()
    }
}

/// The bytes of every file below a folder.
pub fn bytes_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    super::tree(folder).into_iter().map(|(name, (bytes, _))| (name, bytes)).collect()
}

/// How far a turn's journal goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    Submitted,
    Worker,
    Assistant,
    Completed,
    Interrupted,
    Unknown,
}

/// What the transcript shows of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    Nothing,
    Prompt,
    Answer,
    Marker,
}

/// What its run journal says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    None,
    Open,
    Done,
    Errored,
}

#[derive(Debug, Clone)]
pub struct Turn {
    pub last: Last,
    pub seen: Seen,
    pub run: Run,
    /// How many days before now it was.
    pub days: u32,
    /// Into which shard each event goes.
    pub shards: [u8; 4],
}

impl Turn {
    pub fn over(last: Last, seen: Seen, run: Run) -> Turn {
        Turn { last, seen, run, days: 99, shards: [0; 4] }
    }

    fn events(&self) -> Vec<&'static str> {
        match self.last {
            Last::Submitted => vec!["submitted"],
            Last::Worker => vec!["submitted", "worker_started"],
            Last::Assistant => vec!["submitted", "worker_started", "assistant_started"],
            Last::Completed => vec!["submitted", "worker_started", "assistant_started", "completed"],
            Last::Interrupted => vec!["submitted", "worker_started", "interrupted"],
            Last::Unknown => vec!["submitted", "worker_started", "paused"],
        }
    }
}

/// No process ever has such a number.
const DEAD: u32 = 2_000_000_000;

pub fn turn_line(id: &str, turn: &str, event: &str, at: i64) -> String {
    let more = if event == "submitted" { format!("\"role\":\"user\",\"content\":\"ask {turn}\",") } else { String::new() };
    let end = if matches!(event, "completed" | "interrupted") { ",\"terminal\":true" } else { "" };
    format!(
        "{{\"event\":\"{event}\",{more}\"created_at\":{at}.5,\"stream_id\":\"run-{turn}\",\"version\":1,\"session_id\":\"{id}\",\"turn_id\":\"{turn}\"{end}}}\n"
    )
}

pub fn run_line(id: &str, run: &str, seq: u32, event: &str, at: i64, state: Option<&str>) -> String {
    let (terminal, state) = (state.is_some(), state.map_or("null".to_owned(), |state| format!("\"{state}\"")));
    format!(
        "{{\"version\":1,\"event_id\":\"{run}:{seq}\",\"seq\":{seq},\"run_id\":\"{run}\",\"session_id\":\"{id}\",\"event\":\"{event}\",\"type\":\"{event}\",\"created_at\":{at}.5,\"terminal\":{terminal},\"terminal_state\":{state},\"payload\":{{\"text\":\"x\"}}}}\n"
    )
}

/// Writes a session with these turns; their names are `<id>-t<n>`.
pub fn session(folder: &Folder, id: &str, turns: &[Turn]) {
    let mut rows = Vec::new();
    let mut shards: BTreeMap<u8, String> = BTreeMap::new();
    for (n, turn) in turns.iter().enumerate() {
        let name = format!("{id}-t{n}");
        let at = NOW_NS / 1_000_000_000 - i64::from(turn.days) * 86_400;
        for (k, event) in turn.events().into_iter().enumerate() {
            shards.entry(turn.shards[k]).or_default().push_str(&turn_line(id, &name, event, at + k as i64));
        }
        if turn.seen != Seen::Nothing {
            let token = format!("\"_active_turn_token\": \"run-{name}:1.5\"");
            rows.push(format!("{{\"role\": \"user\", \"content\": \"ask {name}\", \"timestamp\": {at}.5, {token}}}"));
        }
        match turn.seen {
            Seen::Nothing | Seen::Prompt => {}
            Seen::Answer => rows.push(format!("{{\"role\": \"assistant\", \"content\": \"yes {name}\", \"timestamp\": {at}}}")),
            Seen::Marker => rows.push(format!(
                "{{\"role\": \"assistant\", \"content\": \"**Response interrupted.**\", \"timestamp\": {at}, \"_error\": true, \"type\": \"interrupted\"}}"
            )),
        }
        let mut run = run_line(id, &format!("run-{name}"), 1, "token", at, None);
        match turn.run {
            Run::None => continue,
            Run::Open => {}
            Run::Done => run.push_str(&run_line(id, &format!("run-{name}"), 2, "done", at + 1, Some("completed"))),
            Run::Errored => run.push_str(&run_line(id, &format!("run-{name}"), 2, "apperror", at + 1, Some("errored"))),
        }
        write_aged(folder, &format!("_run_journal/{id}/run-{name}.jsonl"), &run, turn.days);
    }
    let sidecar = format!(
        "{{\n  \"session_id\": \"{id}\",\n  \"title\": \"T\",\n  \"workspace\": \"/w\",\n  \"updated_at\": 1700000000.5,\n  \"messages\": [{}],\n  \"tool_calls\": []\n}}",
        rows.join(", ")
    );
    folder.write(&format!("{id}.json"), &sidecar);
    let youngest = turns.iter().map(|turn| turn.days).min().unwrap_or(99);
    for (shard, text) in shards {
        write_aged(folder, &format!("_turn_journal/{id}~{}.jsonl", DEAD + u32::from(shard)), &text, youngest);
    }
}

/// Writes a file that is so many days old.
pub fn write_aged(folder: &Folder, name: &str, text: &str, days: u32) {
    folder.write(name, text);
    super::set_mtime(&folder.path().join(name), NOW_NS - i64::from(days) * DAY_NS);
}

/// A shard of a session.
pub fn shard(id: &str, shard: u8) -> String {
    format!("_turn_journal/{id}~{}.jsonl", DEAD + u32::from(shard))
}

pub fn read(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}
