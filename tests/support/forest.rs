//! Made-up sessions of the tree formats: what users, extensions, two programs
//! at once and editors do to a file of entries.

use everlog::model::files::{Entry, Files, RelPath, SourceFile};
use proptest::prelude::*;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    PiOne,
    PiTwo,
    PiThree,
    Harness,
    Tutorial,
    OpenClaw,
    OpenClawOne,
}

impl Flavour {
    pub fn format(self) -> &'static str {
        match self {
            Flavour::OpenClaw | Flavour::OpenClawOne => "openclaw",
            Flavour::PiOne | Flavour::PiTwo | Flavour::PiThree | Flavour::Harness | Flavour::Tutorial => "pi",
        }
    }

    fn header(self) -> &'static str {
        match self {
            Flavour::PiOne | Flavour::OpenClawOne => r#"{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#,
            Flavour::PiTwo => r#"{"type":"session","version":2,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#,
            Flavour::PiThree | Flavour::Harness | Flavour::OpenClaw => {
                r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#
            }
            Flavour::Tutorial => r#"{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p","version":1}"#,
        }
    }
}

/// One line, and what its ids are; numbers choose among earlier entries.
#[derive(Debug, Clone)]
pub struct Op {
    what: u8,
    /// Which entry it hangs below: mostly the leaf.
    below: u8,
    /// Which entry it is about.
    about: u8,
    /// How odd it is: mostly not at all.
    odd: u8,
    text: String,
}

pub fn history(most: usize) -> impl Strategy<Value = (Flavour, Vec<Op>)> {
    let flavour = prop_oneof![
        4 => Just(Flavour::PiThree),
        1 => Just(Flavour::PiOne),
        1 => Just(Flavour::PiTwo),
        1 => Just(Flavour::Harness),
        1 => Just(Flavour::Tutorial),
        4 => Just(Flavour::OpenClaw),
        1 => Just(Flavour::OpenClawOne),
    ];
    let op = (any::<u8>(), any::<u8>(), any::<u8>(), any::<u8>(), "[a-c\"\\\\\u{2028}é🧵]{0,6}");
    let op = op.prop_map(|(what, below, about, odd, text)| Op { what, below, about, odd, text });
    (flavour, proptest::collection::vec(op, 0..most))
}

/// Values that nobody expects.
const ODD_VALUES: [&str; 14] =
    ["null", "7", "-0", "1e400", "true", "\"\"", "[]", "{}", "\"e0\"", "\"\\ud800\"", "{\"toString\":1}", "[[\"2\"]]", "\"main\"", "\"s\""];

const ODD_TIMES: [&str; 8] =
    ["\"soon\"", "\"2026-01-01\"", "\"Mar 5, 2026\"", "86400000", "null", "{}", "\"2026-01-01T00:00:00\"", "{\"toString\":1}"];

struct Session {
    flavour: Flavour,
    lines: Vec<Vec<u8>>,
    /// The ids of the entries so far, as JSON.
    ids: Vec<String>,
    leaf: String,
}

impl Session {
    fn id_at(&self, n: u8) -> String {
        match self.ids.len() {
            0 => "null".to_owned(),
            len => self.ids[usize::from(n) % len].clone(),
        }
    }

