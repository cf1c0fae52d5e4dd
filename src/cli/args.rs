//! What was typed, nothing more.

mod reading;

use clap::{Args as ClapArgs, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

pub use self::reading::{Html, Ls, Redact, Replay, Search, Show, Stats};
use crate::model::shard::Shard;

/// Moves AI-agent sessions into one append-only event log, and proves that nothing was lost.
#[derive(Debug, Parser)]
#[command(name = "everlog", version, about, max_term_width = 100, propagate_version = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// Print one JSON object per line on stdout.
    #[arg(long, global = true)]
    pub json: bool,

    /// Print only what went wrong.
    #[arg(long, short, global = true)]
    pub quiet: bool,

    /// List every finding, also those that an earlier run reported; otherwise three of each code.
    #[arg(long, global = true)]
    pub all_findings: bool,

    /// Look for sessions in this store [default: $EVERLOG_STORE, else the store around or beside this folder].
    #[arg(long, global = true, value_name = "DEST")]
    pub store: Option<PathBuf>,

    /// Work on N sessions at once [default: the number of cores].
    #[arg(long, short, global = true, value_name = "N")]
    pub jobs: Option<usize>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show which programs' sessions are in a folder, how many, and what is damaged.
    Detect {
        /// Folders or files to look at [default: where supported programs keep their sessions on this machine].
        paths: Vec<PathBuf>,
        /// Consider only this format; `everlog formats` lists them.
        #[arg(long, value_name = "FORMAT")]
        format: Option<String>,
    },
    /// Convert sessions into logs, and prove each log before it gets its name.
    Migrate(Migrate),
    /// Check that logs are intact, restore and replay; with `--source`, that they equal it.
    Verify(Verify),
    /// List the sessions of a store, newest first.
    Ls(Ls),
    /// Show a conversation: coloured, with Markdown, in a pager.
    Show(Box<Show>),
    /// Search all sessions: what people said and tools printed.
    Search(Box<Search>),
    /// Count sessions, messages, tokens and cost by program, model, month and tool.
    Stats(Stats),
    /// Print the messages of a session, one JSON object per line.
    Replay(Replay),
    /// Write sessions as pages that need no server and no network.
    Html(Html),
    /// Draw the branches of a session.
    Tree {
        /// A log, or a session by its id, the beginning of its id, its title, or @last.
        log: PathBuf,
        /// Print a line for every node, not only for branch points and ends.
        #[arg(long)]
        all: bool,
    },
    /// Add a branch to a log at any node; what is in the log stays unchanged.
    Fork {
        /// A log, or a session by its id, the beginning of its id, its title, or @last.
        log: PathBuf,
        /// Branch off this node: its id in the source, #SEQ for its number in the log, or a head's name.
        #[arg(long, alias = "at", value_name = "ID", allow_hyphen_values = true)]
        leaf: String,
        /// Name the branch [default: fork-1, fork-2, …].
        #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
        name: Option<String>,
    },
    /// Show each turn of a session: how it ended, and what is missing.
    Turns {
        /// A log, or a session by its id, the beginning of its id, its title, or @last.
        log: PathBuf,
    },
    /// Compare the messages of two logs or sources, also across formats.
    Diff(TwoSides),
    /// Tell whether every message of A is in B, and list what is missing.
    Contains(Contains),
    /// Rebuild the original files from logs, byte for byte.
    Restore {
        /// Logs, folders of logs, or sessions by id, title or @last.
        #[arg(required = true)]
        logs: Vec<PathBuf>,
        /// Restore into this folder; no file in it is overwritten.
        #[arg(long, short, value_name = "FOLDER")]
        output: PathBuf,
    },
    /// Write sessions as another program's own, which it lists, loads and continues.
    Export(Export),
    /// List what is wrong in a source, and what `repair` could do. Changes nothing.
    Audit {
        /// A sessions folder, a folder that holds several, one session's folder, or one file.
        source: PathBuf,
        /// The store with its logs [default: `<SOURCE>.everlog` beside the source].
        #[arg(long, short, value_name = "DEST")]
        output: Option<PathBuf>,
        /// Accept these findings: the store's baseline records them, and they become notes. New damage still fails.
        #[arg(long)]
        accept: bool,
        /// Consider only this format; `everlog formats` lists them.
        #[arg(long, value_name = "FORMAT")]
        format: Option<String>,
        /// Which sessions.
        #[command(flatten)]
        chosen: Chosen,
    },
    /// Repair what can be repaired safely: print a plan, then apply that plan, with a way back.
    Repair {
        /// A sessions folder, a folder that holds several, one session's folder, or one file.
        source: PathBuf,
        /// Apply the plan with this fingerprint; refused if the plan has changed since.
        #[arg(long, value_name = "FINGERPRINT")]
        apply: Option<String>,
        /// Put back what a repair changed.
        #[arg(long, value_name = "RECEIPT", conflicts_with = "apply")]
        undo: Option<PathBuf>,
        /// Keep replaced files and receipts here [default: `<SOURCE>.everlog-repair` beside the source].
        #[arg(long, value_name = "FOLDER", conflicts_with = "undo")]
        backups: Option<PathBuf>,
        /// Consider only this format; `everlog formats` lists them.
        #[arg(long, value_name = "FORMAT")]
        format: Option<String>,
    },
    /// Remove completed journals past their retention: print a plan, or apply it, with a way back.
    Prune(Box<Prune>),
    /// Maintain a store itself.
    Store {
        /// What to do.
        #[command(subcommand)]
        action: StoreAction,
    },
    /// Explain a finding code: its cause, and what you can do.
    Explain {
        /// The code, as reports show it in brackets; all codes if not given.
        code: Option<String>,
    },
    /// List the formats that can be converted.
    Formats,
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page, or write one per command into a folder.
    Man {
        /// Write one page per command into this folder.
        #[arg(long, short, alias = "dir", value_name = "FOLDER")]
        output: Option<PathBuf>,
    },
}

