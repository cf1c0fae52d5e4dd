//! Which tables there are, and which columns they have. `docs/src/reference/tables.md`
//! describes them with these very words: a test compares the two.

/// The version of the tables. A column that is added keeps it; one that is removed, or
/// comes to mean something else, raises it.
pub const VERSION: u32 = 1;

/// The tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableName {
    /// A row for each session.
    Sessions,
    /// A row for each message.
    Messages,
    /// A row for each call of a tool.
    ToolCalls,
    /// A row for each finding.
    Findings,
    /// A row for each answer of a model.
    Usage,
}

impl TableName {
    /// All of them, in the order of their files.
    pub const ALL: [TableName; 5] = [TableName::Sessions, TableName::Messages, TableName::ToolCalls, TableName::Findings, TableName::Usage];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TableName::Sessions => "sessions",
            TableName::Messages => "messages",
            TableName::ToolCalls => "tool_calls",
            TableName::Findings => "findings",
            TableName::Usage => "usage",
        }
    }

    /// Returns its columns.
    #[must_use]
    pub fn table(self) -> &'static Table {
        match self {
            TableName::Sessions => &SESSIONS,
            TableName::Messages => &MESSAGES,
            TableName::ToolCalls => &TOOL_CALLS,
            TableName::Findings => &FINDINGS,
            TableName::Usage => &USAGE,
        }
    }
}

/// One table.
#[derive(Debug)]
pub struct Table {
    /// Its columns, in their order.
    pub columns: &'static [Column],
}

/// One column.
#[derive(Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether it always says something.
    pub presence: Presence,
    /// What it means.
    pub says: &'static str,
}

/// Whether a column always says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It does.
    Always,
    /// It is null where the source does not say it.
    Perhaps,
}

/// What a column holds.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Text in UTF-8.
    Text,
    /// Long text, which repeats seldom: neither a dictionary nor statistics help.
    LongText,
    /// A whole number of 64 bits with a sign.
    Integer,
    /// A number of 64 bits.
    Real,
    /// True or false.
    Flag,
    /// A moment in UTC, in microseconds.
    Time,
    /// A list of texts, which may be empty.
    Texts,
    /// One record.
    Record(&'static [Column]),
    /// A list of records, which may be empty.
    Records(&'static [Column]),
}

impl Kind {
    /// Returns its name in the documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Text | Kind::LongText => "text",
            Kind::Integer => "integer",
            Kind::Real => "real",
            Kind::Flag => "flag",
            Kind::Time => "time",
            Kind::Texts => "list of text",
            Kind::Record(_) => "record",
            Kind::Records(_) => "list of records",
        }
    }
}

const fn always(name: &'static str, kind: Kind, says: &'static str) -> Column {
    Column { name, kind, presence: Presence::Always, says }
}

const fn perhaps(name: &'static str, kind: Kind, says: &'static str) -> Column {
    Column { name, kind, presence: Presence::Perhaps, says }
}

const FORMAT: Column = always("format", Kind::Text, "The format of the session's program.");
const MONTH: Column = perhaps("month", Kind::Text, "The month of the session's last message in UTC, as 2026-01: the same in all tables.");
const LOG: Column = always("log", Kind::Text, "The session's log, as a path below the store: what joins the tables.");
const SESSION: Column = always("session", Kind::Text, "The session's id in its program.");
const PLACE: Column = perhaps("place", Kind::Integer, "Its place on the branch that the program shows, from 0; null on other branches.");
const TS: Column = perhaps("ts", Kind::Text, "The source's own time.");
const TIME: Column = perhaps("time", Kind::Time, "That time in UTC, where its zone is known.");
const MODEL: Column = perhaps("model", Kind::Text, "The model that wrote it.");
const PROVIDER: Column = perhaps("provider", Kind::Text, "The provider of that model.");
const COST: Column = perhaps("cost", Kind::Real, "What it cost.");

