//! What was typed to what is done: defaults, globs and conflicts settled, the
//! clock read once.

use clap::{CommandFactory, Parser, error::ErrorKind};
use glob::Pattern;
use jiff::{Span, Timestamp, Zoned};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::adapters::adapter::Adapter;
use crate::adapters::{ALL, by_id};
use crate::commands::audit::AuditJob;
use crate::commands::compare::CompareJob;
use crate::commands::convert::Mode;
use crate::commands::detect::DetectJob;
use crate::commands::fork::ForkJob;
use crate::commands::golden::GoldenJob;
use crate::commands::migrate::{Live, MigrateJob, Sources, Trust};
use crate::commands::repair::{Action, RepairJob};
use crate::commands::replay::{ReplayJob, Salvage, Shape, View};
use crate::commands::restore::RestoreJob;
use crate::commands::sample::Sample;
use crate::commands::source::Selection;
use crate::commands::tree::{Nodes, TreeJob};
use crate::commands::verify::{Annotations, Level, Strictness, VerifyJob};
use crate::commands::{
    CommandError, audit, contains, detect, diff, fork, formats, golden, migrate, repair, replay, restore, tree, turns, verify,
};
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::report::differences::{Quoting, Showing};
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer, Talk};
use crate::report::terminal::{Colours, Terminal};
use crate::report::text;
use crate::store::disk::{Disk, RealDisk};

use super::args::{self, Args, Command};
use super::{prune, quantities};

/// Set by the first Ctrl-C; the second one ends the process.
pub(super) static STOP: AtomicBool = AtomicBool::new(false);

/// Parses, runs, and says how it ended.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitStatus {
    let args = match Args::try_parse_from(words) {
        Ok(args) => args,
        Err(error) => {
            let told = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // Help goes to stdout and errors to stderr; a closed pipe is no news.
            return match error.print().and_then(|()| std::io::stdout().flush()) {
                Err(failure) if told && failure.kind() != std::io::ErrorKind::BrokenPipe => {
                    not_printed(failure, &Printer::new(Form::Text, Talk::Usual))
                }
                _ if told => ExitStatus::Well,
                _ => ExitStatus::Failed,
            };
        }
    };
    let form = if args.json { Form::Json } else { Form::Text };
    let out = Printer::new(form, if args.quiet { Talk::Quiet } else { Talk::Usual });
    let status = match dispatch(args, &out) {
        Ok(status) => status,
        Err(Problem::Usage(what)) => {
            out.complain(&format!("error: {what}\nhint: `everlog help` lists commands and options"));
            ExitStatus::Failed
        }
        Err(Problem::Command(error)) => {
            out.complain(&text::error(&error, None, error.hint().as_deref()));
            ExitStatus::Failed
        }
    };
    match out.finish() {
        Ok(()) => status,
        Err(failure) => not_printed(failure, &out),
    }
}

/// Whoever reads stdout must not take a part for the whole.
fn not_printed(failure: std::io::Error, out: &Printer) -> ExitStatus {
    let error = crate::store::StoreError::io("write to", Path::new("stdout"))(failure);
    out.complain(&text::error(&error, None, error.hint()));
    ExitStatus::Failed
}

/// Why nothing was done.
pub(super) enum Problem {
    Usage(String),
    Command(CommandError),
}

impl From<CommandError> for Problem {
    fn from(error: CommandError) -> Self {
        Problem::Command(error)
    }
}

impl From<crate::store::StoreError> for Problem {
    fn from(error: crate::store::StoreError) -> Self {
        Problem::Command(error.into())
    }
}

