"""Prowess, the Agent Skills runtime: gives skills to a model, from folders to tool results.

A skill is a folder with a ``SKILL.md``: a name, a description and instructions, and files beside it. This is a whole
host:

    from prowess import Skills

    skills = Skills("skills")
    chat = skills.chat("chat-1")

    system = chat.prompt()                          # text for the system prompt
    tools = chat.tools("anthropic")                 # JSON for the request
    answers = chat.answer_all("anthropic", response)  # results for the calls that are ours

:class:`Skills` are the skills of folders, of the user or of any sources; :class:`Chat` is one conversation;
:class:`Skill` is one skill. The functions read, check, fix, render and search skills that a program has.
``prowess.zerodep`` has the names of zerodep's ``skills``, and ``prowess.adapters`` connects agent libraries.
"""

from ._api import (
    allows_tool,
    apply_fix,
    check,
    check_description,
    check_name,
    check_path,
    compose,
    describe,
    estimate_tokens,
    findings,
    first_collision,
    fix,
    from_dict,
    load,
    loads,
    parse,
    parse_allowed_tools,
    parse_path,
    render_activation,
    render_catalog,
    rules,
    scope_tools,
    search,
    search_by_meaning,
    to_dict,
)
from ._callbacks import CALLBACK_TIMEOUT
from ._chat import DIALECTS, Chat, Session
from ._errors import (
    ArgumentTypeError,
    BusyError,
    CallbackTimeoutError,
    ClosedError,
    ConfigError,
    DuplicateSkillError,
    LoadError,
    NotFoundError,
    ProwessError,
    RestoreError,
    SelectError,
    SkillWarning,
    SourceError,
    ValidationError,
    WatchError,
)
from ._native import __version__
from ._results import (
    Delta,
    Edit,
    FileInfo,
    Finding,
    Fix,
    Fixed,
    Hit,
    HitReason,
    Problem,
    Prompt,
    Reinjected,
    Related,
    Rendered,
    Rule,
    SourceProblem,
    Span,
    Step,
    ToolDefinition,
    ToolGrant,
    ToolList,
    ToolResult,
)
from ._skill import Skill
from ._skills import Skills
from ._sources import Layer, MemorySource, Source, SourceItem

__all__ = [
    "CALLBACK_TIMEOUT",
    "DIALECTS",
    "ArgumentTypeError",
    "BusyError",
    "CallbackTimeoutError",
    "Chat",
    "ClosedError",
    "ConfigError",
    "Delta",
    "DuplicateSkillError",
    "Edit",
    "FileInfo",
    "Finding",
    "Fix",
    "Fixed",
    "Hit",
    "HitReason",
    "Layer",
    "LoadError",
    "MemorySource",
    "NotFoundError",
    "Problem",
    "Prompt",
    "ProwessError",
    "Reinjected",
    "Related",
    "Rendered",
    "RestoreError",
    "Rule",
    "SelectError",
    "Session",
    "Skill",
    "SkillWarning",
    "Skills",
    "Source",
    "SourceError",
    "SourceItem",
    "SourceProblem",
    "Span",
    "Step",
    "ToolDefinition",
    "ToolGrant",
    "ToolList",
    "ToolResult",
    "ValidationError",
    "WatchError",
    "__version__",
    "allows_tool",
    "apply_fix",
    "check",
    "check_description",
    "check_name",
    "check_path",
    "compose",
    "describe",
    "estimate_tokens",
    "findings",
    "first_collision",
    "fix",
    "from_dict",
    "load",
    "loads",
    "parse",
    "parse_allowed_tools",
    "parse_path",
    "render_activation",
    "render_catalog",
    "rules",
    "scope_tools",
    "search",
    "search_by_meaning",
    "to_dict",
]
