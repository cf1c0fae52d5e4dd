//! Maps of what is found again and again while a session is read.

use std::collections::HashMap;

/// A map whose hashes cost a fraction of the standard library's. Their seed is
/// random: no session can be made to collide.
pub type Map<K, V> = HashMap<K, V, foldhash::quality::RandomState>;
