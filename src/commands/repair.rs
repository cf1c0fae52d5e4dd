//! `everlog repair`: a plan first, printed with a fingerprint; then exactly that
//! plan, with the old bytes kept; and the way back.

use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::adapters::format::Format;
use crate::maintenance;
use crate::model::audit::AuditItem;
use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::model::repair::{Reason, Repairs};
use crate::pipeline::source::{Selection, Source};
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::StoreError;
use crate::store::disk::Disk;
use crate::store::layout::{Store, path_below};
use crate::store::lock::StoreLock;
use crate::store::repairs::{self, FileState, Planned, RECEIPT, Repair, RepairReceipt, RepairState, RepairedFile};
use crate::store::replace::sweep;
use crate::verify::difference::visible;

use super::error::CommandError;
use super::evidence::{self, Clock};
use super::repair_genuine;

/// What to do.
#[derive(Debug)]
pub struct RepairJob<'a> {
    /// The source as the user named it.
    pub source: PathBuf,
    /// Which formats.
    pub adapters: Vec<&'static dyn Format>,
    /// Where old bytes and receipts go.
    pub backups: PathBuf,
    /// Plan, do, or undo.
    pub action: Action,
    /// The time, in nanoseconds since the epoch.
    pub now_ns: i64,
    /// The disk under it all.
    pub disk: &'a dyn Disk,
}

/// Plan, do, or undo.
#[derive(Debug)]
pub enum Action {
    /// Print what would be done.
    Plan,
    /// Do the plan with this fingerprint.
    Apply(String),
    /// Take back what this receipt says was done.
    Undo(PathBuf),
}

/// One file that is to change.
#[derive(Debug)]
struct Step {
    path: RelPath,
    bytes: Vec<u8>,
    why: Vec<Reason>,
    /// Hash, size and time of what is there.
    old: Option<(String, u64, i64)>,
}

impl Step {
    fn digest(&self) -> String {
        let old = self.old.as_ref().map(|(sha256, size, mtime)| format!("{sha256} {size} {mtime}")).unwrap_or_default();
        let why: Vec<String> = self.why.iter().map(|reason| format!("{:?} {}", reason.code, reason.what)).collect();
        sha256_hex(format!("{}\n{old}\n{}\n{}", self.path.key(), sha256_hex(&self.bytes), why.join("\n")).as_bytes())
    }
}

/// Up to so many steps can be told apart by a fingerprint.
const TOLD_APART: usize = 24;
/// By so many digits each.
const STEP_DIGITS: usize = 4;

/// Returns what names a plan: a hash over all, and a little of each step's, so that it
/// can be said which of them changed.
fn fingerprint(steps: &[Step]) -> String {
    let digests: Vec<String> = steps.iter().map(Step::digest).collect();
    let whole = &sha256_hex(digests.join("\n").as_bytes())[..16];
    if steps.is_empty() || steps.len() > TOLD_APART {
        return whole.to_owned();
    }
    format!("{whole}-{}", digests.iter().map(|digest| &digest[..STEP_DIGITS]).collect::<String>())
}

/// Runs the command.
///
/// # Errors
/// When nothing is recognised, when a plan is no longer what it was, or when
/// the disk fails.
pub fn run(job: &RepairJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let source = Source::open(&job.source, &job.adapters, &Selection::default())?;
    match &job.action {
        Action::Plan => {
            let (steps, left) = plan(&source, job, Stamp::Fixed)?;
            Ok(print_plan(&steps, &left, job, out))
        }
        Action::Apply(wanted) => apply(&source, job, wanted, out),
        Action::Undo(receipt) => undo(&source, job, receipt, out),
    }
}

/// Which time goes into files: a fixed one while a plan is named, or its name
/// would change with every second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stamp {
    Fixed,
    Now,
}

