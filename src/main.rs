//! `everlog`: parse, run, exit.

use std::process::ExitCode;

fn main() -> ExitCode {
    everlog::cli::run(std::env::args_os()).into()
}
