"""The skills of folders, of the user, of any sources, ready for any number of chats."""

from __future__ import annotations

import asyncio
import builtins
import os
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from . import _native
from ._api import narrowing
from ._callbacks import CALLBACK_TIMEOUT, Caller, EmbedderAdapter, Held, HostAdapter, SelectorAdapter
from ._chat import Chat, Session
from ._closing import Closing
from ._errors import ArgumentTypeError, SkillWarning
from ._results import Delta, FileInfo, Hit, SourceProblem, hit_of, record
from ._skill import WHOLE, Skill, judge
from ._sources import AnySource, wire
from ._values import camel, given, mapping, number, of_json, optional_text, path_text, seconds, text, texts, to_json, type_name
from ._watching import achanges, changes

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import ChatSettings, OpenOptions, SearchOptions, UserOptions

T = TypeVar("T")

#: Asks whether a skill with this digest may be used.
Approve = Callable[[Skill, str], bool]
#: Ranks skills for a query: ``select(query, skills, *, limit, tags)``.
Select = Callable[..., Iterable[Any]]
#: Turns texts into vectors.
Embed = Callable[[list[str]], Iterable[Iterable[float]]]


class Selector(Protocol):
    """An object that ranks skills."""

    def select(self, query: str, skills: list[Skill], *, limit: int, tags: list[str]) -> Iterable[Any]:
        """The skills that fit a query: keys, skills, pairs of a key and a score, or hits."""


