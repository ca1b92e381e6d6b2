//! `prowess show`: how one skill is read.

use std::fmt::Write as _;
use std::path::Path;

use prowess::finding::Preset;
use prowess::fs::read::{self, Head};
use prowess::install::{Preview, upstream_name};
use prowess::internal::{preview_of_found, preview_of_text};
use prowess::limits::MAX_FILE_BYTES;
use prowess::{
    Candidate, Document, Entry, FileKind, LineIndex, LookupError, Manifest, Obstacle, Origin, Problem,
    Profile, Severity, SkillFile, SourceError, SourceErrorKind, SourceSpec, Standing, ToolList,
};
use serde_json::{Map, Value, json};

use super::install::preview_lines;
use super::skill_arg::{Prefer, Resolved, SkillArg};
use super::{STDIN, not_a_skill, read_skill, registry, shown, skill_file};
use crate::Outcome;
use crate::args::{Places, Scan, Show};
use crate::error::{CommandError, Failure};
use crate::explain::missing::built_in;
use crate::explain::report::Brief;
use crate::explain::unread::{answered, say_beside, say_problems};
use crate::report::json::{VERSION, brief};
use crate::ui::command::{check_command, command_for};
use crate::ui::{self, STRONG, Ui, clean, count, size, wrap};

/// The most bytes of a skill that are read for what it can do.
const MAX_PREVIEW_BYTES: u64 = 256 << 20;
/// The most files of a kind that are named.
const MAX_LINES: usize = 20;
/// The width of the card.
const WIDTH: usize = 80;

/// Everything that is known about the skill.
struct Card {
    path: String,
    document: Document,
    entry: Entry,
    loads: bool,
    /// The command that shows its problems, if `prowess check` can be given it.
    check: Option<String>,
    problems: Vec<Problem>,
    profile: &'static str,
    /// The strict profile by which it is broken, although it loads.
    strict: Option<Preset>,
    files: Option<Manifest>,
    /// What it could do, as before an installation.
    preview: Preview,
}

/// Runs the command.
pub(crate) fn run(args: &Show, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let FoundSkill { head, path, origin, files, note, strict, complete, preview } = read(args, ui)?;
    let fine = if complete { Outcome::Fine } else { Outcome::Incomplete };
    let document = head.document();
    if args.body || args.raw {
        if !head.is_whole() || head.bytes.len() > MAX_FILE_BYTES {
            let limit = MAX_FILE_BYTES as u64;
            return Err(SourceErrorKind::TooLarge { size: head.size, limit }.at(path).into());
        }
        let from = if args.body { document.body_offset() } else { 0 };
        ui.raw(head.bytes.get(from..).unwrap_or(&[]))?;
        return Ok(fine);
    }
    let files = match files.transpose() {
        Ok(files) => files,
        Err(error) => {
            ui.failure(&Failure::from(&error));
            None
        }
    };
    let has_file = origin.location.path().is_some() || !origin.location.is_place();
    let preset = args.profile.or(strict).unwrap_or(Preset::Spec);
    let profile = Profile::new(preset);
    let card = Card {
        check: has_file.then(|| {
            // What was given names the same file for `check`, except for a skill of another place.
            let given =
                if listed_elsewhere(args) { path.as_str().into() } else { args.path.to_string_lossy() };
            if given == STDIN {
                "prowess check -".to_owned()
            } else {
                check_command(&given, args.profile.or(strict))
            }
        }),
        path,
        entry: document.entry(&origin),
        loads: document.skill(&origin).is_some(),
        problems: profile.check(&document, files.as_ref(), &as_its_author(&origin)),
        profile: preset.name(),
        strict,
        preview: preview.unwrap_or_else(|| preview_of_text(&head.bytes)),
        document,
        files,
    };
    if json {
        ui.json(&card.json())?;
    } else {
        ui.print(&card.text())?;
        if let Some(note) = note {
            ui.note(&note);
        }
    }
    Ok(if card.loads && strict.is_none() || !complete { fine } else { Outcome::Problems })
}

/// Whether the skill is looked for in places that were named.
fn listed_elsewhere(args: &Show) -> bool {
    !args.places.sources.is_empty() || !args.places.clients.is_empty()
}

