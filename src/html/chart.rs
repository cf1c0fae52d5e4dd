//! When something happened: a chart of bars.

use jiff::Span;
use jiff::civil::Date;
use std::collections::BTreeMap;

use super::escape::push_escaped;

/// Within so many days each day has a bar, else each month, and else each year.
const DAYS: usize = 92;
const MONTHS: usize = 240;

const HEIGHT: u64 = 60;
const WIDTH: usize = 10;

/// What a bar stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Day,
    Month,
    Year,
}

impl Unit {
    /// How much of a time in the log's form names one.
    fn len(self) -> usize {
        match self {
            Unit::Day => 10,
            Unit::Month => 7,
            Unit::Year => 4,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Unit::Day => "day",
            Unit::Month => "month",
            Unit::Year => "year",
        }
    }
}

/// Returns the bars from the first to the last day, also those of nothing, so that
/// equal widths are equal times.
fn bars(days: &BTreeMap<&str, u64>) -> Option<(Unit, BTreeMap<String, u64>)> {
    let dates = days.keys().filter_map(|day| day.parse::<Date>().ok());
    let (first, last) = (dates.clone().min()?, dates.max()?);
    let months = (i64::from(last.year()) - i64::from(first.year())) * 12 + i64::from(last.month()) - i64::from(first.month());
    let all: Vec<String> =
        first.series(Span::new().days(1)).take(DAYS + 1).take_while(|day| *day <= last).map(|day| day.to_string()).collect();
    let (unit, all) = if all.len() <= DAYS {
        (Unit::Day, all)
    } else if months < MONTHS as i64 {
        let months = first.first_of_month().series(Span::new().months(1)).take_while(|day| *day <= last);
        (Unit::Month, months.map(|day| day.to_string()[..7].to_owned()).collect())
    } else {
        // Years of nothing would be most of what there is.
        (Unit::Year, Vec::new())
    };
    let mut bars: BTreeMap<String, u64> = all.into_iter().map(|name| (name, 0)).collect();
    for (day, count) in days {
        *bars.entry(day.get(..unit.len())?.to_owned()).or_default() += count;
    }
    Some((unit, bars))
}

/// Appends a chart of sessions by the times of their last messages.
pub(super) fn push_chart<'a>(times: impl Iterator<Item = &'a str>, out: &mut String) {
    let mut days: BTreeMap<&str, u64> = BTreeMap::new();
    let days_of = times.filter_map(|time| time.get(..10)).filter(|day| day.parse::<Date>().is_ok());
    days_of.for_each(|day| *days.entry(day).or_default() += 1);
    let Some((unit, bars)) = bars(&days) else { return };
    let most = bars.values().copied().max().unwrap_or_default();
    let (Some(first), Some(last)) = (bars.keys().next(), bars.keys().next_back()) else { return };
    out.push_str(&format!(
        "<figure class=chart><svg viewBox=\"0 0 {} {HEIGHT}\" preserveAspectRatio=none role=img aria-label=\"Sessions over time\">",
        bars.len() * WIDTH
    ));
    for (n, (bar, count)) in bars.iter().enumerate() {
        let height = if *count == 0 { 0 } else { (count * HEIGHT / most.max(1)).max(2) };
        out.push_str(&format!("<rect x={} y={} width={} height={height}><title>", n * WIDTH + 1, HEIGHT - height, WIDTH - 2));
        push_escaped(bar, out);
        out.push_str(&format!(": {count}</title></rect>"));
    }
    out.push_str("</svg><figcaption><span>");
    push_escaped(first, out);
    out.push_str(&format!("</span><span>sessions by {}</span><span>", unit.word()));
    push_escaped(last, out);
    out.push_str("</span></figcaption></figure>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(times: &[&str]) -> (usize, String) {
        let mut out = String::new();
        push_chart(times.iter().copied(), &mut out);
        (out.matches("<rect").count(), out)
    }

    #[test]
    fn days_and_months_without_a_session_have_their_place() {
        assert_eq!(shown(&["2026-02-27T10:00:00Z", "2026-03-02T10:00:00Z"]).0, 4);
        let (months, chart) = shown(&["2025-10-31T10:00:00Z", "2026-03-01T10:00:00Z"]);
        assert!(months == 6 && chart.contains("<title>2026-02: 0</title>") && chart.contains("sessions by month"), "{chart}");
        assert_eq!(shown(&["0001-01-01T10:00:00Z", "2026-03-01T10:00:00Z"]).0, 2);
        assert_eq!(shown(&["not a time", ""]), (0, String::new()));
    }
}
