//! How each client reads skills, as observed: one row for each client that was tested.
//!
//! `interop/clients-agree` runs the clients, `conformance/clients/` has their lists, and a test compares these rows
//! with them. A client without a row is assumed to read as Prowess does.

use prowess_core::client::Fact::{
    BelowHidden, BesideRootFile, BlankBody, ByteOrderMark, CarriageReturns, CompatibilityNotText,
    DescriptionEmpty, DescriptionList, DescriptionLong, DescriptionMissing, DescriptionNotText,
    DescriptionNull, Disabled, EmptyFile, FenceDashes, FenceSpaces, FileLarge, HiddenFolder, HintNotText, IdentityTwice,
    InModules, InsideSkill, Internal, KeyTwice, LeadingBlank, LeadingText, LinkedFile, LinkedFolder,
    NameColon, NameDot, NameDoubleHyphen, NameEdgeHyphen, NameLong, NameMissing, NameNotAscii, NameNotFolder,
    NameNotText, NameOther, NameSlash, NameSpace, NameUnderscore, NameUpper, NoFrontmatter, NoModel,
    NotImplicit, NotUtf8, OtherFileName, OtherPlatform, Paths, RootFile, Unclosed, Unreadable, YamlColon,
    YamlFlow, YamlOther, YamlTab,
};
use super::execution;
use prowess_core::client::{CatalogLimit, Checked, Climb, Cuts, Facts, ProjectFolder, Reads, Rewrite, Same};

/// The depth limit of clients that are not known to have a lower one.
const DEEP: u16 = 64;

/// Facts that make every client skip a skill.
const BASE: Facts = Facts::of(&[Unreadable]);
/// Facts of a file without a frontmatter that begins in its first line and ends.
const FENCED: Facts =
    Facts::of(&[EmptyFile, LeadingBlank, LeadingText, FenceDashes, Unclosed, NoFrontmatter]);
/// Facts of YAML that its specification does not allow.
const STRICT_YAML: Facts = Facts::of(&[YamlColon, YamlFlow, YamlTab, YamlOther]);
/// Facts of such YAML, and of a key that appears twice.
const NO_KEY_TWICE: Facts = STRICT_YAML.and(Facts::of(&[KeyTwice, IdentityTwice]));
/// Facts of a name with characters that the specification does not allow.
const NAME_CHARACTERS: Facts = Facts::of(&[
    NameUpper,
    NameUnderscore,
    NameDot,
    NameSpace,
    NameColon,
    NameSlash,
    NameNotAscii,
    NameOther,
]);
/// Facts of a name that the specification does not allow.
const SPEC_NAME: Facts = NAME_CHARACTERS.and(Facts::of(&[NameLong, NameDoubleHyphen, NameEdgeHyphen]));
/// Facts of a missing description.
const DESCRIBED: Facts = Facts::of(&[DescriptionMissing, DescriptionNull, DescriptionEmpty]);
/// Facts of a name or description that is not text.
const TEXTS: Facts = Facts::of(&[NameNotText, DescriptionNotText, DescriptionList]);
/// Facts of a folder whose name begins with a dot.
const NO_HIDDEN: Facts = Facts::of(&[HiddenFolder, BelowHidden]);

/// The union of these sets, the base and these facts.
const fn refuses(sets: &[Facts], more: &[prowess_core::client::Fact]) -> Facts {
    let mut all = BASE.and(Facts::of(more));
    let mut rest = sets;
    while let [first, others @ ..] = rest {
        all = all.and(*first);
        rest = others;
    }
    all
}

/// A folder that a client looks for in the current folder.
const fn here(path: &'static str) -> ProjectFolder {
    ProjectFolder { path, climb: Climb::Here }
}

/// A folder that a client looks for at the root of the repository.
const fn root(path: &'static str) -> ProjectFolder {
    ProjectFolder { path, climb: Climb::Repository }
}

/// A folder that a client looks for upwards.
const fn up(path: &'static str, climb: Climb) -> ProjectFolder {
    ProjectFolder { path, climb }
}

const fn checked(version: &'static str) -> Checked {
    Checked { version, on: "2026-11-16" }
}

