"""Bad input: an exception of the right class, never a crash of the interpreter."""

from __future__ import annotations

import gc
import itertools
import json
import os
import threading
import weakref

import prowess
import pytest
from conftest import run, skill_md
from prowess import FileInfo, Hit, Layer, MemorySource, Skill, Skills

BREAD = skill_md("bread", "Bakes bread.")


def source(**files):
    return MemorySource({"bread": {"SKILL.md": BREAD, **files}})


@pytest.fixture
def skills():
    with Skills(source()) as opened:
        yield opened


def test_wrong_types_are_type_errors(skills: Skills) -> None:
    chat = skills.chat()
    session = skills.session()
    for call in (
        lambda: prowess.check(7),
        lambda: prowess.check(None),
        lambda: prowess.parse([]),
        lambda: Skill.load(7),
        lambda: Skill.load(b"bytes"),
        lambda: Skill.parse(object()),
        lambda: Skill.from_dict([]),
        lambda: Skills(7),
        lambda: Skills(None),
        lambda: Skills(object()),
        lambda: Skills(source(), selector=7),
        lambda: Skills(source(), embed="x", selector="embedding"),
        lambda: Skills(source(), approve=7),
        lambda: Skills(source(), policy=[]),
        lambda: Skills(source(), callback_timeout="x"),
        lambda: skills.search(7),
        lambda: skills.search("x", tags="tag"),
        lambda: skills.get(None),
        lambda: skills[7],
        lambda: skills.read("bread", 7),
        lambda: skills.read("bread", offset="0"),
        lambda: skills.chat(7),
        lambda: skills.chat("x", colour="red"),
        lambda: skills.restore(7),
        lambda: chat.call(7),
        lambda: chat.call("load_skill", object()),
        lambda: chat.answer(7, {}),
        lambda: chat.answer("anthropic", object()),
        lambda: chat.activate(None),
        lambda: chat.user_message(b"x"),
        lambda: session.resume(7, "declined"),
        lambda: session.resume("x", 7),
        lambda: session.result("mcp", None, "x", {}),
        lambda: prowess.parse_allowed_tools(7),
        lambda: prowess.scope_tools("Bash", []),
        lambda: prowess.render_catalog("x"),
        lambda: prowess.estimate_tokens(7),
        lambda: MemorySource({"a": 7}),
        lambda: MemorySource([]),
        lambda: prowess.check("x", profile=7),
        lambda: prowess.parse("x", location=7),
        lambda: prowess.to_dict("x", folder=7),
        lambda: prowess.check("x", colour="red"),
        lambda: prowess.check_name("x", colour="red"),
        lambda: prowess.render_catalog([7]),
        lambda: prowess.render_catalog([], budget=7),
        lambda: prowess.search([], "x", top_k="5"),
        lambda: prowess.search([], "x", min_score="5"),
        lambda: skills.search("x", top_k=True),
        lambda: skills.search("x", filter=7),
        lambda: skills.watch(timeout="x"),
        lambda: skills.awatch(timeout="x"),
        lambda: skills.watch(quiet=[]),
        lambda: Skills(source(), profile=7),
        lambda: Skills(source(), duplicates=7),
        lambda: Skills(Layer(source(), prefix=7)),
        lambda: chat.prompt(budget=7),
        lambda: chat.reinject(each=7),
        lambda: session.activate("bread", by=7),
    ):
        with pytest.raises(prowess.ValidationError) as caught:
            call()
        assert isinstance(caught.value, TypeError) and caught.value.code == "invalid", caught.value


