//! A log with many branches.

use everlog::log::LogWriter;
use everlog::model::event::{Body, Draft, EventKind};
use everlog::model::heads::{Head, HeadKind, HeadName, HeadOp};
use everlog::model::ids::Seq;
use everlog::model::stream::EventSink;

/// A log of so many nodes on a hundredth as many branches, which part from
/// each other anywhere, and as many heads.
pub fn large_log(nodes: u32) -> Vec<u8> {
    let mut writer = LogWriter::new(Vec::new());
    let session = br#"{"version":1,"kind":"session","format":"pi","id":"large"}"#;
    writer.put(Draft { ts: None, parent: None, body: Body::Json(EventKind::Session, session) }).unwrap();
    let (mut seed, mut above) = (7_u64, Seq::ROOT);
    let mut ends = Vec::new();
    for n in 0..nodes {
        if n % 200 == 199 {
            ends.push(above);
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            above = ends[(seed >> 33) as usize % ends.len()];
        }
        let payload = format!(
            "{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"message {n} {}\"}}],\"source_id\":\"{n:08x}\"}}",
            "x".repeat(60)
        );
        above = writer.put(Draft { ts: None, parent: Some(above), body: Body::Json(EventKind::Message, payload.as_bytes()) }).unwrap();
    }
    for (n, end) in ends.iter().enumerate() {
        let head = Head::to(&HeadName::new(HeadKind::Branch, format!("head-{n}")), *end, HeadOp::Append);
        writer.put(Draft { ts: None, parent: None, body: Body::Head(&head) }).unwrap();
    }
    writer.close_facts("branch:main").unwrap();
    writer.finish().unwrap().0
}
