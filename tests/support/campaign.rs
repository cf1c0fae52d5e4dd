//! How much of a long campaign runs. `cargo test` runs a tenth of it, so that it
//! ends in minutes; `scripts/campaign`, which sets `CAMPAIGN=full`, runs all of
//! it.

/// Whether the whole campaign runs.
pub fn is_full() -> bool {
    std::env::var_os("CAMPAIGN").is_some_and(|size| size == "full")
}

/// How many rounds to run of a campaign that has `full` rounds. The environment
/// variable `name` asks for another number.
pub fn rounds(name: &str, full: u64) -> u64 {
    let asked = std::env::var(name).ok().and_then(|count| count.parse().ok());
    asked.unwrap_or(if is_full() { full } else { full.div_ceil(10) })
}

/// Whether the `n`-th place of many, all of which the full campaign tries, is
/// among the tenth that `cargo test` tries. `start` differs from one series to
/// the next, so that not all series skip the same places.
pub fn is_chosen(start: usize, n: usize) -> bool {
    is_full() || (start + n).is_multiple_of(10)
}

/// A start for [`is_chosen`] that is the same in every run.
pub fn start_of(series: &str) -> usize {
    series.bytes().map(usize::from).sum()
}

/// Says that a test cannot run because something is missing. With
/// `REQUIRE_ALL=1`, as in CI, that is a failure.
pub fn missing(what: &str) {
    eprintln!("SKIPPED: {what}");
    assert!(std::env::var_os("REQUIRE_ALL").is_none(), "REQUIRE_ALL is set, and something is missing: {what}");
}