/// The origin of a skill that was installed under another name, in the folder that its author gave it.
fn as_its_author(origin: &Origin) -> Origin {
    let name = origin.location.path().and_then(|file| upstream_name(Path::new(file)));
    let mut origin = origin.clone();
    origin.folder = name.or(origin.folder);
    origin
}

/// The bytes that are shown, their origin, and the files beside them.
struct FoundSkill {
    head: Head,
    path: String,
    origin: Origin,
    files: Option<Result<Manifest, SourceError>>,
    /// Why agents are not offered it or may not use it.
    note: Option<String>,
    /// The strict profile by which it is broken, although it loads.
    strict: Option<Preset>,
    /// Whether everything that was asked for could be read.
    complete: bool,
    /// What it could do, by all its files.
    preview: Option<Preview>,
}

impl FoundSkill {
    fn of(head: Head, path: String, origin: Origin, files: Option<Result<Manifest, SourceError>>) -> Self {
        Self { head, path, origin, files, note: None, strict: None, complete: true, preview: None }
    }
}

fn read(args: &Show, ui: &mut Ui) -> Result<FoundSkill, CommandError> {
    // With `--in`, a name means a skill that is listed there, even if this folder has a file of that name.
    let arg = SkillArg::read(&args.path, if listed_elsewhere(args) { Prefer::Name } else { Prefer::Path });
    let path = match arg {
        SkillArg::Stdin => {
            let head = Head::whole(ui::read_input(MAX_FILE_BYTES)?);
            let label = "<stdin>".to_owned();
            let origin = Origin::text(&*label);
            return Ok(FoundSkill::of(head, label, origin, None));
        }
        SkillArg::Name(_) | SkillArg::Location(_) => return listed(&arg, args, ui),
        SkillArg::Path(path) => path,
    };
    let path = if path.is_dir() {
        match skill_file(path) {
            Some(file) => file,
            None => {
                // A folder that cannot be listed is another error than one without a skill.
                std::fs::read_dir(path).map_err(|error| SourceError::io(path, error))?;
                let error = format!("there is no SKILL.md in this folder: {}", shown(path));
                return Err(Failure::new(error, "give the folder of one skill, or its SKILL.md").into());
            }
        }
    } else if let Some(failure) = not_a_skill(path) {
        return Err(failure.into());
    } else {
        path.to_owned()
    };
    let head = read_skill(&path)?;
    let found = SkillFile { path };
    let files = read::list(found.folder()).map(|listing| listing.manifest);
    let preview = preview_at(&found).filter(|_| !(args.body || args.raw));
    Ok(FoundSkill { preview, ..FoundSkill::of(head, shown(&found.path), found.origin(), Some(files)) })
}

/// What the skill with this file could do, by all its files.
fn preview_at(file: &SkillFile) -> Option<Preview> {
    // Only the skill itself: what is inside its folder are its files.
    let scan = Scan { depth: Some(0), ..Scan::default() };
    let places = Places { sources: vec![SourceSpec::dir(file.folder())], scan, ..Places::default() };
    let registry = registry(&places).ok()?;
    let catalog = registry.catalog();
    let (skill, _) = SkillArg::Path(&file.path).matching(&catalog).into_iter().next()?;
    Some(preview_of_found(&registry, skill, &[], &mut { MAX_PREVIEW_BYTES }))
}

/// The skill of this name among those that are found, read through its own source.
fn listed(arg: &SkillArg<'_>, args: &Show, ui: &mut Ui) -> Result<FoundSkill, CommandError> {
    let (places, name) = (&args.places, &*args.path.to_string_lossy());
    let registry = registry(places)?;
    let catalog = registry.catalog();
    // A skill that is broken or hidden can be shown too.
    let (candidate, standing) = match arg.resolve(&catalog) {
        Resolved::One(candidate, standing) => (candidate, standing),
        Resolved::Several(keys) => return Err(LookupError::Ambiguous { name: name.to_owned(), keys }.into()),
        Resolved::None => {
            let failure = built_in(name, places).unwrap_or_else(|| {
                say_problems(&registry, ui);
                arg.unknown(name, &catalog, places)
            });
            return Err(failure.into());
        }
    };
    say_beside(&registry, places, ui);
    let head = registry.head_of(candidate)?;
    let origin = candidate.entry.origin.clone();
    let path = shown(std::path::Path::new(&*origin.location.text()));
    let files = Some(registry.files_of(candidate));
    let strict = match standing {
        Standing::Blocked { obstacle: Obstacle::Broken { profile, .. } } => *profile,
        _ => None,
    };
    let note = note_on(candidate, standing, places);
    let complete = answered(&registry, places) == Outcome::Fine;
    let names: Vec<&str> = catalog.all().map(|(skill, _)| skill.entry.key.as_str()).collect();
    let preview = preview_of_found(&registry, candidate, &names, &mut { MAX_PREVIEW_BYTES });
    Ok(FoundSkill {
        note,
        strict,
        complete,
        preview: Some(preview),
        ..FoundSkill::of(head, path, origin, files)
    })
}

