//! The loop of the fuzzer: replay, damage, keep what is new, make smaller what
//! fails.

use super::damage::Seeded;
use super::{convert_and_prove, fixtures, sessions};
use everlog::model::digest::sha256_hex;
use everlog::model::files::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// An input is a set of files; a log or a text is a set of one.
pub type Input = BTreeMap<String, Vec<u8>>;

type Mutate<'a> = Box<dyn Fn(&mut Input, &mut Seeded) + Send + Sync + 'a>;
type Run<'a> = Box<dyn Fn(&Input) -> Result<String, String> + Send + Sync + 'a>;

/// How bytes are damaged.
type Damage = fn(&[u8], &mut Seeded) -> Vec<u8>;

/// One thing that is fuzzed.
pub struct Target<'a> {
    pub name: &'static str,
    pub seeds: Vec<Input>,
    /// Where runs are counted, each counts as so many.
    pub cost: usize,
    /// What is done to an input besides damage.
    pub mutate: Mutate<'a>,
    /// Which way an input went; or what is wrong.
    pub run: Run<'a>,
}

/// What came of it.
pub struct Fuzzed {
    pub name: &'static str,
    pub replayed: usize,
    pub tried: usize,
    pub ways: usize,
    pub failures: Vec<String>,
}

/// Larger inputs are for other tests.
const LARGEST: usize = 48 * 1024;
/// An input that takes this long is as bad as one that never ends.
const TOO_LONG: Duration = Duration::from_secs(10);

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn number_from(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|number| number.parse().ok())
}

/// Fuzzes all targets, two at a time: each for `FUZZ_SECONDS`, or else
/// `FUZZ_RUNS` times, which is the same on every machine.
pub fn fuzz(targets: Vec<Target<'_>>, damaged: Damage) -> Vec<Fuzzed> {
    let (waiting, done) = (Mutex::new(targets), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(target) = waiting.lock().unwrap().pop() else { return };
                    let fuzzed = fuzz_one(&target, damaged);
                    done.lock().unwrap().push(fuzzed);
                }
            });
        }
    });
    done.into_inner().unwrap()
}

fn fuzz_one(target: &Target<'_>, damaged: Damage) -> Fuzzed {
    let seconds = number_from("FUZZ_SECONDS").map(Duration::from_secs);
    let runs = super::campaign::rounds("FUZZ_RUNS", 1_500) as usize / target.cost;
    let mut fuzzed = Fuzzed { name: target.name, replayed: 0, tried: 0, ways: 0, failures: Vec::new() };
    let mut ways = BTreeSet::new();
    let mut pool = Vec::new();
    let mut random = Seeded(number_from("FUZZ_SEED").unwrap_or(1));
    let mut first = corpus(target.name);
    first.extend(target.seeds.iter().cloned());
    for input in first {
        fuzzed.replayed += 1;
        match attempt(target, &input) {
            Ok(way) => drop(ways.insert(way)),
            Err(why) => fuzzed.failures.push(keep(target, input.clone(), &why)),
        }
        pool.push(input);
    }
    assert!(!pool.is_empty(), "{} has no seeds", target.name);
    let began = Instant::now();
    while fuzzed.failures.len() < 5 && seconds.map_or(fuzzed.tried < runs, |seconds| began.elapsed() < seconds) {
        let mut input = pool[random.below(pool.len())].clone();
        let paths: Vec<String> = input.keys().cloned().collect();
        let path = &paths[random.below(paths.len())];
        let hurt = damaged(&input[path], &mut random);
        input.insert(path.clone(), hurt);
        (target.mutate)(&mut input, &mut random);
        fuzzed.tried += 1;
        match attempt(target, &input) {
            Ok(way) => {
                if ways.insert(way) && size(&input) <= LARGEST {
                    save(target.name, &input);
                    pool.push(input);
                }
            }
            Err(why) => fuzzed.failures.push(keep(target, input, &why)),
        }
    }
    fuzzed.ways = ways.len();
    fuzzed
}

