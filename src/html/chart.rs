//! When something happened: a chart of bars.

use std::collections::BTreeMap;

use super::escape::push_escaped;

/// With so many days each day has a bar, with more each month.
const DAYS: usize = 92;

const HEIGHT: u64 = 60;
const WIDTH: usize = 10;

/// Appends a chart of sessions by the times of their last messages.
pub(super) fn push_chart<'a>(times: impl Iterator<Item = &'a str>, out: &mut String) {
    let mut days: BTreeMap<&str, u64> = BTreeMap::new();
    times.filter_map(|time| time.get(..10)).for_each(|day| *days.entry(day).or_default() += 1);
    let mut bars = BTreeMap::new();
    let len = if days.len() > DAYS { 7 } else { 10 };
    days.iter().filter_map(|(day, count)| Some((day.get(..len)?, count))).for_each(|(bar, count)| *bars.entry(bar).or_insert(0) += count);
    let most = bars.values().copied().max().unwrap_or_default();
    let (Some(first), Some(last)) = (bars.keys().next(), bars.keys().next_back()) else { return };
    out.push_str(&format!(
        "<figure class=chart><svg viewBox=\"0 0 {} {HEIGHT}\" preserveAspectRatio=none role=img aria-label=\"Sessions over time\">",
        bars.len() * WIDTH
    ));
    for (n, (bar, count)) in bars.iter().enumerate() {
        let height = (count * HEIGHT / most.max(1)).max(2);
        out.push_str(&format!("<rect x={} y={} width={} height={height}><title>", n * WIDTH + 1, HEIGHT - height, WIDTH - 2));
        push_escaped(bar, out);
        out.push_str(&format!(": {count}</title></rect>"));
    }
    out.push_str("</svg><figcaption><span>");
    push_escaped(first, out);
    out.push_str(&format!("</span><span>sessions {}</span><span>", if len == 7 { "by month" } else { "by day" }));
    push_escaped(last, out);
    out.push_str("</span></figcaption></figure>\n");
}
