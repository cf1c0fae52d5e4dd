//! The rows of a session that say more than their values: its transcript, wherever
//! that is kept, prompts that wait, and its entry in the list of sessions.

use crate::json::{self, Value};
use crate::model::files::{Entry, Files};
use crate::model::packing::unpack;
use crate::model::rows::{LeftOut, RowValue, RowsHeader, RowsLine, lines};
use crate::runtimes::javascript as js;

/// A text that a row holds.
pub(super) struct Text {
    /// The line of the row.
    pub(super) line: usize,
    /// Its place among the others.
    pub(super) seq: i64,
    /// The column that holds it.
    pub(super) column: &'static str,
    pub(super) text: Vec<u8>,
}

/// A line of a packed transcript.
pub(super) enum PackedLine {
    /// An entry: the text of it is this one of the transcript's.
    Entry(usize),
    /// An entry inside a record of the archive: what stands before and after it.
    Inside(Vec<u8>, usize, Vec<u8>),
    Other(Vec<u8>),
}

/// A transcript that is packed as a whole.
pub(super) struct Packed {
    /// The line of the row that names it.
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) lines: Vec<PackedLine>,
    /// The entries by their order.
    pub(super) texts: Vec<Vec<u8>>,
    pub(super) kept_in: KeptIn,
}

/// Where the bytes of a packed transcript are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeptIn {
    Row,
    File,
}

/// What a session's rows hold.
#[derive(Default)]
pub(super) struct Tables {
    /// The session's id, where the rows are of one.
    pub(super) id: Option<String>,
    pub(super) key: Option<String>,
    pub(super) title: Option<String>,
    pub(super) made_from: Option<String>,
    pub(super) model: Option<String>,
    /// The version of the schema, where the rows have it.
    pub(super) version: Option<i64>,
    /// The transcript, by its order numbers.
    pub(super) transcript: Vec<Text>,
    /// Prompts that wait, each as an entry of a transcript.
    pub(super) waiting: Vec<Text>,
    /// The session's entry in the list of sessions, with its line.
    pub(super) entry: Option<(usize, Vec<u8>)>,
    pub(super) archives: Vec<Packed>,
    pub(super) cold: Option<Packed>,
    /// Whether a cold archive is named that cannot be read.
    pub(super) lacks_cold: bool,
    /// Tables whose rows are not carried.
    pub(super) left_out: Vec<LeftOut>,
}

/// The values of a row by their columns.
struct Cells<'a> {
    values: Vec<(String, Value<'a>)>,
}

impl<'a> Cells<'a> {
    fn get(&self, column: &str) -> Option<RowValue<'a>> {
        self.values.iter().find(|(name, _)| name == column).and_then(|(_, value)| RowValue::read(*value))
    }

    fn text(&self, column: &str) -> Option<String> {
        self.get(column).and_then(|value| value.as_text().map(str::to_owned)).filter(|text| !text.is_empty())
    }

    fn bytes(&self, column: &str) -> Option<Vec<u8>> {
        match self.get(column)? {
            RowValue::Text(bytes) | RowValue::Blob(bytes) => Some(bytes.into_owned()),
            RowValue::Null | RowValue::Integer(_) | RowValue::Real(_) => None,
        }
    }

    fn integer(&self, column: &str) -> Option<i64> {
        match self.get(column)? {
            RowValue::Integer(number) => Some(number),
            RowValue::Null | RowValue::Real(_) | RowValue::Text(_) | RowValue::Blob(_) => None,
        }
    }
}

impl Tables {
    /// Reads the text of a session's rows; `files` are those beside it.
    pub(super) fn of(text: &[u8], files: &Files) -> Tables {
        let mut tables = Tables::default();
        let mut header: Option<RowsHeader> = None;
        for (n, line) in lines(text).enumerate() {
            match RowsLine::read(line) {
                Some(RowsLine::Rows(next)) => header = Some(next),
                Some(RowsLine::Database(settings)) => tables.version = Some(settings.user_version),
                Some(RowsLine::Row(row)) => {
                    if let Some(header) = &header {
                        let skip = usize::from(header.rowid);
                        let values = header.listed().map(str::to_owned).zip(row.elements().skip(skip)).collect();
                        tables.row(n, header, &Cells { values }, files);
                    }
                }
                Some(RowsLine::LeftOut(left_out)) => tables.left_out.push(left_out),
                Some(RowsLine::Schema(_)) | None => {}
            }
        }
        tables.transcript.sort_by_key(|text| text.seq);
        tables
    }

    fn row(&mut self, line: usize, header: &RowsHeader, cells: &Cells<'_>, files: &Files) {
        let of_session = header.all.as_ref().map(|(_, id)| id);
        match (header.table.as_str(), of_session) {
            ("session_windows", Some(id)) => {
                self.id = Some(id.clone());
                self.key = cells.text("session_key");
                self.title = self.title.take().or_else(|| cells.text("display_name"));
                self.made_from = self.made_from.take().or_else(|| cells.text("previous_session_id"));
                let name = |column| cells.text(column).unwrap_or_default();
                self.model = cells.text("model").map(|model| format!("{}/{model}", name("model_provider")));
            }
            ("session_nodes", Some(_)) => {
                self.title = cells.text("label").or_else(|| cells.text("display_name")).or_else(|| self.title.take());
                self.made_from = cells.text("fork_source_session_id").or_else(|| self.made_from.take());
                self.entry = cells.bytes("entry_json").map(|entry| (line, entry));
            }
            ("transcript_events", Some(_)) => self.transcript.extend(event(line, cells)),
            ("session_pending_inputs", Some(_)) => self.waiting.extend(prompt(line, cells)),
            ("session_transcript_archives", _) => {
                let plain = cells.bytes("archive_blob").and_then(|blob| plain(&blob));
                if let (Some(name), Some(plain)) = (cells.text("archive_name"), plain) {
                    self.archives.push(archive(line, name, &plain));
                }
            }
            ("session_transcript_cold_archives", Some(_)) => {
                let blob = cells.bytes("archive_blob");
                let kept_in = if blob.is_some() { KeptIn::Row } else { KeptIn::File };
                let name = cells.text("archive_name").unwrap_or_default();
                let bytes = blob.or_else(|| file_named(files, &name).map(<[u8]>::to_vec));
                self.cold = bytes.and_then(|bytes| plain(&bytes)).and_then(|plain| cold(line, name, &plain, kept_in));
                self.lacks_cold = self.cold.is_none();
            }
            _ => {}
        }
    }
}

