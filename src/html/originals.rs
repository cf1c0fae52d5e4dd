//! Bytes that a page gives back: packed, so that they cost little, and in
//! base64, so that a page can hold them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use miniz_oxide::deflate::compress_to_vec_zlib;
use serde::Serialize;

/// How hard is packed: beyond this a page is hardly smaller, and takes longer.
const LEVEL: u8 = 6;

/// An original file of a session.
#[derive(Debug, Clone)]
pub struct Original {
    /// Its path, relative to the session.
    pub path: String,
    /// The SHA-256 of its bytes.
    pub sha256: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A file as the page's script reads it.
#[derive(Serialize)]
struct Packed<'a> {
    path: &'a str,
    size: usize,
    sha256: &'a str,
    /// What `DecompressionStream("deflate")` unpacks, in base64.
    deflate: String,
}

impl<'a> Packed<'a> {
    fn of(file: &'a Original) -> Packed<'a> {
        Packed { path: &file.path, size: file.bytes.len(), sha256: &file.sha256, deflate: packed(&file.bytes) }
    }
}

/// Returns bytes as a page holds them.
pub(super) fn packed(bytes: &[u8]) -> String {
    STANDARD.encode(compress_to_vec_zlib(bytes, LEVEL))
}

/// Returns the files as JSON.
pub(super) fn packed_files(files: &[Original]) -> serde_json::Result<String> {
    let files: Vec<Packed<'_>> = files.iter().map(Packed::of).collect();
    serde_json::to_string(&files)
}
