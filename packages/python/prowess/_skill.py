"""One skill: its fields, its instructions and its files."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from ._callbacks import file_json
from ._errors import ArgumentTypeError, ClosedError, SourceError
from ._results import FileInfo, Problem, problems_of, record
from ._values import camel, given, items, mapping, number, of_json, optional_text, path_text, text, to_bytes, to_json, type_name

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import CheckOptions
    from ._skills import Skills

#: The limit of a read without one: no file is larger.
WHOLE = 2**53


def run(operation: str, asked: object = None, data: bytes | None = None) -> Any:
    """Runs an operation of the engine."""
    return of_json(_native.run(operation, to_json(asked), data))


def judge(profile: str | None, levels: Mapping[str, str] | None) -> dict[str, Any]:
    """A profile and the levels of rules as the engine takes them."""
    named = None if levels is None else mapping(levels, "the levels")
    return given(profile=optional_text(profile, "the profile"), levels=named)


class Skill:
    """One skill. It is read-only: a refresh of its :class:`Skills` makes new ones.

    >>> skill = Skill.parse("---\\nname: tidy-up\\ndescription: Tidies up.\\n---\\nSweep.\\n")
    >>> skill.name, skill.body
    ('tidy-up', 'Sweep.')
    """

    __slots__ = ("_at", "_list", "_made", "_path", "_skills")

    _made: Mapping[str, Any] | None
    _path: str | None
    _skills: Skills | None
    #: The list of a skill that was not read out yet, and its place there. Not a tuple: a list may have very many skills.
    _list: _native.Offered | None
    _at: int

    def __init__(self, name: str, description: str, instructions: str = "", **fields: Any) -> None:
        """A skill that a program makes. Other fields are those of the specification: ``license``, ``compatibility``,
        ``metadata``, ``allowed_tools``."""
        made = {"name": text(name, "the name"), "description": text(description, "the description"), **fields}
        made["instructions"] = text(instructions, "the instructions")
        self._made = run("fromDict", made)
        self._path = self._skills = self._list = None
        self._at = 0

    @classmethod
    def _of(cls, data: Mapping[str, Any], path: str | None = None, skills: Skills | None = None) -> Skill:
        skill = cls.__new__(cls)
        skill._made, skill._path, skill._skills, skill._list, skill._at = data, path, skills, None, 0
        return skill

    @classmethod
    def _listed(cls, data: Mapping[str, Any], skills: Skills | None) -> Skill:
        """A skill of a library. Its text is read when it is needed."""
        return cls._of(data, None, skills)

    @classmethod
    def _offered(cls, offered: _native.Offered, skills: Skills) -> list[Skill]:
        """The skills of a list. Each is read out when more of it is needed than its name and its description."""
        made = []
        new = cls.__new__
        for at in range(len(offered)):
            skill = new(cls)
            skill._made = skill._path = None
            skill._skills = skills
            skill._list = offered
            skill._at = at
            made.append(skill)
        return made

    @property
    def _data(self) -> Mapping[str, Any]:
        made = self._made
        if made is None:
            assert self._list is not None
            made = self._made = of_json(self._list.whole(self._at))
        return made

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, profile: str = "lenient", levels: Mapping[str, str] | None = None) -> Skill:
        """Loads a skill from its folder or its SKILL.md; ``~`` is the user's folder.

        Raises:
            LoadError: If the profile finds an error in it; ``problems`` has every one.
            SourceError: If it cannot be read.
        """
        # Absolute, so that its files are found after a change of the current folder.
        place = os.path.abspath(os.path.expanduser(path_text(path)))
        data = run("loadPath", {"path": place, "judge": judge(profile, levels), "units": "characters"})
        return cls._of(data, place)

    @classmethod
    def parse(cls, source: str | bytes, *, profile: str = "lenient", levels: Mapping[str, str] | None = None) -> Skill:
        """Reads a skill from the text of a SKILL.md. It has no files.

        Raises:
            LoadError: If the profile finds an error in it; ``problems`` has every one.
        """
        asked = {"judge": judge(profile, levels), "units": "characters"}
        return cls._of(run("load", asked, to_bytes(source)))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Skill:
        """The skill of fields in the specification's form, as :meth:`to_dict` returns them."""
        return cls._of(run("fromDict", mapping(fields, "the fields")))

    @property
    def key(self) -> str:
        """The name by which a library knows it; usually its name."""
        offered = self._list
        return str(self._data["key"]) if offered is None else offered.key(self._at)

    @property
    def name(self) -> str:
        """Its name."""
        offered = self._list
        return str(self._data["name"]) if offered is None else offered.name(self._at)

    @property
    def description(self) -> str:
        """What it does, and when to use it."""
        offered = self._list
        return str(self._data["description"]) if offered is None else offered.description(self._at)

    @property
    def license(self) -> str | None:
        """Its licence."""
        return self._data["license"]  # type: ignore[no-any-return]

    @property
    def compatibility(self) -> str | None:
        """What it needs."""
        return self._data["compatibility"]  # type: ignore[no-any-return]

    @property
    def metadata(self) -> dict[str, str]:
        """Its metadata, keys and texts."""
        return dict(self._data["metadata"])

    @property
    def allowed_tools(self) -> list[str] | None:
        """The tools as written; None when the field is absent."""
        tools = self._data["allowedTools"]
        return None if tools is None else list(tools)

    @property
    def tags(self) -> list[str]:
        """Its tags."""
        return list(self._data["tags"])

    @property
    def version(self) -> str | None:
        """Its version."""
        return self._data["version"]  # type: ignore[no-any-return]

    @property
    def extra(self) -> dict[str, Any]:
        """Every field that is not of the specification."""
        return copy.deepcopy(dict(self._data["extra"]))

    @property
    def invocation(self) -> dict[str, bool]:
        """Whether the ``model`` and the ``user`` may activate it."""
        return dict(self._data["invocation"])

    @property
    def scope(self) -> str:
        """Whose skill it is: ``explicit``, ``project``, ``user``, ``builtin`` or ``remote``."""
        return str(self._data["scope"])

    @property
    def location(self) -> str:
        """Where its SKILL.md is: a path, an address, or the label of a source and an id."""
        return str(self._data["location"])

    @property
    def repaired(self) -> bool:
        """Whether its frontmatter had to be repaired."""
        return bool(self._data["repaired"])

    @property
    def source(self) -> str | None:
        """The label of its source, for a skill of a library."""
        return self._data.get("source")

    @property
    def offered(self) -> bool | None:
        """Whether its library offers it, for a skill of :meth:`Skills.all`; otherwise None."""
        return self._data.get("offered")

    @property
    def why_not(self) -> str | None:
        """Why its library does not offer it, for a skill of :meth:`Skills.all`."""
        return self._data.get("whyNot")

    @property
    def obstacle(self) -> str | None:
        """Why a skill that its library lists cannot be used: ``broken``, ``disabled`` or ``untrusted``."""
        return self._data.get("obstacle")

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems that its library found in it."""
        return problems_of(self._data.get("problems") or [])

    @property
    def path(self) -> Path | None:
        """The path of its SKILL.md, when it is a file on this machine."""
        if self._path is None and self._skills is None:
            return None
        path = Path(self.location)
        return path if self._path is not None or path.is_absolute() else None

    @property
    def folder(self) -> Path | None:
        """Its folder, when it is on this machine."""
        return None if self.path is None else self.path.parent

    @property
    def body(self) -> str:
        """The instructions, without the blank lines around them. For a skill of a library they are read now."""
        return str(self._whole()["body"])

    def _whole(self) -> Mapping[str, Any]:
        if "body" in self._data:
            return self._data
        if self._skills is None:
            raise ClosedError(f"the skills of {self.key} are no longer used")
        return self._skills._run("skill", self.key)  # type: ignore[no-any-return]

    def _given(self) -> dict[str, Any]:
        """The skill as the engine takes it."""
        return dict(self._whole())

    def files(self) -> list[FileInfo]:
        """Its files, listed now; none for a skill that is a text."""
        if self._skills is not None:
            return self._skills.files(self.key)
        if self._path is None:
            return []
        return [record(FileInfo, file) for file in run("filesOfPath", self._path)]

    def read(self, path: str, *, offset: int = 0, limit: int = WHOLE) -> bytes:
        """Bytes of one of its files. No path and no link leads out of the skill."""
        if self._skills is not None:
            return self._skills.read(self.key, path, offset=offset, limit=limit)
        path = text(path, "the path")
        if self._path is None:
            raise SourceError(f"a skill that is a text has no files: {path}", code="missing")
        return _native.read_path(self._path, path, number(offset, "the offset"), number(limit, "the limit"))[0]

    def read_text(self, path: str) -> str:
        """The text of one of its files; bytes that are no UTF-8 are replaced."""
        return self.read(path).decode("utf-8", "replace")

    def to_prompt(self, options: Mapping[str, Any] | None = None) -> str:
        """The text that gives the skill to a model: its instructions in a wrapper they cannot close, and its files."""
        wanted = camel(mapping(options)) if options is not None else None
        if self._skills is not None:
            return str(self._skills._run("activation", given(key=self.key, options=wanted)))
        if self._path is not None:
            return str(run("activationOfPath", {"path": self._path, "options": wanted or {}}))
        style = (wanted or {}).get("activation") or {}
        return str(run("renderActivation", {"skill": self._given(), "style": style}))

    def describe(self) -> str:
        """The skill in a few lines: its fields, and how many files it has."""
        files = [file_json(file) for file in self.files()]
        return str(run("describe", {"skill": self._given(), "files": files}))

    def to_dict(self) -> dict[str, Any]:
        """The fields in the specification's form, then ``instructions`` and, when there is one, ``path``."""
        made = {**self._data["fields"], "instructions": self.body}
        if self.path is not None:
            made["path"] = self.location
        return made

    def to_markdown(self) -> str:
        """A SKILL.md that reads back as this skill."""
        fields = {**self._data["fields"], "instructions": self.body}
        return str(run("fromDict", fields)["markdown"])

    def check(self, **options: Unpack[CheckOptions]) -> tuple[Problem, ...]:
        """Its problems under a profile, ``spec`` by default. The options are those of :func:`check`."""
        from ._api import check, check_path

        if self.path is not None:
            return check_path(self.path, **options)
        return check(self.to_markdown(), **options)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Skill):
            return NotImplemented
        same = (self.key, self.location, self._data["fields"]) == (other.key, other.location, other._data["fields"])
        # A skill that is only listed has no text yet.
        listed = "body" not in self._data or "body" not in other._data
        return same and (listed or self._data["body"] == other._data["body"])

    def __hash__(self) -> int:
        return hash((self.key, self.location))

    def __repr__(self) -> str:
        return f"<Skill {self.key!r} at {self.location!r}>"


def given_skill(skill: object) -> dict[str, Any]:
    """A skill as the engine takes it: one of Prowess, or fields in the specification's form."""
    if isinstance(skill, Skill):
        return skill._given()
    if isinstance(skill, Mapping):
        return mapping(skill, "a skill")
    raise ArgumentTypeError(f"a skill must be a Skill or a dict with its fields, not {type_name(skill)}")


def given_skills(skills: Iterable[Any]) -> list[dict[str, Any]]:
    """Several skills as the engine takes them."""
    return [given_skill(skill) for skill in items(skills, "the skills")]
