"""The functions without state: read, check, fix, render and search skills that the caller has."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._callbacks import file_json, vectors_of
from ._errors import ArgumentTypeError, SelectError
from ._options import FieldOptions
from ._results import (
    Finding,
    Fix,
    Fixed,
    Hit,
    Problem,
    Rendered,
    Rule,
    ToolGrant,
    ToolList,
    hit_of,
    problems_of,
    record,
)
from ._skill import Skill, given_skill, given_skills, judge, run
from ._values import camel, given, items, mapping, number, optional_budget, optional_text, path_text, text, texts, to_bytes, type_name

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import CheckOptions

_PLACE = ("location", "folder", "file")


def _place(location: object, folder: object, file: object) -> dict[str, Any]:
    """Where a text comes from, as the engine takes it."""
    return given(
        location=optional_text(location, "the location"),
        folder=optional_text(folder, "the folder"),
        file=optional_text(file, "the file"),
    )


_OPTIONS = (*FieldOptions.__annotations__, *_PLACE, "files")


def _judged(options: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of the options of a check."""
    for name in options:
        if name not in _OPTIONS and name != "all":
            raise ArgumentTypeError(f"there is no such option: {name}; the options are {', '.join(_OPTIONS)}")
    place = _place(**{name: options.get(name) for name in _PLACE})
    others = {name: one for name, one in options.items() if name not in _PLACE and one is not None}
    files = others.pop("files", None)
    asked = {"place": place, "all": others.pop("all", False), "units": "characters"}
    known = judge(others.pop("profile", None), others.pop("levels", None))
    asked["judge"] = {**camel(others), **known}
    if files is not None:
        asked["files"] = [file_json(file) for file in items(files, "the files")]
    return asked


def parse(source: str | bytes, *, location: str | None = None, folder: str | None = None, file: str | None = None) -> Skill:
    """Reads a SKILL.md. It never fails: a broken one has as much as could be read. :func:`load` refuses it."""
    return Skill._of(run("parse", _place(location, folder, file), to_bytes(source)))


def loads(source: str | bytes, **options: Unpack[CheckOptions]) -> Skill:
    """Loads a skill from the text of a SKILL.md.

    The options are those of :func:`check`; the profile is ``lenient`` by default.

    Raises:
        LoadError: If it does not load; ``problems`` has every reason.
    """
    return Skill._of(run("load", _judged(options), to_bytes(source)))


def load(path: str | os.PathLike[str], *, profile: str = "lenient", levels: Mapping[str, str] | None = None) -> Skill:
    """Loads a skill from its folder or its SKILL.md: :meth:`Skill.load`."""
    return Skill.load(path, profile=profile, levels=levels)


def check(source: str | bytes, **options: Unpack[CheckOptions]) -> tuple[Problem, ...]:
    """The problems of a SKILL.md under a profile, each with its fix if it has one.

    Args:
        source: The text of the SKILL.md.
        options: ``profile`` (``spec`` by default, ``skills-ref``, ``anthropic``, ``plugin``, ``lenient``), ``levels`` of
            rules by their codes, ``location``, ``folder`` and ``file`` of the text, the ``files`` of the folder,
            ``names``, ``reserved_words``, ``folder_match``, ``angle_brackets`` and ``unknown_fields``.
    """
    return problems_of(run("check", _judged(options), to_bytes(source)))


def check_path(path: str | os.PathLike[str], **options: Unpack[CheckOptions]) -> tuple[Problem, ...]:
    """The problems of the skill in a folder or of a SKILL.md, with its files: what ``prowess check`` finds."""
    asked = _judged(options)
    return problems_of(run("checkPath", {"path": path_text(path), "judge": asked["judge"], "units": "characters"}))


def fix(source: str | bytes, *, all: bool = False, **options: Unpack[CheckOptions]) -> Fixed:
    """Applies the fixes, safe ones unless ``all`` is set. The options are those of :func:`check`.

    Raises:
        ValidationError: If ``source`` is bytes that are not UTF-8.
    """
    made = run("fix", _judged({**options, "all": bool(all)}), to_bytes(source))
    return Fixed(made["text"], problems_of(made["applied"]), problems_of(made["problems"]))


