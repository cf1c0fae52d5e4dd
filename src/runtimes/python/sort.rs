//! `list.sort` by a float, where a key may be NaN.

/// `list.sort` merges lists that are longer than this.
const INSERTED: usize = 63;

/// Sorts by a float as `list.sort(key=…)` does. Every comparison with NaN is
/// false, so that NaN leaves a short list half sorted in a way that depends on
/// the algorithm: the first run, reversed if it falls, and the others inserted by
/// halving. In longer lists the order would depend on how runs are merged; there
/// NaN comes last.
pub fn sort_by_float<T>(items: &mut [T], key: impl Fn(&T) -> f64) {
    if items.len() > INSERTED || !items.iter().any(|item| key(item).is_nan()) {
        return items.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or_else(|| key(a).is_nan().cmp(&key(b).is_nan())));
    }
    let falls = |pair: &[T]| matches!(pair, [before, after] if key(after) < key(before));
    let falling = items.windows(2).take_while(|pair| falls(pair)).count();
    let rising = items.windows(2).take_while(|pair| !falls(pair)).count();
    if falling > 0 {
        items[..=falling].reverse();
    }
    for next in falling.max(rising) + 1..items.len() {
        let (mut from, mut to) = (0, next);
        while from < to {
            let middle = usize::midpoint(from, to);
            if key(&items[next]) < key(&items[middle]) { to = middle } else { from = middle + 1 }
        }
        items[from..=next].rotate_right(1);
    }
}
