"""What is closed at the end of a ``with`` block."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

_C = TypeVar("_C", bound="Closing")


class Closing:
    """Something that ``with`` closes."""

    def close(self) -> None:
        """Ends its use."""
        raise NotImplementedError

    def __enter__(self: _C) -> _C:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
