//! The real program on a real terminal: a pseudo-terminal whose other end keeps
//! every byte that arrives.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

/// What a run on a terminal left there.
pub struct Shown {
    pub bytes: Vec<u8>,
    pub code: Option<i32>,
}

/// Runs the binary with stdout and stderr on one new terminal. `term` is the
/// terminal's type; a `dumb` one gets neither colours nor a progress bar.
pub fn run(words: &[OsString], term: &str) -> Shown {
    run_with(words, &[("TERM", term)])
}

/// Runs the binary with all three streams on one new terminal, at which a person types.
pub fn run_typing(words: &[OsString], typed: &str) -> Shown {
    on_terminal(words, &[("TERM", "dumb")], Some(typed))
}

/// As [`run`], with more of the environment set.
pub fn run_with(words: &[OsString], environment: &[(&str, &str)]) -> Shown {
    on_terminal(words, environment, None)
}

fn on_terminal(words: &[OsString], environment: &[(&str, &str)], typed: Option<&str>) -> Shown {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave: OwnedFd = rustix::fs::open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    // Without this the terminal would add a carriage return to every line end.
    let mut modes = tcgetattr(&slave).unwrap();
    modes.make_raw();
    tcsetattr(&slave, OptionalActions::Now, &modes).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_everlog"));
    command.args(words).env_remove("NO_COLOR").env_remove("COLUMNS").env_remove("PAGER").env_remove("LESS").stdin(Stdio::null());
    command.envs(environment.iter().copied());
    if let Some(typed) = typed {
        command.stdin(slave.try_clone().unwrap());
        File::from(master.try_clone().unwrap()).write_all(typed.as_bytes()).unwrap();
    }
    command.stdout(slave.try_clone().unwrap()).stderr(slave);
    let mut child = command.spawn().unwrap();
    // The terminal ends when its last holder does: the command holds it too.
    drop(command);
    let mut bytes = Vec::new();
    // At the end of a terminal Linux reports an error instead of an end.
    let _ = File::from(master).read_to_end(&mut bytes);
    Shown { bytes, code: child.wait().unwrap().code() }
}
