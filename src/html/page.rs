//! The page of one session.

use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::api::{Message, MessageKind, Role, Session};
use crate::model::ids::Seq;

use super::document;
use super::escape::{escaped, in_script, push_escaped};
use super::message::{Context, Kind, Standing, kinds, money, push_article, shown_time, thousands};
use super::originals::{Original, packed_files};

const SCRIPT: &str = include_str!("assets/page.js");

/// A head of a session, and which messages it shows.
#[derive(Debug, Clone)]
pub struct PageHead {
    /// Its name, as `everlog tree` prints it.
    pub name: String,
    /// Whether a program could go on from it: it is a branch.
    pub is_branch: bool,
    /// The messages, as places in the list of all of them.
    pub path: Vec<usize>,
}

/// Bytes that the source's loader rejects.
#[derive(Debug, Clone)]
pub struct DamagedPlace {
    /// The place: `file:line:byte`.
    pub place: String,
    /// Why they are rejected.
    pub reason: String,
    /// How many bytes they are.
    pub size: usize,
    /// The bytes, as text where they are that; nothing where they are left out.
    pub shown: Option<String>,
}

/// Everything that a page shows.
#[derive(Debug)]
pub struct Page<'a> {
    /// What the session is.
    pub session: &'a Session,
    /// What it is called.
    pub title: &'a str,
    /// All messages of all heads, each once, in the order of the log.
    pub messages: &'a [Message],
    /// The heads; the first is the one that is shown.
    pub heads: &'a [PageHead],
    /// Messages that a compaction of the first head took out of the context.
    pub compacted: &'a HashSet<Seq>,
    /// What is damaged.
    pub damage: &'a [DamagedPlace],
    /// The files that the page gives back.
    pub originals: &'a [Original],
    /// What a reader has to know before all: that something is missing, say.
    pub notes: &'a [String],
    /// Where the index is, seen from the page.
    pub index: Option<&'a str>,
}

/// What the page's script needs to switch between heads.
#[derive(Serialize)]
struct Data<'a> {
    heads: Vec<DataHead<'a>>,
}

#[derive(Serialize)]
struct DataHead<'a> {
    name: &'a str,
    branch: bool,
    /// Runs of places.
    path: Vec<(usize, usize)>,
}

/// Returns the page.
///
/// # Errors
/// When its data cannot be JSON, which no session causes.
pub fn page(page: &Page<'_>) -> serde_json::Result<String> {
    let mut out = String::new();
    document::push_head(page.title, SCRIPT, &mut out);
    out.push_str("<body class=session>\n");
    push_top(page, &mut out);
    out.push_str("<main>\n");
    let shown: &[usize] = page.heads.first().map(|head| head.path.as_slice()).unwrap_or_default();
    push_path(page, shown, &mut out);
    out.push_str("</main>\n");
    push_rest(page, shown, &mut out);
    push_damage(page, &mut out);
    push_foot(page, &mut out);
    let heads = page.heads.iter().map(|head| DataHead { name: &head.name, branch: head.is_branch, path: runs(&head.path) }).collect();
    for (id, json) in [("data", serde_json::to_string(&Data { heads })?), ("files", packed_files(page.originals)?)] {
        out.push_str(&format!("<script type=\"application/json\" id={id}>{}</script>\n", in_script(&json)));
    }
    document::push_end(SCRIPT, &mut out);
    Ok(out)
}

/// Appends the messages of the head that is shown.
fn push_path(page: &Page<'_>, shown: &[usize], out: &mut String) {
    let turns = turns(page.messages, shown);
    let mut seen: HashMap<usize, usize> = HashMap::new();
    for (n, place) in shown.iter().enumerate() {
        let Some(message) = page.messages.get(*place) else { continue };
        let times = seen.entry(*place).or_default();
        let context = if page.compacted.contains(&message.seq) { Context::Compacted } else { Context::Given };
        let standing = Standing { place: *place, again: *times, context, turn: turns.get(&n).map(String::as_str) };
        push_article(message, &standing, out);
        *times += 1;
    }
    if shown.is_empty() {
        out.push_str("<p class=empty>This session shows no messages.</p>\n");
    }
}

