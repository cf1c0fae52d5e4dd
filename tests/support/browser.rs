//! A real browser, without a window: what it makes of a page.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::campaign;

/// Names that distributions give the browser.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The browser of this machine; where it has none, the test says so.
pub fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).flat_map(|folder| NAMES.map(|name| folder.join(name))).find(|file| file.is_file());
    if found.is_none() {
        campaign::missing("chromium, which opens the pages of `everlog html`");
    }
    found
}

/// What the document has become once the scripts of a page have run.
pub fn dom(browser: &Path, page: &Path) -> String {
    let profile = tempfile::tempdir().unwrap();
    let done = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--virtual-time-budget=10000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .env("HOME", profile.path())
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(dom.contains("</html>"), "the browser shows nothing: {}", String::from_utf8_lossy(&done.stderr));
    dom
}
