//! The rules about the file as a whole: encoding, fences and YAML.

use crate::finding::rule::rules;

rules! {
    NOT_UTF8 = "not-utf8" [E E E E W],
        "the file is not UTF-8",
        "Every reader of SKILL.md expects UTF-8. Bytes that are not UTF-8 are read as `?`.\n\nSave the file as UTF-8.";
    BYTE_ORDER_MARK = "byte-order-mark" [W E W W O],
        "the file begins with a byte order mark",
        "A byte order mark is invisible, and several readers then see no frontmatter at all.\n\nSave the file as UTF-8 without it.";
    FILE_UNREADABLE = "file-unreadable" [E E E E E],
        "SKILL.md cannot be read",
        "SKILL.md exists and cannot be read: a file without permission, a broken or circular link, a FIFO or a device, or a source that did not respond.\n\nPut a regular file that this user may read in its place.";
    FILE_TOO_LARGE = "file-too-large" [E E E E E],
        "SKILL.md is larger than the limit",
        "A SKILL.md of more than 1 MiB is not loaded.\n\nMove material into files under `references/` and name them in the text.";
    FRONTMATTER_MISSING = "frontmatter-missing" [E E E E E],
        "there is no frontmatter",
        "A SKILL.md begins with a line `---`, YAML with at least `name` and `description`, and another line `---`.\n\n```\n---\nname: my-skill\ndescription: What it does and when to use it.\n---\n```";
    FRONTMATTER_UNCLOSED = "frontmatter-unclosed" [E E E E E],
        "the frontmatter has no closing fence",
        "The frontmatter ends with a line that has only `---`.";
    FRONTMATTER_TOO_LARGE = "frontmatter-too-large" [E E E E E],
        "the frontmatter is larger than the limit",
        "A frontmatter of more than 64 KiB is not read; it is loaded into every prompt, so it should be far smaller.\n\nMove the text into the body.";
    FRONTMATTER_EMPTY = "frontmatter-empty" [E E E E E],
        "the frontmatter is empty",
        "Write at least `name` and `description` between the fences.";
    FRONTMATTER_NOT_MAPPING = "frontmatter-not-mapping" [E E E E E],
        "the frontmatter is not a list of keys and values",
        "The frontmatter is a YAML mapping: lines of `key: value`.";
    FENCE_LEADING_TEXT = "fence-leading-text" [E E E E W],
        "text precedes the opening fence",
        "The opening `---` must be the first line, at the left margin. Many readers see no frontmatter otherwise.\n\nRemove everything before it.";
    FENCE_IRREGULAR = "fence-irregular" [E E E E W],
        "the closing fence is not a line of three dashes",
        "The frontmatter ends with a line that is exactly `---`. A similar line was read as the fence, because the text cannot be read without one.";
    YAML_SYNTAX = "yaml-syntax" [E E E E W],
        "the frontmatter is not valid YAML, but could be repaired",
        "The original error is shown. The usual cause is a colon followed by a space inside a value without quotes.\n\n```\ndescription: Use when: the user asks     # wrong\ndescription: 'Use when: the user asks'   # right\n```\n\nThe lenient reader quotes such values; strict readers drop the skill.";
    YAML_UNREADABLE = "yaml-unreadable" [E E E E E],
        "the frontmatter is not valid YAML and could not be repaired",
        "Correct the place that is shown. When in doubt, put the value in quotes.";
    YAML_LIMIT = "yaml-limit" [E E E E E],
        "the frontmatter is deeper or larger than the limits",
        "Collections may nest 32 deep and the whole frontmatter may have 10 000 values. What aliases repeat counts each time, up to 256 KiB of text; an alias inside the value that it repeats never ends.";
    YAML_ANCHOR = "yaml-anchor" [W E W W W],
        "the frontmatter uses an anchor or an alias",
        "`*name` repeats the value that is marked with `&name`. Most clients support this; the reference validator refuses the file, and simple readers read `*name` and `&name` as text. What aliases repeat counts against the limits of the frontmatter.\n\nWrite the value out.";
    YAML_TAG = "yaml-tag" [E E E E E],
        "the frontmatter uses a YAML tag",
        "Tags such as `!!str` or `!custom` mean different things to different readers. They are not read.\n\nRemove the tag, or quote a value that begins with `!`.";
    YAML_MERGE_KEY = "yaml-merge-key" [E E E E E],
        "the frontmatter uses a merge key",
        "`<<` belongs to YAML 1.1 and is not read.\n\nWrite the keys out.";
    YAML_SEVERAL_DOCUMENTS = "yaml-several-documents" [E E E E E],
        "the frontmatter has more than one YAML document",
        "The frontmatter is one YAML document; remove the line `...` and what follows it.";
    YAML_COMPLEX_KEY = "yaml-complex-key" [E E E E W],
        "a key is a list or a mapping",
        "Keys are plain text. A value such as `{placeholder}` without quotes is read as a mapping; put it in quotes.";
    YAML_FLOW_STYLE = "yaml-flow-style" [O E O O O],
        "a value is written in brackets",
        "`[a, b]` and `{a: b}` are YAML, but the reference validator refuses them.\n\nWrite the items on lines of their own.";
    DUPLICATE_KEY = "duplicate-key" [E E E E W],
        "a key appears twice",
        "Readers disagree about which of the two counts. Read leniently, the last one does.\n\nKeep one.";
    DUPLICATE_IDENTITY = "duplicate-identity" [E E E E E],
        "name or description appears twice",
        "A skill whose name or description is ambiguous could show one text to a reviewer and another to an agent. It is not loaded.\n\nKeep one.";
}
