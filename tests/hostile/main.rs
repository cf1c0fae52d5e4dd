//! Sources, logs and receipts that an attacker made, fuzzing, and memory limits.

#[path = "../support/mod.rs"]
mod support;

mod agent_databases;
mod bombs;
mod controls;
mod databases;
mod databases_odd;
mod escapes;
mod fuzz;
mod hostile_logs;
mod hostile_receipts;
mod hostile_sources;
mod hostile_stores;
mod memory;
mod odd_logs;
