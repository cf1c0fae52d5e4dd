//! What an export to a target can lose at all, by what the target can say.

use crate::adapters::exporter::Exporter;
use crate::model::export::ability::{Ability, Need};
use crate::model::export::loss::LossCode;

/// Tells whether an export to this target can lose this; the documentation's table
/// says so for every target, and a law holds every export to it.
#[must_use]
pub fn may_lose(exporter: &dyn Exporter, code: LossCode) -> bool {
    let abilities = exporter.abilities();
    let (can, needs) = (|ability| abilities.can(ability), |need| abilities.needs(need));
    match code {
        LossCode::CwdDropped => !can(Ability::Cwd) || needs(Need::AbsoluteCwd),
        LossCode::CwdInvented => can(Ability::Cwd),
        LossCode::ErrorFlagLost => !can(Ability::ErrorFlags),
        LossCode::ImageAsFile => can(Ability::ImageFiles),
        LossCode::ImageCosts => can(Ability::DearImages),
        LossCode::Joined => needs(Need::SingleAnswers),
        LossCode::ModelInvented => needs(Need::Model),
        LossCode::StopReasonInvented => needs(Need::StopReason),
        LossCode::SummaryBeside => can(Ability::Summary),
        LossCode::SummaryInserted => !can(Ability::Summary),
        LossCode::SystemAsUser => can(Ability::Notes) && !can(Ability::SystemMessages),
        LossCode::SystemDropped => !can(Ability::SystemMessages),
        LossCode::SystemInvented => needs(Need::LeadingSystem),
        LossCode::TargetPrunes => exporter.prunes_above().is_some(),
        LossCode::TimeDropped => !can(Ability::Times),
        LossCode::TitleDropped => !can(Ability::Titles) && !can(Ability::TitleEntries),
        LossCode::ToolNotOffered => !exporter.offers(""),
        LossCode::UsageZeroed => needs(Need::Usage),
        LossCode::ArgumentsWrapped
        | LossCode::BranchesDropped
        | LossCode::BeforeCompactionDropped
        | LossCode::CallClosed
        | LossCode::CallIdChanged
        | LossCode::ContextLeftOut
        | LossCode::CostDropped
        | LossCode::EditApplied
        | LossCode::EmptyLeftOut
        | LossCode::EntryDropped
        | LossCode::ErrorDropped
        | LossCode::FileAsText
        | LossCode::HiddenDropped
        | LossCode::ImageDropped
        | LossCode::ImageMissing
        | LossCode::JournalsLeftOut
        | LossCode::LabelDropped
        | LossCode::ModelDropped
        | LossCode::NameDropped
        | LossCode::OrderChanged
        | LossCode::PartDropped
        | LossCode::PinDropped
        | LossCode::Redacted
        | LossCode::ResultAsText
        | LossCode::ResultRepeated
        | LossCode::RoleChanged
        | LossCode::SalvageLeftOut
        | LossCode::SettingDropped
        | LossCode::ShellAsText
        | LossCode::SignatureDropped
        | LossCode::StopReasonDropped
        // Of several compactions that are all shown, one is said as one.
        | LossCode::SummaryAsText
        | LossCode::TextAltered
        | LossCode::ThinkingDropped
        | LossCode::TimeCut
        | LossCode::TimeInvented
        | LossCode::ToolNameChanged
        | LossCode::UsageDropped
        | LossCode::ZoneAssumed => true,
    }
}
