//! The page of `prowess config`: a table on a terminal, else lines.

use std::fmt::Write as _;
use std::path::PathBuf;

use prowess::internal::{ConfigOrigin, ConfigSetting, EffectiveSettings};

use crate::ui::{Cell, Column, FAINT, STRONG, ShortPaths, Table, clean};

/// The page, for a screen with this many columns, or as lines.
pub(super) fn page(effective: &EffectiveSettings, columns: Option<usize>) -> String {
    let mut text = files(effective, &ShortPaths::on(columns));
    text.push('\n');
    let settings = effective.values.iter().map(|setting| (setting, from(setting)));
    rows(settings, columns, &mut text);
    if effective.unused.is_empty() {
        return text;
    }
    let _ = writeln!(text, "\n{STRONG}without effect:{STRONG:#}");
    let unused = effective.unused.iter();
    let unused = unused.map(|(setting, why)| (setting, format!("{}: {}", from(setting), why.words())));
    rows(unused, columns, &mut text);
    text
}

/// The files, each with its state.
fn files(effective: &EffectiveSettings, paths: &ShortPaths) -> String {
    let mut text = String::new();
    let mut line = |title: &str, file: Option<&PathBuf>, state: &str| {
        let path = file.map_or("none".to_owned(), |file| paths.of(&file.to_string_lossy()));
        let _ = writeln!(text, "{STRONG}{title}{STRONG:#}: {}{FAINT}{state}{FAINT:#}", clean(&path));
    };
    let user = effective.user.as_ref();
    let state = match user {
        Some(user) if !user.exists => " (does not exist)",
        Some(user) if user.error.is_some() => " (not used)",
        _ => "",
    };
    line("your own file", user.map(|file| &file.path), state);
    let project = effective.project.as_ref();
    if let (None, Some(ignored)) = (project, effective.ignored.first()) {
        line("file of the project", Some(ignored), " (not used: it belongs to another user)");
        return text;
    }
    let project = project.map(|file| &file.path);
    let state = match effective.project.as_ref() {
        Some(project) if project.error.is_some() => " (not used)",
        Some(project) if !project.trusted => " (not trusted)",
        _ => "",
    };
    line("file of the project", project, state);
    text
}

/// Where a setting comes from, in words.
fn from(setting: &ConfigSetting) -> String {
    let line = setting.line.map(|line| format!(", line {line}")).unwrap_or_default();
    let own_skills = if setting.own_skills { ", for its own skills" } else { "" };
    match setting.origin {
        ConfigOrigin::Default => "default".to_owned(),
        ConfigOrigin::Option => setting.key.key.option.to_owned(),
        ConfigOrigin::User => format!("your own file{line}"),
        ConfigOrigin::Project => format!("project{line}{own_skills}"),
    }
}

fn rows<'s>(
    settings: impl Iterator<Item = (&'s ConfigSetting, String)>,
    columns: Option<usize>,
    text: &mut String,
) {
    let value = |setting: &ConfigSetting| match &setting.value {
        Some(value) => prowess::internal::toml_value(value),
        None => setting.key.key.default.words(""),
    };
    let mut table = Table::new(vec![Column::text("key"), Column::text("value"), Column::text("from")]);
    for (setting, from) in settings {
        let is_default = setting.origin == ConfigOrigin::Default;
        let cell = if is_default { Cell::faint } else { Cell::strong };
        let key = setting.key.to_string();
        table.row(vec![Cell::new(&key), cell(&value(setting)), Cell::faint(&from)]);
    }
    text.push_str(&table.page(columns));
}
