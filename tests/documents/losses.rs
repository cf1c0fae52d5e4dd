//! The loss table of the documentation is made from the code.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use everlog::adapters::ALL;
use everlog::export::may_lose;
use everlog::model::export::loss::LossCode;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- made by `UPDATE_GOLDEN=1 cargo test --test documents losses` -->\n";

#[test]
fn the_loss_table_is_made_from_the_code() {
    let exporters: Vec<_> = ALL.iter().filter_map(|format| Some((format.id(), format.exporter()?))).collect();
    let targets: Vec<&str> = exporters.iter().map(|(id, _)| *id).collect();
    let mut table = String::from("| code | meaning | to |\n|---|---|---|\n");
    for code in LossCode::ALL {
        let to: Vec<&str> = exporters.iter().filter(|(_, exporter)| may_lose(*exporter, *code)).map(|(id, _)| *id).collect();
        let to = if to == targets { "all".to_owned() } else { to.join(", ") };
        writeln!(table, "| `{}` | {} | {to} |", code.name(), code.describe()).unwrap();
    }
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