def test_wrong_values_are_value_errors(skills: Skills, tmp_path) -> None:
    chat = skills.chat()
    for call in (
        lambda: prowess.check("x", profile="strictest"),
        lambda: prowess.check("x", levels={"no-such-rule": "error"}),
        lambda: prowess.check("x", files=["../x"]),
        lambda: prowess.search([], "x", selector="best"),
        lambda: prowess.search([{"name": 7}], "x"),
        lambda: prowess.render_catalog([{"description": "no name"}]),
        lambda: prowess.render_catalog([], style={"shape": "round"}),
        lambda: Skills(source(), selector="best"),
        lambda: Skills(source(), selector="embedding"),
        lambda: Skills(source(), policy={"colour": "red"}),
        lambda: Skills(source(), options={"max_active": -1}),
        lambda: Skills(source(), duplicates="maybe"),
        lambda: Skills("mcp="),
        lambda: Skills({"host": 0}),
        lambda: Skills({"colour": "red"}),
        lambda: Skills(Layer(source(), mount="../x")),
        lambda: Skills(Layer(source(), key_from="colour")),
        lambda: skills.search("x", top_k=-1),
        lambda: skills.search("x", min_score=float("nan")),
        lambda: skills.read("bread", offset=-1),
        lambda: skills.read("bread", offset=2**64),
        lambda: chat.tools("french"),
        lambda: chat.answer("french", {}),
        lambda: chat.prompt(budget={"pages": 3}),
        lambda: chat.set_policy({"colour": "red"}),
        lambda: chat.call("load_skill", {"name": float("inf")}),
        lambda: Skill.load("a\0b"),
        lambda: Skills("a\0b"),
        lambda: Skills("dir=a\0b"),
        lambda: Skills({"dir": "a\0b"}),
        lambda: Skills(Layer("a\0b", prefix="x")),
        lambda: prowess.fix(b"---\nname: a\ndescription: caf\xe9\n---\n"),
        lambda: Skills(source(), callback_timeout=10**400),
        lambda: Skills(source(), options={"max_active": 1, "maxActive": 2}),
        lambda: Skill("x", "y", colour=object),
        lambda: Skills(Layer("downloads", trusted=False)),
        lambda: Skills(Layer(Skill("x", "y"), prefix="z")),
        lambda: Skills(Layer(source(), scope="everyone")),
        lambda: Skills({"source": "skills"}),
        lambda: skills.watch(timeout=-1),
        lambda: skills.watch(timeout=float("nan")),
        *(lambda limit=limit: Skills(source(), callback_timeout=limit) for limit in (0, -1, float("nan"), float("inf"))),
    ):
        with pytest.raises(prowess.ValidationError) as caught:
            call()
        assert isinstance(caught.value, ValueError), caught.value


def test_surrogates_and_nul() -> None:
    half = "x\ud800"
    with Skills(source()) as skills:
        chat = skills.chat()
        for call in (
            lambda: prowess.check(half),
            lambda: Skill.load(half),
            lambda: Skills(half),
            lambda: skills.search(half),
            lambda: skills.get(half),
            lambda: half in skills,
            lambda: skills.read("bread", half),
            lambda: skills.chat(half),
            lambda: chat.call("load_skill", {"name": half}),
            lambda: chat.call("load_skill", {half: 1}),
            lambda: chat.user_message(half),
            lambda: MemorySource({"a": half}),
            lambda: prowess.search([{"name": half, "description": "x"}], "x"),
        ):
            with pytest.raises(prowess.ValidationError):
                call()
        # NUL is a character like others, where a text is wanted.
        assert prowess.check("\0") and prowess.parse("---\nname: a\0b\ndescription: d\n---\n") is not None
        assert skills.search("\0") == [] and "\0" not in skills
        assert not chat.call("load_skill", {"name": "bread\0"}).ok
        assert not chat.call("read_skill_resource", {"name": "bread", "path": "a\0b"}).ok
        with pytest.raises(prowess.SourceError):
            skills.read("bread", "a\0b")
    assert prowess.parse(b"\xff\xfe\0").name == ""


def test_half_of_a_surrogate_pair_in_a_response_spoils_only_its_call() -> None:
    """A model can write it as an escape in valid JSON, and a host must still answer the other calls."""
    half = json.loads('"\\ud83d"')
    with Skills(source()) as skills:
        chat = skills.chat()

        def use(id, tool="load_skill", **arguments):
            return {"type": "tool_use", "id": id, "name": tool, "input": arguments}

        content = [
            {"type": "text", "text": half},
            use("1", name=half),
            use("2", name="bread"),
            use("3", "other_tool", query=half),
            use("4", **{half: 1}),
            use("5", half),
        ]
        answers = chat.answer_all("anthropic", {"content": content, half: half})
        assert [(one["tool_use_id"], one["is_error"]) for one in answers] == [("1", True), ("2", False), ("4", True)]
        assert chat.active == ["bread"]
        refused = chat.answer("anthropic", content[1])
        assert refused["is_error"] and "arguments" in refused["content"]
        assert chat.answer("anthropic", content[3]) is None
        calls = chat.session.calls("anthropic", content)
        assert [one["id"] for one in calls] == ["1", "2", "4"]
        arguments = json.dumps({"name": half})
        called = {"id": "1", "type": "function", "function": {"name": "load_skill", "arguments": arguments}}
        assert len(chat.answer_all("openai", {"tool_calls": [called]})) == 1


