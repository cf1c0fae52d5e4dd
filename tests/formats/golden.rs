//! Every case: replay as the real loader shows it, and for fixtures the very
//! log and findings that were reviewed. `CASE=gptme/torn cargo test --test
//! golden` runs one; `UPDATE_GOLDEN=1` writes ours anew, for review.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::adapters::ALL;
use everlog::report::text;
use everlog::store::layout::Store;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use support::expected::{Json, is_same};
use support::{Case, all_cases, convert_and_prove, everlog, fixtures, sessions, stderr, stdout};

/// Runs a check on all cases and fails once, naming all that failed.
fn for_all(cases: Vec<Case>, check: impl Fn(&Case) -> Result<(), String>) {
    let total = cases.len();
    let failures: Vec<String> = cases.iter().filter_map(|case| check(case).err().map(|why| format!("{}: {why}", case.id()))).collect();
    assert!(failures.is_empty(), "{} of {total} cases fail:\n{}", failures.len(), failures.join("\n"));
    eprintln!("{total} cases hold");
}

#[test]
fn every_format_has_a_fixture() {
    let cases = fixtures();
    for adapter in ALL {
        assert!(cases.iter().any(|case| case.format == adapter.id()), "{} has none", adapter.id());
    }
}

#[test]
fn replay_shows_what_the_real_loader_returned() {
    for_all(all_cases(), |case| {
        let scratch = case.copy();
        let (input, dest) = (scratch.path().join("input"), scratch.path().join("dest"));
        let migrated = everlog(&["migrate", input.to_str().unwrap(), "-o", dest.to_str().unwrap(), "--json"]);
        let mut logs = BTreeMap::new();
        for line in stdout(&migrated).lines() {
            let unit: serde_json::Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
            if unit["status"] == "failed" {
                return Err(format!("{} failed: {}", unit["unit"], unit["error"]));
            }
            if !case.is_damaged() && unit["residual_bytes"].as_u64().unwrap_or(0) > 0 {
                return Err(format!("{} has {} residual bytes", unit["unit"], unit["residual_bytes"]));
            }
            if let (Some(database), Some(session)) = (unit["database"].as_str(), unit["session"].as_str()) {
                logs.insert(format!("{database} {session}"), dest.join(unit["log"].as_str().unwrap()));
            }
            for file in unit["files"].as_array().into_iter().flatten() {
                logs.insert(file.as_str().unwrap().to_owned(), dest.join(unit["log"].as_str().unwrap()));
            }
        }
        for owned in case.expected.list("must_own") {
            logs.get(&owned.as_text()).ok_or_else(|| format!("{} belongs to no session", owned.as_text()))?;
        }
        for session in case.expected.list("sessions") {
            let own = session.get("session").map(|own| format!(" {}", own.as_text())).unwrap_or_default();
            let file = session.text("file") + &own;
            let log = logs.get(&file).ok_or_else(|| format!("{file} has no log"))?;
            replay_is(log, &session).map_err(|why| format!("{file}: {why}"))?;
        }
        Ok(())
    });
}

fn replay_is(log: &Path, session: &Json) -> Result<(), String> {
    let args: Vec<String> = session.list("args").iter().map(Json::as_text).collect();
    let mut words = vec!["replay", log.to_str().unwrap(), "--as", "source"];
    words.extend(args.iter().map(String::as_str));
    let replayed = everlog(&words);
    if session.get("error").is_some() {
        let (error, said) = (session.text("error"), stderr(&replayed));
        return if replayed.status.code() == Some(1) && said.contains(&error) {
            Ok(())
        } else {
            Err(format!("does not fail with {error}: {said}"))
        };
    }
    if session.get("messages").is_none() {
        return Ok(());
    }
    let messages = session.list("messages");
    let lines: Vec<&[u8]> = replayed.stdout.split(|b| *b == b'\n').filter(|line| !line.is_empty()).collect();
    if lines.len() != messages.len() {
        return Err(format!("{} messages, the program has {} {}", lines.len(), messages.len(), stderr(&replayed)));
    }
    match messages.iter().zip(&lines).position(|(want, got)| !is_same(&want.0, got)) {
        Some(n) => {
            Err(format!("message {n} is {} and should be {}", String::from_utf8_lossy(lines[n]), String::from_utf8_lossy(&messages[n].0)))
        }
        None => Ok(()),
    }
}

#[test]
fn fixtures_give_the_logs_and_findings_that_were_reviewed() {
    for_all(fixtures(), |case| {
        let scratch = case.copy();
        let mut ours = BTreeMap::new();
        let mut findings = String::new();
        for (unit, files) in sessions(&scratch.path().join("input")) {
            let (converted, _) = convert_and_prove(unit.found.adapter, &files).map_err(|difference| format!("{difference:?}"))?;
            ours.insert(Store::log_name(&unit.name).to_string(), converted.log);
            for (path, code, message) in &unit.found.left_out {
                findings.push_str(&format!("{:?} {code:?} {}/{path}: {message}\n", code.severity(), unit.reported_folder()));
            }
            for finding in converted.findings.list() {
                findings.push_str(&text::finding(finding, &unit.reported_folder().to_string()));
                findings.push('\n');
            }
        }
        ours.insert("findings.txt".to_owned(), findings.into_bytes());
        let golden = case.folder.join("golden");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            let _ = fs::remove_dir_all(&golden);
            for (name, bytes) in &ours {
                let path = golden.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
            return Ok(());
        }
        let reviewed = support::tree(&golden);
        let names: Vec<&String> = reviewed.keys().collect();
        if names != ours.keys().collect::<Vec<_>>() {
            return Err(format!("golden has {names:?}, we give {:?}", ours.keys()));
        }
        match ours.iter().find(|(name, bytes)| reviewed[*name].0 != **bytes) {
            Some((name, bytes)) => {
                let was = String::from_utf8_lossy(&reviewed[name].0).into_owned();
                let now = String::from_utf8_lossy(bytes).into_owned();
                let line = was.lines().zip(now.lines()).position(|(a, b)| a != b).unwrap_or(0);
                Err(format!("{name}:{}\n  was {:?}\n  now {:?}", line + 1, was.lines().nth(line), now.lines().nth(line)))
            }
            None => Ok(()),
        }
    });
}