/// The defaults of the rows.
const ROW: Reads = Reads { refuses: BASE, hides: Facts::NONE, ..Reads::UNKNOWN };

pub(super) const AMP: Reads = Reads {
    project: &[up(".agents/skills", Climb::BeyondRepository), up(".claude/skills", Climb::BeyondRepository)],
    user: &["~/.config/agents/skills", "~/.config/amp/skills", "~/.agents/skills", "~/.claude/skills"],
    user_first: true,
    depth: 5,
    refuses: refuses(&[FENCED, NO_KEY_TWICE, SPEC_NAME, DESCRIBED], &[InModules, CarriageReturns,
        NameMissing, NameNotText]),
    runs: execution::AMP,
    checked: Some(checked("0.0.1790142911")),
    ..ROW
};

pub(super) const AUGMENT: Reads = Reads {
    project: &[root(".augment/skills"), root(".claude/skills"), root(".agents/skills")],
    user: &["~/.augment/skills", "~/.claude/skills", "~/.agents/skills"],
    user_first: true,
    depth: DEEP,
    refuses: refuses(&[FENCED, NO_KEY_TWICE, SPEC_NAME, DESCRIBED, NO_HIDDEN], &[OtherFileName,
        CarriageReturns, ByteOrderMark, NameMissing, DescriptionLong]),
    runs: execution::AUGMENT,
    checked: Some(checked("0.36.0")),
    ..ROW
};

pub(super) const CLAUDE_CODE: Reads = Reads {
    project: &[up(".claude/skills", Climb::UpwardsBelowHome)],
    user: &["${CLAUDE_CONFIG_DIR:-~/.claude}/skills"],
    admin: &["/etc/claude-code/.claude/skills"],
    user_first: true,
    depth: 1,
    refuses: refuses(&[], &[RootFile, OtherFileName]),
    hides: Facts::of(&[NoModel, Paths]),
    by_folder: true,
    cuts: Cuts { description: Some(1_536), when_to_use: true, catalog: CatalogLimit::PercentByUse(1) },
    runs: execution::CLAUDE_CODE,
    checked: Some(checked("2.1.325")),
    ..ROW
};

pub(super) const CLINE: Reads = Reads {
    project: &[root(".clinerules/skills"), root(".cline/skills"), root(".agents/skills")],
    user: &["~/.cline/skills", "~/.agents/skills"],
    depth: 1,
    refuses: refuses(&[NO_KEY_TWICE, TEXTS], &[OtherFileName, EmptyFile, BlankBody, Disabled]),
    same: Same::Last,
    ignores_case: true,
    runs: execution::CLINE,
    checked: Some(checked("3.0.65")),
    ..ROW
};

pub(super) const CODEX: Reads = Reads {
    project: &[up(".agents/skills", Climb::Upwards), up(".codex/skills", Climb::Upwards)],
    user: &["~/.agents/skills", "${CODEX_HOME:-~/.codex}/skills", "${CODEX_HOME:-~/.codex}/skills/.system"],
    admin: &["/etc/codex/skills"],
    refuses: refuses(&[FENCED, DESCRIBED, NO_HIDDEN], &[LinkedFile, OtherFileName, NotUtf8,
        CarriageReturns, ByteOrderMark, YamlTab, YamlOther, IdentityTwice, NameLong,
        DescriptionList]),
    hides: Facts::of(&[NotImplicit]),
    same: Same::All,
    cuts: Cuts { description: Some(1_024), catalog: CatalogLimit::Percent(2), ..Cuts::UNKNOWN },
    runs: execution::CODEX,
    checked: Some(checked("0.166.0")),
    ..ROW
};

pub(super) const CONTINUE: Reads = Reads {
    project: &[here(".continue/skills"), here(".claude/skills")],
    user: &["~/.continue/skills"],
    depth: 1,
    refuses: refuses(&[NO_KEY_TWICE, TEXTS, DESCRIBED], &[RootFile, LinkedFolder, OtherFileName,
        EmptyFile, CarriageReturns, ByteOrderMark, FenceDashes, Unclosed, NoFrontmatter,
        NameMissing]),
    same: Same::All,
    runs: execution::CONTINUE,
    checked: Some(checked("1.5.47")),
    ..ROW
};

