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
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from ._errors import ArgumentTypeError, SkillWarning, SourceError
from ._skill import run
from ._skills import Skills
from ._sources import Layer, SourceItem
from ._values import number, path_text, text, texts, type_name
from ._zerodep_skill import ParseError, Skill, SkillError, SkillProperties, ValidationError
from ._zerodep_skill import place_of, presentable, ranked, skill_of, skills_of

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


# The most characters of the tools of a skill.
_TOOLS = 32_000
_WORD = re.compile(r"\w+")


def _words(written: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(written))


class KeywordSelector:
    """Ranks by the part of the query's words that the name and the description have."""

    def __init__(self) -> None:
        # The words of the skills that it got last, so that they are found once.
        self._known: dict[tuple[str, str], frozenset[str]] = {}

    def select(self, query: str, skills: list[Skill], top_k: int) -> list[SelectionResult]:
        """The best skills, at most ``top_k``; of equal scores in the order of ``skills``."""
        wanted, limit = _words(text(query, "the query")), number(top_k, "top_k")
        skills = skills_of(skills)
        if not wanted:
            return []
        known: dict[tuple[str, str], frozenset[str]] = {}
        found = []
        for skill in skills:
            about = (skill.name, skill.description)
            words = self._known.get(about)
            if words is None:
                words = _words(" ".join(about))
            known[about] = words
            shared = len(wanted & words)
            if shared:
                found.append(SelectionResult(skill, shared / len(wanted)))
        self._known = known
        found.sort(key=lambda one: one.score, reverse=True)
        return found[:limit]


class _Listed:
    """Skills as a source whose ids are their places, so that equal scores keep the order."""

    label = "skills"

    def __init__(self, contents: list[tuple[str, str, str]]) -> None:
        self._contents = contents

    def list(self) -> list[SourceItem]:
        return [SourceItem(f"{at:08}", ranked(*one)) for at, one in enumerate(self._contents)]

    def read(self, id: str, path: str) -> None:
        return None


class BM25Selector:
    """Ranks by the words of name, description and instructions. It reads the skills again when one of them changed."""

    def __init__(self) -> None:
        # One value, since several threads may select at once.
        self._indexed: tuple[list[tuple[str, str, str]], Skills] | None = None

    def select(self, query: str, skills: list[Skill], top_k: int) -> list[SelectionResult]:
        """The best skills, at most ``top_k``; of equal scores in the order of ``skills``."""
        skills = skills_of(skills)
        contents = [(skill.name, skill.description, skill.instructions) for skill in skills]
        indexed = self._indexed
        if indexed is None or indexed[0] != contents:
            indexed = contents, Skills(Layer(_Listed(contents), key_from="id"), selector="bm25", callback_timeout=None)
            self._indexed = indexed
        hits = indexed[1].search(text(query, "the query"), top_k=number(top_k, "top_k"))
        return [SelectionResult(skills[int(hit.key)], hit.score) for hit in hits]


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
        skill_of(skill)
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
        if text(name, "the name") not in self._skills:
            raise KeyError(f"there is no skill with this name: {name}")
        return self._skills[name]

    def list(self) -> builtins.list[Skill]:
        """All skills."""
        return [*self._skills.values()]

    def __len__(self) -> int:
        return len(self._skills)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._skills

    def __iter__(self) -> Iterator[Skill]:
        return iter(self._skills.values())

    def discover(self, *paths: str | Path, recursive: bool = False, override: bool = False) -> builtins.list[Skill]:
        """Registers the skills in the folders of each path, or below them too, and returns those that are new. What cannot
        be read or loaded is a :class:`prowess.SkillWarning`."""
        return self._discover(paths, recursive, override, 4)

    def _discover(
        self, paths: Iterable[str | Path], recursive: bool, override: bool, stacklevel: int
    ) -> builtins.list[Skill]:
        found = []
        for path in paths:
            for skill in _discovered(path, recursive, stacklevel):
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
        if isinstance(min_score, bool) or not isinstance(min_score, (int, float)):
            raise ArgumentTypeError(f"min_score must be a number, not {type_name(min_score)}")
        if selector is not None and not callable(getattr(selector, "select", None)):
            raise ArgumentTypeError(f"a selector must be an object with select, not {type_name(selector)}")
        skills = self.list()
        if available_tools is not None:
            skills = filter_compatible(skills, available_tools)
        if not skills:
            return []
        chosen = self._usual if selector is None else selector
        results = chosen.select(query, skills, top_k)
        # Without a limit, negative scores of a selector count too.
        return [result for result in results if result.score >= min_score] if min_score > 0 else results

    def to_catalog(self, skills: Iterable[Skill] | None = None) -> str:
        """The list of skills for a system prompt; all by default."""
        return to_catalog(self.list() if skills is None else skills)

    def __repr__(self) -> str:
        return f"SkillRegistry([{', '.join(sorted(self._skills))}])"


