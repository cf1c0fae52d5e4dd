//! A JUnit report: what Jenkins, GitLab, Azure and others read.

use std::fmt::Write as _;
use std::time::Duration;

/// A suite of checks.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// When it was run: `YYYY-MM-DDTHH:MM:SS`, in UTC.
    pub timestamp: String,
    /// The checks.
    pub cases: Vec<Case>,
}

/// One check.
#[derive(Debug, Clone)]
pub struct Case {
    /// What was checked.
    pub name: String,
    /// How long that took.
    pub took: Duration,
    /// How it went.
    pub result: CaseResult,
}

/// How a check went.
#[derive(Debug, Clone)]
pub enum CaseResult {
    /// Well.
    Passed,
    /// It was done, and found something.
    Failed(Trouble),
    /// It could not be done.
    Errored(Trouble),
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Trouble {
    /// A stable word for it.
    pub kind: String,
    /// One line.
    pub message: String,
    /// All there is to say.
    pub detail: String,
}

/// The report's text. It has every attribute and element that the strictest
/// of the schemas in use asks for, in the order in which it asks for them.
#[must_use]
pub fn report(suite: &Suite) -> String {
    let count = |wanted: fn(&CaseResult) -> bool| suite.cases.iter().filter(|case| wanted(&case.result)).count();
    let failures = count(|result| matches!(result, CaseResult::Failed(_)));
    let errors = count(|result| matches!(result, CaseResult::Errored(_)));
    let took: Duration = suite.cases.iter().map(|case| case.took).sum();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    let _ = writeln!(
        xml,
        "<testsuite id=\"0\" package=\"everlog\" name=\"{}\" timestamp=\"{}\" hostname=\"localhost\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"0\" time=\"{:.3}\">\n<properties/>",
        escape(&suite.name),
        escape(&suite.timestamp),
        suite.cases.len(),
        took.as_secs_f64()
    );
    for case in &suite.cases {
        let _ = write!(xml, "<testcase classname=\"everlog\" name=\"{}\" time=\"{:.3}\"", escape(&case.name), case.took.as_secs_f64());
        match &case.result {
            CaseResult::Passed => xml.push_str("/>\n"),
            CaseResult::Failed(trouble) => push_trouble("failure", trouble, &mut xml),
            CaseResult::Errored(trouble) => push_trouble("error", trouble, &mut xml),
        }
    }
    xml.push_str("<system-out/>\n<system-err/>\n</testsuite>\n</testsuites>\n");
    xml
}

fn push_trouble(element: &str, trouble: &Trouble, xml: &mut String) {
    let (kind, message, detail) = (escape(&trouble.kind), escape(&trouble.message), escape(&trouble.detail));
    let _ = writeln!(xml, "><{element} type=\"{kind}\" message=\"{message}\">{detail}</{element}></testcase>");
}

/// Text for an element or an attribute; what XML cannot hold at all becomes
/// U+FFFD.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
