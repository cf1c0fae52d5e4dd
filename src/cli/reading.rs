//! What people who read sessions ask for: which zone, which form, a pager or
//! none.

use jiff::tz::TimeZone;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::commands::clock::Clock;

use crate::commands::replay::Branches;
use crate::commands::search::{Branch, Case, Filter, Pattern, Role, SearchJob, SearchTerms, Shown};
use crate::commands::show::{ShowJob, ShownAs, Thinking, Tools};
use crate::commands::stats::{StatsJob, TableForm};
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::report::pager::{self, LessOptions, Pager};
use crate::report::printer::{Form, Printer, Stream, Streams, Talk};
use crate::report::terminal::Terminal;

use super::args::{self, Args, Command};
use super::choices::{Problem, adapters, redactor, said};
use super::sessions;

/// Settles what `everlog show` shows.
pub(super) fn show_job(args: args::Show, store: Option<&Path>, form: Form, terminal: Terminal) -> Result<ShowJob, Problem> {
    let log: PathBuf = sessions::log(&args.log, store)?;
    Ok(ShowJob {
        log,
        head: args.head.as_deref().map(HeadName::parse),
        leaf: args.leaf,
        at: args.at.map(Seq::new),
        last: args.last,
        branches: if args.all_branches { Branches::All } else { Branches::One },
        tools: match args.tools.as_str() {
            "full" => Tools::Full,
            "none" => Tools::None,
            _ => Tools::Short,
        },
        thinking: if args.thinking == "hidden" { Thinking::Hidden } else { Thinking::Dimmed },
        clock: clock(&args.zone)?,
        form: match (args.form.as_deref(), form) {
            (Some("messages"), _) | (None, Form::Json) => ShownAs::Messages,
            (Some(_), Form::Json) => return Err(Problem::Usage("`--json` prints messages, and `--as markdown` does not".to_owned())),
            (Some(_), Form::Text) => ShownAs::Markdown,
            (None, Form::Text) => ShownAs::Text,
        },
        redactor: redactor(&args.redact)?,
        terminal,
    })
}

/// Settles what `everlog search` searches for.
pub(super) fn search_job(args: args::Search, store: Option<&Path>, terminal: Terminal) -> Result<SearchJob, Problem> {
    let (wanted, folder) = match (args.regex, args.words, args.folder) {
        (None, words, folder) => (SearchTerms::Words(words.unwrap_or_default()), folder),
        // With an expression there are no words: the first word is the store.
        (Some(regex), folder, None) => (SearchTerms::Regex(regex), folder.map(PathBuf::from)),
        (Some(_), _, Some(_)) => return Err(Problem::Usage("say words or `--regex`, not both".to_owned())),
    };
    if matches!(&wanted, SearchTerms::Words(words) if words.trim().is_empty()) {
        return Err(Problem::Usage("there are no words to search for".to_owned()));
    }
    let case = match (args.ignore_case, args.case_sensitive) {
        (true, _) => Case::Ignored,
        (false, true) => Case::Exact,
        (false, false) => Case::Smart,
    };
    if let Some(format) = &args.format {
        adapters(Some(format))?;
    }
    Ok(SearchJob {
        store: sessions::folder(folder.as_deref(), store)?,
        pattern: Pattern::of(&wanted, case).map_err(Problem::Usage)?,
        filter: Filter {
            role: args.role.as_deref().and_then(role),
            tool: args.tool,
            since: sessions::since_in_utc(args.since.as_deref())?,
            branch: match args.branch.as_deref() {
                None => Branch::Active,
                Some("all") => Branch::All,
                Some(name) => Branch::Named(name.to_owned()),
            },
            context: args.context,
        },
        format: args.format,
        shown: match (args.sessions, args.count) {
            (true, _) => Shown::Sessions,
            (false, true) => Shown::Counts,
            (false, false) => Shown::Lines,
        },
        clock: clock(&args.zone)?,
        terminal,
    })
}

/// Settles what `everlog stats` counts.
pub(super) fn stats_job(args: args::Stats, store: Option<&Path>, terminal: Terminal) -> Result<StatsJob, Problem> {
    if let Some(format) = &args.format {
        adapters(Some(format))?;
    }
    Ok(StatsJob {
        store: sessions::folder(args.folder.as_deref(), store)?,
        format: args.format,
        table: if args.csv { TableForm::Csv } else { TableForm::Text },
        terminal,
    })
}

/// Reads the name of a role.
fn role(name: &str) -> Option<Role> {
    [Role::System, Role::User, Role::Assistant, Role::Tool].into_iter().find(|role| role.name() == name)
}

/// Reads the name of a zone.
fn clock(name: &str) -> Result<Clock, Problem> {
    let wrong = || Problem::Usage(format!("{name:?} is not a time zone: say local, source, UTC, +02:00, or a name such as Europe/Berlin"));
    match name.to_ascii_lowercase().as_str() {
        "local" => Ok(Clock::In(TimeZone::system())),
        "source" => Ok(Clock::Source),
        "utc" | "z" => Ok(Clock::In(TimeZone::UTC)),
        _ if name.starts_with(['+', '-']) => {
            // A time with this offset tells what the offset is.
            let moment = jiff::fmt::temporal::DateTimeParser::new().parse_zoned(format!("2026-01-01T00:00{name}[{name}]"));
            moment.map(|moment| Clock::In(moment.time_zone().clone())).map_err(|_| wrong())
        }
        _ => TimeZone::get(name).map(Clock::In).map_err(|_| wrong()),
    }
}

/// Returns a printer, and the pager that it prints to where there is one: for a
/// conversation that a person reads on a terminal.
pub(super) fn printer(args: &Args, form: Form, talk: Talk, streams: Streams) -> (Printer, Option<Pager>) {
    let usual = || Printer::new(form, talk, streams);
    let is_read = matches!(&args.command, Command::Show(show) if !show.no_pager && show.form.is_none()) && form == Form::Text;
    let is_terminal = streams.stdout != Stream::Data && said("TERM").is_none_or(|term| term != "dumb");
    let Some(command) = pager_named().filter(|_| is_read && is_terminal) else { return (usual(), None) };
    let less = if std::env::var_os("LESS").is_some() { LessOptions::Set } else { LessOptions::Unset };
    match Pager::start(&command, less) {
        Ok((pager, input)) => {
            // Ctrl-C is for the pager: it ends a search there, and not us.
            let _ = ctrlc::set_handler(|| {});
            (Printer::to(Box::new(std::io::BufWriter::new(input)), form, talk).on(streams), Some(pager))
        }
        // Without a pager the text is printed, which is what was asked for.
        Err(_) => (usual(), None),
    }
}

/// Returns the pager that `PAGER` names; nothing where it is empty, which asks for none.
fn pager_named() -> Option<String> {
    let named = std::env::var_os("PAGER").map(OsString::into_string);
    match named {
        None => Some(pager::USUAL.to_owned()),
        Some(Ok(named)) => Some(named).filter(|named| !named.trim().is_empty()),
        Some(Err(_)) => None,
    }
}
