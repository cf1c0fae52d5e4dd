//! `everlog html`: pages that show everything, run nothing and give back the
//! original files; what a real browser makes of them; and what is taken out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use support::bench::code;
use support::browser::{browser, dom};
use support::{everlog, stderr, stdout, tree};

/// A folder for one test.
struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    fn new() -> Site {
        Site { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Converts these records of a session with a tool call in it.
    fn migrate(&self, messages: &[Value]) {
        let mut lines = vec![
            json!({"type": "session", "version": 3, "id": "0197c0de-0001-7a1e-8b0b-5e5510900001", "timestamp": "2026-03-02T09:14:00.711Z", "cwd": "/home/ada/loom"}),
        ];
        for (n, message) in messages.iter().enumerate() {
            let parent =
                message.get("parentId").cloned().unwrap_or_else(|| if n == 0 { Value::Null } else { json!(format!("a{}", n - 1)) });
            let mut message = message.clone();
            message.as_object_mut().unwrap().remove("parentId");
            lines.push(json!({"type": "message", "id": format!("a{n}"), "parentId": parent, "timestamp": format!("2026-03-02T09:15:{n:02}.000Z"), "message": message}));
        }
        let file = self.path("source/sessions/--home-ada-loom--/2026-03-02T09-14-00-711Z_0197c0de-0001-7a1e-8b0b-5e5510900001.jsonl");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&file, text).unwrap();
        let done = everlog(&["migrate", self.path("source").to_str().unwrap(), "-o", self.path("logs").to_str().unwrap()]);
        assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    }

    fn html(&self, from: &str, to: &str, more: &[&str]) -> std::process::Output {
        let (from, to) = (self.path(from), self.path(to));
        everlog(&[&["html", from.to_str().unwrap(), "-o", to.to_str().unwrap()], more].concat())
    }

    /// The page of the only session as one file.
    fn page(&self, more: &[&str]) -> String {
        let log =
            tree(&self.path("logs")).into_keys().find(|name| name.ends_with(".everlog.jsonl") && !name.contains(".everlog/")).unwrap();
        let done = self.html(&format!("logs/{log}"), "page.html", more);
        assert_eq!(code(&done), Some(0), "{}", stderr(&done));
        self.text("page.html")
    }
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": [{"type": "text", "text": text}], "timestamp": 1_772_442_857_760_u64})
}

/// How many messages a page shows.
fn articles(page: &str) -> usize {
    page.split_once("<main>").unwrap().1.split_once("</main>").unwrap().0.matches("<article ").count()
}

#[test]
fn a_folder_of_pages_has_one_writer_at_a_time() {
    let site = Site::new();
    site.migrate(&[json!({"role": "user", "content": "Measure the warp", "timestamp": 1})]);
    fs::create_dir(site.path("site")).unwrap();
    let other = fs::File::open(site.path("site")).unwrap();
    other.try_lock().unwrap();
    // What the other run has prepared must not be swept away.
    fs::write(site.path("site/.1-0.everlog-tmp"), "half a page").unwrap();
    let done = site.html("logs", "site", &[]);
    assert_eq!(code(&done), Some(2), "{}", stderr(&done));
    assert!(stderr(&done).contains("another run is writing"), "{}", stderr(&done));
    assert_eq!(site.text("site/.1-0.everlog-tmp"), "half a page");
    drop(other);
    assert_eq!(code(&site.html("logs", "site", &[])), Some(0));
    assert!(!site.path("site/.1-0.everlog-tmp").exists());
}

#[test]
fn every_page_has_the_messages_that_replay_has() {
    let site = Site::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let done = everlog(&["html", fixtures.to_str().unwrap(), "-o", site.path("site").to_str().unwrap(), "--json"]);
    assert_ne!(code(&done), Some(2), "{}", stderr(&done));
    let rows: Vec<Value> = stdout(&done).lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let (mut pages, mut shown) = (Vec::new(), 0);
    for row in rows.iter().filter(|row| row.get("summary").is_none()) {
        let log = everlog::Log::open(fixtures.join(row["log"].as_str().unwrap())).unwrap();
        let messages = log.messages(&log.active()).unwrap().map(Result::unwrap).count();
        let page = site.text(&format!("site/{}", row["page"].as_str().unwrap()));
        assert_eq!((articles(&page), row["messages"].as_u64()), (messages, Some(messages as u64)), "{row}");
        shown += messages;
        pages.push((page, messages));
    }
    assert!(pages.len() > 250 && shown > 1_000, "{} pages, {shown} messages", pages.len());
    in_a_browser(&site, &pages);
}

