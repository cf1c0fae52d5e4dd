//! Tables for queries, as people ask for them on the command line.

use std::path::{Path, PathBuf};

use crate::report::exit::ExitStatus;
use crate::report::printer::Printer;
#[cfg(any(feature = "databases", feature = "parquet"))]
use crate::store::disk::RealDisk;
use crate::tables::plan::PartitionBy;

use super::args;
use super::choices::Problem;
#[cfg(any(feature = "databases", feature = "parquet"))]
use super::choices::STOP;
use super::sessions;

/// What tables are written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Parquet,
    Sqlite,
}

impl Engine {
    /// Tells whether an export is one of tables.
    pub(super) fn named(to: &str) -> Option<Engine> {
        match to {
            "parquet" => Some(Engine::Parquet),
            "sqlite" => Some(Engine::Sqlite),
            _ => None,
        }
    }
}

/// Runs `everlog export --to parquet` or `--to sqlite`.
pub(super) fn export(engine: Engine, args: &args::Export, named: Option<&Path>, jobs: usize, out: &Printer) -> Result<ExitStatus, Problem> {
    let is_of_sessions = args.head.is_some()
        || args.leaf.is_some()
        || args.at.is_some()
        || args.cwd.is_some()
        || args.model.is_some()
        || args.title.is_some()
        || args.strict
        || args.bare
        || args.redact.redact;
    let to = args.to.as_deref().unwrap_or_default();
    let (Some(output), false) = (&args.output, is_of_sessions) else {
        let what = format!("tables have everything that a store has: `--to {to}` goes with `--output` and `--partition-by` alone");
        return Err(Problem::Usage(what));
    };
    let [typed] = args.logs.as_slice() else {
        return Err(Problem::Usage(format!("`--to {to}` makes tables of one store: name one")));
    };
    let store = sessions::folder(Some(typed), named)?;
    let by = partition_by(&args.partition_by)?;
    match engine {
        Engine::Parquet => parquet(store, output.clone(), by, jobs, out),
        Engine::Sqlite if !by.is_empty() => {
            Err(Problem::Usage("one file is not split: `--partition-by` goes with `--to parquet`".to_owned()))
        }
        Engine::Sqlite => sqlite(store, output.clone(), out),
    }
}

fn partition_by(words: &[String]) -> Result<Vec<PartitionBy>, Problem> {
    let mut by: Vec<PartitionBy> = Vec::new();
    for word in words {
        let one = PartitionBy::ALL.into_iter().find(|by| by.name() == word);
        match one {
            Some(one) if !by.contains(&one) => by.push(one),
            Some(_) => return Err(Problem::Usage(format!("`--partition-by` names {word} twice"))),
            None => {
                let known: Vec<&str> = PartitionBy::ALL.iter().map(|by| by.name()).collect();
                return Err(Problem::Usage(format!("tables cannot be split by {word:?}: the columns are {}", known.join(", "))));
            }
        }
    }
    Ok(by)
}

#[cfg(feature = "databases")]
fn sqlite(store: PathBuf, file: PathBuf, out: &Printer) -> Result<ExitStatus, Problem> {
    use crate::commands::export_sqlite::{self, SqliteJob};
    Ok(export_sqlite::run(&SqliteJob { store, file, stop: &STOP, disk: &RealDisk }, out)?)
}

#[cfg(not(feature = "databases"))]
fn sqlite(_: PathBuf, _: PathBuf, _: &Printer) -> Result<ExitStatus, Problem> {
    let what = "this everlog was built without databases: build it with the feature `databases`, or use `--to parquet`";
    Err(Problem::Usage(what.to_owned()))
}

#[cfg(feature = "parquet")]
fn parquet(store: PathBuf, dest: PathBuf, by: Vec<PartitionBy>, jobs: usize, out: &Printer) -> Result<ExitStatus, Problem> {
    use crate::commands::export_tables::{self, TablesJob};
    Ok(export_tables::run(&TablesJob { store, dest, by, jobs, stop: &STOP, disk: &RealDisk }, out)?)
}

/// Runs `everlog verify --tables`, after the logs themselves were checked.
#[cfg(feature = "parquet")]
pub(super) fn verify(store: PathBuf, tables: PathBuf, args: &args::Showing, jobs: usize, out: &Printer) -> Result<ExitStatus, Problem> {
    use crate::commands::verify_tables::{self, Quotes, VerifyTablesJob};
    let quotes = if args.no_content { Quotes::Hidden } else { Quotes::Shown };
    Ok(verify_tables::run(&VerifyTablesJob { store, tables, jobs, quotes }, out)?)
}

#[cfg(not(feature = "parquet"))]
const NOT_BUILT: &str = "this everlog was built without Parquet: build it with the feature `parquet`, or use `--to sqlite`";

#[cfg(not(feature = "parquet"))]
fn parquet(_: PathBuf, _: PathBuf, _: Vec<PartitionBy>, _: usize, _: &Printer) -> Result<ExitStatus, Problem> {
    Err(Problem::Usage(NOT_BUILT.to_owned()))
}

/// Runs `everlog verify --tables`.
#[cfg(not(feature = "parquet"))]
pub(super) fn verify(_: PathBuf, _: PathBuf, _: &args::Showing, _: usize, _: &Printer) -> Result<ExitStatus, Problem> {
    Err(Problem::Usage(NOT_BUILT.to_owned()))
}
