//! Records by table: which key of a source record goes where in a payload, and
//! back. One table serves both directions, so that they cannot disagree.
//!
//! What has no place in its table, or not the kind of value that its place
//! takes, is kept in `ext` under its own name; keys in another order than the
//! table's make a shape. What even that cannot give back (a key that comes
//! twice) is left to the record's residual.

mod claim;
mod ext;
mod object;
mod render;
mod table;
#[cfg(test)]
mod tests;

pub(in crate::adapters) use claim::Claim;
pub(in crate::adapters) use object::{has_a_name_twice, last_of_each};
pub(in crate::adapters) use render::{Rendered, Rendering, unquoted};
pub(in crate::adapters) use table::{
    Content, Ids, Leftovers, NoContent, NoIds, ParentId, Parents, Setting, Table, Target, To, ValueKind, Vocabulary,
};
