//! `prowess list` with several clients: each skill with the clients that list it, and why the others do not.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use prowess::catalog::TurnedOffBy;
use prowess::client::Fact;
use prowess::env::Environment;
use prowess::library::views::{Reach, Views, file_of};
use prowess::{Candidate, Location, Obstacle, Standing};
use serde::Serialize;

use crate::Outcome;
use crate::args::List;
use crate::commands::hints::all_of;
use crate::commands::list::{Counts, Wanted};
use crate::commands::{Purpose, library_options, no_library};
use crate::error::{CommandError, Failure};
use crate::explain::report::{Facets, NotSeen, SkillReport};
use crate::explain::trust::trust_hint;
use crate::explain::unread::{Unread, ended, say_problems, say_unverified};
use crate::explain::{clients_named, provenance};
use crate::prompt::is_not_read;
use crate::report::json::VERSION;
use crate::ui::{Cell, Column, FAINT, ShortPaths, Table, Text, Ui, clean, count};

/// A client that lists a skill.
#[derive(Serialize)]
struct SeenBy {
    client: &'static str,
    shown_as: String,
    /// The path by which the client lists it, if that is not the one of the skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Location>,
    /// Why the client does not offer it to its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_for_model: Option<&'static str>,
    /// Whether other skills have this name, and the client does not always list the same one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    one_of_several: bool,
    /// Whether Prowess does not read it, so that this is not known for certain.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    not_read: bool,
}

/// A client that looks where a skill is and does not list it.
#[derive(Serialize)]
struct NotSeenBy {
    client: &'static str,
    #[serde(flatten)]
    why: NotSeen,
}

/// Which clients list a skill.
#[derive(Default)]
struct SkillClients {
    seen_by: Vec<SeenBy>,
    not_seen_by: Vec<NotSeenBy>,
}

/// Runs the command.
pub(super) fn run(args: &List, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    clients_named::walk_as_they_do(&args.places)?;
    if args.cost || args.sort.is_some() {
        let option = if args.cost { "--cost" } else { "--sort" };
        let error = format!("{option} is for the list of one client, since each has a prompt of its own");
        return Err(Failure::new(error, format!("leave out {option}, or name one client")).into());
    }
    let wanted = Wanted::of(args);
    let clients = clients_named::all(&args.places)?;
    let options = library_options(&args.places, Purpose::Look);
    let reach = if args.all { Reach::Everywhere } else { Reach::Clients };
    let views = Views::open(Path::new("."), &Environment::current(), &options, &clients, reach)
        .map_err(|error| no_library(&error))?;
    views.refresh().map_err(|error| Failure::new(error.to_string(), "check the folders of the clients"))?;
    let registry = views.registry();
    say_problems(&views, ui);
    let outcome = ended(Outcome::Fine, &views);
    let catalog = registry.catalog();
    // A skill that several folders link to is one skill.
    let mut by_skill: BTreeMap<SkillId<'_>, SkillClients> = BTreeMap::new();
    let mut counts = Vec::new();
    for client in &clients {
        let mut listed = 0;
        for sight in views.of(client, &catalog) {
            if is_left_out(sight.skill) || !wanted.has(sight.skill) {
                continue;
            }
            let of_skill = by_skill.entry(SkillId::of(sight.skill)).or_default();
            match sight.seen {
                Ok(seen) => {
                    listed += 1;
                    let not_for_model = seen.hidden.map(Fact::code);
                    let shown_as = seen.shown_as.into_owned();
                    of_skill.seen_by.push(SeenBy {
                        client: client.id,
                        shown_as,
                        path: Some(sight.skill.entry.origin.location.clone()),
                        not_for_model,
                        one_of_several: seen.one_of_several,
                        not_read: is_not_read(sight.skill),
                    });
                }
                Err(why) => {
                    let (code, reason, fix) = (why.code(), why.reason(), all_of(&why.hints()).to_string());
                    let why = NotSeen { code, reason, fix };
                    of_skill.not_seen_by.push(NotSeenBy { client: client.id, why });
                }
            }
        }
        let verified = client.reads().checked.is_some();
        counts.push(ClientCount { client: client.id, name: client.name, verified, skills: listed });
    }
    let (mut skills, mut untrusted, mut left_out) = (Vec::new(), Vec::<&Candidate>::new(), 0);
    for candidate in catalog.iter() {
        // A skill may be found from two folders.
        let Some(SkillClients { mut seen_by, mut not_seen_by }) = by_skill.remove(&SkillId::of(candidate))
        else {
            continue;
        };
        for seen in &mut seen_by {
            seen.path.take_if(|path| *path == candidate.entry.origin.location);
        }
        // A client that lists it by one path needs no other.
        not_seen_by.retain(|other| !seen_by.iter().any(|seen| seen.client == other.client));
        if seen_by.is_empty() && !args.all {
            left_out += 1;
            continue;
        }
        untrusted.extend(Some(candidate).filter(|skill| skill.obstacle == Some(Obstacle::Untrusted)));
        skills.push(SkillBeside {
            row: SkillReport::new(candidate, &Standing::Listed, registry, &Facets::default()),
            seen_by,
            not_seen_by,
            repeated: false,
        });
    }
    mark_repeated(&mut skills);
    if json {
        let summary =
            Counts { skills: skills.len(), left_out, left_out_at_least: registry.passed_over(), filtered: 0 };
        ui.json_of(&ClientsList {
            version: VERSION,
            clients: counts,
            skills,
            unread: Unread::all(&views),
            summary,
        })?;
        return Ok(outcome);
    }
    let columns = ui.columns();
    let mut text = rows(&skills, columns);
    let mut foot = Text::default();
    let counts: Vec<String> =
        counts.iter().map(|ClientCount { name, skills, .. }| format!("{name} {skills}")).collect();
    if !skills.is_empty() {
        foot.push("\n");
    }
    let _ = writeln!(foot, "{}: {}", count(skills.len(), "skill"), counts.join(", "));
    if !untrusted.is_empty() {
        let trust = trust_hint(untrusted.iter().copied(), registry, &provenance::origins(ui), &args.places);
        foot.push(format!("prowess serve withholds {} not trusted: ", untrusted.len()));
        foot.push(trust.text().cleaned().words("\n"));
    }
    if left_out > 0 {
        let options = args.places.options();
        // The clients may look less far than --all.
        let least = if registry.passed_over() { "at least " } else { "" };
        let all = clean(&options);
        let words = Text::from(format!("{least}{left_out} that no client lists"));
        foot.push(words.colon(format!("prowess list --all{all}")).words("\n"));
    }
    text.push_str(&foot.on(columns));
    ui.print(&text)?;
    say_unverified(clients.iter().copied(), ui);
    Ok(outcome)
}

