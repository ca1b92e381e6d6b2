//! The generated reference pages: `PROWESS_UPDATE_DOCS=1` writes them, otherwise they must be current.

use std::fmt::Write as _;
use std::fs;

use prowess::finding::Preset;
use prowess::internal::CONFIG_TABLES;
use prowess::session::{Dialect, NAMINGS, Naming, Options, Policy, Reason, Tool};
use prowess::{Entry, Level, Skill, Skills};
use serde_json::Value;

use super::{top, updating};
use crate::Place;

/// How every generated page says where it comes from.
fn generated(title: &str, from: &str) -> String {
    format!(
        "# {title}\n\nThis page is generated from {from}; `PROWESS_UPDATE_DOCS=1 cargo test --workspace` writes it."
    )
}

fn compare(page: &str, text: &str) {
    let path = top().join("docs/reference").join(page);
    if updating() {
        fs::write(&path, text).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == text,
        "docs/reference/{page} is out of date: run PROWESS_UPDATE_DOCS=1 cargo test --workspace"
    );
}

/// A text as the cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The names of the commands that the help lists.
pub(crate) fn command_names(help: &str) -> Vec<&str> {
    let lines = help.lines().take_while(|line| !line.starts_with("Options:"));
    let rows = lines.filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
    rows.map(|(name, _)| name).filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())).collect()
}

/// The commands inside of a command, which its help lists.
pub(crate) fn inner_commands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    lines.map_while(|line| line.strip_prefix("  ")?.split_whitespace().next()).collect()
}

#[test]
fn the_page_of_rules_is_current() {
    let mut text = generated("Rules", "the table of rules");
    text.push_str(
        "\n\nA rule marked with * keeps a skill from loading under every profile, and its level cannot be lowered.\n\n\
         | rule | what is wrong |",
    );
    for &preset in Preset::ALL {
        let _ = write!(text, " `{}` |", preset.name());
    }
    let _ = writeln!(text, "\n| --- | --- |{}", " --- |".repeat(Preset::ALL.len()));
    for rule in prowess::check::rules() {
        let star = if rule.refuses() { " *" } else { "" };
        let _ = write!(text, "| [`{0}`](#{0}){star} | {1} |", rule.code, cell(rule.summary));
        for &preset in Preset::ALL {
            let word = match rule.level(preset) {
                Level::Off => "–",
                level => level.name(),
            };
            let _ = write!(text, " {word} |");
        }
        text.push('\n');
    }
    for rule in prowess::check::rules() {
        // A terminal shows the explanation too, where the language of a block would be noise.
        let mut is_open = false;
        let lines = rule.explanation.lines().map(|line| {
            is_open ^= line == "```";
            if is_open && line == "```" { "```text" } else { line }
        });
        let explanation = lines.collect::<Vec<_>>().join("\n");
        let _ = write!(text, "\n## {}\n\n{}.\n\n{explanation}\n", rule.code, rule.summary);
    }
    compare("rules.md", &text);
}

#[test]
fn the_page_of_troubles_is_current() {
    let place = Place::with(&[]);
    let kinds = place.json(&["doctor", "--list", "--json"]);
    let mut text = generated("Kinds of trouble", "the table of kinds in `prowess doctor`");
    text.push_str(
        " [What is wrong](../use/doctor.md) is about the command.\n\nErrors and warnings count for the exit code, \
         notes do not. The worst are the first.\n\n| kind | level | what is wrong | what it means |\n| --- | --- | --- | \
         --- |\n",
    );
    for kind in kinds["kinds"].as_array().unwrap() {
        let member = |name: &str| cell(kind[name].as_str().unwrap());
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            member("kind"),
            member("level"),
            member("title"),
            member("about")
        );
    }
    compare("troubles.md", &text);
}

#[test]
fn the_page_of_commands_is_current() {
    let place = Place::with(&[]);
    let help = |args: &[&str]| {
        let text = String::from_utf8(place.output(args).stdout).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    };
    let mut text = generated("The command line", "the help of the commands");
    let all = help(&["--help"]);
    let _ = write!(text, "\n\n## prowess\n\n```text\n{all}\n```\n");
    let names = command_names(&all);
    assert!(names.len() > 20 && names.contains(&"verify"), "{names:?}");
    for command in names.into_iter().filter(|name| *name != "help") {
        let own = help(&[command, "--help"]);
        let _ = write!(text, "\n## prowess {command}\n\n```text\n{own}\n```\n");
        for inner in inner_commands(&own) {
            let own = help(&[command, inner, "--help"]);
            let _ = write!(text, "\n### prowess {command} {inner}\n\n```text\n{own}\n```\n");
        }
    }
    compare("cli.md", &text);
}

