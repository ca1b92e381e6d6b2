//! The text of `prowess why` about one skill.

use std::cell::LazyCell;
use std::fmt::Write as _;
use std::path::Path;

use prowess::client::{Fact, Reads};
use prowess::env::Environment;
use prowess::install::Origins;
use prowess::internal::is_forbidden;
use prowess::library::clients::{self, Client};
use prowess::library::views::same_name_fix;
use prowess::limits::{MAX_SKILL_BYTES, MAX_SKILL_FILES};
use prowess::session::Placement;
use prowess::{
    Candidate, Location, LookupError, Obstacle, Problem, Profile, Registry, Severity, Standing, check,
};

use crate::args::Places;
use crate::commands::advice::Advice;
use crate::commands::client_prompt::is_not_read;
use crate::commands::client_verdict::{said_of_client, seen_as};
use crate::commands::copies::Copy;
use crate::commands::hints::{self, check_command, command_for};
use crate::commands::in_prompt::InPrompt;
use crate::commands::needed::Needed;
use crate::commands::provenance::is_own_copy;
use crate::commands::readers::few;
use crate::commands::row::{Row, not_for_model};
use crate::commands::runs;
use crate::commands::short_path::ShortPaths;
use crate::ui::cells::width;
use crate::ui::{STRONG, clean, wrap};

/// Which clients need a copy, found out when it is asked for.
pub(super) type Needs<'n> = LazyCell<Needed, Box<dyn FnOnce() -> Needed + 'n>>;

/// What is known beside a skill.
pub(super) struct Around<'a> {
    pub(super) places: &'a Places,
    pub(super) origins: &'a Origins,
    pub(super) needed: Needs<'a>,
    /// On a terminal: its columns, and how paths are shortened.
    pub(super) screen: Option<(usize, ShortPaths)>,
}

impl Around<'_> {
    fn place(&self, place: &Location) -> String {
        let text = place.text();
        match &self.screen {
            Some((_, paths)) => clean(&paths.of(&text)).into_owned(),
            None => clean(&text).into_owned(),
        }
    }

    /// The clients that look there: a few of them on a terminal, else the ids of all.
    fn readers(&self, ids: &[&'static str]) -> String {
        match &self.screen {
            Some(_) => few(ids, &clients::installed(&Environment::current())),
            None => ids.join(", "),
        }
    }

    /// The lines of a page, broken between words where a terminal is too narrow. A command stays whole.
    pub(super) fn fitted(&self, text: &str) -> String {
        let Some((columns, _)) = &self.screen else { return text.to_owned() };
        let mut lines = String::new();
        for line in text.lines() {
            match line.strip_prefix("  ") {
                Some(rest) if width(line) > *columns => {
                    let at = rest.find("prowess ").unwrap_or(rest.len());
                    let (words, command) = rest.split_at(at);
                    let whole = format!("{words}{}", command.replace(' ', "\u{1}"));
                    let broken = wrap(&whole, columns.saturating_sub(4), "    ").replace('\u{1}', " ");
                    // The first line is not further in than the others of the page.
                    lines.push_str(broken.strip_prefix("  ").unwrap_or(&broken));
                }
                _ => {
                    lines.push_str(line);
                    lines.push('\n');
                }
            }
        }
        lines
    }
}

