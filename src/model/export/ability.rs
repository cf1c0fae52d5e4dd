//! What the sessions of a target can say.

/// A fact that only some programs have a place for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    /// System messages, wherever they stand.
    SystemMessages,
    /// Notes of a program among the messages, which are not system messages.
    Notes,
    /// Thinking of a model, whoever made it.
    Thinking,
    /// Thinking that this program's own sessions hold.
    OwnThinking,
    /// Pictures that a person gave along.
    Images,
    /// Pictures that cost a request to a second model.
    DearImages,
    /// Pictures as files beside the session, and not in it.
    ImageFiles,
    /// Pictures that a tool answered with.
    ResultImages,
    /// Whether a tool failed.
    ErrorFlags,
    /// Why the model stopped.
    StopReasons,
    /// The tokens of an answer.
    Usage,
    /// The cost of an answer.
    Costs,
    /// The model of an answer.
    Models,
    /// The provider of that model.
    Providers,
    /// An answer that failed, and why.
    Errors,
    /// A summary in the place of what was said before it.
    Compactions,
    /// A summary beside the messages, which the model gets before them.
    Summary,
    /// A summary of a branch that was left.
    BranchSummaries,
    /// A change of the model between messages.
    ModelChanges,
    /// A title as an entry among the messages.
    TitleEntries,
    /// A title beside the messages.
    Titles,
    /// Messages with several texts, or with texts between calls.
    Order,
    /// The folder in which the session worked.
    Cwd,
    /// The time of each message.
    Times,
}

/// A fact that a program cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A model and its provider on each answer.
    Model,
    /// Token counts on each answer.
    Usage,
    /// A reason to stop on each answer.
    StopReason,
    /// A system message at the beginning.
    LeadingSystem,
    /// Times that rise from message to message.
    RisingTimes,
    /// A folder that is an absolute path.
    AbsoluteCwd,
    /// Not two answers one after the other.
    SingleAnswers,
    /// Answers that are more than thoughts.
    SpokenAnswers,
    /// What was thought, what was said and each call of an answer as entries of
    /// their own.
    SingleParts,
    /// Results that are not empty.
    FilledResults,
    /// A name of the tool on each result.
    ToolNames,
}

/// All that has to be known of a target to prepare a session for it.
#[derive(Debug, Clone, Copy)]
pub struct Abilities {
    /// What its sessions can say.
    pub can: &'static [Ability],
    /// What they cannot do without.
    pub needs: &'static [Need],
    /// How many digits of a second its times have.
    pub digits: u32,
}

impl Abilities {
    /// Tells whether the target can say this.
    #[must_use]
    pub fn can(&self, ability: Ability) -> bool {
        self.can.contains(&ability)
    }

    /// Tells whether the target cannot do without this.
    #[must_use]
    pub fn needs(&self, need: Need) -> bool {
        self.needs.contains(&need)
    }
}
