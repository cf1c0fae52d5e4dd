//! What was typed, nothing more.

use clap::{Args as ClapArgs, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

/// Moves AI-agent sessions into one append-only event log, and proves that nothing was lost.
#[derive(Debug, Parser)]
#[command(name = "everlog", version, about, max_term_width = 100, propagate_version = true)]
#[command(after_help = "Exit codes: 0 done and all well; 1 done, and something differs, failed or was found; 2 could not be done.")]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// One JSON object per line on stdout.
    #[arg(long, global = true)]
    pub json: bool,

    /// Say only what went wrong.
    #[arg(long, short, global = true)]
    pub quiet: bool,

    /// How many sessions at once; all cores if not given.
    #[arg(long, short, global = true, value_name = "N")]
    pub jobs: Option<usize>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say what is there: formats, sessions, files, damage.
    Detect {
        /// Folders or files to look at.
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        /// Only this format.
        #[arg(long, value_name = "FORMAT")]
        format: Option<String>,
    },
    /// Convert sessions into logs, prove each, and replace what was there.
    Migrate(Migrate),
    /// Check logs: seal, restore and replay, against their source where one is given.
    Verify(Verify),
    /// Print the messages of a log.
    Replay(Replay),
    /// Draw the branches of a log.
    Tree {
        /// The log.
        log: PathBuf,
        /// A line for every node, not only for those of note.
        #[arg(long)]
        all: bool,
    },
    /// Add a branch to a log, at any node, and touch nothing that is there.
    Fork {
        /// The log.
        log: PathBuf,
        /// The node: the source's own id of it, #SEQ for the log's number, or a head.
        #[arg(long, value_name = "ID", allow_hyphen_values = true)]
        at: String,
        /// The branch's name; `fork-1`, `fork-2` … if not given.
        #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
        name: Option<String>,
    },
    /// Show each turn of a session: its state, who settled it, what is missing.
    Turns {
        /// The log.
        log: PathBuf,
    },
    /// Compare the messages of two logs or sources, also across formats.
    Diff(TwoSides),
    /// Say whether every message of A is in B, by what it says; list what is missing.
    Contains(TwoSides),
    /// Rebuild the original files from logs, byte for byte.
    Restore {
        /// Logs, or folders of logs.
        #[arg(required = true)]
        logs: Vec<PathBuf>,
        /// The folder to restore into; nothing in it is overwritten.
        #[arg(long, short, value_name = "DIR")]
        output: PathBuf,
    },
    /// Say what is wrong in a source, and what could be mended. Changes nothing.
    Audit {
        /// A sessions folder, one that holds several, one session's folder, or one file.
        source: PathBuf,
        /// Only this format.
        #[arg(long, value_name = "FORMAT")]
        format: Option<String>,
        /// Which sessions.
        #[command(flatten)]
        chosen: Chosen,
    },
    /// Mend what can be mended safely: first a plan, then exactly that plan, with a way back.
    Repair {
        /// A sessions folder, one that holds several, one session's folder, or one file.
        source: PathBuf,
        /// Do the plan with this fingerprint; refused if it would be another one now.
        #[arg(long, value_name = "FINGERPRINT")]
        apply: Option<String>,
        /// Put back what a repair changed.
        #[arg(long, value_name = "RECEIPT", conflicts_with = "apply")]
        undo: Option<PathBuf>,
        /// Where old files and receipts go; `<SOURCE>.everlog-repair` beside the source if not given.
        #[arg(long, value_name = "DIR", conflicts_with = "undo")]
        backups: Option<PathBuf>,
        /// Only this format.
        #[arg(long, value_name = "FORMAT")]
        format: Option<String>,
    },
    /// Remove what has served its purpose, and never anything else: first a plan, then that plan, with a way back.
    Prune(Box<Prune>),
    /// List the formats that can be converted.
    Formats,
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page, or write one per command into a folder.
    Man {
        /// The folder.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// `everlog migrate`.
#[derive(Debug, ClapArgs)]
pub struct Migrate {
    /// A sessions folder, one that holds several, one session's folder, or one file.
    pub source: PathBuf,
    /// Where logs go; `<SOURCE>.everlog` beside the source if not given.
    #[arg(long, short, value_name = "DEST")]
    pub output: Option<PathBuf>,
    /// Do everything but give logs their names.
    #[arg(long)]
    pub dry_run: bool,
    /// Rename proven sources to `*.migrated`, so that their program no longer lists them.
    #[arg(long, conflicts_with = "dry_run")]
    pub retire: bool,
    /// Give retired sources their names back.
    #[arg(long, conflicts_with_all = ["dry_run", "retire"])]
    pub unretire: bool,
    /// Convert also while the program of the sessions runs.
    #[arg(long)]
    pub allow_live: bool,
    /// Convert again even what has not changed by size and time.
    #[arg(long)]
    pub rehash: bool,
    /// Which sessions.
    #[command(flatten)]
    pub chosen: Chosen,
    /// Only this format.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Only sessions written since: a date (2026-11-01), a time, or a span (7d, 12h).
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
}

/// Which sessions are meant, by name.
#[derive(Debug, Default, ClapArgs)]
pub struct Chosen {
    /// Only sessions whose name matches; may be given several times.
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,
    /// No sessions whose name matches; may be given several times.
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
}

/// `everlog verify`.
#[derive(Debug, ClapArgs)]
pub struct Verify {
    /// A folder of logs, or one log.
    pub dest: PathBuf,
    /// Compare with this source too.
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<PathBuf>,
    /// Compare with the replays that `replay --all --out` kept here.
    #[arg(long, value_name = "DIR")]
    pub golden: Option<PathBuf>,
    /// How far: `seal` (hashes and references), `restore` (files rebuild, too), `full` (replay, too).
    #[arg(long, value_name = "LEVEL", value_parser = ["seal", "restore", "full"], default_value = "full")]
    pub level: String,
    /// Only a part of the sessions, the same each time: 10%, 0.5%.
    #[arg(long, value_name = "PERCENT")]
    pub sample: Option<String>,
    /// Which sessions.
    #[command(flatten)]
    pub chosen: Chosen,
    /// Only sessions whose log or source was written since: a date (2026-11-01), a time, or a span (7d, 12h).
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Let findings and logs without a source count, not only differences.
    #[arg(long)]
    pub strict: bool,
    /// How differences are shown.
    #[command(flatten)]
    pub showing: Showing,
    /// Write a JUnit report.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print annotations for GitHub Actions, and add to the job's summary.
    #[arg(long)]
    pub github: bool,
}

/// How differences are shown.
#[derive(Debug, ClapArgs)]
pub struct Showing {
    /// How many bytes or characters to show around a difference.
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub context: usize,
    /// How many differences of one session to show; the rest is counted.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub max_diffs: usize,
    /// Quote nothing from sessions.
    #[arg(long)]
    pub no_content: bool,
}

/// Two sides that are compared.
#[derive(Debug, ClapArgs)]
pub struct TwoSides {
    /// A log, a folder of logs, a session, or a folder of sessions.
    pub a: PathBuf,
    /// Another one, of whatever format.
    pub b: PathBuf,
    /// How differences are shown.
    #[command(flatten)]
    pub showing: Showing,
}

/// `everlog replay`.
#[derive(Debug, ClapArgs)]
pub struct Replay {
    /// The log; with `--all` also a folder of logs.
    pub log: PathBuf,
    /// Keep the replay of every session as a text that can be reviewed.
    #[arg(long, requires = "out", conflicts_with_all = ["head", "leaf", "at", "last", "context", "shape", "salvage"])]
    pub all: bool,
    /// The folder for those texts.
    #[arg(long, value_name = "DIR", requires = "all")]
    pub out: Option<PathBuf>,
    /// Another head: a branch, or KIND:NAME (view:…, backup:…, events:…).
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub head: Option<String>,
    /// The path to this node, by the source's own id of it; #SEQ for the log's number.
    #[arg(long, value_name = "ID", allow_hyphen_values = true, conflicts_with = "head")]
    pub leaf: Option<String>,
    /// The state after this event.
    #[arg(long, value_name = "SEQ")]
    pub at: Option<u32>,
    /// Only the last N messages.
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// Only what a model would see.
    #[arg(long)]
    pub context: bool,
    /// In the source program's own shape.
    #[arg(long = "as", value_name = "SHAPE", value_parser = ["source"])]
    pub shape: Option<String>,
    /// Also what the source program's loader would not show.
    #[arg(long)]
    pub salvage: bool,
}

/// `everlog prune`.
#[derive(Debug, Default, ClapArgs)]
pub struct Prune {
    /// A sessions folder, one that holds several, one session's folder, or one file; else what `everlog.toml` names.
    pub source: Option<PathBuf>,
    /// Where its logs are; `<SOURCE>.everlog` beside the source if not given.
    #[arg(long, short, value_name = "DEST")]
    pub output: Option<PathBuf>,
    /// Do it, instead of printing what would go.
    #[arg(long, conflicts_with_all = ["check", "explain", "undo", "plan"])]
    pub apply: bool,
    /// Print what would go, even where `everlog.toml` says to do it.
    #[arg(long)]
    pub plan: bool,
    /// Exit with 1 when something should have gone by now.
    #[arg(long)]
    pub check: bool,
    /// Print the whole case of what is in this file.
    #[arg(long, value_name = "FILE")]
    pub explain: Option<PathBuf>,
    /// Bring back what a prune took: the last one, or the one of this name.
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true)]
    pub undo: Option<Option<String>>,
    /// Only by these rules: turn-journal, run-journal, cron-run-log, event-log, hidden-lines, retired.
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub rule: Vec<String>,
    /// What is older than this (12h, 90d), by its own times and by its file's; 30d if not given, 0 for whatever age the other two take.
    #[arg(long, value_name = "AGE")]
    pub older_than: Option<String>,
    /// But for the newest N turns and N runs of each session; other rules go by age alone. 0 is as if not given.
    #[arg(long, value_name = "N")]
    pub keep_last: Option<usize>,
    /// And the oldest besides, until the source's journals have no more than this (2GiB). 0 is as if not given.
    #[arg(long, value_name = "SIZE")]
    pub max_bytes: Option<String>,
    /// Only files that were left alone for so long; 1h if not given.
    #[arg(long, value_name = "SPAN")]
    pub idle: Option<String>,
    /// Also what no log has: that cannot be brought back.
    #[arg(long)]
    pub without_log: bool,
    /// Move old files there instead of removing them.
    #[arg(long, value_name = "DIR")]
    pub trash: Option<PathBuf>,
    /// Settings; `everlog.toml` here, in ~/.config/everlog or in /etc if not given.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Take this for the time.
    #[arg(long, value_name = "TIME")]
    pub now: Option<String>,
    /// Which sessions.
    #[command(flatten)]
    pub chosen: Chosen,
    /// Only this format.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
}
