//! The effects of a [`Chat`]: performed on its skills, or by its host.

use std::sync::Arc;

use prowess::drive::{Performer, failed};
use prowess::select::SelectOptions;
use prowess::session::{Effect, Failure as EffectFailure, Outcome};
use prowess::{Candidate, Catalog, Entry, Location, SourceErrorKind};
use prowess_engine::{Failure, candidate_json, effect_json};
use serde_json::json;

use super::Chat;
use crate::asked::thrown;
use crate::errors::{callback, of_callback, of_source};
use crate::foreign::ForeignError;
use crate::skills::Parts;

/// What failed, for the report to the host, and the outcome for the model.
type Lost = Box<(ForeignError, Outcome)>;

impl Chat {
    /// Performs an effect. It fails only if the operation ended; everything else is an outcome, and reported.
    pub(super) fn perform(&self, effect: &Effect) -> Result<Outcome, Failure> {
        let (error, outcome) = match self.try_perform(effect) {
            Ok(outcome) => return Ok(outcome),
            Err(lost) => *lost,
        };
        if error.ends_operation() {
            return Err(of_callback(error, "failed"));
        }
        self.report(error, effect)?;
        Ok(outcome)
    }

    fn try_perform(&self, effect: &Effect) -> Result<Outcome, Lost> {
        let Parts { registry, selector, host, rules, .. } = self.skills.parts();
        let lost = || Outcome::Failed { why: EffectFailure::Failed };
        match effect {
            Effect::Search { query, among, limit } => {
                let catalog = self.skills.catalog();
                let entries = entries(&catalog, among);
                let options = SelectOptions::default().with_top_k(Some(*limit));
                let hits = self.skills.ranked(query, &entries, &options);
                hits.map(|hits| Outcome::Hits { hits })
                    .map_err(|failure| Box::new((foreign(failure), lost())))
            }
            Effect::Approve { key, location, .. } => {
                let Some(host) = host.clone() else { return Ok(Outcome::Declined) };
                let skill = self.at(key, location)?;
                // The digest comes first, so that what is approved is what was there when the user was asked.
                let digest = registry.approvable(&skill).map_err(|error| Box::new(lost_source(&error)))?;
                let (shown, asked) = (candidate_json(&skill, None), digest.to_string());
                let approved = rules
                    .ask("the approval", move || host.approve(shown, asked))
                    .map_err(|error| Box::new((error, Outcome::Declined)))?;
                Ok(if approved { Outcome::Approved { digest } } else { Outcome::Declined })
            }
            Effect::Run { key, location, path, args, expect_digest, .. } => {
                let Some(host) = host.clone() else { return Ok(lost()) };
                let skill = candidate_json(&*self.at(key, location)?, None);
                let asked = json!({"path": path, "args": args, "expectDigest": expect_digest});
                let (code, output) = rules
                    .ask("the script", move || host.run(skill, asked))
                    .map_err(|error| Box::new((error, lost())))?;
                Ok(Outcome::Ran { code, output })
            }
            _ => {
                let performer = Performer::new(registry, &**selector);
                performer.try_perform(effect).map_err(|error| Box::new(lost_source(&error)))
            }
        }
    }

    /// The skill with this key, if it is still where the session saw it.
    fn at(&self, key: &str, location: &Location) -> Result<Arc<Candidate>, Lost> {
        let skill = self.skills.parts().registry.get(key).ok();
        skill
            .filter(|skill| skill.entry.origin.location == *location)
            .ok_or_else(|| Box::new(lost_source(&SourceErrorKind::NotListed.at_location(location.clone()))))
    }

    /// Tells the host what failed. A failure of the report is ignored, unless it ends the operation.
    pub(super) fn report(&self, error: ForeignError, effect: &Effect) -> Result<(), Failure> {
        let Parts { host, rules, .. } = self.skills.parts();
        let Some(host) = host.clone() else { return Ok(()) };
        let effect = effect_json(effect);
        match rules.ask("the report", move || host.report(&error, effect)) {
            Err(error) if error.ends_operation() => Err(of_callback(error, "failed")),
            _ => Ok(()),
        }
    }
}

pub(super) fn entries<'c>(catalog: &'c Catalog, keys: &[String]) -> Vec<&'c Entry> {
    keys.iter().filter_map(|key| catalog.get(key)).map(|skill| &skill.entry).collect()
}

/// A failure as what a callback threw, for the report.
pub(super) fn foreign(failure: Failure) -> ForeignError {
    ForeignError { code: failure.code, message: failure.message, cause: failure.cause }
}

/// The error of a source for the report, and as an outcome for the model.
fn lost_source(error: &prowess::SourceError) -> (ForeignError, Outcome) {
    let outcome = failed(error);
    let cause = callback(error).or_else(thrown);
    (cause.unwrap_or_else(|| foreign(of_source(error))), outcome)
}
