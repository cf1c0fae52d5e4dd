//! What was typed to what is done: defaults, globs and conflicts settled, the
//! clock read once.

use clap::{FromArgMatches, error::ErrorKind};
use jiff::Timestamp;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::commands::audit::{AuditJob, Covers, Judgement};
use crate::commands::compare::CompareJob;
use crate::commands::contains::ContainsJob;
use crate::commands::detect::DetectJob;
use crate::commands::export_install::UndoJob;
use crate::commands::fork::ForkJob;
use crate::commands::golden::GoldenJob;
use crate::commands::html::HtmlJob;
use crate::commands::repair::{Action, RepairJob};
use crate::commands::replay::{Branches, ReplayJob, Salvage, Shape, View};
use crate::commands::restore::RestoreJob;
use crate::commands::sample::Sample;
use crate::commands::sessions::explained;
use crate::commands::store::CompactJob;
use crate::commands::tree::{Nodes, TreeJob};
use crate::commands::verify::{Annotations, Level, Strictness, VerifyJob};
use crate::commands::{
    audit, contains, detect, diff, explain, export, export_install, fork, formats, golden, html, ls, repair, replay, restore, search, show,
    stats, store, tree, turns, verify, verify_merge,
};
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::pipeline::source::Selection;
use crate::report::differences::{Quoting, Showing};
use crate::report::exit::ExitStatus;
use crate::report::findings::Listing;
use crate::report::pager::Pager;
use crate::report::printer::{self, Bar, Form, Printer, Stream, Streams, Talk};
use crate::report::terminal::{Colours, Edge, Terminal};
use crate::report::text;
use crate::store::disk::{Disk, Look, RealDisk};
use crate::store::replace::temporary_in;
use crate::store::walk::{real_folder_of, real_path};

use super::args::{self, Args, Command};
use super::choices::{Problem, STOP, adapters, beside, homes, now_ns, redactor, said, selection};
use super::{config, help, migrate, places, prune, reading, sessions, tables};

/// Parses, runs, and says how it ended.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitStatus {
    let args = match help::command().try_get_matches_from(words).and_then(|matches| Args::from_arg_matches(&matches)) {
        Ok(args) => args,
        Err(error) => {
            let out = Printer::new(Form::Text, Talk::Usual, streams());
            // An error quotes what was typed, which may come from a file's name.
            if !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
                out.complain(error.render().to_string().trim_end());
                return ExitStatus::Failed;
            }
            // Help quotes nothing. A closed pipe is no news.
            return match error.print().and_then(|()| std::io::stdout().flush()) {
                Err(failure) if failure.kind() != std::io::ErrorKind::BrokenPipe => not_printed(failure, &out),
                Ok(()) | Err(_) => ExitStatus::Well,
            };
        }
    };
    survive_file_size_limit();
    let form = if args.json { Form::Json } else { Form::Text };
    let talk = if args.quiet { Talk::Quiet } else { Talk::Usual };
    let (out, pager) = reading::printer(&args, form, talk, streams());
    printer::escape_panics();
    let out = if args.all_findings { out.with_listing(Listing::All) } else { out };
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
    let status = out.settle(status);
    let status = match out.finish() {
        Ok(()) => status,
        Err(failure) => not_printed(failure, &out),
    };
    // A pager reads to the end of what it is given, and then waits for its user.
    drop(out);
    // One that cannot be waited for is gone.
    let _ = pager.map(Pager::wait);
    status
}

/// Whoever reads stdout must not take a part for the whole.
fn not_printed(failure: std::io::Error, out: &Printer) -> ExitStatus {
    let error = crate::store::StoreError::io("write to", Path::new("stdout"))(failure);
    out.complain(&text::error(&error, None, error.hint()));
    ExitStatus::Failed
}

