//! What each client sees, and what that costs in its prompt.

use std::borrow::Cow;
use std::path::PathBuf;

use prowess::client::{CatalogLimit, Seen};
use prowess::library::clients::Client;
use prowess::library::views::Sight;
use prowess::render::{Budget, estimate_tokens, render_catalog};
use prowess::{Candidate, Entry, Scope};
use serde::Serialize;

use super::examination::Examination;
use super::installed::removing;
use super::issue::{Issue, Kind};
use crate::args::CatalogSize;
use crate::explain::copies::folder_of;
use crate::prompt::{described, fitted, is_not_read, listing};
use crate::ui::command::word;
use crate::ui::{count, number};

/// The most skills that a command moves away.
const MAX_MOVED: usize = 8;
/// The folder in the user's home for skills that are used rarely. No client reads it.
const SHELF: &str = "skills-on-demand";

/// A client, and what it sees.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ClientReport {
    pub(super) client: &'static str,
    pub(super) name: &'static str,
    /// Whether its row was compared with the client; if not, only its folders are known.
    pub(super) verified: bool,
    /// How many skills it lists.
    pub(super) skills: usize,
    /// How many of these it offers to its model.
    pub(super) offered: usize,
    /// About how many tokens the whole catalog takes in every prompt, before a budget.
    pub(super) tokens: usize,
    /// The most tokens of its catalog, if that is known, for a context window of 200 000.
    pub(super) budget: Option<usize>,
    /// How many descriptions its budget shortens.
    pub(super) shortened: usize,
    /// How many skills its budget leaves out.
    pub(super) left_out: usize,
    /// The folders that it looks into and that are there.
    pub(super) folders: Vec<PathBuf>,
}

