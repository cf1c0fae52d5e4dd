//! Which records of an old file are among the rows of a database, whatever program
//! wrote them. Records and rows are two ordered multisets: each row is used once, and
//! all records of a file are tried by one rule before any is tried by the next:
//! identical, respelled, rewritten, repeated, changed, missing. What a program's import
//! does to a record is behind [`Importer`].

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

use crate::adapters::containment::{FoundIn, Verdict};
use crate::model::database::TablesError;
use crate::model::digest::{HalfDigest, half_digest};

use super::value_loss::lost;

/// What a record of an old file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reading {
    /// A value, printed by its program as a text with this digest.
    Value { printed: HalfDigest },
    /// Something that the program cannot read, and why.
    Unreadable { why: &'static str },
}

/// A record of an old file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// The line that it is on, from 1.
    pub line: u64,
    /// Where it is in the file, without the white space around it.
    pub at: Range<usize>,
    /// What is there.
    pub text: HalfDigest,
    /// How the program reads it.
    pub reading: Reading,
}

impl Record {
    fn printed(&self) -> Option<&HalfDigest> {
        match &self.reading {
            Reading::Value { printed } => Some(printed),
            Reading::Unreadable { .. } => None,
        }
    }
}

/// A row that records may be found in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'r> {
    /// Its text.
    pub text: &'r [u8],
    /// Where it is.
    pub found: FoundIn,
}

/// The rows that the records of one file may be found in: the nearest first, in the
/// order of their program. They are read as often as they are needed, and never held.
pub(super) trait Rows {
    /// Hands out every row; the same ones each time.
    ///
    /// # Errors
    /// Returns an error when they cannot be read.
    fn each(&self, take: &mut dyn FnMut(Row<'_>)) -> Result<(), TablesError>;
}

/// A form of a record in which rows are compared with it, and the rules that lead to
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rewriting {
    /// The form; equal ones are of the same record.
    pub form: Vec<u8>,
    /// The names of the rules.
    pub rules: Vec<&'static str>,
}

/// What a program's import does to the records of one file.
pub(super) trait Importer {
    /// Returns the forms that the import may give to a record, the likeliest first.
    fn rewritten(&self, record: &[u8]) -> Vec<Rewriting>;

    /// Returns the forms in which a row is compared with rewritten records.
    fn forms(&self, row: &[u8]) -> Vec<Vec<u8>>;

    /// Returns what names a record or a row, where something does.
    fn id(&self, text: &[u8]) -> Option<Vec<u8>>;

    /// Names the fields in which a record and a row of the same id differ.
    fn differing(&self, record: &[u8], row: &[u8]) -> Vec<String>;
}

/// What became of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub verdict: Verdict,
    /// Where the row is that has it; nowhere for what is not plainly in the database.
    pub found: FoundIn,
    pub why: Vec<String>,
}

impl Outcome {
    fn new(verdict: Verdict, found: FoundIn) -> Outcome {
        Outcome { verdict, found, why: Vec::new() }
    }
}

/// Judges all records of a file. The outcomes have the order of the records.
///
/// # Errors
/// Returns an error when the rows cannot be read.
pub(super) fn judge(file: &[u8], records: &[Record], rows: &dyn Rows, importer: &dyn Importer) -> Result<Vec<Outcome>, TablesError> {
    let mut known = KnownRows::of(rows)?;
    let mut outcomes: Vec<Option<Outcome>> = records.iter().map(unreadable).collect();
    for (record, outcome) in records.iter().zip(&mut outcomes).filter(|(_, outcome)| outcome.is_none()) {
        *outcome = known.take(&record.text).map(|found| Outcome::new(Verdict::Identical, found));
    }
    for (record, outcome) in records.iter().zip(&mut outcomes).filter(|(_, outcome)| outcome.is_none()) {
        let Some(found) = record.printed().and_then(|printed| known.take(printed)) else { continue };
        let as_printed = Outcome::new(Verdict::Respelled, found);
        *outcome = Some(unless_lost(&file[record.at.clone()], as_printed));
    }
    let left: Vec<usize> = outcomes.iter().enumerate().filter(|(_, outcome)| outcome.is_none()).map(|(n, _)| n).collect();
    if !left.is_empty() {
        let texts: Vec<&[u8]> = left.iter().map(|n| &file[records[*n].at.clone()]).collect();
        let mut unlike = UnlikeRows::of(rows, &known, &texts, importer)?;
        for (n, text) in left.iter().zip(&texts) {
            outcomes[*n] = unlike.take(text, &importer.rewritten(text));
        }
        // What a record prints as, and where the row is that has it.
        let mut matched: HashMap<HalfDigest, FoundIn> = HashMap::new();
        for (record, outcome) in records.iter().zip(&outcomes) {
            if let (Some(printed), Some(outcome)) = (record.printed(), outcome) {
                matched.entry(*printed).or_insert(outcome.found);
            }
        }
        for (n, text) in left.iter().zip(&texts).filter(|(n, _)| outcomes[**n].is_none()).collect::<Vec<_>>() {
            let repeated = records[*n].printed().and_then(|printed| matched.get(printed));
            let outcome = repeated.map(|found| Outcome::new(Verdict::Repeated, *found));
            outcomes[*n] = Some(outcome.unwrap_or_else(|| unlike.changed_or_missing(text, importer)));
        }
    }
    // Every record has an outcome by now; one without would be missing.
    Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|| Outcome::new(Verdict::Missing, FoundIn::Nowhere))).collect())
}

