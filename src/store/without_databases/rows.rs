//! In place of the rows of databases, in a build without them.

use crate::model::database::{Credentials, DatabaseFormat, DatabaseLayout, LayoutError};

use super::database::DatabaseCopy;
use super::error::StoreError;

/// A database whose sessions are read. There is none.
#[derive(Debug)]
pub enum SessionDatabase {}

impl SessionDatabase {
    /// Takes a copy; there is none.
    ///
    /// # Errors
    /// Never.
    pub fn of(copy: DatabaseCopy, _format: &dyn DatabaseFormat) -> Result<Result<SessionDatabase, LayoutError>, StoreError> {
        match copy {}
    }

    /// Returns which rows belong to which session.
    #[must_use]
    pub fn layout(&self) -> &DatabaseLayout {
        match *self {}
    }

    /// Returns the rows of a session, or those that belong to none.
    ///
    /// # Errors
    /// Never.
    pub fn rows(&self, _session: Option<&str>, _credentials: Credentials) -> Result<Vec<u8>, StoreError> {
        match *self {}
    }
}
