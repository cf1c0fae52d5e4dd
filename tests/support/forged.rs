//! Logs and receipts that everlog did not write.

use everlog::model::digest::sha256_hex;
use everlog::store::line_checksum;

/// Lines with checksums of their own in place of those that they had: a forger
/// can compute them too.
pub fn summed(text: &str) -> String {
    let summed = text.lines().map(|line| {
        let body = line.rfind(",\"sum\":\"").map_or(line.to_owned(), |at| format!("{}}}", &line[..at]));
        let mut bytes = body.into_bytes();
        line_checksum::add(&mut bytes);
        String::from_utf8(bytes).unwrap() + "\n"
    });
    summed.collect()
}

/// A line of a changed object, with the checksum that it would have had.
pub fn resummed(mut row: serde_json::Value) -> String {
    row.as_object_mut().unwrap().remove("sum");
    summed(&row.to_string())
}

/// A log with these lines, numbered and sealed anew.
pub fn sealed(body: &[String]) -> String {
    let mut text = String::new();
    let mut checkpoint = 0;
    for line in body {
        if line.contains("\"type\":\"checkpoint\"") {
            checkpoint = text.len();
        }
        text.push_str(line);
        text.push('\n');
    }
    let seal = format!(
        "{{\"seq\":{},\"type\":\"seal\",\"payload\":{{\"events\":{},\"checkpoint\":{checkpoint},\"sha256\":\"{}\"}}}}\n",
        body.len() + 1,
        body.len(),
        sha256_hex(text.as_bytes())
    );
    text + &seal
}