fn plan(source: &Source, job: &RepairJob<'_>, stamp: Stamp) -> Result<(Vec<Step>, Vec<AuditItem>), CommandError> {
    if source.recognised == 0 && !source.discovery.recognised_any() {
        let looked_for = job.adapters.iter().map(|adapter| adapter.looked_for()).collect();
        return Err(CommandError::NothingRecognised { path: job.source.clone(), looked_for });
    }
    let clock = Clock { now_ns: job.now_ns, stamp_ns: if stamp == Stamp::Now { job.now_ns } else { 0 } };
    let is_whole = source.only_file.is_none() && source.units.len() == source.recognised;
    let (mut steps, mut left) = (Vec::new(), Vec::new());
    for (adapter, folder) in evidence::folders(source) {
        let Repairs { changes, left: not_done } =
            evidence::with(source, adapter, &folder, clock, |view, evidence| maintenance::of(adapter.id()).repair(view, evidence));
        for change in changes {
            let path = change.path.below(&folder);
            // Where one session is meant, only its own file is touched.
            if !is_whole && !source.units.iter().any(|unit| unit.name == path) {
                continue;
            }
            let now = repairs::current(&path_below(&source.root, &path))?;
            let old = now.map(|(bytes, meta)| (sha256_hex(&bytes), bytes.len() as u64, repairs::time_of(&meta)));
            steps.push(Step { path, bytes: change.bytes, why: change.why, old });
        }
        left.extend(not_done.into_iter().map(|mut item| {
            item.finding.location.file = evidence::seen_from_source(&item.finding.location.file, &folder);
            item
        }));
    }
    Ok((steps, left))
}

#[derive(Serialize)]
struct StepReport<'a> {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_bytes: Option<u64>,
    new_bytes: u64,
    why: Vec<BTreeMap<&'static str, &'a str>>,
}

fn print_steps(steps: &[Step], out: &Printer) {
    for step in steps {
        let codes: Vec<String> = step.why.iter().map(Reason::code_name).collect();
        if out.form() == Form::Json {
            let why =
                step.why.iter().zip(&codes).map(|(reason, code)| BTreeMap::from([("code", code.as_str()), ("what", reason.what.as_str())]));
            let old_bytes = step.old.as_ref().map(|(_, size, _)| *size);
            out.object(&StepReport { file: step.path.to_string(), old_bytes, new_bytes: step.bytes.len() as u64, why: why.collect() });
            continue;
        }
        let new = text::size(step.bytes.len() as u64);
        let sizes = step.old.as_ref().map_or_else(|| format!("new, {new}"), |(_, size, _)| format!("{} → {new}", text::size(*size)));
        out.text(&format!("{}  {sizes}", visible(&step.path.to_string())));
        for (reason, code) in step.why.iter().zip(&codes) {
            out.text(&format!("  {} ({code})", visible(&reason.what)));
        }
    }
}

fn print_plan(steps: &[Step], left: &[AuditItem], job: &RepairJob<'_>, out: &Printer) -> ExitStatus {
    print_steps(steps, out);
    print_left(left, out);
    let print = fingerprint(steps);
    if out.form() == Form::Json {
        out.object(&serde_json::json!({ "plan": { "fingerprint": print, "steps": steps.len(), "left": left.len() } }));
    } else if steps.is_empty() {
        out.summary("nothing to repair; nothing was changed");
    } else {
        let source = text::shell_word(&job.source.display().to_string());
        out.summary(&format!(
            "{} to write; nothing was changed\nto do exactly this: everlog repair {source} --apply {print}",
            text::count(steps.len() as u64, "file")
        ));
    }
    if steps.is_empty() && left.is_empty() { ExitStatus::Well } else { ExitStatus::Found }
}

fn print_left(left: &[AuditItem], out: &Printer) {
    for item in left {
        match out.form() {
            Form::Json => out.object(&BTreeMap::from([("left", item)])),
            Form::Text => out.say(&text::finding(&item.finding, "")),
        }
    }
}

