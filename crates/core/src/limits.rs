//! The limits of the reader and of the checks, each with the reason for its value.

/// The longest name, in characters, by the specification.
pub const MAX_NAME_CHARS: usize = 64;
/// The longest description, in characters, by the specification.
pub const MAX_DESCRIPTION_CHARS: usize = 1024;
/// The longest compatibility note, in characters, by the specification.
pub const MAX_COMPATIBILITY_CHARS: usize = 500;

/// The largest frontmatter that is read, in bytes; the largest seen in 56,000 real skills is 9.6 KB.
pub const MAX_FRONTMATTER_BYTES: usize = 64 * 1024;
/// The largest SKILL.md that loads, in bytes; the largest real one is 1.08 MB.
pub const MAX_FILE_BYTES: usize = 1024 * 1024;
/// A SKILL.md with more bytes gets a warning: 29 of 56,000 real ones are larger.
pub const LARGE_FILE_BYTES: usize = 200 * 1000;
/// The most bytes before the opening fence (blank lines, a comment) when reading leniently: a licence
/// comment fits, and a long text without frontmatter is not searched.
pub const MAX_LEADING_BYTES: usize = 4 * 1024;

/// The deepest nesting of collections in the frontmatter: far more than any field needs, and little stack.
pub const MAX_YAML_DEPTH: usize = 32;
/// The most scalars and collections in the frontmatter. Those that aliases repeat count each time.
pub const MAX_YAML_NODES: usize = 10_000;
/// The most bytes of text that anchors and aliases may repeat: four times the largest frontmatter, so that a value of
/// any size can be repeated and memory stays small.
pub const MAX_YAML_COPIED_BYTES: usize = 4 * MAX_FRONTMATTER_BYTES;

/// The largest file beside the skills of a project that is parsed, in bytes: `skills.toml`, `skills.lock`,
/// `prowess.toml`, the manifest of a plugin, a client's configuration. A lock of this size has 2,500 skills.
pub const MAX_PROJECT_FILE_BYTES: usize = 1024 * 1024;
/// The most values in such a file. A table of eleven bytes takes two thousand in memory, so the bytes alone are no limit.
pub const MAX_PROJECT_FILE_VALUES: usize = 65_536;

/// The specification's advice for the length of SKILL.md, in lines.
pub const RECOMMENDED_LINES: usize = 500;
/// The specification's advice for the length of the instructions, in tokens.
pub const RECOMMENDED_TOKENS: usize = 5000;
/// The most files of a skill; hosts over MCP may refuse more.
pub const MAX_SKILL_FILES: usize = 512;
/// The most bytes of a skill; hosts over MCP may refuse more.
pub const MAX_SKILL_BYTES: u64 = 16 * 1024 * 1024;
/// The most trigger queries in a file. Each is a search, and authors write about twenty.
pub const MAX_TRIGGERS: usize = 1_000;
/// The largest file with trigger queries, in bytes: a kibibyte for each query.
pub const MAX_TRIGGER_BYTES: usize = 1024 * 1024;
/// The longest text of an activation, in bytes: four times the largest SKILL.md, so that arguments and small files have
/// room, and the text still fits into a large context.
pub const MAX_ACTIVATION_BYTES: usize = 4 * 1024 * 1024;
/// The most bytes that a session keeps of its active skills and pending calls: two of the longest activations, or a
/// thousand usual ones.
pub const MAX_KEPT_BYTES: usize = 2 * MAX_ACTIVATION_BYTES;
/// The longest glob, in bytes. No path that it could match is longer.
pub const MAX_GLOB_BYTES: usize = 1024;
