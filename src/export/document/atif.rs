//! The Agent Trajectory Interchange Format, version 1.7: a session as steps of the
//! system, the user and the agent. What tools answered is the observation of the
//! step that called them; what the format has no member for is in `extra`, which
//! it has everywhere.

use crate::adapters::exporter::{ExportedSession, Exporter};
use crate::model::digest::sha256_hex;
use crate::model::export::ability::{Abilities, Ability};
use crate::model::export::transcript::{Answer, Body, CallResult, Clock, Entry, Image, Outcome, Piece, Tokens, Transcript, text_of};
use crate::model::files::RelPath;

use super::atif_wire::{
    Agent, Content, FinalMetrics, ImageSource, Metrics, MetricsExtra, Observation, ObservationResult, Part, ResultExtra, Step, StepExtra,
    ToolCall, Trajectory, TrajectoryExtra,
};
use super::kind::{DOCUMENT, Document};
use super::said::{Said, raw, word_of};
use super::{atif_read, images};

/// Trajectories.
pub(super) struct Atif;

/// The version that is written.
const VERSION: &str = "ATIF-v1.7";
/// The folder of pictures, beside the document. Each is named after its hash, so
/// that sessions share what is the same.
const IMAGES: &str = "images";
/// So many digits of a hash name a picture.
const DIGITS: usize = 24;

impl Exporter for Atif {
    fn abilities(&self) -> Abilities {
        Abilities {
            can: &[
                Ability::SystemMessages,
                Ability::Notes,
                Ability::Thinking,
                Ability::Images,
                Ability::ResultImages,
                Ability::ErrorFlags,
                Ability::StopReasons,
                Ability::Usage,
                Ability::Costs,
                Ability::Models,
                Ability::Providers,
                Ability::Errors,
                Ability::Compactions,
                Ability::BranchSummaries,
                Ability::Titles,
                Ability::Cwd,
                Ability::Times,
            ],
            needs: &[],
            // What every reader of ISO 8601 takes.
            digits: 6,
        }
    }

    fn write(&self, session: &Transcript) -> ExportedSession {
        let steps = steps(&session.entries);
        let model_name = steps.iter().find_map(|step| step.model_name);
        let trajectory = Trajectory {
            schema_version: VERSION,
            session_id: &session.id,
            trajectory_id: session.seed.uuid(),
            agent: Agent { name: &session.source, version: session.source_version.as_deref().unwrap_or("unknown"), model_name },
            final_metrics: sums(&steps),
            steps,
            extra: TrajectoryExtra { title: session.title.as_deref(), cwd: session.cwd.as_deref() },
        };
        // Our own records are maps with texts as keys, which always have a JSON text.
        let mut document = serde_json::to_vec_pretty(&trajectory).unwrap_or_default();
        document.push(b'\n');
        let mut files = vec![(RelPath::new(DOCUMENT), document)];
        let pictures = session.entries.iter().flat_map(|entry| pieces(&entry.body));
        for image in pictures.filter_map(|piece| if let Piece::Image(image) = piece { Some(image) } else { None }) {
            let path = RelPath::new(path_of(image));
            if !files.iter().any(|(known, _)| *known == path) {
                files.push((path, images::bytes(image).unwrap_or_default()));
            }
        }
        ExportedSession { files, root: RelPath::new(""), name: DOCUMENT.to_owned(), go_on: String::new() }
    }
}

impl Document for Atif {
    fn id(&self) -> &'static str {
        "atif"
    }

    fn describes(&self) -> &'static str {
        "trajectories of the Agent Trajectory Interchange Format 1.7"
    }

    fn ending(&self) -> &'static str {
        "json"
    }

    fn read(&self, session: &ExportedSession, _written: &Transcript) -> Result<Vec<Said>, String> {
        atif_read::read(session)
    }
}

fn pieces(body: &Body) -> &[Piece] {
    match body {
        Body::User(pieces) | Body::Note { pieces, .. } => pieces,
        Body::Answer(answer) => &answer.pieces,
        Body::Result(result) => &result.pieces,
        Body::System(_) | Body::Compaction { .. } | Body::BranchSummary(_) | Body::Model { .. } | Body::Title(_) => &[],
    }
}

/// The steps of a session: one for each entry but results, which belong to the
/// step that called.
fn steps(entries: &[Entry]) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::with_capacity(entries.len());
    // The steps that entries became, for those that name one.
    let mut of_entries = Vec::with_capacity(entries.len());
    for entry in entries {
        if let Body::Result(result) = &entry.body {
            if let Some(step) = steps.last_mut() {
                let results = &mut step.observation.get_or_insert_with(|| Observation { results: Vec::new() }).results;
                results.push(observed(result, time(entry)));
            }
        } else if let Some(step) = step(entry, steps.len() + 1, &of_entries) {
            steps.push(step);
        }
        of_entries.push(steps.len());
    }
    steps
}

/// The time of an entry, where it is of the years that readers know: in UTC the
/// first day of the year 1 can be of the year 0.
fn time(entry: &Entry) -> Option<String> {
    let time = format!("{}Z", entry.time.shortest());
    (entry.clock == Clock::Said && !time.starts_with(['-', '+']) && !time.starts_with("0000")).then_some(time)
}

