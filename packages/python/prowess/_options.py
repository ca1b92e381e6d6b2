"""The types of options that several functions take by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from ._skills import Approve, Embed, Select, Selector


class FieldOptions(TypedDict, total=False):
    """How one field is judged."""

    profile: str | None
    levels: Mapping[str, str] | None
    names: str | None
    reserved_words: Iterable[str] | None
    folder_match: str | None
    angle_brackets: str | None
    unknown_fields: str | None


class CheckOptions(FieldOptions, total=False):
    """How a SKILL.md is judged, and where it is."""

    location: str | None
    folder: str | None
    file: str | None
    files: Iterable[Any] | None


class ChatSettings(TypedDict, total=False):
    """The settings of a chat over those of its skills."""

    policy: Mapping[str, Any] | None
    options: Mapping[str, Any] | None
    prompt: Mapping[str, Any] | None


class PromptOptions(TypedDict, total=False):
    """What a prompt looks like."""

    style: Mapping[str, Any] | None
    budget: Mapping[str, int] | str | None
    narrowing: Mapping[str, Any] | None
    folder: str | None
    preloaded: bool | None


class SearchOptions(TypedDict, total=False):
    """What a search finds."""

    tags: Sequence[str]
    top_k: int | None
    min_score: float | None
    available_tools: Iterable[str] | None
    filter: str | None


class UserOptions(ChatSettings, total=False):
    """How skills are opened, beside their sources: see :class:`Skills`."""

    profile: str | None
    levels: Mapping[str, str] | None
    duplicates: str | None
    source_errors: str | None
    selector: str | Select | Selector | None
    embed: Embed | None
    approve: Approve | None
    run: Callable[..., tuple[int | None, str]] | None
    on_error: Callable[[Exception, dict[str, Any]], object] | None
    callback_timeout: float | None


class OpenOptions(UserOptions, total=False):
    """How skills are opened: see :class:`Skills`."""

    user: bool | Mapping[str, Any]