    fn apply(&mut self, n: usize, op: &Op) {
        let text = serde_json::to_string(&op.text).unwrap();
        let about = if op.odd == 1 { ODD_VALUES[usize::from(op.about) % ODD_VALUES.len()].to_owned() } else { self.id_at(op.about) };
        let line = |session: &mut Session, kind: &str, rest: &str| session.entry(n, op, kind, rest);
        match op.what % 32 {
            0..=7 => line(self, "message", &format!(r#""message":{{"role":"user","content":{text},"timestamp":{n}}}"#)),
            8..=11 => line(
                self,
                "message",
                &format!(
                    r#""message":{{"role":"assistant","content":[{{"type":"text","text":{text}}}],"provider":"p","model":"m{n}","timestamp":{n}}}"#
                ),
            ),
            12 => line(
                self,
                "message",
                &format!(r#""message":{{"role":"toolResult","toolCallId":"c","toolName":"t","content":{text},"isError":false}}"#),
            ),
            13 => {
                let role = ["system", "hookMessage", "custom", "bashExecution", "toolResult"][usize::from(op.about) % 5];
                line(self, "message", &format!(r#""message":{{"role":"{role}","content":{text}}}"#));
            }
            14 => {
                let odd = ["null", "\"bare\"", "{}", "{\"role\":\"user\"}", "{\"role\":\"assistant\",\"content\":null}", "[]", "5"];
                line(self, "message", &format!(r#""message":{}"#, odd[usize::from(op.about) % odd.len()]));
            }
            15 => line(self, "message", ""),
            16 | 17 => {
                let extra = ["", ",\"systemMessage\":{\"role\":\"system\",\"content\":\"p\"}", ",\"systemMessage\":{\"role\":\"user\"}"];
                let kept = if self.flavour == Flavour::PiOne || self.flavour == Flavour::OpenClawOne {
                    format!("\"firstKeptEntryIndex\":{}", op.below % 12)
                } else {
                    format!("\"firstKeptEntryId\":{about}")
                };
                line(self, "compaction", &format!(r#""summary":{text},{kept},"tokensBefore":9{}"#, extra[usize::from(op.below) % 3]));
            }
            18 => line(self, "branch_summary", &format!(r#""fromId":{about},"summary":{text}"#)),
            19 => line(self, "model_change", &format!(r#""provider":"q","modelId":{text},"model":{text}"#)),
            20 => line(self, "thinking_level_change", &format!(r#""thinkingLevel":{}"#, if op.odd < 20 { &about } else { &text })),
            21 => line(self, "label", &format!(r#""targetId":{about},"label":{}"#, if op.odd < 20 { "7.0" } else { &text })),
            22 => line(self, "session_info", &format!(r#""name":{text}"#)),
            23 | 24 => {
                let replacement = [
                    ",\"replacement\":null",
                    ",\"replacement\":{\"content\":\"new\"}",
                    ",\"replacement\":{\"content\":[]}",
                    ",\"replacement\":5",
                    "",
                ];
                line(self, "context_edit", &format!(r#""targetId":{about}{}"#, replacement[usize::from(op.below) % 5]));
            }
            25 => line(self, "custom_message", &format!(r#""customType":"h","content":{text},"display":true"#)),
            26 => line(self, "custom", &format!(r#""customType":"h","data":{{"x":{text}}}"#)),
            27 => {
                let leaf = [r#""#, r#","appendMode":"side""#, r#","appendMode":"other""#][usize::from(op.below) % 3];
                line(self, "leaf", &format!(r#""targetId":{about}{leaf}"#));
            }
            28 => line(self, ["weather", "active_tools_change", "usage"][usize::from(op.about) % 3], r#""activeToolNames":["a"]"#),
            29 => {
                // The same line once more.
                if let Some(line) = (!self.lines.is_empty()).then(|| self.lines[usize::from(op.about) % self.lines.len()].clone()) {
                    self.lines.push(line);
                }
            }
            30 => {
                let odd: [&[u8]; 9] = [b"null", b"7", b"[]", b"{}", b"", b"\xff", b"\0\0", b"{\"type\":\"mess", b"\"text\""];
                self.lines.push(odd[usize::from(op.about) % odd.len()].to_vec());
            }
            _ => {
                // A torn line with a whole one after it.
                if let Some(mut last) = self.lines.pop() {
                    last.truncate(last.len() / 2);
                    line(self, "message", &format!(r#""message":{{"role":"user","content":{text}}}"#));
                    let whole = self.lines.pop().unwrap_or_default();
                    self.lines.push([last, whole].concat());
                }
            }
        }
    }

    fn entry(&mut self, n: usize, op: &Op, kind: &str, rest: &str) {
        let odd_value = || ODD_VALUES[usize::from(op.about) % ODD_VALUES.len()].to_owned();
        let id = match op.odd {
            2 => odd_value(),
            // An id that is there already.
            3..=6 => self.id_at(op.about),
            _ => format!("\"e{n}\""),
        };
        let parent = match op.odd {
            7 => odd_value(),
            8 => id.clone(),
            9 => "\"nobody\"".to_owned(),
            10..=12 => "null".to_owned(),
            // One that is yet to come.
            13 | 14 => format!("\"e{}\"", n + usize::from(op.below % 4)),
            _ if op.below < 60 => self.id_at(op.below),
            _ => self.leaf.clone(),
        };
        let time = match op.odd {
            15..=17 => ODD_TIMES[usize::from(op.about) % ODD_TIMES.len()].to_owned(),
            _ => format!("\"2026-01-02T00:{:02}:{:02}.000Z\"", n / 60 % 60, n % 60),
        };
        let side = if op.odd == 18 { ",\"appendMode\":\"side\"" } else { "" };
        let comma = if rest.is_empty() { "" } else { "," };
        let is_old = matches!(self.flavour, Flavour::PiOne | Flavour::OpenClawOne) && op.odd > 30;
        let line = match (is_old, op.odd) {
            (true, _) => format!(r#"{{"type":"{kind}","timestamp":{time}{comma}{rest}}}"#),
            // Without a parent, without an id, in another order, a key twice.
            (_, 19) => format!(r#"{{"type":"{kind}","id":{id},"timestamp":{time}{comma}{rest}}}"#),
            (_, 20) => format!(r#"{{"type":"{kind}","parentId":{parent},"timestamp":{time}{comma}{rest}}}"#),
            (_, 21..=25) => format!(r#"{{{rest}{comma}"parentId":{parent},"type":"{kind}","timestamp":{time},"id":{id}}}"#),
            (_, 26) => {
                format!(r#"{{"type":"label","id":"x","type":"{kind}","id":{id},"parentId":{parent},"timestamp":{time}{comma}{rest}}}"#)
            }
            _ => format!(r#"{{"type":"{kind}","id":{id},"parentId":{parent},"timestamp":{time}{comma}{rest}{side}}}"#),
        };
        self.lines.push(line.into_bytes());
        self.ids.push(id.clone());
        self.leaf = id;
    }
}

/// The files that a history leaves behind.
pub fn files(flavour: Flavour, history: &[Op]) -> Files {
    let mut session = Session { flavour, lines: vec![flavour.header().into()], ids: Vec::new(), leaf: "null".to_owned() };
    if flavour == Flavour::Tutorial {
        session.leaf = "\"s\"".to_owned();
    }
    for (n, op) in history.iter().enumerate() {
        session.apply(n, op);
    }
    // Some lose their header, or have it late, or end without a newline.
    match history.first().map(|op| op.odd) {
        Some(30) => drop(session.lines.remove(0)),
        Some(31) if session.lines.len() > 2 => session.lines.swap(0, 2),
        Some(32) => session.lines.insert(0, b"\xef\xbb\xbf \r".to_vec()),
        _ => {}
    }
    let mut bytes = session.lines.join(&b"\n"[..]);
    if history.last().is_none_or(|op| op.odd != 33) {
        bytes.push(b'\n');
    }
    let mut files = Files::new("made-up.jsonl");
    files.insert(RelPath::new("made-up.jsonl"), Entry::File(SourceFile { bytes, mtime_ns: 0 }));
    files
}
