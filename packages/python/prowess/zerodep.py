"""The names of zerodep's ``skills`` on Prowess: the same arguments and defaults, with the reading of Prowess.

    from prowess.zerodep import Skill, SkillRegistry

    registry = SkillRegistry()
    registry.discover("~/.agents/skills", ".agents/skills")
    matches = registry.select("convert a PDF", top_k=5)
    catalog = registry.to_catalog([match.skill for match in matches])

`docs/embed/python.md` of the project lists the differences, each with its reason.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from . import _native
from ._errors import LoadError, ProwessError, SourceError
from ._skill import run
from ._skills import Skills
from ._sources import Layer, SourceItem
from ._values import number, path_text, text, texts

__all__ = [
    "BM25Selector",
    "KeywordSelector",
    "ParseError",
    "SelectionResult",
    "Selector",
    "Skill",
    "SkillError",
    "SkillProperties",
    "SkillRegistry",
    "ValidationError",
    "compose",
    "discover",
    "filter_compatible",
    "load",
    "loads",
    "to_catalog",
    "validate",
]

_FOLDERS = ("scripts", "references", "assets")


class SkillError(ProwessError):
    """The class of the exceptions of this module."""


class ParseError(SkillError):
    """A SKILL.md is missing or does not load; ``problems`` has every reason."""

    usual_code = "load"


class ValidationError(SkillError, ValueError):
    """A skill does not follow the specification."""

    usual_code = "invalid"


def _parse_error(error: ProwessError) -> ParseError:
    made = ParseError(error.message, code=error.code, hint=error.hint, problems=error.problems)
    made.__cause__ = error
    return made


@dataclass
class SkillProperties:
    """The fields of a SKILL.md."""

    name: str
    description: str
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The fields in the specification's form; those without a value are left out."""
        optional = {
            "license": self.license,
            "compatibility": self.compatibility,
            "allowed-tools": self.allowed_tools,
            "metadata": dict(self.metadata) or None,
        }
        made = {"name": self.name, "description": self.description}
        return {**made, **{key: value for key, value in optional.items() if value is not None}}

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> SkillProperties:
        """The fields of a dictionary; ``allowed_tools`` and ``allowed-tools`` are one.

        Raises:
            KeyError: If the name or the description is missing.
        """
        tools = d.get("allowed-tools", d.get("allowed_tools"))
        if tools is not None and not isinstance(tools, str):
            tools = run("tools", texts(tools, "the tools"))["text"]
        metadata = d.get("metadata") or {}
        return cls(
            d["name"],
            d["description"],
            d.get("license"),
            d.get("compatibility"),
            tools,
            {str(key): str(value) for key, value in metadata.items()},
        )


