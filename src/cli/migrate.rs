//! `everlog migrate`: what was typed and what `everlog.toml` says, to a job for
//! each source.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::commands::migrate::{self, Live, MigrateJob, Requirement, Share, Sources};
use crate::commands::migrate_each::run_each;
use crate::model::database::Credentials;
use crate::pipeline::source::Selection;
use crate::pipeline::target::Mode;
use crate::pipeline::unchanged::Trust;
use crate::report::exit::ExitStatus;
use crate::report::printer::Printer;
use crate::store::disk::RealDisk;

use super::args::Migrate;
use super::choices::{Problem, STOP, adapters, beside, said, selection};
use super::config::{self, Config};
use super::places;

/// A source, and how it shares its store.
struct Named {
    path: PathBuf,
    share: Share,
    requirement: Requirement,
}

pub(super) fn run(args: Migrate, jobs: usize, out: &Printer) -> Result<ExitStatus, Problem> {
    // What was typed counts: the file is for those who type no source.
    let is_typed = args.all || !args.sources.is_empty();
    let config = if is_typed && args.config.is_none() { Config::default() } else { config::load(args.config.as_deref())? };
    let named = sources(&args, &config, out)?;
    let credentials = if args.include_credentials { confirmed()? } else { Credentials::LeftOut };
    let dest = match (args.output.clone().or(config.migrate.output), named.as_slice()) {
        (Some(dest), _) => dest,
        (None, [one]) if one.share == Share::Alone => beside(&one.path, ".everlog")?,
        (None, _) => usual_store().ok_or_else(|| Problem::Usage("name a store with `-o`".to_owned()))?,
    };
    let mut each = Vec::new();
    for Named { path, share, requirement } in named {
        each.push(MigrateJob {
            selection: Selection { credentials, ..selection(&args.chosen, args.since.as_deref())? },
            adapters: adapters(args.format.as_deref())?,
            source: path,
            dest: dest.clone(),
            share,
            requirement,
            mode: if args.dry_run { Mode::DryRun } else { Mode::Replace },
            sources: match (args.retire, args.unretire) {
                (true, _) => Sources::Retire,
                (false, true) => Sources::Unretire,
                (false, false) => Sources::Stay,
            },
            live: if args.allow_live { Live::Allowed } else { Live::Refused },
            shard: args.shard,
            // What is unchanged was perhaps converted without its credentials.
            trust: if args.rehash || args.include_credentials { Trust::Nothing } else { Trust::SizeAndTime },
            jobs,
            stop: &STOP,
            disk: &RealDisk,
        });
    }
    match each.as_slice() {
        [one] if one.share == Share::Alone => Ok(migrate::run(one, out)?),
        several => Ok(run_each(several, out)?),
    }
}

/// What carrying credentials means, for the person who asked for it.
const CREDENTIALS: &str = "`--include-credentials` writes keys, tokens and logins out of databases into logs, as plain text: \
whoever can read the store, a copy or a backup of it can use them";

/// Makes sure that a person wants credentials in logs, and knows what that means: a
/// script must not copy them by a word in its settings.
fn confirmed() -> Result<Credentials, Problem> {
    let (mut stdin, mut stderr) = (std::io::stdin().lock(), std::io::stderr());
    if !(stdin.is_terminal() && stderr.is_terminal()) {
        return Err(Problem::Usage(format!("{CREDENTIALS}. It asks first, and needs a terminal for that; nothing was done")));
    }
    let mut answer = String::new();
    // A terminal that shows nothing gives no answer either.
    let _ = write!(stderr, "{CREDENTIALS}.\nType `yes` to do it: ").and_then(|()| stderr.flush());
    let is_read = stdin.read_line(&mut answer).is_ok();
    if is_read && answer.trim() == "yes" {
        Ok(Credentials::Carried)
    } else {
        Err(Problem::Usage("credentials are not carried without a `yes`; nothing was done".to_owned()))
    }
}

/// The sources that are meant: those that were typed, or those of the settings.
fn sources(args: &Migrate, config: &Config, out: &Printer) -> Result<Vec<Named>, Problem> {
    let paths = if args.sources.is_empty() && !args.all { &config.migrate.sources } else { &args.sources };
    if paths.is_empty() {
        if !args.all && !config.migrate.all {
            return Err(Problem::Usage(format!("name a SOURCE, here or in {}, or say `--all`", config::NAME)));
        }
        let found = places::listed(args.format.as_deref(), out)?;
        let beside = |place: crate::commands::places::UsualPlace| Named {
            share: Share::Beside(OsString::from(place.format)),
            path: place.path,
            requirement: Requirement::Optional,
        };
        return Ok(found.into_iter().map(beside).collect());
    }
    let is_alone = paths.len() == 1;
    let named = |path: &PathBuf| Named {
        share: if is_alone { Share::Alone } else { Share::Beside(name_of(path)) },
        path: path.clone(),
        requirement: Requirement::Required,
    };
    Ok(paths.iter().map(named).collect())
}

/// What a source's folder of logs is called in a store of several.
fn name_of(source: &Path) -> OsString {
    let whole = std::fs::canonicalize(source).unwrap_or_else(|_| source.to_owned());
    let folder = if whole.is_file() { whole.parent().unwrap_or(&whole) } else { &whole };
    folder.file_name().map(OsStr::to_owned).unwrap_or_default()
}

/// The store for what is on this machine where nobody names one.
pub(super) fn usual_store() -> Option<PathBuf> {
    let data = || said("XDG_DATA_HOME").map(PathBuf::from).or_else(|| Some(Path::new(&said("HOME")?).join(".local/share")));
    said("EVERLOG_STORE").map(PathBuf::from).or_else(|| Some(data()?.join("everlog")))
}
