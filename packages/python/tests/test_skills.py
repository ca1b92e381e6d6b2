"""The interface: skills, chats, sessions, and parts that are written in Python."""

from __future__ import annotations

import asyncio
import doctest
import importlib
import inspect
import json
import logging
import os
import pkgutil
import subprocess
import sys
import types
import warnings
from pathlib import Path

import prowess
import pytest
from conftest import skill_md
from prowess import FileInfo, Hit, Layer, MemorySource, Skill, Skills, SourceItem


@pytest.fixture
def skills(write):
    write("bread", "Bakes bread and cakes.", files={"notes.md": "notes", "scripts/bake.sh": "echo"})
    folder = write("soup", "Cooks soup.")
    with Skills(folder.parent) as opened:
        yield opened


def test_skills_are_a_collection(skills: Skills) -> None:
    assert len(skills) == 2
    assert "bread" in skills and "cake" not in skills and 7 not in skills
    assert [skill.name for skill in skills] == ["bread", "soup"] == skills.keys()
    assert skills.get("cake") is None and skills.get("cake", 7) == 7
    assert skills["soup"].body == "Body."
    assert skills["soup"] in skills
    assert repr(skills) == "<Skills, 2 offered>"
    with pytest.raises(KeyError) as caught:
        skills["brad"]
    assert isinstance(caught.value, prowess.NotFoundError)
    assert "did you mean bread?" in str(caught.value)


def test_no_link_leads_out_of_a_skill(skills: Skills, tmp_path: Path) -> None:
    folder = skills["bread"].folder
    assert folder is not None
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "out.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "up").symlink_to(tmp_path)
    (folder / "in.txt").symlink_to("notes.md")
    skills.refresh()
    for path in ["out.txt", "up/secret.txt", "../secret.txt"]:
        for read in [skills["bread"].read, lambda path: skills.read("bread", path)]:
            with pytest.raises(prowess.SourceError) as caught:
                read(path)
            assert caught.value.code == "outside", path
    assert skills["bread"].read("in.txt") == b"notes"
    left_out = {file.path for file in skills["bread"].files() if file.left_out}
    assert left_out == {"out.txt", "up"}


def test_a_skill_has_fields_files_and_texts(skills: Skills) -> None:
    bread = skills["bread"]
    assert (bread.description, bread.license, bread.metadata, bread.scope) == ("Bakes bread and cakes.", None, {}, "explicit")
    assert bread.path is not None and bread.folder is not None and bread.path.name == "SKILL.md"
    assert {file.path for file in bread.files()} == {"SKILL.md", "notes.md", "scripts/bake.sh"}
    assert bread.read("notes.md") == b"notes" and bread.read("notes.md", offset=1, limit=2) == b"ot"
    assert bread.read_text("notes.md") == "notes"
    # A large file is never cut. No digest covers one.
    size = 64 * 2**20 + 1
    with (bread.folder / "large.bin").open("wb") as file:
        file.truncate(size)
    assert len(bread.read("large.bin")) == len(skills.read("bread", "large.bin")) == size
    (bread.folder / "large.bin").unlink()
    assert bread.to_prompt().startswith('<skill_content name="bread">\nBody.')
    assert "bread" in bread.describe()
    loaded = Skill.load(bread.folder)
    assert loaded.body == "Body." and loaded.read("notes.md") == b"notes"
    assert {file.path for file in loaded.files()} == {file.path for file in bread.files()}
    assert loaded.to_prompt() == bread.to_prompt()
    assert Skill.parse(loaded.to_markdown()).to_dict() == {key: value for key, value in loaded.to_dict().items() if key != "path"}
    assert Skill.from_dict(loaded.to_dict()).name == "bread"
    assert skills.digest("bread").startswith("sha256:")
    with pytest.raises(prowess.SourceError) as caught:
        bread.read("../soup/SKILL.md")
    assert caught.value.code == "outside"
    with pytest.raises(prowess.SourceError) as caught:
        bread.read("other.md")
    assert caught.value.code == "missing" and isinstance(caught.value.hint, str)


def test_a_skill_of_a_program() -> None:
    made = Skill("tidy-up", "Tidies up.", "Sweep.", license="MIT", metadata={"a": "b"})
    assert (made.body, made.license, made.metadata, made.path, made.files()) == ("Sweep.", "MIT", {"a": "b"}, None, [])
    assert made == Skill("tidy-up", "Tidies up.", "Sweep.", license="MIT", metadata={"a": "b"})
    assert {made, Skill.from_dict(made.to_dict())} == {made}
    with Skills(made) as skills:
        assert skills.chat().call("load_skill", {"name": "tidy-up"}).ok