/// What makes two paths one skill: their file, or where there is none the place itself.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum SkillId<'c> {
    File(u64, u64),
    Place(&'c Location),
}

impl<'c> SkillId<'c> {
    fn of(skill: &'c Candidate) -> Self {
        match file_of(skill) {
            Some((device, file)) => Self::File(device, file),
            None => Self::Place(&skill.entry.origin.location),
        }
    }
}

/// Whether an option of the command line leaves a skill out.
fn is_left_out(skill: &Candidate) -> bool {
    matches!(skill.obstacle, Some(Obstacle::Disabled { by: TurnedOffBy::Option(_) }))
}

/// A skill and its clients.
#[derive(Serialize)]
struct SkillBeside<'r> {
    #[serde(flatten)]
    row: SkillReport<'r>,
    seen_by: Vec<SeenBy>,
    not_seen_by: Vec<NotSeenBy>,
    /// Whether another skill has its key.
    #[serde(skip)]
    repeated: bool,
}

/// Marks skills whose key another has. They are sorted by key.
fn mark_repeated(skills: &mut [SkillBeside<'_>]) {
    for group in skills.chunk_by_mut(|one, other| one.row.key == other.row.key) {
        let repeated = group.len() > 1;
        for skill in group {
            skill.repeated = repeated;
        }
    }
}

/// What Prowess makes of a skill, and where it is if another has its name.
fn beside(SkillBeside { row, repeated, .. }: &SkillBeside<'_>, paths: &ShortPaths) -> String {
    let state = match row.state {
        "untrusted" => "  not trusted",
        "broken" if !row.not_read => "  broken",
        "disabled" => "  turned off",
        _ => "",
    };
    let path = if *repeated { format!("  {}", paths.of(&row.path.text())) } else { String::new() };
    format!("{state}{path}")
}

/// The clients that list a skill, and those that look where it is and do not.
fn clients(skill: &SkillBeside<'_>, paths: &ShortPaths) -> (String, String) {
    let SkillBeside { row, seen_by, not_seen_by, .. } = skill;
    let seen = seen_by.iter().map(|seen| {
        let name = if seen.shown_as == row.key { String::new() } else { format!(" as {}", seen.shown_as) };
        let model = if seen.not_for_model.is_some() { " (not its model)" } else { "" };
        let doubt = match seen {
            SeenBy { not_read: true, .. } => " (not read, so not known)",
            SeenBy { one_of_several: true, .. } => " (not always this one)",
            _ => "",
        };
        format!("{}{name}{model}{doubt}", seen.client)
    });
    let others: Vec<&str> = not_seen_by.iter().map(|other| other.client).collect();
    let others = if others.is_empty() { String::new() } else { format!("  not {}", others.join(", ")) };
    (seen.collect::<Vec<_>>().join(", "), others + &beside(skill, paths))
}

/// A line for each skill.
fn rows(skills: &[SkillBeside<'_>], columns: Option<usize>) -> String {
    let mut table = Table::new(vec![Column::text(""), Column::text("")]);
    let paths = ShortPaths::on(columns);
    for skill in skills {
        let (seen, others) = clients(skill, &paths);
        // In a line, the gap between two cells is enough.
        let others = if columns.is_none() && seen.is_empty() { others.trim_start() } else { &others };
        table.row(vec![Cell::strong(skill.row.key), Cell::new(&seen).and(FAINT, others)]);
    }
    table.page(columns)
}

#[derive(Serialize)]
struct ClientsList<'r> {
    version: u32,
    clients: Vec<ClientCount>,
    skills: Vec<SkillBeside<'r>>,
    unread: Vec<Unread>,
    summary: Counts,
}

/// How many skills a client lists.
#[derive(Serialize)]
struct ClientCount {
    client: &'static str,
    name: &'static str,
    /// Whether its row was compared with the client; if not, only its folders are known.
    verified: bool,
    skills: usize,
}