fn dispatch(args: Args, out: &Printer) -> Result<ExitStatus, Problem> {
    let jobs = args.jobs.filter(|jobs| *jobs > 0).unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    match args.command {
        Command::Detect { paths, format } => {
            let selection = Selection { homes: homes(), ..Selection::default() };
            Ok(detect::run(&DetectJob { paths, adapters: adapters(format.as_deref())?, selection, jobs }, out)?)
        }
        Command::Migrate(args) => run_migrate(args, jobs, out),
        Command::Verify(args) => Ok(verify::run(&verify_job(args, jobs)?, out)?),
        Command::Diff(args) => Ok(diff::run(&compare_job(args, jobs), out)?),
        Command::Contains(args) => Ok(contains::run(&compare_job(args, jobs), out)?),
        Command::Replay(args::Replay { log: logs, out: Some(folder), .. }) => {
            Ok(golden::run(&GoldenJob { logs, out: folder, jobs, disk: &RealDisk }, out)?)
        }
        Command::Replay(args) => Ok(replay::run(&replay_job(args), out)?),
        Command::Tree { log, all } => {
            let nodes = if all { Nodes::All } else { Nodes::OfNote };
            Ok(tree::run(&TreeJob { log, nodes, terminal: terminal() }, out)?)
        }
        Command::Fork { log, at, name } => Ok(fork::run(&ForkJob { log, at, name, disk: &RealDisk }, out)?),
        Command::Turns { log } => Ok(turns::run(&log, out)?),
        Command::Restore { logs, output } => Ok(restore::run(&RestoreJob { logs, dest: output, jobs, disk: &RealDisk }, out)?),
        Command::Audit { source, format, chosen } => {
            stop_politely();
            let selection = selection(&chosen, None)?;
            let adapters = adapters(format.as_deref())?;
            Ok(audit::run(&AuditJob { source, selection, adapters, jobs, now_ns: now_ns(), stop: &STOP }, out)?)
        }
        Command::Repair { source, apply, undo, backups, format } => {
            let backups = match backups {
                Some(backups) => backups,
                None => beside(&source, ".everlog-repair")?,
            };
            let action = match (apply, undo) {
                (Some(fingerprint), _) => Action::Apply(fingerprint),
                (None, Some(receipt)) => Action::Undo(receipt),
                (None, None) => Action::Plan,
            };
            let adapters = adapters(format.as_deref())?;
            Ok(repair::run(&RepairJob { source, adapters, backups, action, now_ns: now_ns(), disk: &RealDisk }, out)?)
        }
        Command::Prune(args) => {
            stop_politely();
            Ok(crate::commands::prune::run(&prune::job(*args, jobs)?, out)?)
        }
        Command::Formats => Ok(formats::run(out)),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "everlog", &mut script);
            out.line(&script);
            Ok(ExitStatus::Well)
        }
        Command::Man { dir } => manual(dir, out),
    }
}

pub(super) fn adapters(format: Option<&str>) -> Result<Vec<&'static dyn Adapter>, Problem> {
    match format {
        None => Ok(ALL.to_vec()),
        Some(id) => match by_id(id) {
            Some(adapter) => Ok(vec![adapter]),
            None => Err(CommandError::UnknownFormat { format: id.to_owned() }.into()),
        },
    }
}

/// Lets the first Ctrl-C end a run between two sessions.
fn stop_politely() {
    // Without a handler Ctrl-C still stops us, only less politely.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) {
            std::process::exit(2);
        }
    });
}

/// The time, in nanoseconds since the epoch.
pub(super) fn now_ns() -> i64 {
    i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX)
}

fn run_migrate(args: args::Migrate, jobs: usize, out: &Printer) -> Result<ExitStatus, Problem> {
    stop_politely();
    let dest = match args.output {
        Some(dest) => dest,
        None => beside(&args.source, ".everlog")?,
    };
    let job = MigrateJob {
        selection: selection(&args.chosen, args.since.as_deref())?,
        adapters: adapters(args.format.as_deref())?,
        source: args.source,
        dest,
        mode: if args.dry_run { Mode::DryRun } else { Mode::Replace },
        sources: match (args.retire, args.unretire) {
            (true, _) => Sources::Retire,
            (false, true) => Sources::Unretire,
            (false, false) => Sources::Stay,
        },
        live: if args.allow_live { Live::Allowed } else { Live::Refused },
        trust: if args.rehash { Trust::Nothing } else { Trust::SizeAndTime },
        jobs,
        stop: &STOP,
        disk: &RealDisk,
    };
    Ok(migrate::run(&job, out)?)
}

/// `<source><suffix>` beside the source.
pub(super) fn beside(source: &Path, suffix: &str) -> Result<PathBuf, Problem> {
    let whole = std::fs::canonicalize(source).map_err(crate::store::StoreError::io("find", source))?;
    // A file stands for the session that it belongs to.
    let whole = match whole.parent() {
        Some(folder) if whole.is_file() => folder.to_owned(),
        _ => whole,
    };
    let mut name = whole.file_name().ok_or_else(|| Problem::Usage("name a destination with `-o`".to_owned()))?.to_owned();
    name.push(suffix);
    Ok(whole.with_file_name(name))
}

pub(super) fn selection(chosen: &args::Chosen, written_since: Option<&str>) -> Result<Selection, Problem> {
    Ok(Selection {
        include: patterns(&chosen.include)?,
        exclude: patterns(&chosen.exclude)?,
        since_ns: written_since.map(since).transpose()?,
        homes: homes(),
    })
}

/// Where programs say that they run, as far as the environment tells.
fn homes() -> BTreeMap<&'static str, PathBuf> {
    let variables = ALL.iter().filter_map(|adapter| Some(adapter.pid_file()?.home));
    variables.filter_map(|name| Some((name, PathBuf::from(said(name)?)))).collect()
}

