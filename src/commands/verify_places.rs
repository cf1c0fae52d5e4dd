//! Where the files of a log's session are: those of the source that it is compared
//! with, and what reports call them.

use std::path::{Path, PathBuf};

use crate::adapters::format::Standing;
use crate::log::restore::file_plan;
use crate::model::files::{Files, RelPath};
use crate::model::finding::Finding;
use crate::model::folder::{Listed, ListedKind};
use crate::pipeline::source::{Source, SourceUnit, name_without};
use crate::store::layout::{LOG_SUFFIX, path_below};
use crate::store::snapshot;
use crate::verify::Difference;
use crate::verify::difference::DifferenceAt;

use super::logs;
use super::verify_check::{Checker, Stopped, View};
use super::verify_job::LogToCheck;
use super::verify_row::Located;

impl Checker<'_> {
    /// Returns the folder of a source that cannot be read and that the files of a log are in:
    /// nobody can say that the source no longer has them.
    pub(super) fn unreadable_place(&self, item: &LogToCheck<'_>, view: &mut View) -> Result<Option<PathBuf>, Stopped> {
        let Some(source) = self.source else { return Ok(None) };
        let is_unreadable = |entry: &&Listed| matches!(entry.kind, ListedKind::Unreadable(_));
        let refused: Vec<&RelPath> = source.listing.entries().iter().filter(is_unreadable).map(|entry| &entry.path).collect();
        if refused.is_empty() {
            return Ok(None);
        }
        let folder = self.folder_in_source(view, item, source);
        let mut paths = vec![name_without(&RelPath::new(item.unit_name.as_bytes()), &source.place).into_owned()];
        for seq in view.files().to_vec() {
            paths.push(file_plan(view, seq).map_err(Stopped::stream(&item.log.path))?.path.below(&folder));
        }
        let is_in = |place: &RelPath| paths.iter().any(|path| path == place || path.folders().any(|above| above == *place));
        Ok(refused.into_iter().find(|place| is_in(place)).map(|place| path_below(&source.root, place)))
    }

    /// Returns what is left of a session that the source no longer has: files that are
    /// there and of which its program would make nothing, or something else.
    pub(super) fn remains(&self, item: &LogToCheck<'_>, source: &Source, view: &mut View) -> Result<Option<Files>, Stopped> {
        let folder = self.folder_in_source(view, item, source);
        let mut left = Vec::new();
        for seq in view.files().to_vec() {
            let path = file_plan(view, seq).map_err(Stopped::stream(&item.log.path))?.path;
            let full = path.below(&folder);
            // A file that is another session's by now is compared with that one's
            // log; this log has what it was before, and nothing is wrong with that.
            if source.listing.get(&full).is_some() && !self.is_of_a_live_session(source, &full) {
                left.push(path);
            }
        }
        if left.is_empty() {
            return Ok(None);
        }
        let name = item.unit_name.rsplit('/').next().unwrap_or_default();
        Ok(Some(snapshot::take(&path_below(&source.root, &folder), name.as_bytes(), &left)?))
    }

    fn is_of_a_live_session(&self, source: &Source, path: &RelPath) -> bool {
        let owned = self.owned.get_or_init(|| {
            let live = source.units.iter().filter(|unit| unit.found.standing == Standing::Live);
            live.flat_map(|unit| unit.found.files.iter().map(|file| file.below(&unit.found.root))).collect()
        });
        owned.contains(path)
    }

    /// Returns the file that a difference is in, as the user would name it.
    pub(super) fn located(&self, difference: Difference, item: &LogToCheck<'_>) -> Located {
        let (file, line, byte) = match &difference.place {
            DifferenceAt::Log(at) => (item.log.path.clone(), at.map(|at| at.0), at.map(|at| at.1)),
            DifferenceAt::File(location) => {
                let is_golden = self.job.golden.as_ref().is_some_and(|folder| Path::new(&location.file).starts_with(folder));
                let folder = if is_golden { None } else { Some(self.session_folder(item)) };
                let file = folder.map_or_else(|| PathBuf::from(&location.file), |folder| folder.join(&location.file));
                (file, location.line, location.byte)
            }
        };
        Located { difference, file, line, byte }
    }

    /// Returns a finding's file: below the source where there is one, else the log.
    pub(super) fn finding_file(&self, finding: &Finding, folder: Option<&Path>, item: &LogToCheck<'_>) -> PathBuf {
        match folder {
            Some(folder) if !finding.location.file.ends_with(LOG_SUFFIX) => folder.join(&finding.location.file),
            Some(_) | None => item.log.path.clone(),
        }
    }

    /// Returns where the files of a log's session lie, or would lie.
    fn session_folder(&self, item: &LogToCheck<'_>) -> PathBuf {
        match (item.unit, &self.job.source, self.source) {
            (Some(unit), _, _) => self.shown_folder(unit),
            (None, Some(typed), Some(source)) => logs::open_any(&item.log.path, None)
                .map_or_else(|_| typed.clone(), |view| path_below(typed, &self.folder_in_source(&view, item, source))),
            (None, _, _) => PathBuf::new(),
        }
    }

    /// Returns the folder of a log's session, as its source has it.
    fn folder_in_source(&self, view: &View, item: &LogToCheck<'_>, source: &Source) -> RelPath {
        let folder = logs::session_folder(view, &item.log);
        // Where one source's folder was asked for, names begin below it.
        if !self.asked.part().as_bytes().is_empty() {
            return folder;
        }
        if folder == source.place { RelPath::new("") } else { name_without(&folder, &source.place).into_owned() }
    }

    /// Returns where a session's files lie, as the user would name it.
    pub(super) fn shown_folder(&self, unit: &SourceUnit) -> PathBuf {
        path_below(&self.shown_base(), &unit.found.root)
    }

    /// Returns the folder that the source's paths are relative to, in the same way.
    pub(super) fn shown_base(&self) -> PathBuf {
        let (Some(source), Some(typed)) = (self.source, &self.job.source) else { return PathBuf::new() };
        match (&source.only_file, typed.parent()) {
            (Some(_), Some(parent)) => parent.to_owned(),
            _ => typed.clone(),
        }
    }
}
