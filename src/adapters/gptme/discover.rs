//! Which folders are gptme conversations, and which of their files belong to
//! the session.

mod contents;

use crate::adapters::format::{Confidence, RETIRED_SUFFIX, Standing, UnitClaim};
use crate::json::{self, Dialect};
use crate::model::files::{RelPath, SharedFacts};
use crate::model::finding::FindingCode;
use crate::model::folder::{FolderView, ListedKind};
use crate::model::jsonl::{Lines, Newlines, decoded};
use crate::runtimes::python::text::strip;

use self::contents::{Belongs, Contents, Evidence, evidence, is_complete, is_event_log};
use super::layout::{ID, TRANSCRIPT};
use super::wire::Record;

/// How much of a folder a conversation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Every file that its program writes there.
    Contents,
    /// The transcript and the lists of messages beside it: they are certainly its
    /// program's, and nothing says whose the other files are.
    Lists,
    /// The transcript: nothing says whose the other files are.
    Transcript,
}

/// Claims a folder that is one conversation.
pub(super) fn discover(folder: &FolderView<'_>) -> Option<UnitClaim> {
    let (confidence, standing, extent) = judge(folder)?;
    let mut claim = UnitClaim {
        name: RelPath::new(""),
        root: RelPath::new(""),
        files: Vec::new(),
        left_out: Vec::new(),
        shared: SharedFacts::default(),
        retires: vec![RelPath::new(TRANSCRIPT)],
        confidence,
        standing,
    };
    match extent {
        Extent::Contents => all_contents(folder, &mut claim),
        Extent::Lists => {
            all_contents(folder, &mut claim);
            claim.files.retain(|path| contents::is_list_name(path.as_bytes()));
            claim.left_out.retain(|(path, _, _)| contents::is_list_name(path.as_bytes()) || contents::is_lock(path.as_bytes()));
        }
        Extent::Transcript => transcript_alone(folder, standing, &mut claim),
    }
    claim.files.sort();
    Some(claim)
}

fn all_contents(folder: &FolderView<'_>, claim: &mut UnitClaim) {
    let contents = Contents::of(folder);
    let mut folders = Vec::new();
    for (path, entry) in folder.entries() {
        let own = || entry.path.from_byte(entry.path.as_bytes().len() - path.len());
        if entry.kind == ListedKind::Folder {
            if contents.is_own_folder(path) {
                folders.push(own());
            }
            continue;
        }
        let belongs = contents.judge(path);
        match (belongs, &entry.kind) {
            (Belongs::Not, _) => {}
            (_, ListedKind::Special) => {
                let what = "neither a file nor a folder nor a link; not carried".to_owned();
                claim.left_out.push((own(), FindingCode::SpecialFile, what));
            }
            (_, ListedKind::Unreadable(why)) => {
                claim.left_out.push((own(), FindingCode::Unreadable, format!("cannot be read: {why}")));
            }
            (_, ListedKind::Link) | (Belongs::Own, _) => claim.files.push(own()),
            (Belongs::Lock, _) => lock(own(), claim),
            (Belongs::Temporary, _) => temporary(folder, own(), claim),
        }
    }
    // A folder that nothing in the log would bring back is carried by itself.
    folders.retain(|folder| {
        let inside = [folder.as_bytes(), b"/"].concat();
        let first = claim.files.partition_point(|file| file.as_bytes() < inside.as_slice());
        !claim.files.get(first).is_some_and(|file| file.as_bytes().starts_with(&inside))
    });
    claim.files.extend(childless(folders));
}

/// Claims the transcript, the locks that say whether it is open, and the folder
/// for branches that gptme makes beside every transcript, where it is empty.
fn transcript_alone(folder: &FolderView<'_>, standing: Standing, claim: &mut UnitClaim) {
    const BRANCHES: &str = "branches";
    let retired = format!("{TRANSCRIPT}{RETIRED_SUFFIX}");
    let transcript = if standing == Standing::Live { TRANSCRIPT } else { &retired };
    claim.files.push(RelPath::new(transcript));
    for (name, _) in folder.direct().filter(|(_, entry)| entry.kind == ListedKind::File) {
        if contents::is_lock(name) {
            lock(RelPath::new(name), claim);
        }
    }
    let is_folder = folder.get(BRANCHES).is_some_and(|entry| entry.kind == ListedKind::Folder);
    if is_folder && folder.beginning("branches/").next().is_none() {
        claim.files.push(RelPath::new(BRANCHES));
    }
}

