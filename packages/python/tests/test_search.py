"""Searches over sources in Python: their threads, what ends them, and searches from inside a callback."""

from __future__ import annotations

import sqlite3
import threading

import pytest
from conftest import skill_md
from prowess import BusyError, CallbackTimeoutError, ClosedError, MemorySource, Skills

COUNT = 20


class Shelf:
    """Skills whose bodies have a word that nothing else has. ``on_read`` is called by each read after the list."""

    def __init__(self, on_read=None):
        self.on_read, self.listed, self.reads = on_read, False, 0

    def list(self):
        return [f"s{at}" for at in range(COUNT)]

    def read(self, id, path):
        if self.listed:
            self.reads += 1
            if self.on_read is not None:
                self.on_read()
        return skill_md(id, "Does it.", "A zebra.")


def opened(shelf: Shelf, limit: float | None) -> Skills:
    """With a short limit, which may also end the listing on a busy machine: that is tried again."""
    for _ in range(1000):
        try:
            skills = Skills(shelf, callback_timeout=limit)
        except CallbackTimeoutError:
            continue
        shelf.listed = True
        return skills
    raise AssertionError("the list never ends in time")


def zebras(skills: Skills) -> int:
    return len(skills.search("zebra", top_k=None))


def test_a_search_reads_on_the_thread_of_the_caller() -> None:
    threads: set[int] = set()
    shelf = Shelf(lambda: threads.add(threading.get_ident()))
    with opened(shelf, None) as skills:
        assert zebras(skills) == COUNT
    assert shelf.reads == COUNT and threads == {threading.get_ident()}


def test_a_connection_of_sqlite3_serves_a_search() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table skills (id text, body text)")
    connection.executemany("insert into skills values (?, ?)", [(f"s{at}", skill_md(f"s{at}", body="zebra")) for at in range(COUNT)])

    class Table:
        def list(self):
            return [id for (id,) in connection.execute("select id from skills order by id")]

        def read(self, id, path):
            return connection.execute("select body from skills where id = ?", (id,)).fetchone()[0]

    with Skills(Table(), callback_timeout=None) as skills:
        assert zebras(skills) == COUNT
    connection.close()


def test_a_source_that_hangs_ends_a_search_once() -> None:
    never = threading.Event()
    shelf = Shelf(never.wait)
    with opened(shelf, 0.2) as skills:
        with pytest.raises(CallbackTimeoutError):
            skills.search("zebra")
        assert shelf.reads == 1
        chat = skills.chat()
        assert chat.call("search_skills", {"query": "zebra"}).reason == "search-failed"
        # The search after it reads what is missing.
        never.set()
        for _ in range(1000):
            try:
                assert zebras(skills) == COUNT
                break
            except CallbackTimeoutError:
                pass


def test_a_close_ends_a_search() -> None:
    entered, never = threading.Event(), threading.Event()

    def wait() -> None:
        entered.set()
        never.wait()

    shelf = Shelf(wait)
    skills = opened(shelf, 3600.0)
    caught: list[BaseException] = []

    def search() -> None:
        try:
            skills.search("zebra")
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=search)
    thread.start()
    assert entered.wait(30)
    skills.close()
    thread.join(30)
    assert [type(error) for error in caught] == [ClosedError] and shelf.reads == 1
    never.set()


@pytest.mark.parametrize("limit", [None, 60.0])
def test_an_interrupt_in_a_read_passes_through_a_search(limit: float | None) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    shelf = Shelf(interrupt)
    with opened(shelf, limit) as skills:
        with pytest.raises(KeyboardInterrupt):
            skills.search("zebra")
        assert shelf.reads == 1
        with pytest.raises(KeyboardInterrupt):
            skills.chat().prompt("zebra")
        shelf.on_read = None
        assert zebras(skills) == COUNT


@pytest.mark.parametrize("limit", [None, 60.0])
def test_a_read_that_raises_hides_only_its_own_text(limit: float | None) -> None:
    def fail() -> None:
        if shelf.reads == 3:
            raise RuntimeError("boom")

    shelf = Shelf(fail)
    with opened(shelf, limit) as skills:
        assert zebras(skills) == COUNT - 1


@pytest.mark.parametrize("limit", [None, 60.0])
def test_a_read_may_search_the_skills_that_it_serves(limit: float | None) -> None:
    inner: list[int] = []

    def search() -> None:
        if shelf.reads == 1:
            inner.append(zebras(skills))
            inner.append(len(skills.chat().prompt_with("zebra").skills))

    shelf = Shelf(search)
    with opened(shelf, limit) as skills:
        assert zebras(skills) == COUNT
    assert inner == [COUNT, 5]


@pytest.mark.parametrize("limit", [None, 60.0])
def test_a_read_that_always_searches_is_busy_and_ends(limit: float | None) -> None:
    shelf = Shelf(lambda: zebras(skills))
    with opened(shelf, limit) as skills:
        with pytest.raises(BusyError):
            zebras(skills)
        assert shelf.reads < 10


@pytest.mark.parametrize("limit", [None, 60.0])
def test_a_callback_may_change_other_skills_but_not_its_own(limit: float | None) -> None:
    with Skills(MemorySource({"soup": skill_md("soup")})) as others:
        def select(query, skills, *, limit, tags):
            others.refresh()
            others.register({"name": "tea", "description": "Makes tea."}, replace=True)
            if query == "own":
                held[0].refresh()
            return ["bread"]

        with Skills(MemorySource({"bread": skill_md("bread")}), selector=select, callback_timeout=limit) as skills:
            held = [skills]
            assert [hit.key for hit in skills.search("other")] == ["bread"] and "tea" in others
            # What the callback does not catch arrives as it is.
            with pytest.raises(BusyError) as caught:
                skills.search("own")
            assert caught.value.code == "busy"


def test_the_threads_of_slow_callbacks_end_with_them() -> None:
    # Other tests have callbacks that never return.
    before = set(threading.enumerate())
    go = threading.Event()
    for _ in range(3):
        with pytest.raises(CallbackTimeoutError):
            Skills(Stuck(go), callback_timeout=0.05)
    own = set(threading.enumerate()) - before
    assert len(own) == 3
    go.set()
    for thread in own:
        thread.join(30)
    assert not any(thread.is_alive() for thread in own)


class Stuck:
    def __init__(self, go: threading.Event) -> None:
        self.go = go

    def list(self):
        self.go.wait()
        return []

    def read(self, id, path):
        return None
