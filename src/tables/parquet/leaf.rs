//! The values of one column of a row group, with the levels that say which of them are
//! there. How levels work is said in the documents of Parquet; here nothing is nested
//! deeper than a list of records.

use parquet::column::reader::ColumnReader;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use std::sync::Arc;

use crate::tables::cell::Cell;
use crate::tables::schema::Kind;

use super::shape::{LeafShape, Repeats};

/// Values of one type.
#[derive(Debug)]
enum Values {
    Texts(Vec<ByteArray>),
    Whole(Vec<i64>),
    Reals(Vec<f64>),
    Flags(Vec<bool>),
}

/// One column of a row group.
#[derive(Debug)]
pub(super) struct Leaf {
    shape: LeafShape,
    values: Values,
    /// For each place how much of the way to a value is there.
    levels: Vec<i16>,
    /// For each place whether it goes on with the row before it.
    repeats: Vec<i16>,
    /// The last text that many rows share, and its bytes.
    shared: Option<(Arc<str>, ByteArray)>,
    /// Where reading stands: among the levels, and among the values.
    at: usize,
    value_at: usize,
}

/// A cell does not fit its column, or a column holds something else than it should.
#[derive(Debug)]
pub(super) struct Misfit;

impl Leaf {
    pub(super) fn new(shape: LeafShape) -> Leaf {
        let values = match shape.kind {
            Kind::Integer | Kind::Time => Values::Whole(Vec::new()),
            Kind::Real => Values::Reals(Vec::new()),
            Kind::Flag => Values::Flags(Vec::new()),
            Kind::Text | Kind::LongText | Kind::Texts | Kind::Record(_) | Kind::Records(_) => Values::Texts(Vec::new()),
        };
        Leaf { shape, values, levels: Vec::new(), repeats: Vec::new(), shared: None, at: 0, value_at: 0 }
    }

    pub(super) fn name(&self) -> &'static str {
        self.shape.name
    }

    /// Puts a value, or its absence, as the first of its row or as a further one.
    pub(super) fn put(&mut self, cell: Cell, repeat: i16) -> Result<(), Misfit> {
        match (&mut self.values, cell) {
            (_, Cell::Null) if self.shape.most > self.shape.base => {
                self.level(self.shape.base, repeat);
                return Ok(());
            }
            (Values::Texts(texts), Cell::Text(text)) => texts.push(text.into_bytes().into()),
            (Values::Texts(texts), Cell::Shared(text)) => {
                let bytes = match &self.shared {
                    Some((last, bytes)) if Arc::ptr_eq(last, &text) => bytes.clone(),
                    Some(_) | None => {
                        let bytes = ByteArray::from(text.as_bytes().to_vec());
                        self.shared = Some((text, bytes.clone()));
                        bytes
                    }
                };
                texts.push(bytes);
            }
            (Values::Whole(whole), Cell::Integer(number) | Cell::Time(number)) => whole.push(number),
            (Values::Reals(reals), Cell::Real(number)) => reals.push(number),
            (Values::Flags(flags), Cell::Flag(flag)) => flags.push(flag),
            (Values::Texts(_) | Values::Whole(_) | Values::Reals(_) | Values::Flags(_), _) => return Err(Misfit),
        }
        self.level(self.shape.most, repeat);
        Ok(())
    }

    /// Puts a row whose list is empty, or whose record is not there.
    pub(super) fn put_nothing(&mut self) {
        self.level(0, 0);
    }

    fn level(&mut self, level: i16, repeat: i16) {
        if self.shape.most > 0 {
            self.levels.push(level);
        }
        if self.shape.repeats == Repeats::Often {
            self.repeats.push(repeat);
        }
    }

    /// Writes it as a column of a row group.
    pub(super) fn write(&mut self, column: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = (self.shape.most > 0).then_some(&self.levels[..]);
        let repeats = (self.shape.repeats == Repeats::Often).then_some(&self.repeats[..]);
        match (&self.values, column) {
            (Values::Texts(values), ColumnWriter::ByteArrayColumnWriter(column)) => column.write_batch(values, levels, repeats)?,
            (Values::Whole(values), ColumnWriter::Int64ColumnWriter(column)) => column.write_batch(values, levels, repeats)?,
            (Values::Reals(values), ColumnWriter::DoubleColumnWriter(column)) => column.write_batch(values, levels, repeats)?,
            (Values::Flags(values), ColumnWriter::BoolColumnWriter(column)) => column.write_batch(values, levels, repeats)?,
            (Values::Texts(_) | Values::Whole(_) | Values::Reals(_) | Values::Flags(_), _) => {
                return Err(ParquetError::General(format!("the column {} has another type", self.shape.name)));
            }
        };
        *self = Leaf::new(self.shape);
        Ok(())
    }

    /// Reads the column of a row group with so many rows.
    pub(super) fn read(shape: LeafShape, column: ColumnReader, rows: usize) -> Result<Leaf, ParquetError> {
        let mut leaf = Leaf::new(shape);
        let levels = (shape.most > 0).then_some(&mut leaf.levels);
        let repeats = (shape.repeats == Repeats::Often).then_some(&mut leaf.repeats);
        let (read, _, _) = match (&mut leaf.values, column) {
            (Values::Texts(values), ColumnReader::ByteArrayColumnReader(mut column)) => {
                column.read_records(rows, levels, repeats, values)?
            }
            (Values::Whole(values), ColumnReader::Int64ColumnReader(mut column)) => column.read_records(rows, levels, repeats, values)?,
            (Values::Reals(values), ColumnReader::DoubleColumnReader(mut column)) => column.read_records(rows, levels, repeats, values)?,
            (Values::Flags(values), ColumnReader::BoolColumnReader(mut column)) => column.read_records(rows, levels, repeats, values)?,
            (Values::Texts(_) | Values::Whole(_) | Values::Reals(_) | Values::Flags(_), _) => {
                return Err(ParquetError::General(format!("the column {} has another type", shape.name)));
            }
        };
        if read != rows {
            return Err(ParquetError::General(format!("the column {} has {read} rows, and not {rows}", shape.name)));
        }
        Ok(leaf)
    }

    /// Returns how much of the way to the next value is there.
    pub(super) fn peek(&self) -> Result<i16, Misfit> {
        if self.shape.most == 0 { Ok(0) } else { self.levels.get(self.at).copied().ok_or(Misfit) }
    }

    /// Tells whether the next place goes on with the row before it.
    pub(super) fn goes_on(&self) -> bool {
        self.repeats.get(self.at).is_some_and(|repeat| *repeat > 0)
    }

    /// Takes the next place: its value, or nothing.
    pub(super) fn take(&mut self) -> Result<Cell, Misfit> {
        let level = self.peek()?;
        self.at += 1;
        if level < self.shape.most {
            return Ok(Cell::Null);
        }
        let at = self.value_at;
        self.value_at += 1;
        let cell = match &self.values {
            Values::Texts(texts) => {
                let bytes = texts.get(at).ok_or(Misfit)?.data();
                Cell::Text(std::str::from_utf8(bytes).map_err(|_| Misfit)?.to_owned())
            }
            Values::Whole(whole) => {
                let number = *whole.get(at).ok_or(Misfit)?;
                if matches!(self.shape.kind, Kind::Time) { Cell::Time(number) } else { Cell::Integer(number) }
            }
            Values::Reals(reals) => Cell::Real(*reals.get(at).ok_or(Misfit)?),
            Values::Flags(flags) => Cell::Flag(*flags.get(at).ok_or(Misfit)?),
        };
        Ok(cell)
    }
}
