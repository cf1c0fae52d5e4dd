//! The members of a trajectory, as version 1.7 of its format names them.

use serde::Serialize;
use serde_json::value::RawValue;

/// A session.
#[derive(Serialize)]
pub(super) struct Trajectory<'a> {
    pub(super) schema_version: &'static str,
    pub(super) session_id: &'a str,
    pub(super) trajectory_id: String,
    pub(super) agent: Agent<'a>,
    pub(super) steps: Vec<Step<'a>>,
    pub(super) final_metrics: FinalMetrics,
    #[serde(skip_serializing_if = "TrajectoryExtra::is_empty")]
    pub(super) extra: TrajectoryExtra<'a>,
}

/// The program, and its model.
#[derive(Serialize)]
pub(super) struct Agent<'a> {
    pub(super) name: &'a str,
    pub(super) version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model_name: Option<&'a str>,
}

/// What the format has no member for.
#[derive(Serialize)]
pub(super) struct TrajectoryExtra<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cwd: Option<&'a str>,
}

impl TrajectoryExtra<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.title.is_none() && self.cwd.is_none()
    }
}

/// One step.
#[derive(Serialize)]
pub(super) struct Step<'a> {
    pub(super) step_id: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timestamp: Option<String>,
    pub(super) source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model_name: Option<&'a str>,
    pub(super) message: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_calls: Option<Vec<ToolCall<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) observation: Option<Observation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metrics: Option<Metrics>,
    #[serde(skip_serializing_if = "StepExtra::is_empty")]
    pub(super) extra: StepExtra<'a>,
}

/// What the format has no member for.
#[derive(Serialize, Default, PartialEq)]
pub(super) struct StepExtra<'a> {
    /// What a step of the system is, where it is not a system message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) provider: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<&'a str>,
    /// The first step that a compaction keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) first_kept_step: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tokens_before: Option<u64>,
}

impl StepExtra<'_> {
    pub(super) fn is_empty(&self) -> bool {
        *self == StepExtra::default()
    }
}

/// A message or an observation.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(String),
    Parts(Vec<Part<'a>>),
}

/// A part of it.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    Text { text: &'a str },
    Image { source: ImageSource<'a> },
}

/// Where the bytes of a picture are.
#[derive(Serialize)]
pub(super) struct ImageSource<'a> {
    pub(super) media_type: &'a str,
    pub(super) path: String,
}

/// A call.
#[derive(Serialize)]
pub(super) struct ToolCall<'a> {
    pub(super) tool_call_id: &'a str,
    pub(super) function_name: &'a str,
    pub(super) arguments: Option<Box<RawValue>>,
}

/// What the tools of a step answered.
#[derive(Serialize)]
pub(super) struct Observation<'a> {
    pub(super) results: Vec<ObservationResult<'a>>,
}

/// What one tool answered.
#[derive(Serialize)]
pub(super) struct ObservationResult<'a> {
    pub(super) source_call_id: &'a str,
    pub(super) content: Content<'a>,
    #[serde(skip_serializing_if = "ResultExtra::is_empty")]
    pub(super) extra: ResultExtra,
}

/// What the format has no member for.
#[derive(Serialize, Default, PartialEq)]
pub(super) struct ResultExtra {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timestamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) is_error: Option<bool>,
}

impl ResultExtra {
    pub(super) fn is_empty(&self) -> bool {
        *self == ResultExtra::default()
    }
}

/// The counts of a step. `prompt_tokens` are all that the model read, `extra` has
/// the counts as the log says them.
#[derive(Serialize)]
pub(super) struct Metrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cached_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost_usd: Option<f64>,
    pub(super) extra: MetricsExtra,
}

/// The counts of a step as the log says them.
#[derive(Serialize)]
pub(super) struct MetricsExtra {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_write_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_tokens: Option<u64>,
}

/// The sums over all steps.
#[derive(Serialize)]
pub(super) struct FinalMetrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_prompt_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_cached_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_cost_usd: Option<f64>,
    pub(super) total_steps: usize,
}
