//! A part of many sessions, chosen by their names: the same part on every
//! machine and in every run.

use crate::model::digest::sha256_hex;

/// Which part is taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// 0 is none, 1 is all.
    fraction: f64,
}

impl Sample {
    /// Reads `10%` or `0.5%`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Sample> {
        let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
        (percent > 0.0 && percent <= 100.0).then_some(Sample { fraction: percent / 100.0 })
    }

    /// Of these names, whether each is taken: never none of them, because a
    /// check that looks at nothing says nothing.
    #[must_use]
    pub fn choose(self, names: &[&str]) -> Vec<bool> {
        let ranks: Vec<f64> = names.iter().map(|name| rank(name)).collect();
        let least = ranks.iter().copied().fold(f64::INFINITY, f64::min);
        ranks.iter().map(|rank| *rank < self.fraction || *rank <= least).collect()
    }
}

/// Returns where a name stands between 0 and 1.
fn rank(name: &str) -> f64 {
    let digits = &sha256_hex(name.as_bytes())[..13];
    u64::from_str_radix(digits, 16).unwrap_or(0) as f64 / (1u64 << 52) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_is_about_a_tenth_and_always_the_same() {
        let names: Vec<String> = (0..5_000).map(|n| format!("session-{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let chosen = Sample::parse("10%").unwrap().choose(&names);
        let count = chosen.iter().filter(|taken| **taken).count();
        assert!((400..600).contains(&count), "{count}");
        assert_eq!(chosen, Sample::parse("10%").unwrap().choose(&names));
        // More of them hold the fewer, whoever else is there.
        let more = Sample::parse("20%").unwrap().choose(&names);
        assert!(chosen.iter().zip(&more).all(|(few, more)| !few || *more));
        assert_eq!(Sample::parse("10%").unwrap().choose(&names[..1_000]), chosen[..1_000]);
    }

    #[test]
    fn never_none_and_all_is_all() {
        assert_eq!(Sample::parse("0.0001%").unwrap().choose(&["a", "b", "c"]).iter().filter(|taken| **taken).count(), 1);
        assert_eq!(Sample::parse("100%").unwrap().choose(&["a", "b"]), [true, true]);
        for wrong in ["10", "0%", "101%", "-1%", "x%", ""] {
            assert_eq!(Sample::parse(wrong), None, "{wrong}");
        }
    }
}
