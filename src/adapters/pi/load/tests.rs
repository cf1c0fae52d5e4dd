//! Odd rules, one by one.
