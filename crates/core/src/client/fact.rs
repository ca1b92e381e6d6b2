//! [`Fact`]: a property of a SKILL.md or of its place that clients treat differently, in one table.

/// Declares the facts: the variant, its code, the statement, what to do about it, and the fields that it is about.
macro_rules! facts {
    ($($variant:ident $code:literal $what:literal $fix:literal $(of $($field:literal),+)?;)+) => {
        /// A property of a skill that clients treat differently.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Fact {
            $(#[doc = concat!("`", $code, "`: ", $what, ".")] $variant,)+
        }

        impl Fact {
            /// All facts, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The code in JSON and in the reference.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }

            /// The statement, as a sentence without a full stop.
            pub const fn what(self) -> &'static str {
                match self { $(Self::$variant => $what,)+ }
            }

            /// What to do about it, as an instruction.
            pub const fn fix(self) -> &'static str {
                match self { $(Self::$variant => $fix,)+ }
            }

            /// The fields of the frontmatter that it is about, of those that the specification does not have.
            pub const fn fields(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($($field),+)?],)+ }
            }
        }
    };
}

facts! {
    RootFile "root-file" "its SKILL.md is directly in a folder of skills" "move it into a folder of its own";
    BesideRootFile "beside-root-file" "a SKILL.md is directly in the folder of skills beside it" "move that SKILL.md into a folder of its own";
    HiddenFolder "hidden-folder" "the name of its folder begins with a dot" "rename the folder";
    BelowHidden "below-hidden" "it is below a folder whose name begins with a dot" "move it out of that folder";
    InModules "in-node-modules" "it is in node_modules" "move it out of node_modules";
    InsideSkill "inside-skill" "it is inside another skill" "move it beside that skill";
    LinkedFolder "linked-folder" "its folder is reached through a link" "put a copy there instead of the link";
    LinkedFile "linked-file" "its SKILL.md is a link" "put a copy there instead of the link";
    OtherFileName "file-name" "its file is not named SKILL.md in this case" "rename the file to SKILL.md";
    OtherSpelling "file-name-spelling" "its file is named neither SKILL.md nor skill.md" "rename the file to SKILL.md";
    Unreadable "unreadable" "its SKILL.md cannot be read" "make it a regular file that you may read";
    NotRead "not-read" "Prowess does not read it, since its SKILL.md is a link to another file" "put a copy there instead of the link";
    FileLarge "file-large" "its SKILL.md is larger than 256 kB" "move text into files under references/";
    EmptyFile "empty-file" "its SKILL.md is empty" "write a frontmatter with name and description";
    NotUtf8 "not-utf8" "its SKILL.md is not UTF-8" "save the file as UTF-8";
    CarriageReturns "carriage-returns" "its lines end with a carriage return alone" "save the file with line feeds";
    ByteOrderMark "byte-order-mark" "its SKILL.md begins with a byte order mark" "save the file without it";
    LeadingBlank "leading-blank" "a blank line precedes its frontmatter" "remove everything before the first ---";
    LeadingText "leading-text" "text precedes its frontmatter" "remove everything before the first ---";
    FenceSpaces "fence-spaces" "spaces follow a fence of its frontmatter" "write exactly --- on the line";
    FenceDashes "fence-dashes" "a fence of its frontmatter has more than three dashes" "write exactly --- on the line";
    Unclosed "frontmatter-unclosed" "its frontmatter has no closing fence" "end it with a line ---";
    NoFrontmatter "frontmatter-missing" "it has no frontmatter" "begin the file with ---, name and description, and ---";
    YamlColon "yaml-colon" "a value has an unquoted colon" "put the value in quotes";
    YamlFlow "yaml-flow" "a value begins with a bracket and is not a list" "put the value in quotes";
    YamlTab "yaml-tab" "its YAML is indented with a tab" "indent with spaces";
    YamlOther "yaml-syntax" "its YAML has a syntax error" "correct its YAML";
    KeyTwice "key-twice" "a field of its frontmatter appears twice" "keep one of them";
    IdentityTwice "identity-twice" "its name or description appears twice" "keep one of them";
    NameMissing "name-missing" "it has no name" "add a name";
    NameNotText "name-not-text" "its name is not text" "put the name in quotes";
    NameLong "name-long" "its name has more than 64 characters" "shorten the name";
    NameNotFolder "name-not-folder" "its name is not that of its folder" "give the folder the name of the skill";
    NameUpper "name-upper" "its name has upper-case letters" "use lower-case letters, digits and hyphens";
    NameUnderscore "name-underscore" "its name has an underscore" "use lower-case letters, digits and hyphens";
    NameDot "name-dot" "its name has a dot" "use lower-case letters, digits and hyphens";
    NameSpace "name-space" "its name has a space" "use lower-case letters, digits and hyphens";
    NameColon "name-colon" "its name has a colon" "use lower-case letters, digits and hyphens";
    NameSlash "name-slash" "its name has a slash" "use lower-case letters, digits and hyphens";
    NameNotAscii "name-not-ascii" "its name has characters outside of ASCII" "use lower-case letters, digits and hyphens";
    NameOther "name-characters" "its name has other characters" "use lower-case letters, digits and hyphens";
    NameDoubleHyphen "name-double-hyphen" "its name has two hyphens in a row" "use single hyphens";
    NameEdgeHyphen "name-edge-hyphen" "its name begins or ends with a hyphen" "remove that hyphen";
    DescriptionMissing "description-missing" "it has no description" "add a description";
    DescriptionNull "description-null" "its description has no value" "write a description";
    DescriptionEmpty "description-empty" "its description is empty" "write a description";
    DescriptionNotText "description-not-text" "its description is a number or a boolean" "put the description in quotes";
    DescriptionList "description-list" "its description is a list or a mapping" "write the description as text";
    DescriptionLong "description-long" "its description has more than 1024 characters" "shorten the description";
    CompatibilityNotText "compatibility-not-text" "its compatibility is not text" "write the compatibility as text";
    HintNotText "argument-hint-not-text" "its argument-hint is a list" "put the argument-hint in quotes" of "argument-hint";
    BlankBody "blank-body" "it has no instructions below its frontmatter" "write instructions";
    NoModel "no-model" "it says disable-model-invocation: true" "remove disable-model-invocation" of "disable-model-invocation";
    Paths "paths" "it is for certain paths only" "remove paths" of "paths";
    Internal "internal" "its metadata says internal: true" "remove internal";
    Disabled "disabled" "it says that it is disabled" "remove disabled and enabled" of "disabled", "enabled";
    OtherPlatform "other-platform" "it is for another platform" "change platforms, or metadata.openclaw" of "platforms";
    OneOfSeveral "one-of-several" "other skills have this name, and the client takes one or the other" "rename all but one";
    NotImplicit "not-implicit" "agents/openai.yaml says allow_implicit_invocation: false" "remove allow_implicit_invocation";
}
