"""The exceptions of Prowess. Each has a stable ``code``, a message, and sometimes a ``hint`` or ``problems``."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._results import Problem


class ProwessError(Exception):
    """The class of every exception that Prowess raises.

    Attributes:
        code: The stable name of the kind of failure, such as ``missing``.
        message: What could not be done.
        hint: What to do about it, if the message does not say it.
        problems: The problems of a skill that does not load; otherwise empty.
    """

    usual_code: ClassVar[str] = "failed"

    code: str
    message: str
    hint: str | None
    problems: tuple[Problem, ...]

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        hint: str | None = None,
        problems: Sequence[Problem] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = self.usual_code if code is None else code
        self.hint = hint
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class ValidationError(ProwessError, ValueError):
    """An argument that cannot be used: an unknown option, a wrong value, a str that is not valid Unicode."""

    usual_code = "invalid"


class ArgumentTypeError(ValidationError, TypeError):
    """An argument of the wrong type."""


class LoadError(ProwessError):
    """A skill does not load; ``problems`` has every reason."""

    usual_code = "load"


class SourceError(ProwessError):
    """A source could not list its skills, or a file could not be read."""

    usual_code = "source"


class NotFoundError(SourceError, KeyError):
    """No skill has this key, or it is not offered."""

    usual_code = "not-found"
    # KeyError would show the message as a key.
    __str__ = ProwessError.__str__


class DuplicateSkillError(ProwessError, ValueError):
    """Two skills have one key, and duplicates are errors; or a key is taken."""

    usual_code = "duplicate"


class SelectError(ProwessError):
    """A selector or an embedder failed."""

    usual_code = "select"


class RestoreError(ProwessError):
    """A stored state cannot be restored."""

    usual_code = "restore"


class ConfigError(ProwessError):
    """The configuration or the approvals of the user cannot be read."""

    usual_code = "config"


class WatchError(ProwessError):
    """The folders cannot be watched."""

    usual_code = "watch"


class CallbackTimeoutError(ProwessError, TimeoutError):
    """A source, a selector or another callback did not return in time."""

    usual_code = "timeout"


class ClosedError(ProwessError):
    """The skills or the chat were closed before, or belong to another process."""

    usual_code = "closed"


class BusyError(ProwessError):
    """A callback tried to refresh or change the skills that it serves."""

    usual_code = "busy"


class SkillWarning(UserWarning):
    """Skills are left out: a source cannot be listed, or a file cannot be read."""


_CLASSES: dict[str, type[ProwessError]] = {
    "invalid": ValidationError,
    "load": LoadError,
    "source": SourceError,
    "missing": SourceError,
    "outside": SourceError,
    "not-a-file": SourceError,
    "too-large": SourceError,
    "broken": SourceError,
    "not-as-listed": SourceError,
    "not-found": NotFoundError,
    "duplicate": DuplicateSkillError,
    "taken": DuplicateSkillError,
    "select": SelectError,
    "restore": RestoreError,
    "config": ConfigError,
    "watch": WatchError,
    "timeout": CallbackTimeoutError,
    "closed": ClosedError,
    "forked": ClosedError,
    "busy": BusyError,
}


_PLACE = re.compile(r"`[^`]*`(?=: )")
_FIELD = re.compile(r"(?:unknown|missing) field `")
_NAME = re.compile(r"`[^`]*`")
_CAPITAL = re.compile(r"(?<=[a-z0-9])[A-Z]")


def _snake(found: re.Match[str]) -> str:
    return _CAPITAL.sub(lambda capital: f"_{capital[0].lower()}", found[0])


def _in_python(message: str) -> str:
    """A message about an option with the names that options have in Python. Values stay as they are."""
    place = _PLACE.match(message)
    if place is None:
        return message
    rest = message[place.end() :]
    return _snake(place) + (_NAME.sub(_snake, rest) if _FIELD.search(rest) else rest)


def of_failure(
    code: str, message: str, hint: str | None, problems: str | None, cause: BaseException | None
) -> BaseException:
    """The exception of a failure of the extension module, which calls this."""
    if cause is not None and (code == "cancelled" or not isinstance(cause, Exception)):
        # KeyboardInterrupt and the like, and what the handler of a signal raises, pass through a callback as they are.
        return cause
    if code in ("closed", "timeout", "busy") and isinstance(cause, ProwessError) and cause.code == code:
        return cause
    from ._results import problems_of

    made = _CLASSES.get(code, ProwessError)(
        _in_python(message) if code == "invalid" else message,
        code=code,
        hint=hint,
        problems=problems_of(json.loads(problems)) if problems is not None else (),
    )
    made.__cause__ = cause
    return made


def described(error: BaseException) -> tuple[str, str]:
    """The code and the text of an exception that a callback raised, for the extension module."""
    try:
        shown = str(error).encode("utf-8", "replace").decode("utf-8")
    except Exception:
        shown = ""
    return _code_of(error), shown or type(error).__name__


def _code_of(error: BaseException) -> str:
    if not isinstance(error, Exception):
        return "cancelled"
    if isinstance(error, ProwessError):
        return error.code
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return "missing"
    if isinstance(error, IsADirectoryError):
        return "not-a-file"
    return "failed"
