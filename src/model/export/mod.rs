//! What an export is made of: the transcript that a target writes, what its
//! program can say, and what gets lost on the way.

pub mod ability;
pub mod instant;
pub mod loss;
pub mod transcript;
