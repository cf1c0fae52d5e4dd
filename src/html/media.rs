//! Pictures and files of a message.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::api::Media;

use super::escape::{escaped, push_escaped};

/// Media types that a page shows, with the bytes that such a picture begins with.
/// A drawing (SVG) is not among them: it can hold scripts.
const PICTURES: [(&str, &[u8]); 5] = [
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF8"),
    ("image/webp", b"RIFF"),
    ("image/bmp", b"BM"),
];

/// Appends a picture in place, or a line about a file.
pub(super) fn push_media(media: &Media, out: &mut String) {
    let base64 =
        media.data.as_deref().or_else(|| media.uri.as_deref().and_then(|uri| Some(uri.strip_prefix("data:")?.split_once(";base64,")?.1)));
    let picture = base64.and_then(|base64| {
        let bytes = STANDARD.decode(base64).ok()?;
        PICTURES.iter().find(|(_, start)| bytes.starts_with(start)).map(|(kind, _)| (*kind, bytes))
    });
    let name = [&media.name, &media.path].into_iter().flatten().next().map(String::as_str);
    match picture {
        Some((kind, bytes)) => {
            out.push_str("<figure><img loading=lazy alt=\"");
            push_escaped(name.unwrap_or("a picture of the session"), out);
            out.push_str("\" src=\"data:");
            out.push_str(kind);
            out.push_str(";base64,");
            // Written anew: these characters are the only ones that come here.
            STANDARD.encode_string(&bytes, out);
            out.push_str("\"></figure>");
        }
        None => {
            let address = media.uri.as_deref().filter(|uri| !uri.starts_with("data:"));
            let kind = media.media_type.as_deref().unwrap_or("file");
            let size = base64.map(|base64| format!(", {} bytes", base64.len() / 4 * 3)).unwrap_or_default();
            let name = escaped(name.or(address).unwrap_or("without a name"));
            out.push_str(&format!("<p class=file>file: {name} <small>{}{size}</small></p>", escaped(kind)));
        }
    }
}
