//! Everlog.
pub mod model;
pub mod log;
