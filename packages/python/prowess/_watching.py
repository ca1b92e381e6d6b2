"""The changes of the folders of some skills, as they happen. They keep the skills, which own the sources of the host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING

from . import _native
from ._results import Delta, record
from ._values import of_json

if TYPE_CHECKING:
    from ._skills import Skills


def changes(skills: Skills, watch: _native.Watch, timeout: float | None) -> Iterator[Delta]:
    """The changes until there was none for this many seconds."""
    skills._say(3)
    try:
        while (changes := watch.next(timeout)) is not None:
            skills._say(3)
            yield record(Delta, of_json(changes))
    finally:
        watch.close()


async def achanges(
    skills: Skills, begin: Callable[[], _native.Watch], timeout: float | None
) -> AsyncIterator[Delta]:
    """The same for asyncio. A watch lists the sources when it begins, so it begins in a thread too."""
    watch = await asyncio.to_thread(begin)
    skills._say(3)
    left = timeout
    try:
        while True:
            # A thread cannot be cancelled, so each wait is short.
            step = 0.5 if left is None else min(0.5, left)
            changes = await asyncio.to_thread(watch.next, step)
            if changes is not None:
                left = timeout
                skills._say(3)
                yield record(Delta, of_json(changes))
            elif left is not None:
                left -= step
                if left <= 0:
                    return
    finally:
        watch.close()