def test_messages_name_the_option_as_python_spells_it() -> None:
    for call, start in (
        (lambda: Skills(source(), options={"max_active": "x"}), "`options.max_active`: invalid type: string"),
        (lambda: Skills(source(), options={"when_fulll": 1}), "`options.when_fulll`: unknown field `when_fulll`, expected one of"),
        (lambda: Skills(source(), policy={"tool_mode": "someMode"}), "`policy.tool_mode`: unknown variant `someMode`"),
        (lambda: Skills(source(), duplicates="x"), "`duplicates`: unknown variant"),
        (lambda: Skills(source(), profile="nope"), "`profile`: unknown variant `nope`"),
        (lambda: prowess.check("x", profile="nope"), "`profile`: unknown variant `nope`"),
        (lambda: Skills(source(), prompt={"budget": {"tokens": -1}}).chat().prompt(), "a budget has a whole number"),
    ):
        with pytest.raises(prowess.ValidationError) as caught:
            call()
        message = str(caught.value)
        assert start in message, message
        for word in ("untagged", "enum ", "maxActive", "whenFull"):
            assert word not in message, message
    with pytest.raises(prowess.ValidationError, match="`max_active`, `when_full`"):
        Skills(source(), options={"zz": 1})
    with Skills(Told(files=lambda id: [FileInfo("x", -1)])) as skills:
        with pytest.raises(prowess.SourceError, match="its size, which is a whole number"):
            skills.files("bread")
    with Skills(source(), selector=lambda *_, **__: [Hit("bread", True)]) as skills:
        with pytest.raises(prowess.SelectError, match="no score that is a number: bread"):
            skills.search("x")
    # What a callback raised is quoted as it is.
    for error, shown in ((MemoryError(), ": MemoryError"), (TypeError("Src.list() failed"), ": Src.list() failed")):
        with pytest.raises(prowess.SourceError) as caught:
            Skills(Told(list=raising(error)))
        assert str(caught.value).endswith(shown), caught.value
    # Advice is for users of this package.
    for place in ({"mcp": "x"}, ""):
        with pytest.raises(prowess.ProwessError) as caught:
            Skills(place)
        assert "crate" not in str(caught.value) and "mcp=" not in str(caught.value), caught.value


def test_a_text_that_does_not_load_has_its_problems() -> None:
    for text in ("no frontmatter", "---\nname: x\n---\n"):
        with pytest.raises(prowess.LoadError) as caught:
            prowess.to_dict(text)
        assert caught.value.problems and caught.value.problems == problems_of_loads(text)


def problems_of_loads(text: str) -> tuple[prowess.Problem, ...]:
    with pytest.raises(prowess.LoadError) as caught:
        prowess.loads(text)
    return caught.value.problems


def test_a_text_that_is_too_large_is_returned_whole() -> None:
    text = "---\nname: a\ndescription: b\n---\n" + "x" * 12_000_000
    assert prowess.fix(text).text == text