class Skill:
    """One skill: its properties, its instructions, and the folder that it is in."""

    __slots__ = ("_instructions", "_path", "_properties")

    def __init__(self, properties: SkillProperties, instructions: str, *, path: Path | None = None) -> None:
        self._properties = properties
        self._instructions = instructions
        self._path = path

    @property
    def path(self) -> Path | None:
        """The folder of the skill; None for a text."""
        return self._path

    @property
    def properties(self) -> SkillProperties:
        """Its fields."""
        return self._properties

    @property
    def instructions(self) -> str:
        """The text after the frontmatter."""
        return self._instructions

    @property
    def name(self) -> str:
        """Its name."""
        return self._properties.name

    @property
    def description(self) -> str:
        """What it does, and when to use it."""
        return self._properties.description

    @property
    def scripts(self) -> list[Path]:
        """The files in ``scripts/``, sorted."""
        return self._resources("scripts")

    @property
    def references(self) -> list[Path]:
        """The files in ``references/``, sorted."""
        return self._resources("references")

    @property
    def assets(self) -> list[Path]:
        """The files in ``assets/``, sorted."""
        return self._resources("assets")

    def _files(self) -> list[dict[str, Any]]:
        """The files in the three folders."""
        if self._path is None:
            return []
        try:
            listed = run("filesOfPath", path_text(self._path))
        except SourceError:
            return []
        files = [file for file in listed if "leftOut" not in file and file["path"].count("/") == 1]
        return [file for file in files if file["path"].split("/")[0] in _FOLDERS]

    def _resources(self, folder: str) -> list[Path]:
        if self._path is None:
            return []
        return sorted(self._path / file["path"] for file in self._files() if file["path"].startswith(f"{folder}/"))

    @classmethod
    def load(cls, path: str | Path) -> Skill:
        """Loads a skill from its folder or its SKILL.md; ``~`` is the user's folder.

        Raises:
            ParseError: If there is none, or it does not load.
        """
        place = Path(path_text(path)).expanduser().resolve()
        try:
            data = run("loadPath", {"path": str(place), "units": "characters"})
        except (LoadError, SourceError) as error:
            raise _parse_error(error) from error
        return cls._of(data, place.parent if place.is_file() else place)

    @classmethod
    def loads(cls, text: str) -> Skill:
        """Reads a skill from the text of a SKILL.md.

        Raises:
            ParseError: If it does not load.
        """
        try:
            return cls._of(run("load", {"units": "characters"}, _utf8(text)), None)
        except LoadError as error:
            raise _parse_error(error) from error

    @classmethod
    def _of(cls, data: Mapping[str, Any], path: Path | None) -> Skill:
        properties = SkillProperties.from_dict({**data["fields"], "metadata": data["metadata"]})
        return cls(properties, data["rawBody"], path=path)

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Skill:
        """The skill of a dictionary, as :meth:`to_dict` returns it."""
        path = d.get("path")
        return cls(SkillProperties.from_dict(d), d.get("instructions", ""), path=Path(path) if path else None)

    def to_dict(self) -> dict[str, Any]:
        """Its fields, its ``instructions`` and, when it has a folder, its ``path``."""
        made = {**self._properties.to_dict(), "instructions": self._instructions}
        return made if self._path is None else {**made, "path": str(self._path)}

    def to_markdown(self) -> str:
        """A SKILL.md that reads back as this skill."""
        return str(run("fromDict", self._given())["markdown"])

    def _given(self) -> dict[str, Any]:
        return {**self._properties.to_dict(), "instructions": self._instructions}

    def describe(self) -> str:
        """Its name and its description."""
        return f"{self.name}: {self.description}"

    def to_prompt(self, *, inline_resources: bool = False, max_inline_bytes: int = 64 * 1024) -> str:
        """The text that gives the skill to a model, with the list of its files, or with their contents."""
        limit = number(max_inline_bytes, "max_inline_bytes")
        files = self._files()
        inlined = {}
        if inline_resources:
            for file in files:
                contents = self._contents(file["path"], limit)
                if contents is not None:
                    inlined[file["path"]] = contents
        asked = {"skill": self._given(), "files": files, "inlined": inlined, "style": {"maxInlineBytes": limit}}
        return str(run("renderActivation", asked))

    def _contents(self, path: str, limit: int) -> str | None:
        """The text of a file that is small enough and is a text."""
        assert self._path is not None
        try:
            contents, size = _native.read_path(str(self._path), path, 0, limit)
            return contents.decode("utf-8") if size <= limit else None
        except (LoadError, SourceError, UnicodeDecodeError):
            return None

    def __repr__(self) -> str:
        return f"Skill(name={self.name!r}, path={self._path})"


def _utf8(source: str) -> bytes:
    return text(source, "the text").encode("utf-8")


@dataclass
class SelectionResult:
    """A skill that was selected, and its score."""

    skill: Skill
    score: float


@runtime_checkable
class Selector(Protocol):
    """Ranks skills: any object with this ``select``."""

    def select(self, query: str, skills: list[Skill], top_k: int) -> list[SelectionResult]:
        """The best skills, at most ``top_k``."""
        ...


class _Listed:
    """Skills as a source whose ids are their places, so that equal scores keep the order."""

    label = "skills"

    def __init__(self, skills: list[Skill]) -> None:
        self._skills = skills

    def list(self) -> list[SourceItem]:
        return [SourceItem(f"{at:08}", skill.to_markdown()) for at, skill in enumerate(self._skills)]

    def read(self, id: str, path: str) -> None:
        return None


class _Indexed:
    """A selector of Prowess over the skills that it got last. It reads them again when one of them changed."""

    _selector: ClassVar[str]

    def __init__(self) -> None:
        self._contents: list[tuple[str, str, str]] | None = None
        self._index: Skills | None = None

    def select(self, query: str, skills: list[Skill], top_k: int) -> list[SelectionResult]:
        """The best skills, at most ``top_k``; of equal scores in the order of ``skills``."""
        contents = [(skill.name, skill.description, skill.instructions) for skill in skills]
        if self._index is None or contents != self._contents:
            self._index = Skills(Layer(_Listed(skills), key_from="id"), selector=self._selector)
            self._contents = contents
        hits = self._index.search(text(query, "the query"), top_k=number(top_k, "top_k"))
        return [SelectionResult(skills[int(hit.key)], hit.score) for hit in hits]


class KeywordSelector(_Indexed):
    """Ranks by the part of the query's words that the name and the description have."""

    _selector = "keyword"


class BM25Selector(_Indexed):
    """Ranks by the words of name, description and instructions."""

    _selector = "bm25"


