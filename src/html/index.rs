//! The index of many sessions.

use serde::Serialize;
use std::collections::BTreeMap;

use super::chart::push_chart;
use super::document;
use super::escape::{escaped, in_script, push_escaped};
use super::message::{shown_time, thousands};
use super::originals::packed;

const SCRIPT: &str = include_str!("assets/index.js");

/// One session of the index.
#[derive(Debug, Clone)]
pub struct IndexRow {
    /// Where its page is, seen from the index.
    pub page: String,
    /// What it is called.
    pub title: String,
    /// Its program.
    pub format: String,
    /// Where it worked.
    pub cwd: Option<String>,
    /// The time of its last message, as the source has it.
    pub last: Option<String>,
    /// What it is ordered by in time.
    pub order: String,
    /// How many messages it shows.
    pub messages: u64,
    /// The size of its log.
    pub bytes: u64,
    /// How many branches it has.
    pub branches: u64,
    /// How many places of it are damaged.
    pub damaged: u64,
    /// All that is searched of it.
    pub text: String,
}

/// What the index's script searches.
#[derive(Serialize)]
struct Searched {
    /// What `DecompressionStream("deflate")` unpacks, in base64.
    deflate: String,
}

/// Returns the index of these sessions.
///
/// # Errors
/// When its data cannot be JSON, which no session causes.
pub fn index(title: &str, rows: &[IndexRow]) -> serde_json::Result<String> {
    let mut out = String::new();
    document::push_head(title, SCRIPT, &mut out);
    out.push_str("<body class=index>\n<header class=top><div class=bar><h1>");
    push_escaped(title, &mut out);
    out.push_str("</h1><button id=theme title=\"Light or dark (t)\">◐</button></div><p class=about>");
    let messages: u64 = rows.iter().map(|row| row.messages).sum();
    out.push_str(&format!("<span>{} sessions</span><span>{} messages</span>", thousands(rows.len() as u64), thousands(messages)));
    out.push_str("</p>\n<div class=tools><input id=search type=search placeholder=\"Search all sessions\" aria-label=\"Search all sessions\"><select id=program aria-label=Program><option value=\"\">all programs</option>");
    let mut programs: BTreeMap<&str, u64> = BTreeMap::new();
    rows.iter().for_each(|row| *programs.entry(&row.format).or_default() += 1);
    for (program, count) in programs {
        out.push_str(&format!("<option value=\"{0}\">{0} ({count})</option>", escaped(program)));
    }
    out.push_str("</select><span id=found aria-live=polite></span></div></header>\n");
    push_chart(rows.iter().filter_map(|row| row.last.as_deref()), &mut out);
    out.push_str("<main class=wide><table><thead><tr>");
    for (word, name) in
        [("title", "Session"), ("format", "Program"), ("order", "Last message"), ("messages", "Messages"), ("bytes", "Size")]
    {
        out.push_str(&format!("<th><button data-sort={word}>{name}</button></th>"));
    }
    out.push_str("</tr></thead><tbody>\n");
    for (n, row) in rows.iter().enumerate() {
        push_row(n, row, &mut out);
    }
    out.push_str("</tbody></table></main>\n<footer class=foot><p class=keys><kbd>/</kbd> search · <kbd>t</kbd> light or dark</p><p>Made by everlog. This page needs no network.</p></footer>\n");
    let searched: Vec<Searched> = rows.iter().map(|row| Searched { deflate: packed(row.text.as_bytes()) }).collect();
    out.push_str(&format!("<script type=\"application/json\" id=texts>{}</script>\n", in_script(&serde_json::to_string(&searched)?)));
    document::push_end(SCRIPT, &mut out);
    Ok(out)
}

fn push_row(n: usize, row: &IndexRow, out: &mut String) {
    out.push_str(&format!(
        "<tr data-n={n} data-title=\"{}\" data-format=\"{}\" data-order=\"{}\" data-messages={} data-bytes={}><td><a href=\"{}\">",
        escaped(&row.title.to_lowercase()),
        escaped(&row.format),
        escaped(&row.order),
        row.messages,
        row.bytes,
        escaped(&row.page),
    ));
    push_escaped(&row.title, out);
    out.push_str("</a>");
    if row.damaged > 0 {
        out.push_str(&format!("<span class=\"mark error\">{} damaged</span>", thousands(row.damaged)));
    }
    if row.branches > 1 {
        out.push_str(&format!("<span class=mark>{} branches</span>", thousands(row.branches)));
    }
    if let Some(cwd) = &row.cwd {
        out.push_str("<small class=cwd>");
        push_escaped(cwd, out);
        out.push_str("</small>");
    }
    out.push_str("<p class=hit></p></td><td>");
    push_escaped(&row.format, out);
    out.push_str("</td><td>");
    push_escaped(&row.last.as_deref().map(shown_time).unwrap_or_default(), out);
    out.push_str(&format!(
        "</td><td class=num>{}</td><td class=num>{}</td></tr>\n",
        thousands(row.messages),
        thousands(row.bytes.div_ceil(1024)) + " KB"
    ));
}