def test_values_without_a_json_form(skills: Skills) -> None:
    chat = skills.chat()
    cycle: dict = {}
    cycle["self"] = cycle
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    class Model:
        def model_dump(self, **_):
            return self.no_such_field

    for value in (cycle, deep, {"x": float("nan")}, {1: object()}, {"x": {object()}}, {"x": Model()}):
        with pytest.raises(prowess.ValidationError):
            chat.call("load_skill", value)
    for options in (cycle, {"x": deep}):
        for use in (
            lambda: Skills(source(), policy=options),
            lambda: Skills(source(), options=options),
            lambda: skills.chat(prompt=options),
            lambda: chat.prompt(style=options),
            lambda: chat.set_policy(options),
            lambda: prowess.render_catalog([], style=options),
        ):
            with pytest.raises(prowess.ValidationError):
                use()
    session = skills.session()
    step = session.call("search_skills", {"query": "x"})
    with pytest.raises(prowess.ProwessError):
        session.resume(step.ticket, {"hits": [("bread", 10**400)]})
    # Deep, but within the limits of Python: the engine has a limit of its own.
    nested: list = []
    for _ in range(500):
        nested = [nested]
    with pytest.raises(prowess.ProwessError):
        chat.call("load_skill", {"name": nested})


def test_objects_that_change_while_they_are_used() -> None:
    files = {"SKILL.md": BREAD}

    with Skills(MemorySource({"bread": files})) as skills:
        files.clear()
        assert skills["bread"].body == "Body."
        chat = skills.chat()
        arguments = {"name": "bread"}
        stop = threading.Event()

        def change() -> None:
            at = 0
            while not stop.is_set():
                arguments[f"k{at % 50}"] = at
                arguments.pop(f"k{(at + 25) % 50}", None)
                at += 1

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(300):
                for use in (
                    lambda: chat.call("load_skill", arguments),
                    lambda: chat.set_policy(arguments),
                    lambda: chat.prompt(style={"x": arguments}),
                    lambda: prowess.check("", levels=arguments),
                ):
                    try:
                        use()
                    except prowess.ValidationError:
                        pass
        finally:
            stop.set()
            thread.join()
        assert chat.call("load_skill", {"name": "bread"}).ok
    class Shifting:
        """A source that lists something else each time."""

        count = 0

        def list(self):
            self.count += 1
            return [{"id": f"s{self.count}", "text": skill_md(f"s{self.count}")}]

        def read(self, id, path):
            return None

    with Skills(Shifting()) as skills:
        stale = skills["s1"]
        assert skills.refresh().removed == ("s1",)
        with pytest.raises(prowess.NotFoundError):
            stale.files()


class Told:
    """A source whose methods do what they are told."""

    def __init__(self, list=None, read=None, files=None):
        self._list, self._read = list, read
        if files is not None:
            self.files = files

    def list(self):
        return self._list() if self._list else ["bread"]

    def read(self, id, path):
        return self._read(id, path) if self._read else BREAD


def raising(error):
    def call(*_, **__):
        raise error

    return call


