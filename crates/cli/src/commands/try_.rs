//! `prowess try`: one task through the whole pipeline, from the skills on this machine to the last file.

use std::fmt::Write as _;

use prowess::library::clients::Client;
use prowess::select::{Hit, Query, SelectOptions, TypedWords, search};
use prowess::session::{Act, Actor, Hidden};
use prowess::source::Slice;
use prowess::{Candidate, Catalog, Chat, FileEntry, Registry, RelPath, Scope, Skills, Standing};
use serde_json::{Value, json};

use super::install::is_own_folder;
use super::{Purpose, opened_for};
use crate::Outcome;
use crate::args::Try;
use crate::error::{CommandError, Failure};
use crate::explain::unread::{answered, say_beside};
use crate::explain::{clients_named, left_out};
use crate::prompt::{Cost, Cut, PromptTokens, Prompts};
use crate::rank::{failed, nearest, search_index};
use crate::report::json::VERSION;
use crate::ui::cells::{fit, pad, width};
use crate::ui::command::{command_for, shell_word};
use crate::ui::{FAINT, STRONG, ShortPaths, Ui, clean, clean_lines, count, few, number, size};

/// How many lines of the loaded text are shown, and of a file.
const SHOWN_LINES: usize = 8;
const SHOWN_FILE_LINES: usize = 4;
/// How many matching skills are shown.
const SHOWN_HITS: usize = 4;
/// How many words of a task are repeated.
const SHOWN_WORDS: usize = 8;
/// The most skills whose files are measured, so that a large library answers at once.
const MEASURED: usize = 2_000;
/// The columns of a page when it goes to a file, and the most on a terminal: longer lines are hard to read.
const PLAIN_COLUMNS: usize = 80;
const MOST_COLUMNS: usize = 110;

/// Runs the command.
pub(crate) fn run(args: &Try, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let task = args.task.join(" ");
    if task.trim().is_empty() {
        let hint = "say what you want done, such as: prowess try \"turn these meeting notes into minutes\"";
        return Err(Failure::new("the task is empty", hint).into());
    }
    // A client has no built-in skills.
    let purpose = if args.places.clients.is_empty() { Purpose::Use } else { Purpose::Look };
    let (registry, session_config) = opened_for(&args.places, purpose)?;
    say_beside(&registry, &args.places, ui);
    let outcome = answered(&registry, &args.places);
    let catalog = registry.catalog();
    left_out::say_unmatched(&args.places, &registry, ui);
    let prompts = Prompts::new(&registry, &session_config);
    let select = SelectOptions::default()
        .with_available_tools(session_config.tools.clone().unwrap_or_default())
        .with_top_k(None);
    let index = search_index(&args.places, &registry);
    let hits =
        search(&index, &Query::text(&*task), &catalog.list(), &select).map_err(|error| failed(&error))?;
    drop(index);
    let prompt = prompts.tokens(&catalog.iter().collect::<Vec<_>>());
    let uncut = prompt.cut.as_ref().map_or(prompt.all, |cut| cut.uncut) as u64;
    let all_tokens = instructions(&registry, &catalog, &prompts).map(|tokens| tokens + uncut);
    let skills = Skills::builder()
        .with_policy(session_config.policy())
        .with_options(session_config.options())
        .build_on(registry);
    let chat = skills.chat("try");
    let matches: Vec<Match> = hits
        .into_iter()
        .map(|hit| Match { hidden: chat.session().why_hidden(&hit.key, Act::See, Actor::Model), hit })
        .collect();
    let trial = Trial {
        task: &task,
        options: args.places.options(),
        client: clients_named::one(&args.places)?,
        catalog: &catalog,
        prompt,
        all_tokens,
        loaded: Loaded::first(&matches, &catalog, chat)?,
        nearest: if matches.is_empty() { nearest(&task, &catalog) } else { Vec::new() },
        matches,
    };
    if json {
        ui.json(&trial.json())?;
    } else {
        let columns = ui.columns().unwrap_or(PLAIN_COLUMNS).min(MOST_COLUMNS);
        ui.print(&trial.page(columns))?;
    }
    Ok(outcome)
}

