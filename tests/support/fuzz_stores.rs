//! Receipts and tombstones that say anything at all: what reads them neither
//! panics nor hangs, changes nothing outside its source and its store, and no
//! receipt makes a log wrong or a file of a source other than it was.

use super::fuzzing::{Input, Target};
use super::prune::{Bench as PruneBench, Last, Run, Seen, Turn, session};
use super::scenarios::{lines, migrate_from, scratch};
use super::webui::Folder;
use super::{copy_tree, set_mtime, tree};
use everlog::commands::migrate::Sources;
use everlog::commands::prune::Action;
use everlog::model::digest::sha256_hex;
use everlog::store::disk::RealDisk;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;

/// What a file holds that is nobody's business.
const BYSTANDER: &str = "mine";

/// A source and its store as they are before each input, and a place where they
/// are put: always the same one, because tombstones name it.
struct Stage {
    scratch: TempDir,
    /// One input at a time.
    turn: Mutex<()>,
}

impl Stage {
    fn new(prepare: impl FnOnce(&Path)) -> Stage {
        let stage = Stage { scratch: scratch(), turn: Mutex::new(()) };
        fs::create_dir(stage.at()).unwrap();
        fs::write(stage.at().join("bystander"), BYSTANDER).unwrap();
        prepare(&stage.at());
        fs::rename(stage.at(), stage.kept()).unwrap();
        stage
    }

    fn at(&self) -> PathBuf {
        self.scratch.path().join("at")
    }

    fn kept(&self) -> PathBuf {
        self.scratch.path().join("kept")
    }

    /// What a private file of the store says.
    fn seed(&self, name: &str) -> Input {
        Input::from([(name.to_owned(), fs::read(self.kept().join("dest/.everlog").join(name)).unwrap())])
    }

    /// Everything as it was, but for the input's files in the store.
    fn play(&self, input: &Input, act: impl FnOnce(&Path) -> Result<String, String>) -> Result<String, String> {
        let _turn = self.turn.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let at = self.at();
        if at.exists() {
            fs::remove_dir_all(&at).unwrap();
        }
        copy_tree(&self.kept(), &at);
        for (name, bytes) in input {
            fs::write(at.join("dest/.everlog").join(name), bytes).unwrap();
        }
        let way = act(&at)?;
        let names: Vec<String> = fs::read_dir(&at).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap()).collect();
        let is_ours = |name: &String| ["bystander", "dest", "home", "logs"].contains(&name.as_str());
        match fs::read(at.join("bystander")) {
            Ok(bytes) if bytes == BYSTANDER.as_bytes() && names.iter().all(is_ours) => Ok(way),
            _ => Err(format!("something outside was touched: {names:?}")),
        }
    }
}

type Trees = BTreeMap<String, Vec<u8>>;

fn bytes_of(folder: &Path) -> Trees {
    tree(folder).into_iter().map(|(name, (bytes, _))| (name, bytes)).collect()
}

fn sorted_bytes(files: &Trees) -> Vec<&Vec<u8>> {
    let mut all: Vec<&Vec<u8>> = files.values().collect();
    all.sort();
    all
}

/// Two sessions, one of which is retired.
fn half_retired(at: &Path) {
    for name in ["one", "two"] {
        let folder = at.join("logs").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("conversation.jsonl"), lines(3)).unwrap();
        set_mtime(&folder.join("conversation.jsonl"), 1_700_000_000_000_000_000);
        if name == "one" {
            migrate_from(&at.join("logs"), &at.join("dest"), &RealDisk, Sources::Retire).unwrap();
        }
    }
    migrate_from(&at.join("logs"), &at.join("dest"), &RealDisk, Sources::Stay).unwrap();
}