def test_callbacks_that_raise() -> None:
    boom = RuntimeError("boom")
    with pytest.raises(prowess.SourceError) as caught:
        Skills(Told(list=raising(boom)))
    assert caught.value.__cause__ is boom and "boom" in str(caught.value)
    for listed in (7, None, [None], [{}], ["x\ud800"], [{"id": 7}], "text", [{"id": "a", "text": 7}]):
        with pytest.raises(prowess.ProwessError):
            Skills(Told(list=lambda listed=listed: listed))

    # One file that cannot be read hides no other skill.
    def flaky(id, path):
        if id == "bad":
            raise boom
        if path == "x.md":
            raise boom
        if path == "folder":
            raise IsADirectoryError(path)
        if path != "SKILL.md":
            raise FileNotFoundError(path)
        return BREAD

    seen = []
    told = Told(list=lambda: ["bread", "bad"], read=flaky)
    with Skills(told, on_error=lambda error, effect: seen.append((error, effect["kind"]))) as skills:
        assert skills.keys() == ["bread"] and "boom" in skills.problems[0].message
        chat = skills.chat()
        for path, reason in (("x.md", "read-failed"), ("y.md", "missing-file"), ("folder", "bad-path")):
            assert chat.call("read_skill_resource", {"name": "bread", "path": path}).reason == reason
        assert seen[0] == (boom, "read")
        for path, code in (("x.md", "source"), ("y.md", "missing"), ("folder", "not-a-file")):
            with pytest.raises(prowess.SourceError) as caught:
                skills.read("bread", path)
            assert caught.value.code == code and caught.value.__cause__ is not None

    for files in (raising(boom), lambda id: 7, lambda id: [7], lambda id: ["../x"], lambda id: [{"size": 1}]):
        with Skills(Told(files=files)) as skills, pytest.raises(prowess.ProwessError):
            skills.files("bread")
    for select in (raising(boom), lambda *_, **__: 7, lambda *_, **__: [{"key": 1}], lambda *_, **__: [("bread", float("nan"))], lambda *_, **__: [None]):
        with Skills(source(), selector=select, on_error=lambda *_: None) as skills:
            with pytest.raises(prowess.SelectError):
                skills.search("a")
            assert skills.chat().call("search_skills", {"query": "a"}).reason == "search-failed"
            assert skills.chat().prompt_with("a").not_narrowed == "failed"
            with pytest.raises(prowess.SelectError):
                skills.chat().prompt_with("a", narrowing={"on_error": "fail"})
    for embed in (raising(boom), lambda texts: [], lambda texts: 7, lambda texts: ["x"] * len(texts), lambda texts: [[1.0]] * (len(texts) - 1) + [[1.0, 2.0]], lambda texts: [[float("nan")]] * len(texts)):
        with Skills(source(), embed=embed, selector="embedding") as skills, pytest.raises(prowess.SelectError):
            skills.search("a")
        with pytest.raises(prowess.SelectError):
            prowess.search_by_meaning([Skill("a", "b")], "a", embed)
    # What on_error raises has no reader, and breaks nothing.
    with Skills(source(), selector=raising(boom), on_error=raising(boom)) as skills:
        assert not skills.chat().call("search_skills", {"query": "a"}).ok
    with Skills(source(), approve=raising(boom), policy={"scopes": {"explicit": {"approve": True}}}) as skills:
        assert not skills.chat().call("load_skill", {"name": "bread"}).ok


def test_async_callbacks_are_refused() -> None:
    class Async:
        async def list(self):
            return []

        async def read(self, id, path):
            return None

    with pytest.raises(prowess.ProwessError, match="async"):
        Skills(Async())


def test_interrupts_pass_through() -> None:
    for timeout in (None, 60.0):
        with pytest.raises(KeyboardInterrupt):
            Skills(Told(list=raising(KeyboardInterrupt())), callback_timeout=timeout)
        with pytest.raises(SystemExit):
            Skills(Told(list=raising(SystemExit(3))), callback_timeout=timeout)
        fails = {"selector": raising(RuntimeError("boom")), "on_error": raising(KeyboardInterrupt())}
        with Skills(source(), callback_timeout=timeout, **fails) as skills:
            for use in (lambda: skills.chat().call("search_skills", {"query": "a"}), lambda: skills.chat().prompt("a")):
                with pytest.raises(KeyboardInterrupt):
                    use()


def test_an_interrupt_leaves_no_call_open() -> None:
    interrupt = threading.Event()

    def read(id, path):
        if interrupt.is_set():
            raise KeyboardInterrupt
        return f"---\nname: {id}\ndescription: About {id}.\n---\nBody.\n"

    with Skills(Told(list=lambda: ["a", "b", "c"], read=read), callback_timeout=None) as skills:
        chat = skills.chat()
        for use in (lambda: chat.preload("a", "b", "c"), lambda: chat.user_message("/a and /b and /c")):
            interrupt.set()
            with pytest.raises(KeyboardInterrupt):
                use()
            interrupt.clear()
            assert chat.resume_pending() == []


def test_a_call_that_cannot_be_read_spoils_no_other() -> None:
    deep: object = "x"
    for at in range(300):
        deep = [deep] if at % 2 else {"deep": deep}
    for wrong in (deep, float("nan"), float("inf"), 10**400, -(10**30), {"x": [float("-inf")]}):
        use = {"type": "tool_use", "name": "load_skill"}
        content = [
            {**use, "id": "t1", "input": {"name": "bread"}},
            {**use, "id": "t2", "input": {"name": wrong}},
            {**use, "id": "t3", "input": {"x": wrong}, "name": "theirs"},
            {**use, "id": "t4", "input": {"name": "bread"}},
        ]
        with Skills(source()) as skills:
            answers = skills.chat().answer_all("anthropic", {"content": content})
            assert [(one["tool_use_id"], one["is_error"]) for one in answers] == [("t1", False), ("t2", True), ("t4", False)]
            assert skills.chat().answer("anthropic", content[1])["is_error"]