/// Returns the outcome of a record whose row says what the program made of it, unless
/// the record said something that the program does not keep.
fn unless_lost(record: &[u8], outcome: Outcome) -> Outcome {
    let why = lost(record);
    if why.is_empty() { outcome } else { Outcome { verdict: Verdict::Changed, found: FoundIn::Nowhere, why } }
}

fn unreadable(record: &Record) -> Option<Outcome> {
    match &record.reading {
        Reading::Value { .. } => None,
        Reading::Unreadable { why } => {
            Some(Outcome { verdict: Verdict::Unreadable, found: FoundIn::Nowhere, why: vec![(*why).to_owned()] })
        }
    }
}

/// The rows by their texts.
struct KnownRows {
    found: Vec<FoundIn>,
    is_used: Vec<bool>,
    by_text: HashMap<HalfDigest, VecDeque<usize>>,
}

impl KnownRows {
    fn of(rows: &dyn Rows) -> Result<KnownRows, TablesError> {
        let mut known = KnownRows { found: Vec::new(), is_used: Vec::new(), by_text: HashMap::new() };
        rows.each(&mut |row| {
            known.by_text.entry(half_digest(row.text)).or_default().push_back(known.found.len());
            known.found.push(row.found);
        })?;
        known.is_used = vec![false; known.found.len()];
        Ok(known)
    }

    /// Uses the first unused row with this text.
    fn take(&mut self, text: &HalfDigest) -> Option<FoundIn> {
        let row = self.by_text.get_mut(text)?.pop_front()?;
        self.is_used[row] = true;
        self.found.get(row).copied()
    }
}

/// The rows that no record is, or is printed as: those that it may be rewritten to,
/// and those of the same id.
struct UnlikeRows {
    by_form: HashMap<HalfDigest, VecDeque<Unlike>>,
    /// Rows by the ids of records that are left: unused ones before used ones.
    by_id: HashMap<Vec<u8>, NamedRow>,
    taken: HashSet<usize>,
}

/// A row that a record may be rewritten to.
#[derive(Clone, Copy)]
struct Unlike {
    row: usize,
    found: FoundIn,
}

struct NamedRow {
    text: Vec<u8>,
    is_used: bool,
    found: FoundIn,
}

impl UnlikeRows {
    fn of(rows: &dyn Rows, known: &KnownRows, left: &[&[u8]], importer: &dyn Importer) -> Result<UnlikeRows, TablesError> {
        let ids: HashSet<Vec<u8>> = left.iter().filter_map(|text| importer.id(text)).collect();
        let mut unlike = UnlikeRows { by_form: HashMap::new(), by_id: HashMap::new(), taken: HashSet::new() };
        let mut n = 0;
        rows.each(&mut |Row { text, found }| {
            let is_used = known.is_used.get(n).copied().unwrap_or(true);
            if !is_used {
                for form in importer.forms(text) {
                    unlike.by_form.entry(half_digest(&form)).or_default().push_back(Unlike { row: n, found });
                }
            }
            if let Some(id) = importer.id(text).filter(|id| ids.contains(id)) {
                let is_better = unlike.by_id.get(&id).is_none_or(|other| other.is_used && !is_used);
                if is_better {
                    unlike.by_id.insert(id, NamedRow { text: text.to_vec(), is_used, found });
                }
            }
            n += 1;
        })?;
        Ok(unlike)
    }

