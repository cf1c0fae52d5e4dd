//! Shapes: the orders in which a program writes the keys of a record. A real
//! program has one usual order and a few others; a record in another than the
//! usual one names its shape, so that rendering needs no copy of it.

use std::borrow::Cow;

use crate::json::{self, Kind, Value};

/// An order of keys, with an order inside for each object that is opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Order(Vec<(String, Option<Order>)>);

impl Order {
    /// Adds a key after the others.
    pub fn push(&mut self, key: impl Into<String>, inside: Option<Order>) {
        self.0.push((key.into(), inside));
    }

    /// Returns the keys in order.
    pub fn keys(&self) -> impl Iterator<Item = (&str, Option<&Order>)> {
        self.0.iter().map(|(key, inside)| (key.as_str(), inside.as_ref()))
    }

    /// Tells whether the key stands in this order.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.0.iter().any(|(known, _)| known == key)
    }

    /// Tells whether every key of another order stands in this one, at every level.
    fn covers(&self, other: &Order) -> bool {
        other.0.iter().all(|(key, inside)| {
            self.0
                .iter()
                .any(|(known, own)| known == key && inside.as_ref().is_none_or(|inside| own.as_ref().is_some_and(|own| own.covers(inside))))
        })
    }

    /// Tells whether a record with these keys is rendered right by this order: known
    /// keys as they come here, then all others.
    #[must_use]
    pub fn fits(&self, record: &Order) -> bool {
        let mut next = 0;
        let mut beyond = false;
        record.0.iter().all(|(key, inside)| match self.0.iter().position(|(known, _)| known == key) {
            None => {
                beyond = true;
                true
            }
            Some(at) => {
                let in_place = at >= next && !beyond;
                next = at + 1;
                in_place
                    && match (inside, &self.0[at].1) {
                        (None, _) => true,
                        (Some(record), Some(own)) => own.fits(record),
                        (Some(_), None) => false,
                    }
            }
        })
    }

    /// Returns this record's order over all keys: its own, then those of `usual` that
    /// it lacks. A key that stands twice cannot be ordered.
    #[must_use]
    pub fn completed(&self, usual: &Order) -> Option<Order> {
        let mut whole = Order::default();
        for (key, inside) in &self.0 {
            if whole.contains(key) {
                return None;
            }
            let usual_inside = usual.0.iter().find(|(known, _)| known == key).and_then(|(_, inside)| inside.as_ref());
            let inside = match (inside, usual_inside) {
                (Some(own), Some(usual)) => Some(own.completed(usual)?),
                (Some(own), None) => Some(own.completed(&Order::default())?),
                (None, usual) => usual.cloned(),
            };
            whole.push(key.clone(), inside);
        }
        for (key, inside) in &usual.0 {
            if !whole.contains(key) {
                whole.push(key.clone(), inside.clone());
            }
        }
        Some(whole)
    }

    /// As JSON: keys, and after a key the list of what is inside it.
    pub fn push_json(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (n, (key, inside)) in self.0.iter().enumerate() {
            if n > 0 {
                out.push(b',');
            }
            json::push_string(key, out);
            if let Some(inside) = inside {
                out.push(b',');
                inside.push_json(out);
            }
        }
        out.push(b']');
    }

    /// Reads what [`Order::push_json`] wrote. Nesting is bounded, because a log
    /// may be hostile.
    #[must_use]
    pub fn from_json(list: Value<'_>) -> Option<Order> {
        Order::from_json_at(list, 0)
    }

    fn from_json_at(list: Value<'_>, depth: usize) -> Option<Order> {
        if depth > 8 || !list.is_array() {
            return None;
        }
        let mut order = Order::default();
        for item in list.elements() {
            match item.kind() {
                Kind::String => order.push(item.as_str()?.into_owned(), None),
                Kind::Array => order.0.last_mut()?.1 = Some(Order::from_json_at(item, depth + 1)?),
                Kind::Number | Kind::Object | Kind::True | Kind::False | Kind::Null => return None,
            }
        }
        Some(order)
    }
}

impl<'a> FromIterator<(Cow<'a, str>, Option<Order>)> for Order {
    fn from_iter<I: IntoIterator<Item = (Cow<'a, str>, Option<Order>)>>(keys: I) -> Self {
        Order(keys.into_iter().map(|(key, inside)| (key.into_owned(), inside)).collect())
    }
}

/// The shapes of one log: the usual one and those found besides.
#[derive(Debug, Clone)]
pub struct Shapes {
    usual: Order,
    others: Vec<Order>,
}

/// More shapes than this are no longer a small table.
const MOST_SHAPES: usize = 64;

impl Shapes {
    /// Only the usual one.
    #[must_use]
    pub fn new(usual: Order) -> Shapes {
        Shapes { usual, others: Vec::new() }
    }

    /// With the others that a log lists.
    #[must_use]
    pub fn with_others(usual: Order, others: Vec<Order>) -> Shapes {
        Shapes { usual, others }
    }

    /// Returns those besides the usual one.
    #[must_use]
    pub fn others(&self) -> &[Order] {
        &self.others
    }

    /// Returns the order with this number; 0 is the usual one.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<&Order> {
        match number.checked_sub(1) {
            None => Some(&self.usual),
            Some(other) => self.others.get(other),
        }
    }

    /// Returns the number of an order that renders a record with these keys, a new one
    /// if need be; `None` where there is no such order.
    pub fn number_for(&mut self, record: &Order, accept: impl Fn(&Order) -> bool) -> Option<usize> {
        if accept(&self.usual) && self.usual.fits(record) {
            return Some(0);
        }
        if let Some(known) = self.others.iter().position(|order| accept(order) && order.fits(record)) {
            return Some(known + 1);
        }
        let whole = record.completed(&self.usual)?;
        if !accept(&whole) {
            return None;
        }
        self.add(whole, record)
    }

    /// Returns the number of a shape besides the usual one of this kind of record,
    /// which the record does not fit.
    pub fn number_beside(&mut self, usual: &Order, record: &Order) -> Option<usize> {
        if let Some(known) = self.others.iter().position(|order| order.covers(usual) && order.fits(record)) {
            return Some(known + 1);
        }
        let whole = record.completed(usual)?;
        self.add(whole, record)
    }

    fn add(&mut self, whole: Order, record: &Order) -> Option<usize> {
        if self.others.len() >= MOST_SHAPES || !whole.fits(record) {
            return None;
        }
        self.others.push(whole);
        Some(self.others.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(text: &str) -> Order {
        Order::from_json(Value::trusted(text.as_bytes())).unwrap()
    }

    #[test]
    fn a_record_out_of_order_gets_a_shape_and_shares_it() {
        let mut shapes = Shapes::new(order(r#"["role","content","meta",["model","usage"]]"#));
        let mut number = |text| shapes.number_for(&order(text), |_| true);
        assert_eq!(number(r#"["role","meta",["usage"]]"#), Some(0));
        assert_eq!(number(r#"["role","x","y"]"#), Some(0));
        assert_eq!(number(r#"["content","role"]"#), Some(1));
        assert_eq!(number(r#"["content","role","meta",["model"]]"#), Some(1));
        assert_eq!(number(r#"["meta",["usage","model"]]"#), Some(2));
        assert_eq!(number(r#"["role","role"]"#), None);
        let mut json = Vec::new();
        shapes.get(1).unwrap().push_json(&mut json);
        assert_eq!(String::from_utf8(json).unwrap(), r#"["content","role","meta",["model","usage"]]"#);
    }
}