class Skills(Closing):
    """The skills of some sources. Of two skills with one key, that of the earlier source is offered.

    >>> from prowess import MemorySource, Skills
    >>> skills = Skills(MemorySource({"tidy-up": "---\\nname: tidy-up\\ndescription: Tidies up.\\n---\\nSweep.\\n"}))
    >>> len(skills), "tidy-up" in skills, skills["tidy-up"].body
    (1, True, 'Sweep.')
    """

    def __init__(
        self,
        *sources: AnySource,
        user: bool | Mapping[str, Any] = False,
        profile: str | None = None,
        levels: Mapping[str, str] | None = None,
        duplicates: str | None = None,
        source_errors: str | None = None,
        policy: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        prompt: Mapping[str, Any] | None = None,
        selector: str | Select | Selector | None = None,
        embed: Embed | None = None,
        approve: Approve | None = None,
        run: Callable[..., tuple[int | None, str]] | None = None,
        on_error: Callable[[Exception, dict[str, Any]], object] | None = None,
        callback_timeout: float | None = CALLBACK_TIMEOUT,
    ) -> None:
        """Opens the sources and reads them.

        Args:
            sources: Folders, source specifications as for ``--in``, dicts with the keys of a source in ``prowess.toml``,
                skills, objects with ``list`` and ``read``, or layers of these.
            user: Whether the skills of the user are added, with the user's configuration and approvals; or a dict with
                ``from``, ``client``, ``builtins`` and ``cache``.
            profile: Offers only skills without an error under this profile.
            levels: Rules with another level than that of the profile.
            duplicates: ``first`` by default, ``last`` or ``error``.
            source_errors: What happens when a source cannot be listed. By default (``report``) the others are offered, and
                the error is one of the :attr:`problems` and goes to ``on_error`` or is a :class:`SkillWarning`. With
                ``fail`` it is raised, and so it is if no source can be listed.
            policy: What chats may show and do.
            options: How chats behave.
            prompt: The usual ``style``, ``budget`` and ``narrowing`` of prompts.
            selector: ``bm25``, ``keyword``, ``tags``, ``all``, ``embedding`` or ``fused``, or a selector of the host: a
                function ``select(query, skills, *, limit, tags)`` or an object with it.
            embed: Turns texts into vectors, for ``embedding`` and ``fused``, which it makes the default.
            approve: Asks the user whether a skill with this digest may be used.
            run: Runs a script: ``run(skill, path, args, *, expect_digest)`` returns its exit code and output.
            on_error: Gets what failed while a call was answered; without it, a warning is logged. It also gets the errors
                of sources that cannot be listed.
            callback_timeout: How long each callback may take, in seconds. Callbacks run on threads of their own; with
                None they run on the thread of the caller, without a limit.
        """
        self._caller = Caller(callback_timeout)
        wired, adapters, self._held = wire(sources, self._caller)
        asked: dict[str, Any] = given(
            duplicates=optional_text(duplicates, "duplicates"),
            sourceErrors=optional_text(source_errors, "source_errors"),
            policy=_options(policy, "the policy"),
            options=_options(options, "the options"),
            prompt=_options(prompt, "the prompt"),
        )
        asked["sources"] = wired
        if user:
            asked["user"] = {} if user is True else _user(user)
        if profile is not None or levels is not None:
            asked["judge"] = judge(profile, levels)
        for name, callback in (("embed", embed), ("approve", approve), ("run", run), ("on_error", on_error)):
            if callback is not None and not callable(callback):
                raise ArgumentTypeError(f"{name} must be a function, not {type_name(callback)}")
        ranking = None
        if isinstance(selector, str):
            asked["selector"] = text(selector, "the selector")
        elif selector is not None:
            select = getattr(selector, "select", selector)
            if not callable(select):
                raise ArgumentTypeError(
                    f"a selector must be a name, a function or an object with select, not {type_name(selector)}"
                )
            ranking = SelectorAdapter(self._hold(select), self._caller)
        host = HostAdapter(self._hold((approve, run, on_error)), self._caller)
        self._native = _native.Skills.open(
            to_json(asked),
            adapters,
            ranking,
            None if embed is None else EmbedderAdapter(self._hold(embed), self._caller),
            host,
        )
        # Weak, so that skills that are no longer used are freed.
        self._host = host
        host.skills = weakref.ref(self)
        if ranking is not None:
            ranking.skills = host.skills
        self._said: set[str] = set()
        self._say(3)

    def _hold(self, value: object) -> Held:
        self._held.append(Held(value))
        return self._held[-1]

    @classmethod
    def of_user(
        cls,
        folder: str | os.PathLike[str] | None = None,
        *,
        client: str | None = None,
        builtins: bool | None = None,
        cache: bool | None = None,
        **options: Unpack[UserOptions],
    ) -> Skills:
        """The skills of the user.

        Args:
            folder: The folder from which projects are looked for; the current one by default.
            client: The client whose folders are used; all by default.
            builtins: Whether the built-in skills are included; they are not by default.
            cache: Whether to cache what was read; it is by default.
            options: Those of :class:`Skills`.
        """
        user = {"from": folder, "client": client, "builtins": builtins, "cache": cache}
        return cls(user=given(**user) or True, **options)

    @classmethod
    async def aopen(cls, *sources: AnySource, **options: Unpack[OpenOptions]) -> Skills:
        """Opens skills in a thread."""
        return await asyncio.to_thread(lambda: cls(*sources, **options))

    def _say(self, stacklevel: int) -> None:
        """Says which sources cannot be listed, each once until it can be."""
        errors = {str(error): error for error in self._native.unlisted()}
        new = [error for message, error in errors.items() if message not in self._said]
        self._said = {*errors}
        for error in new:
            try:
                told = self._host.told(error, {"kind": "list"})
            except Exception:  # noqa: BLE001 - a report is not part of the work.
                continue
            if not told:
                warnings.warn(f"skills are left out: {error}", SkillWarning, stacklevel)

    def _changed(self, operation: str, asked: object = None) -> Delta:
        delta = record(Delta, self._run(operation, asked))
        self._say(4)
        return delta  # type: ignore[no-any-return]

    def _run(self, operation: str, asked: object = None) -> Any:
        return of_json(self._native.run(operation, to_json(asked)))

    def __len__(self) -> int:
        return int(self._run("size"))

    def __contains__(self, skill: object) -> bool:
        key = skill.key if isinstance(skill, Skill) else skill
        return isinstance(key, str) and bool(self._run("has", text(key, "the key")))

    def __iter__(self) -> Iterator[Skill]:
        return iter(self.list())

    def __getitem__(self, key: str) -> Skill:
        """The skill with this key, read now.

        Raises:
            NotFoundError: If there is none, or it is not offered.
        """
        return Skill._listed(self._run("skill", text(key, "the key")), self)

    @overload
    def get(self, key: str) -> Skill | None: ...

    @overload
    def get(self, key: str, default: T) -> Skill | T: ...

    def get(self, key: str, default: object = None) -> object:
        """The skill with this key as it is listed, or the default."""
        found = self._run("get", text(key, "the key"))
        return default if found is None else Skill._listed(found, self)

    def list(self) -> list[Skill]:
        """The skills that are offered, sorted by key. Their texts are read when they are needed."""
        return Skill._offered(self._native.offered(), self)

    def all(self) -> builtins.list[Skill]:
        """Every skill that was found, each with ``offered`` and ``why_not``."""
        return [Skill._listed(one, self) for one in self._run("all")]

    def keys(self) -> builtins.list[str]:
        """The keys of the skills that are offered, sorted."""
        return list(self._run("keys"))

    @property
    def problems(self) -> builtins.list[SourceProblem]:
        """What could not be read at the last refresh."""
        return [SourceProblem(**one) for one in self._run("problems")]

    def search(
        self,
        query: str,
        *,
        tags: Sequence[str] = (),
        top_k: int | None = 5,
        min_score: float | None = None,
        available_tools: Iterable[str] | None = None,
        filter: str | None = None,
    ) -> builtins.list[Hit]:
        """The skills that fit a task, the best first, among those that a model may see.

        Raises:
            SelectError: If the selector or the embedder fails.
        """
        asked = {
            "query": text(query, "the query"),
            "tags": texts(tags, "the tags"),
            "narrowing": narrowing(top_k, min_score, available_tools),
            "filter": optional_text(filter, "the filter"),
        }
        return [hit_of(hit) for hit in self._run("search", asked)]

    async def asearch(self, query: str, **options: Unpack[SearchOptions]) -> builtins.list[Hit]:
        """:meth:`search` in a thread."""
        return await asyncio.to_thread(self.search, query, **options)

    def files(self, key: str) -> builtins.list[FileInfo]:
        """The files of a skill."""
        return [record(FileInfo, file) for file in self._run("files", text(key, "the key"))]

    def read(self, key: str, path: str = "SKILL.md", *, offset: int = 0, limit: int = WHOLE) -> bytes:
        """Bytes of a file of a skill. No path and no link leads out of the skill."""
        key, path = text(key, "the key"), text(path, "the path")
        return self._native.read(key, path, number(offset, "the offset"), number(limit, "the limit"))[0]

    def read_text(self, key: str, path: str = "SKILL.md") -> str:
        """The text of a file of a skill; bytes that are no UTF-8 are replaced."""
        return self.read(key, path).decode("utf-8", "replace")

    def digest(self, key: str) -> str:
        """The digest over all files of a skill."""
        return str(self._run("digest", text(key, "the key")))

    def refresh(self) -> Delta:
        """Reads every source again: what changed. Chats use the new skills from their next call on.

        Until it can be listed again, a local source has no skills, and a server or site keeps those that it listed last.

        Raises:
            SourceError: If no source can be listed, or one cannot be and ``source_errors`` is ``fail``; the old skills
                stay.
            BusyError: If a callback of these skills calls it.
        """
        self._caller.refuse_within("refresh")
        return self._changed("refresh")

    async def arefresh(self) -> Delta:
        """:meth:`refresh` in a thread."""
        return await asyncio.to_thread(self.refresh)

    def register(self, skill: Skill | Mapping[str, Any] | str | os.PathLike[str], *, replace: bool = False) -> Delta:
        """Registers a skill, or the one of a folder, with precedence over all sources.

        Raises:
            DuplicateSkillError: If its key is taken, unless ``replace`` is set.
        """
        self._caller.refuse_within("change")
        asked: dict[str, Any] = {"replace": bool(replace)}
        if isinstance(skill, Skill) and skill.path is not None:
            asked["path"] = str(skill.path)
        elif isinstance(skill, (Skill, Mapping)):
            asked["skill"] = skill._given() if isinstance(skill, Skill) else mapping(skill, "the skill")
        else:
            asked["path"] = path_text(skill, "the skill")
        return self._changed("register", asked)

    def unregister(self, key: str) -> Delta:
        """Removes a skill: a registered one for good, one of a source until :meth:`put_back`.

        Raises:
            NotFoundError: If there is none.
        """
        self._caller.refuse_within("change")
        return self._changed("unregister", text(key, "the key"))

    def put_back(self, key: str) -> Delta:
        """Offers a skill of a source again that was unregistered."""
        self._caller.refuse_within("change")
        return self._changed("restore", text(key, "the key"))

    def watch(self, *, timeout: float | None = None, quiet: float | None = None, poll: float | None = None) -> Iterator[Delta]:
        """The changes of the folders as they happen, each read before it is returned.

        Without a timeout it goes on until the skills are closed; with one it ends after this many seconds without a
        change.
        """
        timeout = seconds(timeout, "the timeout")
        return changes(self, self._watch(quiet, poll), timeout)

    def _watch(self, quiet: float | None, poll: float | None) -> _native.Watch:
        self._caller.refuse_within("watch")
        return self._native.watch(self._watching(quiet, poll))

    def _watching(self, quiet: float | None, poll: float | None) -> str:
        return to_json(given(quiet=seconds(quiet, "quiet"), poll=seconds(poll, "poll")))

    def awatch(
        self, *, timeout: float | None = None, quiet: float | None = None, poll: float | None = None
    ) -> AsyncIterator[Delta]:
        """:meth:`watch` for asyncio, each wait in a thread. It watches from the first wait on. A task that is cancelled
        stops watching within a second."""
        self._caller.refuse_within("watch")
        options = self._watching(quiet, poll)
        return achanges(self, lambda: self._native.watch(options), seconds(timeout, "the timeout"))

    def chat(self, id: str = "chat", **settings: Unpack[ChatSettings]) -> Chat:
        """Starts a chat: one conversation with a model. The id distinguishes it from others.

        Args:
            id: Its id.
            settings: ``policy``, ``options`` and ``prompt`` over those of the skills.
        """
        chat = Chat(self, self._native.chat(text(id, "the id"), self._settings(settings)))
        chat.preload()
        return chat

    async def achat(self, id: str = "chat", **settings: Unpack[ChatSettings]) -> Chat:
        """:meth:`chat` in a thread: its preloaded skills are read, and may need an approval."""
        return await asyncio.to_thread(self.chat, id, **settings)

    def restore(self, state: str | Mapping[str, Any], **settings: Unpack[ChatSettings]) -> Chat:
        """Restores a chat from its :attr:`Chat.state`. Skills that no longer exist are no longer active.

        Raises:
            RestoreError: If the state cannot be read.
        """
        stored = text(state, "the state") if isinstance(state, str) else to_json(mapping(state, "the state"))
        return Chat(self, self._native.restore(stored, self._settings(settings)))

    def session(self, id: str = "session", **settings: Unpack[ChatSettings]) -> Session:
        """Starts a session without input and output, for a host that performs effects itself."""
        return Session(self, self._native.chat(text(id, "the id"), self._settings(settings)))

    def _settings(self, settings: Mapping[str, Any]) -> str:
        unknown = [name for name in settings if name not in ("policy", "options", "prompt")]
        if unknown:
            raise ArgumentTypeError(f"a chat has no such setting: {unknown[0]}; use policy, options or prompt")
        asked: dict[str, Any] = {}
        for name in ("policy", "options"):
            own = _options(settings.get(name), f"the {name}")
            if own is not None:
                # The engine puts them over the usual ones.
                asked[name] = own
        if settings.get("prompt") is not None:
            asked["prompt"] = _options(settings["prompt"], "the prompt")
        return to_json(asked)

    def close(self) -> None:
        """Ends the use of the skills. What is under way fails with a :class:`ClosedError`, and so does all after it."""
        self._caller.close()
        self._native.close()

    def __repr__(self) -> str:
        if self._caller.closed.is_set():
            return "<Skills, closed>"
        return f"<Skills, {len(self)} offered>"


def _options(value: Mapping[str, Any] | None, what: str) -> dict[str, Any] | None:
    return None if value is None else camel(mapping(value, what))


def _user(user: Mapping[str, Any]) -> dict[str, Any]:
    asked = mapping(user, "user")
    if asked.get("from") is not None:
        asked["from"] = path_text(asked["from"], "the folder")
    return asked
