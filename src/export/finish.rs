//! From drafts to the transcript that a target writes: ids, times, title, folder.

use std::collections::{HashMap, HashSet};

use crate::json::Value;
use crate::model::event::EventKind;
use crate::model::export::ability::{Abilities, Ability, Need};
use crate::model::export::instant::{Instant, Zone};
use crate::model::export::loss::{LossCode, Losses};
use crate::model::export::transcript::{Body, Entry, Seed, Transcript};
use crate::model::ids::Seq;

use super::carry::Origin;
use super::prepare::Draft;
use super::source::{SourceEvent, SourcePath};
use super::wanted::Wanted;

/// Gives the drafts ids and times, and the session its title and folder.
pub(super) fn transcript(
    path: &SourcePath,
    mut drafts: Vec<Draft>,
    seed: Seed,
    abilities: Abilities,
    losses: &mut Losses,
    wanted: &Wanted,
) -> (Transcript, Vec<Origin>) {
    let begin = Seq::new(1);
    let title = title(path).filter(|_| wanted.title.is_none()).or_else(|| wanted.title.clone());
    if title.is_some() && !abilities.can(Ability::Titles) && !abilities.can(Ability::TitleEntries) {
        losses.add(LossCode::TitleDropped, begin);
    }
    let said = wanted.cwd.clone().or_else(|| path.session.cwd.clone());
    let is_fit = |cwd: &&String| abilities.can(Ability::Cwd) && (!abilities.needs(Need::AbsoluteCwd) || cwd.starts_with('/'));
    let cwd = said.as_ref().filter(is_fit).cloned();
    if said.is_some() && cwd.is_none() {
        losses.add(LossCode::CwdDropped, begin);
    } else if said.is_none() && abilities.can(Ability::Cwd) {
        losses.add(LossCode::CwdInvented, begin);
    }
    if abilities.needs(Need::LeadingSystem) && !matches!(drafts.first(), Some(Draft { body: Body::System(_), .. })) {
        let of = drafts.first().and_then(|draft| first_of(&draft.origin));
        losses.add(LossCode::SystemInvented, of.map_or(begin, |of| path.events[of].seq));
        let text = format!(
            "You are {}, a helpful assistant that can use tools. This conversation was begun in {} and brought here.",
            wanted.target.id(),
            path.session.format
        );
        drafts.insert(0, Draft { body: Body::System(text), origin: Origin::Invented(of) });
    }
    if abilities.can(Ability::TitleEntries)
        && let Some(title) = title.clone().filter(|title| wanted.title.is_some() || !has_title(&drafts, title))
    {
        drafts.insert(0, Draft { body: Body::Title(title), origin: Origin::Invented(None) });
    }
    let created = path.session.created.as_deref().and_then(Instant::of).map(|(time, _)| time);
    let times = times(path, &drafts, created, abilities, losses);
    let created = created.unwrap_or_else(|| times.first().copied().unwrap_or(Instant::EPOCH)).cut(abilities.digits);
    let kept_from: Vec<Option<usize>> = drafts.iter().map(|draft| last_of(&draft.origin)).collect();
    let ids = ids(&drafts, &path.events, &seed);
    let (mut entries, mut origins) = (Vec::with_capacity(drafts.len()), Vec::with_capacity(drafts.len()));
    for (at, ((draft, time), id)) in drafts.into_iter().zip(times).zip(ids).enumerate() {
        let mut body = draft.body;
        if let Body::Compaction { first_kept, .. } = &mut body {
            // The first entry that is made of what is kept.
            *first_kept = first_kept.and_then(|kept| kept_from[..at].iter().position(|of| of.is_some_and(|of| of >= kept)));
        }
        entries.push(Entry { id, time, body, carried: None });
        origins.push(draft.origin);
    }
    (
        Transcript {
            seed,
            source: path.session.format.clone(),
            title,
            summary: None,
            cwd,
            folder: wanted.folder.clone(),
            created,
            entries,
        },
        origins,
    )
}

fn first_of(origin: &Origin) -> Option<usize> {
    match origin {
        Origin::Invented(of) => *of,
        Origin::Events(of) => of.first().copied(),
    }
}

fn last_of(origin: &Origin) -> Option<usize> {
    match origin {
        Origin::Invented(of) => *of,
        Origin::Events(of) => of.last().copied(),
    }
}

/// The last title on the path, or else the session's.
fn title(path: &SourcePath) -> Option<String> {
    let of_event = |event: &SourceEvent| {
        let title = Value::trusted(&event.payload).first("title").filter(|title| title.is_string())?;
        (event.kind == EventKind::Meta).then(|| title.to_str().into_owned())
    };
    path.events.iter().rev().find_map(of_event).or_else(|| path.session.title.clone()).filter(|title| !title.trim().is_empty())
}

fn has_title(drafts: &[Draft], title: &str) -> bool {
    drafts.iter().any(|draft| matches!(&draft.body, Body::Title(last) if last == title))
}

fn times(path: &SourcePath, drafts: &[Draft], created: Option<Instant>, abilities: Abilities, losses: &mut Losses) -> Vec<Instant> {
    let known = path.events.iter().find_map(|event| event.ts.as_deref().and_then(Instant::of)).map(|(time, _)| time);
    let mut last = created.or(known).unwrap_or(Instant::EPOCH).cut(abilities.digits);
    let step = 10_i128.pow(9 - abilities.digits.min(9));
    let mut times: Vec<Instant> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let of = first_of(&draft.origin).map(|of| &path.events[of]);
        let said = of.and_then(|event| event.ts.as_deref()).and_then(Instant::of);
        let floor = times.last().copied().unwrap_or(Instant::EPOCH);
        let mut time = match said {
            Some((time, _)) => time.cut(abilities.digits),
            None => last,
        };
        if let Some(event) = of {
            match said {
                None => losses.add(LossCode::TimeInvented, event.seq),
                Some((_, Zone::Assumed)) => losses.add(LossCode::ZoneAssumed, event.seq),
                Some((_, Zone::Said)) => {}
            }
            if said.is_some_and(|(said, _)| said != time) {
                losses.add(LossCode::TimeCut, event.seq);
            }
            if abilities.needs(Need::RisingTimes) && time <= floor {
                losses.add(LossCode::TimeInvented, event.seq);
            }
        }
        if abilities.needs(Need::RisingTimes) && time <= floor {
            time = floor.after(step);
        }
        last = time;
        times.push(time);
    }
    times
}

/// An id for each draft: its own hash, as short as it can be.
fn ids(drafts: &[Draft], events: &[SourceEvent], seed: &Seed) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut seen: HashMap<Seq, u32> = HashMap::new();
    drafts
        .iter()
        .map(|draft| {
            let seq = first_of(&draft.origin).map_or(Seq::ROOT, |of| events[of].seq);
            let place = seen.entry(seq).or_insert(0);
            let word = if *place == 0 { seq.to_string() } else { format!("{seq}#{place}") };
            *place += 1;
            let hash = seed.derive(&word);
            let id = [8, 16, 24, 64].iter().map(|digits| &hash[..*digits]).find(|id| !taken.contains(*id)).unwrap_or(&hash).to_owned();
            taken.insert(id.clone());
            id
        })
        .collect()
}
