//! The entry of a session in a file with which its program lists sessions: added to
//! what is there, and taken out again as long as it is as it was added.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

use crate::json::{self, Dialect, Kind, Member};
use crate::model::files::RelPath;

use super::disk::{self, Disk, folder_of};
use super::error::StoreError;
use super::replace;
use super::restored::RestoreFolder;
use super::walk;

/// Such an entry, as a receipt has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedEntry {
    /// The path of the file, as a key.
    pub path: String,
    /// The name of the entry.
    pub key: String,
    /// The entry, as JSON.
    pub entry: String,
}

impl ListedEntry {
    /// Looks whether the entry can be added to what is there.
    ///
    /// # Errors
    /// When the file is not such a list.
    pub fn fits(&self, folder: &RestoreFolder<'_>) -> Result<(), StoreError> {
        let path = folder.place(&RelPath::from_key(&self.path))?;
        let text = self.text(&path)?;
        text.map_or(Ok(()), |text| members(&text, &path).map(|_| ()))
    }

    /// Adds the entry, unless one of its name is there.
    ///
    /// # Errors
    /// When the file is not such a list, or cannot be replaced.
    pub fn add(&self, folder: &RestoreFolder<'_>, disk: &dyn Disk) -> Result<(), StoreError> {
        let path = folder.place(&RelPath::from_key(&self.path))?;
        let text = self.text(&path)?.unwrap_or_else(|| b"{}".to_vec());
        let members = members(&text, &path)?;
        if members.iter().any(|member| member.name() == self.key) {
            return Ok(());
        }
        let mut key = Vec::new();
        json::push_string(&self.key, &mut key);
        let mut all: Vec<(&[u8], &[u8])> = members.iter().map(|member| (member.key, member.value)).collect();
        all.push((&key, self.entry.as_bytes()));
        put(&path, &all, disk)
    }

    /// Takes the entry out again; the file with it where it holds nothing else.
    ///
    /// # Errors
    /// When the program has changed the entry since, or the file cannot be replaced.
    pub fn remove(&self, folder: &RestoreFolder<'_>, disk: &dyn Disk) -> Result<(), StoreError> {
        self.check(folder)?;
        let path = folder.place(&RelPath::from_key(&self.path))?;
        let Some(text) = self.text(&path)? else { return Ok(()) };
        let members = members(&text, &path)?;
        let kept: Vec<(&[u8], &[u8])> =
            members.iter().filter(|member| member.name() != self.key).map(|member| (member.key, member.value)).collect();
        if kept.len() == members.len() {
            return Ok(());
        }
        if kept.is_empty() {
            disk.remove(&path)?;
            return disk.sync(folder_of(&path));
        }
        put(&path, &kept, disk)
    }

    /// Looks whether the entry is as it was added.
    ///
    /// # Errors
    /// When it is not.
    fn check(&self, folder: &RestoreFolder<'_>) -> Result<(), StoreError> {
        let path = folder.place(&RelPath::from_key(&self.path))?;
        let Some(text) = self.text(&path)? else { return Ok(()) };
        let is_changed =
            |member: &Member<'_>| member.name() == self.key && json::normal_form(member.value) != json::normal_form(self.entry.as_bytes());
        if members(&text, &path)?.iter().any(is_changed) {
            return Err(StoreError::Changed { path });
        }
        Ok(())
    }

    fn text(&self, path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
        // A link on the way there may lead anywhere.
        if !walk::is_folder("open", folder_of(path))? || !walk::is_file(path)? {
            return Ok(None);
        }
        disk::read(path).map(Some)
    }
}

/// The members of a list, which is an object of objects.
fn members<'t>(text: &'t [u8], path: &Path) -> Result<Vec<Member<'t>>, StoreError> {
    let mut members = Vec::new();
    let is_list = json::scan_object(text, Dialect::Strict, &mut members).is_ok()
        && members.iter().all(|member| json::kind_of(member.value) == Kind::Object);
    let what = "a file that holds something else than a list of sessions";
    if is_list { Ok(members) } else { Err(StoreError::Planted { path: PathBuf::from(path), what, wanted: "such a list" }) }
}

fn put(path: &Path, members: &[(&[u8], &[u8])], disk: &dyn Disk) -> Result<(), StoreError> {
    let lines: Vec<Vec<u8>> = members.iter().map(|(key, value)| [b"\n  ", *key, b": ", value].concat()).collect();
    let text = [b"{", lines.join(&b',').as_slice(), b"\n}"].concat();
    disk.create_folders(folder_of(path))?;
    replace::put(disk, path, &text)
}
