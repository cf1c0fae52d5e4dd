//! Sessions as pages: one page that needs no server and no network and runs
//! nothing that a message says, and an index of many of them.
//!
//! Everything that is shown goes through `escape`. A page carries its own style
//! and script, and a content security policy that allows these two, by their
//! hashes, and nothing else. The same session gives the same bytes.

mod chart;
mod diff;
mod document;
mod escape;
mod highlight;
mod index;
mod markdown;
mod media;
mod message;
mod originals;
mod page;
mod tool;

pub use index::{IndexRow, index};
pub use message::searched_text;
pub use originals::Original;
pub use page::{DamagedPlace, Page, PageHead, page};
