//! What the patterns of `allowed-tools` match: names of tools, paths and commands.

use crate::path::RelPath;

/// Tools whose argument is a path. Any other argument is read as a command, the stricter of the two.
const PATH_TOOLS: [&str; 9] =
    ["Read", "Write", "Edit", "MultiEdit", "NotebookRead", "NotebookEdit", "Glob", "Grep", "LS"];

/// Whether the name of a grant is about a tool.
pub(super) fn name(grant: &str, tool: &str) -> bool {
    let same = |a: &u8, b: &u8| a.eq_ignore_ascii_case(b);
    if grant.contains('*') {
        return wild(grant.as_bytes(), tool.as_bytes(), |byte| *byte == b'*', same, |_| true);
    }
    if grant.eq_ignore_ascii_case(tool) {
        return true;
    }
    // `mcp__server` has no further `__`; with one it is the name of a single tool.
    let is_server = grant.split_at_checked(5).is_some_and(|(mcp, server)| {
        mcp.eq_ignore_ascii_case("mcp__") && !server.is_empty() && !server.contains("__")
    });
    is_server
        && tool
            .split_at_checked(grant.len())
            .is_some_and(|(server, rest)| server.eq_ignore_ascii_case(grant) && rest.starts_with("__"))
}

/// Whether a pattern with `*` matches an argument of the tool.
pub(super) fn argument(tool: &str, pattern: &str, argument: &str) -> bool {
    if !pattern.contains('*') {
        false
    } else if PATH_TOOLS.iter().any(|known| known.eq_ignore_ascii_case(tool)) {
        path(pattern, argument)
    } else {
        command(pattern, argument)
    }
}

fn path(pattern: &str, argument: &str) -> bool {
    let (pattern_root, pattern) = root(pattern);
    let (argument_root, argument) = root(argument);
    if pattern_root != argument_root {
        return false;
    }
    let Ok(argument) = RelPath::from_request(argument) else { return false };
    let names: Vec<&str> = pattern.trim_start_matches("./").split('/').collect();
    let components: Vec<&str> = argument.components().collect();
    let same = |pattern: &&str, name: &&str| {
        wild(pattern.as_bytes(), name.as_bytes(), |byte| *byte == b'*', u8::eq, |_| true)
    };
    wild(&names, &components, |name| *name == "**", same, |_| true)
}

/// Splits off what makes a path absolute; a relative pattern says nothing about absolute paths.
fn root(path: &str) -> (&str, &str) {
    let rest = path.strip_prefix("~/").unwrap_or(path).trim_start_matches('/');
    path.split_at_checked(path.len() - rest.len()).unwrap_or(("", path))
}

fn command(pattern: &str, argument: &str) -> bool {
    let glob = |pattern: &str| {
        wild(
            pattern.as_bytes(),
            argument.as_bytes(),
            |byte| *byte == b'*',
            u8::eq,
            |byte| !matches!(byte, b';' | b'&' | b'|' | b'<' | b'>' | b'$' | b'`' | b'\n' | b'\r' | 0),
        )
    };
    match pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *")) {
        Some(head) => glob(head) || [' ', '\t', ':'].iter().any(|next| glob(&format!("{head}{next}*"))),
        None => glob(pattern),
    }
}

/// Matches a sequence against a pattern in which a star matches any run of skippable elements.
///
/// On a mismatch only the last star is tried with a longer run: were an earlier one to take more, the last
/// could take it instead, and where the last is stopped by an element that may not be skipped, an earlier
/// one is stopped by one before it. Hence no recursion, and at most `pattern × text` steps.
pub(super) fn wild<P, T>(
    pattern: &[P],
    text: &[T],
    is_star: impl Fn(&P) -> bool,
    same: impl Fn(&P, &T) -> bool,
    may_skip: impl Fn(&T) -> bool,
) -> bool {
    let (mut pattern, mut text) = (pattern, text);
    // Where to go on after the last star, in the pattern and in the text.
    let mut retry: Option<(&[P], &[T])> = None;
    loop {
        match (pattern, text) {
            ([], []) => return true,
            ([star, after @ ..], _) if is_star(star) => {
                pattern = after;
                retry = Some((after, text));
            }
            ([expected, after @ ..], [found, rest @ ..]) if same(expected, found) => {
                (pattern, text) = (after, rest);
            }
            _ => match retry {
                Some((after, [skipped, rest @ ..])) if may_skip(skipped) => {
                    (pattern, text) = (after, rest);
                    retry = Some((after, rest));
                }
                _ => return false,
            },
        }
    }
}
