//! Skills that agents do not get: broken ones, those that a client ignores, and those in folders that no client reads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use prowess::client::{Fact, Facts, NotListed};
use prowess::install::InstalledOrigin;
use prowess::internal::{ParsedLimits, is_forbidden, serves_all};
use prowess::library::clients::{self, Client};
use prowess::library::views::{NotSeen, Sight};
use prowess::{Candidate, Location, Obstacle, Profile, Severity, SkillFile, Standing};
use prowess_mcp::ConfigOwner;

use super::super::hints::{all_of, making_readable};
use super::examination::{Examination, Sighted, names, path_of, stays};
use super::installed::{Compared, mending};
use super::issue::{Bounded, Issue, Kind, Repair};
use super::moves;
use super::repair::{SafeFix, safe_fix};
use crate::explain::clients_named::few_of;
use crate::ui::command::{check_command, word};
use crate::ui::count;

/// What the author of a skill asks for.
const AS_ASKED: Facts = Facts::of(&[
    Fact::Disabled,
    Fact::Internal,
    Fact::OtherPlatform,
    Fact::NoModel,
    Fact::Paths,
    Fact::NotImplicit,
]);
/// Where a SKILL.md is usually part of something else.
const PART_OF_OTHERS: Facts =
    Facts::of(&[Fact::InsideSkill, Fact::InModules, Fact::BelowHidden, Fact::HiddenFolder]);
/// The most files that are read again to see what a fix would do.
const MAX_FIXES: usize = 200;

/// All of them.
pub(super) fn issues(sighted: &Sighted<'_>, compared: &Compared) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut fixes = 0..MAX_FIXES;
    let mut try_fix = |skill: &Candidate| {
        skill.entry.origin.location.path()?;
        fixes.next()?;
        safe_fix(&file_of(skill, sighted.examination))
    };
    let broken = broken(sighted, compared, &mut try_fix, &mut issues);
    ignored(sighted, compared, &mut try_fix, &mut issues);
    unseen(sighted, &broken, &mut issues);
    issues
}

/// Broken skills in folders of the clients, and in those of all clients together. Returns their places.
fn broken<'o>(
    Sighted { examination, opened, .. }: &Sighted<'o>,
    compared: &Compared,
    try_fix: &mut dyn FnMut(&Candidate) -> Option<SafeFix>,
    issues: &mut Vec<Issue>,
) -> BTreeSet<&'o Location> {
    let mut places = BTreeSet::new();
    let others = opened.all.all().filter(|_| !examination.named);
    for (skill, _) in opened.catalog.all().chain(others) {
        let Some(Obstacle::Broken { problems, profile }) = &skill.obstacle else { continue };
        let facts = skill.sighting.unwrap_or_default().facts;
        if !facts.common(PART_OF_OTHERS).is_empty() || !places.insert(&skill.entry.origin.location) {
            continue;
        }
        let mut errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
        let first = errors.next().map_or("it cannot be read", |problem| problem.message.as_str());
        let more = match errors.count() {
            0 => String::new(),
            more => format!(", and {}", count(more, "more problem")),
        };
        let place = skill.entry.origin.location.text();
        let here: Vec<&'static str> = examination
            .clients
            .iter()
            .map(|client| client.id)
            .filter(|id| skill.readers.contains(id))
            .collect();
        let issue = Issue::new(Kind::SkillBroken, format!("{first}{more}"))
            .of_skill(&skill.entry.key)
            .at(&*place)
            .for_clients(here);
        let loads = |fix: &SafeFix| {
            let origin = SkillFile { path: Path::new(&*place).to_owned() }.origin();
            fix.document.load(&origin, None, &Profile::lenient()).is_ok()
        };
        let file = word(Path::new(&*place));
        let check = file.is_some().then(|| check_command(&place, *profile));
        issues.push(mended(issue, skill, (examination, compared), check, || {
            try_fix(skill).as_ref().is_some_and(loads)
        }));
    }
    places
}

