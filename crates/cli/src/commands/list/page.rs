//! The page of `prowess list`: a table on a terminal, else one line for each skill, and the totals below.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use anstyle::Style;
use prowess::env::Environment;
use prowess::install::Origins;
use prowess::internal::STATES;
use prowess::library::clients::{self, Client};
use prowess::settings::SessionConfig;
use prowess::text::collapse;
use prowess::{Candidate, Obstacle, Registry};

use super::super::filter_place;
use super::super::install::is_own_folder;
use crate::args::{List, Sort};
use crate::explain::clients_named::few_of;
use crate::explain::left_out;
use crate::explain::report::SkillReport;
use crate::explain::trust::trust_hint;
use crate::prompt::{Cost, PromptTokens};
use crate::ui::command::shell_word;
use crate::ui::{Cell, Column, FAINT, ShortPaths, Table, Text, clean, count, number};

/// The rows of a list, and what is counted below them.
pub(super) struct ListPage<'p> {
    pub(super) args: &'p List,
    pub(super) rows: &'p [SkillReport<'p>],
    pub(super) registry: &'p Registry,
    pub(super) listed: Vec<&'p Candidate>,
    /// How many are left out in each state.
    pub(super) left_out: BTreeMap<&'static str, usize>,
    /// How many the filter of a configuration hides.
    pub(super) filtered: usize,
    pub(super) prompt_tokens: Option<PromptTokens>,
    pub(super) session_config: &'p SessionConfig,
    pub(super) origins: &'p Origins,
}

