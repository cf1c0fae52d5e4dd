//! The lines of a log, stretch by stretch: for whoever looks for something in
//! all logs, and checks no seal. Memory holds one window, or one line where
//! that is longer.

use std::ops::ControlFlow;

use crate::model::stream::{ReadAt, StreamError};

use super::pass::may_be_a_line;

/// How much is read at once.
const WINDOW: usize = 256 * 1024;

/// Hands on all lines of a log, several at once, each with its line end. Bytes
/// after the last line end are not a line.
///
/// # Errors
/// When the log cannot be read.
pub fn each_stretch<R: ReadAt>(source: &R, mut each: impl FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), StreamError> {
    let io = |source| StreamError::Io { doing: "read the log", source };
    let size = source.size().map_err(io)?;
    let (mut window, mut offset, mut want) = (Vec::new(), 0, WINDOW);
    while offset < size {
        source.fill_at(&mut window, offset, want.min(usize::try_from(size - offset).unwrap_or(want))).map_err(io)?;
        let Some(end) = memchr::memrchr(b'\n', &window) else {
            if window.is_empty() || offset + window.len() as u64 >= size || !may_be_a_line(&window) {
                return Ok(());
            }
            want *= 2;
            continue;
        };
        if each(&window[..=end]).is_break() {
            return Ok(());
        }
        offset += end as u64 + 1;
        want = WINDOW;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn every_line_comes_once_whatever_its_length() {
        let mut file = tempfile::tempfile().unwrap();
        let lines: Vec<String> = [1, 300_000, 5, 262_143, 262_144, 900_000, 2].iter().map(|len| "x".repeat(*len)).collect();
        file.write_all((lines.join("\n") + "\ntorn").as_bytes()).unwrap();
        let mut found = Vec::new();
        let mut collect = |stretch: &[u8]| {
            assert!(stretch.ends_with(b"\n"));
            found.extend(stretch[..stretch.len() - 1].split(|byte| *byte == b'\n').map(<[u8]>::len));
            ControlFlow::Continue(())
        };
        each_stretch(&file, &mut collect).unwrap();
        assert_eq!(found, lines.iter().map(String::len).collect::<Vec<_>>());
    }
}
