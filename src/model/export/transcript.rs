//! A session as a target writes it: a list of entries in which every call has
//! its result directly after it, and nothing that the target cannot say.

use sha2::{Digest, Sha256};

use crate::model::digest::hex;

use super::instant::Instant;

/// A session that is ready to be written.
#[derive(Debug, Clone)]
pub struct Transcript {
    /// Where ids come from.
    pub seed: Seed,
    /// The format that the session comes from.
    pub source: String,
    /// Its title.
    pub title: Option<String>,
    /// What its program sends before the messages of what is no longer among them.
    pub summary: Option<String>,
    /// The folder that it worked in.
    pub cwd: Option<String>,
    /// The folder in which the program will find all its sessions, where that is known.
    pub folder: Option<String>,
    /// When it began.
    pub created: Instant,
    /// What was said, in order.
    pub entries: Vec<Entry>,
}

/// One record of the exported session.
#[derive(Debug, Clone)]
pub struct Entry {
    /// An id that no other entry of the session has: eight hexadecimal digits,
    /// or the source's own where that comes from the same format.
    pub id: String,
    /// Its time, with no more digits than the target keeps.
    pub time: Instant,
    /// What it says.
    pub body: Body,
    /// What goes along in an extension member, as JSON: facts that the target
    /// has no place for.
    pub carried: Option<String>,
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A system message.
    System(String),
    /// A message of the person.
    User(Vec<Piece>),
    /// An answer of the model.
    Answer(Answer),
    /// What a tool answered.
    Result(CallResult),
    /// A note of a program, which the model sees.
    Note {
        /// Its kind, in the source's own word.
        kind: String,
        /// What it says.
        pieces: Vec<Piece>,
    },
    /// A summary in the place of what was said before.
    Compaction {
        /// The summary.
        summary: String,
        /// From which entry on the rest is kept; nothing where there is none.
        first_kept: Option<usize>,
        /// How many tokens it replaced.
        tokens_before: u64,
    },
    /// A summary of a branch that was left.
    BranchSummary(String),
    /// Another model from here on.
    Model {
        /// Its provider.
        provider: String,
        /// Its name.
        model: String,
    },
    /// The session's title.
    Title(String),
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Something that was said.
    Text(String),
    /// Something that was thought.
    Thinking {
        /// The thought.
        text: String,
        /// The provider's signature.
        signature: Option<String>,
    },
    /// A picture.
    Image(Image),
    /// A call of a tool.
    Call(Call),
}

/// A picture with its bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// Its media type.
    pub media_type: String,
    /// Its bytes in base64.
    pub data: String,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Its id: 1 to 40 characters that every provider takes.
    pub id: String,
    /// The tool's name, which every provider takes.
    pub name: String,
    /// A JSON object.
    pub arguments: String,
}

/// An answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What it consists of.
    pub pieces: Vec<Piece>,
    /// The model.
    pub model: Option<String>,
    /// Its provider.
    pub provider: Option<String>,
    /// What it took.
    pub usage: Option<Tokens>,
    /// Why it ended.
    pub stop: Option<Stop>,
    /// What failed.
    pub error: Option<String>,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    /// The id of the call.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// Whether it failed.
    pub outcome: Outcome,
    /// The answer: texts and pictures.
    pub pieces: Vec<Piece>,
}

/// How a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Well.
    Done,
    /// It failed.
    Failed,
}

/// Token counts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tokens {
    /// Tokens that the model read.
    pub input: Option<u64>,
    /// Tokens that the model wrote.
    pub output: Option<u64>,
    /// Tokens that were read from a cache.
    pub cache_read: Option<u64>,
    /// Tokens that were written to a cache.
    pub cache_write: Option<u64>,
    /// Tokens that the model spent on thinking.
    pub reasoning: Option<u64>,
    /// All tokens.
    pub total: Option<u64>,
    /// The cost.
    pub cost: Option<f64>,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The answer is complete.
    EndTurn,
    /// A tool is to be called.
    ToolUse,
    /// The answer reached the largest number of tokens.
    MaxTokens,
    /// Somebody stopped it.
    Aborted,
    /// It failed.
    Error,
}

impl Answer {
    /// Returns the calls.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.pieces.iter().filter_map(|piece| if let Piece::Call(call) = piece { Some(call) } else { None })
    }
}

/// Returns all texts among pieces, joined by line ends.
#[must_use]
pub fn text_of(pieces: &[Piece]) -> String {
    let texts = pieces.iter().filter_map(|piece| if let Piece::Text(text) = piece { Some(text.as_str()) } else { None });
    texts.collect::<Vec<_>>().join("\n")
}

/// Where the ids of an export come from: a hash of the log, the target and the
/// head, so that the same export has the same ids on every machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed([u8; 32]);

impl Seed {
    /// Makes the seed of an export.
    #[must_use]
    pub fn of(target: &str, seal: &str, head: &str) -> Seed {
        Seed(Sha256::digest(format!("everlog-export-1\n{target}\n{seal}\n{head}")).into())
    }

    /// Returns the seed as 64 hexadecimal digits.
    #[must_use]
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// Returns the hash of the seed and a word, as 64 hexadecimal digits.
    #[must_use]
    pub fn derive(&self, word: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update(word);
        hex(&hash.finalize())
    }

    /// Returns a UUID of version 8.
    #[must_use]
    pub fn uuid(&self) -> String {
        uuid(&self.0, 8)
    }

    /// Returns a UUID of version 7, which begins with a time.
    #[must_use]
    pub fn uuid_of_time(&self, time: Instant) -> String {
        let mut bytes = self.0;
        let millis = u64::try_from(time.millis()).unwrap_or(0).to_be_bytes();
        bytes[..6].copy_from_slice(&millis[2..]);
        uuid(&bytes, 7)
    }

    /// Returns a UUID of version 8 for a word.
    #[must_use]
    pub fn uuid_of(&self, word: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update(word);
        uuid(&hash.finalize(), 8)
    }
}

fn uuid(hash: &[u8], version: u8) -> String {
    let mut bytes = hash[..16].to_vec();
    bytes[6] = (bytes[6] & 0x0f) | (version << 4);
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let digits = hex(&bytes);
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}
