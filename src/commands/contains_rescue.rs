//! `everlog contains OLD DATABASE --rescue DIR`: what the database lacks, written as
//! files that its program can import. No existing file is touched.

use std::path::{Path, PathBuf};

use crate::adapters::containment::Rescued;
use crate::report::printer::Printer;
use crate::report::text;
use crate::store::disk::{self, Disk, RealDisk};
use crate::store::replace::temporary_in;
use crate::store::{StoreError, inside};
use crate::verify::difference::visible;

/// A folder that records are written to.
pub(super) struct RescueFolder {
    root: PathBuf,
    /// How many records are in it.
    pub(super) records: u64,
    /// How many files.
    pub(super) files: u64,
    /// What a person has to know of single files.
    pub(super) notes: Vec<(String, String)>,
    /// What stopped it.
    pub(super) failed: Option<StoreError>,
}

impl RescueFolder {
    /// Starts with nothing; the folder is made with the first file.
    pub(super) fn at(root: &Path) -> RescueFolder {
        RescueFolder { root: root.to_owned(), records: 0, files: 0, notes: Vec::new(), failed: None }
    }

    /// Writes one file. A file that has its bytes already, of an earlier run, stays.
    pub(super) fn write(&mut self, file: Rescued) -> Result<(), StoreError> {
        inside::going_down(&file.path)?;
        let disk = RealDisk;
        let mut folder = self.root.clone();
        disk.create_folders(&folder)?;
        let path = inside::inside(&folder, &file.path)?;
        if let Some(parent) = path.parent() {
            folder = parent.to_owned();
        }
        disk.create_folders(&folder)?;
        if !has_bytes(&path, &file.bytes) {
            let temporary = temporary_in(&disk, &folder)?;
            temporary.fill(&file.bytes)?;
            temporary.name(&path)?;
            disk.sync(&folder)?;
        }
        self.records += file.records;
        self.files += 1;
        self.notes.extend(file.note.map(|note| (path.display().to_string(), note)));
        Ok(())
    }
}

impl RescueFolder {
    /// Says what was written.
    pub(super) fn tell(&self, out: &Printer) {
        for (file, note) in &self.notes {
            out.complain(&format!("note: {}\n  at {}", visible(note), visible(file)));
        }
        if self.files > 0 {
            let (records, files) = (text::count(self.records, "record"), text::count(self.files, "file"));
            out.say(&format!("rescued {records} in {files} below {}", visible(&self.root.display().to_string())));
        } else {
            out.say("nothing to rescue");
        }
    }
}

fn has_bytes(path: &Path, bytes: &[u8]) -> bool {
    let is_as_long = disk::open_regular(path).is_ok_and(|(_, meta)| meta.is_file() && meta.len() == bytes.len() as u64);
    is_as_long && disk::read(path).is_ok_and(|there| there == bytes)
}
