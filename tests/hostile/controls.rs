//! Control characters in sessions, logs, names and arguments: on a real
//! terminal every command shows them as escapes, and none arrives as it is.
//! The commands come from the command line's own table, so that a new command
//! fails here until it has its lines.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support::bench::Bench;
use crate::support::forged::sealed;
use crate::support::pty::{self, Shown};
use crate::support::{Case, campaign, copy_tree, everlog, figure, fixtures, tree};

use clap::CommandFactory;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every character that a terminal must not receive.
fn controls() -> Vec<char> {
    let ranges = ['\0'..='\u{1f}', '\u{7f}'..='\u{9f}', '\u{202a}'..='\u{202e}', '\u{2066}'..='\u{2069}', '\u{2028}'..='\u{2029}'];
    ranges.into_iter().flatten().chain(['\u{200e}', '\u{200f}', '\u{61c}', '\u{feff}']).collect()
}

/// Sequences that begin with a control and go on with harmless characters.
const SEQUENCES: &[&str] =
    &["\u{1b}[5mCSI", "\u{1b}]0;OSC\u{7}", "\u{1b}]8;;x\u{1b}\\", "\u{9b}5m", "\u{9d}0;t\u{9c}", "\u{1b}c", "\u{1b}P+q\u{1b}\\"];

fn all_controls() -> String {
    controls().into_iter().map(String::from).chain(SEQUENCES.iter().map(|sequence| (*sequence).to_owned())).collect()
}

/// Where the payload goes in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Into {
    /// Into texts that people read: the session stays what it is.
    Texts,
    /// Into every value that is a string.
    Values,
    /// Into keys and values.
    Everything,
    /// Into every value, unescaped and with bytes that are not UTF-8.
    Raw,
}

const TEXTS: &[&str] =
    &["content", "text", "title", "name", "summary", "error", "thinking", "label", "toolName", "model", "message", "display_name"];

/// Puts the payload before the end of the strings in JSON text.
fn poisoned(json: &[u8], payload: &str, into: Into) -> Vec<u8> {
    let escaped: String = payload.chars().map(|c| if c < ' ' { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() }).collect();
    let payload = if into == Into::Raw { [payload.as_bytes(), b"\xff\xc3\x9b"].concat() } else { escaped.into_bytes() };
    let (mut out, mut at, mut key) = (Vec::new(), 0, Vec::new());
    while at < json.len() {
        if json[at] != b'"' {
            out.push(json[at]);
            at += 1;
            continue;
        }
        let mut end = at + 1;
        while end < json.len() && json[end] != b'"' && json[end] != b'\n' {
            end += if json[end] == b'\\' { 2 } else { 1 };
        }
        let end = end.min(json.len());
        let string = &json[at + 1..end];
        let is_key = json[end..].iter().skip(1).find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
        out.push(b'"');
        out.extend_from_slice(string);
        let is_meant = match into {
            Into::Texts => !is_key && TEXTS.iter().any(|text| text.as_bytes() == key),
            Into::Values | Into::Raw => !is_key,
            Into::Everything => true,
        };
        if is_meant {
            out.extend_from_slice(&payload);
        }
        if is_key {
            key = string.to_vec();
        }
        // The closing quote is copied here, or it would open the next string.
        if let Some(quote) = json.get(end) {
            out.push(*quote);
        }
        at = end + 1;
    }
    out
}

fn files(folder: &Path) -> Vec<PathBuf> {
    tree(folder).into_keys().map(|name| folder.join(name)).filter(|path| path.is_file()).collect()
}

/// A file's or folder's name with the payload in it, before its suffix.
fn poisoned_name(name: &OsStr, payload: &str) -> OsString {
    let bytes = name.as_bytes();
    let dot = bytes.iter().position(|byte| *byte == b'.').unwrap_or(bytes.len());
    let payload: String = payload.chars().filter(|c| *c != '\0' && *c != '/').take(60).collect();
    OsString::from_vec([&bytes[..dot], payload.as_bytes(), b"\xff", &bytes[dot..]].concat())
}

/// A source full of one payload, its logs, and forged logs.
struct World {
    bench: Bench,
    payload: String,
}

