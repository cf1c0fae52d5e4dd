//! What is too long for a record of the target: a program that reads a session line
//! by line may refuse all of it because of one.

use crate::adapters::exporter::Exporter;
use crate::json;
use crate::model::export::loss::{LossCode, Losses};
use crate::model::export::transcript::{Answer, Body, CallResult, Piece};

use super::carry::Origin;
use super::prepare::Draft;
use super::source::SourceEvent;

/// What a record needs beside its texts.
const FRAME: usize = 64 * 1024;
/// How a text ends of which the rest is left out.
const CUT: &str = "… (too long: the rest is left out)";

/// Cuts what makes a record longer than the target reads.
pub(super) fn shorten(drafts: &mut [Draft], events: &[SourceEvent], exporter: &dyn Exporter, losses: &mut Losses) {
    let Some(most) = exporter.longest_record().map(|most| most.saturating_sub(FRAME)) else { return };
    for draft in drafts {
        for code in shortened(&mut draft.body, most) {
            if let Origin::Events(of) = &draft.origin {
                of.iter().for_each(|at| losses.add(code, events[*at].seq));
            }
        }
    }
}

/// Shortens an entry, the longest of its texts first; returns what was done to it.
fn shortened(body: &mut Body, most: usize) -> Vec<LossCode> {
    let mut done = Vec::new();
    let mut parts = parts(body);
    let mut sizes: Vec<usize> = parts.iter().map(Part::size).collect();
    while sizes.iter().sum::<usize>() > most {
        let Some((at, size)) = sizes.iter().copied().enumerate().max_by_key(|(_, size)| *size) else { break };
        let room = most.saturating_sub(sizes.iter().sum::<usize>() - size).max(size / 2);
        let code = parts[at].cut(room);
        sizes[at] = parts[at].size();
        if sizes[at] >= size {
            break;
        }
        if !done.contains(&code) {
            done.push(code);
        }
    }
    done
}

/// Something of an entry that has a length.
enum Part<'b> {
    Text(&'b mut String),
    Arguments(&'b mut String),
    Piece(&'b mut Piece),
}

impl Part<'_> {
    /// How many bytes it takes at most in JSON.
    fn size(&self) -> usize {
        match self {
            Part::Text(text) => escaped(text),
            // Often a text in a text.
            Part::Arguments(text) => 2 * escaped(text),
            Part::Piece(Piece::Image(image)) => image.data.len(),
            Part::Piece(Piece::Text(_) | Piece::Thinking { .. } | Piece::Call(_)) => 0,
        }
    }

    /// Leaves so much of it; a picture is all or nothing.
    fn cut(&mut self, room: usize) -> LossCode {
        match self {
            Part::Text(text) => {
                **text = beginning(text, room);
                LossCode::TextAltered
            }
            Part::Arguments(text) => {
                let mut wrapped = b"{\"input\":".to_vec();
                json::push_string(&beginning(text, room / 4), &mut wrapped);
                wrapped.push(b'}');
                **text = String::from_utf8_lossy(&wrapped).into_owned();
                LossCode::ArgumentsWrapped
            }
            Part::Piece(piece) => {
                **piece = Piece::Text("[image: too large]".to_owned());
                LossCode::ImageMissing
            }
        }
    }
}

fn parts(body: &mut Body) -> Vec<Part<'_>> {
    match body {
        Body::System(text) | Body::BranchSummary(text) | Body::Compaction { summary: text, .. } => vec![Part::Text(text)],
        Body::User(pieces) | Body::Note { pieces, .. } | Body::Answer(Answer { pieces, .. }) | Body::Result(CallResult { pieces, .. }) => {
            pieces.iter_mut().map(part).collect()
        }
        Body::Model { .. } | Body::Title(_) => Vec::new(),
    }
}

fn part(piece: &mut Piece) -> Part<'_> {
    match piece {
        Piece::Text(text) | Piece::Thinking { text, .. } => Part::Text(text),
        Piece::Call(call) => Part::Arguments(&mut call.arguments),
        Piece::Image(_) => Part::Piece(piece),
    }
}

/// How many bytes a character takes in a JSON text, whatever its program escapes.
fn width(c: char) -> usize {
    match c {
        '"' | '\\' => 2,
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\u{7f}' => 6,
        c if c.is_control() => 6,
        c => c.len_utf8(),
    }
}

fn escaped(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// The beginning of a text that has room, and a word that says so.
fn beginning(text: &str, room: usize) -> String {
    let mut left = room.saturating_sub(CUT.len());
    let end = text.char_indices().find(|(_, c)| {
        let fits = width(*c) <= left;
        left = left.saturating_sub(width(*c));
        !fits
    });
    let end = end.map_or(text.len(), |(at, _)| at);
    format!("{}{CUT}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_text_is_cut_and_the_others_stay() {
        let mut body = Body::User(vec![Piece::Text("short".to_owned()), Piece::Text("<é\n".repeat(1000))]);
        assert_eq!(shortened(&mut body, 2000), [LossCode::TextAltered]);
        let Body::User(pieces) = &body else { panic!("{body:?}") };
        let [Piece::Text(first), Piece::Text(second)] = pieces.as_slice() else { panic!("{pieces:?}") };
        assert!(first == "short" && second.ends_with(CUT) && escaped(second) <= 2000, "{}", escaped(second));
        assert!(shortened(&mut body, 2000).is_empty());
    }
}
