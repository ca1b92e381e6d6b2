//! `prowess trust --server`: all skills of an MCP server at once, with the files that they have now.

use std::collections::BTreeSet;
use std::path::Path;

use prowess::registry::trust::Approvals;
use prowess::{Candidate, Location, Obstacle};
use serde_json::json;

use super::{TrustChoice, trust_digests};
use crate::Outcome;
use crate::args::Trust;
use crate::error::{CommandError, Failure};
use crate::explain::trust::label_of;
use crate::explain::unread::say_problems;
use crate::report::json::VERSION;
use crate::ui::command::command_for;
use crate::ui::{Ui, clean, count};

/// Trusts every skill of a server that waits for it. Those that cannot be approved are named.
pub(super) fn trust(
    args: &Trust,
    label: &str,
    file: &Path,
    json: bool,
    ui: &mut Ui,
) -> Result<Outcome, CommandError> {
    let opened = TrustChoice::new(args)?;
    let all = opened.catalog.all().map(|(skill, _)| skill);
    let listed: Vec<&Candidate> = all.filter(|skill| label_of(skill) == Some(label)).collect();
    if listed.is_empty() {
        return Err(no_skill_of(label, &opened, args, ui));
    }
    let (mut digests, mut refused) = (Vec::new(), Vec::new());
    for skill in listed.iter().filter(|skill| skill.obstacle == Some(Obstacle::Untrusted)) {
        match opened.registry.approvable(skill) {
            Ok(digest) => digests.push((*skill, digest)),
            Err(error) => refused.push((*skill, Failure::from(&error))),
        }
    }
    // What cannot be trusted is said before the question about the rest.
    for (_, failure) in &refused {
        ui.warning(failure);
    }
    if digests.is_empty() {
        let shown = clean(label);
        if !refused.is_empty() {
            let error =
                format!("none of the skills of this server that wait for trust can be trusted: {shown}");
            let name = match refused.as_slice() {
                [(skill, _)] => &*skill.entry.key,
                _ => "NAME",
            };
            let why = command_for("why", name, &args.places.options());
            return Err(Failure::new(error, format!("see why with: {why}")).into());
        }
        return say(&format!("no skill of this server waits for trust: {shown}"), json, ui);
    }
    let question = format!(
        "Trust {} of the server {} with their current files?",
        count(digests.len(), "skill"),
        clean(label)
    );
    trust_digests(args, digests, question, &opened, file, json, ui)
}

/// Revokes trust in every skill of a server, by the approvals alone: the server may be gone.
pub(super) fn revoke(label: &str, file: &Path, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let is_of_server =
        |location: &Location| matches!(location, Location::Mcp { label: own, .. } if **own == *label);
    let revoked: Vec<String> = Approvals::update(file, |approvals| {
        let (revoked, others): (Vec<_>, Vec<_>) = std::mem::take(&mut approvals.skills)
            .into_iter()
            .partition(|approval| is_of_server(&approval.location));
        approvals.skills = others;
        if revoked.is_empty() {
            let error = format!("no skill of this server is trusted: {}", clean(label));
            return Err(CommandError::from(Failure::new(
                error,
                "list what is trusted with: prowess trust --list",
            )));
        }
        Ok(revoked.into_iter().map(|approval| approval.location.to_string()).collect())
    })?;
    let done = format!("no longer trusted: {} of {}", count(revoked.len(), "skill"), clean(label));
    if json {
        ui.json(&json!({"version": VERSION, "done": done, "revoked": revoked}))?;
        return Ok(Outcome::Fine);
    }
    let places: String = revoked.iter().map(|place| format!("  {}\n", clean(place))).collect();
    ui.print(&format!("{done}\n{places}"))?;
    Ok(Outcome::Fine)
}

fn say(done: &str, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    if json {
        ui.json(&json!({"version": VERSION, "done": done}))?;
    } else {
        ui.print(&format!("{done}\n"))?;
    }
    Ok(Outcome::Fine)
}

/// The error for a label of which no skill is listed: the server could not be read, or another one is meant.
fn no_skill_of(label: &str, opened: &TrustChoice, args: &Trust, ui: &mut Ui) -> CommandError {
    say_problems(&opened.registry, ui);
    let error = format!("no skill is from this server: {}", clean(label));
    let labels: BTreeSet<&str> = opened.catalog.all().filter_map(|(skill, _)| label_of(skill)).collect();
    let labels: Vec<&str> = labels.into_iter().collect();
    let hint = match labels.as_slice() {
        [] => format!(
            "name the server with --in, or see the skills with: prowess list --all{}",
            args.places.options()
        ),
        _ => format!("the servers are: {}", clean(&labels.join(", "))),
    };
    Failure::new(error, hint).into()
}