const INPUT: Column = perhaps("input", Kind::Integer, "Tokens that the model read.");
const OUTPUT: Column = perhaps("output", Kind::Integer, "Tokens that the model wrote.");
const CACHE_READ: Column = perhaps("cache_read", Kind::Integer, "Tokens that were read from a cache.");
const CACHE_WRITE: Column = perhaps("cache_write", Kind::Integer, "Tokens that were written to a cache.");
const REASONING: Column = perhaps("reasoning", Kind::Integer, "Tokens that the model spent on thinking.");
const TOTAL: Column = perhaps("total", Kind::Integer, "All tokens, where the source has that number.");

static SESSIONS: Table = Table {
    columns: &[
        FORMAT,
        MONTH,
        LOG,
        SESSION,
        always("kind", Kind::Text, "Whether the log is of a session, of what is left of one, or of a file about many."),
        perhaps("format_version", Kind::Text, "The format's own version, where the source says one."),
        perhaps("title", Kind::Text, "Its title."),
        perhaps("cwd", Kind::Text, "The folder that it worked in."),
        perhaps("model", Kind::Text, "The model that it is set to."),
        perhaps("parent", Kind::Text, "The session that it was made from, in the source's own words."),
        perhaps("created", Kind::Text, "When it was begun, in the source's own words."),
        perhaps("summary", Kind::LongText, "A summary of what is no longer shown."),
        perhaps("error", Kind::Text, "Why its own program fails to load it, where it does."),
        perhaps("started_ts", Kind::Text, "The source's own time of the first message that has one, on the branch that is shown."),
        perhaps("started", Kind::Time, "That time in UTC, where its zone is known."),
        perhaps("ended_ts", Kind::Text, "The source's own time of the last message that has one, on the branch that is shown."),
        perhaps("ended", Kind::Time, "That time in UTC, where its zone is known."),
        always("messages", Kind::Integer, "Messages on the branch that is shown, without summaries."),
        always("turns", Kind::Integer, "How many of them a person said."),
        always("all_messages", Kind::Integer, "Messages on all branches, each counted once, without summaries."),
        always("heads", Kind::Integer, "Branches, views and backups that the log has."),
        always("log_bytes", Kind::Integer, "The size of the log."),
        always("log_sha256", Kind::Text, "The hash in the log's seal; of all its bytes, where it has no good seal."),
        always("sealed", Kind::Flag, "Whether the log is as it was sealed."),
        always("findings", Kind::Integer, "Findings that somebody should look at."),
    ],
};