impl World {
    fn of(case: &Case, payload: &str, into: Into) -> World {
        let bench = Bench::new();
        copy_tree(&case.folder.join("input"), &bench.source());
        for path in files(&bench.source()) {
            let is_json = path.extension().is_some_and(|end| end == "json" || end == "jsonl");
            if is_json {
                fs::write(&path, poisoned(&fs::read(&path).unwrap(), payload, into)).unwrap();
            }
        }
        // One more of everything, under names with the payload in them.
        for entry in fs::read_dir(bench.source()).unwrap().flatten().map(|entry| entry.path()).collect::<Vec<_>>() {
            let twin = entry.with_file_name(poisoned_name(entry.file_name().unwrap(), payload));
            if entry.is_dir() {
                copy_tree(&entry, &twin);
            } else {
                fs::copy(&entry, &twin).unwrap();
            }
        }
        fs::write(bench.source().join(poisoned_name(OsStr::new("stranger.txt"), payload)), payload).unwrap();
        bench.migrate(&["--allow-live"]);
        let world = World { bench, payload: payload.to_owned() };
        world.forge(into);
        world
    }

    /// Logs with the payload in every string, sealed anew.
    fn forge(&self, into: Into) {
        fs::create_dir_all(self.forged()).unwrap();
        for (n, log) in self.logs().iter().enumerate() {
            let text = String::from_utf8_lossy(&fs::read(log).unwrap()).into_owned();
            let mut body: Vec<String> = text.lines().map(str::to_owned).collect();
            body.pop();
            for (k, line) in body.iter_mut().enumerate() {
                // The envelope stays; a forger changes what is inside. Every
                // other log keeps its first line, so that its format is known.
                let Some(payload) = line.find("\"payload\":") else { continue };
                if k > 0 || n % 2 == 0 {
                    let inside =
                        poisoned(&line.as_bytes()[payload..], &self.payload, if into == Into::Texts { Into::Texts } else { Into::Values });
                    line.replace_range(payload.., &String::from_utf8_lossy(&inside));
                }
                if k == 0 {
                    let hostile = poisoned(b"\"x\"", &self.payload, Into::Values);
                    let error = format!(",\"outcome\":{{\"error\":{}}}}}", String::from_utf8_lossy(&hostile));
                    if !line.contains("\"outcome\"") && line.ends_with("}}") {
                        line.replace_range(line.len() - 2.., &format!("{error}}}"));
                    }
                }
            }
            fs::write(self.forged().join(log.file_name().unwrap()), sealed(&body)).unwrap();
        }
    }

    fn forged(&self) -> PathBuf {
        self.bench.path("forged")
    }

    /// Some logs of the store.
    fn logs(&self) -> Vec<PathBuf> {
        let all = if self.bench.dest().exists() { files(&self.bench.dest()) } else { Vec::new() };
        all.into_iter().filter(|path| path.to_string_lossy().ends_with(".everlog.jsonl")).take(4).collect()
    }

