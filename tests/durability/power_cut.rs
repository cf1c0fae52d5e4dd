//! The power is cut at any step: whatever was not synced may be gone, and what
//! was not ordered may have come in another order. Every log is then the old
//! one, the new one or absent, and the next run ends as if nothing had been.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;
use crate::support::campaign;

use support::figure;
use support::power::{Model, Recorder, Survival};
use support::scenarios::{Scenario, Stage, each_scenario};
use support::watched::Watched;

/// How many choices of what survived are tried by chance at each step;
/// `POWER_CUT_SEEDS` asks for more.
fn seeds() -> u64 {
    campaign::rounds("POWER_CUT_SEEDS", 6)
}

/// Cuts the power after every step; returns how often.
fn cut_everywhere(scenario: &Scenario) -> usize {
    let stage = Stage::new();
    let ends = scenario.ends(&stage);
    let at = stage.set(scenario);
    let disk = Watched(Recorder::of(at));
    (scenario.run)(at, &disk).unwrap();
    let states: Vec<Model> = disk.0.states();
    let mut cuts: Vec<(usize, Survival)> = Vec::new();
    let start = campaign::start_of(scenario.name);
    // A tenth of a handful of steps may be none at all.
    let is_chosen = |step: usize| states.len() <= 10 || campaign::is_chosen(start, step);
    for (step, state) in states.iter().enumerate().filter(|(step, _)| is_chosen(*step)) {
        cuts.push((step, Survival::Nothing));
        if !state.is_settled() {
            cuts.push((step, Survival::Names));
            cuts.extend((0..seeds()).map(|seed| (step, Survival::Seeded(seed * 1_000 + step as u64))));
        }
    }
    for (step, survival) in &cuts {
        let left = stage.cleared();
        states[*step].cut(*survival, left);
        let place = format!("a power cut at step {step}, {survival:?}");
        ends.judge(scenario.name, left, &place);
        scenario.finish(left, &ends, &place);
    }
    cuts.len()
}

#[test]
fn whatever_survives_a_power_cut_each_log_is_old_new_or_absent_and_the_next_run_ends_the_same() {
    let tried: Vec<(&str, usize)> = each_scenario(cut_everywhere);
    for (name, cuts) in &tried {
        assert!(*cuts > 0, "{name}: only {cuts} power cuts");
        eprintln!("{name}: {cuts} power cuts tried");
    }
    figure("power cuts", tried.iter().map(|(_, cuts)| cuts).sum());
}
