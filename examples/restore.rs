//! Rebuilds the original files of a log.
//!
//! ```text
//! cargo run --example restore -- examples/logs/two-branches.jsonl.everlog.jsonl /tmp/restored
//! ```

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use everlog::Log;

const USAGE: &str = "usage: restore LOG FOLDER";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Err(error) = run(&words, &mut std::io::stdout().lock()) else { return ExitCode::SUCCESS };
    let _ = writeln!(std::io::stderr(), "error: {error}");
    let hint = error.downcast_ref::<everlog::Error>().and_then(everlog::Error::hint);
    let _ = hint.map(|hint| writeln!(std::io::stderr(), "hint: {hint}"));
    ExitCode::from(2)
}

/// Restores a log's files below a folder.
///
/// # Errors
/// When the words are wrong, or the files cannot be restored.
pub fn run(words: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let [path, folder] = words else { return Err(USAGE.into()) };
    let log = Log::open(path)?;
    if !log.is_intact() {
        return Err("this log is not as it was sealed; `everlog restore` restores it all the same".into());
    }
    let restored = log.restore_to(folder)?;
    writeln!(out, "{} files, {} bytes, {} of them there already", restored.files, restored.bytes, restored.already)?;
    Ok(())
}