pub(super) const DEEPAGENTS: Reads = Reads {
    project: &[up(".agents/skills", Climb::RepositoryOnly), up(".deepagents/skills", Climb::RepositoryOnly)],
    user: &["~/.agents/skills", "~/.deepagents/agent/skills"],
    depth: 1,
    refuses: refuses(&[FENCED, STRICT_YAML], &[RootFile, LinkedFile, OtherFileName, NotUtf8,
        CarriageReturns, ByteOrderMark, NameMissing, DescriptionMissing, DescriptionEmpty]),
    runs: execution::DEEPAGENTS,
    checked: Some(checked("0.1.88")),
    ..ROW
};

pub(super) const DROID: Reads = Reads {
    project: &[up(".factory/skills", Climb::Upwards), up(".agents/skills", Climb::Upwards),
        up(".agent/skills", Climb::Upwards)],
    user: &["~/.factory/skills", "~/.agents/skills", "~/.agent/skills"],
    depth: DEEP,
    refuses: refuses(&[FENCED, TEXTS, NAME_CHARACTERS], &[RootFile, InsideSkill, OtherFileName,
        CarriageReturns, ByteOrderMark, FenceSpaces, YamlTab, YamlOther, NameMissing,
        DescriptionMissing, DescriptionNull, CompatibilityNotText, BlankBody, Disabled]),
    hides: Facts::of(&[NoModel]),
    runs: execution::DROID,
    checked: Some(checked("0.215.0")),
    ..ROW
};

pub(super) const GEMINI_CLI: Reads = Reads {
    project: &[here(".agents/skills"), here(".gemini/skills")],
    user: &["~/.agents/skills", "~/.gemini/skills"],
    depth: 1,
    refuses: refuses(&[FENCED], &[HiddenFolder, OtherFileName, CarriageReturns, ByteOrderMark,
        FenceSpaces, NameMissing, DescriptionMissing]),
    rewrite: Rewrite::Hyphens(":\\/<>*?\"|"),
    cuts: Cuts::NOTHING,
    runs: execution::GEMINI_CLI,
    checked: Some(checked("0.61.0")),
    ..ROW
};

pub(super) const GITHUB_COPILOT: Reads = Reads {
    project: &[up(".github/skills", Climb::UpwardsToHome), up(".agents/skills",
        Climb::UpwardsBelowHome), up(".claude/skills", Climb::UpwardsBelowHome)],
    user: &["~/.copilot/skills", "~/.agents/skills"],
    depth: DEEP,
    refuses: refuses(&[FENCED, NO_KEY_TWICE, TEXTS, NO_HIDDEN], &[BesideRootFile, InsideSkill,
        OtherFileName, CarriageReturns, NameLong, NameSlash, NameNotAscii, DescriptionNull,
        DescriptionLong, HintNotText]),
    rewrite: Rewrite::Hyphens(" "),
    cuts: Cuts::NOTHING,
    runs: execution::GITHUB_COPILOT,
    checked: Some(checked("1.0.102")),
    ..ROW
};

pub(super) const GOOSE: Reads = Reads {
    project: &[here(".agents/skills"), here(".goose/skills"), here(".claude/skills")],
    user: &["~/.agents/skills", "~/.config/agents/skills", "${XDG_CONFIG_HOME:-~/.config}/goose/skills",
        "~/.claude/skills"],
    depth: DEEP,
    refuses: refuses(&[STRICT_YAML], &[OtherFileName, EmptyFile, NotUtf8, FenceDashes, Unclosed,
        NoFrontmatter, IdentityTwice, NameMissing, NameSlash, DescriptionList]),
    cuts: Cuts::NOTHING,
    runs: execution::GOOSE,
    checked: Some(checked("1.34.0")),
    ..ROW
};

pub(super) const GROK: Reads = Reads {
    project: &[up(".grok/skills", Climb::Upwards), up(".agents/skills", Climb::Upwards),
        up(".claude/skills", Climb::Upwards), up(".cursor/skills", Climb::Upwards)],
    user: &["${GROK_HOME:-~/.grok}/skills", "~/.agents/skills", "~/.claude/skills", "~/.cursor/skills"],
    refuses: refuses(&[], &[RootFile, OtherFileName, NotUtf8, NameLong]),
    rewrite: Rewrite::Slug,
    runs: execution::GROK,
    checked: Some(checked("1.0.41")),
    ..ROW
};

