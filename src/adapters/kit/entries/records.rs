//! The kinds of records in a file of entries, and what each becomes.

use crate::model::event::EventKind;

/// The kinds of records in a file of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Record {
    Header,
    UserMessage,
    /// A command that a person typed, with its output.
    ShellMessage,
    AssistantMessage,
    ResultMessage,
    CustomMessage,
    Thinking,
    Model,
    Compaction,
    /// The conversation begins anew: nothing before it is shown, and no summary is in
    /// its place.
    Reset,
    BranchSummary,
    Custom,
    Label,
    Info,
    Usage,
    Edit,
    /// Anything else, carried whole.
    Whole,
}

impl Record {
    /// Returns the kind of record that an entry of this type is; a message is told
    /// apart by its role.
    pub(in crate::adapters) fn of(entry_type: &[u8], role: &[u8]) -> Record {
        match entry_type {
            b"\"session\"" => Record::Header,
            b"\"message\"" => match role {
                b"\"assistant\"" => Record::AssistantMessage,
                b"\"toolResult\"" => Record::ResultMessage,
                b"\"bashExecution\"" => Record::ShellMessage,
                _ => Record::UserMessage,
            },
            b"\"custom_message\"" => Record::CustomMessage,
            b"\"thinking_level_change\"" => Record::Thinking,
            b"\"model_change\"" => Record::Model,
            b"\"compaction\"" => Record::Compaction,
            b"\"branch_summary\"" => Record::BranchSummary,
            b"\"custom\"" => Record::Custom,
            b"\"label\"" => Record::Label,
            b"\"session_info\"" => Record::Info,
            b"\"usage\"" => Record::Usage,
            b"\"context_edit\"" => Record::Edit,
            _ => Record::Whole,
        }
    }

    /// Tells whether it is a message in an entry of its own.
    pub(in crate::adapters) fn is_message(self) -> bool {
        matches!(self, Record::UserMessage | Record::ShellMessage | Record::AssistantMessage | Record::ResultMessage)
    }

    /// Returns the event that such a record becomes.
    pub(in crate::adapters) fn event_kind(self) -> EventKind {
        match self {
            Record::UserMessage | Record::ShellMessage | Record::AssistantMessage | Record::ResultMessage | Record::CustomMessage => {
                EventKind::Message
            }
            Record::Header | Record::Info => EventKind::Meta,
            Record::Thinking => EventKind::SettingChange,
            Record::Model => EventKind::ModelChange,
            Record::Compaction | Record::Reset => EventKind::Compaction,
            Record::BranchSummary => EventKind::BranchSummary,
            Record::Custom | Record::Whole => EventKind::Custom,
            Record::Label => EventKind::Label,
            Record::Usage => EventKind::Usage,
            Record::Edit => EventKind::Edit,
        }
    }
}
