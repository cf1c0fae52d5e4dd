//! The columns in the documentation are made from the code.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use everlog::tables::TableName;
use everlog::tables::schema::{Column, Kind, Presence, VERSION};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- made by `UPDATE_GOLDEN=1 cargo test --test documents tables` -->\n";

fn lines(columns: &[Column], above: &str, made: &mut String) {
    for column in columns {
        let presence = match column.presence {
            Presence::Always => "",
            Presence::Perhaps => " or null",
        };
        writeln!(made, "| `{above}{}` | {}{presence} | {} |", column.name, column.kind.name(), column.says).unwrap();
        if let Kind::Record(members) | Kind::Records(members) = column.kind {
            lines(members, &format!("{above}{}.", column.name), made);
        }
    }
}

#[test]
fn the_columns_of_tables_are_described_as_they_are() {
    let mut made = BEGIN.to_owned();
    for table in TableName::ALL {
        writeln!(made, "\n## `{}`\n\n| column | type | meaning |\n|---|---|---|", table.name()).unwrap();
        lines(table.table().columns, "", &mut made);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/reference/tables.md");
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.contains(&format!("write, version {VERSION}.")), "the page is of another version");
    let (before, after) = page.split_once(BEGIN).expect("the page says where its tables begin");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, format!("{before}{made}")).unwrap();
        return;
    }
    assert_eq!(format!("{BEGIN}{after}"), made, "run `UPDATE_GOLDEN=1 cargo test --test documents tables`");
}
