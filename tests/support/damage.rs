//! Damage as disks, editors and programs do it, the same every time.

/// A generator that gives the same numbers every time.
#[derive(Debug, Clone)]
pub struct Seeded(pub u64);

impl Seeded {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// Damages bytes as disks, editors and programs do.
pub fn damaged(bytes: &[u8], random: &mut Seeded) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(3) {
        let (a, b) = (random.below(bytes.len() + 1), random.below(bytes.len() + 1));
        let (from, to) = (a.min(b), a.max(b).min(a.min(b) + 60));
        match random.below(12) {
            0 => bytes.truncate(from),
            1 => drop(bytes.drain(from..to)),
            2 => {
                let copy = bytes[from..to].to_vec();
                bytes.splice(b.min(bytes.len())..b.min(bytes.len()), copy);
            }
            3 => bytes[from..to].fill(0),
            4 if from < bytes.len() => bytes[from] ^= 1 << random.below(8),
            5 => drop(bytes.splice(from..from, *b"\xff\xfe\r\n")),
            6 => drop(bytes.splice(from..to, br#""x": NaN, "#.iter().copied())),
            7 => {
                let at = memchr::memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |end| from + end + 1);
                bytes.splice(at..at, *b"{\"seq\": 3, \"ts\": \"2026\", \"type\": \"undo\", \"payload\": {}}\n");
            }
            // One id in the place of another: twins, orphans, circles.
            8 | 9 => {
                let ids: Vec<usize> = memchr::memmem::find_iter(&bytes, b"d\":\"").collect();
                let token = |at: usize| at + 3..at + 4 + memchr::memchr(b'"', &bytes[at + 4..]).map_or(0, |len| len + 1);
                if !ids.is_empty() {
                    let (one, other) = (token(ids[random.below(ids.len())]), token(ids[random.below(ids.len())]));
                    let id = bytes[other].to_vec();
                    bytes.splice(one, id);
                }
            }
            // Another value.
            10 => {
                let values: [&[u8]; 8] = [b"null", b"[]", b"1e400", b"{\"toString\":{}}", b"true", b"\"\"", b"\"Mar 3\"", br#""\ud800""#];
                if let Some(at) = memchr::memmem::find(&bytes[from..], b"\":").map(|at| from + at + 2) {
                    let len = bytes[at..].iter().take_while(|b| !matches!(b, b',' | b'}' | b'\n')).count();
                    bytes.splice(at..at + len, values[random.below(values.len())].iter().copied());
                }
            }
            _ => {
                let values: [&[u8]; 6] = [b"null", b"[]", b"1e400", b"{\"a\": {}}", b"true", br#""\ud800""#];
                if let Some(at) = memchr::memmem::find(&bytes[from..], b"\":") {
                    let at = from + at + 2;
                    // In the place of a value, or glued to it.
                    let len = memchr::memchr3(b',', b'}', b'\n', &bytes[at..]).filter(|_| random.below(2) == 0).unwrap_or(0);
                    bytes.splice(at..at + len, values[random.below(values.len())].iter().copied());
                }
            }
        }
    }
    bytes
}