def test_a_loaded_skill_is_a_source(write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write("bread", "Bakes bread.", files={"notes.md": "notes"})
    write("bread/inside", "Is another skill.")
    monkeypatch.chdir(tmp_path)
    loaded = Skill.load("skills/bread")
    with Skills(loaded) as skills:
        assert skills.keys() == ["bread"] and skills.read("bread", "notes.md") == b"notes"
        with Skills(skills["bread"], Skill("tea", "Makes tea.")) as others:
            assert others.keys() == ["bread", "tea"] and others["bread"].folder == folder
    # Its files are found from everywhere.
    monkeypatch.chdir("/")
    assert loaded.read_text("notes.md") == "notes" and loaded.path == folder / "SKILL.md"


def test_a_listed_skill_equals_the_same_one_read_now(skills: Skills) -> None:
    assert skills["bread"] == skills.get("bread") == skills.list()[0] and skills["bread"] != skills["soup"]


def test_the_fields_of_a_skill_cannot_be_changed() -> None:
    skill = Skill.parse("---\nname: a\ndescription: b\nmore: {deep: [1]}\n---\n")
    skill.extra["more"]["deep"].append(2)
    assert skill.extra == {"more": {"deep": [1]}}


def test_check_and_fix() -> None:
    text = "---\nname: Tidy 🧹\ndescription: Use when: asked\n---\n"
    problems = prowess.check(text)
    assert any(problem.severity == "error" for problem in problems)
    spans = [problem.span for problem in problems if problem.field == "name" and problem.span]
    assert any("Tidy" in text[span.start : span.end] for span in spans), problems
    fixed = prowess.fix(text, all=True)
    assert len(fixed.problems) < len(problems) and fixed.applied
    one = next(problem for problem in problems if problem.fix)
    assert one.fix is not None and prowess.apply_fix(text, one.fix) != text
    with pytest.raises(prowess.LoadError) as caught:
        prowess.loads("no frontmatter")
    assert caught.value.problems and caught.value.code == "load"
    assert not prowess.check_name("tidy-up") and prowess.check_name("Tidy Up")
    assert {rule.code for rule in prowess.rules()} >= {problem.code for problem in problems}


def test_check_path_sees_files(write) -> None:
    folder = write("bread", "Bakes bread. Use it when asked to.", body="See [notes](notes.md).")
    assert any(problem.code == "link-missing" for problem in prowess.check_path(folder))
    (folder / "notes.md").write_text("x")
    assert not any(problem.code == "link-missing" for problem in prowess.check_path(folder / "SKILL.md"))
    assert Skill.load(folder).check() == prowess.check_path(folder)


def test_a_chat_answers_calls(skills: Skills) -> None:
    with skills.chat("chat-1") as chat:
        assert "bread" in chat.prompt() and "soup" in chat.prompt()
        prompt = chat.prompt_with("cook a soup", narrowing={"top_k": 1})
        assert prompt.skills == ("soup",) and prompt.not_narrowed is None
        names = {tool["name"] for tool in chat.tools("anthropic")}
        assert "load_skill" in names and {tool.name for tool in chat.tool_definitions()} == names
        call = {"type": "tool_use", "id": "t1", "name": "load_skill", "input": {"name": "bread"}}
        answer = chat.answer("anthropic", call)
        assert answer is not None and answer["tool_use_id"] == "t1" and answer["is_error"] is False
        assert chat.answer("anthropic", {**call, "name": "other"}) is None
        assert len(chat.answer_all("anthropic", {"content": [call, {**call, "id": "t2"}]})) == 2
        assert chat.active == ["bread"] and chat.owns("load_skill")
        result = chat.call("read_skill_resource", {"name": "bread", "path": "notes.md"})
        assert result.ok and "notes" in result.text and str(result) == result.text
        assert not chat.call("load_skill", {"name": "brad"}).ok
        assert [one.ok for one in chat.user_message("/soup for two")] == [True]
        assert chat.reinject().included and chat.log and chat.scope_tools(["Bash"]) == ["Bash"]
        assert {skill.key for skill in chat.visible()} == {"bread", "soup"} and chat.why_hidden("soup") is None
        state = json.loads(json.dumps(chat.state))
        assert skills.restore(state).active == ["bread", "soup"]
        assert chat.deactivate("bread") == [] and chat.deactivate("bread") is None
        assert chat.set_filter("none") == ["soup"] and chat.prompt() == ""
    with pytest.raises(prowess.ClosedError):
        chat.prompt()


def test_a_refresh_reaches_chats(skills: Skills, write) -> None:
    chat = skills.chat()
    chat.call("load_skill", {"name": "bread"})
    write("bread", "Bakes rolls.")
    write("tea", "Makes tea.")
    delta = skills.refresh()
    assert (delta.added, delta.changed, delta.removed) == (("tea",), ("bread",), ()) and delta
    assert chat.changes() == {"deactivated": [], "changed": ["bread"]} and chat.changed == ["bread"]
    assert not skills.refresh()


def test_a_watch_yields_changes(skills: Skills, write) -> None:
    changes = skills.watch(timeout=60)
    write("tea", "Makes tea.", whole=True)
    assert next(changes).added == ("tea",)
    changes.close()
    assert list(skills.watch(timeout=0)) == []


def test_registering(skills: Skills, write, tmp_path: Path) -> None:
    assert skills.register({"name": "tea", "description": "Makes tea."}).added == ("tea",)
    with pytest.raises(prowess.DuplicateSkillError):
        skills.register(Skill("tea", "Makes tea."))
    assert skills.register(Skill("tea", "Makes green tea."), replace=True).changed == ("tea",)
    assert skills.unregister("soup").removed == ("soup",) and "soup" not in skills
    assert skills.put_back("soup").added == ("soup",)
    with pytest.raises(KeyError):
        skills.unregister("cake")


class Shelf:
    """A source in Python: two skills, one with a file."""

    label = "shelf"

    def __init__(self) -> None:
        self.reads: list[tuple[str, str]] = []

    def list(self):
        yield "bread"
        yield SourceItem("soup", skill_md("soup", "Cooks soup."))

    def files(self, id: str):
        return ["SKILL.md", FileInfo("notes.md", 5)] if id == "bread" else []

    def read(self, id: str, path: str):
        self.reads.append((id, path))
        return {"SKILL.md": skill_md("bread", "Bakes bread."), "notes.md": b"notes"}.get(path)


def test_a_source_a_selector_and_an_embedder_in_python_serve_a_session() -> None:
    shelf = Shelf()
    asked = []

    def select(query, skills, *, limit, tags):
        asked.append((query, [skill.key for skill in skills], limit, tags))
        return [("soup", 2.0), Hit("bread", 1.0), "unknown"]

    with Skills(shelf, selector=select) as skills:
        chat = skills.chat()
        assert chat.call("load_skill", {"name": "bread"}).ok
        assert "notes" in chat.call("read_skill_resource", {"name": "bread", "path": "notes.md"}).text
        found = chat.call("search_skills", {"query": "hungry"})
        assert found.ok and found.text.index("soup") < found.text.index("bread")
        assert [hit.key for hit in skills.search("hungry")] == ["soup", "bread"]
        assert asked[-1][:2] == ("hungry", ["bread", "soup"])
        assert ("bread", "notes.md") in shelf.reads
        assert skills["soup"].location == "shelf:soup" and skills["bread"].path is None

    batches = []

    def embed(texts):
        batches.append(texts)
        return [[text.count("b") + 0.1, text.count("s") + 0.1] for text in texts]

    with Skills(shelf, embed=embed, selector="embedding") as skills:
        assert skills.search("bbbb")[0].key == "bread"
        assert skills.search("ssss")[0].key == "soup"
        assert [len(batch) for batch in batches] == [3, 1]
        assert skills.chat().prompt_with("bbbb", narrowing={"top_k": 1}).skills == ("bread",)
    with Skills(shelf, embed=embed) as skills:
        assert skills.chat().call("search_skills", {"query": "soup"}).ok
    hits = prowess.search_by_meaning([Skill("a", "bbb"), Skill("b", "sss")], "bb", embed)
    assert hits[0].key == "a"

    class Chooser:
        def select(self, query, skills, *, limit, tags):
            return skills[:1]

    def ordered(hits):
        with Skills(MemorySource({f"s{at}": skill_md(f"s{at}") for at in range(10)}), selector=lambda *_, **__: hits) as skills:
            found = [hit.key for hit in skills.search("x")]
            assert skills.chat().prompt_with("x").skills == tuple(found)
            assert [row["name"] for row in skills.chat().call("search_skills", {"query": "x"}).data["skills"]] == found
            return found

    # The order given is the order used, before the number of hits is limited.
    assert ordered(["s9", "s8", "s7", "s6", "s5", "s4", "s3"]) == ["s9", "s8", "s7", "s6", "s5"]
    assert ordered([("s9", 0.1), ("s2", 0.5), ("s2", 9.0), ("s1", 7.0)]) == ["s9", "s2", "s1"]
    assert ordered(["x1", "x2", "x3", "x4", "x5", "s4", "s4", "s1"]) == ["s4", "s1"]

    with Skills(shelf, selector=Chooser()) as skills:
        assert [hit.key for hit in skills.search("x")] == ["bread"]


def test_layers_and_specs(write, tmp_path: Path) -> None:
    folder = write("bread").parent
    layers = [Layer(MemorySource({"x": skill_md("bread")}), prefix="mine", mount="team", preload=True), Layer(folder, prefix="theirs")]
    with Skills(*layers) as skills:
        assert skills.keys() == ["mine:bread", "theirs:bread"]
        chat = skills.chat()
        assert chat.active == ["mine:bread"] and chat.set_filter("team/*") == []
        assert [skill.key for skill in chat.visible()] == ["mine:bread"]
    with Skills(Layer(str(folder), prefix="a", scope="remote"), Layer({"dir": str(folder)}, prefix="b", key_from="folder", preload=True)) as skills:
        assert [(skill.key, skill.scope) for skill in skills] == [("a:bread", "remote"), ("b:bread", "explicit")]
        assert skills.chat().active == ["b:bread"]
    (tmp_path / "skills.jsonl").write_text(json.dumps({"name": "tea", "description": "Makes tea.", "instructions": "Boil."}) + "\n")
    with Skills(str(tmp_path / "skills.jsonl"), {"dir": str(folder)}) as skills:
        assert skills.keys() == ["bread", "tea"]
    untrusted = Layer(MemorySource({"x": skill_md("bread")}), trusted=False)
    with Skills(untrusted) as skills:
        # It is listed, and no model gets it.
        assert [skill.obstacle for skill in skills] == ["untrusted"]
        assert skills.chat().prompt() == "" and not skills.chat().call("load_skill", {"name": "bread"}).ok
    with Skills(MemorySource({"x": "---\nname: x\n---\n"})) as skills:
        (broken,) = skills.all()
        assert len(skills) == 0 and broken.offered is False and broken.why_not and broken.obstacle == "broken"
        assert broken.problems[0].severity == "error"


def test_approvals_scripts_and_reports() -> None:
    text = skill_md("bread", "Bakes bread.")
    seen = []
    errors = []

    def approve(skill, digest):
        seen.append((skill.key, digest[:7]))
        return len(seen) > 1

    source = MemorySource({"bread": {"SKILL.md": text, "scripts/bake.sh": "echo"}})
    policy = {"scopes": {"explicit": {"approve": True}}}
    with Skills(source, approve=approve, policy=policy, on_error=lambda error, effect: errors.append((error, effect["kind"]))) as skills:
        chat = skills.chat()
        assert not chat.call("load_skill", {"name": "bread"}).ok
        assert chat.call("load_skill", {"name": "bread"}).ok
        assert seen[0] == ("bread", "sha256:") and errors == []

    def run(skill, path, args, *, expect_digest):
        return 0, f"{skill.key} {path} {args}"

    options = {"tools": ["load", "run"]}
    with Skills(source, run=run, policy={"run": True}, options=options) as skills:
        chat = skills.chat()
        chat.call("load_skill", {"name": "bread"})
        names = {tool.name for tool in chat.tool_definitions()}
        tool = next(name for name in names if "run" in name)
        result = chat.call(tool, {"name": "bread", "path": "scripts/bake.sh", "args": ["now"]})
        assert result.ok and "scripts/bake.sh ['now']" in result.text, result


def test_failures_of_callbacks_are_logged_without_a_reader(caplog: pytest.LogCaptureFixture) -> None:
    def select(query, skills, *, limit, tags):
        raise RuntimeError("boom")

    with Skills(Shelf(), selector=select) as skills, caplog.at_level(logging.WARNING, "prowess"):
        assert skills.chat().call("search_skills", {"query": "x"}).reason == "search-failed"
    assert "boom" in caplog.text


def test_a_session_of_a_host_with_its_own_io() -> None:
    text = skill_md("bread", "Bakes bread.")
    with Skills(MemorySource({"bread": text})) as skills, skills.session("s") as session:
        step = session.call("load_skill", {"name": "bread"})
        kinds = []
        while step.done is None:
            assert step.ticket is not None and step.effect is not None
            assert [one.ticket for one in session.pending()] == [step.ticket]
            kinds.append(step.effect["kind"])
            outcome = {"files": ["SKILL.md"]} if kinds[-1] == "files" else {"read": {"bytes": text}}
            step = session.resume(step.ticket, outcome)
        assert step.done.ok and "read" in kinds and session.active == ["bread"]
        step = session.call("read_skill_resource", {"name": "bread", "path": "x.md"})
        assert step.ticket is not None and session.resume(step.ticket, {"failed": "missing"}).done is not None
        step = session.call("search_skills", {"query": "bread"})
        assert step.ticket is not None and session.cancel(step.ticket) and not session.cancel(step.ticket)
        result = session.result("anthropic", "t1", "load_skill", prowess.ToolResult(True, "x", None, None))
        assert result["tool_use_id"] == "t1"
        with pytest.raises(prowess.ValidationError):
            session.resume("nonsense", "declined")


def test_asyncio(write) -> None:
    folder = write("bread", "Bakes bread.").parent

    async def host() -> None:
        skills = await Skills.aopen(folder)
        chat = skills.chat()
        call = {"type": "tool_use", "id": "t1", "name": "load_skill", "input": {"name": "bread"}}
        answers = await asyncio.gather(*(chat.aanswer("anthropic", {**call, "id": f"t{at}"}) for at in range(8)))
        assert [answer["tool_use_id"] for answer in answers if answer] == [f"t{at}" for at in range(8)]
        assert (await chat.acall("load_skill", {"name": "bread"})).ok
        assert "bread" in await chat.aprompt("bread")
        assert (await skills.asearch("bread"))[0].key == "bread"
        assert len(await chat.aanswer_all("anthropic", [call])) == 1
        assert [one.ok for one in await chat.auser_message("$bread")] == [True]
        assert (await chat.aactivate("bread")).ok
        changes = skills.awatch(timeout=60)
        first = asyncio.ensure_future(anext(changes))
        write("tea", "Makes tea.", whole=True)
        assert (await first).added == ("tea",)
        await changes.aclose()
        assert [change async for change in skills.awatch(timeout=0)] == []
        assert (await skills.achat("chat-2")).active == []
        assert not await skills.arefresh()
        skills.close()

    asyncio.run(host())


def test_the_interpreter_is_released() -> None:
    """A site that a thread of this process serves is read; if an operation held the interpreter, both would wait."""
    made = subprocess.run(
        [sys.executable, "-c", SITE], capture_output=True, text=True, timeout=120, env={**os.environ, "NO_PROXY": "*"}
    )
    assert (made.returncode, made.stdout) == (0, "['bread'] Body.\n"), made


SITE = """
import http.server, json, threading
from prowess import Skills

class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        pages = {
            "/.well-known/skills/index.json": json.dumps({"skills": [{"name": "bread", "description": "Bakes.", "files": ["SKILL.md"]}]}),
            "/.well-known/skills/bread/SKILL.md": "---\\nname: bread\\ndescription: Bakes.\\n---\\nBody.\\n",
        }
        page = pages.get(self.path)
        self.send_response(404 if page is None else 200)
        self.send_header("Content-Length", str(len((page or "").encode())))
        self.end_headers()
        self.wfile.write((page or "").encode())
    def log_message(self, *_): pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
threading.Thread(target=server.serve_forever, daemon=True).start()
with Skills({"url": f"http://127.0.0.1:{server.server_address[1]}"}) as skills:
    print(skills.keys(), skills["bread"].body)
"""


def test_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write) -> None:
    home = tmp_path / "home"
    skill = home / ".agents" / "skills" / "tea"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(skill_md("tea", "Makes tea."))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(home / name))
    monkeypatch.setenv("HOME", str(home))
    project = tmp_path / "project"
    project.mkdir()
    with Skills.of_user(project) as skills:
        assert "tea" in skills
    with Skills.of_user(project, options={"max_active": 1}) as skills:
        assert skills.search("tea")[0].key == "tea"
    # Settings of a host and of a chat are over those of the user: what they do not name stays.
    config = home / "XDG_CONFIG_HOME" / "prowess" / "prowess.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[session]\nfilter = 'elsewhere/*'\n")
    for given in ({}, {"policy": {"deny": ["x"]}}):
        with Skills.of_user(project, **given) as skills:
            for settings in ({}, {"policy": {"run": True}}, {"options": {"max_active": 2}}):
                assert "tea" not in skills.chat(**settings).prompt(), settings
            assert "tea" in skills.chat(policy={"filter": "*"}).prompt()
    config.unlink()
    with Skills.of_user(project, client="claude-code") as skills:
        assert "tea" not in skills
    with Skills.of_user(builtins=True, cache=False) as skills:
        assert len(skills) > 1
    with pytest.raises(prowess.ValidationError, match="no such client: none"):
        Skills.of_user(client="none")


