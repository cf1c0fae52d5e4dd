//! What people read of an error: what happened, and what they can do about it.

use std::fmt;

use super::CommandError;
use crate::export::ExportError;
use crate::log::LogProblem;
use crate::report::text::shell_word;
use crate::store::installed::UninstallError;
use crate::verify::difference::visible;

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
            CommandError::NothingChosen { path, of } => write!(f, "none of the {of} logs in {} is selected", path.display()),
            CommandError::NoSuchState { at, last } => write!(f, "the log has no state after event {at}: its events are 1 to {last}"),
            CommandError::NotCompared { path, why } => write!(f, "{} cannot be compared: {why}", path.display()),
            CommandError::NoRescue { path, why } => write!(f, "nothing was rescued to {}: {why}", path.display()),
            CommandError::NothingToCompare { path } => write!(f, "neither a log nor a session at {}", path.display()),
            CommandError::Nested { source, dest } => {
                write!(f, "the destination {} and the source {} overlap", dest.display(), source.display())
            }
            CommandError::OtherSource { store, source, of } => {
                let of: Vec<String> = of.iter().map(|path| path.display().to_string()).collect();
                let of = if of.is_empty() { "another source".to_owned() } else { of.join(", ") };
                write!(
                    f,
                    "the store {} has the logs of {of}; a session of {} could have the same name as one of theirs, so they are not put into one store",
                    store.display(),
                    source.display()
                )
            }
            CommandError::UnknownSource { store, source } => {
                write!(f, "the store {} has a folder of logs for each of its sources, and none for {}", store.display(), source.display())
            }
            CommandError::Live { process, file } => {
                write!(f, "process {process} is working on these sessions, says {}", file.display())
            }
            CommandError::ProgramRuns { process, file } => {
                write!(f, "process {process} is working on the program's sessions, says {}", file.display())
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
            CommandError::FolderOfLogs { path } => write!(f, "{} is a folder of logs, where one log is wanted", path.display()),
            CommandError::Export { source, .. } => source.fmt(f),
            CommandError::NoSuchHead { head, .. } => write!(f, "the log has no head {head}"),
            CommandError::NoSuchNode { leaf } => write!(f, "the log has no node {leaf}"),
            CommandError::Ambiguous { id, .. } => write!(f, "{id} names several nodes"),
            CommandError::HeadExists { head } => write!(f, "the log has a head {head} already"),
            CommandError::BadName { name } => write!(f, "{name:?} is not a valid name for a branch"),
            CommandError::NotForked { path, why } => write!(f, "{} was not forked: {why}", path.display()),
            CommandError::UnknownFormat { format } => write!(f, "the format {format} is unknown to this build"),
            CommandError::UnknownCode { code, .. } => write!(f, "no finding has the code {code:?}"),
            CommandError::NoSuchPlan { fingerprint } => write!(f, "{fingerprint:?} is not the fingerprint of a plan"),
            CommandError::PlanChanged { changed, fingerprint } => {
                let what = if changed.is_empty() { "its steps have changed".to_owned() } else { changed.join("; ") };
                write!(f, "the plan has changed since it was made ({what}); it would be {fingerprint} now")
            }
            CommandError::NothingPruned { wanted, .. } => write!(f, "no prune of this source can be undone: {wanted}"),
            CommandError::NoStore { path } => write!(f, "no logs and no receipts in {}", path.display()),
            CommandError::NotAsLeft { file, how, .. } => write!(f, "{file} is not as prune left it: {how}"),
            CommandError::NoOldBytes { file } => write!(f, "no log has the old bytes of {file}"),
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

impl CommandError {
    /// Returns what a person can do about it.
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
                Some(format!("give more of its id, or name its log:\n{}", candidates.join("\n")))
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
            CommandError::Ambiguous { nodes: [one, other], .. } => Some(format!("choose one of them: #{one} or #{other}")),
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
                Some("nothing of its session was touched; the file that prune removed is in the trash".to_owned())
            }
            CommandError::NotAsLeft { log: Some(log), .. } => {
                let log = shell_word(&log.display().to_string());
                Some(format!("nothing of its session was touched; write the old file elsewhere: everlog restore {log} -o FOLDER"))
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
