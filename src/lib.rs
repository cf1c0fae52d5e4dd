//! Everlog moves AI-agent sessions out of the many formats they live in and
//! into one canonical, append-only event log, and proves that nothing was lost.

pub mod adapters;
pub mod cli;
pub mod commands;
pub mod log;
pub mod model;
pub mod report;
pub mod store;
pub mod verify;
