"""Calls of what a host writes: sources, selectors, embedders, approvals. Each has a limit in time.

A callback runs on a thread of its own, so that one that never returns becomes an exception. The thread is an ordinary
daemon thread of Python: it is abandoned then, and does not keep the program from ending. It ends when the callback does.
"""

from __future__ import annotations

import contextvars
import inspect
import logging
import math
import os
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ._errors import ArgumentTypeError, BusyError, CallbackTimeoutError, ClosedError, ProwessError, SelectError
from ._errors import SourceError, ValidationError, of_failure
from ._results import FileInfo, Hit, HitReason
from ._values import of_json, snake, text, to_bytes, to_json, type_name

if TYPE_CHECKING:
    from ._skills import Skills

T = TypeVar("T")

log = logging.getLogger("prowess")

#: How long a callback may take by default, in seconds.
CALLBACK_TIMEOUT = 60.0

#: How often a caller that waits looks whether its skills were closed, in seconds.
_PATIENCE = 0.05

#: How often callbacks of the same skills may be inside one another.
_NESTING = 4

#: Who calls the callbacks that are running, the outermost first. The threads of callbacks get a copy.
_running: contextvars.ContextVar[tuple[Caller, ...]] = contextvars.ContextVar("prowess_running", default=())


#: Whether the callback of this thread was abandoned.
_abandoned: contextvars.ContextVar[threading.Event | None] = contextvars.ContextVar("prowess_abandoned", default=None)


def _until_abandoned(items: Iterable[T]) -> Iterator[T]:
    """The items of a callback: a generator may go on for ever, and no caller waits for one that took too long."""
    abandoned = _abandoned.get()
    for item in items:
        if abandoned is not None and abandoned.is_set():
            return
        yield item


class Caller:
    """Calls the callbacks of some skills."""

    def __init__(self, limit: float | None) -> None:
        if limit is not None:
            if isinstance(limit, bool) or not isinstance(limit, (int, float)):
                raise ArgumentTypeError(f"callback_timeout must be a number of seconds, not {type_name(limit)}")
            if not 0 < limit < 2**63:
                raise ValidationError(f"callback_timeout must be a number of seconds above 0: {limit}")
        self.limit = limit
        self.closed = threading.Event()
        self._idle: list[_Worker] = []
        self._process = os.getpid()
        weakref.finalize(self, _end, self._idle)

    def refuse_within(self, what: str) -> None:
        """Raises if this is called by a callback of these skills."""
        if self in _running.get():
            raise BusyError(f"a callback cannot {what} the skills that it serves")

    def call(self, what: str, function: Callable[[], T]) -> T:
        """Calls a function within the limit."""
        if self.closed.is_set():
            raise ClosedError("these skills are closed")
        if _running.get().count(self) >= _NESTING:
            raise BusyError(f"{what} was called by itself {_NESTING} times; a callback that uses its skills must end")
        if self.limit is None:
            return _marked(self, function)
        worker = self._worker()
        context = contextvars.copy_context()
        abandoned = threading.Event()
        context.run(_abandoned.set, abandoned)
        worker.tasks.put(lambda: context.run(_marked, self, function))
        try:
            done, value = self._answer(worker, what, self.limit)
        except BaseException:
            # The callback is abandoned, and its thread ends after it.
            abandoned.set()
            worker.tasks.put(None)
            raise
        if self.closed.is_set():
            worker.tasks.put(None)
        else:
            self._idle.append(worker)
        if done:
            return value  # type: ignore[no-any-return]
        try:
            raise value
        finally:
            # Not in a cycle with its traceback.
            del value

    def _answer(self, worker: _Worker, what: str, limit: float) -> tuple[bool, Any]:
        """Waits for the answer of a worker."""
        until = time.monotonic() + limit
        while True:
            try:
                return worker.answers.get(timeout=max(0.0, min(_PATIENCE, until - time.monotonic())))
            except queue.Empty:
                if self.closed.is_set():
                    raise ClosedError("these skills are closed") from None
                if time.monotonic() >= until:
                    raise CallbackTimeoutError(f"{what} did not return within {limit:g} seconds") from None

    def _worker(self) -> _Worker:
        if self._process != os.getpid():
            # The threads of another process are not here.
            self._idle.clear()
            self._process = os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            return _Worker()

    def close(self) -> None:
        """Ends what is waiting."""
        self.closed.set()
        _end(self._idle)


class _Worker:
    """A thread that runs one callback after another."""

    def __init__(self) -> None:
        self.tasks: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()
        threading.Thread(
            target=_work, args=(self.tasks, self.answers), name="prowess-callback", daemon=True
        ).start()


