//! The frame of a page: its head, its policy, its style and its script.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::escape::push_escaped;

const STYLE: &str = include_str!("assets/style.css");

/// Appends the beginning of a page up to its body. Only this style and this
/// script are allowed: whatever a message says, a browser runs nothing of it.
pub(super) fn push_head(title: &str, script: &str, out: &mut String) {
    out.push_str("<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n<meta http-equiv=\"Content-Security-Policy\" content=\"");
    out.push_str("default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'sha256-");
    out.push_str(&hash(STYLE));
    out.push_str("'; script-src 'sha256-");
    out.push_str(&hash(script));
    out.push_str("'\">\n<meta name=viewport content=\"width=device-width, initial-scale=1\">\n<meta name=referrer content=no-referrer>\n");
    out.push_str("<meta name=color-scheme content=\"light dark\">\n<meta name=generator content=everlog>\n<title>");
    push_escaped(title, out);
    out.push_str("</title>\n<style>");
    out.push_str(STYLE);
    out.push_str("</style>\n</head>\n");
}

/// Appends the end of a page. The script comes last, when everything is there.
pub(super) fn push_end(script: &str, out: &mut String) {
    out.push_str("<script>");
    out.push_str(script);
    out.push_str("</script>\n</body>\n</html>\n");
}

fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}