def test_docstrings() -> None:
    """Every public name has one, also what classes inherit from ours, and their examples hold."""
    modules = [prowess, importlib.import_module("prowess.zerodep")]
    things = {f"{module.__name__}.{name}": getattr(module, name) for module in modules for name in module.__all__}
    for name, thing in things.items():
        if callable(thing):
            assert thing.__doc__, name
            for member in dir(thing) if isinstance(thing, type) else ():
                value = inspect.getattr_static(thing, member)
                ours = any(member in vars(base) for base in thing.__mro__ if base.__module__.startswith("prowess"))
                kinds = (property, classmethod, staticmethod, types.FunctionType)
                if ours and not member.startswith("_") and isinstance(value, kinds):
                    assert getattr(value, "__doc__", None), f"{name}.{member}"
    for module in pkgutil.iter_modules(prowess.__path__):
        if module.name in ("_skill", "_skills", "_chat", "_sources", "_api"):
            assert doctest.testmod(importlib.import_module(f"prowess.{module.name}")).failed == 0
    assert prowess.__version__


class Flaky:
    """A source that can be listed only sometimes."""

    label = "flaky"
    down = True

    def list(self) -> list[str]:
        if self.down:
            raise OSError("it is down")
        return ["flaky"]

    def read(self, id: str, path: str) -> str | None:
        return skill_md(id)


