//! How much of a message is shown.

/// How much of calls of tools, and of what they answered, is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tools {
    /// All of it.
    Full,
    /// A line each.
    Short,
    /// Nothing.
    None,
}

/// Whether what a model thought is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// It is, in a pale colour.
    Dimmed,
    /// Only that there is some.
    Hidden,
}