/// Migrates and unretires by what the receipts say.
fn receipts(at: &Path) -> Result<String, String> {
    let (source, dest) = (at.join("logs"), at.join("dest"));
    let logs = |dest: &Path| -> Trees { bytes_of(dest).into_iter().filter(|(name, _)| !name.contains(".everlog/")).collect() };
    let (before, logs_before) = (bytes_of(&source), logs(&dest));
    let stayed = migrate_from(&source, &dest, &RealDisk, Sources::Stay);
    if bytes_of(&source) != before {
        return Err("a migration touched its source".to_owned());
    }
    if logs(&dest) != logs_before {
        return Err(format!("a receipt changed a log: {stayed:?}"));
    }
    let unretired = migrate_from(&source, &dest, &RealDisk, Sources::Unretire);
    let after = bytes_of(&source);
    if sorted_bytes(&after) != sorted_bytes(&before) {
        return Err(format!("a file was lost or changed: {unretired:?}"));
    }
    let places = after.keys().filter(|name| before.contains_key(*name)).count();
    Ok(format!("{stayed:?} {unretired:?} {places}"))
}

/// A prune that is done.
fn pruned(at: &Path) {
    let folder = Folder::below(at.join("home"));
    let over = Turn::over(Last::Completed, Seen::Answer, Run::Done);
    session(&folder, "aaa", &[over.clone(), Turn::over(Last::Submitted, Seen::Nothing, Run::None)]);
    session(&folder, "bbb", &[Turn { shards: [0, 0, 1, 1], ..over }]);
    let bench = prune_bench(at);
    bench.migrate();
    bench.apply();
}

fn prune_bench(at: &Path) -> PruneBench<'static> {
    PruneBench::of(&at.join("home/webui/sessions"), at)
}

/// Goes on with what tombstones say, and takes it back.
fn tombstones(at: &Path) -> Result<String, String> {
    let bench = prune_bench(at);
    let said = [Action::Plan, Action::Apply, Action::Undo(None)].map(|action| bench.run(action).map(|(status, rows)| (status, rows.len())));
    Ok(format!("{said:?}").chars().filter(|c| !c.is_ascii_digit()).collect())
}

/// A prune that was cut short: the same tombstones without their last line.
fn cut_short(seed: &Input) -> Input {
    let cut = |bytes: &Vec<u8>| {
        let end = memchr::memrchr(b'\n', &bytes[..bytes.len() - 1]).map_or(0, |end| end + 1);
        bytes[..end].to_vec()
    };
    seed.iter().map(|(name, bytes)| (name.clone(), cut(bytes))).collect()
}

/// A prune that was cut short and is to remove a file outside its source.
fn forged(seed: &Input) -> Input {
    let forge = |bytes: &Vec<u8>| {
        let line = bytes.split(|b| *b == b'\n').next().unwrap();
        let mut stone: Value = serde_json::from_slice(line).unwrap();
        stone["file"] = json!("../../../bystander");
        stone["old"] = json!({ "bytes": BYSTANDER.len(), "sha256": sha256_hex(BYSTANDER.as_bytes()) });
        for key in ["new", "edits", "log", "log_sha256", "log_path", "trash"] {
            stone.as_object_mut().unwrap().remove(key);
        }
        let mark = json!({ "prune": stone["prune"], "buried": 1 });
        format!("{stone}\n{mark}\n").into_bytes()
    };
    seed.iter().map(|(name, bytes)| (name.clone(), forge(bytes))).collect()
}

/// The targets that need a store.
pub fn targets<'a>() -> Vec<Target<'a>> {
    let (migrated, buried) = (Stage::new(half_retired), Stage::new(pruned));
    let (receipt, stone) = (migrated.seed("receipts.jsonl"), buried.seed("pruned.jsonl"));
    vec![
        Target {
            name: "receipts",
            seeds: vec![receipt],
            cost: 20,
            mutate: Box::new(|_, _| {}),
            run: Box::new(move |input| migrated.play(input, receipts)),
        },
        Target {
            name: "tombstones",
            seeds: vec![cut_short(&stone), forged(&stone), stone],
            cost: 40,
            mutate: Box::new(|_, _| {}),
            run: Box::new(move |input| buried.play(input, tombstones)),
        },
    ]
}
