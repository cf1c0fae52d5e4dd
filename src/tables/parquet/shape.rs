//! A table's columns in Parquet's words.

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::sync::Arc;

use crate::tables::schema::{Column, Kind, Presence, TableName, VERSION};

/// The name of the column of its items, in every list.
const LIST: &str = "list";
const ELEMENT: &str = "element";

/// Pages are this long, so that a reader that skips rows skips bytes.
const PAGE_BYTES: usize = 256 * 1024;

/// One column as it is written: one that holds values and no columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeafShape {
    /// The column of the table, for errors.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// The level of a value that is there.
    pub most: i16,
    /// The level of a record or an item that is there, and its value is not.
    pub base: i16,
    /// Whether it may come several times in a row.
    pub repeats: Repeats,
}

/// Whether a column may come several times in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeats {
    Once,
    Often,
}

impl LeafShape {
    fn of(column: &Column, base: i16, repeats: Repeats) -> LeafShape {
        let optional = i16::from(column.presence == Presence::Perhaps);
        LeafShape { name: column.name, kind: column.kind, most: base + optional, base, repeats }
    }
}

/// Returns the columns as they are written, in the order of the table.
pub(super) fn leaves(table: TableName) -> Vec<LeafShape> {
    let mut leaves = Vec::new();
    for column in table.table().columns {
        match column.kind {
            Kind::Record(members) => {
                let base = i16::from(column.presence == Presence::Perhaps);
                leaves.extend(members.iter().map(|member| LeafShape::of(member, base, Repeats::Once)));
            }
            Kind::Records(members) => leaves.extend(members.iter().map(|member| LeafShape::of(member, 1, Repeats::Often))),
            Kind::Texts => leaves.push(LeafShape { name: column.name, kind: Kind::Text, most: 1, base: 1, repeats: Repeats::Often }),
            Kind::Text | Kind::LongText | Kind::Integer | Kind::Real | Kind::Flag | Kind::Time => {
                leaves.push(LeafShape::of(column, 0, Repeats::Once));
            }
        }
    }
    leaves
}

/// Returns the type of a table's rows.
pub(super) fn schema(table: TableName) -> Result<TypePtr, ParquetError> {
    let fields = table.table().columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(Type::group_type_builder(table.name()).with_fields(fields).build()?))
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let repetition = match column.presence {
        Presence::Always => Repetition::REQUIRED,
        Presence::Perhaps => Repetition::OPTIONAL,
    };
    let group = |name: &str, members: &[Column], repetition| {
        let fields = members.iter().map(field).collect::<Result<Vec<_>, _>>()?;
        Ok(Arc::new(Type::group_type_builder(name).with_repetition(repetition).with_fields(fields).build()?))
    };
    let list = |element: TypePtr| {
        let items = Type::group_type_builder(LIST).with_repetition(Repetition::REPEATED).with_fields(vec![element]).build()?;
        let list = Type::group_type_builder(column.name).with_repetition(repetition).with_logical_type(Some(LogicalType::List));
        Ok(Arc::new(list.with_fields(vec![Arc::new(items)]).build()?))
    };
    let plain = |name: &str, physical, logical, repetition| {
        let plain = Type::primitive_type_builder(name, physical).with_repetition(repetition).with_logical_type(logical);
        Ok(Arc::new(plain.build()?))
    };
    match column.kind {
        Kind::Text | Kind::LongText => plain(column.name, Physical::BYTE_ARRAY, Some(LogicalType::String), repetition),
        Kind::Integer => plain(column.name, Physical::INT64, None, repetition),
        Kind::Real => plain(column.name, Physical::DOUBLE, None, repetition),
        Kind::Flag => plain(column.name, Physical::BOOLEAN, None, repetition),
        Kind::Time => plain(column.name, Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS)), repetition),
        Kind::Texts => list(plain(ELEMENT, Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED)?),
        Kind::Record(members) => group(column.name, members, repetition),
        Kind::Records(members) => list(group(ELEMENT, members, Repetition::REQUIRED)?),
    }
}

/// Returns how a table's file is written.
pub(super) fn properties(table: TableName) -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        // Not the name of the crate: its next release need not change the bytes.
        .set_created_by(format!("everlog tables {VERSION}"))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_data_page_size_limit(PAGE_BYTES)
        .set_statistics_enabled(EnabledStatistics::Page);
    for path in long_texts(table) {
        properties =
            properties.set_column_dictionary_enabled(path.clone(), false).set_column_statistics_enabled(path, EnabledStatistics::None);
    }
    Ok(properties.build())
}

fn long_texts(table: TableName) -> Vec<ColumnPath> {
    let mut paths = Vec::new();
    for column in table.table().columns {
        let members = |members: &[Column], above: &[&str]| -> Vec<ColumnPath> {
            let long = members.iter().filter(|member| matches!(member.kind, Kind::LongText));
            let path = |member: &Column| above.iter().chain([&member.name]).map(ToString::to_string).collect::<Vec<_>>();
            long.map(|member| ColumnPath::new(path(member))).collect()
        };
        match column.kind {
            Kind::LongText => paths.push(ColumnPath::new(vec![column.name.to_owned()])),
            Kind::Record(below) => paths.extend(members(below, &[column.name])),
            Kind::Records(below) => paths.extend(members(below, &[column.name, LIST, ELEMENT])),
            Kind::Text | Kind::Integer | Kind::Real | Kind::Flag | Kind::Time | Kind::Texts => {}
        }
    }
    paths
}