/// Appends the messages of other heads, which no browser draws until they are
/// asked for.
fn push_rest(page: &Page<'_>, shown: &[usize], out: &mut String) {
    let shown: HashSet<usize> = shown.iter().copied().collect();
    out.push_str("<template id=rest>\n");
    for (place, message) in page.messages.iter().enumerate().filter(|(place, _)| !shown.contains(place)) {
        push_article(message, &Standing { place, again: 0, context: Context::Given, turn: None }, out);
    }
    out.push_str("</template>\n");
}

fn runs(path: &[usize]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for place in path {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *place => *last = *place,
            _ => runs.push((*place, *place)),
        }
    }
    runs
}

/// What each turn came to, by the place on the path where it begins.
fn turns(messages: &[Message], shown: &[usize]) -> BTreeMap<usize, String> {
    let begins =
        |message: &Message| message.kind == MessageKind::Message && message.role == Role::User && message.tool_results().next().is_none();
    let starts: Vec<usize> = (0..shown.len()).filter(|n| messages.get(shown[*n]).is_some_and(begins)).collect();
    let mut turns = BTreeMap::new();
    for (n, start) in starts.iter().enumerate() {
        let end = starts.get(n + 1).copied().unwrap_or(shown.len());
        let of_turn = || shown[*start..end].iter().filter_map(|place| messages.get(*place));
        let tokens: u64 = of_turn().filter_map(|message| message.usage?.output).sum();
        let costs: Vec<f64> = of_turn().filter_map(|message| message.usage?.cost).collect();
        let mut words = vec![format!("turn {}", n + 1)];
        words.extend((end - start > 1).then(|| format!("{} messages", end - start)));
        words.extend((tokens > 0).then(|| format!("{} tokens out", thousands(tokens))));
        words.extend(Some(costs.iter().sum::<f64>()).filter(|cost| *cost > 0.0).map(money));
        turns.insert(*start, words.join(" · "));
    }
    turns
}

fn push_top(page: &Page<'_>, out: &mut String) {
    out.push_str("<header class=top><div class=bar>");
    if let Some(index) = page.index {
        out.push_str(&format!("<a class=back href=\"{}\" title=\"All sessions\">←</a>", escaped(index)));
    }
    out.push_str("<h1>");
    push_escaped(page.title, out);
    out.push_str("</h1><button id=theme title=\"Light or dark (t)\">◐</button></div>\n<p class=about>");
    let session = page.session;
    let first = page.heads.first().and_then(|head| page.messages.get(*head.path.first()?)).and_then(|message| message.ts.as_deref());
    let count = page.heads.first().map_or(0, |head| head.path.len());
    let about = [
        Some(session.format.clone()),
        session.cwd.clone(),
        first.or(session.created.as_deref()).map(shown_time),
        session.model.clone(),
        Some(format!("{} messages", thousands(count as u64))),
        Some(session.id.clone()),
    ];
    for word in about.iter().flatten().filter(|word| !word.is_empty()) {
        out.push_str("<span>");
        push_escaped(word, out);
        out.push_str("</span>");
    }
    out.push_str("</p>\n<div class=tools><span class=modes><button id=normal class=on title=\"Everything\">Normal</button><button id=focus title=\"Only what was said (f)\">Focused</button></span><button id=unfold title=\"Open or close all blocks (e)\">Expand all</button>");
    push_chips(page, out);
    push_heads(page, out);
    out.push_str("</div></header>\n");
    for note in page.notes {
        out.push_str("<p class=\"note banner\">");
        push_escaped(note, out);
        out.push_str("</p>\n");
    }
    if let Some(error) = &session.error {
        out.push_str("<p class=\"note banner error\">Its own program fails to load this session: ");
        push_escaped(error, out);
        out.push_str("</p>\n");
    }
    if !page.damage.is_empty() {
        let places = if page.damage.len() == 1 { "place is" } else { "places are" };
        out.push_str(&format!(
            "<p class=\"note banner error\"><a href=#damage>{} {places} damaged in the original files</a></p>\n",
            page.damage.len()
        ));
    }
}

fn push_chips(page: &Page<'_>, out: &mut String) {
    let mut counts: BTreeMap<Kind, u64> = BTreeMap::new();
    let shown = page.heads.first().map(|head| head.path.as_slice()).unwrap_or_default();
    for kind in shown.iter().filter_map(|place| page.messages.get(*place)).flat_map(kinds) {
        *counts.entry(kind).or_default() += 1;
    }
    out.push_str("<span class=chips>");
    for (kind, count) in counts {
        let (word, name) = kind.words();
        out.push_str(&format!("<button class=\"chip on\" data-kind={word} aria-pressed=true>{name} <b>{}</b></button>", thousands(count)));
    }
    let compacted =
        shown.iter().filter(|place| page.messages.get(**place).is_some_and(|message| page.compacted.contains(&message.seq))).count();
    if compacted > 0 {
        out.push_str(&format!(
            "<button class=\"chip on\" data-kind=gone aria-pressed=true>Compacted <b>{}</b></button>",
            thousands(compacted as u64)
        ));
    }
    out.push_str("</span>");
}