fn step<'a>(entry: &'a Entry, step_id: usize, of_entries: &[usize]) -> Option<Step<'a>> {
    let plain = |source, message, extra| {
        Some(Step {
            step_id,
            timestamp: time(entry),
            source,
            model_name: None,
            message,
            reasoning_content: None,
            tool_calls: None,
            observation: None,
            metrics: None,
            extra,
        })
    };
    let of_kind = |kind| StepExtra { kind: Some(kind), ..StepExtra::default() };
    match &entry.body {
        Body::System(text) => plain("system", Content::Text(text.clone()), StepExtra::default()),
        Body::User(pieces) => plain("user", content(pieces), StepExtra::default()),
        Body::Note { kind, pieces } => plain("system", content(pieces), of_kind(kind)),
        Body::BranchSummary(summary) => plain("system", Content::Text(summary.clone()), of_kind(atif_read::BRANCH_SUMMARY)),
        Body::Compaction { summary, first_kept, tokens_before } => {
            let first_kept_step = first_kept.and_then(|kept| of_entries.get(kept)).copied();
            let extra = StepExtra { first_kept_step, tokens_before: Some(*tokens_before), ..of_kind(atif_read::COMPACTION) };
            plain("system", Content::Text(summary.clone()), extra)
        }
        Body::Answer(answer) => Some(answered(answer, step_id, time(entry))),
        // Its abilities leave these out, and results have no step of their own.
        Body::Result(_) | Body::Model { .. } | Body::Title(_) => None,
    }
}

fn answered(answer: &Answer, step_id: usize, timestamp: Option<String>) -> Step<'_> {
    let thoughts: Vec<&str> = answer
        .pieces
        .iter()
        .filter_map(|piece| if let Piece::Thinking { text, .. } = piece { Some(text.as_str()) } else { None })
        .collect();
    let calls: Vec<ToolCall<'_>> = answer
        .calls()
        .map(|call| ToolCall { tool_call_id: &call.id, function_name: &call.name, arguments: raw(&call.arguments) })
        .collect();
    Step {
        step_id,
        timestamp,
        source: "agent",
        model_name: answer.model.as_deref(),
        message: Content::Text(text_of(&answer.pieces)),
        reasoning_content: (!thoughts.is_empty()).then(|| thoughts.join("\n")),
        tool_calls: (!calls.is_empty()).then_some(calls),
        observation: None,
        metrics: answer.usage.map(metrics),
        extra: StepExtra {
            provider: answer.provider.as_deref(),
            stop_reason: answer.stop.map(word_of),
            error: answer.error.as_deref(),
            ..StepExtra::default()
        },
    }
}

fn observed(result: &CallResult, timestamp: Option<String>) -> ObservationResult<'_> {
    ObservationResult {
        source_call_id: &result.call_id,
        content: content(&result.pieces),
        extra: ResultExtra { timestamp, is_error: (result.outcome == Outcome::Failed).then_some(true) },
    }
}

fn content(pieces: &[Piece]) -> Content<'_> {
    if !pieces.iter().any(|piece| matches!(piece, Piece::Image(_))) {
        return Content::Text(text_of(pieces));
    }
    let parts = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(Part::Text { text }),
        Piece::Image(image) => Some(Part::Image { source: ImageSource { media_type: &image.media_type, path: path_of(image) } }),
        Piece::Thinking { .. } | Piece::Call(_) => None,
    });
    Content::Parts(parts.collect())
}

fn path_of(image: &Image) -> String {
    let hash = sha256_hex(image.data.as_bytes());
    format!("{IMAGES}/{}.{}", &hash[..DIGITS], images::ending(image).unwrap_or_default())
}

fn metrics(tokens: Tokens) -> Metrics {
    let Tokens { input, output, cache_read, cache_write, reasoning, total, cost } = tokens;
    let sum = |counts: &[Option<u64>]| counts.iter().flatten().fold(0_u64, |sum, count| sum.saturating_add(*count));
    // Programs differ in whether `input` counts what came from the cache. Where it
    // does, it and the output make the total.
    let counts_cache = total.is_some() && total == Some(sum(&[input, output]));
    let prompt_tokens = if counts_cache { input } else { input.map(|_| sum(&[input, cache_read, cache_write])) };
    Metrics {
        prompt_tokens,
        completion_tokens: output,
        cached_tokens: cache_read,
        cost_usd: cost,
        extra: MetricsExtra { input_tokens: input, cache_write_tokens: cache_write, reasoning_tokens: reasoning, total_tokens: total },
    }
}

fn sums(steps: &[Step<'_>]) -> FinalMetrics {
    let all = || steps.iter().filter_map(|step| step.metrics.as_ref());
    let sum = |count: fn(&Metrics) -> Option<u64>| all().filter_map(count).reduce(u64::saturating_add);
    FinalMetrics {
        total_prompt_tokens: sum(|metrics| metrics.prompt_tokens),
        total_completion_tokens: sum(|metrics| metrics.completion_tokens),
        total_cached_tokens: sum(|metrics| metrics.cached_tokens),
        total_cost_usd: all().filter_map(|metrics| metrics.cost_usd).reduce(|a, b| a + b),
        total_steps: steps.len(),
    }
}
