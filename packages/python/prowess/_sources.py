"""Sources of skills: what one is, one in memory, and how the skills of one appear."""

from __future__ import annotations

import builtins
import itertools
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Union, runtime_checkable

from ._callbacks import Caller, Held, SourceAdapter
from ._errors import ArgumentTypeError, ValidationError
from ._results import FileInfo
from ._skill import Skill
from ._values import given, mapping, optional_text, path_text, text, to_bytes, type_name


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
        source: A folder, a source specification as for ``--in``, a dict with the keys of a source in ``prowess.toml``,
            or an object with ``list`` and ``read``.
        prefix: Comes before every key, with a colon.
        mount: The folder of virtual paths in which filters see the skills.
        key_from: What keys are made of: ``name``, ``folder`` or ``id``.
        preload: Whether the skills are active from the start.
        scope: Whose skills they are: ``explicit`` by default, ``project``, ``user``, ``builtin`` or ``remote``.
        trusted: False for skills that may not be used before the user trusts them; only for a source that is an object.
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


#: What :class:`Skills` takes: a folder, a source specification as for ``--in``, a dict with the keys of a source in
#: ``prowess.toml``, a skill, an object with ``list`` and ``read``, or a :class:`Layer`.
AnySource = Union[str, "os.PathLike[str]", Mapping[str, Any], Skill, Source, Layer]


def wire(sources: Iterable[Any], caller: Caller) -> tuple[list[Any], list[SourceAdapter], list[Held]]:
    """The sources as the engine takes them, the objects among them, and what keeps these alive."""
    wired: list[Any] = []
    adapters: list[SourceAdapter] = []
    held: list[Held] = []
    taken: set[str] = set()
    for source in sources:
        layer = source if isinstance(source, Layer) else Layer(source)
        inner = layer.source
        options = given(
            prefix=optional_text(layer.prefix, "the prefix"),
            mount=optional_text(layer.mount, "the mount"),
            keyFrom=optional_text(layer.key_from, "key_from"),
            scope=optional_text(layer.scope, "the scope"),
            preload=bool(layer.preload) or None,
        )
        if isinstance(inner, (str, os.PathLike, Mapping, Skill)):
            if not layer.trusted:
                raise ValidationError("trusted=False is for a source that is an object with list and read")
            wired.append(_place(inner, options))
        elif callable(getattr(inner, "list", None)) and callable(getattr(inner, "read", None)):
            label = getattr(inner, "label", None) or type(inner).__name__
            label = _own(text(label, "the label of a source"), taken)
            wired.append({"host": len(adapters), "label": label, "trusted": bool(layer.trusted), **options})
            held.append(Held(inner))
            adapters.append(SourceAdapter(held[-1], label, caller))
        else:
            raise ArgumentTypeError(
                f"a source must be a path, a dict, a Skill or an object with list and read, not {type_name(inner)}"
            )
    return wired, adapters, held


def _own(label: str, taken: set[str]) -> str:
    """A label that no other source has: the location of a skill begins with it."""
    own = next(one for at in itertools.count(1) if (one := label if at == 1 else f"{label} ({at})") not in taken)
    taken.add(own)
    return own


def _place(source: Any, options: dict[str, Any]) -> Any:
    """A source that the engine reads itself, with the options of a layer."""
    if isinstance(source, Skill):
        if options:
            raise ValidationError("a layer of one skill has no options; use a layer of a MemorySource or of a folder")
        # By its path it has its files, and skills below it are others.
        return {"skill": source._given() if source.path is None else str(source.path)}
    place: Any
    if isinstance(source, str):
        place = text(source, "a source")
    elif isinstance(source, os.PathLike):
        place = {"dir": path_text(source, "a source")}
    else:
        place = mapping(source, "a source")
        for name in ("host", "skill", "source"):
            if name in place:
                raise ValidationError(f"a source has no such key: {name}")
    return {"source": place, **options} if options else place