pub(super) const HERMES_AGENT: Reads = Reads {
    user: &["${HERMES_HOME:-~/.hermes}/skills"],
    depth: DEEP,
    refuses: refuses(&[], &[InModules, OtherFileName, NotUtf8, NameNotText, DescriptionNotText,
        OtherPlatform]),
    rewrite: Rewrite::Cut(64),
    runs: execution::HERMES_AGENT,
    checked: Some(checked("0.19.0")),
    ..ROW
};

pub(super) const KILO: Reads = Reads {
    project: &[up(".kilo/skill", Climb::UpwardsBelowHome), up(".kilo/skills",
        Climb::UpwardsBelowHome), up(".kilocode/skills", Climb::UpwardsBelowHome),
        up(".claude/skills", Climb::Upwards), up(".agents/skills", Climb::Upwards)],
    user: &["~/.kilo/skills", "~/.kilo/skill", "~/.kilocode/skills",
        "${XDG_CONFIG_HOME:-~/.config}/kilo/skills", "${XDG_CONFIG_HOME:-~/.config}/kilo/skill",
        "~/.claude/skills", "~/.agents/skills"],
    main_checkout: true,
    cuts: Cuts::UNKNOWN,
    runs: execution::KILO,
    checked: Some(checked("7.7.9")),
    ..OPENCODE
};

pub(super) const KIMI_CODE_CLI: Reads = Reads {
    project: &[root(".kimi-code/skills"), root(".agents/skills")],
    user: &["~/.kimi-code/skills", "~/.agents/skills"],
    depth: DEEP,
    refuses: refuses(&[FENCED, NO_KEY_TWICE, TEXTS, DESCRIBED], &[RootFile, BelowHidden, InModules,
        InsideSkill, OtherFileName, CarriageReturns, NameMissing]),
    hides: Facts::of(&[NoModel]),
    ignores_case: true,
    runs: execution::KIMI_CODE_CLI,
    checked: Some(checked("2.1.0")),
    ..ROW
};

pub(super) const MISTRAL_VIBE: Reads = Reads {
    project: &[here(".vibe/skills"), here(".agents/skills")],
    user: &["${VIBE_HOME:-~/.vibe}/skills", "~/.agents/skills"],
    depth: 1,
    refuses: refuses(&[STRICT_YAML, SPEC_NAME, TEXTS, DESCRIBED], &[RootFile, OtherFileName,
        EmptyFile, LeadingText, Unclosed, NoFrontmatter, NameMissing, DescriptionLong,
        CompatibilityNotText]),
    hides: Facts::of(&[NoModel, NotImplicit]),
    runs: execution::MISTRAL_VIBE,
    checked: Some(checked("3.0.2")),
    ..ROW
};

pub(super) const OPENCLAW: Reads = Reads {
    user: &["~/.openclaw/workspace/skills", "~/.openclaw/skills", "~/.agents/skills"],
    refuses: refuses(&[FENCED, DESCRIBED, NO_HIDDEN], &[InModules, InsideSkill, LinkedFile,
        OtherFileName, FileLarge, YamlFlow, YamlTab, YamlOther, KeyTwice, IdentityTwice,
        OtherPlatform]),
    hides: Facts::of(&[NoModel]),
    runs: execution::OPENCLAW,
    checked: Some(checked("2026.9.6")),
    ..ROW
};

pub(super) const OPENCODE: Reads = Reads {
    project: &[up(".opencode/skills", Climb::UpwardsBelowHome), up(".opencode/skill",
        Climb::UpwardsBelowHome), up(".claude/skills", Climb::UpwardsBelowHome), up(".agents/skills",
        Climb::UpwardsBelowHome)],
    user: &["${XDG_CONFIG_HOME:-~/.config}/opencode/skill",
        "${XDG_CONFIG_HOME:-~/.config}/opencode/skills", "~/.opencode/skill", "~/.opencode/skills",
        "~/.claude/skills", "~/.agents/skills"],
    depth: DEEP,
    refuses: refuses(&[FENCED, TEXTS], &[OtherFileName, CarriageReturns, YamlFlow, YamlOther,
        KeyTwice, IdentityTwice, NameMissing, DescriptionNull]),
    hides: Facts::of(&[DescriptionMissing]),
    same: Same::Unstable,
    cuts: Cuts::NOTHING,
    runs: execution::OPENCODE,
    checked: Some(checked("1.18.33")),
    ..ROW
};