class SkillRegistry:
    """Skills by their names."""

    def __init__(self) -> None:
        self._skills: dict[str, Skill] = {}
        self._usual = KeywordSelector()

    def register(self, skill: Skill, *, override: bool = False) -> None:
        """Registers a skill.

        Raises:
            ValueError: If there is one with its name, unless ``override`` is set.
        """
        if skill.name in self._skills and not override:
            raise ValidationError(f"there is a skill with this name: {skill.name}", code="taken")
        self._skills[skill.name] = skill

    def unregister(self, name: str) -> None:
        """Removes a skill.

        Raises:
            KeyError: If there is none with this name.
        """
        self.get(name)
        del self._skills[name]

    def get(self, name: str) -> Skill:
        """The skill with this name.

        Raises:
            KeyError: If there is none.
        """
        if name not in self._skills:
            raise KeyError(f"there is no skill with this name: {name}")
        return self._skills[name]

    def list(self) -> builtins.list[Skill]:
        """All skills."""
        return [*self._skills.values()]

    def __len__(self) -> int:
        return len(self._skills)

    def __contains__(self, name: object) -> bool:
        return name in self._skills

    def __iter__(self) -> Iterator[Skill]:
        return iter(self._skills.values())

    def discover(self, *paths: str | Path, recursive: bool = False, override: bool = False) -> builtins.list[Skill]:
        """Registers the skills in the folders of each path, or below them too, and returns those that are new."""
        found = []
        for path in paths:
            for skill in _discovered(path, recursive):
                if override or skill.name not in self._skills:
                    self._skills[skill.name] = skill
                    found.append(skill)
        return found

    def select(
        self,
        query: str,
        *,
        top_k: int = 5,
        min_score: float = 0.0,
        available_tools: Iterable[str] | None = None,
        selector: Selector | None = None,
    ) -> builtins.list[SelectionResult]:
        """The skills that fit a query, the best first."""
        skills = self.list()
        if available_tools is not None:
            skills = filter_compatible(skills, available_tools)
        if not skills:
            return []
        chosen = self._usual if selector is None else selector
        return [result for result in chosen.select(query, skills, top_k) if result.score >= min_score]

    def to_catalog(self, skills: Iterable[Skill] | None = None) -> str:
        """The list of skills for a system prompt; all by default."""
        return to_catalog(self.list() if skills is None else skills)

    def __repr__(self) -> str:
        return f"SkillRegistry([{', '.join(sorted(self._skills))}])"


def _discovered(path: str | Path, recursive: bool) -> list[Skill]:
    root = Path(path_text(path)).expanduser().resolve()
    if not root.is_dir():
        return []
    found = run("discover", {"roots": [str(root)], "recursive": bool(recursive)})
    skills = [Skill._of(one, Path(one["location"]).parent) for one in found]
    return sorted((skill for skill in skills if skill.path != root), key=lambda skill: str(skill.path))


def load(path: str | Path) -> Skill:
    """Loads a skill from its folder or its SKILL.md."""
    return Skill.load(path)


def loads(text: str) -> Skill:
    """Reads a skill from the text of a SKILL.md."""
    return Skill.loads(text)


def discover(*paths: str | Path, recursive: bool = False) -> list[Skill]:
    """The skills in the folders of each path, or below them too. Of two with one name, the first counts."""
    return SkillRegistry().discover(*paths, recursive=recursive)


def validate(path: str | Path) -> list[str]:
    """What is wrong with the skill in a folder; empty when it is valid."""
    place = Path(path_text(path)).expanduser()
    if not place.is_dir():
        return [f"this is not a folder: {place}"]
    judge = {"profile": "spec", "names": "ascii-kebab-letter-first", "unknownFields": "error", "folderMatch": "error"}
    try:
        problems = run("checkPath", {"path": str(place.resolve()), "judge": judge})
    except SourceError as error:
        return [error.message]
    return [problem["message"] for problem in problems if problem["severity"] == "error"]


def to_catalog(skills: Iterable[Skill]) -> str:
    """The list of skills for a system prompt, as XML with the place of each SKILL.md."""
    listed = []
    for skill in skills:
        fields = {key: value for key, value in skill._given().items() if key != "instructions"}
        place = {} if skill.path is None else {"location": str(skill.path / "SKILL.md")}
        listed.append({"key": skill.name, "fields": fields, **place})
    if not listed:
        return "<available_skills>\n</available_skills>"
    style = {"shape": "xml", "location": True, "indent": False}
    return str(run("renderCatalog", {"skills": listed, "style": style})["text"])


def compose(*skills: Skill) -> str:
    """The texts that give several skills to a model, as one."""
    return str(run("compose", [skill.to_prompt() for skill in skills]))


def filter_compatible(skills: Iterable[Skill], available_tools: Iterable[str]) -> list[Skill]:
    """The skills whose tools are all available. Names are compared without their patterns and without case."""
    candidates = list(skills)
    keyed = [{**skill.properties.to_dict(), "key": f"{at:08}"} for at, skill in enumerate(candidates)]
    narrowing = {"topK": None, "availableTools": texts(available_tools, "the tools")}
    asked = {"query": "any", "selector": "all", "narrowing": narrowing}
    return [candidates[int(hit["key"])] for hit in run("search", {"skills": keyed, "asked": asked})]