def _discovered(path: str | Path, recursive: bool, stacklevel: int) -> list[Skill]:
    root = place_of(path)
    if not os.path.isdir(root):
        return []
    found = run("discover", {"roots": [path_text(root)], "recursive": bool(recursive)})
    for problem in found["problems"]:
        # None vanishes silently.
        warnings.warn(f"a skill is left out: {problem['message']}", SkillWarning, stacklevel)
    skills = (Skill._of(one, Path(one["location"]).parent) for one in found["skills"])
    return sorted(skills, key=lambda skill: str(skill.path))


def load(path: str | Path) -> Skill:
    """Loads a skill from its folder or its SKILL.md."""
    return Skill.load(path)


def loads(text: str) -> Skill:
    """Reads a skill from the text of a SKILL.md."""
    return Skill.loads(text)


def discover(*paths: str | Path, recursive: bool = False) -> list[Skill]:
    """The skills in the folders of each path, or below them too. Of two with one name, the first counts. What cannot be read
    or loaded is a :class:`prowess.SkillWarning`."""
    return SkillRegistry()._discover(paths, recursive, False, 4)


def validate(path: str | Path) -> list[str]:
    """What is wrong with the skill in a folder; empty when it is valid."""
    place = place_of(path)
    if not os.path.isdir(place):
        return [f"this is not a folder: {place}"]
    judge = {"profile": "spec", "names": "ascii-kebab-letter-first", "unknownFields": "error", "folderMatch": "error"}
    try:
        problems = run("checkPath", {"path": str(place), "judge": judge})
    except SourceError as error:
        return [error.message]
    return [problem["message"] for problem in problems if problem["severity"] == "error"]


def to_catalog(skills: Iterable[Skill]) -> str:
    """The list of skills for a system prompt, as XML with the place of each SKILL.md."""
    listed = []
    for skill in skills_of(skills):
        fields = presentable(skill.name, skill.description)
        place = {} if skill.path is None else {"location": str(_file_of(skill.path))}
        listed.append({"key": fields["name"], "fields": fields, **place})
    if not listed:
        return "<available_skills>\n</available_skills>"
    style = {"shape": "xml", "location": True, "indent": False}
    return str(run("renderCatalog", {"skills": listed, "style": style})["text"])


def _file_of(folder: Path) -> Path:
    """The SKILL.md of a folder; the folder itself if it has none."""
    files = (folder / name for name in ("SKILL.md", "skill.md"))
    return next((file for file in files if file.is_file()), folder)


def compose(*skills: Skill) -> str:
    """The texts that give several skills to a model, as one."""
    return str(run("compose", [skill.to_prompt() for skill in skills_of(skills)]))


def _tools(skill: Skill) -> dict[str, str]:
    """The field with the tools of a skill. Tools that do not fit into a SKILL.md become ``-``, which no host has."""
    tools = skill.properties.allowed_tools
    if tools is None:
        return {}
    return {"allowed-tools": tools if isinstance(tools, str) and len(tools) < _TOOLS else "-"}


def filter_compatible(skills: Iterable[Skill], available_tools: Iterable[str]) -> list[Skill]:
    """The skills whose tools are all available. Names are compared without their patterns and without case."""
    candidates = skills_of(skills)
    keyed = [{"name": "-", "description": "-", **_tools(skill), "key": f"{at:08}"} for at, skill in enumerate(candidates)]
    narrowing = {"topK": None, "availableTools": texts(available_tools, "the tools")}
    asked = {"query": "any", "selector": "all", "narrowing": narrowing}
    return [candidates[int(hit["key"])] for hit in run("search", {"skills": keyed, "asked": asked})]