fn dispatch(args: Args, out: &Printer) -> Result<ExitStatus, Problem> {
    let jobs = args.jobs.filter(|jobs| *jobs > 0).unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let store = args.store.as_deref();
    match args.command {
        Command::Detect { paths, format } => {
            let selection = Selection { homes: homes(), ..Selection::default() };
            let paths = if paths.is_empty() { places::to_look_at(format.as_deref(), out)? } else { paths };
            Ok(detect::run(&DetectJob { paths, adapters: adapters(format.as_deref())?, selection, jobs }, out)?)
        }
        Command::Migrate(mut args) => {
            stop_politely();
            args.output = written_to(args.output.take(), store);
            migrate::run(args, jobs, out)
        }
        Command::Verify(args) if !args.merge_reports.is_empty() => Ok(verify_merge::run(&args.merge_reports, out)?),
        Command::Verify(args) => run_verify(args, jobs, out),
        Command::Diff(args) => Ok(diff::run(&compare_job(args, jobs), out)?),
        Command::Contains(args) => {
            let rescue = args.rescue.as_deref().map(real_path);
            Ok(contains::run(&ContainsJob { sides: compare_job(args.sides, jobs), rescue }, out)?)
        }
        Command::Ls(args) => Ok(ls::run(&sessions::ls_job(args, store, terminal())?, out)?),
        Command::Search(args) => Ok(search::run(&reading::search_job(*args, store, terminal())?, out)?),
        Command::Stats(args) => Ok(stats::run(&reading::stats_job(args, store, terminal())?, out)?),
        Command::Show(args) => Ok(show::run(&reading::show_job(*args, store, out.form(), terminal())?, out).map_err(explained)?),
        Command::Replay(args::Replay { log: logs, output: Some(folder), .. }) => {
            stop_politely();
            Ok(golden::run(&GoldenJob { logs: real_path(&logs), out: real_path(&folder), jobs, stop: &STOP, disk: &RealDisk }, out)?)
        }
        Command::Replay(args) => {
            let log = sessions::log(&args.log, store)?;
            Ok(replay::run(&replay_job(args, log, out.form()), out).map_err(explained)?)
        }
        Command::Html(args) => run_html(&args, store, jobs, out),
        Command::Tree { log, all } => {
            let nodes = if all { Nodes::All } else { Nodes::OfNote };
            Ok(tree::run(&TreeJob { log: sessions::log(&log, store)?, nodes, terminal: terminal() }, out).map_err(explained)?)
        }
        Command::Fork { log, leaf, name } => {
            // One log: it is finished, and a second Ctrl-C ends the process.
            stop_politely();
            let log = sessions::log_as_typed(&log, store)?;
            Ok(fork::run(&ForkJob { log, at: leaf, name, disk: &RealDisk }, out).map_err(explained)?)
        }
        Command::Turns { log } => Ok(turns::run(&sessions::log(&log, store)?, out).map_err(explained)?),
        Command::Restore { logs, output } => {
            stop_politely();
            let logs = logs.iter().map(|log| sessions::logs(log, store)).collect::<Result<_, _>>()?;
            Ok(restore::run(&RestoreJob { logs, dest: output, jobs, stop: &STOP, disk: &RealDisk }, out).map_err(explained)?)
        }
        Command::Export(args) => {
            stop_politely();
            if let Some(receipt) = args.undo {
                return Ok(export_install::undo(&UndoJob { receipt, homes: homes(), disk: &RealDisk }, out).map_err(explained)?);
            }
            if let Some(engine) = args.to.as_deref().and_then(tables::Engine::named) {
                return tables::export(engine, &args, store, jobs, out);
            }
            Ok(export::run(&sessions::export_job(args, store, jobs)?, out).map_err(explained)?)
        }
        Command::Audit { source, output, accept, format, chosen } => {
            stop_politely();
            let selection = selection(&chosen, None)?;
            let dest = match written_to(output, store) {
                Some(dest) => dest,
                None => beside(&source, ".everlog")?,
            };
            let covers =
                if format.is_none() && chosen.include.is_empty() && chosen.exclude.is_empty() { Covers::All } else { Covers::Part };
            let adapters = adapters(format.as_deref())?;
            let findings = if accept { Judgement::Accept(covers) } else { Judgement::Report };
            Ok(audit::run(
                &AuditJob { source, dest, findings, selection, adapters, jobs, now_ns: now_ns(), stop: &STOP, disk: &RealDisk },
                out,
            )?)
        }
        Command::Repair { source, apply, undo, backups, format } => {
            let backups = match backups {
                Some(backups) => real_path(&backups),
                None => beside(&source, ".everlog-repair")?,
            };
            let action = match (apply, undo) {
                (Some(fingerprint), _) => Action::Apply(fingerprint),
                (None, Some(receipt)) => Action::Undo(real_path(&receipt)),
                (None, None) => Action::Plan,
            };
            let adapters = adapters(format.as_deref())?;
            Ok(repair::run(&RepairJob { source, adapters, backups, action, now_ns: now_ns(), disk: &RealDisk }, out)?)
        }
        Command::Prune(mut args) => {
            stop_politely();
            args.output = written_to(args.output.take(), store);
            Ok(crate::commands::prune::run(&prune::job(*args, jobs)?, out)?)
        }
        Command::Store { action: args::StoreAction::Compact { dest } } => {
            Ok(store::run(&CompactJob { store: real_path(&dest), disk: &RealDisk }, out)?)
        }
        Command::Explain { code } => Ok(explain::run(code.as_deref(), out)?),
        Command::Formats => Ok(formats::run(out)),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut help::command(), "everlog", &mut script);
            out.document(&String::from_utf8_lossy(&script));
            Ok(ExitStatus::Well)
        }
        Command::Man { output } => manual(output, out),
    }
}

