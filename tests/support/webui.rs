//! Sessions folders of Hermes WebUI, written by hand or taken from the corpus.

use super::{copy_tree, set_mtime};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use tempfile::TempDir;

/// Where the larger corpus lies, if it does.
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/hermes-webui")
}

/// A copy of a case of the corpus, if that is there.
pub fn corpus_copy(name: &str) -> Option<TempDir> {
    let input = corpus().join(name).join("input");
    let scratch = TempDir::new().unwrap();
    input.is_dir().then(|| {
        copy_tree(&input, &scratch.path().join("input"));
        scratch
    })
}

/// A sessions folder that is written by hand.
pub struct Folder {
    home: PathBuf,
    /// Where it is ours, it goes with us.
    _scratch: Option<TempDir>,
}

impl Folder {
    pub fn new() -> Folder {
        let scratch = TempDir::new().unwrap();
        let folder = Folder::below(scratch.path().to_owned());
        Folder { _scratch: Some(scratch), ..folder }
    }

    /// Below a home of the agent that somebody else takes care of.
    pub fn below(home: PathBuf) -> Folder {
        let folder = Folder { home, _scratch: None };
        fs::create_dir_all(folder.path()).unwrap();
        folder
    }

    /// The home of the agent, where its database lies.
    pub fn home(&self) -> &Path {
        &self.home
    }

    pub fn path(&self) -> PathBuf {
        self.home.join("webui/sessions")
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        set_mtime(&path, 1_700_000_000_000_000_000);
    }

    /// A sidecar with these messages, and more members.
    pub fn sidecar(&self, name: &str, id: &str, messages: &[&str], more: &str) {
        let rows: Vec<String> = messages.iter().enumerate().map(|(n, text)| row(n, text)).collect();
        let text = format!(
            "{{\n  \"session_id\": \"{id}\",\n  \"title\": \"T\",\n  \"workspace\": \"/w\",\n  \"updated_at\": 1700000000.5,{more}\n  \"messages\": [{}],\n  \"tool_calls\": []\n}}",
            rows.join(", ")
        );
        self.write(name, &text);
    }

    /// Something of every kind: a shrunken sidecar, one that waits, a backup
    /// alone, a list that names what is gone.
    pub fn wear(&self) {
        self.sidecar("aaa.json", "aaa", &["hi"], "");
        self.sidecar("aaa.json.bak", "aaa", &["hi", "ho", "what"], "");
        let pending = "\n  \"active_stream_id\": \"run-t\",\n  \"pending_user_message\": \"go\",\n  \"pending_attachments\": [],\n  \"pending_started_at\": 1699999999.5,\n  \"pending_user_source\": \"webui\",";
        self.sidecar("bbb.json", "bbb", &["hi", "ho"], pending);
        self.sidecar("ccc.json.bak", "ccc", &["hi", "ho"], "");
        self.index(&["aaa", "bbb", "gone"]);
    }

    pub fn index(&self, ids: &[&str]) {
        let rows: Vec<String> =
            ids.iter().map(|id| format!("{{\"session_id\": \"{id}\", \"message_count\": 1, \"updated_at\": 1700000000.5}}")).collect();
        self.write("_index.json", &format!("[\n{}\n]", rows.join(",\n")));
    }
}

pub fn row(n: usize, text: &str) -> String {
    let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
    format!("{{\"role\": \"{role}\", \"content\": \"{text}\", \"timestamp\": {}}}", 1_699_999_000 + n)
}

pub fn turn(event: &str, turn: &str, at: u32, more: &str) -> String {
    format!(
        "{{\"event\":\"{event}\",\"stream_id\":\"run-{turn}\",{more}\"created_at\":{at}.5,\"version\":1,\"session_id\":\"aaa\",\"turn_id\":\"{turn}\"}}\n"
    )
}

/// A process that looks like one that writes sessions.
pub fn writer() -> Child {
    let child = Command::new("sleep").arg0("python3").arg("60").spawn().unwrap();
    // For a moment a new process has no words yet.
    let line = format!("/proc/{}/cmdline", child.id());
    while fs::read(&line).is_ok_and(|line| line.is_empty()) {
        std::thread::yield_now();
    }
    child
}
