//! `everlog.toml`: what a scheduled job would otherwise say each time.

use serde::{Deserialize, Deserializer};
use std::path::{Path, PathBuf};

use crate::store::disk;
use crate::store::walk::real_path;

use super::choices::Problem;

/// The file's name.
pub(super) const NAME: &str = "everlog.toml";

/// What the file says.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    #[serde(default)]
    pub(super) migrate: MigrateConfig,
    #[serde(default)]
    pub(super) verify: VerifyConfig,
    #[serde(default)]
    pub(super) prune: PruneConfig,
}

/// What it says of `everlog migrate`; it counts where no SOURCE is typed.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct MigrateConfig {
    pub(super) sources: Vec<PathBuf>,
    pub(super) all: bool,
    pub(super) output: Option<PathBuf>,
}

/// What it says of `everlog verify`; it counts where no store is typed.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct VerifyConfig {
    pub(super) store: Option<PathBuf>,
    pub(super) source: Option<PathBuf>,
    pub(super) strict: bool,
}

/// What it says of `everlog prune`; the same words as its options.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PruneConfig {
    pub(super) source: Option<PathBuf>,
    pub(super) output: Option<PathBuf>,
    pub(super) rule: Option<Vec<String>>,
    #[serde(deserialize_with = "quantity")]
    pub(super) older_than: Option<String>,
    pub(super) keep_last: Option<usize>,
    #[serde(deserialize_with = "quantity")]
    pub(super) max_bytes: Option<String>,
    #[serde(deserialize_with = "quantity")]
    pub(super) idle: Option<String>,
    pub(super) trash: Option<PathBuf>,
    pub(super) apply: bool,
}

/// A span or a size: what the option takes, or a number as it is.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a text or a whole number")]
enum Quantity {
    Text(String),
    Number(i64),
}

fn quantity<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Some(match Quantity::deserialize(from)? {
        Quantity::Text(text) => text,
        Quantity::Number(number) => number.to_string(),
    }))
}

impl Config {
    /// Makes paths relative to the folder that the file is in.
    fn below(mut self, folder: &Path) -> Config {
        let Config { migrate, verify, prune } = &mut self;
        let named = [&mut migrate.output, &mut verify.store, &mut verify.source, &mut prune.source, &mut prune.output, &mut prune.trash];
        for path in named.into_iter().flatten().chain(&mut migrate.sources) {
            *path = folder.join(home(path));
        }
        self
    }
}

/// Returns a path that begins with `~/`, below the user's folder.
pub(super) fn home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => path.to_owned(),
    }
}

/// Returns what the bytes of such a file say of `everlog prune`.
///
/// # Errors
/// What is wrong with them, and where.
pub fn settings(bytes: &[u8]) -> Result<PruneConfig, String> {
    Ok(parse(bytes)?.prune)
}

fn parse(bytes: &[u8]) -> Result<Config, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
}

/// Reads the file that was named, or the first that there is: here, then in the
/// user's folder for settings, then in that of the machine.
pub(super) fn load(named: Option<&Path>) -> Result<Config, Problem> {
    let of_user = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| Some(home(Path::new("~/.config"))));
    let usual = [Some(PathBuf::from(NAME)), of_user.map(|folder| folder.join("everlog").join(NAME)), Some(Path::new("/etc").join(NAME))];
    let found = named.map(Path::to_owned).or_else(|| usual.into_iter().flatten().find(|path| path.is_file()));
    let Some(path) = found else { return Ok(Config::default()) };
    let bytes = disk::read(&real_path(&path))?;
    let config = parse(&bytes).map_err(|what| Problem::Usage(format!("{}: {what}", path.display())))?;
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    Ok(config.below(&folder))
}
