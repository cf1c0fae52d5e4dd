//! What a load derives besides messages: the model, the thinking level, the
//! name of the session and its labels.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::runtimes::javascript::{Type, Value, lossy, push_string, stringify, trim};

use super::failure::Failure;
use super::flavour::Flavour;
use super::record::{Index, Kind};
use super::tree::Tree;

/// The labels of a session by the id of what they label.
pub(super) type Labels<'a> = BTreeMap<Cow<'a, [u8]>, Vec<u8>>;

/// Returns the model at the end of a path, as `provider/model`; to the tutorial it is
/// one name.
pub(super) fn model(tree: &Tree<'_>, path: &[Index]) -> Option<String> {
    path.iter().rev().find_map(|index| {
        let kind = tree.records.kind(*index);
        let (source, name) = if kind == Kind::ModelChange {
            (tree.records.value(*index), "modelId")
        } else {
            let message = (kind == Kind::Message).then(|| tree.records.message(*index));
            (message.filter(|message| message.get("role").is("assistant"))?, "model")
        };
        match tree.flavour {
            Flavour::Tutorial => source.get("model").lossy(),
            Flavour::Pi(_) | Flavour::Harness => {
                let [provider, model] = source.get_all(["provider", name]);
                Some(format!("{}/{}", provider.lossy().unwrap_or_default(), model.lossy().unwrap_or_default()))
            }
        }
    })
}

/// Returns the thinking level at the end of a path. What is not text is told as JSON,
/// and nothing is told where the last change names no level, or in the
/// tutorial, which has none.
pub(super) fn thinking_level(tree: &Tree<'_>, path: &[Index]) -> Option<String> {
    if tree.flavour == Flavour::Tutorial {
        return None;
    }
    let change = path.iter().rev().find(|index| tree.records.kind(**index) == Kind::ThinkingLevelChange);
    let Some(change) = change else { return Some("off".to_owned()) };
    let level = tree.records.value(*change).get("thinkingLevel");
    match level.type_of() {
        Type::Undefined => None,
        Type::String => level.lossy(),
        Type::Null | Type::Boolean | Type::Number | Type::Array | Type::Object => Some(json(level)),
    }
}

/// Returns the name that the last `session_info` gives, on whichever branch it stands.
pub(super) fn name(tree: &Tree<'_>) -> Option<String> {
    if tree.flavour == Flavour::Tutorial {
        return None;
    }
    let last = tree.records.of_kind(Kind::SessionInfo).next_back()?;
    let name = tree.records.value(last).get("name").text()?;
    Some(lossy(trim(&name))).filter(|name| !name.is_empty())
}

/// Returns the labels, from all branches in the order of the file. A target that is no
/// text labels nothing that has a name.
///
/// # Errors
/// In the harness, where a label is something that cannot be trimmed.
pub(super) fn labels<'a>(tree: &Tree<'a>) -> Result<Labels<'a>, Failure> {
    let mut labels = Labels::new();
    if tree.flavour == Flavour::Tutorial {
        return Ok(labels);
    }
    for index in tree.records.of_kind(Kind::Label) {
        let [target, label] = tree.records.value(index).get_all(["targetId", "label"]);
        let label = match tree.flavour {
            Flavour::Harness => trimmed(label)?,
            Flavour::Pi(_) | Flavour::Tutorial => label.is_truthy().then(|| json(label).into_bytes()),
        };
        let Some(target) = target.text() else { continue };
        match label {
            Some(label) => labels.insert(target, label),
            None => labels.remove(&target),
        };
    }
    Ok(labels)
}

fn trimmed(label: Value<'_>) -> Result<Option<Vec<u8>>, Failure> {
    if label.is_nullish() {
        return Ok(None);
    }
    let label = label.text().ok_or(Failure::TypeError)?;
    let label = trim(&label);
    let mut out = Vec::new();
    push_string(label, &mut out);
    Ok(Some(out).filter(|_| !label.is_empty()))
}

/// Returns the labels as one JSON object, in byte order of the ids.
pub(super) fn labels_json(labels: &Labels<'_>) -> Option<String> {
    if labels.is_empty() {
        return None;
    }
    let mut out = Vec::new();
    let mut separator = b'{';
    for (id, label) in labels {
        out.push(separator);
        separator = b',';
        push_string(id, &mut out);
        out.push(b':');
        out.extend_from_slice(label);
    }
    out.push(b'}');
    String::from_utf8(out).ok()
}

fn json(value: Value<'_>) -> String {
    String::from_utf8(stringify(value.token())).unwrap_or_default()
}