/// Completes the issue of a skill whose text is wrong: by the safe fixes of `check` if they are enough.
fn mended(
    issue: Issue,
    skill: &Candidate,
    (examination, compared): (&Examination, &Compared),
    check: Option<String>,
    is_enough: impl FnOnce() -> bool,
) -> Issue {
    let file = Path::new(skill.entry.origin.location.path().unwrap_or_default());
    let check = check.filter(|_| file.is_file());
    if is_forbidden(file) {
        let (words, command) = making_readable(file);
        return issue.fixed(words).fixed_by(command);
    }
    if let Some(origin) = examination.origins.of(skill) {
        let (words, command) = mending(compared, origin);
        return issue.seen_by(check).fixed(words).fixed_by(command);
    }
    if !file.is_file() {
        return issue.fixed("it is not a file that can be read: put a SKILL.md in its place");
    }
    match word(file).filter(|_| is_enough()) {
        Some(file) => issue.repaired(
            Repair::Check(file_of(skill, examination)),
            Some(format!("prowess check --fix {file}")),
        ),
        None => issue.seen_by(check).fixed("edit its SKILL.md; the check shows the lines"),
    }
}

/// The SKILL.md of a skill, and the folder that a fix of it must not lead out of.
fn file_of(skill: &Candidate, examination: &Examination) -> Bounded {
    let path = skill.entry.origin.location.path().unwrap_or_default().into();
    Bounded { path, within: examination.bounds(skill.entry.origin.scope) }
}

/// A skill that clients ignore.
struct Ignored<'o> {
    skill: &'o Candidate,
    by: Vec<(&'static Client, NotSeen<'o>)>,
}

