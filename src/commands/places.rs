//! The folders of sessions that were found at their programs' usual places.

use serde_json::json;
use std::path::PathBuf;

use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::verify::difference::visible;

/// A folder of sessions at its program's usual place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsualPlace {
    /// The id of the program's format.
    pub format: &'static str,
    /// The folder.
    pub path: PathBuf,
}

/// Lists them, before anything is done with them.
pub fn list(places: &[UsualPlace], out: &Printer) {
    match out.form() {
        Form::Json => places
            .iter()
            .for_each(|place| out.object(&json!({ "place": { "format": place.format, "path": place.path.display().to_string() } }))),
        Form::Text => {
            out.summary(&format!("{} of sessions on this machine:", text::count(places.len() as u64, "folder")));
            let width = places.iter().map(|place| place.format.len()).max().unwrap_or_default();
            let line = |place: &UsualPlace| format!("  {:width$}  {}", place.format, visible(&place.path.display().to_string()));
            places.iter().for_each(|place| out.summary(&line(place)));
        }
    }
}
