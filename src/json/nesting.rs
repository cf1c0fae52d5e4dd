//! How deep containers are nested.

/// Returns how deep a text nests containers, whether it is valid JSON or not.
#[must_use]
pub fn deepest(text: &[u8]) -> usize {
    let (mut depth, mut most, mut in_string, mut at) = (0usize, 0usize, false, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                most = most.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    most
}

/// The open containers, one bit each, which says whether it is an object. Most texts
/// need no more than one word.
#[derive(Default)]
pub(super) struct Open {
    innermost: u64,
    pub(super) depth: usize,
    /// Full words, of which the last is the next one out.
    around: Vec<u64>,
}

impl Open {
    const BITS: usize = u64::BITS as usize;

    pub(super) fn push(&mut self, opener: u8) {
        if self.depth > 0 && self.depth.is_multiple_of(Open::BITS) {
            self.around.push(self.innermost);
        }
        self.innermost = self.innermost << 1 | u64::from(opener == b'{');
        self.depth += 1;
    }

    pub(super) fn pop(&mut self) {
        self.depth -= 1;
        self.innermost = if self.depth.is_multiple_of(Open::BITS) { self.around.pop().unwrap_or(0) } else { self.innermost >> 1 };
    }

    pub(super) fn is_in_object(&self) -> bool {
        self.innermost & 1 == 1
    }
}
