//! A list that mostly has one item.

use std::ops::Deref;
use std::slice::Iter;

/// A list that mostly has one item, which then takes no memory of its own: a folder
/// may have a million sessions, and most of them are one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Few<T> {
    /// One item.
    One(T),
    /// Any other number of them.
    Others(Box<[T]>),
}

impl<T> Default for Few<T> {
    fn default() -> Few<T> {
        Few::Others(Box::default())
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Few::One(item) => std::slice::from_ref(item),
            Few::Others(items) => items,
        }
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(items: Vec<T>) -> Few<T> {
        match <[T; 1]>::try_from(items) {
            Ok([item]) => Few::One(item),
            Err(items) => Few::Others(items.into()),
        }
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Few<T> {
        items.into_iter().collect::<Vec<T>>().into()
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::files::RelPath;

    #[test]
    fn a_list_is_what_it_was_made_of() {
        for many in 0..4 {
            let items: Vec<u32> = (0..many).collect();
            let few: Few<u32> = items.iter().copied().collect();
            assert_eq!((&*few, few.clone()), (items.as_slice(), Few::from(items.clone())));
            assert_eq!(matches!(few, Few::One(_)), many == 1);
        }
    }

    #[test]
    fn one_path_takes_no_more_than_a_path() {
        assert_eq!(size_of::<Few<RelPath>>(), size_of::<RelPath>());
    }
}