def test_an_endless_list_is_not_pulled_after_its_time() -> None:
    ended = threading.Event()

    def endless():
        try:
            for at in itertools.count():
                yield f"skill-{at}"
        finally:
            ended.set()

    with pytest.raises(prowess.CallbackTimeoutError):
        Skills(Told(list=endless), callback_timeout=0.05)
    assert ended.wait(60)


def test_callbacks_that_never_return() -> None:
    never = threading.Event()
    with pytest.raises(prowess.CallbackTimeoutError) as caught:
        Skills(Told(list=never.wait), callback_timeout=0.05)
    assert isinstance(caught.value, TimeoutError) and caught.value.code == "timeout"
    stuck = False

    def read(id, path):
        return never.wait() if stuck else BREAD

    def opened(*sources, **options) -> Skills:
        """With a short limit, which may also end the listing on a busy machine: that is tried again."""
        for _ in range(1000):
            try:
                return Skills(*sources, callback_timeout=0.05, **options)
            except prowess.CallbackTimeoutError:
                pass
        raise AssertionError("the list never ends in time")

    with opened(Told(read=read)) as skills:
        chat = skills.chat()
        stuck = True
        with pytest.raises(prowess.CallbackTimeoutError):
            skills.read("bread")
        assert not chat.call("load_skill", {"name": "bread"}).ok
        stuck = False
        assert any(chat.call("load_skill", {"name": "bread"}).ok for _ in range(1000))
    with opened(source(), selector=lambda *_, **__: never.wait()) as skills:
        with pytest.raises(prowess.CallbackTimeoutError):
            skills.search("a")
    with opened(source(), embed=lambda _: never.wait()) as skills:
        with pytest.raises(prowess.ProwessError):
            skills.search("a")


def test_what_is_closed_while_in_use_fails_as_closed() -> None:
    entered, never = threading.Event(), threading.Event()
    slow = False

    def read(id, path):
        if slow:
            entered.set()
            never.wait()
        return BREAD

    skills = Skills(Told(read=read))
    chat = skills.chat()
    slow = True
    caught: list[BaseException] = []

    def call() -> None:
        try:
            chat.call("load_skill", {"name": "bread"})
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert entered.wait(30)
    skills.close()
    thread.join(30)
    assert [type(error) for error in caught] == [prowess.ClosedError]
    for use in (skills.list, skills.keys, skills.refresh, skills.chat, chat.prompt, lambda: len(skills), lambda: "x" in skills):
        with pytest.raises(prowess.ClosedError):
            use()
    skills.close()
    assert repr(skills) == "<Skills, closed>"
    never.set()


def test_a_callback_may_use_what_it_serves_but_not_change_it() -> None:
    held: list[Skills] = []
    seen = []

    def select(query, skills, *, limit, tags):
        opened = held[0]
        seen.append((opened.keys(), opened["bread"].body, skills[0].body))
        for change in (opened.refresh, lambda: opened.unregister("bread"), lambda: opened.register({"name": "a", "description": "b"})):
            with pytest.raises(prowess.BusyError):
                change()
        return ["bread"]

    for timeout in (None, 60.0):
        with Skills(source(), selector=select, callback_timeout=timeout) as skills:
            held[:] = [skills]
            chat = skills.chat()
            assert chat.call("search_skills", {"query": "x"}).ok
            assert chat.prompt_with("x").skills == ("bread",)
    assert len(seen) == 4


def test_many_threads_share_skills_and_a_chat() -> None:
    with Skills(MemorySource({f"s{at}": skill_md(f"s{at}") for at in range(20)})) as skills:
        chat = skills.chat()
        faults: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for at in range(20):
                    assert chat.call("load_skill", {"name": f"s{(at + number) % 20}"}).ok
                    skills.search(f"s{at}")
                    if at % 5 == 0:
                        skills.refresh()
                    assert len(skills.list()) == 20
            except BaseException as error:
                faults.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == [] and len(chat.active) == 20


