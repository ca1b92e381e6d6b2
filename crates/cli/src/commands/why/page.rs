//! The text of `prowess why` about one skill.

use std::cell::LazyCell;
use std::fmt::Write as _;
use std::path::Path;

use prowess::client::{Fact, Reads};
use prowess::env::Environment;
use prowess::install::Origins;
use prowess::internal::is_forbidden;
use prowess::library::clients::{self, Client};
use prowess::library::views;
use prowess::limits::{MAX_SKILL_BYTES, MAX_SKILL_FILES};
use prowess::session::Placement;
use prowess::{
    Candidate, Location, LookupError, Obstacle, Problem, Profile, Registry, Severity, Standing, check,
};

use crate::args::Places;
use crate::commands::hints;
use crate::explain::clients_named::{self, few_of, said_of_client, seen_as};
use crate::explain::needed::Needed;
use crate::explain::provenance::{Provenance, is_own_copy};
use crate::explain::report::{Brief, SkillReport};
use crate::explain::trust::Advice;
use crate::prompt::asked::verdict;
use crate::prompt::{is_not_read, not_for_model};
use crate::ui::command::{check_command, command_for};
use crate::ui::{STRONG, ShortPaths, Text, clean};

/// Which clients need a copy, found out when it is asked for.
pub(super) type Needs<'n> = LazyCell<Needed, Box<dyn FnOnce() -> Needed + 'n>>;

/// What is known beside a skill.
pub(super) struct PageContext<'a> {
    pub(super) places: &'a Places,
    pub(super) origins: &'a Origins,
    pub(super) registry: &'a Registry,
    pub(super) needed: Needs<'a>,
    /// The columns of a terminal.
    pub(super) columns: Option<usize>,
    pub(super) paths: ShortPaths,
}

impl PageContext<'_> {
    fn place(&self, place: &Location) -> String {
        clean(&self.paths.of(&place.text())).into_owned()
    }

    /// The clients that look there: a few of them on a terminal, else the ids of all.
    fn readers(&self, ids: &[&'static str]) -> String {
        match self.columns {
            Some(_) => few_of(ids, &clients::installed(&Environment::current())),
            None => ids.join(", "),
        }
    }

    /// The lines of a page, broken between words where a terminal is too narrow. A command stays whole.
    pub(super) fn fitted(&self, text: &Text) -> String {
        self.columns.map_or_else(|| text.to_string(), |columns| text.fitted(columns))
    }
}

/// The files of a skill that agents do not get, and limits that it exceeds.
fn about_files(registry: &Registry, candidate: &Candidate) -> Vec<String> {
    let Ok(files) = registry.files_of(candidate) else { return Vec::new() };
    let mut said: Vec<String> = files
        .left_out
        .iter()
        .take(5)
        .map(|left| format!("left out: {}: {}", clean(&left.path), clean(&left.reason)))
        .collect();
    if files.left_out.len() > 5 {
        said.push(format!("left out: {} more; prowess show names them", files.left_out.len() - 5));
    }
    let (count, size) = (files.files.len(), files.total_size());
    if count > MAX_SKILL_FILES || size > MAX_SKILL_BYTES {
        let least = if files.incomplete { "at least " } else { "" };
        said.push(format!(
            "too large for some MCP hosts: {least}{count} files and {size} bytes, where they need not take more than \
             {MAX_SKILL_FILES} files and {MAX_SKILL_BYTES} bytes"
        ));
    }
    said
}

/// How severe `check` and `show` call a problem of a skill that loads. The registry judges leniently.
fn severity(problem: &Problem) -> Severity {
    let rule = check::rules().find(|rule| rule.code == problem.code);
    let level = rule.map(|rule| Profile::spec().level(rule));
    level.and_then(Severity::from_level).unwrap_or(problem.severity)
}

