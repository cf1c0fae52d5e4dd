//! The rows of a session, or those that belong to none, as events: the transcript as
//! the entries it is made of, prompts that wait and archives beside it, and every row.

use std::collections::{BTreeMap, HashMap};

use crate::adapters::format::{Check, ReadSummary};
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::entries::facts;
use crate::adapters::kit::entries::schema::{EntrySchema, Reader};
use crate::adapters::kit::rows;
use crate::adapters::kit::tree::schema::TreeSchema;
use crate::json::{self, Dialect, Escapes, Value};
use crate::model::event::{EventKind, Fidelity, Outcome, Session, SessionKind};
use crate::model::files::{Entry, Files, RelPath};
use crate::model::finding::{FindingCode, Findings};
use crate::model::heads::{HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::rows::{RowValue, RowsHeader, RowsLine, lines};
use crate::model::stream::{EventSink, StreamError};
use crate::runtimes::javascript as js;

use super::place::{self, Judged, Transcript};
use super::row::{self, PACKED, ROWS};
use super::schema::ID;
use super::tables::{KeptIn, Packed, PackedLine, Tables};

/// Why a session whose transcript was moved away shows nothing.
const COLD: &str = "SessionTranscriptColdError";

/// Converts a session, or what belongs to none.
pub(super) fn read(files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
    let Some((path, text)) = files.rows() else { return Conversion::new(files, check, events, findings).trailer(&[]) };
    let tables = Tables::of(text, files);
    let main = match &tables.cold {
        Some(cold) if tables.transcript.is_empty() => Transcript::of(cold.texts.iter().map(Vec::as_slice)),
        _ => Transcript::of(tables.transcript.iter().map(|text| text.text.as_slice())),
    };
    let waiting = Transcript::of(tables.waiting.iter().map(|text| text.text.as_slice()));
    let archives: Vec<Transcript<'_>> =
        tables.archives.iter().map(|archive| Transcript::of(archive.texts.iter().map(Vec::as_slice))).collect();
    let to = Conversion::new(files, check, events, findings);
    let mut unit = Unit { reader: Reader::new(to), path, tables: &tables, said: HashMap::new(), of_file: None, texts: HashMap::new() };
    let judged = place::judge(&main);
    tables.left_out.iter().for_each(|left_out| rows::note_left_out(&mut unit.reader.to, path, left_out));
    unit.session(&main, &judged)?;
    let ending = unit.conversation(&main, &judged)?;
    unit.beside(&waiting, &archives)?;
    unit.files();
    unit.rows(text)?;
    unit.end(&main, &judged, ending)
}

/// What other events say of a row.
struct Said {
    /// The columns, as the row's event names them.
    of: Vec<u8>,
    /// The columns whose values are left out.
    without: Vec<&'static str>,
    events: Vec<Seq>,
}

struct Unit<'a, 's> {
    reader: Reader<'a, 's>,
    path: &'a RelPath,
    tables: &'a Tables,
    /// What is said of rows, by their lines.
    said: HashMap<usize, Said>,
    /// What is said of the file of a cold archive.
    of_file: Option<Vec<u8>>,
    /// The texts that events were made of.
    texts: HashMap<Seq, &'a [u8]>,
}

/// How a load of the main transcript ends.
#[derive(Default)]
struct Ending {
    error: Option<&'static str>,
    failures: BTreeMap<String, String>,
}

impl<'a> Unit<'a, '_> {
    /// Puts what the log says of itself, and the session's entry in the list of sessions.
    fn session(&mut self, main: &Transcript<'a>, judged: &Judged) -> Result<(), StreamError> {
        let depth = self.path.folders().count() as u32;
        let session = match &self.tables.id {
            Some(id) => {
                let version = judged.version.clone().unwrap_or_else(|| "1".to_owned());
                let mut session = facts::session(ID, id, &main.scan.entries, version);
                session.id.clone_from(id);
                // The log lies in a folder that has the name of the database.
                session.above = Some(depth + 1);
                session.title.clone_from(&self.tables.title);
                session.parent_session = session.parent_session.or_else(|| self.tables.made_from.clone());
                session
            }
            None => {
                let mut session = Session::new(SessionKind::Store, ID, self.path.to_string());
                session.above = Some(depth).filter(|depth| *depth > 0);
                session.format_version = self.tables.version.map(|version| version.to_string());
                session
            }
        };
        self.reader.to.put_json(EventKind::Session, &Session { fidelity: Some(Fidelity::Rows), ..session })?;
        let Some((line, entry)) = &self.tables.entry else { return Ok(()) };
        let Ok(scan) = json::validate(entry, Dialect::Strict) else { return Ok(()) };
        let mut payload = b"{\"store\":".to_vec();
        json::push_string(&self.path.to_string(), &mut payload);
        payload.extend_from_slice(b",\"key\":");
        json::push_string(self.tables.key.as_deref().unwrap_or_default(), &mut payload);
        payload.extend_from_slice(b",\"entry\":");
        let start = payload.len();
        json::push_carried_value(scan.value, Escapes::Utf8, &mut payload);
        let mut again = Vec::new();
        EntrySchema::STYLE.push_value(Value::trusted(&payload[start..]), &mut again);
        payload.push(b'}');
        let seq = self.reader.to.put(EventKind::Meta, None, None, &payload)?;
        if again == *entry {
            self.say(*line, "entry_json", seq.to_string().into_bytes(), &[seq]);
        }
        Ok(())
    }

    fn say(&mut self, line: usize, column: &'static str, of: Vec<u8>, events: &[Seq]) {
        // A blob stays: it cannot be made again from its text.
        let without = if column.ends_with("_json") { vec![column] } else { Vec::new() };
        let of = [b"{\"", column.as_bytes(), b"\":", &of, b"}"].concat();
        self.said.insert(line, Said { of, without, events: events.to_vec() });
    }

    /// Puts the transcript, and its heads.
    fn conversation(&mut self, main: &Transcript<'a>, judged: &Judged) -> Result<Ending, StreamError> {
        let entries = &main.scan.entries;
        let seqs = self.reader.entries(self.path, &main.scan, &judged.placed)?;
        for (n, seq) in seqs.iter().enumerate() {
            self.texts.insert(*seq, entries[n].line.text);
        }
        if self.tables.transcript.is_empty() {
            if let Some(cold) = &self.tables.cold {
                self.say_packed(cold, main, &seqs);
            }
        } else {
            for (n, seq) in main.places.iter().zip(&seqs) {
                let text = &self.tables.transcript[*n];
                self.say(text.line, text.column, seq.to_string().into_bytes(), &[*seq]);
            }
        }
        for n in &main.broken {
            let message =
                "a row of the transcript whose text is not JSON; the program cannot load the session, and the row is carried as it is";
            self.reader.to.findings.add(FindingCode::NotJson, Location::of_path(self.path), format!("{message} (number {})", n + 1));
        }
        let mut ending = Ending { error: judged.error, ..Ending::default() };
        if self.tables.lacks_cold && main.scan.entries.is_empty() {
            ending.error = Some(COLD);
            let message = "names a cold archive that is not there or is damaged: this session shows nothing until the file is back";
            self.reader.to.findings.add(FindingCode::Unreadable, Location::of_path(self.path), message);
        }
        self.heads(main, judged, &seqs, &mut ending)?;
        Ok(ending)
    }

    fn heads(&mut self, main: &Transcript<'a>, judged: &Judged, seqs: &[Seq], ending: &mut Ending) -> Result<(), StreamError> {
        let entries = &main.scan.entries;
        self.reader.set_main(judged.leaf.map_or(Seq::ROOT, |leaf| seqs[leaf]))?;
        let active = judged.leaf.filter(|_| ending.error.is_none());
        let of_leaf = active.and_then(|leaf| judged.why(leaf, entries));
        ending.error = ending.error.or(of_leaf);
        let mut odd = Vec::new();
        let others = judged.others.iter().map(|(id, entry)| (HeadName::new(HeadKind::Branch, id.clone()), *entry));
        for (head, entry) in active.map(|leaf| (HeadName::main(), leaf)).into_iter().chain(others) {
            let is_main = head == HeadName::main();
            let why = judged.why(entry, entries);
            ending.failures.extend(why.map(|why| (head.to_string(), why.to_owned())));
            match judged.odd_branch(entry, entries).filter(|_| why.is_none()) {
                Some(branch) => odd.push((head, branch)),
                None if is_main => {}
                None => self.reader.to.put_head(&head, seqs[entry], HeadOp::Append)?,
            }
        }
        if odd.is_empty() {
            return Ok(());
        }
        // What the program shows of these branches, no path of the log's tree is.
        let mut retelling = self.reader.retell(self.path, &main.scan, &judged.placed, seqs)?;
        let mut nodes = Vec::new();
        for (head, branch) in odd {
            nodes.push((head, retelling.branch(&branch.context(), &[])?));
        }
        for (head, node) in nodes {
            self.reader.to.put_head(&head, node, HeadOp::Append)?;
        }
        Ok(())
    }

    /// Puts prompts that wait, and what archives hold: each is a head of its own.
    fn beside(&mut self, waiting: &Transcript<'a>, archives: &[Transcript<'a>]) -> Result<(), StreamError> {
        if !waiting.scan.entries.is_empty() {
            self.reader.switch_to_nobody()?;
            let judged = place::judge(waiting);
            let seqs = self.reader.waiting(self.path, &waiting.scan, &judged.placed)?;
            for (n, seq) in waiting.places.iter().zip(&seqs) {
                let text = &self.tables.waiting[*n];
                self.texts.insert(*seq, text.text.as_slice());
                self.say(text.line, text.column, seq.to_string().into_bytes(), &[*seq]);
            }
        }
        for (archive, transcript) in self.tables.archives.iter().zip(archives) {
            self.reader.switch_to_nobody()?;
            let judged = place::judge(transcript);
            let seqs = self.reader.entries(self.path, &transcript.scan, &judged.placed)?;
            for (n, seq) in seqs.iter().enumerate() {
                self.texts.insert(*seq, transcript.scan.entries[n].line.text);
            }
            self.say_packed(archive, transcript, &seqs);
            let leaf = judged.leaf.map_or(Seq::ROOT, |leaf| seqs[leaf]);
            self.reader.to.put_head(&HeadName::new(HeadKind::Backup, archive.name.clone()), leaf, HeadOp::Load)?;
        }
        Ok(())
    }

    /// Says which events a packed transcript holds.
    fn say_packed(&mut self, packed: &Packed, transcript: &Transcript<'a>, seqs: &[Seq]) {
        let mut event_of: HashMap<usize, Seq> = HashMap::new();
        event_of.extend(transcript.places.iter().copied().zip(seqs.iter().copied()));
        let raw = |bytes: &[u8]| RowValue::Text(bytes.into()).to_json();
        let item = |line: &PackedLine| match line {
            PackedLine::Other(text) => raw(text),
            PackedLine::Entry(n) => event_of.get(n).map_or_else(|| raw(&packed.texts[*n]), |seq| seq.to_string().into_bytes()),
            PackedLine::Inside(before, n, after) => {
                let mut printed = Vec::new();
                js::push_string(&packed.texts[*n], &mut printed);
                match event_of.get(n) {
                    Some(seq) => [b"[".as_slice(), &raw(before), b",", seq.to_string().as_bytes(), b",", &raw(after), b"]"].concat(),
                    None => raw(&[before.as_slice(), &printed, after].concat()),
                }
            }
        };
        let items: Vec<Vec<u8>> = packed.lines.iter().map(item).collect();
        let of = [b"[".as_slice(), &items.join(&b','), b"]"].concat();
        match packed.kept_in {
            KeptIn::Row => self.say(packed.line, "archive_blob", of, seqs),
            KeptIn::File => self.of_file = Some(of),
        }
    }

    /// Says how a cold archive is rebuilt. Other files are carried as they are.
    fn files(&mut self) {
        let (Some(cold), Some(said)) = (&self.tables.cold, self.of_file.take()) else { return };
        for (path, entry) in self.reader.to.files.iter() {
            let is_it = path.as_bytes().rsplit(|byte| *byte == b'/').next() == Some(cold.name.as_bytes());
            let Entry::File(file) = entry else { continue };
            if is_it {
                let mut recipe = RecipeBuilder::default();
                recipe.own(row::packed_piece(&file.bytes, &said));
                self.reader.to.rebuilt(path, PACKED, None, recipe);
            }
        }
    }

    /// Puts every row, and what is known of the tables.
    fn rows(&mut self, text: &'a [u8]) -> Result<(), StreamError> {
        let mut recipe = RecipeBuilder::default();
        let mut header: Option<RowsHeader> = None;
        for (n, line) in lines(text).enumerate() {
            let read = RowsLine::read(line);
            let of_row = match (&read, &header) {
                (Some(RowsLine::Row(row)), Some(header)) => self.said.remove(&n).map(|said| (*row, header, said)),
                _ => None,
            };
            let seq = match (&of_row, line.first()) {
                (Some((row, header, said)), _) => {
                    let kept = without(header, *row, &said.without);
                    let payload = [b"{\"row\":", kept.as_slice(), b",\"of\":", &said.of, b"}"].concat();
                    self.reader.to.put(EventKind::Row, None, None, &payload)?
                }
                (None, Some(b'[')) => self.reader.to.put(EventKind::Row, None, None, &[b"{\"row\":", line, b"}"].concat())?,
                (None, _) => self.reader.to.put(EventKind::Row, None, None, line)?,
            };
            match of_row.map(|(row, header, said)| self.rendered(header, row, &said)).transpose()?.flatten() {
                Some(rendered) if rendered != line => {
                    let count = self.reader.to.residual((seq, seq), &rendered, line);
                    recipe.residual(count);
                }
                _ => recipe.events(seq, seq, |_, _| true),
            }
            if let Some(RowsLine::Rows(next)) = read {
                header = Some(next);
            }
        }
        self.reader.to.rebuilt(self.path, ROWS, None, recipe);
        Ok(())
    }

    /// What a row is rendered to, where one of its events does not give back its text.
    fn rendered(&self, header: &RowsHeader, row: Value<'_>, said: &Said) -> Result<Option<Vec<u8>>, StreamError> {
        if !said.events.iter().any(|seq| self.reader.rendered.contains_key(seq)) {
            return Ok(None);
        }
        let kept = without(header, row, &said.without);
        let text_of = |seq: Seq| {
            let other = self.reader.rendered.get(&seq).map(Vec::as_slice);
            Ok(other.or_else(|| self.texts.get(&seq).copied()).unwrap_or_default().to_vec())
        };
        row::compose(header, Value::trusted(&kept), Value::trusted(&said.of), &mut { text_of }).map(Some)
    }

    fn end(mut self, main: &Transcript<'a>, judged: &Judged, ending: Ending) -> Result<ReadSummary, StreamError> {
        let entries = &main.scan.entries;
        let mut facts = if judged.error.is_none() { judged.state(entries) } else { BTreeMap::new() };
        let mut model = None;
        if ending.error.is_none() && self.tables.id.is_some() {
            let (last, level) = judged.settings(entries);
            model = last;
            facts.extend(level.map(|level| ("thinking_level".to_owned(), level)));
        }
        let active = HeadName::main().to_string();
        let outcome = Outcome {
            active: Some(active.clone()),
            model,
            facts,
            error: ending.error.map(str::to_owned),
            failures: ending.failures,
            ..Outcome::default()
        };
        self.reader.to.put_json(EventKind::Outcome, &outcome)?;
        self.reader.to.events.close_facts(&active)?;
        self.reader.trailer()
    }
}

/// A row with `null` in the place of the values of some columns.
fn without(header: &RowsHeader, row: Value<'_>, columns: &[&str]) -> Vec<u8> {
    let skip = usize::from(header.rowid);
    let left_out: Vec<usize> = header.listed().enumerate().filter(|(_, name)| columns.contains(name)).map(|(n, _)| n + skip).collect();
    let values: Vec<&[u8]> =
        row.elements().enumerate().map(|(n, value)| if left_out.contains(&n) { b"null".as_slice() } else { value.text() }).collect();
    [b"[".as_slice(), &values.join(&b','), b"]"].concat()
}