def test_garbage_collection_in_the_middle() -> None:
    class Collecting:
        def list(self):
            gc.collect()
            return ["bread"]

        def read(self, id, path):
            gc.collect()
            return BREAD

    for _ in range(5):
        skills = Skills(Collecting(), selector=lambda query, found, **_: (gc.collect(), found)[1])
        chat = skills.chat()
        session = chat.session
        del skills
        gc.collect()
        assert chat.call("load_skill", {"name": "bread"}).ok
        assert chat.call("search_skills", {"query": "x"}).ok
        del chat
        gc.collect()
        assert session.active == ["bread"]
        del session
    skills = Skills(source())
    gone = weakref.ref(skills)
    listed = skills.list()[0]
    del skills
    gc.collect()
    # A skill keeps its skills.
    assert gone() is not None and listed.body == "Body."
    del listed
    gc.collect()
    assert gone() is None


def test_a_cycle_through_callbacks_is_collected() -> None:
    class App:
        def __init__(self) -> None:
            self.skills = Skills(self, selector=self.select, embed=self.embed, approve=self.approve, on_error=self.report)
            self.chat = self.skills.chat()

        def list(self):
            return [{"id": "bread", "text": BREAD}]

        def read(self, id, path):
            return BREAD

        def select(self, query, skills, *, limit, tags):
            return skills

        def embed(self, texts):
            return [[1.0] for _ in texts]

        def approve(self, skill, digest):
            return True

        def report(self, error, effect):
            raise AssertionError

    app = App()
    assert app.skills.search("x")[0].key == "bread" and app.chat.call("load_skill", {"name": "bread"}).ok
    gone, chat = weakref.ref(app), app.chat
    del app
    gc.collect()
    # A chat keeps its skills, and these their sources.
    assert gone() is not None and chat.call("search_skills", {"query": "x"}).ok
    del chat
    gc.collect()
    assert gone() is None


def test_a_watch_keeps_the_sources_of_its_skills(tmp_path) -> None:
    changes = Skills(source(), tmp_path).watch(timeout=60)
    gc.collect()
    (tmp_path / "tea.part").mkdir()
    (tmp_path / "tea.part" / "SKILL.md").write_text(skill_md("tea"))
    (tmp_path / "tea.part").rename(tmp_path / "tea")
    found = next(changes)
    assert "tea" in found.added and found.removed == ()
    changes.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork() -> None:
    made = run(
        """
        import os, threading, warnings
        warnings.simplefilter("ignore")
        import prowess
        from prowess import MemorySource, Skills
        text = "---\\nname: bread\\ndescription: Bakes bread.\\n---\\nBody.\\n"
        class Slow:
            entered, go, slow = threading.Event(), threading.Event(), False
            def list(self): return ["bread"]
            def read(self, id, path):
                if self.slow:
                    self.entered.set(); self.go.wait()
                return text
        def child(work):
            pid = os.fork()
            if pid == 0:
                try:
                    os._exit(work())
                except BaseException as error:
                    print(repr(error), flush=True); os._exit(9)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        slow = Slow()
        skills = Skills(slow)
        chat = skills.chat()
        chat.call("load_skill", {"name": "bread"})
        def use():
            assert skills.keys() == ["bread"] and skills.search("bread")[0].key == "bread"
            assert chat.call("load_skill", {"name": "bread"}).ok and not skills.refresh()
            return 3
        assert child(use) == 3
        slow.slow = True
        thread = threading.Thread(target=lambda: skills.read("bread"))
        thread.start(); slow.entered.wait()
        def refused():
            slow.slow = False
            try:
                skills.keys()
            except prowess.ClosedError as error:
                assert error.code == "forked"
                assert Skills(MemorySource({"bread": text})).keys() == ["bread"]
                return 4
            return 5
        assert child(refused) == 4
        def closed():
            # Nothing waits for the lock of a thread that does not exist here.
            with chat: pass
            try:
                next(skills.watch())
            except prowess.ClosedError:
                return 6
            return 7
        assert child(closed) == 6
        slow.slow = False; slow.go.set(); thread.join()
        assert skills.keys() == ["bread"]
        print("fine")
        """
    )
    assert made.returncode == 0 and made.stdout == "fine\n", made