/// The files of a skill that agents do not get, and limits that it exceeds.
pub(super) fn about_files(registry: &Registry, candidate: &Candidate) -> Vec<String> {
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
pub(super) fn page(
    text: &mut String,
    candidate: &Candidate,
    standing: &Standing,
    registry: &Registry,
    place: Option<InPrompt>,
    copy: Option<Copy>,
    around: &Around<'_>,
) {
    let Around { places, origins, needed, .. } = around;
    let entry = &candidate.entry;
    let row = Row::new(candidate, standing, registry);
    let of_client = registry.client().map(|client| {
        let said = said_of_client(client, candidate, standing, registry);
        let cut = place.is_some_and(|InPrompt(place)| place == Placement::OverBudget);
        if cut { format!("{said}, but has no room for it in its prompt") } else { said }
    });
    let verdict = match row.state {
        _ if of_client.is_some() => of_client.as_deref().unwrap_or_default(),
        "active" => place.map_or("offered", InPrompt::verdict),
        "untrusted" if row.changed_since_trusted => "listed, not trusted: it changed since it was trusted",
        "untrusted" => "listed, not trusted",
        "disabled" => "turned off",
        other => other,
    };
    let _ = writeln!(text, "{STRONG}{}{STRONG:#}: {verdict}", clean(&entry.key));
    let known = *standing == Standing::Listed && !is_not_read(candidate);
    if let Some(client) = registry.client().filter(|_| known) {
        let _ = writeln!(text, "  seen as: {}", clean(&seen_as(client, candidate)));
    }
    let _ = writeln!(text, "  found: {}", around.place(&entry.origin.location));
    for place in &candidate.also_at {
        let _ = writeln!(text, "  also at: {}", around.place(place));
    }
    let _ = writeln!(text, "  path for filters: {}", clean(&candidate.virtual_path));
    // A client that looks there need not list it.
    if !candidate.readers.is_empty() && registry.client().is_none() {
        let _ = writeln!(text, "  clients that look there: {}", around.readers(&candidate.readers));
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
        let (severity, code) = (severity(problem).name(), problem.code);
        let who = runs::who(code, registry.client()).map(|who| format!("; {who}")).unwrap_or_default();
        let _ = writeln!(text, "  {severity}[{code}]: {}{who}", clean(&problem.message));
    }
    if entry.repaired {
        text.push_str("  parsed: after a repair of its YAML");
        if let Some(path) = entry.origin.location.path().filter(|path| Path::new(path).is_file()) {
            let _ = write!(text, "; see what is wrong with: {}", clean(&check_command(path, None)));
        }
        text.push('\n');
    }
    match standing {
        Standing::Shadowed { by } => {
            let _ = writeln!(text, "  shadowed by: {}", around.place(by));
            if let Some(copy) = &copy {
                let _ = writeln!(text, "  compared with it: {}", copy.words());
            }
            let hint = if is_own_copy(candidate, by, origins) {
                "nothing is wrong: prowess made this copy for clients".to_owned()
            } else {
                let fix = same_name_fix(&registry.client().map_or(Reads::UNKNOWN, Client::reads));
                needed.hint(candidate, by, copy.as_ref(), (&registry.catalog(), origins), fix)
            };
            let _ = writeln!(text, "  hint: {hint}");
        }
        Standing::Blocked { obstacle: Obstacle::Disabled { by } } => {
            let _ = writeln!(text, "  turned off by: {}", clean(&by.to_string()));
            let error = LookupError::not_offered(&entry.key, candidate, standing.clone());
            let _ = writeln!(text, "  hint: {}", hints::of_lookup(&error, ""));
        }
        Standing::Blocked { obstacle: Obstacle::Broken { problems, profile } } => {
            if let Some(profile) = profile {
                let _ = writeln!(text, "  judged by the profile: {}", profile.name());
            }
            for problem in problems {
                let _ = writeln!(
                    text,
                    "  {}[{}]: {}",
                    problem.severity.name(),
                    problem.code,
                    clean(&problem.message)
                );
            }
            // A skill in an archive or on a server is not a file that can be checked.
            let path = entry.origin.location.path().filter(|path| Path::new(path).is_file());
            if path.is_some_and(|path| is_forbidden(Path::new(path))) {
                text.push_str("  hint: make the file readable for this user\n");
            } else if let Some(path) = path {
                let check = check_command(path, *profile);
                let _ = writeln!(text, "  hint: see how to correct it with: {}", clean(&check));
            }
        }
        Standing::Unseen { fix, .. } if !fix.is_empty() => {
            let _ = writeln!(text, "  hint: {}", clean(&hints::with_commands(fix)));
        }
        Standing::Listed => {
            let of_client = is_not_read(candidate).then_some(Fact::NotRead);
            if let Some(fact) = of_client.or_else(|| not_for_model(candidate, registry)) {
                let _ = writeln!(text, "  hint: {}", fact.fix());
            }
        }
        Standing::Unseen { .. } | Standing::Blocked { obstacle: Obstacle::Untrusted } => {}
    }
    let trust = |name: &str| command_for("trust", name, &places.options());
    let _ = match Advice::on(candidate, registry, &registry.catalog()) {
        // What the client does not list is not served with it, trusted or not.
        Some(Advice::Trust(_)) if matches!(standing, Standing::Unseen { .. }) => Ok(()),
        Some(Advice::Trust(name)) if registry.client().is_some() => {
            writeln!(text, "  prowess: not trusted, so it does not serve it before: {}", clean(&trust(&name)))
        }
        Some(Advice::Trust(name)) if *standing == Standing::Listed => {
            writeln!(text, "  hint: agents may use it after: {}", clean(&trust(&name)))
        }
        Some(Advice::Trust(name)) => {
            writeln!(text, "  hint: it is not trusted; {}", clean(&trust(&name)))
        }
        Some(Advice::Behind) => {
            writeln!(text, "  not trusted, and trust would not help: the other one keeps the key")
        }
        Some(Advice::Never(reason)) => writeln!(text, "  it cannot be trusted: {}", clean(&reason)),
        None => Ok(()),
    };
}