/// The file of this name among those beside a session's rows.
fn file_named<'f>(files: &'f Files, name: &str) -> Option<&'f [u8]> {
    files.iter().find_map(|(path, entry)| match entry {
        Entry::File(file) if path.as_bytes().rsplit(|byte| *byte == b'/').next() == Some(name.as_bytes()) => Some(file.bytes.as_slice()),
        Entry::File(_) | Entry::Rows(_) | Entry::Link { .. } | Entry::EmptyFolder => None,
    })
}

/// The content of an archive, compressed or not; nothing where it is damaged.
fn plain(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.starts_with(&crate::model::packing::ZSTD_MAGIC) { unpack(bytes) } else { Some(bytes.to_vec()) }
}

fn event(line: usize, cells: &Cells<'_>) -> Option<Text> {
    let seq = cells.integer("seq")?;
    if let Some(text) = cells.bytes("event_json") {
        return Some(Text { line, seq, column: "event_json", text });
    }
    let packed = cells.bytes("event_zstd")?;
    // What cannot be unpacked is not JSON either, and fails the load.
    let text = unpack(&packed).unwrap_or(packed);
    Some(Text { line, seq, column: "event_zstd", text })
}

/// What a prompt that waits will be once it is taken up.
fn prompt(line: usize, cells: &Cells<'_>) -> Option<Text> {
    let message = cells.bytes("message_json")?;
    json::validate(&message, json::Dialect::Strict).ok().filter(|scan| scan.value.is_object())?;
    let text = [b"{\"type\":\"message\",\"message\":", message.as_slice(), b"}"].concat();
    Some(Text { line, seq: cells.integer("seq").unwrap_or_default(), column: "message_json", text })
}

/// A transcript that was packed line by line.
fn archive(line: usize, name: String, plain: &[u8]) -> Packed {
    let mut packed = Packed { line, name, lines: Vec::new(), texts: Vec::new(), kept_in: KeptIn::Row };
    for text in plain.split(|byte| *byte == b'\n') {
        if js::is_blank(text) {
            packed.lines.push(PackedLine::Other(text.to_vec()));
        } else {
            packed.lines.push(PackedLine::Entry(packed.texts.len()));
            packed.texts.push(text.to_vec());
        }
    }
    packed
}

/// A transcript that was packed with everything that belongs to it: the entries stand
/// in records of their own. Nothing where a line is not such a record.
fn cold(line: usize, name: String, plain: &[u8], kept_in: KeptIn) -> Option<Packed> {
    let mut packed = Packed { line, name, lines: Vec::new(), texts: Vec::new(), kept_in };
    let mut order: Vec<(i64, usize)> = Vec::new();
    for text in plain.split(|byte| *byte == b'\n') {
        if js::is_blank(text) {
            packed.lines.push(PackedLine::Other(text.to_vec()));
            continue;
        }
        let record = json::validate(text, json::Dialect::Strict).ok()?.value;
        let is_event = record.get("kind").is_some_and(|kind| kind.is_str("event"));
        let row = record.get("row").filter(|_| is_event);
        let entry = row.and_then(|row| row.get("event_json")).filter(|entry| entry.is_string());
        let Some(entry) = entry else {
            packed.lines.push(PackedLine::Other(text.to_vec()));
            continue;
        };
        let at = entry.span_in(text);
        let decoded = js::decode(entry.text()).into_owned();
        let mut printed = Vec::new();
        js::push_string(&decoded, &mut printed);
        // A text in another spelling than the program's stays in its line.
        packed.lines.push(match printed == entry.text() {
            true => PackedLine::Inside(text[..at.start].to_vec(), packed.texts.len(), text[at.end..].to_vec()),
            false => PackedLine::Other(text.to_vec()),
        });
        order.push((row.and_then(|row| row.get("seq")?.parse()).unwrap_or_default(), packed.texts.len()));
        packed.texts.push(decoded);
    }
    order.sort_by_key(|(seq, _)| *seq);
    // The texts stand in the order of their numbers, and lines name them by their place.
    let mut place = vec![0; order.len()];
    for (now, (_, before)) in order.iter().enumerate() {
        place[*before] = now;
    }
    for line in &mut packed.lines {
        if let PackedLine::Inside(_, n, _) = line {
            *n = place[*n];
        }
    }
    let mut texts: Vec<(usize, Vec<u8>)> = packed.texts.into_iter().enumerate().map(|(n, text)| (place[n], text)).collect();
    texts.sort_by_key(|(place, _)| *place);
    packed.texts = texts.into_iter().map(|(_, text)| text).collect();
    Some(packed)
}