/// The client of these sights, and its issue if its catalog is over its budget.
pub(super) fn examine(
    examination: &Examination,
    client: &'static Client,
    sights: &[Sight<'_>],
) -> (ClientReport, Option<Issue>) {
    let (reads, size) = (client.reads(), CatalogSize::default());
    let cuts = reads.cuts;
    let listed = sights.iter().filter_map(|sight| Some((sight.skill, sight.seen.as_ref().ok()?)));
    let skills = listed.clone().count();
    let seen: Vec<(&Candidate, &Seen<'_>)> = listed.filter(|(_, seen)| seen.hidden.is_none()).collect();
    let offered: Vec<&Candidate> = seen.iter().map(|(skill, _)| *skill).collect();
    // As `prompt --client` has them: under the names of the client, sorted by these.
    let mut entries: Vec<Cow<'_, Entry>> = seen
        .iter()
        .filter(|(skill, _)| !is_not_read(skill))
        .map(|(skill, seen)| {
            let mut entry = Cow::Borrowed(&skill.entry);
            if let Some(description) = described(&skill.entry, cuts) {
                entry.to_mut().description = description;
            }
            if seen.shown_as != skill.entry.key {
                entry.to_mut().key = seen.shown_as.clone().into_owned();
            }
            entry
        })
        .collect();
    entries.sort_by(|one, other| one.key.cmp(&other.key));
    let entries: Vec<&Entry> = entries.iter().map(AsRef::as_ref).collect();
    let style = listing(cuts);
    let tokens = if entries.is_empty() { 0 } else { estimate_tokens(&render_catalog(&entries, &style)) };
    let report = fitted(&entries, cuts, &size);
    let budget = report.as_ref().and_then(|report| match report.budget {
        Budget::Tokens(tokens) => Some(tokens),
        _ => None,
    });
    let (shortened, left_out) =
        report.as_ref().map_or((0, 0), |report| (report.shortened, report.omitted.len()));
    let mut folders: Vec<PathBuf> = client
        .roots(&examination.here, &examination.environment)
        .into_iter()
        .map(|root| root.path)
        .filter(|path| path.is_dir())
        .collect();
    folders.dedup();
    let client_report = ClientReport {
        client: client.id,
        name: client.name,
        verified: reads.checked.is_some(),
        skills,
        offered: offered.len(),
        tokens,
        budget,
        shortened,
        left_out,
        folders,
    };
    let over = (shortened + left_out > 0).then(|| over_budget(examination, client, &client_report, &offered));
    (client_report, over)
}

fn over_budget(
    examination: &Examination,
    client: &'static Client,
    client_report: &ClientReport,
    offered: &[&Candidate],
) -> Issue {
    let ClientReport { tokens, shortened, left_out, .. } = client_report;
    let budget = client_report.budget.unwrap_or_default();
    let mut effects = Vec::new();
    if *left_out > 0 {
        effects.push(format!("{} left out", count(*left_out, "skill")));
    }
    if *shortened > 0 {
        let least =
            if matches!(client.reads().cuts.catalog, CatalogLimit::PercentByUse(_)) { "up to " } else { "" };
        effects.push(format!("{least}{} shortened", count(*shortened, "description")));
    }
    let (tokens, budget) = (number(*tokens as u64), number(budget as u64));
    let what = format!("{}: about {tokens} tokens where {budget} fit: {}", client.name, effects.join(", "));
    let issue = Issue::new(Kind::CatalogOverBudget, what)
        .for_clients(vec![client.id])
        .seen_by(Some(format!("prowess list --sort cost --client {}", client.id)));
    let shelf = examination.environment.home().map(|home| home.join(SHELF));
    let commands = shelf.and_then(|shelf| {
        Some((moving(examination, client, client_report, offered, &shelf)?, word(&shelf)?))
    });
    match commands {
        Some((commands, shelf)) => {
            let words = format!(
                "shorten descriptions, or move skills that are used rarely to a folder that no client reads; agents \
                 find them there by search with: prowess serve --in {shelf}"
            );
            commands.into_iter().fold(issue.fixed(words), |issue, command| issue.fixed_by(Some(command)))
        }
        None => issue.fixed(
            "remove skills that are not used, shorten descriptions, or move skills to a folder that no client reads \
             and serve them with: prowess serve --in FOLDER",
        ),
    }
}

/// The commands that move the costliest skills away, until the others fit; `None` if these are many.
fn moving(
    examination: &Examination,
    client: &'static Client,
    client_report: &ClientReport,
    offered: &[&Candidate],
    shelf: &std::path::Path,
) -> Option<Vec<String>> {
    let style = listing(client.reads().cuts);
    let cost = |skill: &Candidate| estimate_tokens(&render_catalog(&[&skill.entry], &style));
    let mut by_cost: Vec<(usize, &Candidate)> = offered.iter().map(|skill| (cost(skill), *skill)).collect();
    by_cost.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.entry.key.cmp(&other.1.entry.key)));
    let mut left = client_report.tokens;
    let (mut moved, mut targets, mut commands) = (Vec::new(), Vec::new(), Vec::new());
    for (tokens, skill) in by_cost {
        if left <= client_report.budget? {
            break;
        }
        // What is served from a folder of the user is trusted, so nothing of a project is moved there.
        if skill.entry.origin.scope == Scope::Project {
            continue;
        }
        if moved.len() + commands.len() >= MAX_MOVED {
            return None;
        }
        left = left.saturating_sub(tokens);
        match examination.origins.of(skill) {
            Some(origin) => commands.push(removing(origin)?),
            None => {
                let folder = folder_of(skill)?;
                // Another skill of that folder name may be there already.
                let target = shelf.join(folder.file_name()?);
                let is_taken = targets.contains(&target) || target.symlink_metadata().is_ok();
                if is_taken {
                    return None;
                }
                targets.push(target);
                moved.push(word(folder)?);
            }
        }
    }
    if left > client_report.budget? {
        return None;
    }
    if !moved.is_empty() {
        let shelf = word(shelf)?;
        commands.insert(0, format!("mkdir -p {shelf} && mv {} {shelf}", moved.join(" ")));
    }
    Some(commands)
}
