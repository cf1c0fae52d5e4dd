//! The exceptions that end a load of the real program.

/// An exception that nothing in the program catches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exception {
    /// A method that the value does not have.
    Attribute,
    /// No such file.
    FileNotFound,
    /// A folder where a file is read.
    IsADirectory,
    /// No such key.
    Key,
    /// A day after the last one.
    Overflow,
    /// Nesting too deep.
    Recursion,
    /// A value of the wrong kind.
    Type,
    /// Bytes that are not UTF-8.
    UnicodeDecode,
    /// A value of the right kind that does not do.
    Value,
}

impl Exception {
    /// The name of its class.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Exception::Attribute => "AttributeError",
            Exception::FileNotFound => "FileNotFoundError",
            Exception::IsADirectory => "IsADirectoryError",
            Exception::Key => "KeyError",
            Exception::Overflow => "OverflowError",
            Exception::Recursion => "RecursionError",
            Exception::Type => "TypeError",
            Exception::UnicodeDecode => "UnicodeDecodeError",
            Exception::Value => "ValueError",
        }
    }
}
