//! A workplace for tests of commands: a source, a destination, a scratch folder.

use super::everlog;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

/// A source with some sessions, and a place for everything else.
pub struct Bench {
    pub scratch: TempDir,
}

impl Bench {
    pub fn new() -> Bench {
        Bench { scratch: TempDir::new().unwrap() }
    }

    /// The sessions that newcomers see first.
    pub fn with_tour() -> Bench {
        let bench = Bench::new();
        super::copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/gptme/tour/input"), &bench.source());
        bench
    }

    pub fn source(&self) -> PathBuf {
        self.scratch.path().join("logs")
    }

    pub fn dest(&self) -> PathBuf {
        self.scratch.path().join("logs.everlog")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Writes a conversation with these lines.
    pub fn conversation(&self, name: &str, lines: &str) -> PathBuf {
        let folder = self.source().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("conversation.jsonl"), lines).unwrap();
        folder
    }

    pub fn migrate(&self, more: &[&str]) -> Output {
        let (source, dest) = (self.source(), self.dest());
        everlog(&[&["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap()], more].concat())
    }

    pub fn log(&self, name: &str) -> PathBuf {
        self.dest().join(format!("{name}.everlog.jsonl"))
    }
}

pub fn line(role: &str, content: &str, second: u32) -> String {
    let (minute, second) = (second / 60, second % 60);
    format!("{{\"role\": \"{role}\", \"content\": \"{content}\", \"timestamp\": \"2026-01-01T00:{minute:02}:{second:02}\"}}\n")
}

pub fn lines(count: u32) -> String {
    (0..count).map(|n| line("user", &format!("message {n}"), n)).collect()
}

pub fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

pub fn words<'a>(words: &'a [&'a str], path: &'a Path) -> Vec<&'a str> {
    words.iter().map(|word| if *word == "@" { path.to_str().unwrap() } else { *word }).collect()
}