impl ListPage<'_> {
    /// A line for each skill, on a screen grouped by folder unless another order is asked for.
    pub(super) fn rows(&self, columns: Option<usize>) -> String {
        let (paths, is_screen) = (ShortPaths::on(columns), columns.is_some());
        let with_cost = self.rows.iter().any(|row| row.cost.is_some());
        // A budget that cuts the prompts gives skills two costs.
        let is_cut = self.rows.iter().any(|row| row.cost.is_some_and(|cost| cost.uncut.is_some()));
        let grouped = is_screen && self.args.sort.is_none_or(|sort| sort == Sort::Folder);
        let (mut titles, mut text) = (Vec::new(), String::new());
        if with_cost {
            titles.extend(is_cut.then(|| Column::number("uncut")));
            titles.extend(["prompt", "used", "files"].map(Column::number));
            let _ = match columns {
                Some(columns) => {
                    let uncut = if is_cut { "in a prompt without a budget, " } else { "" };
                    let note = format!(
                        "about how many tokens: {uncut}in every prompt, when it is used, in its other files"
                    );
                    writeln!(text, "{FAINT}{}{FAINT:#}", Text::from(note).wrapped(columns).trim_end())
                }
                None => {
                    let uncut = if is_cut { " uncut " } else { "" };
                    writeln!(text, "{FAINT}{uncut}prompt   used   files  tokens, about{FAINT:#}")
                }
            };
        }
        titles.push(Column::text(if with_cost { "skill" } else { "" }));
        titles.extend((!grouped).then(|| Column::text(if with_cost { "folder" } else { "" })));
        titles.push(Column::text(""));
        let mut table = Table::new(titles);
        let here = if grouped { clients::installed(&Environment::current()) } else { Vec::new() };
        let mut last = None;
        for row in self.rows {
            if grouped && last != Some(row.source) {
                let group: Vec<&SkillReport<'_>> =
                    self.rows.iter().filter(|other| other.source == row.source).collect();
                let about = format!("  {}{}", count(group.len(), "skill"), readers(&group, &here));
                table.title(Cell::strong(&paths.of(row.source)).and(FAINT, &about));
                last = Some(row.source);
            }
            let mut cells: Vec<Cell> = row.cost.map(|cost| costs(cost, is_screen)).unwrap_or_default();
            let key = Cell::strong(row.key);
            match other_name(row) {
                Some(name) if is_screen => cells.push(key.and(FAINT, &format!(" ({name})"))),
                Some(name) => cells.extend([key, Cell::faint(&format!("({name})"))]),
                None => cells.push(key),
            }
            cells.extend((is_screen && !grouped).then(|| Cell::faint(&paths.of(row.source))));
            let origin = row.installed.as_ref().map(|origin| format!("  (from {})", origin.short()));
            let mark = mark(row, is_screen.then_some(&paths));
            let words = Cell::faint(&mark).and(Style::new(), &description(row));
            cells.push(words.and(FAINT, &origin.unwrap_or_default()));
            table.row(cells);
        }
        text + &table.page(columns)
    }

    /// The lines below: how many skills there are in each state, and what to do about it.
    pub(super) fn foot(&self, columns: Option<usize>) -> Text {
        let Self { args, registry, listed, left_out, filtered, session_config, origins, .. } = self;
        let places = &args.places;
        let mut text = Text::default();
        let options = places.options();
        let options = clean(&options);
        let all = registry.catalog().len();
        if all == 0 {
            let _ = writeln!(text, "{}", left_out::nothing(places, registry));
        } else if listed.is_empty() {
            let _ = writeln!(text, "no skill matches, of {}", count(all, "skill"));
        } else {
            let _ = write!(text, "\n{}", count(listed.len(), "skill"));
            if let Some(tokens) = &self.prompt_tokens {
                text.push(in_prompts(tokens));
            }
            let is_untrusted = |skill: &&Candidate| skill.obstacle == Some(Obstacle::Untrusted);
            let untrusted: Vec<&Candidate> = listed.iter().copied().filter(is_untrusted).collect();
            let hint = trust_hint(untrusted.iter().copied(), registry, origins, places);
            if let Some(trust) = &hint.trust {
                let number = untrusted.len() - hint.never;
                let _ = match registry.client() {
                    Some(_) => write!(text, "; prowess serve withholds {number} not trusted: "),
                    None => write!(text, "; {number} not trusted: "),
                };
                text.push(trust.cleaned());
            }
            if let Some(why) = &hint.why {
                let never = Text::from(format!("; {} that cannot be trusted", hint.never));
                text.push(never.colon(clean(why)));
            }
            text.push("\n");
        }
        if *filtered > 0 {
            let place = filter_place(session_config);
            let _ = writeln!(text, "{filtered} hidden from agents by {}", clean(&place));
        }
        if !left_out.is_empty() {
            let words = STATES.iter().filter_map(|state| {
                let word = match *state {
                    "disabled" => "turned off",
                    "unseen" => "not seen",
                    other => other,
                };
                left_out.get(state).map(|number| format!("{number} {word}"))
            });
            let words = words.collect::<Vec<_>>().join(", ");
            // A client that looks less far passes over skills that only --all finds.
            let least = if registry.passed_over() { "at least " } else { "" };
            let _ = write!(text, "{least}{} left out ({words})", left_out.values().sum::<usize>());
            if !self.args.all {
                let tools = self.args.tools.as_deref().map(|tools| format!(" --tools {}", shell_word(tools)));
                let tools = tools.unwrap_or_default();
                let tools = clean(&tools);
                let list = Text::default().colon(format!("prowess list --all{options}{tools}"));
                text.push(list.words(", ").command(format!("prowess why NAME{options}")));
            }
            text.push("\n");
        }
        if let Some(clients) = self.clients(columns) {
            text.push(clients.cleaned().words("\n"));
        }
        text
    }

    /// Which clients are on this machine, when the list is of what all clients together would find; how to begin when
    /// there is nothing.
    fn clients(&self, columns: Option<usize>) -> Option<Text> {
        let places = &self.args.places;
        if columns.is_none() || !places.clients.is_empty() || !places.sources.is_empty() {
            return None;
        }
        if self.registry.catalog().all().next().is_none() {
            let user = if is_own_folder() { " --user" } else { "" };
            let text = Text::from("begin with").colon(r#"prowess try "a task""#).words(", ");
            let text = text.command("prowess new NAME").words(" or ");
            return Some(text.command(format!("prowess add SOURCE{user}")));
        }
        let here = clients::installed(&Environment::current());
        let names: Vec<&str> = here.iter().map(|client| client.name).collect();
        let (words, client) = match names.as_slice() {
            [] => return None,
            [name] => {
                (format!("this is what all clients together find; what {name} lists"), here.first()?.id)
            }
            names => (format!("on this machine are {}; what each lists", names.join(", ")), "installed"),
        };
        Some(Text::from(words).colon(format!("prowess list --client {client}")))
    }
}

