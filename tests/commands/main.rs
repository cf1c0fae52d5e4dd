//! What each command prints, writes and exits with.

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod audit;
mod audit_codes;
mod baseline;
mod ci;
mod compare;
mod compare_facts;
mod compare_whole;
mod contains_store;
mod contains_transcripts;
mod exit_codes;
mod export;
mod fork;
mod html;
mod logs;
mod ls;
mod named;
mod packages;
mod prune;
mod prune_back;
mod prune_cycles;
mod prune_formats;
mod prune_plans;
mod prune_undo;
mod repair;
mod repair_sources;
mod repair_turns;
mod replay;
mod restore;
mod restore_missing;
mod retire;
mod root;
mod search;
mod shards;
mod show;
mod sources;
mod stats;
#[cfg(feature = "parquet")]
mod tables;
mod tree;
mod verify;