def _work(tasks: Any, answers: Any) -> None:
    while (task := tasks.get()) is not None:
        try:
            answer = (True, task())
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is awaited.
            answer = (False, error)
        answers.put(answer)
        del task, answer


def _end(idle: list[_Worker]) -> None:
    while idle:
        idle.pop().tasks.put(None)


def _marked(caller: Caller, function: Callable[[], T]) -> T:
    token = _running.set((*_running.get(), caller))
    try:
        return function()
    finally:
        _running.reset(token)


class Held:
    """Something that a user wrote. The :class:`Skills` own it, and adapters refer to it weakly: a cycle through the
    extension module would never be collected."""

    __slots__ = ("__weakref__", "value")

    def __init__(self, value: Any) -> None:
        self.value = value


def _value(held: weakref.ref[Held]) -> Any:
    owned = held()
    if owned is None:
        raise ClosedError("these skills are no longer used")
    return owned.value


def _plain(value: T, what: str) -> T:
    """Returns a value, and refuses an awaitable."""
    if inspect.isawaitable(value):
        close = getattr(value, "close", None)
        if callable(close):
            close()
        raise ArgumentTypeError(f"{what} is async; write it without async, or run it to its end inside")
    return value


class SourceAdapter:
    """A source of the host as the extension module calls it."""

    def __init__(self, source: Held, label: str, caller: Caller) -> None:
        self._source = weakref.ref(source)
        self._label = label
        self._caller = caller

    def list(self) -> list[tuple[str, str | None, bytes | None]]:
        def work() -> list[Any]:
            listed = _plain(_value(self._source).list(), "list of a source")
            if isinstance(listed, (str, bytes)) or not isinstance(listed, Iterable):
                raise SourceError(f"the source {self._label} listed no skills, but {type_name(listed)}")
            return [self._item(one) for one in _until_abandoned(listed)]

        return self._caller.call("list of a source", work)

    def _item(self, item: Any) -> tuple[str, str | None, bytes | None]:
        if isinstance(item, str):
            return text(item, "the id of a skill"), None, None
        values = item if isinstance(item, Mapping) else {
            name: getattr(item, name, None) for name in ("id", "location", "text")
        }
        identity, location, contents = values.get("id"), values.get("location"), values.get("text")
        if not isinstance(identity, str) or not identity:
            raise SourceError(f"the source {self._label} listed something without an id: {type_name(item)}")
        return (
            text(identity, "the id of a skill"),
            None if location is None else text(str(location), "the location of a skill"),
            None if contents is None else to_bytes(contents, f"the text of {identity}"),
        )

    def files(self, identity: str) -> str | None:
        files = getattr(_value(self._source), "files", None)
        if files is None:
            return None

        def work() -> list[Any]:
            listed = _plain(files(identity), "files of a source")
            if isinstance(listed, (str, bytes)) or not isinstance(listed, Iterable):
                raise SourceError(f"the source {self._label} listed no files, but {type_name(listed)}")
            return [file_json(one) for one in _until_abandoned(listed)]

        return to_json(self._caller.call("files of a source", work))

    def read(self, identity: str, path: str) -> bytes | None:
        def work() -> bytes | None:
            contents = _plain(_value(self._source).read(identity, path), "read of a source")
            return None if contents is None else to_bytes(contents, "the contents of a file")

        return self._caller.call("read of a source", work)


def file_json(file: Any) -> Any:
    """A file as the engine takes it: its path, or what is known of it."""
    if isinstance(file, (str, os.PathLike)):
        return text(os.fspath(file), "the path of a file")
    if isinstance(file, FileInfo):
        file = {name: getattr(file, name) for name in ("path", "size", "executable", "left_out")}
    if not isinstance(file, Mapping):
        raise ArgumentTypeError(f"a file must be a path or a FileInfo, not {type_name(file)}")
    known = {"path": "path", "size": "size", "executable": "executable", "left_out": "leftOut", "leftOut": "leftOut"}
    return {known[name]: one for name, one in file.items() if name in known and one is not None}


