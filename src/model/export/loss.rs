//! The loss list: every fact of a log that an export does not bring along, or
//! brings along otherwise.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::ids::Seq;

/// A side of a message by which two of them can differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aspect {
    /// What was said.
    Text,
    /// Who said it, or what kind of message it is.
    Role,
    /// What was thought.
    Thinking,
    /// The signature of what was thought.
    Signature,
    /// The ids of calls, and of the calls that results answer.
    CallIds,
    /// The names of tools.
    ToolNames,
    /// Which tools are called, and with what.
    Calls,
    /// What tools answered.
    Results,
    /// Whether a tool failed.
    ErrorFlags,
    /// Pictures and files.
    Media,
    /// Parts of no known kind, and commands that a person ran.
    Other,
    /// Where texts and calls stand in a message.
    Order,
    /// The model, and its provider.
    Model,
    /// Token counts.
    Usage,
    /// What it cost.
    Cost,
    /// Why the model stopped.
    StopReason,
    /// What failed.
    Error,
    /// The time.
    Time,
    /// Whether it is pinned, or hidden from somebody.
    Marks,
    /// Who exactly said it, by name.
    Name,
    /// Whether it is there at all.
    Presence,
}

macro_rules! codes {
    ($($variant:ident $name:literal [$($aspect:ident)*] $doc:literal,)*) => {
        /// What became of a fact.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum LossCode {
            $(#[doc = $doc] $variant,)*
        }

        impl LossCode {
            /// Every code, in the order of the documentation.
            pub const ALL: &[LossCode] = &[$(LossCode::$variant),*];

            /// Returns the code as reports have it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(LossCode::$variant => $name,)*
                }
            }

            /// Returns what the code means, as a sentence.
            #[must_use]
            pub fn describe(self) -> &'static str {
                match self {
                    $(LossCode::$variant => $doc,)*
                }
            }

            /// Returns the sides by which an event with this loss differs.
            #[must_use]
            pub fn aspects(self) -> &'static [Aspect] {
                match self {
                    $(LossCode::$variant => &[$(Aspect::$aspect),*],)*
                }
            }
        }
    };
}

