//! Kills, power cuts, failing disks and odd file systems: nothing is lost.

#[path = "../support/mod.rs"]
mod support;

mod crash;
mod faults;
mod filesystems;
mod kills;
mod modes;
mod power_cut;
mod prune_killed;
mod repair_killed;
mod retire_crash;
mod shards;
mod together;
