"""Values on their way into the engine and back: texts, bytes, JSON, and names in the idiom of Python."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from ._errors import ArgumentTypeError, ValidationError

Json = Any


def type_name(value: object) -> str:
    """The name of the type of a value, for messages."""
    return "None" if value is None else type(value).__name__


def text(value: object, what: str) -> str:
    """A text that must be one, without half of a surrogate pair."""
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{what} must be a str, not {type_name(value)}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ValidationError(f"{what} has half of a surrogate pair, which is no character") from None
    # A subclass may behave differently each time.
    return str.__str__(value)


def optional_text(value: object, what: str) -> str | None:
    """A text or None."""
    return None if value is None else text(value, what)


def to_bytes(value: object, what: str = "the text") -> bytes:
    """The bytes of a text or of bytes."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        return text(value, what).encode("utf-8")
    raise ArgumentTypeError(f"{what} must be a str or bytes, not {type_name(value)}")


def path_text(value: object, what: str = "the path") -> str:
    """A path as a text."""
    if not isinstance(value, (str, os.PathLike)):
        raise ArgumentTypeError(f"{what} must be a str or a path, not {type_name(value)}")
    path = os.fspath(value)
    if not isinstance(path, str):
        raise ArgumentTypeError(f"{what} must be a path of text, not {type_name(path)}")
    if "\0" in path:
        raise ValidationError(f"{what} has a NUL character, which no path has")
    return text(path, what)


def number(value: object, what: str) -> int:
    """A whole number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(f"{what} must be an int, not {type_name(value)}")
    if not 0 <= value < 2**63:
        raise ValidationError(f"{what} must be between 0 and 2^63: {value}")
    return int(value)


def seconds(value: object, what: str) -> float | None:
    """A number of seconds that is not negative, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(f"{what} must be a number of seconds, not {type_name(value)}")
    if not 0 <= value < 2**63:
        raise ValidationError(f"{what} must be a number of seconds that is not negative: {value}")
    return float(value)


def mapping(value: object, what: str = "the options", *, required: bool = False) -> dict[str, Any]:
    """A mapping with texts as keys; empty for None, unless it is required."""
    if value is None and not required:
        return {}
    if not isinstance(value, Mapping):
        raise ArgumentTypeError(f"{what} must be a dict, not {type_name(value)}")
    try:
        return {text(key, f"a key of {what}"): one for key, one in value.items()}
    except RuntimeError as error:
        raise ValidationError(f"{what} cannot be read: {error}") from error


def optional_budget(value: object) -> dict[str, Any] | str | None:
    """A budget: a dict with a number of tokens or characters, a word, or None."""
    if value is None or isinstance(value, str):
        return optional_text(value, "the budget")
    return mapping(value, "the budget")


def items(value: object, what: str) -> list[Any]:
    """A list of anything that can be iterated, except a text or bytes."""
    if isinstance(value, (str, bytes, bytearray)) or not isinstance(value, Iterable):
        raise ArgumentTypeError(f"{what} must be a list, not {type_name(value)}")
    return list(value)


def texts(value: object, what: str) -> list[str]:
    """A list of texts."""
    return [text(one, f"each of {what}") for one in items(value, what)]


def to_json(value: object) -> str:
    """The JSON of an input."""
    try:
        # Escapes everything that is not ASCII, so that the engine sees half of a surrogate pair and says so.
        return _encode(value)
    except TypeError as error:
        raise ArgumentTypeError(f"this value has no JSON form: {error}") from error
    except (ValueError, RecursionError, RuntimeError) as error:
        # A cycle, a number that is none, or something that another thread changed meanwhile.
        raise ValidationError(f"this value has no JSON form: {error}") from error


def _other(value: object) -> object:
    """A value that JSON does not know: mappings and sets, and objects of model libraries."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        try:
            return dump(mode="json", by_alias=True, exclude_none=True)
        except Exception as error:
            raise ValueError(f"model_dump of {type_name(value)} failed: {error}") from error
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type_name(value)} is not JSON")


_encode = json.JSONEncoder(allow_nan=False, default=_other).encode


#: How deep the values in a response of a model may be. The engine reads a little deeper.
_DEPTH = 100

_encode_any = json.JSONEncoder(default=_other).encode


def of_model(response: object) -> object:
    """A response of a model without what the engine cannot read: numbers that are none or too large, and values inside very
    many others. Each is False, so that a call with it is refused, and others are answered."""
    try:
        written = _encode_any(response)
    except (TypeError, ValueError, RecursionError, RuntimeError):
        # It is reported where it is written.
        return response
    read = json.loads(written, parse_constant=lambda _: False, parse_int=_integer, parse_float=_float)
    return _cut(read, _DEPTH)


def _integer(digits: str) -> object:
    # More digits than any integer of 64 bits has are not even converted.
    number = int(digits) if len(digits) <= 20 else 2**64
    return number if -(2**63) <= number < 2**64 else False


def _float(digits: str) -> object:
    number = float(digits)
    return number if math.isfinite(number) else False


def _cut(value: Any, depth: int) -> Any:
    if not isinstance(value, (dict, list)):
        return value
    if depth == 0:
        return False
    if isinstance(value, list):
        return [_cut(one, depth - 1) for one in value]
    return {name: _cut(one, depth - 1) for name, one in value.items()}


def of_json(written: str) -> Json:
    """The value of JSON that the engine wrote."""
    return json.loads(written)


_UNDERSCORE = re.compile(r"_([a-z])")


def camel(value: object) -> Any:
    """Options with their names as the engine knows them: ``top_k`` is ``topK``."""
    try:
        return _camel(value)
    except RuntimeError as error:
        # A cycle, or something that another thread changed meanwhile.
        raise ValidationError(f"the options cannot be read: {error}") from error


def _camel(value: object) -> Any:
    if isinstance(value, Mapping):
        made = {}
        for key, one in value.items():
            name = _UNDERSCORE.sub(lambda found: found[1].upper(), key) if isinstance(key, str) else key
            if name in made:
                raise ValidationError(f"an option is given twice: {snake(str(name))}")
            made[name] = _camel(one)
        return made
    if isinstance(value, (list, tuple)):
        return [_camel(one) for one in value]
    return value


_CAPITAL = re.compile(r"[A-Z]")


@lru_cache(maxsize=256)
def snake(name: str) -> str:
    """A name of the engine in the idiom of Python: ``topK`` is ``top_k``."""
    return _CAPITAL.sub(lambda found: f"_{found[0].lower()}", name)


def given(**options: object) -> dict[str, Any]:
    """The options that are not None."""
    return {name: value for name, value in options.items() if value is not None}
