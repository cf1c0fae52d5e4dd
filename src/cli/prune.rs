//! `everlog prune`: options and settings to a job.

use std::path::Path;

use crate::commands::prune::{Action, Copies, PruneJob};
use crate::model::retention::{Policy, Rule, USUAL_AGE_NS};
use crate::store::disk::RealDisk;

use super::args::Prune;
use super::choices::{Problem, STOP, adapters, beside, now_ns, selection};
use super::config::{self, PruneConfig};
use super::quantities::{moment_ns, size, span_ns};

/// How long a file must have been left alone where nobody says anything.
const USUAL_IDLE: &str = "1h";

/// Settles what was typed with what `everlog.toml` says; what was typed counts.
pub(super) fn job(args: Prune, jobs: usize) -> Result<PruneJob<'static>, Problem> {
    let config = config::load(args.config.as_deref())?.prune;
    let source = args.source.clone().or_else(|| config.source.clone());
    let source = source.ok_or_else(|| Problem::Usage(format!("name a SOURCE, here or in {}", config::NAME)))?;
    let config = config_for(config, &source);
    let dest = match args.output.clone().or_else(|| config.output.clone()) {
        Some(dest) => dest,
        None => beside(&source, ".everlog")?,
    };
    Ok(PruneJob {
        selection: selection(&args.chosen, None)?,
        adapters: adapters(args.format.as_deref())?,
        rules: rules(&args, &config)?,
        policy: policy(&args, &config)?,
        idle_ns: span(args.idle.as_deref().or(config.idle.as_deref()).unwrap_or(USUAL_IDLE))?,
        copies: if args.without_log { Copies::GivenUp } else { Copies::InLogs },
        trash: args.trash.clone().or_else(|| config.trash.clone()).map(std::path::absolute).transpose().map_err(unusable)?,
        now_ns: match &args.now {
            Some(text) => moment_ns(text).ok_or_else(|| Problem::Usage(format!("{text:?} is not a valid time (2026-11-01T12:00:00Z)")))?,
            None => now_ns(),
        },
        action: action(args, &config),
        source,
        dest,
        jobs,
        stop: &STOP,
        disk: &RealDisk,
    })
}

/// Returns what of the settings counts for a source. Those of another one do not; those
/// of none in particular say neither where its logs are nor that it is done.
fn config_for(config: PruneConfig, source: &Path) -> PruneConfig {
    let real = |path: &Path| std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)).ok();
    match &config.source {
        None => PruneConfig { output: None, apply: false, ..config },
        Some(meant) if meant == source || real(meant).is_some_and(|meant| Some(meant) == real(source)) => config,
        Some(_) => PruneConfig::default(),
    }
}

fn unusable(error: std::io::Error) -> Problem {
    Problem::Usage(format!("the trash cannot be found: {error}"))
}

/// Returns what was typed counts: settings that say `apply` do not undo a `--check`.
fn action(args: Prune, config: &PruneConfig) -> Action {
    if let Some(file) = args.explain {
        return Action::Explain(file);
    }
    if let Some(name) = args.undo {
        return Action::Undo(name);
    }
    match (args.check, args.plan, args.apply || config.apply) {
        (true, _, _) => Action::Check,
        (false, false, true) => Action::Apply,
        (false, _, _) => Action::Plan,
    }
}

fn rules(args: &Prune, config: &PruneConfig) -> Result<Vec<Rule>, Problem> {
    let words = if args.rule.is_empty() { config.rule.clone().unwrap_or_default() } else { args.rule.clone() };
    let known = Rule::ALL.map(Rule::word).join(", ");
    let rule = |word: &String| Rule::named(word).ok_or_else(|| Problem::Usage(format!("{word:?} is not a rule; the rules are {known}")));
    let rules = words.iter().map(rule).collect::<Result<Vec<Rule>, Problem>>()?;
    Ok(if rules.is_empty() { Rule::ALL.to_vec() } else { rules })
}

fn policy(args: &Prune, config: &PruneConfig) -> Result<Policy, Problem> {
    let age = args.older_than.as_deref().or(config.older_than.as_deref());
    let keep_last = args.keep_last.or(config.keep_last);
    let most = args.max_bytes.as_deref().or(config.max_bytes.as_deref());
    let age = age.map(span).transpose()?.unwrap_or(USUAL_AGE_NS);
    let wrong = |text: &str| Problem::Usage(format!("{text:?} is not a valid size (2GiB, 500MB)"));
    // Less than a byte would be taken for no limit.
    let is_nothing = |text: &str| text.bytes().all(|b| !matches!(b, b'1'..=b'9'));
    let meant = |text: &str| size(text).filter(|bytes| *bytes > 0 || is_nothing(text));
    let most = most.map(|text| meant(text).ok_or_else(|| wrong(text))).transpose()?;
    // 0 disables that one, and nothing else.
    Ok(Policy {
        older_than_ns: Some(age).filter(|ns| *ns > 0),
        keep_last: keep_last.unwrap_or(0),
        max_bytes: most.filter(|bytes| *bytes > 0),
    })
}

fn span(text: &str) -> Result<i64, Problem> {
    span_ns(text).ok_or_else(|| Problem::Usage(format!("{text:?} is not a valid span (30d, 12h, 0)")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn nothing_said_is_thirty_days_and_zero_is_nothing() {
        let policy_of = |args: Prune, config: &str| {
            let config: PruneConfig = toml::from_str(config).unwrap();
            policy(&args, &config).map_err(|_| ()).unwrap()
        };
        let day = 86_400_000_000_000;
        assert_eq!(policy_of(Prune::default(), ""), Policy { older_than_ns: Some(30 * day), keep_last: 0, max_bytes: None });
        let typed = |age: &str| Prune { older_than: Some(age.to_owned()), ..Prune::default() };
        assert_eq!(policy_of(typed("0"), ""), Policy::default());
        let config = "older-than = \"7d\"\nkeep-last = 3\nmax-bytes = \"1MiB\"";
        assert_eq!(policy_of(typed("1d"), config), Policy { older_than_ns: Some(day), keep_last: 3, max_bytes: Some(1 << 20) });
        // None of the others takes the place of the age, least of all a 0.
        for (config, keep_last, max_bytes) in [
            ("keep-last = 3", 3, None),
            ("keep-last = 0", 0, None),
            ("max-bytes = 0", 0, None),
            ("max-bytes = \"0\"", 0, None),
            ("max-bytes = 5", 0, Some(5)),
            ("keep-last = 1\nmax-bytes = \"2GiB\"", 1, Some(2 << 30)),
        ] {
            assert_eq!(policy_of(Prune::default(), config), Policy { older_than_ns: Some(30 * day), keep_last, max_bytes }, "{config}");
        }
        assert_eq!(policy_of(Prune::default(), "older-than = 0\nkeep-last = 3"), Policy { keep_last: 3, ..Policy::default() });
        assert!(toml::from_str::<PruneConfig>("max-bytes = true").unwrap_err().to_string().contains("a text or a whole number"));
        assert!(toml::from_str::<PruneConfig>("older_than = 3").is_err());
        let paths = PathBuf::from("x");
        assert_eq!(
            action(Prune { explain: Some(paths.clone()), apply: true, ..Prune::default() }, &PruneConfig::default()),
            Action::Explain(paths)
        );
    }
}
