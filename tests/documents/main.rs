//! The documents do what they say, and the code keeps its layers and licences.

#[path = "../support/mod.rs"]
mod support;

mod cycles;
mod examples;
mod fleet;
mod format_names;
mod layering;
mod losses;
mod new_format;
mod readme;
mod recipes;
mod schema;
mod supply_chain;
mod tables;