    /// What is typed to see everything that a command can print.
    fn lines_of(&self, command: &str) -> Vec<Vec<OsString>> {
        let (source, dest, forged) = (self.bench.source(), self.bench.dest(), self.forged());
        let typed: OsString = self.payload.replace('\0', "").into();
        let both = || self.logs().into_iter().chain(if forged.exists() { files(&forged) } else { Vec::new() });
        let line = |words: &[&dyn AsRef<OsStr>]| words.iter().map(|word| word.as_ref().to_owned()).collect::<Vec<OsString>>();
        let each = |more: &[&[&dyn AsRef<OsStr>]]| -> Vec<Vec<OsString>> {
            both().flat_map(|log| more.iter().map(|more| [line(&[&command, &log]), line(more)].concat()).collect::<Vec<_>>()).collect()
        };
        let pristine = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/gptme/tour/input");
        match command {
            "detect" => vec![line(&[&"detect", &source]), line(&[&"detect", &source, &"--format", &typed])],
            "migrate" => vec![
                line(&[&"migrate", &source, &"-o", &self.bench.path("again"), &"--allow-live"]),
                line(&[&"migrate", &source, &"-o", &dest, &"--dry-run", &"--allow-live", &"--rehash"]),
                line(&[&"migrate", &source, &"-o", &dest, &"--since", &typed]),
                line(&[&"migrate", &source.join(&typed)]),
            ],
            "verify" => vec![
                line(&[&"verify", &dest]),
                line(&[&"verify", &dest, &"--source", &source, &"--strict"]),
                line(&[&"verify", &dest, &"--source", &pristine, &"--github"]),
                line(&[&"verify", &forged]),
                line(&[&"verify", &forged, &"--source", &source]),
                line(&[&"verify", &dest, &"--golden", &self.bench.path("golden")]),
                line(&[&"verify", &dest, &"--sample", &typed]),
            ],
            "replay" => {
                let mut lines = each(&[
                    &[],
                    &[&"--as", &"source"],
                    &[&"--last", &"3"],
                    &[&"--context"],
                    &[&"--salvage"],
                    &[&"--head", &typed],
                    &[&"--leaf", &typed],
                ]);
                lines.push(line(&[&"replay", &dest, &"--all", &"--out", &self.bench.path("golden")]));
                lines.push(line(&[&"replay", &forged, &"--all", &"--out", &self.bench.path("golden-forged")]));
                lines.push(line(&[&"replay", &typed, &typed, &typed]));
                lines.push(line(&[&"replay", &typed, &"--store", &dest]));
                lines.push(line(&[&"replay", &"a", &"--store", &dest]));
                lines.push(line(&[&"replay", &"@last", &"--store", &dest]));
                lines
            }
            "ls" => vec![
                line(&[&"ls", &dest]),
                line(&[&"ls", &forged]),
                line(&[&"ls", &source]),
                line(&[&"ls", &dest, &"--sort", &"title", &"--damaged"]),
                line(&[&"ls", &dest, &"--since", &typed]),
                line(&[&"ls", &dest, &"--format", &typed]),
                line(&[&"ls", &dest.join(&typed)]),
            ],
            "show" => {
                let mut lines = each(&[
                    &[],
                    &[&"--tools", &"full", &"--all-branches"],
                    &[&"--as", &"markdown", &"--tools", &"full"],
                    &[&"--as", &"messages"],
                    &[&"--thinking", &"hidden", &"--tools", &"none"],
                    &[&"--zone", &typed],
                ]);
                lines.push(line(&[&"show", &typed, &"--store", &dest]));
                lines.push(line(&[&"show", &"@last", &"--store", &dest, &"--head", &typed]));
                lines
            }
            "search" => vec![
                line(&[&"search", &"e", &dest]),
                line(&[&"search", &"--regex", &".", &dest, &"--branch", &"all", &"-C", &"1"]),
                line(&[&"search", &"--regex", &".", &forged]),
                line(&[&"search", &"--regex", &".", &forged, &"-l"]),
                line(&[&"search", &typed, &dest, &"-c"]),
                line(&[&"search", &"e", &dest, &"--format", &typed]),
                line(&[&"search", &"--regex", &typed, &dest.join(&typed)]),
            ],
            "stats" => vec![
                line(&[&"stats", &dest]),
                line(&[&"stats", &forged]),
                line(&[&"stats", &dest.join(&typed)]),
                line(&[&"stats", &dest, &"--format", &typed]),
            ],
            "tree" => each(&[&[], &[&"--all"]]),
            "fork" => each(&[&[&"--at", &typed], &[&"--at", &"main", &"--name", &typed], &[&"--at", &"main"]]),
            "turns" => each(&[&[]]),
            "diff" | "contains" => vec![
                line(&[&command, &source, &dest]),
                line(&[&command, &dest, &forged]),
                line(&[&command, &forged, &dest]),
                line(&[&command, &pristine, &forged]),
                line(&[&command, &dest, &pristine]),
            ],
            "restore" => vec![
                line(&[&"restore", &dest, &"-o", &self.bench.path("restored")]),
                line(&[&"restore", &forged, &"-o", &self.bench.path("restored-forged")]),
                line(&[&"restore", &dest.join(&typed), &"-o", &self.bench.path("nowhere")]),
            ],
            "audit" => vec![line(&[&"audit", &source]), line(&[&"audit", &source, &"--include", &typed])],
            "repair" => vec![
                line(&[&"repair", &source]),
                line(&[&"repair", &source, &"--apply", &typed]),
                line(&[&"repair", &source, &"--undo", &typed]),
            ],
            "prune" => vec![
                line(&[&"prune", &source, &"-o", &dest, &"--older-than", &"0", &"--idle", &"0s"]),
                line(&[&"prune", &source, &"-o", &dest, &"--rule", &typed]),
                line(&[&"prune", &source, &"-o", &dest, &"--explain", &typed]),
            ],
            "explain" => vec![line(&[&"explain"]), line(&[&"explain", &"torn_tail"]), line(&[&"explain", &typed])],
            "html" => vec![
                line(&[&"html", &dest, &"-o", &self.bench.path("pages")]),
                line(&[&"html", &dest, &"-o", &self.bench.path("redacted"), &"--redact", &"--redact-pattern", &"."]),
                line(&[&"html", &forged, &"-o", &self.bench.path("forged-pages")]),
                line(&[&"html", &dest, &"-o", &self.bench.path("x"), &"--redact", &"--redact-pattern", &typed]),
                line(&[&"html", &dest.join(&typed), &"-o", &self.bench.path("nowhere-pages")]),
            ],
            "export" => vec![
                line(&[&"export", &dest, &"--to", &"pi", &"-o", &self.bench.path("exported")]),
                line(&[&"export", &forged, &"--to", &"pi", &"-o", &self.bench.path("exported-forged")]),
                line(&[&"export", &dest, &"--to", &"pi", &"-o", &self.bench.path("strict"), &"--strict", &"--head", &typed]),
                line(&[
                    &"export",
                    &dest,
                    &"--to",
                    &"markdown",
                    &"-o",
                    &self.bench.path("documents"),
                    &"--redact",
                    &"--redact-pattern",
                    &".",
                ]),
                line(&[&"export", &dest, &"--to", &"pi", &"-o", &self.bench.path("nowhere").join(&typed)]),
                line(&[&"export", &"--undo", &typed]),
                line(&[&"export", &dest, &"--to", &typed, &"-o", &self.bench.path("nowhere-export")]),
            ],
            "formats" => vec![line(&[&"formats"]), line(&[&"formats", &typed])],
            "store" => vec![line(&[&"store", &"compact", &dest]), line(&[&"store", &"compact", &typed])],
            "completions" => ["bash", "zsh", "fish", "elvish", "powershell"].iter().map(|shell| line(&[&"completions", shell])).collect(),
            "man" => vec![line(&[&"man"])],
            other => panic!("`{other}` is a new command: say here what shows everything that it can print"),
        }
    }
}