static MESSAGES: Table = Table {
    columns: &[
        FORMAT,
        MONTH,
        LOG,
        SESSION,
        always(
            "seq",
            Kind::Integer,
            "The number of the message's event in the log; a message that is shown twice has two rows with one number.",
        ),
        PLACE,
        always("type", Kind::Text, "Whether it is a message, or a summary that stands among them."),
        TS,
        TIME,
        always("role", Kind::Text, "Who said it."),
        perhaps("source_role", Kind::Text, "The source's own word for the role, where it is another."),
        always("text", Kind::LongText, "All text parts, joined by line ends."),
        perhaps("thinking", Kind::LongText, "All thinking, joined by line ends."),
        always(
            "tool_calls",
            Kind::Records(&[
                perhaps("id", Kind::Text, "The call's id."),
                perhaps("name", Kind::Text, "The tool's name."),
                perhaps("arguments", Kind::LongText, "What it is called with, as JSON."),
            ]),
            "The tools that are called.",
        ),
        always(
            "tool_results",
            Kind::Records(&[
                perhaps("call_id", Kind::Text, "The id of the call."),
                perhaps("name", Kind::Text, "The tool's name."),
                perhaps("is_error", Kind::Flag, "Whether the tool failed."),
                always("text", Kind::LongText, "All text of the answer."),
            ]),
            "What tools answered.",
        ),
        perhaps(
            "shell",
            Kind::Record(&[
                always("command", Kind::LongText, "The command line."),
                always("output", Kind::LongText, "What it printed."),
                perhaps("exit_code", Kind::Integer, "How it ended."),
            ]),
            "A command that a person ran.",
        ),
        always(
            "files",
            Kind::Records(&[
                always("type", Kind::Text, "`image` or `file`."),
                perhaps("path", Kind::Text, "Its path."),
                perhaps("uri", Kind::Text, "Its address, unless that is its bytes."),
                perhaps("name", Kind::Text, "Its name."),
                perhaps("media_type", Kind::Text, "Its media type."),
                always("embedded", Kind::Flag, "Whether the session has its bytes."),
            ]),
            "Pictures and files, without their bytes.",
        ),
        perhaps("name", Kind::Text, "The name of who said it."),
        MODEL,
        PROVIDER,
        perhaps("usage", Kind::Record(&[INPUT, OUTPUT, CACHE_READ, CACHE_WRITE, REASONING, TOTAL]), "The tokens that it took."),
        COST,
        perhaps("stop_reason", Kind::Text, "Why the model stopped."),
        perhaps("source_stop_reason", Kind::Text, "The source's own word for that, where it says more."),
        perhaps("error", Kind::LongText, "What failed."),
        always("hidden_from", Kind::Texts, "Who would not see it."),
        perhaps("source_id", Kind::Text, "The source's own id of the message."),
        always("lossy", Kind::Flag, "Whether some text is only readable, and not exactly what the source had."),
    ],
};

static TOOL_CALLS: Table = Table {
    columns: &[
        FORMAT,
        MONTH,
        LOG,
        SESSION,
        perhaps("seq", Kind::Integer, "The message that calls it; null where a result has no call, or the call has one already."),
        perhaps("call", Kind::Integer, "Its place among the calls of that message, from 0."),
        PLACE,
        perhaps("call_id", Kind::Text, "The call's id."),
        perhaps("name", Kind::Text, "The tool's name."),
        perhaps("arguments", Kind::LongText, "What it is called with, as JSON."),
        TS,
        TIME,
        perhaps("model", Kind::Text, "The model that calls it."),
        perhaps("result_seq", Kind::Integer, "The message with the answer; null where there is none."),
        perhaps("result_ts", Kind::Text, "The source's own time of the answer."),
        perhaps("result_time", Kind::Time, "That time in UTC, where its zone is known."),
        perhaps("is_error", Kind::Flag, "Whether the tool failed, where the source says so."),
        perhaps("result", Kind::LongText, "All text of the answer."),
    ],
};

static FINDINGS: Table = Table {
    columns: &[
        FORMAT,
        MONTH,
        LOG,
        SESSION,
        always("code", Kind::Text, "What it is; `everlog explain CODE` says more."),
        always("severity", Kind::Text, "How much it matters: info, warn, error."),
        always("file", Kind::Text, "The file that it is about."),
        perhaps("line", Kind::Integer, "The line of that file, from 1."),
        perhaps("byte", Kind::Integer, "The byte of that line, from 1."),
        always("message", Kind::LongText, "A sentence for people."),
        always("more", Kind::Integer, "How many more like it the same file has."),
        perhaps("digest", Kind::Text, "The hash of the line that it is about, where the line is known."),
    ],
};

static USAGE: Table = Table {
    columns: &[
        FORMAT,
        MONTH,
        LOG,
        SESSION,
        always("seq", Kind::Integer, "The last message of the answer, whose numbers count."),
        PLACE,
        always("type", Kind::Text, "Whether it is a message, or a summary that took tokens."),
        always("role", Kind::Text, "Who said it."),
        TS,
        TIME,
        MODEL,
        PROVIDER,
        INPUT,
        OUTPUT,
        CACHE_READ,
        CACHE_WRITE,
        REASONING,
        TOTAL,
        COST,
    ],
};