def findings(source: str | bytes, **options: Unpack[CheckOptions]) -> list[Finding]:
    """Everything that the rules find, without the levels of a profile."""
    return [Finding(**one) for one in run("findings", _judged(options), to_bytes(source))]


def apply_fix(source: str, fix: Fix) -> str:
    """Applies the edits of one fix to the text that it was found in."""
    return fix.apply(source)


def rules() -> list[Rule]:
    """Every rule, with its level in each profile."""
    return [Rule(**one) for one in run("rules")]


def check_name(name: str, **options: Unpack[FieldOptions]) -> tuple[Problem, ...]:
    """The problems of a name by itself."""
    judge = _judged(options)["judge"]
    return problems_of(run("checkName", {"text": text(name, "the name"), "judge": judge, "units": "characters"}))


def check_description(description: str, **options: Unpack[FieldOptions]) -> tuple[Problem, ...]:
    """The problems of a description by itself."""
    asked = {"text": text(description, "the description"), "judge": _judged(options)["judge"], "units": "characters"}
    return problems_of(run("checkDescription", asked))


def _tools(value: object, what: str = "the tools") -> Any:
    return text(value, what) if isinstance(value, str) else texts(value, what)


def parse_allowed_tools(value: str | Iterable[str]) -> ToolList:
    """Reads the value of ``allowed-tools``: a text or a list."""
    tools = run("tools", _tools(value))
    return ToolList(tools["form"], tuple(ToolGrant(**grant) for grant in tools["grants"]), tools["text"])


def allows_tool(tools: str | Iterable[str], tool: str, argument: str | None = None) -> bool:
    """Whether ``allowed-tools`` grants a tool with an argument."""
    asked = {"tools": _tools(tools), "tool": text(tool, "the tool")}
    return bool(run("allows", {**asked, "argument": optional_text(argument, "the argument")}))


def scope_tools(tools: Iterable[str], lists: Iterable[str | Iterable[str] | None]) -> list[str]:
    """The tools of the host that every list leaves; None as a list leaves all."""
    wanted = [None if one is None else _tools(one, "a list of tools") for one in items(lists, "the lists")]
    return list(run("scopeTools", {"tools": texts(tools, "the tools"), "lists": wanted}))


def parse_path(path: str | bytes, *, reading: str = "request") -> dict[str, str]:
    """Reads a path in a skill: ``{"path"}``, or ``{"rule", "message"}`` if a rule refuses it.

    ``reading`` is ``request`` for a path of a model or a user, ``strict`` for a stored one, ``name`` for one name.
    """
    if isinstance(path, (bytes, bytearray)):
        return dict(run("path", {"reading": "bytes"}, bytes(path)))
    return dict(run("path", {"path": text(path, "the path"), "reading": text(reading, "the reading")}))


def first_collision(paths: Iterable[str]) -> tuple[str, str] | None:
    """The first two paths that are one file on some file system, or None."""
    found = run("collision", texts(paths, "the paths"))
    return None if found is None else (found[0], found[1])


def render_catalog(
    skills: Iterable[Skill | Mapping[str, Any]],
    *,
    style: Mapping[str, Any] | None = None,
    budget: Mapping[str, int] | None = None,
) -> Rendered:
    """The catalog of skills for a prompt, and its estimated tokens.

    ``style`` has ``shape`` (``xml`` by default, ``skills-ref-xml``, ``compact``, ``markdown``, ``plain``, ``json``) and
    how it is laid out; ``budget`` is ``{"tokens": n}`` or ``{"characters": n}``.
    """
    asked = given(skills=given_skills(skills), style=camel(mapping(style, "the style")), budget=optional_budget(budget))
    return record(Rendered, run("renderCatalog", asked))  # type: ignore[no-any-return]


def render_activation(
    skill: Skill | Mapping[str, Any],
    *,
    folder: str | None = None,
    files: Iterable[Any] = (),
    inlined: Mapping[str, str] | None = None,
    style: Mapping[str, Any] | None = None,
) -> str:
    """The text that gives a skill to a model."""
    asked = given(
        skill=given_skill(skill),
        folder=folder,
        files=[file_json(file) for file in items(files, "the files")],
        inlined=mapping(inlined, "the inlined files"),
        style=camel(mapping(style, "the style")),
    )
    return str(run("renderActivation", asked))


