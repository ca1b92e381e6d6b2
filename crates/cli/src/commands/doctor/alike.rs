//! Skills that are too much alike: copies that differ, copies that are not needed, and skills that compete.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::path::Path;

use prowess::client::NotListed;
use prowess::library::clients::Client;
use prowess::select::{Settings, Texts};
use prowess::{Candidate, Entry, Scope};

use super::examination::{Examination, ListedBy, Sighted, names, path_of};
use super::issue::{Issue, Kind};
use crate::explain::copies::{Copy, folder_of};
use crate::explain::needed::{RealPlaces, Removal};
use crate::rank::{CONFUSED, index, rivals};
use crate::ui::ShortPaths;
use crate::ui::command::{command_for, quoted_word, word};

/// The most pairs of skills whose files are compared.
const MAX_COMPARED: usize = 200;
/// The most skills whose descriptions are compared with all others.
const MAX_RIVALS: usize = 1_000;

/// All of them.
pub(super) fn issues(sighted: &Sighted<'_>) -> Vec<Issue> {
    let mut issues = copies(sighted);
    issues.extend(competing(sighted));
    issues
}

/// Skills of one name in the folders of the clients.
fn copies(sighted: &Sighted<'_>) -> Vec<Issue> {
    let Sighted { examination, opened, listed, .. } = sighted;
    let mut by_key: BTreeMap<&str, Vec<&Candidate>> = BTreeMap::new();
    for sight in sighted.all() {
        let is_meant = match &sight.seen {
            Ok(_) => true,
            Err(why) => matches!(why.why, NotListed::SameName { .. }),
        };
        let skills = by_key.entry(&sight.skill.entry.key).or_default();
        let place = &sight.skill.entry.origin.location;
        if is_meant && !skills.iter().any(|other| other.entry.origin.location == *place) {
            skills.push(sight.skill);
        }
    }
    let registry = opened.views.registry();
    let places = LazyCell::new(|| {
        let mut places = RealPlaces::default();
        places.add(&opened.catalog);
        places.add(&opened.all);
        places
    });
    let mut issues = Vec::new();
    let mut compared = 0;
    for skills in by_key.values_mut().filter(|skills| skills.len() > 1) {
        // What the others are compared with is the user's own before that of a project, then the one that most clients
        // list, then the first by its place.
        skills.sort_by_cached_key(|skill| {
            let origin = &skill.entry.origin;
            let listed = std::cmp::Reverse(listed.clients(skill).len());
            (origin.scope == Scope::Project, listed, origin.location.text().into_owned())
        });
        let Some((first, others)) = skills.split_first() else { continue };
        for skill in others {
            if is_same_file(first, skill) || first.is_broken() || skill.is_broken() {
                continue;
            }
            compared += 1;
            if compared > MAX_COMPARED {
                continue;
            }
            let Some(copy) = Copy::between(skill, first, registry) else { continue };
            issues.extend(issue(examination, (first, skill), &copy, listed, &places));
        }
    }
    if let Some(more @ 1..) = compared.checked_sub(MAX_COMPARED) {
        let what = format!("{more} more pairs of skills with one name were not compared");
        let see = Some("prowess list --all --client installed".to_owned());
        issues.push(Issue::new(Kind::CopyDiffers, what).seen_by(see).fixed("remove or rename some first"));
    }
    issues
}

