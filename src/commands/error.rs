//! Why a command could not be done at all.

use std::fmt;
use std::path::PathBuf;

use crate::export::ExportError;
use crate::log::LogProblem;
use crate::model::ids::Seq;
use crate::model::stream::StreamError;
use crate::pipeline::open::LogError;
use crate::pipeline::restore::RestoreError;
use crate::report::text::shell_word;
use crate::store::StoreError;
use crate::store::installed::UninstallError;
use crate::tables::TableError;
use crate::verify::difference::visible;

/// What stopped a command.
#[derive(Debug)]
#[non_exhaustive]
pub enum CommandError {
    /// The disk.
    Store(StoreError),
    /// A log, as a whole.
    Log {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        source: LogProblem,
    },
    /// A log, at an event.
    Stream {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        source: StreamError,
    },
    /// Tables that cannot be made or read.
    Tables(TableError),
    /// A session that is not exported.
    Export {
        /// Its log.
        path: PathBuf,
        /// Why not.
        source: ExportError,
    },
    /// No session in the source.
    NothingRecognised {
        /// The source.
        path: PathBuf,
        /// What was looked for.
        looked_for: Vec<&'static str>,
    },
    /// No log where logs should be.
    NoLogs {
        /// Where.
        path: PathBuf,
    },
    /// A file that is not one of the reports that make one report together.
    NotAReport {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The root of a part of a store.
    RootOfPart {
        /// The part.
        path: PathBuf,
    },
    /// Logs are there, and none of them is meant.
    NothingChosen {
        /// Where.
        path: PathBuf,
        /// How many there are.
        of: usize,
    },
    /// A state that a log never had.
    NoSuchState {
        /// What was asked for.
        at: Seq,
        /// The last event.
        last: Seq,
    },
    /// Something that is neither a log nor a session.
    NothingToCompare {
        /// Where.
        path: PathBuf,
    },
    /// An old store that cannot be compared with a database.
    NotCompared {
        /// Where.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Records that are to be rescued, and cannot be.
    NoRescue {
        /// Where to.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// Source and destination overlap.
    Nested {
        /// The source.
        source: PathBuf,
        /// The destination.
        dest: PathBuf,
    },
    /// A store that is of other sources.
    OtherSource {
        /// The store.
        store: PathBuf,
        /// The source.
        source: PathBuf,
        /// The sources that it is of, where it knows them.
        of: Vec<PathBuf>,
    },
    /// A store of several sources, and another one.
    UnknownSource {
        /// The store.
        store: PathBuf,
        /// The source.
        source: PathBuf,
    },
    /// The program of the sessions runs.
    Live {
        /// Its process.
        process: u32,
        /// The file that says so.
        file: PathBuf,
    },
    /// The program that is exported to runs.
    ProgramRuns {
        /// Its process.
        process: u32,
        /// The file that says so.
        file: PathBuf,
    },
    /// An installation that cannot be taken back.
    Uninstall(UninstallError),
    /// A session that the store does not have.
    NoSuchSession {
        /// What was asked for.
        word: String,
        /// Where it was looked for.
        store: PathBuf,
    },
    /// Words that fit several sessions.
    SeveralSessions {
        /// What was asked for.
        word: String,
        /// Those that it fits, a line for each.
        candidates: Vec<String>,
    },
    /// A session by name, and no store to look for it in.
    NoStoreNamed {
        /// The session that was asked for, if it was one.
        word: Option<String>,
    },
    /// A session of a program where a log is wanted.
    NotConverted {
        /// Where it is.
        path: PathBuf,
        /// The formats that are there.
        formats: Vec<&'static str>,
        /// How many sessions are there.
        sessions: usize,
    },
    /// A folder of logs where one log is wanted.
    FolderOfLogs {
        /// Where it is.
        path: PathBuf,
    },
    /// A head that the log does not have.
    NoSuchHead {
        /// What was asked for.
        head: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A node that the log does not have.
    NoSuchNode {
        /// What was asked for.
        leaf: String,
    },
    /// An id that fits several nodes.
    Ambiguous {
        /// What was asked for.
        id: String,
        /// Two that it fits.
        nodes: [Seq; 2],
    },
    /// A head that the log has already.
    HeadExists {
        /// Which one.
        head: String,
    },
    /// A name that no branch can have.
    BadName {
        /// The name.
        name: String,
    },
    /// A log that nothing is added to.
    NotForked {
        /// Which one.
        path: PathBuf,
        /// Why not.
        why: &'static str,
    },
    /// A log in a format that this build does not know.
    UnknownFormat {
        /// The format.
        format: String,
    },
    /// No finding has this code.
    UnknownCode {
        /// The code that was asked for.
        code: String,
        /// Codes that resemble it.
        near: Vec<&'static str>,
    },
    /// What was asked for names no plan.
    NoSuchPlan {
        /// What was asked for.
        fingerprint: String,
    },
    /// A plan is no longer what it was.
    PlanChanged {
        /// What is another now, as far as that can be told.
        changed: Vec<String>,
        /// The plan that it would be now.
        fingerprint: String,
    },
    /// Nothing was pruned that could be brought back.
    NothingPruned {
        /// Which prune was meant.
        wanted: String,
        /// Those that there are, with their sources.
        known: Vec<String>,
    },
    /// No store where one should be.
    NoStore {
        /// Where.
        path: PathBuf,
    },
    /// A file is another one than prune has left.
    NotAsLeft {
        /// The file.
        file: String,
        /// In what way.
        how: String,
        /// The log that has what it was.
        log: Option<PathBuf>,
    },
    /// No log has the old bytes of a file any more.
    NoOldBytes {
        /// The file.
        file: String,
    },
    /// A record of a prune that everlog cannot have written.
    NotGenuine {
        /// The file that it names.
        file: String,
        /// What gives it away.
        why: &'static str,
    },
    /// A receipt of a repair that everlog cannot have written.
    ReceiptNotGenuine {
        /// The file that it names.
        file: String,
        /// What gives it away.
        why: &'static str,
        /// Where the bytes are kept that it says the file had.
        kept: Option<PathBuf>,
    },
    /// A program works with a file that something would come back to.
    InUse {
        /// The file.
        file: String,
        /// Who does what.
        why: String,
    },
    /// A panic: a bug in everlog, kept to its log.
    Bug(String),
    /// The paths of a log stand in each other's way.
    Unrestorable {
        /// Which log.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Not everything could be written; what has its name is complete.
    NotAllWritten {
        /// How many logs are complete.
        complete: usize,
        /// Of how many.
        of: usize,
        /// Why not.
        source: StoreError,
    },
    /// Stopped by Ctrl-C.
    Interrupted {
        /// How many sessions are done.
        done: usize,
        /// Of how many.
        of: usize,
    },
}

impl CommandError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            CommandError::Store(error) => error.hint().map(str::to_owned),
            CommandError::Log { source, .. } => match source {
                LogProblem::Version(_) => Some("upgrade everlog to read this log".to_owned()),
                LogProblem::Line { .. } => Some("restore it from a copy, or migrate the source again".to_owned()),
                LogProblem::Io(_) | LogProblem::NotALog => None,
            },
            CommandError::Export { source, .. } => match source {
                ExportError::Log(_) => Some("`everlog verify` says what else is wrong with it".to_owned()),
                ExportError::NoTarget { .. } => Some("`everlog export --help` names the targets".to_owned()),
                ExportError::Empty => Some("`everlog tree` shows the other branches; choose one with `--head`".to_owned()),
                ExportError::Unproven { .. } => Some("nothing was written; please report this, it is a bug in everlog".to_owned()),
            },
            CommandError::Stream { .. } => Some("`everlog verify` says what else is wrong with it".to_owned()),
            CommandError::Tables(error) if error.is_of_log() => Some("`everlog verify` says what else is wrong with the log".to_owned()),
            CommandError::Tables(_) => Some("run `everlog export` into that folder again: it writes what is missing or not its own".to_owned()),
            CommandError::NothingRecognised { looked_for, .. } => Some(format!("looked for {}", looked_for.join("; "))),
            CommandError::NoLogs { .. } => Some("give a log (*.everlog.jsonl) or the folder that `everlog migrate` wrote".to_owned()),
            CommandError::NotAReport { .. } => {
                Some("make that report again: `everlog verify DEST --shard K/N --json > FILE`, for each K from 1 to N".to_owned())
            }
            CommandError::RootOfPart { .. } => Some("name the whole store with `--root`: a root is over all of its logs".to_owned()),
            CommandError::NothingChosen { .. } => {
                Some("`--include` and `--exclude` are matched with names of sessions: `*` takes all".to_owned())
            }
            CommandError::NoSuchState { last, .. } => {
                Some(format!("choose one from 1 to {last}; every line of the log has its number as `seq`"))
            }
            CommandError::NotCompared { .. } => {
                Some("name the folder or the database that the program's sessions were in before".to_owned())
            }
            CommandError::NoRescue { .. } => {
                Some("`everlog migrate` keeps the old store as logs, which `everlog show` and `everlog search` read".to_owned())
            }
            CommandError::NothingToCompare { .. } => {
                Some("give a log, a folder of logs, a session, or a folder of sessions; `everlog detect` says what is there".to_owned())
            }
            CommandError::Nested { .. } => Some("choose a destination beside the source with `-o`".to_owned()),
            CommandError::OtherSource { .. } => Some(
                "choose another store with `-o`; for one store of several sources, name all of them and a new store: `everlog migrate A B -o STORE`"
                    .to_owned(),
            ),
            CommandError::UnknownSource { store, source } => Some(format!(
                "name the source as it was when it was migrated, or the folder of its logs (`everlog verify STORE/FOLDER --source {}`); \
                 if it has moved, write its new path in {}",
                shell_word(&source.display().to_string()),
                store.join(".everlog/sources.json").display()
            )),
            CommandError::Live { .. } => Some("stop it first, or convert what is there now with `--allow-live`".to_owned()),
            CommandError::ProgramRuns { .. } => Some("stop it first: a program that runs may not see the session, or write over it".to_owned()),
            CommandError::Uninstall(error) => match error {
                UninstallError::Store(error) => error.hint().map(str::to_owned),
                UninstallError::NoReceipt { .. } => Some("name the receipt that `everlog export --install` printed".to_owned()),
                UninstallError::WentOn { .. } => {
                    Some("migrate the program's sessions first, so that nothing is lost; then remove the file yourself".to_owned())
                }
            },
            CommandError::NoSuchSession { store, .. } => Some(format!(
                "`everlog ls {}` lists them; a session is named by its id, the beginning of its id, its title, or `@last`",
                shell_word(&store.display().to_string())
            )),
            CommandError::SeveralSessions { candidates, .. } => {
                Some(format!("say more of its id, or name its log:\n{}", candidates.join("\n")))
            }
            CommandError::NoStoreNamed { .. } => Some(
                "name it with `--store DEST`, set EVERLOG_STORE, or go to the folder that `everlog migrate` converted or wrote".to_owned(),
            ),
            CommandError::NotConverted { path, .. } => Some(format!(
                "convert it with `everlog migrate {}`, and name the log that it writes",
                shell_word(&path.display().to_string())
            )),
            CommandError::FolderOfLogs { path } => {
                let path = shell_word(&path.display().to_string());
                Some(format!("`everlog ls {path}` lists its sessions; name one of them and `--store {path}`"))
            }
            CommandError::NoSuchHead { known, .. } if known.is_empty() => Some("the log has no head at that point".to_owned()),
            CommandError::NoSuchHead { known, .. } => Some(format!("the log has {}", visible(&known.join(", ")))),
            CommandError::NoSuchNode { .. } => {
                Some("a node is named by its `source_id`, or by `#` and its `seq`; `everlog tree` shows them".to_owned())
            }
            CommandError::Ambiguous { nodes: [one, other], .. } => Some(format!("say which: #{one} or #{other}")),
            CommandError::HeadExists { .. } => Some("choose another name with `--name`, or none".to_owned()),
            CommandError::BadName { .. } => Some(
                "a branch's name is not empty, holds no control characters and does not begin with `view:`, `events:` and the like"
                    .to_owned(),
            ),
            CommandError::NotForked { .. } => Some("restore it from a copy, or migrate the source again".to_owned()),
            CommandError::UnknownFormat { .. } => {
                let known: Vec<&str> = crate::adapters::ALL.iter().map(|adapter| adapter.id()).collect();
                Some(format!("this build knows {}", known.join(", ")))
            }
            CommandError::UnknownCode { near, .. } if near.is_empty() => Some("`everlog explain` lists all codes".to_owned()),
            CommandError::UnknownCode { near, .. } => Some(format!("did you mean {}? `everlog explain` lists all codes", near.join(", "))),
            CommandError::NoSuchPlan { .. } => Some("`everlog repair SOURCE` prints a plan and its fingerprint".to_owned()),
            CommandError::PlanChanged { .. } => Some("nothing was done; look at the new plan with `everlog repair SOURCE`".to_owned()),
            CommandError::NothingPruned { known, .. } if known.is_empty() => {
                Some("name the store that it was done with by `-o`".to_owned())
            }
            CommandError::NothingPruned { known, .. } => Some(format!(
                "there are {}; a folder that was moved since is undone by name, `--undo=NAME`, where everything stands as it was left",
                visible(&known.join(", "))
            )),
            CommandError::NoStore { .. } => {
                Some("run `everlog migrate SOURCE` first, or name the folder that it wrote to with `-o`".to_owned())
            }
            CommandError::NotAsLeft { log: None, .. } => {
                Some("nothing of its session was touched; what it was lies in the trash".to_owned())
            }
            CommandError::NotAsLeft { log: Some(log), .. } => {
                let log = shell_word(&log.display().to_string());
                Some(format!("nothing of its session was touched; what it was can be written elsewhere: everlog restore {log} -o FOLDER"))
            }
            CommandError::NoOldBytes { .. } => Some("look for it in the trash, if one was named, or in a backup".to_owned()),
            CommandError::NotGenuine { .. } => Some(
                "nothing of its session was touched; look at who can write to the store, and at `.everlog/pruned.jsonl` in it".to_owned(),
            ),
            CommandError::ReceiptNotGenuine { kept: Some(kept), .. } => Some(format!(
                "nothing was changed; if you trust the receipt, copy the old bytes yourself: {}",
                shell_word(&kept.display().to_string())
            )),
            CommandError::ReceiptNotGenuine { kept: None, .. } => {
                Some("nothing was changed; look at who can write to the folder of receipts".to_owned())
            }
            CommandError::InUse { .. } => Some("run again when that program has ended".to_owned()),
            CommandError::Bug(_) => Some("this is a bug in everlog, please report it".to_owned()),
            CommandError::Unrestorable { .. } => {
                Some("nothing was done: this log was not made by everlog, or was changed since".to_owned())
            }
            CommandError::NotAllWritten { source, .. } => source.hint().map(str::to_owned),
            CommandError::Interrupted { .. } => Some("run the same command again: it goes on where it stopped".to_owned()),
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandError::Store(error) => error.fmt(f),
            CommandError::Log { path, source } => write!(f, "{}: {source}", path.display()),
            CommandError::Stream { path, source } => write!(f, "{}: {source}", path.display()),
            CommandError::Tables(error) => error.fmt(f),
            CommandError::NothingRecognised { path, .. } => write!(f, "no session found in {}", path.display()),
            CommandError::NoLogs { path } => write!(f, "no log found at {}", path.display()),
            CommandError::NotAReport { path, what } => write!(f, "{} cannot be merged: {what}", path.display()),
            CommandError::RootOfPart { path } => write!(f, "{} is a part of a store, and has no root", path.display()),
            CommandError::NothingChosen { path, of } => write!(f, "none of the {of} logs in {} is meant", path.display()),
            CommandError::NoSuchState { at, last } => write!(f, "the log has no state after event {at}: its events are 1 to {last}"),
            CommandError::NotCompared { path, why } => write!(f, "{} cannot be compared: {why}", path.display()),
            CommandError::NoRescue { path, why } => write!(f, "nothing is rescued to {}: {why}", path.display()),
            CommandError::NothingToCompare { path } => write!(f, "neither a log nor a session at {}", path.display()),
            CommandError::Nested { source, dest } => {
                write!(f, "the destination {} and the source {} overlap", dest.display(), source.display())
            }
            CommandError::OtherSource { store, source, of } => {
                let of: Vec<String> = of.iter().map(|path| path.display().to_string()).collect();
                let of = if of.is_empty() { "another source".to_owned() } else { of.join(", ") };
                write!(
                    f,
                    "the store {} has the logs of {of}; sessions of {} could get the names of those, so they are not put among them",
                    store.display(),
                    source.display()
                )
            }
            CommandError::UnknownSource { store, source } => {
                write!(f, "the store {} has a folder of logs for each of its sources, and none for {}", store.display(), source.display())
            }
            CommandError::Live { process, file } => {
                write!(f, "process {process} works on these sessions right now, says {}", file.display())
            }
            CommandError::ProgramRuns { process, file } => {
                write!(f, "process {process} works on the program's sessions right now, says {}", file.display())
            }
            CommandError::Uninstall(error) => match error {
                UninstallError::Store(error) => error.fmt(f),
                UninstallError::NoReceipt { path, why } => write!(f, "{} is not the receipt of an export: {why}", path.display()),
                UninstallError::WentOn { path } => {
                    write!(f, "{} has changed since it was exported, so that nothing is removed", path.display())
                }
            },
            CommandError::NoSuchSession { word, store } => write!(f, "no session {word:?} in {}", store.display()),
            CommandError::SeveralSessions { word, candidates } => write!(f, "{word:?} fits {} sessions", candidates.len()),
            CommandError::NoStoreNamed { word: None } => f.write_str("no store is named, and there is none around or beside this folder"),
            CommandError::NoStoreNamed { word: Some(word) } => write!(f, "no file {word:?}, and no store to look for such a session in"),
            CommandError::NotConverted { path, formats, sessions } => {
                let what = if *sessions == 1 { "a session".to_owned() } else { format!("{sessions} sessions") };
                write!(f, "{} is not a log: it is {what} of {}", path.display(), formats.join(", "))
            }
            CommandError::FolderOfLogs { path } => write!(f, "{} is a folder of logs, and one log is wanted", path.display()),
            CommandError::Export { source, .. } => source.fmt(f),
            CommandError::NoSuchHead { head, .. } => write!(f, "the log has no head {head}"),
            CommandError::NoSuchNode { leaf } => write!(f, "the log has no node {leaf}"),
            CommandError::Ambiguous { id, .. } => write!(f, "{id} names several nodes"),
            CommandError::HeadExists { head } => write!(f, "the log has a head {head} already"),
            CommandError::BadName { name } => write!(f, "{name:?} is not a valid name for a branch"),
            CommandError::NotForked { path, why } => write!(f, "{} is not forked: {why}", path.display()),
            CommandError::UnknownFormat { format } => write!(f, "the format {format} is unknown to this build"),
            CommandError::UnknownCode { code, .. } => write!(f, "no finding has the code {code:?}"),
            CommandError::NoSuchPlan { fingerprint } => write!(f, "{fingerprint:?} is not the fingerprint of a plan"),
            CommandError::PlanChanged { changed, fingerprint } => {
                let what = if changed.is_empty() { "its steps are others".to_owned() } else { changed.join("; ") };
                write!(f, "the plan has changed since it was made ({what}); it would be {fingerprint} now")
            }
            CommandError::NothingPruned { wanted, .. } => write!(f, "no prune of this source can be undone: {wanted}"),
            CommandError::NoStore { path } => write!(f, "no logs and no receipts in {}", path.display()),
            CommandError::NotAsLeft { file, how, .. } => write!(f, "{file} is not as prune left it: {how}"),
            CommandError::NoOldBytes { file } => write!(f, "no log has what {file} was"),
            CommandError::NotGenuine { file, why } => {
                write!(f, "the record of what was pruned from {file} was not written by everlog: {why}")
            }
            CommandError::ReceiptNotGenuine { file, why, .. } => {
                write!(f, "the receipt of what was repaired in {file} was not written by everlog, or the folder has changed since: {why}")
            }
            CommandError::InUse { file, why } => write!(f, "{file} is in use: {why}"),
            CommandError::Bug(what) => write!(f, "a bug in everlog: {what}"),
            CommandError::Unrestorable { path, what } => write!(f, "{}: {what}", path.display()),
            CommandError::NotAllWritten { complete, of, source } => {
                write!(f, "{source}; {complete} of {of} logs are complete, and nothing of them is lost")
            }
            CommandError::Interrupted { done, of } => write!(f, "interrupted: {done} of {of} sessions are done, the others untouched"),
        }
    }
}

impl std::error::Error for CommandError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CommandError::Store(error) => error.source(),
            CommandError::Log { source, .. } => source.source(),
            CommandError::Stream { source, .. } => source.source(),
            CommandError::Tables(error) => error.source(),
            CommandError::NotAllWritten { source, .. } => source.source(),
            CommandError::Export { source, .. } => source.source(),
            CommandError::NothingRecognised { .. }
            | CommandError::Unrestorable { .. }
            | CommandError::NoLogs { .. }
            | CommandError::NotAReport { .. }
            | CommandError::RootOfPart { .. }
            | CommandError::NothingChosen { .. }
            | CommandError::NoSuchState { .. }
            | CommandError::NotCompared { .. }
            | CommandError::NoRescue { .. }
            | CommandError::NothingToCompare { .. }
            | CommandError::Nested { .. }
            | CommandError::OtherSource { .. }
            | CommandError::UnknownSource { .. }
            | CommandError::Live { .. }
            | CommandError::ProgramRuns { .. }
            | CommandError::Uninstall(_)
            | CommandError::NoSuchSession { .. }
            | CommandError::SeveralSessions { .. }
            | CommandError::NoStoreNamed { .. }
            | CommandError::NotConverted { .. }
            | CommandError::FolderOfLogs { .. }
            | CommandError::NoSuchHead { .. }
            | CommandError::NoSuchNode { .. }
            | CommandError::Ambiguous { .. }
            | CommandError::HeadExists { .. }
            | CommandError::BadName { .. }
            | CommandError::NotForked { .. }
            | CommandError::UnknownFormat { .. }
            | CommandError::UnknownCode { .. }
            | CommandError::NoSuchPlan { .. }
            | CommandError::PlanChanged { .. }
            | CommandError::NothingPruned { .. }
            | CommandError::NoStore { .. }
            | CommandError::NotAsLeft { .. }
            | CommandError::NoOldBytes { .. }
            | CommandError::NotGenuine { .. }
            | CommandError::ReceiptNotGenuine { .. }
            | CommandError::InUse { .. }
            | CommandError::Bug(_)
            | CommandError::Interrupted { .. } => None,
        }
    }
}

impl From<LogError> for CommandError {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Store(error) => CommandError::Store(error),
            LogError::Log { path, source } => CommandError::Log { path, source },
            LogError::Stream { path, source } => CommandError::Stream { path, source },
            LogError::UnknownFormat { format } => CommandError::UnknownFormat { format },
        }
    }
}

impl From<TableError> for CommandError {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Store(error) => CommandError::Store(error),
            TableError::Log { path, source } => CommandError::Log { path, source },
            TableError::Stream { path, source } => CommandError::Stream { path, source },
            error @ (TableError::TooLong { .. } | TableError::File { .. }) => CommandError::Tables(error),
        }
    }
}

impl From<RestoreError> for CommandError {
    fn from(error: RestoreError) -> Self {
        match error {
            RestoreError::Log(error) => error.into(),
            RestoreError::Unrestorable { path, what } => CommandError::Unrestorable { path, what },
            RestoreError::NoFiles { path } => CommandError::NoLogs { path },
            RestoreError::Bug(what) => CommandError::Bug(what),
        }
    }
}

impl From<UninstallError> for CommandError {
    fn from(error: UninstallError) -> Self {
        CommandError::Uninstall(error)
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        CommandError::Store(error)
    }
}