pub(super) const OPENHANDS: Reads = Reads {
    project: &[up(".agents/skills", Climb::HereAndRepository), up(".openhands/skills",
        Climb::HereAndRepository), up(".openhands/microagents", Climb::HereAndRepository)],
    user: &["~/.agents/skills", "~/.openhands/skills"],
    depth: 1,
    refuses: refuses(&[STRICT_YAML, SPEC_NAME, TEXTS], &[RootFile, HiddenFolder, NotUtf8,
        NameNotFolder, CompatibilityNotText]),
    cuts: Cuts { description: Some(1_024), ..Cuts::UNKNOWN },
    runs: execution::OPENHANDS,
    checked: Some(checked("1.58.0")),
    ..ROW
};

pub(super) const PI: Reads = Reads {
    project: &[here(".pi/skills"), up(".agents/skills", Climb::UpwardsBelowHome)],
    user: &["~/.pi/agent/skills", "~/.agents/skills"],
    depth: DEEP,
    refuses: refuses(&[NO_KEY_TWICE, DESCRIBED, NO_HIDDEN], &[BesideRootFile, InModules, InsideSkill,
        EmptyFile, LeadingBlank, LeadingText, Unclosed, NoFrontmatter, DescriptionNotText,
        DescriptionList]),
    hides: Facts::of(&[NoModel]),
    folder_if: Facts::of(&[NameNotText]),
    runs: execution::PI,
    checked: Some(checked("0.87.1")),
    ..ROW
};

pub(super) const QODER: Reads = Reads {
    project: &[here(".qoder/skills"), here(".agents/skills")],
    user: &["~/.qoder/skills", "~/.agents/skills"],
    user_first: true,
    depth: 4,
    refuses: refuses(&[], &[RootFile, InModules, InsideSkill, OtherFileName, EmptyFile]),
    by_folder: true,
    runs: execution::QODER,
    checked: Some(checked("1.1.52")),
    ..ROW
};

pub(super) const QWEN_CODE: Reads = Reads {
    project: &[here(".qwen/skills"), here(".agents/skills")],
    user: &["~/.qwen/skills", "~/.agents/skills"],
    depth: 1,
    refuses: refuses(&[FENCED, DESCRIBED], &[RootFile, OtherFileName, FenceSpaces, NameMissing,
        NameSpace, NameSlash]),
    hides: Facts::of(&[NoModel, Paths]),
    runs: execution::QWEN_CODE,
    checked: Some(checked("0.24.4")),
    ..ROW
};

pub(super) const REASONIX: Reads = Reads {
    project: &[root(".reasonix/skills"), root(".agents/skills"), root(".agent/skills"),
        root(".claude/skills")],
    user: &["~/.reasonix/skills", "~/.agents/skills", "~/.agent/skills", "~/.claude/skills"],
    depth: 3,
    refuses: refuses(&[NO_HIDDEN], &[InModules, InsideSkill, NameLong, NameNotAscii]),
    folder_if: Facts::of(&[NameSpace, NameColon, NameSlash, NameOther]),
    cuts: Cuts { catalog: CatalogLimit::SomeLimit, ..Cuts::UNKNOWN },
    runs: execution::REASONIX,
    checked: Some(checked("1.38.11")),
    ..ROW
};

pub(super) const UNIVERSAL: Reads = Reads {
    project: &[here(".agents/skills")],
    user: &["~/.agents/skills", "${XDG_CONFIG_HOME:-~/.config}/agents/skills"],
    depth: 1,
    refuses: refuses(&[FENCED, NO_KEY_TWICE, TEXTS, DESCRIBED], &[RootFile, OtherFileName,
        CarriageReturns, FenceSpaces, NameMissing, Internal]),
    same: Same::All,
    runs: execution::UNIVERSAL,
    checked: Some(checked("1.7.4")),
    ..ROW
};
