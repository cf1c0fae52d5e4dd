//! Writing one file of a table, row group by row group.

use parquet::file::metadata::KeyValue;
use parquet::file::writer::SerializedFileWriter;
use sha2::{Digest, Sha256};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::digest::hex;
use crate::store::disk::Disk;
use crate::store::replace::{Temporary, temporary_in};
use crate::tables::cell::{Cell, Row};
use crate::tables::error::TableError;
use crate::tables::schema::{Kind, TableName};

use super::leaf::{Leaf, Misfit};
use super::shape::{leaves, properties, schema};

/// A row group has so many rows at most.
const GROUP_ROWS: usize = 128 * 1024;

/// A row group is written when it has so many bytes, before they are packed.
const GROUP_BYTES: usize = 32 * 1024 * 1024;

/// Parquet counts the bytes of a page with 31 bits.
const LONGEST_ROW: usize = 1 << 30;

/// The member of a file's metadata that says what it was made from.
pub(super) const IDENTITY: &str = "everlog.made_from";

/// The member of a file's metadata that lists its sessions, as the manifest does.
pub(super) const SESSIONS: &str = "everlog.sessions";

/// A file that was written and has no name yet.
#[derive(Debug)]
pub struct Written<'d> {
    /// The file.
    pub temporary: Temporary<'d>,
    /// How many rows it has.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
    /// The hash of its bytes.
    pub sha256: String,
}

/// Bytes on their way to the disk, which are hashed as they pass.
struct Hashed<'d> {
    temporary: Temporary<'d>,
    hash: Sha256,
    bytes: u64,
}

impl Write for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = (&self.temporary).write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One file of a table that is being written.
pub struct PartWriter<'d> {
    table: TableName,
    path: PathBuf,
    file: SerializedFileWriter<Hashed<'d>>,
    group: Vec<Leaf>,
    /// Rows and bytes of the group.
    rows: usize,
    bytes: usize,
    all_rows: u64,
}

impl std::fmt::Debug for PartWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartWriter").field("table", &self.table).field("rows", &self.all_rows).finish_non_exhaustive()
    }
}

impl<'d> PartWriter<'d> {
    /// Returns a file without rows, in this folder.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(disk: &'d dyn Disk, folder: &Path, table: TableName) -> Result<PartWriter<'d>, TableError> {
        let temporary = temporary_in(disk, folder)?;
        let path = temporary.path().to_owned();
        let hashed = Hashed { temporary, hash: Sha256::new(), bytes: 0 };
        let properties = Arc::new(properties(table).map_err(TableError::file(&path))?);
        let schema = schema(table).map_err(TableError::file(&path))?;
        let file = SerializedFileWriter::new(hashed, schema, properties).map_err(TableError::file(&path))?;
        let group = leaves(table).into_iter().map(Leaf::new).collect();
        Ok(PartWriter { table, path, file, group, rows: 0, bytes: 0, all_rows: 0 })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn push(&mut self, row: Row) -> Result<(), TableError> {
        let columns = self.table.table().columns;
        let bytes: usize = row.iter().map(Cell::bytes).sum();
        if bytes > LONGEST_ROW {
            let longest = row.iter().zip(columns).max_by_key(|(cell, _)| cell.bytes());
            return Err(TableError::TooLong { column: longest.map_or("", |(_, column)| column.name) });
        }
        let mut leaves = self.group.iter_mut();
        for (cell, column) in row.into_iter().zip(columns) {
            let put = match column.kind {
                Kind::Record(members) => put_record(&mut leaves, members.len(), cell),
                Kind::Records(members) => put_records(&mut leaves, members.len(), cell),
                Kind::Texts => put_texts(leaves.next(), cell),
                Kind::Text | Kind::LongText | Kind::Integer | Kind::Real | Kind::Flag | Kind::Time => {
                    leaves.next().ok_or(Misfit).and_then(|leaf| leaf.put(cell, 0))
                }
            };
            put.map_err(|Misfit| TableError::File { path: self.path.clone(), what: format!("a value does not fit {}", column.name) })?;
        }
        self.rows += 1;
        self.bytes += bytes;
        self.all_rows += 1;
        if self.rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<(), TableError> {
        let failed = |error: parquet::errors::ParquetError| TableError::File { path: self.path.clone(), what: error.to_string() };
        let mut group = self.file.next_row_group().map_err(failed)?;
        for leaf in &mut self.group {
            let missing = || TableError::File { path: self.path.clone(), what: format!("no column {}", leaf.name()) };
            let mut column = group.next_column().map_err(failed)?.ok_or_else(missing)?;
            leaf.write(column.untyped()).map_err(failed)?;
            column.close().map_err(failed)?;
        }
        group.close().map_err(failed)?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }

    /// Writes what is left, and what the file was made from.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self, identity: &str, sessions: Option<&str>) -> Result<Written<'d>, TableError> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.file.append_key_value_metadata(KeyValue::new(IDENTITY.to_owned(), identity.to_owned()));
        if let Some(sessions) = sessions {
            self.file.append_key_value_metadata(KeyValue::new(SESSIONS.to_owned(), sessions.to_owned()));
        }
        let path = self.path;
        // This writes the footer too.
        let Hashed { temporary, hash, bytes } = self.file.into_inner().map_err(TableError::file(&path))?;
        Ok(Written { temporary, rows: self.all_rows, bytes, sha256: hex(&hash.finalize()) })
    }
}

type Leaves<'a> = std::slice::IterMut<'a, Leaf>;

fn put_record(leaves: &mut Leaves<'_>, members: usize, cell: Cell) -> Result<(), Misfit> {
    match cell {
        Cell::Record(cells) if cells.len() == members => {
            cells.into_iter().try_for_each(|cell| leaves.next().ok_or(Misfit).and_then(|leaf| leaf.put(cell, 0)))
        }
        Cell::Null => {
            leaves.by_ref().take(members).for_each(Leaf::put_nothing);
            Ok(())
        }
        Cell::Record(_)
        | Cell::Text(_)
        | Cell::Shared(_)
        | Cell::Integer(_)
        | Cell::Real(_)
        | Cell::Flag(_)
        | Cell::Time(_)
        | Cell::Texts(_)
        | Cell::Records(_) => Err(Misfit),
    }
}

fn put_records(leaves: &mut Leaves<'_>, members: usize, cell: Cell) -> Result<(), Misfit> {
    let Cell::Records(records) = cell else { return Err(Misfit) };
    let mut columns: Vec<&mut Leaf> = leaves.by_ref().take(members).collect();
    if records.is_empty() {
        columns.iter_mut().for_each(|leaf| leaf.put_nothing());
    }
    for (n, record) in records.into_iter().enumerate() {
        if record.len() != columns.len() {
            return Err(Misfit);
        }
        columns.iter_mut().zip(record).try_for_each(|(leaf, cell)| leaf.put(cell, i16::from(n > 0)))?;
    }
    Ok(())
}

fn put_texts(leaf: Option<&mut Leaf>, cell: Cell) -> Result<(), Misfit> {
    let (Some(leaf), Cell::Texts(texts)) = (leaf, cell) else { return Err(Misfit) };
    if texts.is_empty() {
        leaf.put_nothing();
    }
    texts.into_iter().enumerate().try_for_each(|(n, text)| leaf.put(Cell::Text(text), i16::from(n > 0)))
}
