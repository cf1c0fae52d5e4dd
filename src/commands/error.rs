//! Why a command could not be done at all. What people read of it is in `message`.

mod message;

use std::path::PathBuf;

use crate::export::ExportError;
use crate::log::LogProblem;
use crate::model::ids::Seq;
use crate::model::stream::StreamError;
use crate::pipeline::open::LogError;
use crate::pipeline::restore::RestoreError;
use crate::store::StoreError;
use crate::store::installed::UninstallError;
use crate::tables::TableError;

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