/// `everlog store`.
#[derive(Debug, Subcommand)]
pub enum StoreAction {
    /// Make one file of the receipts that `migrate --shard` wrote; the logs stay as they are.
    Compact {
        /// The store.
        dest: PathBuf,
    },
}

/// `everlog migrate`.
#[derive(Debug, ClapArgs)]
pub struct Migrate {
    /// Sessions folders, folders that hold several, sessions' folders, or files [default: those in `everlog.toml`].
    #[arg(value_name = "SOURCE")]
    pub sources: Vec<PathBuf>,
    /// Convert what supported programs keep at their usual places on this machine.
    #[arg(long, conflicts_with = "sources")]
    pub all: bool,
    /// Write the logs into this store [default: `<SOURCE>.everlog` beside the source; for several sources and `--all`
    /// $EVERLOG_STORE, else ~/.local/share/everlog].
    #[arg(long, short, value_name = "DEST")]
    pub output: Option<PathBuf>,
    /// Read settings from this file [default: `everlog.toml` here, in ~/.config/everlog or in /etc].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Convert and prove everything, but keep no log.
    #[arg(long)]
    pub dry_run: bool,
    /// Rename each proven source to `*.migrated`, so that its program no longer lists it.
    #[arg(long, conflicts_with = "dry_run")]
    pub retire: bool,
    /// Give retired sources their names back.
    #[arg(long, conflicts_with_all = ["dry_run", "retire"])]
    pub unretire: bool,
    /// Convert even while the program that writes the sessions is running.
    #[arg(long)]
    pub allow_live: bool,
    /// Convert everything again, even sessions whose size and time are unchanged.
    #[arg(long)]
    pub rehash: bool,
    /// Carry the tables of a database that hold credentials into its log, too. Asks on a terminal, and refuses without one.
    #[arg(long)]
    pub include_credentials: bool,
    /// Convert part K of N only: N runs on one DEST, wherever and in any order, are one run together.
    #[arg(long, value_name = "K/N", conflicts_with_all = ["retire", "unretire"])]
    pub shard: Option<Shard>,
    /// Which sessions.
    #[command(flatten)]
    pub chosen: Chosen,
    /// Consider only this format; `everlog formats` lists them.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Only sessions written since a date (2026-11-01), a time, or a span ago (7d, 12h).
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
}

/// Which sessions are meant, by name.
#[derive(Debug, Default, ClapArgs)]
pub struct Chosen {
    /// Only sessions whose name matches; repeatable.
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,
    /// Skip sessions whose name matches; repeatable.
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
}