    /// Uses the first unused row that a record may have been rewritten to.
    fn take(&mut self, record: &[u8], rewritings: &[Rewriting]) -> Option<Outcome> {
        for rewriting in rewritings {
            let Some(rows) = self.by_form.get_mut(&half_digest(&rewriting.form)) else { continue };
            while let Some(Unlike { row, found }) = rows.pop_front() {
                if self.taken.insert(row) {
                    let why = rewriting.rules.iter().map(|rule| (*rule).to_owned()).collect();
                    return Some(unless_lost(record, Outcome { verdict: Verdict::Rewritten, found, why }));
                }
            }
        }
        None
    }

    /// Judges a record by the row of its id.
    fn changed_or_missing(&self, record: &[u8], importer: &dyn Importer) -> Outcome {
        let Some(row) = importer.id(record).and_then(|id| self.by_id.get(&id)) else {
            return Outcome::new(Verdict::Missing, FoundIn::Nowhere);
        };
        // The same content in the form that the import gives it is not different content.
        let forms = importer.forms(&row.text);
        if importer.rewritten(record).iter().any(|rewriting| forms.contains(&rewriting.form)) {
            return Outcome::new(Verdict::Repeated, row.found);
        }
        Outcome { verdict: Verdict::Changed, found: FoundIn::Nowhere, why: importer.differing(record, &row.text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program whose import shouts, and whose records are named by their first letter.
    struct Shouting;

    impl Importer for Shouting {
        fn rewritten(&self, record: &[u8]) -> Vec<Rewriting> {
            vec![Rewriting { form: record.to_ascii_uppercase(), rules: vec!["shout"] }]
        }

        fn forms(&self, row: &[u8]) -> Vec<Vec<u8>> {
            vec![row.to_vec()]
        }

        fn id(&self, text: &[u8]) -> Option<Vec<u8>> {
            text.first().map(|first| first.to_ascii_uppercase()).map(|first| vec![first])
        }

        fn differing(&self, _: &[u8], row: &[u8]) -> Vec<String> {
            vec![String::from_utf8_lossy(row).into_owned()]
        }
    }

    /// Rows that are all live.
    struct Listed(&'static [&'static str]);

    impl Rows for Listed {
        fn each(&self, take: &mut dyn FnMut(Row<'_>)) -> Result<(), TablesError> {
            self.0.iter().for_each(|row| take(Row { text: row.as_bytes(), found: FoundIn::Live }));
            Ok(())
        }
    }

    /// Judges words, which print without their dots.
    fn verdicts(words: &[&str], rows: &'static [&'static str]) -> Vec<(Verdict, String)> {
        let file = words.join(" ");
        let mut at = 0;
        let records: Vec<Record> = (1..)
            .zip(words)
            .map(|(line, word)| {
                let start = at;
                at += word.len() + 1;
                let printed = half_digest(word.replace('.', "").as_bytes());
                Record { line, at: start..start + word.len(), text: half_digest(word.as_bytes()), reading: Reading::Value { printed } }
            })
            .collect();
        let judged = judge(file.as_bytes(), &records, &Listed(rows), &Shouting).unwrap();
        judged.into_iter().map(|outcome| (outcome.verdict, outcome.why.join(","))).collect()
    }

    #[test]
    fn all_records_are_tried_by_one_rule_before_the_next() {
        use Verdict::{Changed, Identical, Missing, Repeated, Respelled, Rewritten};
        let judged = |words: &[&str], rows| verdicts(words, rows).into_iter().map(|(verdict, _)| verdict).collect::<Vec<_>>();
        // The second is the row itself, so that the first cannot use it up.
        assert_eq!(judged(&["a.b", "ab"], &["ab"]), [Repeated, Identical]);
        assert_eq!(judged(&["a.b", "ab"], &["ab", "ab"]), [Respelled, Identical]);
        assert_eq!(judged(&["cd", "c.d", "cd"], &["CD", "cd"]), [Identical, Repeated, Rewritten]);
        assert_eq!(judged(&["cd", "cd"], &["CD"]), [Rewritten, Repeated]);
        assert_eq!(judged(&["ab", "ax", "x"], &["ab"]), [Identical, Changed, Missing]);
        // An unused row of the same name says more than one that another record has.
        assert_eq!(verdicts(&["ab", "ax"], &["ab", "ay"])[1], (Changed, "ay".to_owned()));
        // The same content in its rewritten form is there already.
        assert_eq!(judged(&["AB", "ab"], &["AB"]), [Identical, Repeated]);
    }
}