fn patterns(globs: &[String]) -> Result<Vec<Pattern>, Problem> {
    globs.iter().map(|text| Pattern::new(text).map_err(|error| Problem::Usage(format!("{text:?} is no pattern: {error}")))).collect()
}

/// The moment that words such as `7d` or `2026-11-01` mean, in nanoseconds since
/// the epoch; nothing where they mean none.
#[must_use]
pub fn moment(text: &str) -> Option<i64> {
    since(text).ok()
}

/// A date, a time or a span back from now, in nanoseconds since the epoch.
fn since(text: &str) -> Result<i64, Problem> {
    let wrong = || Problem::Usage(format!("{text:?} is neither a date (2026-11-01) nor a span (7d, 12h)"));
    let moment = match text.parse::<Span>() {
        Ok(span) => Zoned::now().checked_sub(span).ok().and_then(|moment| i64::try_from(moment.timestamp().as_nanosecond()).ok()),
        Err(_) => quantities::moment_ns(text),
    };
    moment.ok_or_else(wrong)
}

/// How wide lines may be, and whether they are coloured: `COLUMNS` says it, else
/// the terminal; where neither does it is 80.
fn terminal() -> Terminal {
    let stdout = std::io::stdout();
    let asked = said("COLUMNS").and_then(|columns| columns.to_str()?.trim().parse().ok()).filter(|columns| *columns > 0);
    let measured = || rustix::termios::tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    Terminal { columns: asked.or_else(measured).unwrap_or(80), colours: colours(&stdout) }
}

/// What an environment variable says, if it says anything.
fn said(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Whether what is printed there is coloured.
fn colours(stream: &impl IsTerminal) -> Colours {
    let is_plain = said("NO_COLOR").is_some() || said("TERM").is_some_and(|term| term == "dumb") || !stream.is_terminal();
    if is_plain { Colours::None } else { Colours::Shown }
}

fn showing(args: &args::Showing, stream: &impl IsTerminal) -> Showing {
    let quoting = if args.no_content { Quoting::Nothing } else { Quoting::Windows };
    Showing { quoting, context: args.context, colours: colours(stream) }
}

fn verify_job(args: args::Verify, jobs: usize) -> Result<VerifyJob, Problem> {
    let no_sample = |text: &str| Problem::Usage(format!("{text:?} is no part of the sessions: say 10% or 0.5%"));
    let here = || std::env::current_dir().unwrap_or_default();
    let now = Timestamp::now();
    Ok(VerifyJob {
        logs: args.dest,
        source: args.source,
        golden: args.golden,
        selection: selection(&args.chosen, args.since.as_deref())?,
        sample: args.sample.as_deref().map(|text| Sample::parse(text).ok_or_else(|| no_sample(text))).transpose()?,
        level: match args.level.as_str() {
            "seal" => Level::Seal,
            "restore" => Level::Restore,
            _ => Level::Full,
        },
        strictness: if args.strict { Strictness::Findings } else { Strictness::Differences },
        showing: showing(&args.showing, &std::io::stderr()),
        most: args.showing.max_diffs.max(1),
        junit: args.junit,
        annotations: if args.github {
            let workspace = said("GITHUB_WORKSPACE").map_or_else(here, PathBuf::from);
            Annotations::GitHub { workspace, summary: said("GITHUB_STEP_SUMMARY").map(PathBuf::from) }
        } else {
            Annotations::None
        },
        timestamp: now.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
        jobs,
    })
}

fn compare_job(args: args::TwoSides, jobs: usize) -> CompareJob {
    let showing = showing(&args.showing, &std::io::stdout());
    CompareJob { a: args.a, b: args.b, showing, most: args.showing.max_diffs.max(1), jobs }
}

fn replay_job(args: args::Replay) -> ReplayJob {
    ReplayJob {
        log: args.log,
        head: args.head.as_deref().map(HeadName::parse),
        leaf: args.leaf,
        at: args.at.map(Seq::new),
        last: args.last,
        view: if args.context { View::Context } else { View::Whole },
        shape: if args.shape.is_some() { Shape::Source } else { Shape::Log },
        salvage: if args.salvage { Salvage::Shown } else { Salvage::Hidden },
    }
}

fn manual(dir: Option<PathBuf>, out: &Printer) -> Result<ExitStatus, Problem> {
    let Some(dir) = dir else {
        let mut page = Vec::new();
        let made = clap_mangen::Man::new(Args::command()).render(&mut page);
        made.map_err(|error| Problem::Usage(format!("the manual cannot be made: {error}")))?;
        out.line(&page);
        return Ok(ExitStatus::Well);
    };
    RealDisk.create_folders(&dir)?;
    clap_mangen::generate_to(Args::command(), &dir).map_err(crate::store::StoreError::io("write the manual to", &dir))?;
    Ok(ExitStatus::Well)
}
