//! What was typed for the commands that read sessions.

use clap::Args as ClapArgs;
use std::path::PathBuf;

/// `everlog ls`.
#[derive(Debug, ClapArgs)]
pub struct Ls {
    /// A store, or a folder of logs [default: the one that `--store` names].
    pub folder: Option<PathBuf>,
    /// What comes first: the newest, the largest, the one with the most messages, or by title.
    #[arg(long, value_name = "BY", value_parser = ["time", "size", "messages", "title"], default_value = "time")]
    pub sort: String,
    /// Only sessions with a message since a date (2026-11-01), a time, or a span ago (7d, 12h).
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only sessions of this format; `everlog formats` lists them.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Only sessions that worked in this folder or below it.
    #[arg(long, value_name = "FOLDER")]
    pub cwd: Option<PathBuf>,
    /// Only sessions with findings that somebody should look at.
    #[arg(long)]
    pub damaged: bool,
}

/// `everlog show`.
#[derive(Debug, ClapArgs)]
pub struct Show {
    /// A log, or a session by its id, the beginning of its id, its title, or @last.
    pub log: PathBuf,
    /// Show another head: a branch, or KIND:NAME (view:…, backup:…, events:…).
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub head: Option<String>,
    /// Show the path to this node: its id in the source, or #SEQ for its number in the log.
    #[arg(long, value_name = "ID", allow_hyphen_values = true, conflicts_with = "head")]
    pub leaf: Option<String>,
    /// Show the state after the event with this number.
    #[arg(long, value_name = "SEQ")]
    pub at: Option<u32>,
    /// Show only the last N messages.
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// Show also what other branches have.
    #[arg(long, conflicts_with_all = ["last", "head", "leaf"])]
    pub all_branches: bool,
    /// Show calls of tools and their answers in full, in a line each, or not at all.
    #[arg(long, value_name = "HOW", value_parser = ["full", "short", "none"], default_value = "short")]
    pub tools: String,
    /// Show what a model thought in a pale colour, or only that it did.
    #[arg(long, value_name = "HOW", value_parser = ["dimmed", "hidden"], default_value = "dimmed")]
    pub thinking: String,
    /// Show times in this zone: local, source (as the source has them), UTC, +02:00, or a name such as Europe/Berlin.
    #[arg(long, value_name = "ZONE", default_value = "local", allow_hyphen_values = true)]
    pub zone: String,
    /// Write a Markdown document, or flat messages, one JSON object per line, instead of text.
    #[arg(long = "as", value_name = "FORM", value_parser = ["markdown", "messages"])]
    pub form: Option<String>,
    /// Print to the terminal without a pager; otherwise $PAGER shows the text, or `less` where it is not set.
    #[arg(long)]
    pub no_pager: bool,
    /// What is taken out.
    #[command(flatten)]
    pub redact: Redact,
}

/// `everlog html`.
#[derive(Debug, ClapArgs)]
pub struct Html {
    /// A store, a folder of logs, a log, or a session by its id, the beginning of its id, its title, or @last.
    pub what: PathBuf,
    /// The folder for the pages; for one session also a file that ends in .html.
    #[arg(long, short, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Open the index, or the only page, in a browser.
    #[arg(long)]
    pub open: bool,
    /// What is taken out.
    #[command(flatten)]
    pub redact: Redact,
}

/// What is taken out of messages before they leave the machine.
#[derive(Debug, ClapArgs)]
pub struct Redact {
    /// Replace keys, tokens, passwords, e-mail addresses and home directories by placeholders.
    #[arg(long)]
    pub redact: bool,
    /// Replace also what this regular expression finds; may be repeated.
    #[arg(long, value_name = "REGEX", requires = "redact", allow_hyphen_values = true)]
    pub redact_pattern: Vec<String>,
}

/// `everlog search`.
#[derive(Debug, ClapArgs)]
pub struct Search {
    /// These words, one after the other; with `--regex`, the store.
    #[arg(required_unless_present = "regex")]
    pub words: Option<String>,
    /// A store, or a folder of logs [default: the one that `--store` names].
    pub folder: Option<PathBuf>,
    /// Search for a regular expression instead of words.
    #[arg(long, short = 'e', value_name = "R", allow_hyphen_values = true)]
    pub regex: Option<String>,
    /// Find `a` where `A` is, too, whatever the pattern; by default a capital letter in it makes case count.
    #[arg(long, short, conflicts_with = "case_sensitive")]
    pub ignore_case: bool,
    /// Let case count, whatever the pattern.
    #[arg(long, short = 's')]
    pub case_sensitive: bool,
    /// Only what this role said; what tools answered is `tool`.
    #[arg(long, value_name = "ROLE", value_parser = ["system", "user", "assistant", "tool"])]
    pub role: Option<String>,
    /// Only calls and answers of this tool.
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Only messages since a date (2026-11-01), a time, or a span ago (7d, 12h).
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only sessions of this format; `everlog formats` lists them.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Search this branch, or `all`, instead of the one that the program shows.
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// List the sessions with a match.
    #[arg(long, short = 'l', conflicts_with_all = ["count", "context"])]
    pub sessions: bool,
    /// Count the lines that match in each session.
    #[arg(long, short, conflicts_with = "context")]
    pub count: bool,
    /// Show N lines before and after each match.
    #[arg(long, short = 'C', value_name = "N", default_value_t = 0)]
    pub context: usize,
    /// Show times in this zone: local, source (as the source has them), UTC, +02:00, or a name such as Europe/Berlin.
    #[arg(long, value_name = "ZONE", default_value = "local", allow_hyphen_values = true)]
    pub zone: String,
}

/// `everlog stats`.
#[derive(Debug, ClapArgs)]
pub struct Stats {
    /// A store, or a folder of logs [default: the one that `--store` names].
    pub folder: Option<PathBuf>,
    /// Only sessions of this format; `everlog formats` lists them.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Print comma-separated values.
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

/// `everlog replay`.
#[derive(Debug, ClapArgs)]
pub struct Replay {
    /// A log, or a session by its id, the beginning of its id, its title, or @last; with `--all`, a store.
    pub log: PathBuf,
    /// Write the replay of every session as a text that can be reviewed.
    #[arg(long, requires = "output", conflicts_with_all = ["head", "leaf", "at", "last", "context", "shape", "salvage"])]
    pub all: bool,
    /// The folder for the texts of `--all`.
    #[arg(long, short, alias = "out", value_name = "FOLDER", requires = "all")]
    pub output: Option<PathBuf>,
    /// Show another head: a branch, or KIND:NAME (view:…, backup:…, events:…).
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub head: Option<String>,
    /// Show the path to this node: its id in the source, or #SEQ for its number in the log.
    #[arg(long, value_name = "ID", allow_hyphen_values = true, conflicts_with = "head")]
    pub leaf: Option<String>,
    /// Show the state after the event with this number.
    #[arg(long, value_name = "SEQ")]
    pub at: Option<u32>,
    /// Print only the last N messages.
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// Print only what a model would see.
    #[arg(long)]
    pub context: bool,
    /// Print messages in the source program's own shape.
    #[arg(long = "as", value_name = "SHAPE", value_parser = ["source"])]
    pub shape: Option<String>,
    /// Print also what the source program's loader would not show.
    #[arg(long)]
    pub salvage: bool,
}
