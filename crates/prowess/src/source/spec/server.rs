//! [`Server`]: how to reach another MCP server, and the default label of its skills.

use std::path::PathBuf;

use super::is_address;
use crate::error::{escape_control, shown_address};

/// How to reach another MCP server. Exhaustive, because code that opens servers has to know every kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// It listens at an address.
    At {
        /// The address, `https` or `http`.
        url: String,
        /// Certificates to trust, as PEM, instead of the usual ones.
        ca_file: Option<PathBuf>,
        /// A file with the token that it requires.
        token_file: Option<PathBuf>,
    },
    /// It is a program, started by its arguments and never by a shell.
    Started {
        /// The program, and its arguments.
        argv: Vec<String>,
        /// The folder to start it in; the current one if there is none. Parsing sets none: only the opening knows where
        /// the spec is written.
        folder: Option<PathBuf>,
    },
}

impl Server {
    /// Reads the value of the key `mcp`: an address, or a command line.
    pub(super) fn parse(
        text: &str,
        ca_file: Option<PathBuf>,
        token_file: Option<PathBuf>,
    ) -> Result<Self, String> {
        if is_address(text) {
            return Ok(Self::At { url: text.to_owned(), ca_file, token_file });
        }
        if ca_file.is_some() || token_file.is_some() {
            return Err("mcp: a program is started without ca_file and token_file".to_owned());
        }
        let words = words(text).map_err(|reason| format!("mcp: {reason}"))?;
        match words.first() {
            None => Err("mcp: it is empty".to_owned()),
            // Another scheme does not name a program.
            Some(word) if word.contains("://") => {
                Err("mcp: an address begins with https:// or http://".to_owned())
            }
            Some(word) if word.is_empty() => Err("mcp: the program has no name".to_owned()),
            Some(_) => Ok(Self::started(words)),
        }
    }

    /// A program with its arguments, to be started in the current folder.
    pub fn started(argv: Vec<String>) -> Self {
        Self::Started { argv, folder: None }
    }

    /// The value of the key `mcp` for this server.
    pub(super) fn text(&self) -> String {
        match self {
            Self::At { url, .. } => url.clone(),
            Self::Started { argv, .. } => argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        }
    }

    /// The default label of its skills: the name of its host or of its program, as a plain word.
    pub fn label(&self) -> String {
        let name = match self {
            Self::At { url, .. } => host(url),
            Self::Started { argv, .. } => {
                let program = argv.first().map_or("", String::as_str);
                program.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or_default()
            }
        };
        let plain = |character: char| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' => character,
            _ => '-',
        };
        let word: String = name.chars().map(plain).collect();
        let word = word.trim_matches(['-', '.']);
        if word.is_empty() { "mcp".to_owned() } else { word.to_owned() }
    }

    /// Its address or program for display, escaped. A password, a query and arguments are left out: they may be
    /// secrets, and users copy errors and send them to others.
    pub fn shown(&self) -> String {
        match self {
            Self::At { url, .. } => shown_address(url),
            Self::Started { argv, .. } => escape_control(argv.first().map_or("", String::as_str)),
        }
    }
}

/// The host of an address, without port, password and brackets.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((host, _)) => host,
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// The words of a command line. Spaces separate them; text in single or double quotes is one word.
fn words(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in text.chars() {
        match quote {
            Some(open) if character == open => quote = None,
            None if matches!(character, '"' | '\'') => {
                quote = Some(character);
                // Empty quotes are an empty word.
                word.get_or_insert_default();
            }
            None if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed");
    }
    words.extend(word);
    if words.iter().any(|word| word.contains('\0')) { Err("it holds a NUL") } else { Ok(words) }
}

/// A word as written on a command line.
fn quoted(word: &str) -> String {
    let plain = |character: char| !character.is_whitespace() && !matches!(character, '"' | '\'');
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        // A double quote cannot be between double quotes; between single ones it can.
        format!("\"{}\"", word.split('"').collect::<Vec<_>>().join("\"'\"'\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Server {
        Server::parse(text, None, None).unwrap()
    }

    fn started(text: &str) -> Vec<String> {
        match Server::parse(text, None, None) {
            Ok(Server::Started { argv, folder: None }) => argv,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_command_line_is_split_without_a_shell_and_can_be_written_back() {
        for (text, wanted) in [
            ("prowess serve --in x", &["prowess", "serve", "--in", "x"][..]),
            ("  a\t'b c' \"d 'e'\" f'g'h ", &["a", "b c", "d 'e'", "fgh"]),
            ("a '' $HOME;rm *", &["a", "", "$HOME;rm", "*"]),
            ("a 'say \"it'\"'s\" \\n", &["a", "say \"it's", "\\n"]),
        ] {
            let words = started(text);
            assert_eq!(words, wanted, "{text}");
            assert_eq!(started(&Server::started(words).text()), wanted, "{text}");
        }
        for text in ["", "  ", "'' x", "a 'b", "a \"b", "ftp://x.test", "a\0b"] {
            assert!(Server::parse(text, None, None).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_label_is_a_plain_word() {
        for (text, wanted) in [
            ("https://skills.example.com:8443/mcp?x=/a", "skills.example.com"),
            ("http://u:p@127.0.0.1:80", "127.0.0.1"),
            ("http://[::1]:8000/mcp", "1"),
            ("http://[fe80::a]/", "fe80--a"),
            ("/usr/local/bin/prowess serve", "prowess"),
            ("'./my server.py'", "my-server.py"),
            ("./..", "mcp"),
            ("é", "mcp"),
        ] {
            assert_eq!(parsed(text).label(), wanted, "{text}");
        }
    }

    #[test]
    fn what_may_be_a_secret_is_not_shown() {
        for (text, wanted) in [
            ("https://u:s3cret@x.test:8443/mcp?key=s3cret", "https://x.test:8443/mcp"),
            ("/usr/bin/env KEY=s3cret srv --token s3cret", "/usr/bin/env"),
            ("'./my server' s3cret", "./my server"),
        ] {
            assert_eq!(parsed(text).shown(), wanted, "{text}");
        }
    }
}
