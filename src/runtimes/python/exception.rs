//! The exceptions of Python that end a load, by their classes.

/// An exception of Python.
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
    /// A number too large, or a day after the last one.
    Overflow,
    /// Nesting too deep.
    Recursion,
    /// A value of the wrong type.
    Type,
    /// Bytes that are not UTF-8.
    UnicodeDecode,
    /// A value of the right type that is not acceptable.
    Value,
}

impl Exception {
    /// Returns the name of its class.
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
