//! The description of one tree format: its keys, its kinds of records, and what
//! its loader does with odd lines. Everything else in this folder asks it.

use std::borrow::Cow;
use std::fmt::Debug;

use crate::adapters::kit::mapping::{Claim, Content, Parents, Table};
use crate::json::{Member, Style};
use crate::model::event::EventKind;
use crate::model::ids::Seq;

/// The keys that place a record in its tree.
#[derive(Debug, Clone, Copy)]
pub(in crate::adapters) struct Keys {
    /// The record's own id.
    pub id: &'static str,
    /// The id of the record above.
    pub parent: &'static str,
    /// The record's type.
    pub record_type: &'static str,
    /// The record's time.
    pub time: &'static str,
    /// The object that holds the message, whose members go to the same payload.
    pub message: &'static str,
    /// What an edit puts in the place of what it edits.
    pub replacement: &'static str,
}

/// How a loader splits a file into lines, and which lines it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum LineRule {
    /// Line by line; a value that counts as false is skipped.
    Truthy,
    /// The text without the white space around it, line by line; every value is
    /// taken.
    TrimmedText,
    /// Line by line, each from its first byte above 0x20 on; every value is taken.
    AfterControlBytes,
}

/// What becomes of records beside the tree that are repeated byte for byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum RepeatedState {
    StoredEachTime,
    /// One event stands for all of them: programs that write their state again and
    /// again would fill a log with it.
    StoredOnce,
}

/// The kind of a record, and what its format's own rules need of it.
#[derive(Debug)]
pub(in crate::adapters) struct Judged<S: TreeSchema> {
    pub kind: S::Kind,
    pub traits: S::Traits,
}

/// What is known of a record's place while its event is made.
pub(in crate::adapters) struct Surroundings<'c> {
    /// The members of the record.
    pub members: &'c [Member<'c>],
    /// The event of the record whose id stands under a key, however it is
    /// spelled.
    pub named: &'c dyn Fn(&str) -> Option<Seq>,
    /// The first event that a compaction keeps, where its number says so.
    pub kept: Option<Seq>,
    pub pass: Pass,
}

/// Why a record is put into the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Pass {
    /// The loader has it in its tree.
    InTree,
    /// Once more, on a path of its own.
    Retold,
    /// The loader accepts it, and it is not a part of the tree.
    BesideTree,
    /// Found on a broken line, which the loader does not see.
    Salvaged,
    /// Accepted by the program, and not yet a part of the conversation.
    Waiting,
}

/// A tree format. A value of it says which dialect a file is in.
pub(in crate::adapters) trait TreeSchema: Copy + Debug + 'static {
    /// The kinds of records.
    type Kind: Copy + Eq + Debug;
    /// What the format's own rules need of a record besides its place.
    type Traits: Clone + Debug + Default;

    const KEYS: Keys;
    /// How the program writes a record.
    const STYLE: Style;
    /// The kind of records that no table fits.
    const OTHER: Self::Kind;
    /// Whether the records of every file name the ones above them; `None` where the
    /// first record of a file tells.
    const PARENTS: Option<Parents> = None;
    /// Whether records beside the tree are stored each time they are repeated.
    const REPEATED_STATE: RepeatedState = RepeatedState::StoredEachTime;

    fn line_rule(&self) -> LineRule;

    /// Judges a record by its members and those of its message.
    fn judge(&self, members: &[Member<'_>], of_message: &[Member<'_>]) -> Judged<Self>;

    /// Tells whether an object found on a broken line is a record, and not a part of one.
    fn is_record(&self, members: &[Member<'_>]) -> bool;

    /// Tells whether records of this kind describe the file and stand in no tree.
    fn is_header(kind: Self::Kind) -> bool;

    /// Returns the event that a record of this kind becomes.
    fn event_kind(kind: Self::Kind) -> EventKind;

    /// Returns the key of the object that the table of such records opens.
    fn opened(_: Self::Kind) -> &'static str {
        Self::KEYS.message
    }

    /// Returns the table of such records; none for those carried as they are.
    fn table(&self, kind: Self::Kind) -> Option<&'static Table>;

    /// Returns the order of the payload's members.
    fn payload_order(kind: EventKind) -> &'static [&'static str];

    /// Returns how content becomes parts, and back.
    fn content() -> &'static dyn Content;

    /// Adds what the event says and the record does not. `None` where the record
    /// cannot be such an event, and is carried as it is.
    fn complete(&self, kind: Self::Kind, traits: &Self::Traits, claim: &mut Claim<'_>, around: &Surroundings<'_>) -> Option<()>;

    /// Members before and after the record, where it is carried as it is.
    fn frame(&self, traits: &Self::Traits, members: &[Member<'_>]) -> (Cow<'static, str>, Cow<'static, str>);

    /// Returns what an event says that the bytes of its record do not. Records of
    /// equal bytes are one event only where this is equal, too.
    fn unwritten(&self, _traits: &Self::Traits) -> String {
        String::new()
    }

    /// Returns the record kind and dialect that an event was; none where it was no record.
    fn of_event(&self, kind: EventKind, parent: Option<Seq>, members: &[Member<'_>]) -> Option<(Self::Kind, Self)>;
}
