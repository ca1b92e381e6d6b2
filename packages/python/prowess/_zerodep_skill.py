"""One skill in the vocabulary of zerodep: ``prowess.zerodep`` has it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import _native
from ._errors import ArgumentTypeError, LoadError, ProwessError, SourceError
from ._errors import ValidationError as InvalidError
from ._skill import run
from ._values import items, mapping, number, path_text, text, texts, type_name

_FOLDERS = ("scripts", "references", "assets")
# The most characters of a name, a description and instructions that a program sets, so that they fit into a SKILL.md also
# when each character is escaped.
_NAME = 200
_DESCRIPTION = 5_000
_RANKED = 200_000


class SkillError(ProwessError):
    """The class of the exceptions of this module."""


class ParseError(SkillError):
    """A SKILL.md is missing or does not load; ``problems`` has every reason."""

    usual_code = "load"


class ValidationError(SkillError, ValueError):
    """A skill cannot be registered, since its name is taken, or cannot be written as a SKILL.md."""

    usual_code = "invalid"


def _parse_error(error: ProwessError) -> ParseError:
    made = ParseError(error.message, code=error.code, hint=error.hint, problems=error.problems)
    made.__cause__ = error
    return made


def place_of(path: object) -> Path:
    """The absolute path of a folder or a file; ``~`` is the user's folder. Paths that cannot exist are kept as they are."""
    place = Path(os.path.expanduser(path_text(path)))
    try:
        return place.resolve()
    except (OSError, RuntimeError):
        # A name that is too long, or links in a circle.
        return place


def presentable(name: object, description: object) -> dict[str, str]:
    """The name and the description of a skill of a program, as every skill must have them.

    What is blank is filled in and what is long is cut, which an ellipsis shows, so that one such skill does not hide the others.
    """

    def shown(value: object, most: int) -> str:
        written = value if isinstance(value, str) else "" if value is None else str(value)
        given = written.strip()
        cut = given if len(given) <= most else given[: most - 1].rstrip() + "…"
        return cut.encode("utf-8", "replace").decode("utf-8").strip()

    named = shown(name, _NAME) or "-"
    return {"name": named, "description": shown(description, _DESCRIPTION) or named}


def ranked(name: str, description: str, instructions: str) -> str:
    """A SKILL.md with what is ranked."""
    return str(run("fromDict", {**presentable(name, description), "instructions": instructions[:_RANKED]})["markdown"])


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
        d = mapping(d, "the fields", required=True)
        tools = d.get("allowed-tools", d.get("allowed_tools"))
        if tools is not None and not isinstance(tools, str):
            tools = run("tools", texts(tools, "the tools"))["text"]
        metadata = mapping(d.get("metadata"), "the metadata")
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
        if not isinstance(properties, SkillProperties):
            raise ArgumentTypeError(f"the properties must be SkillProperties, not {type_name(properties)}")
        if not isinstance(instructions, str):
            raise ArgumentTypeError(f"the instructions must be a str, not {type_name(instructions)}")
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
        place = place_of(path)
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
        properties = SkillProperties.from_dict(d)
        path = d.get("path")
        place = Path(path_text(path)) if path else None
        return cls(properties, d.get("instructions", ""), path=place)

    def to_dict(self) -> dict[str, Any]:
        """Its fields, its ``instructions`` and, when it has a folder, its ``path``."""
        made = {**self._properties.to_dict(), "instructions": self._instructions}
        return made if self._path is None else {**made, "path": str(self._path)}

    def to_markdown(self) -> str:
        """A SKILL.md that reads back as this skill.

        Raises:
            ValidationError: If there is none, such as for a skill without a description.
        """
        try:
            return str(run("fromDict", {**self._properties.to_dict(), "instructions": self._instructions})["markdown"])
        except InvalidError as error:
            raise ValidationError(error.message, code=error.code, hint=error.hint) from error

    def _given(self) -> dict[str, Any]:
        """What a model sees of it."""
        seen = {**presentable(self.name, self.description), "instructions": self._instructions}
        needs = self._properties.compatibility
        return {**seen, "compatibility": needs[:_DESCRIPTION]} if isinstance(needs, str) else seen

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


def skills_of(skills: object) -> list[Skill]:
    """A list of skills that must be some."""
    return [skill_of(skill) for skill in items(skills, "the skills")]


def skill_of(skill: object) -> Skill:
    """A skill that must be one."""
    if not isinstance(skill, Skill):
        raise ArgumentTypeError(f"a skill must be a Skill, not {type_name(skill)}")
    return skill


def _utf8(source: str) -> bytes:
    return text(source, "the text").encode("utf-8")
