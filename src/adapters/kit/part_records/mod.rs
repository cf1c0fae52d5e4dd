//! Messages whose parts are records of their own, a tool's call and its answer being
//! one of them: as facts of the log, and back. A program may keep such records in
//! files or in rows.

mod content;
mod message;
mod part;
mod schema;
mod show;

pub(in crate::adapters) use content::{Content, role_of};
pub(in crate::adapters) use message::{Normal, Owner, member, normal, render, without_record};
pub(in crate::adapters) use part::render as render_part;
pub(in crate::adapters) use schema::{COMPACT, MESSAGE, WRITER};
pub(in crate::adapters) use show::message_renderer;
