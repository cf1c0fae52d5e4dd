//! The loss table of the documentation is made from the code.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use everlog::adapters::ALL;
use everlog::model::export::loss::LossCode;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- made by `UPDATE_GOLDEN=1 cargo test --test documents losses` -->\n";

#[test]
fn the_loss_table_is_made_from_the_code() {
    let mut table = String::from("| code | meaning |\n|---|---|\n");
    for code in LossCode::ALL {
        writeln!(table, "| `{}` | {} |", code.name(), code.describe()).unwrap();
    }
    let targets: Vec<&str> = ALL.iter().filter(|format| format.exporter().is_some()).map(|format| format.id()).collect();
    let made = format!("{BEGIN}\nTargets: {}.\n\n{table}", targets.join(", "));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/reference/losses.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, after) = page.split_once(BEGIN).expect("the page says where its table begins");
    let now = format!("{before}{made}");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, now).unwrap();
        return;
    }
    assert_eq!(format!("{BEGIN}{after}"), made, "run `UPDATE_GOLDEN=1 cargo test --test documents losses`");
}
