//! Structs with JSON tags.

/// Declares a struct as Go declares it, with the key of each field.
///
/// The keys stand in the order of the Go struct, in which `json.Marshal` writes
/// them. A record that is written says of each field when it is left out
/// (`Never`, or `Empty` for the tag `omitempty`); one that is only read says
/// nothing.
macro_rules! record {
    (
        $(#[$about:meta])*
        $vis:vis struct $name:ident<'a> {
            $($(#[$field_about:meta])* $field_vis:vis $field:ident: $type:ty = $key:literal $omit:ident),* $(,)?
        }
    ) => {
        $crate::runtimes::go::record! {
            $(#[$about])*
            $vis struct $name<'a> {
                $($(#[$field_about])* $field_vis $field: $type = $key),*
            }
        }

        impl $crate::runtimes::go::Marshal for $name<'_> {
            fn marshal(&self, out: &mut Vec<u8>) {
                let mut object = $crate::runtimes::go::Object::open(out);
                $(object.member($key, &self.$field, $crate::runtimes::go::Omit::$omit);)*
                object.close();
            }
        }
    };
    (
        $(#[$about:meta])*
        $vis:vis struct $name:ident<'a> {
            $($(#[$field_about:meta])* $field_vis:vis $field:ident: $type:ty = $key:literal),* $(,)?
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default)]
        $vis struct $name<'a> {
            $($(#[$field_about])* $field_vis $field: $type),*
        }

        impl<'a, S: $crate::runtimes::go::Source<'a>> $crate::runtimes::go::Record<'a, S> for $name<'a>
        where
            $($type: $crate::runtimes::go::Decode<'a, S>),*
        {
            const KEYS: &'static [&'static str] = &[$($key),*];

            fn decode_field(&mut self, field: usize, from: &mut S) -> Result<(), S::Error> {
                #[allow(non_camel_case_types)]
                enum Field { $($field),* }
                match field {
                    $(number if number == Field::$field as usize => {
                        $crate::runtimes::go::Decode::decode(&mut self.$field, from).map_err(|error| S::in_field(error, $key))
                    })*
                    _ => Ok(()),
                }
            }
        }

        impl<'a, S: $crate::runtimes::go::Source<'a>> $crate::runtimes::go::Decode<'a, S> for $name<'a>
        where
            $name<'a>: $crate::runtimes::go::Record<'a, S>
        {
            fn decode(&mut self, from: &mut S) -> Result<(), S::Error> {
                if from.peek() == b'n' { from.null() } else { from.object(self) }
            }
        }
    };
}

pub(crate) use record;