/// Skills that load, in a folder of a client that does not list them.
fn ignored<'o>(
    Sighted { examination, sights, listed, .. }: &Sighted<'o>,
    compared: &Compared,
    try_fix: &mut dyn FnMut(&Candidate) -> Option<SafeFix>,
    issues: &mut Vec<Issue>,
) {
    let mut by_place: BTreeMap<&Location, Ignored<'o>> = BTreeMap::new();
    for (client, sights) in sights {
        for Sight { skill, seen, .. } in sights {
            let Err(why) = seen else { continue };
            let facts = skill.sighting.unwrap_or_default().facts;
            let is_reported = match why.why {
                NotListed::TooDeep { .. } => true,
                NotListed::Refused(refused) => refused.common(AS_ASKED).is_empty(),
                _ => false,
            };
            if is_reported && !skill.is_broken() && facts.common(PART_OF_OTHERS).is_empty() {
                let ignored = by_place.entry(&skill.entry.origin.location);
                let ignored = ignored.or_insert_with(|| Ignored { skill, by: Vec::new() });
                ignored.by.push((client, why.clone()));
            }
        }
    }
    let mut taken = BTreeSet::new();
    for Ignored { skill, by } in by_place.into_values() {
        let (mut refused, mut too_deep) = (Facts::NONE, false);
        let mut reasons: Vec<(String, Vec<&'static Client>)> = Vec::new();
        for (client, why) in &by {
            match why.why {
                NotListed::Refused(facts) => refused = refused.and(facts),
                _ => too_deep = true,
            }
            let reason = why.reason();
            match reasons.iter_mut().find(|(other, _)| *other == reason) {
                Some((_, clients)) => clients.push(client),
                None => reasons.push((reason, vec![client])),
            }
        }
        let verb = |clients: &[&Client]| if clients.len() == 1 { "ignores" } else { "ignore" };
        let reasons: Vec<String> = reasons
            .iter()
            .map(|(reason, clients)| format!("{} {} it: {reason}", names(clients), verb(clients)))
            .collect();
        let others = match listed.clients(skill) {
            [] => String::new(),
            [one] => format!("; {} lists it", one.name),
            several => format!("; {} list it", names(several)),
        };
        let place = skill.entry.origin.location.text();
        let issue = Issue::new(Kind::SkillIgnored, format!("{}{others}", reasons.join("; ")))
            .of_skill(&skill.entry.key)
            .at(&*place)
            .for_clients(by.iter().map(|(client, _)| client.id).collect());
        let installed = examination.origins.of(skill).is_some();
        // What a link of a project leads to is not copied into it.
        let Bounded { path, within } = file_of(skill, examination);
        let may_move = !installed && stays(&path, within.as_deref());
        let command = may_move.then(|| moves::placing(skill, refused, too_deep, &mut taken)).flatten();
        if command.is_some() {
            issues.push(issue.fixed_by(command));
            continue;
        }
        let mut words: Vec<String> = by.iter().map(|(_, why)| all_of(&why.hints()).to_string()).collect();
        words.sort();
        words.dedup();
        let check = word(Path::new(&*place)).map(|_| check_command(&place, None));
        let resolves =
            || !too_deep && try_fix(skill).is_some_and(|fix| fix.facts(skill).common(refused).is_empty());
        let mut issue = mended(issue, skill, (examination, compared), check, resolves);
        if !issue.fix.safe && !installed {
            issue = issue.fixed(words.join("; "));
        }
        issues.push(issue);
    }
}

/// Whether a client here starts a server that has every skill which it does not read by itself.
fn is_connected(examination: &Examination) -> bool {
    let configs = prowess_mcp::CLIENT_CONFIGS
        .iter()
        .filter(|config| examination.clients.iter().any(|client| client.id == config.name));
    configs.into_iter().any(|config| {
        [ConfigOwner::User, ConfigOwner::Project].into_iter().any(|owner| {
            let file = config.file(owner, clients::project(&examination.here), &examination.environment);
            let limits = match owner {
                ConfigOwner::User => ParsedLimits::USER,
                ConfigOwner::Project => ParsedLimits::PROJECT,
            };
            let bytes = file.and_then(|file| limits.read(&file).ok());
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
            let entry = config.format.entry(&text, config.path()).ok().flatten();
            entry.is_some_and(|entry| serves_all(&entry))
        })
    })
}

/// The real file that an installed skill comes from, if that is on this machine.
fn source_file(origin: &InstalledOrigin) -> Option<PathBuf> {
    let source = origin.locked.source_folder(origin.scope, &origin.path)?;
    std::fs::canonicalize(source.join("SKILL.md")).ok()
}

/// Skills in folders that some client would read, but none that is here.
fn unseen(sighted: &Sighted<'_>, broken: &BTreeSet<&Location>, issues: &mut Vec<Issue>) {
    let Sighted { examination, opened, listed, .. } = sighted;
    if examination.named || examination.clients.is_empty() || is_connected(examination) {
        return;
    }
    // A skill in a folder of a client here is listed, or it was said why not.
    let mut known: BTreeSet<&Location> = broken.clone();
    known.extend(sighted.all().map(|sight| &sight.skill.entry.origin.location));
    let mut real_files = None;
    for (skill, standing) in opened.all.all() {
        let place = &skill.entry.origin.location;
        let is_off = matches!(skill.obstacle, Some(Obstacle::Disabled { .. } | Obstacle::Broken { .. }));
        let is_known = || known.contains(place) || skill.also_at.iter().any(|place| known.contains(place));
        if skill.readers.is_empty() || is_off || matches!(standing, Standing::Unseen { .. }) || is_known() {
            continue;
        }
        let Some(path) = path_of(skill) else { continue };
        let real = std::fs::canonicalize(place.path().unwrap_or_default());
        // It may be listed through a link.
        let real_files = real_files.get_or_insert_with(|| listed.real_files());
        let source = examination.origins.of(skill).and_then(source_file);
        // A client may also list the folder that it was installed from.
        if real.into_iter().chain(source).any(|real| real_files.contains(&real)) {
            continue;
        }
        let what = format!("no client here reads its folder; {} would", few_of(&skill.readers, &[]));
        let issue = Issue::new(Kind::SkillUnseen, what).of_skill(&skill.entry.key).at(path);
        issues.push(match moves::linking(skill, examination) {
            Some((client, command)) => {
                let has_server = prowess_mcp::CLIENT_CONFIGS.iter().any(|config| config.name == client.id);
                let serve = format!(", or serve it over MCP with: prowess connect {} --write", client.id);
                let or = if has_server { serve.as_str() } else { "" };
                issue.fixed(format!("give it to {}{or}", client.name)).fixed_by(Some(command))
            }
            None => issue.fixed(format!(
                "put it into a folder that one of these reads: {}",
                names(&examination.clients)
            )),
        });
    }
}
