"""What Prowess returns: small immutable records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ._values import snake


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text, in characters as Python counts; line and column are those of its start, from 1."""

    start: int
    end: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of the characters from ``start`` to ``end``."""

    start: int
    end: int
    replacement: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that remove a problem; ``safe`` if they may be applied without asking."""

    title: str
    safe: bool
    edits: tuple[Edit, ...]

    def apply(self, text: str) -> str:
        """The text with the edits, if it is the one in which they were found."""
        for edit in sorted(self.edits, key=lambda edit: (edit.start, edit.end), reverse=True):
            text = text[: edit.start] + edit.replacement + text[edit.end :]
        return text


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that a problem is about."""

    message: str
    span: Span


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding judged by a profile: ``severity`` is ``error``, ``warning`` or ``info``."""

    code: str
    severity: str
    message: str
    field: str | None = None
    help: str | None = None
    span: Span | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | None = None

    def __str__(self) -> str:
        place = f"{self.span.line}:{self.span.column}: " if self.span else ""
        return f"{place}{self.severity}[{self.code}]: {self.message}"


@dataclass(frozen=True, slots=True)
class Finding:
    """What the rules find, whatever a profile makes of it."""

    code: str
    field: str | None
    message: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, and its level in each profile."""

    code: str
    summary: str
    explanation: str
    levels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Fixed:
    """A text after its fixes: what was fixed, and what is left."""

    text: str
    applied: tuple[Problem, ...]
    problems: tuple[Problem, ...]


# A tuple, since a search makes many of them.
class HitReason(NamedTuple):
    """One part of a score. ``instead_of`` is the word of the query for which ``term`` stands in."""

    term: str
    field: str
    score: float
    instead_of: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A skill that fits a query; the scores of ``why`` add up to ``score``."""

    key: str
    score: float
    why: tuple[HitReason, ...] = ()


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file of a skill. ``left_out`` says why an entry of the folder is none."""

    path: str
    size: int | None = None
    executable: bool = False
    left_out: str | None = None


@dataclass(frozen=True, slots=True)
class ToolGrant:
    """One of the tools of ``allowed-tools``; ``balanced`` if it can be read with certainty."""

    raw: str
    name: str
    pattern: str | None
    balanced: bool


@dataclass(frozen=True, slots=True)
class ToolList:
    """The tools of ``allowed-tools``: how they are separated, each of them, and all in the specification's form."""

    form: str
    grants: tuple[ToolGrant, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """A catalog as text, its estimated tokens, and what a budget cut."""

    text: str
    tokens: int
    included: int
    omitted: tuple[str, ...]
    shortened: int
    within: bool

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Delta:
    """What a refresh changed: keys of skills."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    newly_broken: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed or self.newly_broken)


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """Something that could not be read at the last refresh."""

    code: str
    message: str
    hint: str | None

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call. ``reason`` is None if it is ``ok``, otherwise a stable code."""

    ok: bool
    text: str
    data: Any
    reason: str | None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool with which a model uses skills."""

    name: str
    description: str
    input_schema: dict[str, Any]
    read_only: bool
    idempotent: bool
    parallel_safe: bool


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text for a system prompt with a report: the skills in it, and what the budget cut.

    ``not_narrowed`` says why a query did not narrow the skills: ``no-selector``, ``empty-query``, ``nothing-found`` or
    ``failed``.
    """

    text: str
    tokens: int
    skills: tuple[str, ...]
    total: int
    included: int
    omitted: tuple[str, ...]
    shortened: int
    not_narrowed: str | None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Reinjected:
    """The texts of the active skills for a context that was compacted."""

    text: str
    included: tuple[str, ...]
    cut: tuple[str, ...]
    omitted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """The next step of a call: ``done`` with its result, or ``effect`` that the host performs, with its ``ticket``.

    An effect is a dict with its ``kind``: ``files``, ``read``, ``search``, ``approve`` or ``run``.
    """

    done: ToolResult | None = None
    ticket: str | None = None
    effect: dict[str, Any] | None = field(default=None)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def record(kind: type[Any], value: Mapping[str, Any]) -> Any:
    """A record of an object of the engine; members that it does not have are left out."""
    known = kind.__dataclass_fields__
    members = {snake(name): _tuple(one) for name, one in value.items()}
    return kind(**{name: one for name, one in members.items() if name in known})


def span_of(value: Mapping[str, Any] | None) -> Span | None:
    return None if value is None else Span(**value)


def problem_of(value: Mapping[str, Any]) -> Problem:
    fix = value.get("fix")
    return Problem(
        code=value["code"],
        severity=value["severity"],
        message=value["message"],
        field=value.get("field"),
        help=value.get("help"),
        span=span_of(value.get("span")),
        related=tuple(Related(one["message"], Span(**one["span"])) for one in value.get("related") or ()),
        fix=None if fix is None else Fix(fix["title"], fix["safe"], tuple(Edit(**edit) for edit in fix["edits"])),
    )


def problems_of(values: list[Mapping[str, Any]]) -> tuple[Problem, ...]:
    return tuple(problem_of(value) for value in values)


def hit_of(value: Mapping[str, Any]) -> Hit:
    why = [HitReason(one["term"], one["field"], one["score"], one.get("insteadOf")) for one in value["why"]]
    return Hit(value["key"], value["score"], tuple(why))


def step_of(value: Mapping[str, Any]) -> Step:
    if "done" in value:
        return Step(done=ToolResult(**value["done"]))
    return Step(ticket=value["ticket"], effect={snake(name): one for name, one in value["effect"].items()})