fn apply(source: &Source, job: &RepairJob<'_>, wanted: &str, out: &Printer) -> Result<ExitStatus, CommandError> {
    let is_print = !wanted.is_empty() && wanted.len() <= 128 && wanted.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    if !is_print {
        return Err(CommandError::NoSuchPlan { fingerprint: wanted.to_owned() });
    }
    let backups = std::path::absolute(&job.backups).map_err(StoreError::io("find", &job.backups))?;
    if backups.starts_with(&source.root) {
        return Err(CommandError::Nested { source: source.root.clone(), dest: job.backups.clone() });
    }
    let repair = Repair::in_folder(job.disk, &source.root, &job.backups.join(wanted));
    let found = repair.receipt()?.filter(|receipt| receipt.state != RepairState::Undone);
    let found = match found {
        // An undo that was killed before it said so has put everything back.
        Some(receipt) if receipt.state != RepairState::Applying && is_all_back(&repair, &receipt)? => None,
        found => found,
    };
    if found.as_ref().is_some_and(|receipt| receipt.fingerprint != wanted) {
        return Err(CommandError::NoSuchPlan { fingerprint: wanted.to_owned() });
    }
    if let Some(receipt) = found {
        return go_on(source, job, &repair, receipt, out);
    }
    let (steps, left) = plan(source, job, Stamp::Fixed)?;
    if fingerprint(&steps) != wanted {
        return Err(CommandError::PlanChanged { changed: what_changed(&steps, wanted), fingerprint: fingerprint(&steps) });
    }
    if steps.is_empty() {
        return Ok(print_plan(&steps, &left, job, out));
    }
    let _lock = alone(&job.backups, job.disk)?;
    let (stamped, _) = plan(source, job, Stamp::Now)?;
    let planned: Vec<Planned<'_>> = steps
        .iter()
        .map(|step| Planned {
            path: &step.path,
            old_sha256: step.old.as_ref().map(|(sha256, _, _)| sha256.as_str()),
            bytes: stamped.iter().find(|other| other.path == step.path).map_or(step.bytes.as_slice(), |other| &other.bytes),
            why: step.why.iter().map(|reason| format!("{}: {}", reason.code_name(), reason.what)).collect(),
        })
        .collect();
    let mut receipt = repair.prepare(wanted, job.now_ns, &planned)?;
    repair.carry_out(&mut receipt)?;
    print_steps(&steps, out);
    print_left(&left, out);
    Ok(print_applied(&receipt, &left, job, out))
}

fn is_all_back(repair: &Repair<'_>, receipt: &RepairReceipt) -> Result<bool, StoreError> {
    Ok(repair.states(receipt)?.iter().all(|state| *state == FileState::Old))
}

/// Goes on with a plan that has a receipt already. What its files are decides,
/// not only what the receipt says of them: an undo may have been cut short.
fn go_on(
    source: &Source,
    job: &RepairJob<'_>,
    repair: &Repair<'_>,
    mut receipt: RepairReceipt,
    out: &Printer,
) -> Result<ExitStatus, CommandError> {
    let states = repair.states(&receipt)?;
    match receipt.state {
        RepairState::Applying => {}
        RepairState::Applied if !states.contains(&FileState::Old) => {
            out.say("this plan has been carried out already");
            return Ok(print_applied(&receipt, &[], job, out));
        }
        RepairState::Applied | RepairState::Undoing | RepairState::Undone => {
            let path = job.backups.join(&receipt.fingerprint).join(RECEIPT);
            return Ok(print_half_undone(&receipt, &states, &path, job, out));
        }
    }
    // Cut short: what is staged goes on only where a plan made now wants the same
    // files changed from the same bytes.
    let (steps, _) = plan(source, job, Stamp::Fixed)?;
    let is_wanted = |file: &RepairedFile| {
        let old = file.old.as_ref().map(|old| old.sha256.as_str());
        let same = |step: &&Step| step.path.key() == file.path && step.old.as_ref().map(|(sha256, _, _)| sha256.as_str()) == old;
        steps.iter().any(|step| same(&step))
    };
    let left = receipt.files.iter().zip(&states).filter(|(_, state)| **state == FileState::Old).map(|(file, _)| file);
    let unwanted: Vec<String> = left.filter(|file| !is_wanted(file)).map(|file| format!("{} is another step now", file.path)).collect();
    if !unwanted.is_empty() {
        return Err(CommandError::PlanChanged { changed: unwanted, fingerprint: fingerprint(&steps) });
    }
    let _lock = alone(&job.backups, job.disk)?;
    repair.carry_out(&mut receipt)?;
    Ok(print_applied(&receipt, &[], job, out))
}

/// Says which files of a repair are as before it and which are not.
fn print_half_undone(receipt: &RepairReceipt, states: &[FileState], path: &Path, job: &RepairJob<'_>, out: &Printer) -> ExitStatus {
    let of = |wanted: FileState| {
        let files = receipt.files.iter().zip(states).filter(move |(_, state)| **state == wanted);
        files.map(|(file, _)| RelPath::from_key(&file.path).to_string()).collect::<Vec<String>>()
    };
    let (back, repaired, changed) = (of(FileState::Old), of(FileState::New), of(FileState::Other));
    if out.form() == Form::Json {
        out.object(&serde_json::json!({ "half_undone": { "back": back, "not_back": repaired, "changed": changed } }));
        return ExitStatus::Found;
    }
    let all = receipt.files.len();
    if back.len() == all {
        out.summary("every file is as before the repair, but that could not be recorded; the same command again does it");
        return ExitStatus::Found;
    }
    out.text(&format!("this repair is half undone: {} of {} as before it", back.len(), text::count(all as u64, "file")));
    for (files, what) in
        [(&back, "as before the repair"), (&repaired, "still as the repair left it"), (&changed, "changed since the repair")]
    {
        files.iter().for_each(|file| out.text(&format!("  {}: {what}", visible(file))));
    }
    let [source, path] = [&job.source, path].map(|path| text::shell_word(&path.display().to_string()));
    out.summary(&format!("to undo the rest: everlog repair {source} --undo {path}"));
    ExitStatus::Found
}

