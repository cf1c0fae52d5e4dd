//! The types of items: what a model is sent.

/// The types of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    Message,
    Reasoning,
    FunctionCall,
    FunctionOutput,
    CustomCall,
    CustomOutput,
    ShellCall,
    SearchCall,
    SearchOutput,
    /// Items that are carried as they are: nothing pairs with them.
    WebSearch,
    ImageGeneration,
    Compaction,
    ContextCompaction,
    AgentMessage,
    AdditionalTools,
    /// Dropped by the loader.
    GhostSnapshot,
    /// Replayed as nothing.
    Unknown,
}

impl Item {
    const NAMES: &'static [(&'static str, Item)] = &[
        ("message", Item::Message),
        ("reasoning", Item::Reasoning),
        ("function_call", Item::FunctionCall),
        ("function_call_output", Item::FunctionOutput),
        ("custom_tool_call", Item::CustomCall),
        ("custom_tool_call_output", Item::CustomOutput),
        ("local_shell_call", Item::ShellCall),
        ("tool_search_call", Item::SearchCall),
        ("tool_search_output", Item::SearchOutput),
        ("web_search_call", Item::WebSearch),
        ("image_generation_call", Item::ImageGeneration),
        ("compaction", Item::Compaction),
        ("compaction_summary", Item::Compaction),
        ("context_compaction", Item::ContextCompaction),
        ("agent_message", Item::AgentMessage),
        ("additional_tools", Item::AdditionalTools),
        ("ghost_snapshot", Item::GhostSnapshot),
    ];

    /// The type with this name.
    pub(super) fn named(name: &str) -> Item {
        Item::NAMES.iter().find(|(known, _)| *known == name).map_or(Item::Unknown, |(_, item)| *item)
    }
}