def compose(texts_of_skills: Iterable[str]) -> str:
    """Several activations as one text."""
    return str(run("compose", texts(texts_of_skills, "the texts")))


def describe(skill: Skill | Mapping[str, Any], files: Iterable[Any] = ()) -> str:
    """One skill in a few lines."""
    listed = [file_json(file) for file in items(files, "the files")]
    return str(run("describe", {"skill": given_skill(skill), "files": listed}))


def to_dict(
    source: str | bytes,
    *,
    whole: bool = False,
    location: str | None = None,
    folder: str | None = None,
    file: str | None = None,
) -> dict[str, Any]:
    """The fields of a SKILL.md in the specification's form; with ``whole``, its instructions and path too.

    Raises:
        LoadError: If it does not load; ``problems`` has every reason.
    """
    asked = {"place": _place(location, folder, file), "whole": bool(whole), "units": "characters"}
    return dict(run("toDict", asked, to_bytes(source)))


def from_dict(fields: Mapping[str, Any]) -> Skill:
    """The skill of fields in the specification's form."""
    return Skill.from_dict(fields)


def estimate_tokens(source: str) -> int:
    """An estimate of the tokens of a text."""
    return int(run("tokens", text(source, "the text")))


def narrowing(
    top_k: int | None = 5,
    min_score: float | None = None,
    available_tools: Iterable[str] | None = None,
    **others: Any,
) -> dict[str, Any]:
    """How many skills a query selects, as the engine takes it; ``top_k`` None is all."""
    tools = None if available_tools is None else texts(available_tools, "the tools")
    if top_k is not None:
        top_k = number(top_k, "top_k")
    if isinstance(min_score, bool) or not isinstance(min_score, (int, float, type(None))):
        raise ArgumentTypeError(f"min_score must be a number, not {type_name(min_score)}")
    return {"topK": top_k, **given(minScore=min_score, availableTools=tools), **camel(others)}


def search(
    skills: Iterable[Skill | Mapping[str, Any]],
    query: str,
    *,
    selector: str = "bm25",
    tags: Sequence[str] = (),
    top_k: int | None = 5,
    min_score: float | None = None,
    available_tools: Iterable[str] | None = None,
) -> list[Hit]:
    """The skills that fit a query, the best first: by ``bm25``, ``keyword``, ``tags`` or ``all``."""
    asked = {
        "query": text(query, "the query"),
        "tags": texts(tags, "the tags"),
        "selector": text(selector, "the selector"),
        "narrowing": narrowing(top_k, min_score, available_tools),
    }
    return [hit_of(hit) for hit in run("search", {"skills": given_skills(skills), "asked": asked})]


def search_by_meaning(
    skills: Iterable[Skill | Mapping[str, Any]],
    query: str,
    embed: Callable[[list[str]], Iterable[Iterable[float]]],
    *,
    selector: str = "embedding",
    top_k: int | None = 5,
    min_score: float | None = None,
    available_tools: Iterable[str] | None = None,
) -> list[Hit]:
    """The same by the vectors of a model: ``embed`` takes texts and returns a vector for each."""
    listed = given_skills(skills)
    wanted = [*run("embeddedTexts", listed), text(query, "the query")]
    distinct = list(dict.fromkeys(wanted))
    try:
        vectors = vectors_of(embed(distinct))
    except SelectError:
        raise
    except Exception as error:
        raise SelectError(f"the texts could not be embedded: {error}") from error
    if len(vectors) != len(distinct):
        raise SelectError(f"the embedder returned {len(vectors)} vectors for {len(distinct)} texts")
    asked = {
        "query": wanted[-1],
        "selector": text(selector, "the selector"),
        "narrowing": narrowing(top_k, min_score, available_tools),
        "vectors": {"texts": distinct, "vectors": vectors},
    }
    return [hit_of(hit) for hit in run("search", {"skills": listed, "asked": asked})]
