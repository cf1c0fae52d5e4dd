//! Reading one file of a table, row by row and a row group at a time.

use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::store::disk;
use crate::tables::cell::{Cell, Row};
use crate::tables::error::TableError;
use crate::tables::schema::{Kind, Presence, TableName};

use super::leaf::{Leaf, Misfit};
use super::shape::{leaves, schema};
use super::write::{IDENTITY, SESSIONS};

/// One file of a table that is being read.
pub struct PartReader {
    table: TableName,
    path: PathBuf,
    file: SerializedFileReader<File>,
    /// The next row group.
    next_group: usize,
    group: Vec<Leaf>,
    /// Rows of the group that are still to be read.
    left: usize,
}

impl std::fmt::Debug for PartReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartReader").field("table", &self.table).field("path", &self.path).finish_non_exhaustive()
    }
}

impl PartReader {
    /// Opens a file, which must have the columns of the table.
    ///
    /// # Errors
    /// When it cannot be read, or is of something else.
    pub fn open(path: &Path, table: TableName) -> Result<PartReader, TableError> {
        let file = SerializedFileReader::new(disk::open(path)?).map_err(TableError::file(path))?;
        let expected = schema(table).map_err(TableError::file(path))?;
        if *file.metadata().file_metadata().schema() != *expected {
            return Err(TableError::File { path: path.to_owned(), what: format!("it has other columns than {}", table.name()) });
        }
        Ok(PartReader { table, path: path.to_owned(), file, next_group: 0, group: Vec::new(), left: 0 })
    }

    /// Returns what the file says it was made from.
    #[must_use]
    pub fn identity(&self) -> Option<&str> {
        self.metadata(IDENTITY)
    }

    /// Returns its sessions as the manifest lists them, in the file of that table.
    #[must_use]
    pub fn sessions(&self) -> Option<&str> {
        self.metadata(SESSIONS)
    }

    fn metadata(&self, key: &str) -> Option<&str> {
        let metadata = self.file.metadata().file_metadata().key_value_metadata()?;
        metadata.iter().find(|pair| pair.key == key)?.value.as_deref()
    }

    /// Returns how many rows the file has.
    #[must_use]
    pub fn rows(&self) -> u64 {
        u64::try_from(self.file.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// Leaves out so many rows.
    ///
    /// # Errors
    /// When the file cannot be read, or has not so many.
    pub fn skip(&mut self, mut rows: u64) -> Result<(), TableError> {
        while rows > 0 {
            if self.left == 0 {
                // A whole group is not even read.
                let whole = self.group_rows(self.next_group).filter(|whole| *whole as u64 <= rows);
                if let Some(whole) = whole {
                    self.next_group += 1;
                    rows -= whole as u64;
                    continue;
                }
            }
            if self.next_row()?.is_none() {
                return Err(self.cut_short());
            }
            rows -= 1;
        }
        Ok(())
    }

    fn cut_short(&self) -> TableError {
        TableError::File { path: self.path.clone(), what: "it has fewer rows than it should".to_owned() }
    }

    fn group_rows(&self, group: usize) -> Option<usize> {
        let metadata = self.file.metadata();
        let rows = (group < metadata.num_row_groups()).then(|| metadata.row_group(group).num_rows())?;
        usize::try_from(rows).ok()
    }

    /// Returns the next row; `None` after the last.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_row(&mut self) -> Result<Option<Row>, TableError> {
        while self.left == 0 {
            let Some(rows) = self.group_rows(self.next_group) else { return Ok(None) };
            self.read_group(rows)?;
        }
        self.left -= 1;
        let columns = self.table.table().columns;
        let mut row = Vec::with_capacity(columns.len());
        let mut leaves = self.group.iter_mut();
        for column in columns {
            let cell = match column.kind {
                Kind::Record(members) => take_record(leaves.by_ref().take(members.len()).collect(), column.presence),
                Kind::Records(members) => take_records(leaves.by_ref().take(members.len()).collect()),
                Kind::Texts => leaves.next().ok_or(Misfit).and_then(take_texts),
                Kind::Text | Kind::LongText | Kind::Integer | Kind::Real | Kind::Flag | Kind::Time => {
                    leaves.next().ok_or(Misfit).and_then(Leaf::take)
                }
            };
            let misfit = |Misfit| TableError::File { path: self.path.clone(), what: format!("the column {} is damaged", column.name) };
            row.push(cell.map_err(misfit)?);
        }
        Ok(Some(row))
    }

    fn read_group(&mut self, rows: usize) -> Result<(), TableError> {
        let group = self.file.get_row_group(self.next_group).map_err(TableError::file(&self.path))?;
        self.group.clear();
        for (n, shape) in leaves(self.table).into_iter().enumerate() {
            let column = group.get_column_reader(n).map_err(TableError::file(&self.path))?;
            self.group.push(Leaf::read(shape, column, rows).map_err(TableError::file(&self.path))?);
        }
        self.next_group += 1;
        self.left = rows;
        Ok(())
    }
}

fn take_record(mut leaves: Vec<&mut Leaf>, presence: Presence) -> Result<Cell, Misfit> {
    let is_there = presence == Presence::Always || leaves.first().ok_or(Misfit)?.peek()? > 0;
    let cells = leaves.iter_mut().map(|leaf| leaf.take()).collect::<Result<Vec<_>, _>>()?;
    Ok(if is_there { Cell::Record(cells) } else { Cell::Null })
}

fn take_records(mut leaves: Vec<&mut Leaf>) -> Result<Cell, Misfit> {
    let is_empty = leaves.first().ok_or(Misfit)?.peek()? == 0;
    let mut records = Vec::new();
    loop {
        records.push(leaves.iter_mut().map(|leaf| leaf.take()).collect::<Result<Vec<_>, _>>()?);
        if !leaves.first().is_some_and(|leaf| leaf.goes_on()) {
            break;
        }
    }
    if is_empty {
        records.clear();
    }
    Ok(Cell::Records(records))
}

fn take_texts(leaf: &mut Leaf) -> Result<Cell, Misfit> {
    let mut texts = Vec::new();
    loop {
        match leaf.take()? {
            Cell::Text(text) => texts.push(text),
            Cell::Null => {}
            Cell::Shared(_)
            | Cell::Integer(_)
            | Cell::Real(_)
            | Cell::Flag(_)
            | Cell::Time(_)
            | Cell::Texts(_)
            | Cell::Record(_)
            | Cell::Records(_) => return Err(Misfit),
        }
        if !leaf.goes_on() {
            return Ok(Cell::Texts(texts));
        }
    }
}