/// Our own colours, and nothing else that begins with an escape.
fn without_colours(text: &str) -> String {
    ["2", "33", "36", "35", "1;32", "31", "32", "0", "1", "3", "4", "9", "1;31", "1;33", "1;34"]
        .iter()
        .fold(text.to_owned(), |text, code| text.replace(&format!("\u{1b}[{code}m"), ""))
}

/// What arrived at the terminal and should not have.
fn arrived_raw(shown: &Shown) -> Option<String> {
    let Ok(text) = std::str::from_utf8(&shown.bytes) else { return Some("bytes that are not UTF-8".to_owned()) };
    let text = without_colours(text);
    let at = text.char_indices().find(|(_, c)| *c != '\n' && controls().contains(c))?.0;
    Some(format!("{:?}", text[at..].chars().take(30).collect::<String>()))
}

fn commands() -> Vec<String> {
    everlog::cli::Args::command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

/// Runs every command over a world, in both forms; returns how many runs there
/// were, and what arrived raw.
fn run_all(world: &World, wrong: &mut Vec<String>) -> usize {
    let mut runs = 0;
    for command in commands() {
        for line in world.lines_of(&command) {
            for json in [&[][..], &[OsString::from("--json")][..]] {
                let words = [line.as_slice(), json].concat();
                let shown = pty::run(&words, "dumb");
                runs += 1;
                assert!(!shown.bytes.is_empty() || shown.code == Some(0), "{words:?} fails and says nothing");
                wrong.extend(arrived_raw(&shown).map(|what| format!("{words:?}\n    printed {what}")));
            }
        }
    }
    runs
}

fn cases() -> Vec<Case> {
    let wanted = [
        "gptme/tour",
        "gptme/torn",
        "hermes-webui/broken_sidecars",
        "hermes-webui/tour",
        "openclaw/tour",
        "openclaw/damaged",
        "pi/tour",
        "pi/torn",
        "picoclaw/tools",
        "picoclaw/torn",
    ];
    let found: Vec<Case> = fixtures().into_iter().filter(|case| wanted.contains(&case.id().as_str())).collect();
    assert_eq!(found.len(), wanted.len());
    found
}

#[test]
fn no_control_reaches_a_terminal() {
    let (mut wrong, mut runs) = (Vec::new(), 0);
    for (n, case) in cases().iter().enumerate() {
        for (k, into) in [Into::Texts, Into::Values, Into::Everything, Into::Raw].into_iter().enumerate() {
            if campaign::is_full() || (n + 3 * k).is_multiple_of(8) {
                runs += run_all(&World::of(case, &all_controls(), into), &mut wrong);
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {runs} runs:\n{}", wrong.len(), wrong.join("\n"));
    figure("control sequences", runs);
}

/// Each control alone, so that one which is escaped only beside another is seen.
#[test]
fn each_control_alone_is_escaped_by_every_command() {
    let (mut wrong, mut runs, mut tried) = (Vec::new(), 0, 0);
    let alone = controls().into_iter().map(String::from).chain(SEQUENCES.iter().map(|sequence| (*sequence).to_owned()));
    let cases = cases();
    for (n, payload) in alone.enumerate() {
        let into = [Into::Texts, Into::Values][n % 2];
        if campaign::is_full() || n.is_multiple_of(30) {
            tried += 1;
            runs += run_all(&World::of(&cases[n % cases.len()], &payload, into), &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{} of {runs} runs:\n{}", wrong.len(), wrong.join("\n"));
    figure("control sequences", runs);
    assert!(tried >= 3, "the test looks at nothing");
}

#[test]
fn colours_are_ours_alone() {
    let case = cases().into_iter().find(|case| case.id() == "pi/tour").unwrap();
    let world = World::of(&case, "\u{1b}[5m\u{9b}31m\u{1b}[7m", Into::Texts);
    let mut coloured = 0;
    for line in ["tree", "diff", "show", "search", "stats"].iter().flat_map(|command| world.lines_of(command)) {
        let shown = pty::run_with(&line, &[("TERM", "xterm"), ("PAGER", "")]);
        coloured += usize::from(shown.bytes.contains(&0x1b));
        assert_eq!(arrived_raw(&shown), None, "{line:?}");
    }
    assert!(coloured > 0, "no line was coloured");
}

#[test]
fn data_in_a_pipe_stays_byte_exact() {
    let bench = Bench::new();
    let content = "C1 \u{9b}31m bidi \u{202e} line \u{2028}";
    bench.conversation("chat", &format!("{{\"role\": \"user\", \"content\": \"{content}\", \"timestamp\": \"2026-01-01T00:00:00\"}}\n"));
    bench.migrate(&[]);
    let log = bench.log("chat");
    let words = ["replay", log.to_str().unwrap()];
    let piped = everlog(&words);
    let kept = fs::read_to_string(&log).unwrap();
    let piped_text = String::from_utf8(piped.stdout.clone()).unwrap();
    assert!(piped_text.contains('\u{202e}') && kept.contains(&piped_text), "{piped_text}");
    // A terminal receives the same JSON value in other characters.
    let shown = pty::run(&words.map(OsString::from), "dumb");
    assert_ne!(shown.bytes, piped.stdout);
    let value = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
    assert_eq!(value(&shown.bytes), value(&piped.stdout));
    // A report for people is escaped in a pipe, too: pagers pass colours on.
    let report = Command::new(env!("CARGO_BIN_EXE_everlog")).args(["replay", "no\u{9b}31m\u{202e}log"]).output().unwrap();
    assert!(!String::from_utf8(report.stderr).unwrap().contains(['\u{9b}', '\u{202e}']));
}
