//! Folders for what is only needed for a while: copies of databases, and databases
//! that are being made. They hold what people said, and lie where everybody can look.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

/// Makes a folder that only its owner can open; it is removed with its value.
///
/// # Errors
/// When it cannot be made.
pub fn private_folder() -> std::io::Result<TempDir> {
    tempfile::Builder::new().prefix("everlog-").permissions(Permissions::from_mode(0o700)).tempdir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_can_look_into_it() {
        let folder = private_folder().unwrap();
        assert_eq!(folder.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