#[test]
fn the_page_of_configurations_for_clients_is_current() {
    let place = Place::with(&[("token", "0123456789abcdef\n")]);
    let config = |args: &[&str]| String::from_utf8(place.output(args).stdout).unwrap();
    let mut text = generated("Configurations for clients", "the table of configurations");
    text.push_str(
        " `prowess serve --print-config CLIENT` prints each text, with the options that were given. [`prowess \
         connect`](../use/connect.md) writes it. A client reads the token from the variable `PROWESS_TOKEN`; where it does \
         not expand variables, `TOKEN` is a placeholder.\n",
    );
    for client in &prowess_mcp::CLIENT_CONFIGS {
        let kind = match client.format {
            prowess::internal::ConfigFormat::Toml => "toml",
            prowess::internal::ConfigFormat::Yaml => "yaml",
            _ => "json",
        };
        let start = config(&["serve", "--print-config", client.name]);
        let find = config(&[
            "serve",
            "--http",
            "127.0.0.1:7878",
            "--token-file",
            "token",
            "--print-config",
            client.name,
        ]);
        let _ = write!(
            text,
            "\n## {}\n\nIn {}.\n\n```{kind}\n{start}```\n\nA server that runs already:\n\n```{kind}\n{find}```\n",
            client.title(),
            client.destination(&prowess_mcp::ServerTransport::Stdio(vec!["serve".to_owned()]))
        );
    }
    compare("mcp-clients.md", &text);
}

#[test]
fn the_page_of_configuration_is_current() {
    let mut text = generated("Configuration", "the table of keys");
    text.push_str(
        "\n\nA project has a `prowess.toml` in its folder or above it, up to the root of its git repository. Your own file \
         is `prowess/prowess.toml` in `$XDG_CONFIG_HOME`, usually `~/.config/prowess/prowess.toml`, and applies in every \
         folder. The command line has precedence over both, and your own file over that of a project. An unknown key is an error. \
         [Settings](../use/config.md) says which value counts, what the file of a project may change before you trust \
         it, and how `prowess config` shows and sets keys.\n",
    );
    for table in &CONFIG_TABLES {
        let (open, close) = if table.is_list { ("[[", "]]") } else { ("[", "]") };
        let _ = write!(text, "\n## {open}{}{close}\n\n{}\n\n", table.name, table.about);
        text.push_str("| key | value | default | what it does |\n| --- | --- | --- | --- |\n");
        for key in table.keys {
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} |",
                key.name,
                cell(key.value),
                cell(&key.default.words("`")),
                cell(key.meaning)
            );
        }
        let _ = write!(text, "\n```toml\n{}```\n", table.example);
    }
    compare("config.md", &text);
}

#[test]
fn the_page_of_schemas_is_current() {
    let place = Place::with(&[]);
    let mut text = generated("JSON Schemas", "the files in [`docs/schemas/`](../schemas/)");
    text.push_str(
        " They are JSON Schema 2020-12. Real output of every command is compared with them in the tests.\n\n\
         Every output but the lines of `replay` is an object that begins with its version, `{\"version\":1,…}`. Adding a member keeps the version; \
         removing one, renaming one or changing its meaning raises it.\n\n| schema | of what | what it is |\n\
         | --- | --- | --- |\n",
    );
    let files = fs::read_dir(top().join("docs/schemas")).unwrap();
    let mut names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    for name in &names {
        let schema = fs::read_to_string(top().join("docs/schemas").join(name)).unwrap();
        let schema: Value = serde_json::from_str(&schema).unwrap();
        let (title, about) = (schema["title"].as_str().unwrap(), schema["description"].as_str().unwrap());
        let title = if title.starts_with("prowess ") {
            let (command, condition) = title.split_once(", ").unwrap_or((title, ""));
            format!("`{command}`{}{condition}", if condition.is_empty() { "" } else { ", " })
        } else {
            title.to_owned()
        };
        let _ = writeln!(text, "| [`{name}`](../schemas/{name}) | {title} | {} |", cell(about));
    }
    let help = String::from_utf8(place.output(&["--help"]).stdout).unwrap();
    // `serve` speaks MCP; the others write scripts and pages.
    let without = ["serve", "help", "completions", "man"];
    for command in command_names(&help).into_iter().filter(|name| !without.contains(name)) {
        assert!(names.contains(&format!("{command}.json")), "docs/schemas has no {command}.json");
    }
    compare("schemas.md", &text);
}