/// Of nested folders only the innermost: they bring back the others.
fn childless(folders: Vec<RelPath>) -> Vec<RelPath> {
    let holds_another = |folder: &RelPath| {
        let inside = [folder.as_bytes(), b"/"].concat();
        let next = folders.partition_point(|other| other.as_bytes() < inside.as_slice());
        folders.get(next).is_some_and(|other| other.as_bytes().starts_with(&inside))
    };
    folders.iter().filter(|folder| !holds_another(folder)).cloned().collect()
}

fn judge(folder: &FolderView<'_>) -> Option<(Confidence, Standing, Extent)> {
    let sure = |standing| (Confidence::Sure, standing, Extent::Contents);
    // A transcript that says nothing is gptme's by its name alone, unless
    // something beside it settles whose the folder is.
    let unsure = |standing| match evidence(folder) {
        Evidence::Program => sure(standing),
        Evidence::Lists => (Confidence::Sure, standing, Extent::Lists),
        Evidence::None => (Confidence::Likely, standing, Extent::Transcript),
    };
    let by_content = |sure_of: Confidence, standing| match sure_of {
        Confidence::Sure => sure(standing),
        Confidence::Likely => unsure(standing),
    };
    if let Some(transcript) = folder.get(TRANSCRIPT) {
        match transcript.kind {
            ListedKind::File | ListedKind::Unreadable(_) => {}
            // Never followed, and never skipped in silence.
            ListedKind::Link => return Some(unsure(Standing::Live)),
            ListedKind::Folder | ListedKind::Special => return None,
        }
        if folder.is_known(ID, TRANSCRIPT) {
            return Some(sure(Standing::Live));
        }
        return judge_transcript(folder, TRANSCRIPT).map(|sure_of| by_content(sure_of, Standing::Live));
    }
    let retired = format!("{TRANSCRIPT}{RETIRED_SUFFIX}");
    if folder.has_file(&retired) {
        return judge_transcript(folder, &retired).map(|sure_of| by_content(sure_of, Standing::Retired));
    }
    // The transcript is lost, its event log is not.
    is_event_log(folder, b"events.jsonl").then(|| sure(Standing::Live))
}

/// Judges a transcript by its first record, however much damage comes before it.
fn judge_transcript(folder: &FolderView<'_>, name: &str) -> Option<Confidence> {
    let size = folder.get(name).map_or(0, |entry| entry.size);
    let first = folder.first_bytes(name);
    let ending = if first.len() as u64 >= size { Ending::Whole } else { Ending::Cut };
    match (judge_lines(&first, ending), ending) {
        (Verdict::Unclear, Ending::Cut) => judge_lines(&folder.all_bytes(name), Ending::Whole).confidence(),
        (verdict, _) => verdict.confidence(),
    }
}

/// Whether the last line of some bytes is as long as it is in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Whole,
    Cut,
}

/// What the lines of a file say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Messages,
    /// Nothing but damage, or nothing at all.
    Unclear,
    /// Records of another program.
    Foreign,
}

impl Verdict {
    /// The name is gptme's own, which makes a file that says nothing likely.
    fn confidence(self) -> Option<Confidence> {
        match self {
            Verdict::Messages => Some(Confidence::Sure),
            Verdict::Unclear => Some(Confidence::Likely),
            Verdict::Foreign => None,
        }
    }
}

/// The first record decides: a message, or an object of another kind.
fn judge_lines(first: &[u8], ending: Ending) -> Verdict {
    for line in Lines::new(first, Newlines::Universal) {
        if strip(line.text).is_empty() || (line.end.is_empty() && ending == Ending::Cut) {
            continue;
        }
        let text = decoded(strip(line.text));
        let mut members = Vec::new();
        if Record::parse(text.as_bytes(), &mut members).is_ok() {
            return Verdict::Messages;
        }
        if json::scan_object(text.as_bytes(), Dialect::Python, &mut members).is_ok()
            && !members.iter().any(|member| member.name() == "role")
        {
            return Verdict::Foreign;
        }
    }
    Verdict::Unclear
}

fn lock(path: RelPath, claim: &mut UnitClaim) {
    claim.left_out.push((path, FindingCode::LockFile, "a lock file of gptme; it belongs to no session".to_owned()));
}

/// Sorts what an interrupted write left: a whole document is carried.
fn temporary(folder: &FolderView<'_>, path: RelPath, claim: &mut UnitClaim) {
    if is_complete(&folder.all_bytes(&path)) {
        let what = "left by an interrupted write; it holds a complete document and is carried".to_owned();
        claim.left_out.push((path.clone(), FindingCode::TemporaryKept, what));
        claim.files.push(path);
    } else {
        let what = "left by an interrupted write; incomplete, and not carried".to_owned();
        claim.left_out.push((path, FindingCode::TemporaryLeft, what));
    }
}