/// Lets a browser read all pages, in one page that counts.
fn in_a_browser(site: &Site, pages: &[(String, usize)]) {
    let Some(browser) = browser() else { return };
    let texts = serde_json::to_string(&pages.iter().map(|(page, _)| page).collect::<Vec<_>>()).unwrap().replace('<', "\\u003c");
    let script = "const pages = JSON.parse(document.getElementById('pages').textContent);\
        const counts = pages.map((page) => new DOMParser().parseFromString(page, 'text/html').querySelectorAll('main > article').length);\
        document.getElementById('pages').remove(); document.body.dataset.counts = counts.join(' ');";
    let counter = format!(
        "<!doctype html><meta charset=utf-8><body><script type=application/json id=pages>{texts}</script><script>{script}</script>"
    );
    fs::write(site.path("counter.html"), counter).unwrap();
    let dom = dom(&browser, &site.path("counter.html"));
    let counts: Vec<String> = pages.iter().map(|(_, messages)| messages.to_string()).collect();
    assert!(dom.contains(&format!("data-counts=\"{}\"", counts.join(" "))), "{}", &dom[..dom.len().min(3000)]);
}

/// What a page could run, and what says that it did.
const PWNED: &str = "document.documentElement.setAttribute('data-pwned','yes')";

/// Texts that would run in a page which takes them for markup.
fn hostile() -> Vec<String> {
    vec![
        format!("<script>{PWNED}</script>"),
        format!("<img src=x onerror=\"{PWNED}\">"),
        format!("</article></main></script><script>{PWNED}</script><!--"),
        format!("<svg onload=\"{PWNED}\"></svg><iframe srcdoc=\"<script>parent.{PWNED}</script>\"></iframe>"),
        format!("[click](javascript:{PWNED}) ![x](javascript:{PWNED}) <a href=\"javascript:{PWNED}\">y</a>"),
        format!("```\"><script>{PWNED}</script>\n</code></pre><script>{PWNED}</script>\n```"),
        format!("`</code><script>{PWNED}</script>`\n\n| <script>{PWNED}</script> |\n|---|\n| <img src=x onerror=\"{PWNED}\"> |"),
        format!("--- a\n+++ b\n@@ -1 +1 @@\n-<script>{PWNED}</script>\n+<img src=x onerror={PWNED}>"),
        "<style>*{display:none}</style><base href=//evil.example><meta http-equiv=refresh content=\"0;url=//evil.example\">".to_owned(),
    ]
}

/// A session that has a hostile text in every place.
fn hostile_session(site: &Site) {
    let mut messages = Vec::new();
    for text in hostile() {
        messages.push(said("user", &text));
        messages.push(json!({"role": "assistant", "model": text, "provider": text, "stopReason": "toolUse", "timestamp": 1_772_442_857_760_u64, "api": "x",
            "usage": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
            "content": [{"type": "thinking", "thinking": text}, {"type": "text", "text": text},
                {"type": "toolCall", "id": "c1", "name": text, "arguments": {"path": text, "oldText": text, "newText": format!("{text}!"), &text: [&text]}},
                {"type": "toolCall", "id": "c2", "name": "bash", "arguments": {"command": text}}]}));
        messages
            .push(json!({"role": "toolResult", "toolCallId": "c1", "toolName": text, "isError": true, "timestamp": 1_772_442_857_760_u64,
            "content": [{"type": "text", "text": text}, {"type": "image", "data": "PHNjcmlwdD4=", "mimeType": "image/png\"><script>"}]}));
    }
    site.migrate(&messages);
}

