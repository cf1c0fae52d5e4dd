//! How many turns of a rollout were rolled back.

use std::rc::Rc;

use crate::json;
use crate::model::jsonl::{Lines, Newlines};
use crate::model::packing;

use super::members::{get, members_of};
use super::names::{self, Form};
use super::record::{self, Record};
use super::scan;

/// Counts the turns that rollbacks name in a rollout of the kind that the program
/// migrates; `None` where there are none, or the file is no such rollout.
pub(crate) fn rolled_back_turns(path: &[u8], bytes: impl FnOnce() -> Rc<Vec<u8>>) -> Option<u64> {
    let name = names::parse(path).filter(|name| name.form != Form::Document)?;
    let bytes = bytes();
    let plain = if name.form == Form::Cold { Rc::new(packing::unpack(&bytes)?) } else { bytes };
    let (generation, header) = scan::header_of(&plain)?;
    if generation == scan::Generation::Bare || header.is_paginated {
        return None;
    }
    let lines = Lines::new(&plain, Newlines::LineFeed);
    // Most lines are something else, and need not be parsed.
    let marked = lines.filter(|line| memchr::memmem::find(line.text, b"thread_rolled_back").is_some());
    let turns = marked.filter_map(|line| {
        let members = members_of(record::parse(line.text).ok()?);
        if record::judge(&members) != Ok(Record::RolledBack) {
            return None;
        }
        let payload = json::all_members(get(&members, "payload")?);
        std::str::from_utf8(get(&payload, "num_turns")?).ok()?.parse::<u64>().ok()
    });
    Some(turns.sum()).filter(|turns| *turns > 0)
}