fn size(input: &Input) -> usize {
    input.values().map(Vec::len).sum()
}

fn attempt(target: &Target<'_>, input: &Input) -> Result<String, String> {
    let began = Instant::now();
    let way = catch_unwind(AssertUnwindSafe(|| (target.run)(input))).unwrap_or_else(|panic| {
        let what = panic.downcast_ref::<&str>().map(ToString::to_string).or_else(|| panic.downcast_ref::<String>().cloned());
        Err(format!("panicked: {}", what.unwrap_or_default()))
    });
    if began.elapsed() > TOO_LONG {
        return Err(format!("took {:?}", began.elapsed()));
    }
    way
}

/// Makes an input that fails smaller, keeps it, and says where.
fn keep(target: &Target<'_>, mut input: Input, why: &str) -> String {
    let began = Instant::now();
    let fails = |input: &Input| began.elapsed() < TOO_LONG && attempt(target, input).is_err();
    for path in input.keys().cloned().collect::<Vec<_>>() {
        let mut without = input.clone();
        without.remove(&path);
        if !without.is_empty() && fails(&without) {
            input = without;
            continue;
        }
        let mut step = input[&path].len() / 2;
        while step > 0 {
            let mut at = 0;
            while at < input[&path].len() {
                let mut shorter = input.clone();
                let bytes = &input[&path];
                shorter.insert(path.clone(), [&bytes[..at], &bytes[(at + step).min(bytes.len())..]].concat());
                if fails(&shorter) {
                    input = shorter;
                } else {
                    at += step;
                }
            }
            step /= 2;
        }
    }
    let place = fuzz_folder().join("failures").join(target.name);
    let kept = write(&place, &input);
    format!("{}: {why}\n  kept in {}", target.name, kept.display())
}

/// Keeps what went a new way, where `FUZZ_SAVE` names a folder for it.
fn save(name: &str, input: &Input) {
    if let Some(folder) = std::env::var_os("FUZZ_SAVE").filter(|_| size(input) <= 4 * 1024) {
        write(&Path::new(&folder).join(name), input);
    }
}

fn write(place: &Path, input: &Input) -> PathBuf {
    let all: Vec<u8> = input.iter().flat_map(|(path, bytes)| [path.as_bytes(), bytes].concat()).collect();
    let folder = place.join(&sha256_hex(&all)[..12]);
    for (path, bytes) in input {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }
    folder
}

/// The inputs that are kept: one folder each, with their files in it.
fn corpus(name: &str) -> Vec<Input> {
    let Ok(entries) = fs::read_dir(fuzz_folder().join("corpus").join(name)) else { return Vec::new() };
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders.iter().map(|folder| super::tree(folder).into_iter().map(|(path, (bytes, _))| (path, bytes)).collect()).collect()
}

/// The sessions of the fixtures of a format, where they are small.
pub fn seeds_of_sources(format: &str) -> Vec<Input> {
    let mut seeds = Vec::new();
    for case in fixtures().iter().filter(|case| case.format == format) {
        let scratch = case.copy();
        for (_, files) in sessions(&scratch.path().join("input")) {
            let mut input = Input::new();
            for (path, entry) in files.iter() {
                if let (Entry::File(file), Some(path)) = (entry, path.as_text()) {
                    input.insert(path.to_owned(), file.bytes.clone());
                }
            }
            if !input.is_empty() && size(&input) <= LARGEST {
                seeds.push(input);
            }
        }
    }
    seeds
}

/// The logs of the same, one small one of each case.
pub fn seeds_of_logs() -> Vec<Input> {
    let mut seeds = Vec::new();
    for case in fixtures() {
        let scratch = case.copy();
        for (unit, files) in sessions(&scratch.path().join("input")) {
            let (converted, _) = convert_and_prove(unit.found.adapter, &files).unwrap();
            if converted.log.len() <= LARGEST {
                seeds.push(Input::from([("log.everlog.jsonl".to_owned(), converted.log)]));
                break;
            }
        }
    }
    seeds
}