/// Writes what is known about a skill.
pub(super) fn page(text: &mut Text, report: &SkillReport<'_>, context: &PageContext<'_>) {
    let PageContext { places, origins, registry, needed, .. } = context;
    let SkillReport { skill: candidate, standing, .. } = *report;
    let placement = report.in_prompt.as_ref().map(|in_prompt| in_prompt.placement);
    let words = report.in_prompt.as_ref().and_then(|in_prompt| in_prompt.words.clone());
    let entry = &candidate.entry;
    let of_client = registry.client().map(|client| {
        let said = said_of_client(client, candidate, standing, registry);
        if placement == Some(Placement::OverBudget) {
            format!("{said}, but has no room for it in its prompt")
        } else {
            said
        }
    });
    let verdict = match report.state {
        _ if of_client.is_some() => of_client.as_deref().unwrap_or_default(),
        "active" => placement.map_or("offered", verdict),
        "untrusted" if report.changed_since_trusted => "listed, not trusted: it changed since it was trusted",
        "untrusted" => "listed, not trusted",
        "disabled" => "turned off",
        other => other,
    };
    let _ = writeln!(text, "{STRONG}{}{STRONG:#}: {verdict}", clean(&entry.key));
    let known = *standing == Standing::Listed && !is_not_read(candidate);
    if let Some(client) = registry.client().filter(|_| known) {
        let _ = writeln!(text, "  seen as: {}", clean(&seen_as(client, candidate)));
    }
    let _ = writeln!(text, "  found: {}", context.place(&entry.origin.location));
    for place in &candidate.also_at {
        let _ = writeln!(text, "  also at: {}", context.place(place));
    }
    let _ = writeln!(text, "  path for filters: {}", clean(&candidate.virtual_path));
    // A client that looks there need not list it.
    if !candidate.readers.is_empty() && registry.client().is_none() {
        let _ = writeln!(text, "  clients that look there: {}", context.readers(&candidate.readers));
    }
    // What a client lists may be broken here.
    let standing = &match (standing, &candidate.obstacle) {
        (Standing::Listed, Some(obstacle)) if *obstacle != Obstacle::Untrusted && !is_not_read(candidate) => {
            let _ = writeln!(text, "  prowess: {}, so it does not serve it", obstacle.why_not().state);
            Standing::Blocked { obstacle: obstacle.clone() }
        }
        (standing, _) => standing.clone(),
    };
    let broken: &[Problem] = match standing {
        Standing::Blocked { obstacle: Obstacle::Broken { problems, .. } } => problems,
        _ => &[],
    };
    // The problems that break it come below, with their own severity.
    let breaks = |problem: &&Problem| broken.iter().any(|other| other.code == problem.code);
    let others = candidate.problems.iter().flat_map(|problems| problems.iter());
    for problem in others.filter(|problem| !breaks(problem)) {
        let who = clients_named::who_runs(problem.code, registry.client());
        let who = who.map(|who| format!("; {who}")).unwrap_or_default();
        let _ = writeln!(text, "  {}{who}", Brief::of(problem, severity(problem)));
    }
    if entry.repaired {
        let path = entry.origin.location.path().filter(|path| Path::new(path).is_file());
        let parsed = Text::from("after a repair of its YAML");
        line(
            text,
            "parsed",
            match path {
                Some(path) => parsed.words("; see what is wrong").with(check_command(path, None)),
                None => parsed,
            },
        );
    }
    match standing {
        Standing::Shadowed { by } => {
            let _ = writeln!(text, "  shadowed by: {}", context.place(by));
            if let Some(copy) = &report.copy {
                let _ = writeln!(text, "  compared with it: {}", copy.words());
            }
            let hint = if is_own_copy(candidate, by, origins) {
                "nothing is wrong: prowess made this copy for clients".into()
            } else {
                let reads = registry.client().map_or(Reads::UNKNOWN, Client::reads);
                needed.hint(candidate, by, report.copy.as_ref(), (&registry.catalog(), origins), &reads)
            };
            line(text, "hint", hint);
        }
        Standing::Blocked { obstacle: Obstacle::Disabled { by } } => {
            let _ = writeln!(text, "  turned off by: {}", clean(&by.to_string()));
            let error = LookupError::not_offered(&entry.key, candidate, standing.clone());
            line(text, "hint", hints::of(&error.hint(), "", None).text);
        }
        Standing::Blocked { obstacle: Obstacle::Broken { problems, profile } } => {
            if let Some(profile) = profile {
                let _ = writeln!(text, "  judged by the profile: {}", profile.name());
            }
            for problem in problems {
                let _ = writeln!(text, "  {}", Brief::of(problem, problem.severity));
            }
            // A skill in an archive or on a server is not a file that can be checked.
            let path = entry.origin.location.path().filter(|path| Path::new(path).is_file());
            if path.is_some_and(|path| is_forbidden(Path::new(path))) {
                line(text, "hint", "make the file readable for this user".into());
            } else if let Some(path) = path {
                line(text, "hint", Text::from("see how to correct it").with(check_command(path, *profile)));
            }
        }
        Standing::Unseen { why, .. } => {
            let reads = registry.client().map_or(Reads::UNKNOWN, Client::reads);
            line(text, "hint", hints::all_of(&views::hints(*why, &reads)));
        }
        Standing::Listed => {
            let of_client = is_not_read(candidate).then_some(Fact::NotRead);
            if let Some(fact) = of_client.or_else(|| not_for_model(candidate, registry)) {
                line(text, "hint", fact.fix().into());
            }
        }
        Standing::Blocked { obstacle: Obstacle::Untrusted } => {}
    }
    let trust = |name: &str| command_for("trust", name, &places.options());
    match Advice::on(candidate, registry, &registry.catalog()) {
        // What the client does not list is not served with it, trusted or not.
        Some(Advice::Trust(_)) if matches!(standing, Standing::Unseen { .. }) => {}
        Some(Advice::Trust(name)) if registry.client().is_some() => {
            line(
                text,
                "prowess",
                Text::from("not trusted, so it does not serve it before").colon(trust(&name)),
            );
        }
        Some(Advice::Trust(name)) if *standing == Standing::Listed => {
            line(text, "hint", Text::from("agents may use it after").colon(trust(&name)));
        }
        Some(Advice::Trust(name)) => {
            line(text, "hint", Text::from("it is not trusted; ").command(trust(&name)));
        }
        Some(Advice::Behind) => {
            line(text, "not trusted, and trust would not help", "the other one keeps the key".into());
        }
        Some(Advice::Never(reason)) => line(text, "it cannot be trusted", reason.into()),
        None => {}
    }
    let ranked = report.ranked.iter().flat_map(|ranked| ranked.lines(report.ranked_in_prompts.as_ref()));
    let notes = report.description_notes.iter().map(ToString::to_string);
    for line in ranked.map(|line| clean(&line).into_owned()).chain(notes).chain(words) {
        let _ = writeln!(text, "  {line}");
    }
    if let Some(reason) = &report.not_published {
        let reason = clean(reason);
        let _ = writeln!(text, "  not in the list of skills over MCP: {reason}; its tools offer it");
    }
    for line in report.installed.iter().flat_map(Provenance::lines) {
        text.push(Text::from("  ").and(line.cleaned()).words("\n"));
    }
    for line in about_files(registry, candidate) {
        let _ = writeln!(text, "  {line}");
    }
}

/// Writes a line of a page.
fn line(page: &mut Text, what: &str, text: Text) {
    page.push(format!("  {what}: "));
    page.push(text.cleaned());
    page.push("\n");
}
