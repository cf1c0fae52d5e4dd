//! Why a command could not be done at all.

use std::fmt;
use std::path::PathBuf;

use crate::log::LogProblem;
use crate::model::ids::Seq;
use crate::model::stream::StreamError;
use crate::report::text::shell_word;
use crate::store::StoreError;
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
    /// Source and destination lie in each other.
    Nested {
        /// The source.
        source: PathBuf,
        /// The destination.
        dest: PathBuf,
    },
    /// The program of the sessions runs.
    Live {
        /// Its process.
        process: u32,
        /// The file that says so.
        file: PathBuf,
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
    /// A program works with a file that something would come back to.
    InUse {
        /// The file.
        file: String,
        /// Who does what.
        why: String,
    },
    /// A panic: a bug in everlog, kept to its log.
    Bug(String),
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
            CommandError::Stream { .. } => Some("`everlog verify` says what else is wrong with it".to_owned()),
            CommandError::NothingRecognised { looked_for, .. } => Some(format!("looked for {}", looked_for.join("; "))),
            CommandError::NoLogs { .. } => Some("give a log (*.everlog.jsonl) or the folder that `everlog migrate` wrote".to_owned()),
            CommandError::NothingChosen { .. } => {
                Some("`--include` and `--exclude` are matched with names of sessions: `*` takes all".to_owned())
            }
            CommandError::NoSuchState { last, .. } => {
                Some(format!("choose one from 1 to {last}; every line of the log has its number as `seq`"))
            }
            CommandError::NothingToCompare { .. } => {
                Some("give a log, a folder of logs, a session, or a folder of sessions; `everlog detect` says what is there".to_owned())
            }
            CommandError::Nested { .. } => Some("choose a destination beside the source with `-o`".to_owned()),
            CommandError::Live { .. } => Some("stop it first, or convert what is there now with `--allow-live`".to_owned()),
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
            CommandError::UnknownFormat { .. } => Some("`everlog formats` lists what this build knows".to_owned()),
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
            CommandError::InUse { .. } => Some("run again when that program has ended".to_owned()),
            CommandError::Bug(_) => Some("this is a bug in everlog, please report it".to_owned()),
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
            CommandError::NothingRecognised { path, .. } => write!(f, "no session found in {}", path.display()),
            CommandError::NoLogs { path } => write!(f, "no log found at {}", path.display()),
            CommandError::NothingChosen { path, of } => write!(f, "none of the {of} logs in {} is meant", path.display()),
            CommandError::NoSuchState { at, last } => write!(f, "the log has no state after event {at}: its events are 1 to {last}"),
            CommandError::NothingToCompare { path } => write!(f, "neither a log nor a session at {}", path.display()),
            CommandError::Nested { source, dest } => {
                write!(f, "the destination {} and the source {} lie in each other", dest.display(), source.display())
            }
            CommandError::Live { process, file } => {
                write!(f, "process {process} works on these sessions right now, says {}", file.display())
            }
            CommandError::NoSuchHead { head, .. } => write!(f, "the log has no head {head}"),
            CommandError::NoSuchNode { leaf } => write!(f, "the log has no node {leaf}"),
            CommandError::Ambiguous { id, .. } => write!(f, "{id} names several nodes"),
            CommandError::HeadExists { head } => write!(f, "the log has a head {head} already"),
            CommandError::BadName { name } => write!(f, "{name:?} is no name for a branch"),
            CommandError::NotForked { path, why } => write!(f, "{} is not forked: {why}", path.display()),
            CommandError::UnknownFormat { format } => write!(f, "the format {format} is unknown to this build"),
            CommandError::NoSuchPlan { fingerprint } => write!(f, "{fingerprint:?} is no fingerprint of a plan"),
            CommandError::PlanChanged { changed, fingerprint } => {
                let what = if changed.is_empty() { "its steps are others".to_owned() } else { changed.join("; ") };
                write!(f, "the plan has changed since it was made ({what}); it would be {fingerprint} now")
            }
            CommandError::NothingPruned { wanted, .. } => write!(f, "no prune of this source can be undone: {wanted}"),
            CommandError::NoStore { path } => write!(f, "no logs and no receipts in {}", path.display()),
            CommandError::NotAsLeft { file, how, .. } => write!(f, "{file} is not as prune left it: {how}"),
            CommandError::NoOldBytes { file } => write!(f, "no log has what {file} was"),
            CommandError::InUse { file, why } => write!(f, "{file} is in use: {why}"),
            CommandError::Bug(what) => write!(f, "a bug in everlog: {what}"),
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
            CommandError::NothingRecognised { .. }
            | CommandError::NoLogs { .. }
            | CommandError::NothingChosen { .. }
            | CommandError::NoSuchState { .. }
            | CommandError::NothingToCompare { .. }
            | CommandError::Nested { .. }
            | CommandError::Live { .. }
            | CommandError::NoSuchHead { .. }
            | CommandError::NoSuchNode { .. }
            | CommandError::Ambiguous { .. }
            | CommandError::HeadExists { .. }
            | CommandError::BadName { .. }
            | CommandError::NotForked { .. }
            | CommandError::UnknownFormat { .. }
            | CommandError::NoSuchPlan { .. }
            | CommandError::PlanChanged { .. }
            | CommandError::NothingPruned { .. }
            | CommandError::NoStore { .. }
            | CommandError::NotAsLeft { .. }
            | CommandError::NoOldBytes { .. }
            | CommandError::InUse { .. }
            | CommandError::Bug(_)
            | CommandError::Interrupted { .. } => None,
        }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        CommandError::Store(error)
    }
}