/// About how many tokens the instructions of all usable skills have; `None` if there are too many to measure.
fn instructions(registry: &Registry, catalog: &Catalog, prompts: &Prompts) -> Option<u64> {
    if catalog.len() > MEASURED {
        return None;
    }
    let usable = catalog.iter().filter(|skill| skill.is_usable());
    Some(
        usable
            .filter_map(|skill| Cost::of(skill, &Standing::Listed, registry, prompts).instructions)
            .sum::<u64>(),
    )
}

/// A skill that fits the task.
struct Match {
    hit: Hit,
    /// Why no model gets it; `None` if a model may choose it. A session decides this, as it does for prompts.
    hidden: Option<Hidden>,
}

impl Match {
    /// Why no model gets the skill, in words.
    fn why_hidden(&self) -> Option<&'static str> {
        Some(match self.hidden? {
            Hidden::Untrusted => "not trusted",
            Hidden::NotForModel => "only a user may start it",
            Hidden::Filtered => "hidden by a filter",
            _ => "not offered",
        })
    }
}

/// What a model gets of the chosen skill.
struct Loaded {
    key: String,
    text: String,
    /// Its other files, the most useful first, and the beginning of the first that is text.
    files: Vec<FileEntry>,
    opened: Option<(RelPath, String)>,
}

impl Loaded {
    /// Activates the best skill that a model may choose, and looks at its files.
    fn first(matches: &[Match], catalog: &Catalog, mut chat: Chat) -> Result<Option<Self>, CommandError> {
        let mut offered = matches.iter().filter(|one| one.hidden.is_none());
        let Some(best) = offered.find_map(|one| catalog.get(&one.hit.key)) else { return Ok(None) };
        let key = best.entry.key.clone();
        let Some((_, result)) = chat.preload(&[&key]).into_iter().find(|(name, _)| *name == key) else {
            return Ok(None);
        };
        if !result.is_ok() {
            let hint = format!("see why with: {}", command_for("why", &key, ""));
            return Err(Failure::new(result.text, hint).into());
        }
        let skill = chat
            .skills()
            .get(&key)
            .map_err(|error| Failure::new(error.to_string(), "run the command again"))?;
        let own = best.entry.origin.file.as_deref().unwrap_or("SKILL.md");
        // A model is shown the most useful ones.
        let files = skill.files().unwrap_or_default();
        let files: Vec<FileEntry> = files
            .by_use()
            .into_iter()
            .filter(|file| file.path.as_str() != own && file.path.as_str() != "SKILL.md")
            .cloned()
            .collect();
        let opened = files.iter().find_map(|file| {
            let chunk = skill.read(&file.path, Slice::first(4096)).ok()?;
            Some((file.path.clone(), beginning(chunk.bytes)?))
        });
        Ok(Some(Self { key, text: result.text, files, opened }))
    }

    fn tokens(&self) -> usize {
        self.text.len().div_ceil(4)
    }
}

/// The text of the first bytes of a file, which may end inside a character; `None` if the file is not text.
fn beginning(mut bytes: Vec<u8>) -> Option<String> {
    if let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    String::from_utf8(bytes).ok()
}

/// One task and its result.
struct Trial<'t> {
    task: &'t str,
    /// The options of the command line that say where skills are.
    options: String,
    /// The client in whose folders they are.
    client: Option<&'static Client>,
    catalog: &'t Catalog,
    prompt: PromptTokens,
    all_tokens: Option<u64>,
    matches: Vec<Match>,
    loaded: Option<Loaded>,
    nearest: Vec<&'t Candidate>,
}