codes! {
    ArgumentsWrapped "arguments_wrapped" [Calls] "Arguments that are not a JSON object are the member `input` of one.",
    BranchesDropped "branches_dropped" [] "Messages that are only on other branches are left out.",
    BeforeCompactionDropped "before_compaction_dropped" [] "Messages that a compaction or a truncation replaced are left out.",
    CallClosed "call_closed" [Results Role CallIds ToolNames ErrorFlags Order] "A call without a result got one that says so.",
    CallIdChanged "call_id_changed" [CallIds] "A call has another id: its own is missing, used twice, or in a form that providers refuse.",
    ContextLeftOut "context_left_out" [] "Messages that are only in views, contexts, backups or event logs are left out.",
    CostDropped "cost_dropped" [Cost] "The cost of an answer is left out.",
    CwdDropped "cwd_dropped" [] "The folder of the session is left out.",
    CwdInvented "cwd_invented" [] "The session needs a folder and has none: it is `/`.",
    EditApplied "edit_applied" [] "The log has an edit: its result is exported.",
    EmptyLeftOut "empty_left_out" [Text Presence Role Order Time Model Usage Cost StopReason Marks Thinking Signature Name] "A blank text or message, which providers refuse, is left out.",
    EntryDropped "entry_dropped" [Presence] "An entry of the program or of an extension, which is not a message, is left out.",
    ErrorDropped "error_dropped" [Error Text Presence Role Time Model Usage Cost StopReason] "What failed is left out.",
    ErrorFlagLost "error_flag_lost" [ErrorFlags] "That a tool failed is not said, but for its answer.",
    FileAsText "file_as_text" [Media Text Order] "A file is a text that names it.",
    HiddenDropped "hidden_dropped" [Text Role Presence Marks Thinking Signature CallIds ToolNames Calls Results ErrorFlags Media Other Order Model Usage Cost StopReason Error Time Name] "A message that no model would see is left out.",
    ImageAsFile "image_as_file" [Media] "An image is a file beside the session.",
    ImageCosts "image_costs" [] "The target describes a picture by a request to a second model, where its own sees none.",
    ImageDropped "image_dropped" [Media] "An image is left out.",
    ImageMissing "image_missing" [Media Text Order] "An image whose bytes the log has not is a text that names it.",
    Joined "joined" [Time Model Usage Cost StopReason Role] "Answers that follow each other are one.",
    JournalsLeftOut "journals_left_out" [] "Events of turns and runs, and damage, are left out.",
    LabelDropped "label_dropped" [Presence] "A label of a message is left out.",
    ModelDropped "model_dropped" [Model] "The model or its provider is left out.",
    ModelInvented "model_invented" [Model] "An answer needs a model and a provider, and has none: it says that they are unknown.",
    NameDropped "name_dropped" [Name] "The name of who said a message is left out.",
    OrderChanged "order_changed" [Order] "A text or a result moved: texts before calls, results after the call that they answer.",
    PartDropped "part_dropped" [Other Calls CallIds ToolNames Order] "A part that only the source program knows, or a call that no model made, is left out.",
    PinDropped "pin_dropped" [Marks] "That a message is pinned or hidden is not said.",
    Redacted "redacted" [] "A secret is a placeholder, as `--redact` asks, or a message that could hide one is left out.",
    ResultAsText "result_as_text" [Results Role Text CallIds ErrorFlags ToolNames Media Order] "A result without its call is a message of the user.",
    ResultRepeated "result_repeated" [Presence Results Role CallIds ErrorFlags ToolNames Media Order Time] "A second result of a call that says the same as the first is left out.",
    RoleChanged "role_changed" [Role Text] "A message with a role of the source's own is one of the target's.",
    SalvageLeftOut "salvage_left_out" [] "Messages that the source program would not load are left out.",
    SettingDropped "setting_dropped" [Presence] "A change of the model or of a setting is left out.",
    ShellAsText "shell_as_text" [Other Text Role Order] "A command that a person ran is a text.",
    SignatureDropped "signature_dropped" [Signature] "The provider's signature of a thought is left out, because it holds for the source alone.",
    StopReasonDropped "stop_reason_dropped" [StopReason] "Why the model stopped is left out, or said in a coarser word.",
    StopReasonInvented "stop_reason_invented" [StopReason] "An answer needs a reason to stop, and has none: it is the usual one.",
    SummaryAsText "summary_as_text" [Role Text] "A summary is a message.",
    SummaryBeside "summary_beside" [Presence] "A summary is in the session's own place for it, and not among the messages.",
    SummaryInserted "summary_inserted" [] "The summary that the source's program sends before the messages is a message.",
    SystemAsUser "system_as_user" [Role Name] "A system message is a note of the program.",
    SystemDropped "system_dropped" [Text Role Time Presence Media Other Name Marks Order] "A system message is left out: the target writes its own.",
    SystemInvented "system_invented" [Text Role Time Order] "The session needs a system message at its beginning, and got one.",
    TargetPrunes "target_prunes" [] "The target summarises so many messages at its next turn, and deletes the older ones.",
    TextAltered "text_altered" [Text Results Role Calls Thinking Order] "A text was changed so that the target reads it as it was meant.",
    ThinkingDropped "thinking_dropped" [Thinking Signature Order] "What the model thought is left out.",
    TimeCut "time_cut" [Time] "A time has more digits than the target keeps.",
    TimeDropped "time_dropped" [Time] "The time of a message is left out.",
    TimeInvented "time_invented" [Time] "A message has no time, or one that the target cannot have: it has that of the one before.",
    TitleDropped "title_dropped" [] "The title of the session is left out.",
    ToolNameChanged "tool_name_changed" [ToolNames] "The name of a tool has characters that providers refuse, or is missing.",
    ToolNotOffered "tool_not_offered" [] "The target has no tool of this name, and does not send such calls to the model.",
    UsageDropped "usage_dropped" [Usage] "Token counts of an answer are left out.",
    UsageZeroed "usage_zeroed" [Usage Cost] "The target demands token counts that the source has not: zeros, and sums of the others.",
    ZoneAssumed "zone_assumed" [Time] "A time without a zone is taken as UTC.",
}

/// The losses of an export: for each code, the events that it holds for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses(BTreeMap<LossCode, BTreeSet<Seq>>);

impl Losses {
    /// Declares that an event lost something.
    pub fn add(&mut self, code: LossCode, seq: Seq) {
        self.0.entry(code).or_default().insert(seq);
    }

    /// Tells whether this was declared of an event.
    #[must_use]
    pub fn has(&self, code: LossCode, seq: Seq) -> bool {
        self.0.get(&code).is_some_and(|places| places.contains(&seq))
    }

    /// Returns the codes that were declared of an event.
    pub fn of(&self, seq: Seq) -> impl Iterator<Item = LossCode> + '_ {
        self.0.iter().filter(move |(_, places)| places.contains(&seq)).map(|(code, _)| *code)
    }

    /// Returns all codes with the events that they hold for.
    pub fn iter(&self) -> impl Iterator<Item = (LossCode, &BTreeSet<Seq>)> {
        self.0.iter().map(|(code, places)| (*code, places))
    }

    /// Keeps what is still true.
    pub fn retain(&mut self, mut is_true: impl FnMut(LossCode, Seq) -> bool) {
        for (code, places) in &mut self.0 {
            places.retain(|seq| is_true(*code, *seq));
        }
        self.0.retain(|_, places| !places.is_empty());
    }

    /// Tells whether something is not in the files, or is in them otherwise: more
    /// than what is only to be known.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        const NOTES: &[LossCode] = &[LossCode::ImageCosts, LossCode::TargetPrunes, LossCode::ToolNotOffered];
        self.0.keys().any(|code| !NOTES.contains(code))
    }

    /// Tells whether there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