#[test]
fn nothing_of_a_message_runs_in_a_browser() {
    let site = Site::new();
    hostile_session(&site);
    let page = site.page(&[]);
    assert_eq!(articles(&page), hostile().len() * 3);
    let Some(browser) = browser() else { return };
    let shown = dom(&browser, &site.path("page.html"));
    assert!(!shown.contains("data-pwned="), "a message ran");
    // Its own elements, and no others.
    assert_eq!((shown.matches("<script").count(), shown.matches("<style").count()), (3, 1));
    // In a text the browser writes `<` as `&lt;`, so these would be elements.
    for bad in ["<img", "<iframe", "<svg", "<base", "<a href=\"javascript:", "<meta http-equiv=\"refresh"] {
        assert!(!shown.contains(bad), "{bad}");
    }
    // What escaping would let through the policy stops, and without the policy
    // the browser does run it, or this test would see nothing.
    let planted = format!("<main>\n<script>{PWNED}</script><img src=x onerror=\"{PWNED}\"><svg onload=\"{PWNED}\"></svg>");
    let torn = page.replacen("<main>\n", &planted, 1);
    fs::write(site.path("torn.html"), &torn).unwrap();
    assert!(!dom(&browser, &site.path("torn.html")).contains("data-pwned="), "the policy let a message run");
    fs::write(site.path("open.html"), torn.replacen("http-equiv=\"Content-Security-Policy\"", "name=none", 1)).unwrap();
    assert!(dom(&browser, &site.path("open.html")).contains("data-pwned=\"yes\""), "the browser runs nothing at all");
}

#[test]
fn a_page_switches_branches_and_gives_back_its_files() {
    let site = Site::new();
    let other =
        json!({"role": "user", "content": [{"type": "text", "text": "Left alone"}], "timestamp": 1_772_442_857_760_u64, "parentId": "a1"});
    let back =
        json!({"role": "user", "content": [{"type": "text", "text": "Went on"}], "timestamp": 1_772_442_857_760_u64, "parentId": "a1"});
    site.migrate(&[said("user", "One"), said("user", "Two"), other, back, said("user", "Last")]);
    let page = site.page(&[]);
    assert_eq!((articles(&page), page.matches("<article ").count()), (4, 5));
    let Some(browser) = browser() else { return };
    let script = "<script>URL.createObjectURL = (blob) => { blob.arrayBuffer().then((bytes) => {\
        document.documentElement.dataset.bytes = btoa(String.fromCharCode(...new Uint8Array(bytes))); }); return 'blob:none'; };\
        HTMLAnchorElement.prototype.click = () => {};\
        document.querySelector('[data-file]').click();\
        const fork = document.querySelector('.fork button'); document.documentElement.dataset.fork = fork ? fork.textContent : '';\
        if (fork) fork.click();\
        document.documentElement.dataset.shown = [...document.querySelectorAll('main > article')].map((a) => a.id).join(' ');</script></body>";
    let open = page.replacen("http-equiv=\"Content-Security-Policy\"", "name=none", 1).replace("</body>", script);
    fs::write(site.path("open.html"), open).unwrap();
    let shown = dom(&browser, &site.path("open.html"));
    let attribute = |name: &str| {
        shown.split_once(&format!("data-{name}=\"")).map(|(_, rest)| rest.split('"').next().unwrap().to_owned()).unwrap_or_default()
    };
    let source = tree(&site.path("source")).into_iter().find(|(name, _)| name.ends_with(".jsonl")).unwrap().1.0;
    let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, attribute("bytes")).unwrap();
    assert!(bytes == source, "the page gives back other bytes");
    assert_ne!(attribute("fork"), "");
    assert_eq!(attribute("shown").split(' ').count(), 3, "{}", attribute("shown"));
}