/// `everlog verify`.
#[derive(Debug, ClapArgs)]
pub struct Verify {
    /// A store, or one log [default: the store in `everlog.toml`].
    pub dest: Option<PathBuf>,
    /// Read settings from this file [default: `everlog.toml` here, in ~/.config/everlog or in /etc].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Compare with this source, too.
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<PathBuf>,
    /// Compare with the replays that `replay --all -o` wrote here.
    #[arg(long, value_name = "FOLDER")]
    pub golden: Option<PathBuf>,
    /// Compare with the tables that `export --to parquet` wrote here, row by row.
    #[arg(long, value_name = "FOLDER")]
    pub tables: Option<PathBuf>,
    /// How much to check: `seal` (hashes, references, attachments), `restore` (also rebuild the files), `full` (also replay).
    #[arg(long, value_name = "LEVEL", value_parser = ["seal", "restore", "full"], default_value = "full")]
    pub level: String,
    /// Fail unless the store has this root: the 64 hex digits that `migrate` and `verify` print.
    #[arg(long, value_name = "HASH")]
    pub root: Option<String>,
    /// Check only a part of the sessions, the same part each time: 10%, 0.5%.
    #[arg(long, value_name = "PERCENT")]
    pub sample: Option<String>,
    /// Check part K of N only; `--merge-reports` makes one report of all.
    #[arg(long, value_name = "K/N", conflicts_with = "sample")]
    pub shard: Option<Shard>,
    /// Make one report of what `verify --shard K/N --json` printed for each part.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["dest", "source", "golden", "root", "sample", "shard", "junit", "github"])]
    pub merge_reports: Vec<PathBuf>,
    /// Which sessions.
    #[command(flatten)]
    pub chosen: Chosen,
    /// Only sessions whose log or source was written since a date (2026-11-01), a time, or a span ago (7d, 12h).
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Also exit with 1 for findings and for logs without a source.
    #[arg(long)]
    pub strict: bool,
    /// How differences are shown.
    #[command(flatten)]
    pub showing: Showing,
    /// Write a JUnit report to this file.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print annotations for GitHub Actions, and add to the job's summary.
    #[arg(long)]
    pub github: bool,
}

/// How differences are shown.
#[derive(Debug, Clone, ClapArgs)]
pub struct Showing {
    /// Show N bytes or characters around each difference.
    #[arg(long, alias = "context", value_name = "N", default_value_t = 40)]
    pub window: usize,
    /// Show at most N differences per session, and count the others.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub max_diffs: usize,
    /// Quote nothing of what sessions say.
    #[arg(long)]
    pub no_content: bool,
}

/// Two sides that are compared.
#[derive(Debug, ClapArgs)]
pub struct TwoSides {
    /// A log, a store, a session, or a folder of sessions.
    pub a: PathBuf,
    /// Another one, of any format.
    pub b: PathBuf,
    /// How differences are shown.
    #[command(flatten)]
    pub showing: Showing,
}

/// `everlog contains`.
#[derive(Debug, ClapArgs)]
pub struct Contains {
    /// What is compared.
    #[command(flatten)]
    pub sides: TwoSides,
    /// Where B is a database: write what it lacks to this folder, as sessions that its program can import. No existing file is touched.
    #[arg(long, value_name = "FOLDER")]
    pub rescue: Option<PathBuf>,
}