/// Of so many heads each finds the one that it branches off; of more, all of them
/// branch off the first.
const COMPARED: usize = 100;

/// Appends the tree of heads.
fn push_heads(page: &Page<'_>, out: &mut String) {
    if page.heads.len() < 2 {
        return;
    }
    let branches = page.heads.iter().filter(|head| head.is_branch).count();
    out.push_str(&format!("<details class=heads><summary>{branches} branches, {} views</summary><ul>", page.heads.len() - branches));
    let mut below: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for (n, head) in page.heads.iter().enumerate().skip(1) {
        let others = if page.heads.len() > COMPARED { 1 } else { n };
        let shared = |other: usize| head.path.iter().zip(&page.heads[other].path).take_while(|(a, b)| a == b).count();
        // Of equal ones the first, which is nearer to what is shown.
        let (above, depth) = (0..others).rev().map(|other| (other, shared(other))).max_by_key(|(_, shared)| *shared).unwrap_or_default();
        below.entry(above).or_default().push((n, depth));
    }
    push_head_item(page, 0, None, &below, out);
    out.push_str("</ul></details>");
}

fn push_head_item(page: &Page<'_>, n: usize, shared: Option<usize>, below: &BTreeMap<usize, Vec<(usize, usize)>>, out: &mut String) {
    let head = &page.heads[n];
    let pressed = if n == 0 { " class=on" } else { "" };
    out.push_str(&format!("<li><button data-head={n}{pressed}>"));
    push_escaped(&head.name, out);
    out.push_str(&format!("</button> <small>{} messages", thousands(head.path.len() as u64)));
    if let Some(shared) = shared {
        out.push_str(&format!(", the first {} are the same", thousands(shared as u64)));
    }
    out.push_str("</small>");
    if let Some(children) = below.get(&n) {
        out.push_str("<ul>");
        children.iter().for_each(|(child, shared)| push_head_item(page, *child, Some(*shared), below, out));
        out.push_str("</ul>");
    }
    out.push_str("</li>");
}

fn push_damage(page: &Page<'_>, out: &mut String) {
    if page.damage.is_empty() {
        return;
    }
    out.push_str("<section id=damage><h2>Damaged places</h2><p>The program that wrote the session cannot read these bytes.</p>\n");
    for damage in page.damage {
        out.push_str("<details class=damage><summary><b>");
        push_escaped(&damage.reason, out);
        out.push_str("</b> <code>");
        push_escaped(&damage.place, out);
        out.push_str(&format!("</code> <small>{} bytes</small></summary>", thousands(damage.size as u64)));
        match &damage.shown {
            Some(shown) => {
                out.push_str("<pre class=out>");
                push_escaped(shown, out);
                out.push_str("</pre>");
            }
            None => out.push_str("<p>They are left out of this page.</p>"),
        }
        out.push_str("</details>\n");
    }
    out.push_str("</section>\n");
}

fn push_foot(page: &Page<'_>, out: &mut String) {
    out.push_str("<footer class=foot>");
    if !page.originals.is_empty() {
        out.push_str("<h2>Original files</h2><p>As their program wrote them, byte for byte.</p><ul>");
        for (n, file) in page.originals.iter().enumerate() {
            out.push_str(&format!("<li><button data-file={n}>⬇ "));
            push_escaped(&file.path, out);
            out.push_str(&format!(
                "</button> <small>{} bytes, SHA-256 <code>{}</code></small></li>",
                thousands(file.bytes.len() as u64),
                escaped(&file.sha256)
            ));
        }
        out.push_str("</ul>");
    }
    out.push_str("<p class=keys><kbd>j</kbd> <kbd>k</kbd> next and previous message · <kbd>f</kbd> focused · <kbd>e</kbd> expand all · <kbd>t</kbd> light or dark · <kbd>g</kbd> <kbd>G</kbd> first and last</p><p>Made by everlog. This page needs no network and runs nothing that a message says.</p></footer>\n");
}