/// A note about a skill that is not offered or may not be used; for a broken one, the card says it.
fn note_on(candidate: &Candidate, standing: &Standing, places: &Places) -> Option<String> {
    let why = standing.why_not().or_else(|| candidate.obstacle.as_ref().map(Obstacle::why_not))?;
    let see = command_for("why", &candidate.entry.key, &places.options());
    match why.state {
        "broken" => None,
        state if why.reason.is_empty() => Some(format!("this skill is {state}; see: {see}")),
        state => Some(format!("this skill is {state} {}; see: {see}", why.reason)),
    }
}

impl Card {
    fn json(&self) -> Value {
        let entry = &self.entry;
        let text = |text: &str| if text.is_empty() { Value::Null } else { text.into() };
        let metadata: Map<String, Value> =
            entry.metadata.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
        let lines = LineIndex::new(self.document.text());
        let problems: Vec<Value> =
            self.problems.iter().map(|problem| Value::Object(brief(problem, &lines))).collect();
        json!({
            "version": VERSION,
            "path": self.path,
            "loads": self.loads,
            "repaired": entry.repaired,
            "name": text(&entry.name),
            "description": text(&entry.description),
            "license": entry.license,
            "compatibility": entry.compatibility,
            "metadata": if self.document.field("metadata").is_some() { Value::Object(metadata) } else { Value::Null },
            "allowed_tools": entry.allowed_tools.as_ref().map(tools),
            "tags": entry.tags,
            "skill_version": entry.version,
            "invocation": entry.invocation,
            "client": self.client(),
            "extra": entry.extra,
            "body_offset": entry.body_offset,
            "body_bytes": self.document.raw().len().saturating_sub(entry.body_offset),
            "profile": self.profile,
            "problems": problems,
            "preview": self.preview,
            "files": self.files.as_ref().map(|files| &files.files),
            "left_out": self.files.as_ref().map(|files| &files.left_out),
        })
    }

    /// The fields of clients, with tools as a list, as in `allowed_tools`.
    fn client(&self) -> Value {
        let mut client = serde_json::to_value(&self.entry.client).unwrap_or(Value::Null);
        if let (Some(fields), Some(list)) = (client.as_object_mut(), &self.entry.client.disallowed_tools) {
            fields.insert("disallowed_tools".to_owned(), tools(list).into());
        }
        client
    }