/// The store of a command that writes to one: `-o`, or the one that `--store` names.
fn written_to(output: Option<PathBuf>, store: Option<&Path>) -> Option<PathBuf> {
    output.or_else(|| store.map(Path::to_path_buf))
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

/// A file that outgrows the limit of its size (`ulimit -f`) is an error like any
/// other, and does not kill us in the middle of a run.
fn survive_file_size_limit() {
    // Once somebody listens to the signal, the write itself fails. Without a
    // listener it still stops us, only less politely.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

fn run_html(args: &args::Html, store: Option<&Path>, jobs: usize, out: &Printer) -> Result<ExitStatus, Problem> {
    let logs = sessions::logs(&args.what, store)?;
    stop_politely();
    let job = HtmlJob { logs, out: real_path(&args.output), redactor: redactor(&args.redact)?, jobs, stop: &STOP, disk: &RealDisk };
    let done = html::run(&job, out).map_err(explained)?;
    if args.open && done.status != ExitStatus::Failed {
        let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        if let Err(error) = std::process::Command::new(opener).arg(&done.first).spawn() {
            out.complain(&format!("warning: the page cannot be opened with {opener}: {error}\nhint: open it in a browser yourself"));
            return Ok(done.status.max(ExitStatus::Found));
        }
    }
    Ok(done.status)
}

/// How wide lines may be: `COLUMNS` says it, else the terminal; where neither
/// does it is 80, and only tables that need more have more.
fn terminal() -> Terminal {
    let stdout = std::io::stdout();
    let asked = said("COLUMNS").and_then(|columns| columns.to_str()?.trim().parse().ok()).filter(|columns| *columns > 0);
    let measured = || rustix::termios::tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    match asked.or_else(measured) {
        Some(columns) => Terminal { columns, edge: Edge::Hard },
        None => Terminal { columns: 80, edge: Edge::Soft },
    }
}

/// What stdout and stderr lead to, and what may be drawn there.
fn streams() -> Streams {
    let is_dumb = said("TERM").is_some_and(|term| term == "dumb");
    let colours = if said("NO_COLOR").is_some() || is_dumb { Colours::None } else { Colours::Shown };
    let kind = |is_terminal| if is_terminal { Stream::Terminal(colours) } else { Stream::Data };
    Streams {
        stdout: kind(std::io::stdout().is_terminal()),
        stderr: kind(std::io::stderr().is_terminal()),
        // A dumb terminal cannot draw a line again.
        bar: if is_dumb { Bar::Hidden } else { Bar::OnTerminal },
    }
}

fn showing(args: &args::Showing) -> Showing {
    let quoting = if args.no_content { Quoting::Nothing } else { Quoting::Windows };
    Showing { quoting, context: args.window }
}

/// Checks the logs, then the tables that were made of them.
fn run_verify(mut args: args::Verify, jobs: usize, out: &Printer) -> Result<ExitStatus, Problem> {
    let (tables, quoting) = (args.tables.take(), args.showing.clone());
    let job = verify_job(args, jobs)?;
    let logs = verify::run(&job, out)?;
    let Some(tables) = tables else { return Ok(logs) };
    let tables = tables::verify(job.logs, tables, &quoting, jobs, out)?;
    Ok(if logs == ExitStatus::Well { tables } else { logs })
}

fn verify_job(args: args::Verify, jobs: usize) -> Result<VerifyJob, Problem> {
    let no_sample = |text: &str| Problem::Usage(format!("{text:?} is not a part of the sessions: say 10% or 0.5%"));
    let here = || std::env::current_dir().unwrap_or_default();
    let now = Timestamp::now();
    let config = if args.dest.is_none() { config::load(args.config.as_deref())? } else { config::Config::default() };
    let dest = args.dest.or(config.verify.store).or(config.migrate.output);
    let dest = dest.ok_or_else(|| Problem::Usage(format!("name a store, here or in {}", config::NAME)))?;
    let source = args.source.or(config.verify.source);
    let level = match args.level.as_str() {
        "seal" => Level::Seal,
        "restore" => Level::Restore,
        _ => Level::Full,
    };
    if level == Level::Seal && source.is_some() {
        let what = "`--level seal` compares nothing with a source: leave out `--source`, or say `--level restore` or `--level full`";
        return Err(Problem::Usage(what.to_owned()));
    }
    Ok(VerifyJob {
        logs: real_path(&dest),
        source,
        golden: args.golden.as_deref().map(real_path),
        selection: selection(&args.chosen, args.since.as_deref())?,
        sample: args.sample.as_deref().map(|text| Sample::parse(text).ok_or_else(|| no_sample(text))).transpose()?,
        shard: args.shard,
        level,
        root: args.root.as_deref().map(root).transpose()?,
        strictness: if args.strict || config.verify.strict { Strictness::Findings } else { Strictness::Differences },
        showing: showing(&args.showing),
        most: args.showing.max_diffs.max(1),
        junit: args.junit.as_deref().map(real_folder_of),
        annotations: if args.github {
            let workspace = said("GITHUB_WORKSPACE").map_or_else(here, PathBuf::from);
            Annotations::GitHub { workspace, summary: said("GITHUB_STEP_SUMMARY").map(|path| real_folder_of(Path::new(&path))) }
        } else {
            Annotations::None
        },
        timestamp: now.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
        jobs,
    })
}

/// A root as it is compared: 64 lower-case hex digits.
fn root(text: &str) -> Result<String, Problem> {
    let digits = text.trim().to_ascii_lowercase();
    let is_root = digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if is_root { Ok(digits) } else { Err(Problem::Usage(format!("{text:?} is not a root: a root has 64 hex digits"))) }
}

fn compare_job(args: args::TwoSides, jobs: usize) -> CompareJob {
    let showing = showing(&args.showing);
    CompareJob { a: real_path(&args.a), b: real_path(&args.b), showing, most: args.showing.max_diffs.max(1), jobs }
}

fn replay_job(args: args::Replay, log: PathBuf, form: Form) -> ReplayJob {
    let shape = match (args.shape, form) {
        (Some(_), _) => Shape::Source,
        (None, Form::Json) => Shape::Flat,
        (None, Form::Text) => Shape::Log,
    };
    ReplayJob {
        log,
        head: args.head.as_deref().map(HeadName::parse),
        leaf: args.leaf,
        at: args.at.map(Seq::new),
        last: args.last,
        branches: Branches::One,
        view: if args.context { View::Context } else { View::Whole },
        shape,
        salvage: if args.salvage { Salvage::Shown } else { Salvage::Hidden },
        redactor: None,
    }
}

/// Manual pages are for every user of a machine.
const READABLE: u32 = 0o644;

fn manual(dir: Option<PathBuf>, out: &Printer) -> Result<ExitStatus, Problem> {
    let Some(dir) = dir else {
        let mut page = Vec::new();
        let made = clap_mangen::Man::new(help::command()).render(&mut page);
        made.map_err(|error| Problem::Usage(format!("the manual cannot be made: {error}")))?;
        out.document(&String::from_utf8_lossy(&page));
        return Ok(ExitStatus::Well);
    };
    let dir = real_path(&dir);
    RealDisk.create_folders(&dir)?;
    for (name, page) in help::pages().map_err(|error| Problem::Usage(format!("the manual cannot be made: {error}")))? {
        // Others may write to the folder: a link or a pipe under the name of a page
        // is replaced, and not written to.
        let temporary = temporary_in(&RealDisk, &dir)?;
        temporary.fill(&page)?;
        temporary.dress(Look { mode: READABLE, owner: None, mtime_ns: None })?;
        temporary.replace(&dir.join(name))?;
    }
    Ok(ExitStatus::Well)
}