def test_a_source_that_cannot_be_listed_hides_no_other_and_is_said(tmp_path: Path) -> None:
    flaky, none = Flaky(), tmp_path / "none"
    with pytest.warns(prowess.SkillWarning) as said:
        skills = Skills(none, MemorySource({"own": skill_md("own")}), flaky)
    assert [none.name in str(said[0].message), "it is down" in str(said[1].message), len(said)] == [True, True, 2]
    assert said[0].filename == __file__
    assert skills.keys() == ["own"] and [problem.code for problem in skills.problems] == ["missing", "source"]
    assert [hit.key for hit in skills.search("own")] == ["own"]
    with warnings.catch_warnings():
        # Each is said once until it can be listed again.
        warnings.simplefilter("error")
        skills.refresh()
        skills.register(Skill("mine", "Is mine."))
        flaky.down = False
        assert skills.refresh().added == ("flaky",)
        chat = skills.chat()
        assert chat.activate("flaky").ok
    flaky.down = True
    with pytest.warns(prowess.SkillWarning, match="it is down"):
        assert skills.refresh().removed == ("flaky",)
    assert skills.restore(chat.state).active == []
    skills.close()


def test_on_error_gets_the_errors_of_sources_that_cannot_be_listed() -> None:
    told: list[tuple[Exception, object]] = []
    own = MemorySource({"own": skill_md("own")})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Skills(Flaky(), own, on_error=lambda error, about: told.append((error, about))) as skills:
            assert skills.keys() == ["own"]
        with Skills(Flaky(), own, on_error=lambda error, about: 1 / 0) as skills:
            assert skills.keys() == ["own"]
    [(error, about)] = told
    assert isinstance(error, prowess.SourceError) and isinstance(error.__cause__, OSError) and about == {"kind": "list"}


def test_source_errors_decides_whether_a_source_that_cannot_be_listed_is_raised(tmp_path: Path) -> None:
    own = MemorySource({"own": skill_md("own")})
    for sources, options in [((Flaky(), own), {"source_errors": "fail"}), ((Flaky(), tmp_path / "none"), {}), ((Flaky(),), {})]:
        with pytest.raises(prowess.SourceError, match="it is down"):
            Skills(*sources, **options)
    with pytest.raises(prowess.ValidationError, match="source_errors"):
        Skills(own, source_errors="ignore")
    with pytest.raises(prowess.ArgumentTypeError):
        Skills(own, source_errors=5)  # type: ignore[arg-type]