/// `everlog export`.
#[derive(Debug, ClapArgs)]
pub struct Export {
    /// Logs, folders of logs, or sessions by id, title or @last.
    #[arg(required_unless_present = "undo")]
    pub logs: Vec<PathBuf>,
    /// Export to this format, or as documents: markdown, openai (chat messages for fine-tuning), atif (trajectories), or as tables for queries: parquet, sqlite.
    #[arg(long, value_name = "FORMAT", required_unless_present = "undo")]
    pub to: Option<String>,
    /// Write into this folder, as into the one in which the program keeps its sessions; no file in it is overwritten. Tables: the folder of the Parquet files, or the SQLite file.
    #[arg(long, short, value_name = "FOLDER", required_unless_present_any = ["install", "undo"])]
    pub output: Option<PathBuf>,
    /// Write where the program looks for its sessions on this machine, with a receipt for `--undo`.
    #[arg(long, conflicts_with = "output")]
    pub install: bool,
    /// Take away what the export with this receipt installed, unless the program went on with it.
    #[arg(long, value_name = "RECEIPT", conflicts_with_all = ["logs", "to", "output", "install", "head", "leaf", "at", "cwd", "model", "title", "strict", "bare", "redact"])]
    pub undo: Option<PathBuf>,
    /// Split Parquet tables into folders by these columns: month, format.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub partition_by: Vec<String>,
    /// Export another head: a branch, or KIND:NAME (view:…, backup:…, events:…).
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub head: Option<String>,
    /// Export the path to this node: its id in the source, or #SEQ for its number in the log.
    #[arg(long, value_name = "ID", allow_hyphen_values = true, conflicts_with = "head")]
    pub leaf: Option<String>,
    /// Export the state after the event with this number.
    #[arg(long, value_name = "SEQ")]
    pub at: Option<u32>,
    /// The working folder of the exported session [default: the session's own].
    #[arg(long, value_name = "FOLDER")]
    pub cwd: Option<PathBuf>,
    /// The model of all answers, as PROVIDER/MODEL [default: each answer's own].
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// The title of the exported session [default: the session's own].
    #[arg(long, value_name = "TITLE")]
    pub title: Option<String>,
    /// Write no session that loses something.
    #[arg(long)]
    pub strict: bool,
    /// Leave out what the program cannot say, instead of carrying it along for the way back.
    #[arg(long)]
    pub bare: bool,
    /// What is taken out; then nothing is carried along either.
    #[command(flatten)]
    pub redact: Redact,
}

/// `everlog prune`.
#[derive(Debug, Default, ClapArgs)]
pub struct Prune {
    /// A sessions folder, a folder that holds several, one session's folder, or one file [default: the one in `everlog.toml`].
    pub source: Option<PathBuf>,
    /// The store with its logs [default: `<SOURCE>.everlog` beside the source].
    #[arg(long, short, value_name = "DEST")]
    pub output: Option<PathBuf>,
    /// Remove what the plan names, instead of printing the plan.
    #[arg(long, conflicts_with_all = ["check", "explain", "undo", "plan"])]
    pub apply: bool,
    /// Print the plan even where `everlog.toml` says `apply`.
    #[arg(long)]
    pub plan: bool,
    /// Exit with 1 when the plan is not empty.
    #[arg(long)]
    pub check: bool,
    /// Explain every decision about what is in this file.
    #[arg(long, value_name = "FILE")]
    pub explain: Option<PathBuf>,
    /// Bring back what a prune removed: the last one, or the one with this name.
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true)]
    pub undo: Option<Option<String>>,
    /// Apply only these rules: turn-journal, run-journal, cron-run-log, event-log, hidden-lines, retired.
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub rule: Vec<String>,
    /// Remove what is older than this (12h, 90d), by its own times and by its file's; 0 leaves age out [default: 30d].
    #[arg(long, value_name = "AGE")]
    pub older_than: Option<String>,
    /// Keep the newest N turns and N runs of each session, whatever their age.
    #[arg(long, value_name = "N")]
    pub keep_last: Option<usize>,
    /// Also remove the oldest until the journals of the source take at most this much (2GiB).
    #[arg(long, value_name = "SIZE")]
    pub max_bytes: Option<String>,
    /// Remove only from files that nobody has written to for this long [default: 1h].
    #[arg(long, value_name = "SPAN")]
    pub idle: Option<String>,
    /// Remove also what no log contains; that cannot be brought back.
    #[arg(long)]
    pub without_log: bool,
    /// Move files here instead of removing them.
    #[arg(long, value_name = "FOLDER")]
    pub trash: Option<PathBuf>,
    /// Read settings from this file [default: `everlog.toml` here, in ~/.config/everlog or in /etc].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Take this for the present time.
    #[arg(long, value_name = "TIME", hide = true)]
    pub now: Option<String>,
    /// Which sessions.
    #[command(flatten)]
    pub chosen: Chosen,
    /// Consider only this format; `everlog formats` lists them.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
}