/// The clients that read all skills of a group; those on this machine are named first.
fn readers(group: &[&SkillReport<'_>], here: &[&Client]) -> String {
    let Some(first) = group.first() else { return String::new() };
    let of_all = |id: &&&str| group.iter().all(|row| row.readers.contains(id));
    let readers = few_of(first.readers.iter().filter(of_all), here);
    if readers.is_empty() { readers } else { format!(", read by {readers}") }
}

/// The name that a skill has for Prowess, where a client shows it under another.
fn other_name<'r>(row: &SkillReport<'r>) -> Option<&'r str> {
    row.shown_as.filter(|shown| *shown != row.name).map(|_| row.name)
}

/// What is special about a skill, before its description; with shortened paths, for a narrow place.
fn mark(row: &SkillReport<'_>, paths: Option<&ShortPaths>) -> String {
    let mut mark = match (row.state, &row.why_not, paths) {
        (_, None, _) => String::new(),
        // Its own description may be what is wrong with it, and would run into the reason.
        ("broken" | "unseen", Some(why), _) => format!("{}: {}", why.state, why.reason),
        (_, Some(_), Some(paths)) => shortened(row, paths),
        (_, Some(why), None) => {
            let copy = row.copy.as_ref().map(|copy| format!(", {}", copy.words())).unwrap_or_default();
            format!("{} {}{copy}: ", why.state, why.reason)
        }
    };
    mark.push_str(row.in_client());
    if row.not_for_model.is_some() {
        mark.push_str("not for the model: ");
    }
    if row.never_trusted.is_some() {
        mark.push_str("cannot be trusted: ");
    } else if row.changed_since_trusted {
        mark.push_str("changed since it was trusted: ");
    } else if !row.trusted {
        mark.push_str("not trusted: ");
    }
    if mark.ends_with(": ") && description(row).is_empty() {
        mark.truncate(mark.trim_end_matches(": ").len());
    }
    mark
}

/// Why a skill is not offered, the most important words first.
fn shortened(row: &SkillReport<'_>, paths: &ShortPaths) -> String {
    let Some(why) = &row.why_not else { return String::new() };
    let by = row.shadowed_by.map(|by| {
        let by = paths.of(&by.text());
        by.strip_suffix("/SKILL.md").unwrap_or(&by).to_owned()
    });
    match (by, &row.copy, row.disabled_by) {
        (Some(by), Some(copy), _) => format!("shadowed, {} {by}: ", copy.words_before()),
        (Some(by), None, _) => format!("shadowed by {by}: "),
        (None, _, Some(by)) => format!("turned off by {}: ", paths.of(&by.to_string())),
        _ => format!("{} {}: ", why.state, why.reason),
    }
}

fn description<'r>(row: &SkillReport<'r>) -> Cow<'r, str> {
    let is_readable = !matches!(row.state, "broken" | "unseen") || row.shown_as.is_some();
    collapse(if is_readable { row.description } else { "" })
}

/// The tokens in a prompt, and how the column adds up to them.
fn in_prompts(tokens: &PromptTokens) -> String {
    let PromptTokens { all, skills, untrusted, cut } = tokens;
    let around = (*all as u64).saturating_sub(*skills);
    let mut parts = vec![format!("skills {}", number(*skills))];
    parts.extend((around > 0).then(|| format!("around them {}", number(around))));
    parts.extend((*untrusted > 0).then(|| format!("without {} not trusted", number(*untrusted))));
    let cut =
        cut.as_ref().map(|cut| format!(", cut from {}: {}", cut.sizes(), cut.effects())).unwrap_or_default();
    format!(", about {} tokens in every prompt ({}){cut}", number(*all as u64), parts.join(", "))
}

/// The cells of a cost; a question mark for what is not known. Lines have them as one cell.
fn costs(cost: Cost, is_screen: bool) -> Vec<Cell> {
    let known = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
    let uncut = cost.uncut.map(|uncut| uncut.to_string());
    let (catalog, used, files) = (cost.catalog.to_string(), known(cost.instructions), known(cost.resources));
    if is_screen {
        return uncut.iter().chain([&catalog, &used, &files]).map(|tokens| Cell::new(tokens)).collect();
    }
    let uncut = uncut.map(|uncut| format!("{uncut:>6} ")).unwrap_or_default();
    vec![Cell::new(&format!("{uncut}{catalog:>6} {used:>6} {files:>7}"))]
}