/// Takes the one writer's place, and sweeps what one that was cut short left.
fn alone(backups: &Path, disk: &dyn Disk) -> Result<StoreLock, StoreError> {
    let lock = StoreLock::take(&Store::at(backups), disk)?;
    sweep(disk, backups)?;
    Ok(lock)
}

/// Returns which steps of a plan are others now, as far as its fingerprint tells.
fn what_changed(steps: &[Step], wanted: &str) -> Vec<String> {
    let told: Vec<&str> = match wanted.split_once('-') {
        Some((_, digits)) => (0..digits.len()).step_by(STEP_DIGITS).filter_map(|at| digits.get(at..at + STEP_DIGITS)).collect(),
        None => Vec::new(),
    };
    let is_same = |step: &&Step| told.iter().any(|digits| step.digest().starts_with(digits));
    let mut changed: Vec<String> =
        steps.iter().filter(|step| !is_same(step)).map(|step| format!("{} is another step now", step.path)).collect();
    let kept = told.iter().filter(|digits| steps.iter().any(|step| step.digest().starts_with(**digits))).count();
    let gone = told.len().saturating_sub(kept + changed.len());
    if gone > 0 {
        changed.push(format!("{} no longer needed or no longer safe", text::count(gone as u64, "step")));
    }
    changed
}

fn print_applied(receipt: &RepairReceipt, left: &[AuditItem], job: &RepairJob<'_>, out: &Printer) -> ExitStatus {
    let path = job.backups.join(&receipt.fingerprint).join(RECEIPT);
    let kept = receipt.files.iter().filter(|file| file.old.is_some()).count();
    if out.form() == Form::Json {
        let applied = serde_json::json!({ "files": receipt.files.len(), "kept": kept, "receipt": path.display().to_string() });
        out.object(&BTreeMap::from([("applied", applied)]));
    } else {
        out.summary(&format!(
            "{} written, {} kept\nto undo it: everlog repair {} --undo {}",
            text::count(receipt.files.len() as u64, "file"),
            text::count(kept as u64, "old one"),
            text::shell_word(&job.source.display().to_string()),
            text::shell_word(&path.display().to_string())
        ));
    }
    if left.is_empty() { ExitStatus::Well } else { ExitStatus::Found }
}

fn undo(source: &Source, job: &RepairJob<'_>, receipt: &Path, out: &Printer) -> Result<ExitStatus, CommandError> {
    // A folder is that of a repair; a file is read under the very name that it has.
    let path = if receipt.is_dir() { receipt.join(RECEIPT) } else { receipt.to_owned() };
    let missing = StoreError::Io { doing: "read the receipt", path: path.clone(), source: std::io::ErrorKind::NotFound.into() };
    let repair = Repair::of_receipt(job.disk, &source.root, &path);
    let mut found = repair.receipt()?.ok_or(missing)?;
    repair_genuine::check(source, &repair, &found, job.now_ns)?;
    let folder = std::path::absolute(repair.folder()).map_err(StoreError::io("find", repair.folder()))?;
    let _lock = alone(folder.parent().unwrap_or(&folder), job.disk)?;
    if let Err(error) = repair.undo(&mut found) {
        let states = repair.states(&found)?;
        // Where nothing is back, nothing was done.
        if !states.contains(&FileState::Old) {
            return Err(error.into());
        }
        out.complain(&text::error(&error, None, error.hint()));
        return Ok(print_half_undone(&found, &states, &path, job, out));
    }
    let count = found.files.len();
    if out.form() == Form::Json {
        out.object(&serde_json::json!({ "undone": { "files": count } }));
    } else {
        out.summary(&format!("{} as before", text::count(count as u64, "file")));
    }
    Ok(ExitStatus::Well)
}
