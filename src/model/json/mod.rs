//! JSON as bytes: a tokenizer that keeps what `serde_json::Value` loses (number
//! forms, key order, duplicate keys, lone surrogates, depth), the escapes of
//! the log and of source programs, and comparison of values as text.

mod accepted;
mod bare;
mod carry;
mod compare;
mod cut;
mod ends;
mod escape;
mod nesting;
mod scan;
mod style;
mod tokens;

pub use accepted::{Members, all_members, all_members_opening, elements, from_member, members, opened_elements};
pub use bare::{Bare, each_bare};
pub use carry::{push_carried_string, push_carried_value};
pub use compare::{normal_form, same_string, same_value};
pub use cut::is_cut_off;
pub use ends::token_end;
pub use escape::{RAW_KEY, decode_string, first_unicode_escape, lossy, push_escaped, push_own_key, push_string, unescape};
pub use nesting::deepest;
pub use scan::{scan_object, scan_opened, scan_outline, scan_value};
pub use style::{Escapes, Separators, Style};
pub use tokens::{Dialect, Facts, Kind, Member, Outline, Scan, ScanError, kind_of};