impl Trial<'_> {
    fn json(&self) -> Value {
        let catalog = self.catalog.iter();
        let matches = self.matches.iter().filter_map(|one| {
            let name = &self.catalog.get(&one.hit.key)?.entry.name;
            let mut shown =
                json!({ "name": name, "score": one.hit.score, "words": self.words(&one.hit).found });
            if let (Some(why), Some(shown)) = (one.why_hidden(), shown.as_object_mut()) {
                shown.insert("hidden".to_owned(), why.into());
            }
            Some(shown)
        });
        json!({
            "version": VERSION,
            "task": self.task,
            "sources": self.sources().iter().map(|source| {
                json!({ "name": source.name, "skills": source.keys.len() })
            }).collect::<Vec<_>>(),
            "catalog": catalog
                .map(|skill| json!({ "name": skill.entry.name, "description": skill.entry.description }))
                .collect::<Vec<_>>(),
            "prompt_tokens": self.prompt.all,
            "all_tokens": self.all_tokens,
            "method": "bm25",
            "matches": matches.collect::<Vec<_>>(),
            "nearest": self.nearest.iter().map(|skill| &skill.entry.name).collect::<Vec<_>>(),
            "loaded": self.loaded.as_ref().map(|loaded| json!({
                "name": loaded.key,
                "bytes": loaded.text.len(),
                "tokens": loaded.tokens(),
                "text": loaded.text,
                "files": loaded.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(),
            })),
        })
    }

    fn words(&self, hit: &Hit) -> TypedWords<'_> {
        TypedWords::of(self.task, &hit.why)
    }

    /// Where the skills come from, the user's own first.
    fn sources(&self) -> Vec<SkillOrigin> {
        let mut sources: Vec<SkillOrigin> = Vec::new();
        let paths = ShortPaths::new();
        for skill in self.catalog.iter() {
            let name = if is_built_in(skill) { "built in".to_owned() } else { paths.of(&skill.source) };
            let at = sources.iter().position(|source| source.name == name).unwrap_or_else(|| {
                sources.push(SkillOrigin { name, built_in: is_built_in(skill), keys: Vec::new() });
                sources.len() - 1
            });
            if let Some(source) = sources.get_mut(at) {
                source.keys.push(skill.entry.key.clone());
            }
        }
        sources.sort_by(|a, b| (a.built_in, &a.name).cmp(&(b.built_in, &b.name)));
        sources
    }

    fn page(&self, columns: usize) -> String {
        let mut page = TrialPage { text: format!("task: {}\n", clean(self.task)), columns };
        self.found(&mut page);
        self.prompted(&mut page);
        match &self.loaded {
            Some(loaded) => {
                self.chosen(&mut page, &loaded.key);
                self.loaded(&mut page, loaded);
            }
            None => self.missed(&mut page),
        }
        page.text
    }

    fn found(&self, page: &mut TrialPage) {
        page.title(&format!("1. Found: {}", count(self.catalog.len(), "skill")));
        let sources = self.sources();
        let names = sources.iter().map(|source| width(&clean(&source.name))).max().unwrap_or(0).min(40);
        for source in &sources {
            let name = pad(&fit(&clean(&source.name), names), names);
            page.line(&format!("{name}  {:>4}  {}", source.keys.len(), source.keys.join(", ")));
        }
        if let Some(client) = self.client {
            page.faint(&format!(
                "read as Prowess reads them; what {} lists: prowess list --client {}",
                client.name, client.id
            ));
        }
    }

    fn prompted(&self, page: &mut TrialPage) {
        let without_text =
            |cut: &Cut| cut.report.shortened > 0 && cut.report.max_description.is_none_or(|most| most < 2);
        page.title(match &self.prompt.cut {
            Some(cut) if without_text(cut) => "2. In the prompt: the names that fit",
            Some(_) => "2. In the prompt: the name of each, and as much of its description as fits",
            None => "2. In the prompt: the name and description of each",
        });
        let tokens = number(self.prompt.all as u64);
        page.line(&match self.all_tokens {
            Some(all) => format!("about {tokens} tokens; with all instructions about {}", number(all)),
            None => format!("about {tokens} tokens"),
        });
        if let Some(cut) = &self.prompt.cut {
            page.line(&format!("cut from {}:", cut.sizes()));
            page.line(&cut.effects());
        }
    }

    fn chosen(&self, page: &mut TrialPage, key: &str) {
        // Agents of the user see their own skills, and the built-in ones only through Prowess.
        let built_in =
            self.catalog.get(key).is_some_and(is_built_in) && !self.catalog.iter().all(is_built_in);
        page.title(&format!("3. Chosen: {}{}", clean(key), if built_in { " (built in)" } else { "" }));
        let shown = self.matches.get(..SHOWN_HITS).unwrap_or(&self.matches);
        let names = shown.iter().map(|one| width(&clean(&one.hit.key))).max().unwrap_or(0).min(40);
        for one in shown {
            let Match { hit, .. } = one;
            let name = pad(&fit(&clean(&hit.key), names), names);
            let hidden = one.why_hidden().map(|why| format!("{why}; ")).unwrap_or_default();
            page.line(&format!("{:>7.3}  {name}  {hidden}{}", hit.score, self.words(hit).found.join(", ")));
        }
        let rest = self.matches.len() - shown.len();
        if rest > 0 {
            page.faint(&format!("and {rest} more"));
        }
    }

    fn loaded(&self, page: &mut TrialPage, loaded: &Loaded) {
        page.title(&format!("4. Loaded when it is used: about {} tokens", number(loaded.tokens() as u64)));
        let rest = page.quote(&loaded.text, SHOWN_LINES);
        if rest > 0 {
            page.faint(&format!(
                "and {}: {}",
                count(rest, "more line"),
                command_for("activate", &loaded.key, &self.options)
            ));
        }
        if loaded.files.is_empty() {
            return;
        }
        page.title(&format!("5. Read when it is needed: {}", count(loaded.files.len(), "file")));
        let files: Vec<String> =
            loaded.files.iter().map(|file| format!("{} ({})", file.path.as_str(), size(file.size))).collect();
        page.line(&files.join(", "));
        if let Some((path, text)) = &loaded.opened {
            page.quote(text, SHOWN_FILE_LINES);
            let options = format!(" {}{}", shell_word(path.as_str()), self.options);
            page.faint(&format!("all of it: {}", command_for("cat", &loaded.key, &options)));
        }
    }

    fn missed(&self, page: &mut TrialPage) {
        page.title("3. Chosen: none");
        if let Some(one) = self.matches.first() {
            let key = &one.hit.key;
            page.line(&format!("{key} fits, and no model gets it: {}", one.why_hidden().unwrap_or_default()));
            page.faint(&format!("look at it: {}", command_for("show", key, &self.options)));
            return;
        }
        let words = TypedWords::of(self.task, &[]).missing;
        page.line(&match words.as_slice() {
            [] => "the task has no word that says what it is about".to_owned(),
            words => format!("no skill has any of these words: {}", few(words, SHOWN_WORDS)),
        });
        if !self.nearest.is_empty() {
            let names = self.nearest.iter().map(|skill| width(&clean(&skill.entry.key))).max().unwrap_or(0);
            page.line("the nearest are");
            for skill in &self.nearest {
                let name = pad(&clean(&skill.entry.key), names);
                page.line(&format!("  {name}  {}", skill.entry.description));
            }
        }
        page.title("Next");
        page.line("other words for the task, or a skill for it:");
        page.line("  prowess new my-skill         write one");
        // The user's own folder is no project.
        page.line(if is_own_folder() {
            "  prowess add OWNER/REPO --user  install one"
        } else {
            "  prowess add OWNER/REPO       install one"
        });
    }
}

/// Where skills come from.
struct SkillOrigin {
    name: String,
    built_in: bool,
    keys: Vec<String>,
}

fn is_built_in(skill: &Candidate) -> bool {
    skill.entry.origin.scope == Scope::Builtin
}

/// A page of sections, in lines that fit the screen.
struct TrialPage {
    text: String,
    columns: usize,
}

impl TrialPage {
    fn title(&mut self, title: &str) {
        let _ = writeln!(self.text, "\n{STRONG}{}{STRONG:#}", fit(&clean(title), self.columns));
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "   {}", fit(clean(line).trim_end(), self.columns.saturating_sub(3)));
    }

    fn faint(&mut self, line: &str) {
        let _ = writeln!(self.text, "   {FAINT}{}{FAINT:#}", clean(line));
    }

    /// The first lines of a text; returns how many lines are left.
    fn quote(&mut self, text: &str, most: usize) -> usize {
        let text = clean_lines(text);
        for line in text.lines().take(most) {
            let line = format!("   | {}", fit(line, self.columns.saturating_sub(5)));
            let _ = writeln!(self.text, "{}", line.trim_end());
        }
        text.lines().count().saturating_sub(most)
    }
}