class SelectorAdapter:
    """A selector of the host as the extension module calls it."""

    def __init__(self, select: Held, caller: Caller) -> None:
        self._select = weakref.ref(select)
        self._caller = caller
        self.skills: weakref.ref[Skills] | None = None

    def select(self, asked: str, skills: str) -> str:
        from ._skill import Skill

        wanted = of_json(asked)
        home = self.skills() if self.skills is not None else None
        listed = [Skill._listed(one, home) for one in of_json(skills)]

        def work() -> list[Any]:
            select = _value(self._select)
            hits = _plain(select(wanted["query"], listed, limit=wanted["limit"], tags=wanted["tags"]), "the selector")
            if isinstance(hits, (str, bytes)) or not isinstance(hits, Iterable):
                raise SelectError(f"the selector returned no list of hits, but {type_name(hits)}")
            return [hit_json(one) for one in _until_abandoned(hits)]

        return to_json(self._caller.call("the selector", work))


def hit_json(hit: Any) -> Any:
    """A hit of a selector: a key, a skill, a pair of key and score, a Hit or a dict."""
    key: Any = hit
    score: Any = 0.0
    why: tuple[HitReason, ...] = ()
    if isinstance(hit, Hit):
        key, score, why = hit.key, hit.score, hit.why
    elif isinstance(hit, Mapping):
        key, score = hit.get("key"), hit.get("score", 0.0)
    elif isinstance(hit, tuple) and len(hit) == 2:
        key, score = hit
    key = getattr(key, "key", key)
    if not isinstance(key, str):
        raise SelectError(f"a hit of the selector has no key: {type_name(hit)}")
    try:
        score = math.nan if isinstance(score, bool) else float(score)
    except (TypeError, ValueError, OverflowError):
        score = math.nan
    if math.isnan(score) or math.isinf(score):
        raise SelectError(f"a hit of the selector has no score that is a number: {key}")
    reasons = [{"term": one.term, "field": one.field, "score": one.score} for one in why]
    return {"key": text(key, "the key of a hit"), "score": score, "why": reasons}


class EmbedderAdapter:
    """An embedder of the host as the extension module calls it."""

    def __init__(self, embed: Held, caller: Caller) -> None:
        self._embed = weakref.ref(embed)
        self._caller = caller

    def embed(self, texts: list[str]) -> list[list[float]]:
        def work() -> list[list[float]]:
            return vectors_of(_plain(_value(self._embed)(texts), "the embedder"))

        return self._caller.call("the embedder", work)


def vectors_of(vectors: Any) -> list[list[float]]:
    """The vectors of an embedder: lists, tuples or arrays of numbers."""
    try:
        found = [[float(value) for value in _until_abandoned(vector)] for vector in _until_abandoned(vectors)]
    except (TypeError, ValueError, OverflowError) as error:
        raise SelectError(f"the embedder returned no vectors of numbers: {error}") from error
    if not all(math.isfinite(value) for vector in found for value in vector):
        raise SelectError("the embedder returned a vector with a value that is not a finite number")
    return found


class HostAdapter:
    """What else a host does, as the extension module calls it."""

    def __init__(self, parts: Held, caller: Caller) -> None:
        """``parts`` holds ``approve``, ``run`` and ``on_error``, each a function or None."""
        self._parts = weakref.ref(parts)
        self._caller = caller
        self.skills: weakref.ref[Skills] | None = None

    def _skill(self, skill: str) -> Any:
        from ._skill import Skill

        return Skill._listed(of_json(skill), self.skills() if self.skills is not None else None)

    def approve(self, skill: str, digest: str) -> bool:
        approve, _, _ = _value(self._parts)
        if approve is None:
            return False
        listed = self._skill(skill)
        return self._caller.call("the approval", lambda: _plain(approve(listed, digest), "the approval") is True)

    def run(self, skill: str, asked: str) -> tuple[int | None, str]:
        _, run, _ = _value(self._parts)
        if run is None:
            raise ProwessError("the host runs no scripts")
        listed, wanted = self._skill(skill), of_json(asked)

        def work() -> tuple[int | None, str]:
            result = _plain(
                run(listed, wanted["path"], wanted["args"], expect_digest=wanted["expectDigest"]), "run"
            )
            code, output = result
            return None if code is None else int(code), text(output, "the output of a script")

        return self._caller.call("run", work)

    def report(self, code: str, message: str, cause: BaseException | None, effect: str) -> None:
        error = cause if isinstance(cause, Exception) else of_failure(code, message, None, None, cause)
        about = {snake(name): one for name, one in of_json(effect).items()}
        if not self.told(error, about):
            log.warning("%s of %s failed: %s", about.get("kind"), about.get("key", "the skills"), message)

    def told(self, error: BaseException, about: dict[str, Any]) -> bool:
        """Tells the host what failed; false if it does not listen."""
        _, _, on_error = _value(self._parts)
        if on_error is not None:
            self._caller.call("on_error", lambda: on_error(error, about))
        return on_error is not None
