"""Sources of skills: what one is, one in memory, and how the skills of one appear."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Union, runtime_checkable

from ._callbacks import Caller, SourceAdapter
from ._errors import ArgumentTypeError, ValidationError
from ._results import FileInfo
from ._skill import Skill
from ._values import given, mapping, path_text, text, to_bytes, type_name


@dataclass(frozen=True, slots=True)
class SourceItem:
    """A skill that a source lists: its id, and if the source has them at hand its text and the place of its SKILL.md."""

    id: str
    text: str | bytes | None = None
    location: str | None = None


@runtime_checkable
class Source(Protocol):
    """Where skills come from: any object with ``list`` and ``read``, perhaps also ``files`` and a ``label``.

    ``list`` returns the ids of the skills, or a :class:`SourceItem` or a dict for each. ``read`` returns the text or the
    bytes of a file, and None when there is none. ``files`` returns the paths of the files of a skill, or a
    :class:`FileInfo` for each; without it, a skill has only its SKILL.md.
    """

    def list(self) -> Iterable[Any]:
        """The skills that the source has now."""

    def read(self, id: str, path: str) -> str | bytes | None:
        """A file of a skill; None when there is none."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A source, and how its skills appear.

    Attributes:
        source: A folder, a text as after ``--in``, or an object with ``list`` and ``read``.
        prefix: Comes before every key, with a colon.
        mount: The folder of virtual paths in which filters see the skills.
        key_from: What keys are made of: ``name``, ``folder`` or ``id``.
        preload: Whether the skills are active from the start.
        scope: Whose skills they are, for a source that is an object.
        trusted: False for skills that may not be used before the user trusts them, for a source that is an object.
    """

    source: Any
    prefix: str | None = None
    mount: str | None = None
    key_from: str | None = None
    preload: bool = False
    scope: str | None = None
    trusted: bool = True


class MemorySource:
    """Skills in memory: for each id the text of a SKILL.md, or its files by path.

    >>> source = MemorySource({"tidy-up": "---\\nname: tidy-up\\ndescription: Tidies up.\\n---\\nSweep.\\n"})
    >>> source.list()
    ['tidy-up']
    """

    def __init__(self, skills: Mapping[str, Any], *, label: str = "memory") -> None:
        self.label = text(label, "the label")
        self._skills: dict[str, dict[str, bytes]] = {}
        for identity, contents in mapping(skills, "the skills").items():
            files = contents if isinstance(contents, Mapping) else {"SKILL.md": contents}
            self._skills[identity] = {
                text(path, "the path of a file"): to_bytes(one, f"the contents of {path}") for path, one in files.items()
            }

    def list(self) -> list[str]:
        """The ids of the skills."""
        return [*self._skills]

    def files(self, id: str) -> builtins.list[FileInfo]:
        """The files of a skill."""
        return [FileInfo(path, len(contents)) for path, contents in self._skills.get(id, {}).items()]

    def read(self, id: str, path: str) -> bytes | None:
        """A file of a skill."""
        return self._skills.get(id, {}).get(path)


#: What :class:`Skills` takes: a folder, a text as after ``--in``, a dict with the keys of a source in ``prowess.toml``, a
#: skill, an object with ``list`` and ``read``, or a :class:`Layer`.
AnySource = Union[str, "os.PathLike[str]", Mapping[str, Any], Skill, Source, Layer]


def wire(sources: Iterable[Any], caller: Caller) -> tuple[list[Any], list[SourceAdapter]]:
    """The sources as the engine takes them, and the objects among them."""
    wired: list[Any] = []
    adapters: list[SourceAdapter] = []
    for source in sources:
        layer = source if isinstance(source, Layer) else Layer(source)
        options = given(
            prefix=layer.prefix, mount=layer.mount, key_from=layer.key_from, preload=layer.preload or None
        )
        inner = layer.source
        if isinstance(inner, Skill):
            folder = inner.folder if inner.path is not None else None
            wired.append({"skill": inner._given()} if folder is None else _table({"dir": folder}, options))
        elif isinstance(inner, str):
            wired.append(text(inner, "a source") if not options else _table(_spec(inner), options))
        elif isinstance(inner, os.PathLike):
            wired.append(_table({"dir": path_text(inner, "a source")}, options))
        elif isinstance(inner, Mapping):
            wired.append(_table(mapping(inner, "a source"), options))
        elif callable(getattr(inner, "list", None)) and callable(getattr(inner, "read", None)):
            label = getattr(inner, "label", None) or type(inner).__name__
            label = text(label, "the label of a source")
            layered = {"host": len(adapters), "label": label, "scope": layer.scope, "trusted": layer.trusted}
            if "key_from" in options:
                options["keyFrom"] = options.pop("key_from")
            wired.append(given(**layered, **options))
            adapters.append(SourceAdapter(inner, label, caller))
        else:
            raise ArgumentTypeError(
                f"a source must be a path, a dict, a Skill or an object with list and read, not {type_name(inner)}"
            )
    return wired, adapters


def _spec(place: str) -> dict[str, Any]:
    """A place alone, for which a layer has options."""
    place = text(place, "a source")
    lower = place.lower()
    if "=" in place:
        raise ValidationError("a source with options is a path or an address, or has its options in its text")
    if lower.startswith(("https://", "http://")):
        return {"url": place}
    if lower.endswith((".jsonl", ".ndjson")):
        return {"jsonl": place}
    if lower.endswith((".skill", ".zip", ".tar.gz", ".tgz")):
        return {"archive": place}
    return {"dir": place}


def _table(table: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """A source as a table of `prowess.toml`."""
    if "mount" in options:
        options["mount_as"] = options.pop("mount")
    for name in ("host", "skill"):
        if name in table:
            raise ValidationError(f"a source has no such key: {name}")
    return {**table, **options}
