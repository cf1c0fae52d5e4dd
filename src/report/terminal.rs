//! What a terminal can do: how wide it is, and which colours it shows.

/// What lines for people are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// How many columns a line may have.
    pub columns: usize,
    /// What becomes of a table that is wider.
    pub edge: Edge,
}

/// What is behind the last column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// Nothing: what is wider would be broken into two lines.
    Hard,
    /// A file or a pipe: lines should end there, and may be longer.
    Soft,
}

impl Terminal {
    /// Returns a terminal that has room for a table of so many columns where that is
    /// possible.
    #[must_use]
    pub fn with_room_for(self, columns: usize) -> Terminal {
        match self.edge {
            Edge::Hard => self,
            Edge::Soft => Terminal { columns: self.columns.max(columns), ..self },
        }
    }
}

/// Whether lines are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// They are.
    Shown,
    /// They are not.
    None,
}

/// What a piece of a line is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tint {
    /// The lines of a drawing.
    Guide,
    /// The name of an entry.
    Id,
    /// Who speaks, or what kind of entry it is.
    Role,
    /// A head, a label.
    Mark,
    /// The head that is shown by default.
    Active,
    /// Something that is wrong.
    Damage,
    /// What only the first of two sides has.
    Removed,
    /// What only the second of two sides has.
    Added,
    /// Who speaks: a person.
    Person,
    /// Who speaks: a model.
    Model,
    /// Who speaks: the program, or one of its tools.
    Program,
    /// Text in bold, a heading.
    Strong,
    /// Text in italics.
    Emphasis,
    /// Text that was struck out.
    Struck,
    /// An address.
    Link,
    /// Code.
    Code,
    /// Text that was searched for.
    Match,
    /// What was said.
    Plain,
}

impl Tint {
    /// Returns the parameters of its colour sequence; nothing where it has no colour.
    pub(super) fn code(self) -> &'static str {
        match self {
            Tint::Guide => "2",
            Tint::Id => "33",
            Tint::Role | Tint::Code => "36",
            Tint::Mark => "35",
            Tint::Active | Tint::Model => "1;32",
            Tint::Person => "1;34",
            Tint::Program => "1;33",
            Tint::Strong => "1",
            Tint::Emphasis => "3",
            Tint::Struck => "9",
            Tint::Link => "4",
            Tint::Match => "1;31",
            Tint::Damage | Tint::Removed => "31",
            Tint::Added => "32",
            Tint::Plain => "",
        }
    }
}