    fn text(&self) -> String {
        let entry = &self.entry;
        let name = if entry.name.is_empty() { "(no name)" } else { &entry.name };
        let mut text = format!("{STRONG}{}{STRONG:#}  {}\n\n", clean(name), clean(&self.path));
        if entry.description.is_empty() {
            text.push_str("  (no description)\n");
        } else {
            // Line breaks become spaces.
            let line = entry.description.split_whitespace().collect::<Vec<_>>().join(" ");
            text.push_str(&wrap(&clean(&line), WIDTH - 2, "  "));
        }
        text.push('\n');
        let rows = self.rows();
        let width = rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0).min(32);
        for (label, value) in rows {
            let _ = writeln!(text, "  {:width$}  {}", clean(&label), clean(&value));
        }
        text.push_str(&self.files_text());
        text.push_str(&self.can_do());
        let _ = writeln!(text, "\n{}", self.verdict());
        text
    }

    fn rows(&self) -> Vec<(String, String)> {
        let entry = &self.entry;
        let mut rows = Vec::new();
        let mut row =
            |label: &str, value: Option<String>| rows.extend(value.map(|value| (label.to_owned(), value)));
        row("version", entry.version.clone());
        row("license", entry.license.clone());
        row("compatibility", entry.compatibility.clone());
        let list = |tools: &ToolList| match self::tools(tools).as_slice() {
            [] => "(none)".to_owned(),
            tools => tools.join(", "),
        };
        row("allowed tools", entry.allowed_tools.as_ref().map(list));
        row("tags", (!entry.tags.is_empty()).then(|| entry.tags.join(", ")));
        let who = match (entry.invocation.model, entry.invocation.user) {
            (true, true) => None,
            (true, false) => Some("by the model only"),
            (false, true) => Some("by the user only"),
            (false, false) => Some("never"),
        };
        row("started", who.map(str::to_owned));
        for (key, value) in &entry.metadata {
            row(&format!("metadata.{key}"), Some(value.clone()));
        }
        let short = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Array(items) if items.iter().all(Value::is_string) => {
                items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            }
            other => other.to_string(),
        };
        if let Value::Object(client) = self.client() {
            for (key, value) in &client {
                // The one field that is written with underscores.
                let label = if key == "when_to_use" { key.clone() } else { key.replace('_', "-") };
                row(&label, Some(short(value)));
            }
        }
        for (key, value) in &entry.extra {
            row(key, Some(short(value)));
        }
        let bytes = self.document.raw().len().saturating_sub(entry.body_offset);
        row("instructions", Some(format!("{}, about {}", count(bytes, "byte"), count(bytes / 4, "token"))));
        rows
    }

    fn files_text(&self) -> String {
        let Some(manifest) = &self.files else { return String::new() };
        let is_own = |path: &str| self.path == path || self.path.ends_with(&format!("/{path}"));
        let of = |kind: FileKind| -> Vec<String> {
            let files = manifest.others().filter(|file| file.kind == kind && !is_own(file.path.as_str()));
            files.map(|file| format!("{}  {}", clean(file.path.as_str()), size(file.size))).collect()
        };
        let left_out = manifest.left_out.iter();
        let left_out = left_out.map(|left| format!("{}: {}", clean(&left.path), clean(&left.reason)));
        let groups = [
            ("scripts", of(FileKind::Script)),
            ("references", of(FileKind::Reference)),
            ("assets", of(FileKind::Asset)),
            ("other files", of(FileKind::Other)),
            ("left out", left_out.collect()),
        ];
        let mut text = String::new();
        for (label, lines) in groups.iter().filter(|(_, lines)| !lines.is_empty()) {
            let _ = writeln!(text, "\n  {label}");
            for line in lines.iter().take(MAX_LINES) {
                let _ = writeln!(text, "    {line}");
            }
            if let Some(more @ 1..) = lines.len().checked_sub(MAX_LINES) {
                let _ = writeln!(text, "    and {more} more");
            }
        }
        text
    }

    /// What it can do, in the lines that `add` and `trust` show.
    fn can_do(&self) -> String {
        let lines = preview_lines(&self.entry.name, &self.preview);
        let Some((_, lines)) = lines.split_once('\n').filter(|(_, lines)| !lines.is_empty()) else {
            return String::new();
        };
        let lines: String = lines.lines().map(|line| format!("  {line}\n")).collect();
        format!("\n  what it can do\n{lines}")
    }

    fn verdict(&self) -> String {
        let of = |severity| self.problems.iter().filter(|problem| problem.severity == severity).count();
        let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
        let mut loads = match (self.loads, self.entry.repaired) {
            (true, false) => "loads",
            (true, true) => "loads after a repair",
            (false, _) => "does not load",
        }
        .to_owned();
        if let Some(strict) = self.strict.filter(|_| self.loads) {
            let _ = write!(loads, ", and is not offered by the profile {}", strict.name());
        }
        if errors + warnings == 0 {
            return format!("{loads}; no problems under {}", self.profile);
        }
        let (errors, warnings) = (count(errors, "error"), count(warnings, "warning"));
        let verdict = format!("{loads}; {errors}, {warnings} under {}", self.profile);
        if let Some(check) = &self.check {
            return format!("{verdict}: see {}", clean(check));
        }
        let mut text = verdict;
        for problem in &self.problems {
            let _ = write!(text, "\n  {}", Brief::of(problem, problem.severity));
        }
        text
    }
}

fn tools(list: &ToolList) -> Vec<String> {
    list.grants.iter().map(|grant| grant.raw.clone()).collect()
}