/// What is wrong about two skills of one name.
fn issue(
    examination: &Examination,
    (first, skill): (&Candidate, &Candidate),
    copy: &Copy,
    listed: &ListedBy<'_>,
    places: &RealPlaces,
) -> Option<Issue> {
    let users = listed.clients(skill);
    // A copy that gives the skill to another client is needed; one that a client lists beside the first is not.
    let is_needed = users.iter().any(|client| !is_among(client, listed.clients(first)));
    let is_same = copy.identical || copy.besides().is_some();
    if is_same && is_needed {
        return None;
    }
    let (kept, other) = (path_of(first)?, path_of(skill)?);
    let shown = ShortPaths::new().of(&kept.to_string_lossy());
    let kind = if is_same { Kind::CopyIdentical } else { Kind::CopyDiffers };
    let said = |skill: &Candidate| match listed.clients(skill) {
        [] => "no client lists".to_owned(),
        [one] => format!("{} lists", one.name),
        several => format!("{} list", names(several)),
    };
    let what = format!("{} {}, which {}; this one {}", copy.words_before(), shown, said(first), said(skill));
    let mut clients: Vec<&'static str> =
        users.iter().chain(listed.clients(first)).map(|client| client.id).collect();
    clients.sort_unstable();
    clients.dedup();
    let paths = word(kept).zip(word(other));
    let differences = paths.map(|(kept, other)| format!("diff -r {kept} {other}"));
    let issue = Issue::new(kind, what).of_skill(&skill.entry.key).at(other).for_clients(clients);
    let is_of_project = |skill: &&&Candidate| skill.entry.origin.scope == Scope::Project;
    if !is_same {
        let both = [first, skill];
        // Which of the two is right, only a person knows: no command removes or replaces one.
        let words = match both.iter().filter(is_of_project).count() {
            1 => "compare them, then make them alike, or rename one: the project has other users",
            _ => "compare them, then keep the right one and remove the other, or rename one if you need both",
        };
        return Some(issue.seen_by(differences).fixed(words));
    }
    if copy.besides().is_some() {
        let words = "keep both, or look first at what only one of them has";
        return Some(issue.seen_by(differences).fixed(words));
    }
    match Removal::of(skill, first, places, &examination.origins) {
        Removal::NoCopy(_) => None,
        Removal::Keep(why) => Some(issue.seen_by(differences).fixed(format!("keep both: {why}"))),
        Removal::Uninstall(command) => Some(issue.fixed("remove the copy").fixed_by(Some(command))),
        Removal::Delete => {
            // It may be edited before the command runs.
            let option = if folder_of(skill).is_some_and(|folder| !folder.is_symlink()) { "-r " } else { "" };
            let remove =
                differences.zip(word(other)).map(|(diff, other)| format!("{diff} && rm {option}{other}"));
            Some(issue.fixed("remove the copy").fixed_by(remove.filter(|_| folder_of(skill).is_some())))
        }
    }
}

fn is_among(client: &Client, clients: &[&'static Client]) -> bool {
    clients.iter().any(|other| other.id == client.id)
}

/// Whether two skills are one file, by links or by hard links.
fn is_same_file(one: &Candidate, other: &Candidate) -> bool {
    let real = |skill: &Candidate| std::fs::canonicalize(Path::new(skill.entry.origin.location.path()?)).ok();
    one.stamp == other.stamp && one.stamp != prowess::Stamp::default()
        || real(one).is_some_and(|path| Some(path) == real(other))
}

/// Skills that a client lists, whose descriptions find each other.
fn competing(Sighted { opened, listed, .. }: &Sighted<'_>) -> Vec<Issue> {
    let mut skills: BTreeMap<&str, &Candidate> = BTreeMap::new();
    for skill in opened.catalog.iter().filter(|skill| !skill.is_broken() && !listed.clients(skill).is_empty())
    {
        skills.entry(&skill.entry.key).or_insert(skill);
    }
    let among: Vec<&Entry> = skills.values().map(|skill| &skill.entry).collect();
    let texts = among.iter().map(|entry| (&*entry.key, Texts::of(entry, None)));
    let index = index(texts, Settings::default());
    let some = among.get(..MAX_RIVALS.min(among.len())).unwrap_or(&among);
    let mut issues = Vec::new();
    if some.len() < among.len() {
        let what =
            format!("only the first {} of {} skills were compared with the others", some.len(), among.len());
        let hint = "compare all of a folder with: prowess eval FOLDER --overlap";
        issues.push(Issue::new(Kind::SkillsCompete, what).fixed(hint));
    }
    for (one, other, share) in rivals(&index, some, CONFUSED) {
        let (Some(skill), Some(rival)) = (skills.get(one.as_str()), skills.get(other.as_str())) else {
            continue;
        };
        let percent = (share.min(1.0) * 100.0).round();
        let clients: Vec<&'static str> = listed
            .clients(skill)
            .iter()
            .filter(|client| listed.clients(rival).iter().any(|other| other.id == client.id))
            .map(|client| client.id)
            .collect();
        // Skills that no client has together do not compete.
        if clients.is_empty() {
            continue;
        }
        let what = format!("a description finds {other} with {percent} % of the score of the skill itself");
        let seen = word(Path::new(&skill.entry.description))
            .map(|_| command_for("search", &skill.entry.description, ""));
        issues.push(
            Issue::new(Kind::SkillsCompete, what)
                .of_skill(&one)
                .at(&*skill.entry.origin.location.text())
                .for_clients(clients)
                .seen_by(seen)
                .fixed(format!(
                    "say in both descriptions when to use {} and when {}, or keep one of them",
                    quoted_word(&one),
                    quoted_word(&other)
                )),
        );
    }
    issues
}