#[test]
fn secrets_are_taken_out_of_pages() {
    let site = Site::new();
    let secret = "AKIAIOSFODNN7EXAMPLE";
    let call = json!({"role": "user", "content": [{"type": "text", "text": format!("the key is {secret}, of /home/ada")}], "timestamp": 1_772_442_857_760_u64});
    site.migrate(&[call, said("user", secret)]);
    assert!(site.page(&[]).contains(secret));
    fs::remove_file(site.path("page.html")).unwrap();
    let page = site.page(&["--redact", "--redact-pattern", "the k.y"]);
    for gone in [secret, "/home/ada", "the key", "data-file="] {
        assert!(!page.contains(gone), "{gone}");
    }
    assert!(page.contains("[redacted-1] is [aws-key-1], of [home-1]"));
    let done = site.html("logs", "site", &["--redact", "--json"]);
    let row: Value = serde_json::from_str(stdout(&done).lines().next().unwrap()).unwrap();
    let removed = row["redactions"]["removed"].as_array().unwrap();
    let key = removed.iter().find(|one| one["kind"] == "aws-key").unwrap();
    assert_eq!((&key["placeholder"], key["places"].as_array().map(Vec::len)), (&json!("[aws-key-1]"), Some(3)), "{key}");
    for (name, (bytes, _)) in tree(&site.path("site")) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(secret) && !text.contains("/home/ada/") && !text.contains("home-ada"), "{name}");
        assert!(!name.contains("home-ada"), "{name}");
    }
    assert_eq!(code(&site.html("logs", "other", &["--redact-pattern", "x"])), Some(2));
    assert_eq!(code(&site.html("logs", "other", &["--redact", "--redact-pattern", "("])), Some(2));
}

#[test]
fn a_folder_of_pages_is_updated_and_nothing_else_is_touched() {
    let site = Site::new();
    site.migrate(&[said("user", "One")]);
    assert_eq!(code(&site.html("logs", "site", &[])), Some(0));
    let first = tree(&site.path("site"));
    // The same pages are not written again, and do not depend on the jobs.
    let done = site.html("logs", "site", &["--jobs", "3"]);
    assert!(stdout(&done).contains("0 written") || stderr(&done).contains("0 written"), "{}{}", stdout(&done), stderr(&done));
    assert!(first == tree(&site.path("site")), "a second run changes something");
    // A page of its own is updated.
    site.migrate(&[said("user", "One"), said("assistant", "Two")]);
    assert_eq!(code(&site.html("logs", "site", &[])), Some(0));
    let page = tree(&site.path("site")).into_keys().find(|name| name.starts_with("sessions/") && name.ends_with(".html")).unwrap();
    assert!(site.text(&format!("site/{page}")).contains("Two"));
    // One that a person has changed is not.
    fs::write(site.path(&format!("site/{page}")), "mine").unwrap();
    let done = site.html("logs", "site", &[]);
    assert_ne!(code(&done), Some(0));
    assert_eq!(site.text(&format!("site/{page}")), "mine");
    // Nor is a file that was there before.
    fs::create_dir(site.path("full")).unwrap();
    fs::write(site.path("full/index.html"), "mine").unwrap();
    assert_ne!(code(&site.html("logs", "full", &[])), Some(0));
    assert_eq!(site.text("full/index.html"), "mine");
    fs::write(site.path("page.html"), "mine").unwrap();
    let log = tree(&site.path("logs")).into_keys().find(|name| name.ends_with(".everlog.jsonl") && !name.contains(".everlog/")).unwrap();
    assert_ne!(code(&site.html(&format!("logs/{log}"), "page.html", &[])), Some(0));
    assert_eq!(site.text("page.html"), "mine");
}

#[test]
fn a_page_of_a_session_that_is_gone_is_removed() {
    let site = Site::new();
    for name in ["a", "b"] {
        let chat = site.path(&format!("source/{name}/conversation.jsonl"));
        fs::create_dir_all(chat.parent().unwrap()).unwrap();
        fs::write(chat, "{\"role\": \"user\", \"content\": \"hi\", \"timestamp\": \"2026-01-01T00:00:00\"}\n").unwrap();
    }
    let done = everlog(&["migrate", site.path("source").to_str().unwrap(), "-o", site.path("logs").to_str().unwrap()]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    // A plain folder of logs: a store would say that one of its logs is lost.
    fs::remove_dir_all(site.path("logs/.everlog")).unwrap();
    assert_eq!(code(&site.html("logs", "site", &[])), Some(0));
    fs::write(site.path("site/sessions/mine.html"), "mine").unwrap();
    fs::remove_file(site.path("logs/a.everlog.jsonl")).unwrap();
    assert_eq!(code(&site.html("logs", "site", &[])), Some(0));
    let pages: Vec<String> = tree(&site.path("site")).into_keys().filter(|name| name.ends_with(".html")).collect();
    assert_eq!(pages, ["index.html", "sessions/b.html", "sessions/mine.html"]);
}