/// The tools that a session offers under a naming.
fn tools_named(name: &str) -> (Naming, Vec<prowess::session::ToolDef>) {
    let naming: Naming = name.parse().unwrap();
    let entry = Entry::builder("tidy-up", "Tidies up.").build().unwrap();
    let skills = Skills::builder()
        .with_skill(Skill::new(entry, "Sweep."))
        .with_policy(Policy::default().with_run(true))
        .with_options(Options::default().with_naming(naming.clone()).with_max_enum(0))
        .build()
        .unwrap();
    (naming, skills.chat("page").session().tools())
}

#[test]
fn the_page_of_tools_is_current() {
    let mut text = generated("Tools", "the tables of tools");
    text.push_str(
        " `prowess tools` writes the tools for the skills that are found here.\n\nThese are the tools that a model gets, over \
         MCP and from a program. A tool is offered only if it can do something: none without a visible skill, and the one \
         that runs scripts only if the host allows it, which `prowess serve` never does.\n\n## Names\n\n\
         `--naming` and `Options::with_naming` choose one of these families of names. A host can add a prefix of its own.\n\n\
         | tool |",
    );
    for row in NAMINGS {
        let _ = write!(text, " `{}` |", row.name);
    }
    let _ = writeln!(text, "\n| --- |{}", " --- |".repeat(NAMINGS.len()));
    let families: Vec<_> = NAMINGS.iter().map(|row| tools_named(row.name)).collect();
    for &tool in Tool::ALL {
        let _ = write!(text, "| {} |", serde_json::to_value(tool).unwrap().as_str().unwrap());
        for (_, tools) in &families {
            let tool = tools.iter().find(|known| known.tool == tool).unwrap();
            let properties = tool.input_schema["properties"].as_object().unwrap();
            let required = tool.input_schema["required"].as_array().unwrap();
            let arguments: Vec<String> = properties
                .keys()
                .map(|name| {
                    if required.iter().any(|known| known == name) { name.clone() } else { format!("{name}?") }
                })
                .collect();
            let _ = write!(text, " `{}({})` |", tool.name, arguments.join(", "));
        }
        text.push('\n');
    }
    text.push_str(
        "\nAn argument with a question mark may be left out. A session also accepts `name`, `skill_name`, `id` and `skill` \
         for the skill, and `path` and `resource` for the file, under every naming. A number may be a text, and null counts \
         as absent.\n\n## Schemas\n\nUnder the naming `default`. With few skills, the argument for the skill is an `enum` of \
         their names.\n",
    );
    let (_, tools) = &families[0];
    for tool in tools {
        let flags = [
            (tool.read_only, "changes nothing outside the session"),
            (tool.idempotent, "calling it again changes nothing more"),
            (tool.parallel_safe, "may run beside other calls"),
        ];
        let flags: Vec<&str> =
            flags.into_iter().filter(|(holds, _)| *holds).map(|(_, words)| words).collect();
        let flags =
            if flags.is_empty() { "may change files, and runs alone".to_owned() } else { flags.join("; ") };
        let _ = write!(
            text,
            "\n### {}\n\n{}\n\nFor the host: {flags}.\n\n```json\n{}\n```\n",
            tool.name,
            tool.description,
            serde_json::to_string_pretty(&tool.input_schema).unwrap()
        );
    }
    text.push_str(
        "\n## Interfaces\n\n`--dialect` and `Dialect` write the same tools for each interface. The tool that loads, in each \
         form:\n",
    );
    let load: Vec<_> = tools.iter().filter(|known| known.tool == Tool::Load).cloned().collect();
    for &dialect in Dialect::ALL {
        let written = serde_json::to_string(&dialect.tools(&load)).unwrap();
        let _ = write!(text, "\n### {}\n\n```json\n{written}\n```\n", dialect.name());
    }
    text.push_str(
        "\n## Refusals\n\nA refused call has a result too: a text for the model, what to do instead, and one of these \
         reasons for programs.\n\n| reason | when |\n| --- | --- |\n",
    );
    for reason in Reason::ALL {
        let _ = writeln!(text, "| `{}` | {} |", reason.code(), reason.meaning());
    }
    compare("tools.md", &text);
}
