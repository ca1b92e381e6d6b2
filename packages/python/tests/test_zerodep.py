"""Every name of zerodep's vocabulary, with its arguments and defaults."""

from __future__ import annotations

import inspect
import threading
from pathlib import Path

import prowess
import prowess.zerodep as zerodep
import pytest
from conftest import skill_md
from prowess.zerodep import (
    BM25Selector,
    KeywordSelector,
    ParseError,
    SelectionResult,
    Selector,
    Skill,
    SkillError,
    SkillProperties,
    SkillRegistry,
    ValidationError,
    compose,
    discover,
    filter_compatible,
    load,
    loads,
    to_catalog,
    validate,
)

NAMES = {
    "SkillError", "ParseError", "ValidationError", "SkillProperties", "Skill", "SelectionResult", "Selector",
    "KeywordSelector", "BM25Selector", "SkillRegistry", "validate", "to_catalog", "compose", "load", "loads", "discover",
    "filter_compatible",
}


def test_the_names_and_their_defaults() -> None:
    assert set(zerodep.__all__) == NAMES

    def defaults(function) -> dict:
        parameters = inspect.signature(function).parameters.values()
        return {one.name: one.default for one in parameters if one.default is not inspect.Parameter.empty}

    def kinds(function) -> list[tuple[str, str]]:
        parameters = inspect.signature(function).parameters.values()
        return [(one.name, one.kind.name) for one in parameters if one.name != "self"]

    keyword, place, rest = "KEYWORD_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL"
    assert kinds(SkillRegistry.select) == [
        ("query", place), ("top_k", keyword), ("min_score", keyword), ("available_tools", keyword), ("selector", keyword),
    ]
    assert kinds(SkillRegistry.discover) == [("paths", rest), ("recursive", keyword), ("override", keyword)]
    assert kinds(SkillRegistry.register) == [("skill", place), ("override", keyword)]
    assert kinds(discover) == [("paths", rest), ("recursive", keyword)] and defaults(discover) == {"recursive": False}
    assert kinds(Skill) == [("properties", place), ("instructions", place), ("path", keyword)]
    assert kinds(Skill.to_prompt) == [("inline_resources", keyword), ("max_inline_bytes", keyword)]
    assert kinds(filter_compatible) == [("skills", place), ("available_tools", place)]
    assert [kinds(one) for one in (load, loads, validate, to_catalog, compose)] == [
        [("path", place)], [("text", place)], [("path", place)], [("skills", place)], [("skills", rest)],
    ]
    assert defaults(SkillRegistry.select) == {"top_k": 5, "min_score": 0.0, "available_tools": None, "selector": None}
    assert defaults(SkillRegistry.discover) == {"recursive": False, "override": False}
    assert defaults(SkillRegistry.register) == {"override": False}
    assert defaults(SkillRegistry.to_catalog) == {"skills": None}
    assert defaults(Skill.to_prompt) == {"inline_resources": False, "max_inline_bytes": 65536}
    assert defaults(SkillProperties) | {"metadata": 0} == {
        "license": None, "compatibility": None, "allowed_tools": None, "metadata": 0,
    }
    assert defaults(Skill) == {"path": None}
    assert [*inspect.signature(KeywordSelector.select).parameters] == ["self", "query", "skills", "top_k"]


def test_load_and_loads(write) -> None:
    folder = write("bread", "Bakes bread.", body="\nBake it.\n", files={
        "scripts/b.sh": "b", "scripts/a.sh": "a", "references/r.md": "r <x>", "assets/logo.bin": b"\xff\0", "other.md": "x",
    })
    for skill in (load(folder), Skill.load(str(folder)), load(folder / "SKILL.md")):
        assert (skill.name, skill.description, skill.path) == ("bread", "Bakes bread.", folder.resolve())
        # The raw text after the frontmatter.
        assert skill.instructions == "\nBake it.\n\n"
        assert [path.name for path in skill.scripts] == ["a.sh", "b.sh"]
        assert skill.references == [folder.resolve() / "references/r.md"] and [path.name for path in skill.assets] == ["logo.bin"]
    skill = loads(skill_md("bread", "Bakes bread."))
    assert skill.path is None and skill.scripts == [] and skill.properties == SkillProperties("bread", "Bakes bread.")
    assert repr(skill) == "Skill(name='bread', path=None)" and skill.describe() == "bread: Bakes bread."
    for broken in ("", "no frontmatter", "---\n- a\n---\n", "---\nname: x\n---\n"):
        with pytest.raises(ParseError) as caught:
            loads(broken)
        assert isinstance(caught.value, SkillError) and caught.value.problems
    for missing in (folder.parent, folder / "none", "~/no-such-folder"):
        with pytest.raises(ParseError):
            load(missing)


def test_dictionaries_and_markdown() -> None:
    text = "---\nname: pdf\ndescription: Reads PDFs.\nlicense: MIT\ncompatibility: any\nallowed-tools: Bash(git:*) Read\nmetadata:\n  v: 1.0\n---\nBody.\n"
    skill = loads(text)
    fields = {
        "name": "pdf", "description": "Reads PDFs.", "license": "MIT", "compatibility": "any",
        "allowed-tools": "Bash(git:*) Read", "metadata": {"v": "1.0"},
    }
    assert skill.properties.to_dict() == fields
    assert skill.to_dict() == {**fields, "instructions": "Body.\n"}
    assert Skill.from_dict(skill.to_dict()).to_dict() == skill.to_dict()
    assert SkillProperties.from_dict({"name": "a", "description": "b", "allowed_tools": ["Read", "Bash(git:*)"]}).allowed_tools == "Read Bash(git:*)"
    again = loads(skill.to_markdown())
    assert again.properties == skill.properties and again.instructions.strip() == "Body."
    assert Skill.from_dict({"name": "a", "description": "b", "path": "/x"}).path == Path("/x")
    with pytest.raises(KeyError):
        SkillProperties.from_dict({"name": "a"})


def test_prompts(write) -> None:
    folder = write("bread", "Bakes <bread>.", body="Bake.", files={
        "scripts/a.sh": "echo <a>", "references/r.md": "x" * 100, "assets/logo.bin": b"\xff\0",
    })
    skill = load(folder)
    text = skill.to_prompt()
    assert text.startswith('<skill_content name="bread">\nBake.') and text.endswith("</skill_content>")
    assert all(f"<file>{name}</file>" in text for name in ("scripts/a.sh", "references/r.md", "assets/logo.bin"))
    assert "echo" not in text
    inlined = skill.to_prompt(inline_resources=True)
    assert "echo <a>" in inlined and "x" * 100 in inlined
    small = skill.to_prompt(inline_resources=True, max_inline_bytes=50)
    assert "echo <a>" in small and "xxx" not in small and "references/r.md" in small
    two = loads(skill_md("soup", "Cooks soup.", "Cook."))
    assert compose(skill, two) == f"{skill.to_prompt()}\n\n{two.to_prompt()}"
    catalog = to_catalog([skill, two])
    assert catalog.startswith("<available_skills>\n<skill>\n<name>bread</name>\n<description>Bakes &lt;bread&gt;.</description>\n")
    assert f"<location>{folder.resolve()}/SKILL.md</location>" in catalog and catalog.count("<location>") == 1
    assert catalog.endswith("</available_skills>")
    assert to_catalog([]) == "<available_skills>\n</available_skills>"


def test_the_registry(write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write("bread", "Bakes bread.").parent
    write("soup", "Cooks soup.")
    write("nested/tea", "Makes tea.")
    (root / "broken").mkdir()
    (root / "broken" / "SKILL.md").write_text("nothing")
    (root / "nested" / "tea" / "SKILL.md").write_text(skill_md("tea", "Makes tea."))
    registry = SkillRegistry()
    assert [skill.name for skill in registry.discover(root)] == ["bread", "soup"]
    assert registry.discover(root) == [] and len(registry.discover(root, override=True)) == 2
    assert [skill.name for skill in registry.discover(root, tmp_path / "none", recursive=True)] == ["tea"]
    assert len(registry) == 3 and "tea" in registry and "cake" not in registry
    assert {skill.name for skill in registry} == {"bread", "soup", "tea"} == {skill.name for skill in registry.list()}
    assert registry.get("tea").description == "Makes tea."
    assert repr(registry) == "SkillRegistry([bread, soup, tea])"
    with pytest.raises(ValueError) as caught:
        registry.register(registry.get("tea"))
    assert isinstance(caught.value, ValidationError) and isinstance(caught.value, SkillError)
    registry.register(loads(skill_md("tea", "Makes green tea.")), override=True)
    assert registry.get("tea").description == "Makes green tea."
    registry.unregister("tea")
    for call in (registry.get, registry.unregister):
        with pytest.raises(KeyError):
            call("tea")
    assert registry.to_catalog().count("<skill>") == 2
    assert registry.to_catalog([registry.get("soup")]).count("<skill>") == 1
    monkeypatch.setenv("HOME", str(tmp_path))
    assert [skill.name for skill in discover("~/skills")] == ["bread", "soup"]
    assert [skill.name for skill in discover(root, recursive=True)] == ["bread", "tea", "soup"]


def test_a_root_with_a_skill_md_hides_nothing_below_it(write) -> None:
    root = write("a/one").parent.parent
    write("b/c/two")
    (root / "SKILL.md").write_text(skill_md("top"))
    for path, name in (("a/one", "one"), ("b/c/two", "two")):
        (root / path / "SKILL.md").write_text(skill_md(name))
    (root / "a" / "one" / "inside").mkdir()
    (root / "a" / "one" / "inside" / "SKILL.md").write_text(skill_md("three"))
    assert [skill.name for skill in discover(root, recursive=True)] == ["one", "two"]
    assert discover(root) == []


def test_the_last_of_two_skills_with_one_name_overrides(write) -> None:
    root = write("a", "First.").parent
    write("b", "Last.")
    for folder, description in (("a", "First."), ("b", "Last.")):
        (root / folder / "SKILL.md").write_text(skill_md("x", description))
    registry = SkillRegistry()
    assert [skill.description for skill in registry.discover(root)] == ["First."] and registry.get("x").description == "First."
    assert [skill.description for skill in registry.discover(root, override=True)] == ["First.", "Last."]
    assert registry.get("x").description == "Last."


def test_a_catalog_names_the_file_that_is_there(write) -> None:
    folder = write("bread", "Bakes bread.")
    (folder / "SKILL.md").rename(folder / "skill.md")
    assert f"<location>{folder.resolve()}/skill.md</location>" in to_catalog([load(folder)])
    gone = Skill(SkillProperties("a", "b"), "", path=folder / "none")
    assert f"<location>{folder}/none</location>" in to_catalog([gone])


def test_keywords_are_counted_as_written() -> None:
    registry = SkillRegistry()
    registry.register(loads(skill_md("pdf-tools", "Converts the PDF of a café.")))
    registry.register(loads(skill_md("soup", "Cooks the soup.")))

    def found(query: str) -> list[tuple[str, float]]:
        return [(one.skill.name, round(one.score, 3)) for one in registry.select(query)]

    # Stop words and accents count, and a word counts once.
    assert found("use the pdf pdf") == [("pdf-tools", 0.667), ("soup", 0.333)]
    assert found("the") == [("pdf-tools", 1.0), ("soup", 1.0)] and found("cafe") == [] and found("CAFÉ") == [("pdf-tools", 1.0)]
    assert registry.select("use the pdf", min_score=0.5)[0].skill.name == "pdf-tools"


def test_negative_scores_of_a_selector_count_without_a_limit() -> None:
    class Cosine:
        def select(self, query, skills, top_k):
            return [SelectionResult(skill, -0.5) for skill in skills][:top_k]

    registry = SkillRegistry()
    registry.register(loads(skill_md("a")))
    assert [one.score for one in registry.select("x", selector=Cosine())] == [-0.5]
    assert registry.select("x", selector=Cosine(), min_score=0.1) == []


def test_a_skill_of_a_program_without_a_description_is_ranked() -> None:
    registry = SkillRegistry()
    registry.register(Skill(SkillProperties("tea", ""), "Uses a kettle."))
    registry.register(Skill(SkillProperties("", "Bakes bread."), "Uses an oven."))
    assert [one.skill.name for one in registry.select("kettle", selector=BM25Selector())] == ["tea"]
    assert [one.skill.description for one in registry.select("bread", selector=BM25Selector())] == ["Bakes bread."]


def test_a_skill_that_no_skill_md_can_hold_hides_no_other() -> None:
    registry = SkillRegistry()
    registry.register(Skill(SkillProperties("good", "Is good.", allowed_tools="Read"), "Do."))
    bad = [
        SkillProperties("tea", ""), SkillProperties(" ", "Bakes bread."), SkillProperties("long", "x" * 100_000),
        SkillProperties("hidden", "\x01" * 60_000), SkillProperties("half", "a\ud800b"), SkillProperties("n" * 70_000, "Has a name."),
        SkillProperties("tools", "Needs tools.", allowed_tools="Tool " * 20_000), SkillProperties("kind", "Is odd.", metadata={"a": "b" * 99_999}),
    ]
    for properties in bad:
        registry.register(Skill(properties, "Do. " * 500_000 if properties.name == "tea" else "Do."))
    catalog = registry.to_catalog()
    assert catalog.count("<skill>") == 9 and all(part in catalog for part in ("Is good.", "Bakes bread.", "Is odd."))
    assert "x" * 4_999 + "…" in catalog and "n" * 199 + "…" in catalog and "n" * 200 not in catalog
    fitting = {skill.name for skill in filter_compatible(registry, ["Read"])}
    assert fitting == {skill.name for skill in registry} - {"tools"}
    assert registry.select("good", available_tools=["Read"], top_k=1)[0].skill.name == "good"
    assert registry.select("good", selector=BM25Selector(), top_k=1)[0].skill.name == "good"
    assert "Bakes" not in compose(registry.get("good"), registry.get(" ")) and compose(registry.get("long"))
    for name in ("tea", "long", " "):
        with pytest.raises(ValidationError):
            registry.get(name).to_markdown()


def test_a_selector_is_shared_by_threads() -> None:
    selector, faults = BM25Selector(), []
    shelves = [[loads(skill_md(f"s{at}-{shelf}", f"Does number{at}.")) for at in range(4 + shelf)] for shelf in range(3)]

    def work(shelf: list[Skill]) -> None:
        try:
            for at in [*range(len(shelf))] * 5:
                assert selector.select(f"number{at}", shelf, 1)[0].skill is shelf[at]
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(shelf,)) for shelf in shelves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


def test_selection() -> None:
    registry = SkillRegistry()
    for name, description, tools in (
        ("pdf-tools", "Converts PDF files.", "Bash(pdf:*) Read"),
        ("bread", "Bakes bread.", None),
        ("soup", "Cooks soup and bread soup.", "mcp__kitchen__cook-now"),
    ):
        line = f"allowed-tools: {tools}\n" if tools else ""
        registry.register(loads(f"---\nname: {name}\ndescription: {description}\n{line}---\nUses an oven.\n"))

    found = registry.select("convert pdf tools", top_k=5)
    assert [(one.skill.name, round(one.score, 3)) for one in found] == [("pdf-tools", 0.667)]
    assert isinstance(found[0], SelectionResult)
    # Equal scores keep the order of the registry.
    assert [one.skill.name for one in registry.select("bread")] == ["bread", "soup"]
    assert registry.select("") == [] and registry.select("nothing") == []
    assert len(registry.select("bread", top_k=1)) == 1
    assert registry.select("bread oven stove", min_score=0.5) == []
    assert [one.skill.name for one in registry.select("bread", available_tools=["read", "bash"])] == ["bread"]
    assert [skill.name for skill in filter_compatible(registry, ["BASH", "Read"])] == ["pdf-tools", "bread"]
    assert [skill.name for skill in filter_compatible(registry, ["mcp__kitchen__cook-now"])] == ["bread", "soup"]
    assert isinstance(KeywordSelector(), Selector) and isinstance(BM25Selector(), Selector)

    selector = BM25Selector()
    names = [one.skill.name for one in registry.select("oven", selector=selector)]
    assert sorted(names) == ["bread", "pdf-tools", "soup"]
    assert registry.select("pdf", selector=selector)[0].skill.name == "pdf-tools"
    # An edit is seen: the index is not stale.
    registry.register(loads(skill_md("bread", "Bakes pdf pdf pdf.", "pdf")), override=True)
    assert {one.skill.name for one in registry.select("pdf", selector=selector)} == {"bread", "pdf-tools"}

    class Last:
        def select(self, query, skills, top_k):
            return [SelectionResult(skills[-1], 1.0)]

    assert registry.select("x", selector=Last())[0].skill.name == "soup"


def test_validate(write, tmp_path: Path) -> None:
    assert validate(write("bread", "Bakes bread.")) == []
    folder = write("1st", "Bakes.")
    assert validate(folder)
    (folder / "SKILL.md").write_text("---\nname: other\nsurprise: yes\ndescription: x\n---\n")
    assert len(validate(folder)) == 2
    (folder / "SKILL.md").write_text("---\nname: 1st\n---\n")
    assert len(validate(folder)) == 2
    assert len(validate(tmp_path / "none")) == 1
    (tmp_path / "empty").mkdir()
    assert len(validate(tmp_path / "empty")) == 1


def test_wrong_types_are_argument_type_errors() -> None:
    skill, registry = loads(skill_md("bread")), SkillRegistry()
    registry.register(skill)
    for call in (
        lambda: compose([skill]),
        lambda: compose(7),
        lambda: to_catalog(5),
        lambda: to_catalog([7]),
        lambda: registry.to_catalog("bread"),
        lambda: filter_compatible(None, []),
        lambda: filter_compatible([skill], None),
        lambda: KeywordSelector().select("x", [7], 5),
        lambda: KeywordSelector().select("x", None, 5),
        lambda: BM25Selector().select("x", 7, 5),
        lambda: BM25Selector().select("x", ["bread"], 5),
        lambda: Skill.from_dict(None),
        lambda: Skill.from_dict({"name": "a", "description": "b", "path": 7}),
        lambda: Skill.from_dict({"name": "a", "description": "b", "instructions": 7}),
        lambda: SkillProperties.from_dict(5),
        lambda: SkillProperties.from_dict({"name": "a", "description": "b", "metadata": ["x"]}),
        lambda: Skill({"name": "a"}, "x"),
        lambda: Skill(SkillProperties("a", "b"), None),
        lambda: registry.register(Path("/tmp")),
        lambda: registry.register(None),
        lambda: registry.get([]),
        lambda: registry.unregister(None),
        lambda: registry.select(7),
        lambda: registry.select("x", top_k="5"),
        lambda: registry.select("x", min_score="1"),
        lambda: registry.select("x", selector=7),
        lambda: registry.discover(7),
        lambda: load(7),
        lambda: loads(b"x"),
        lambda: validate(None),
        lambda: discover(None),
    ):
        with pytest.raises(prowess.ArgumentTypeError):
            call()
    # What was refused is not there.
    assert registry.list() == [skill] and [] not in registry and Path("/tmp") not in registry
    assert "bread" in registry.to_catalog()


def test_paths_that_cannot_exist_are_missing() -> None:
    for path in ("a" * 300, "~no-such-user/x", "x/" * 3000):
        assert discover(path) == [] and SkillRegistry().discover(path, recursive=True) == []
        assert "not a folder" in validate(path)[0]
        with pytest.raises(ParseError):
            load(path)


@pytest.mark.parametrize("recursive", [False, True])
def test_what_discover_leaves_out_is_a_warning(write, recursive: bool) -> None:
    root = write("good").parent
    write("large", body="x" * (2 << 20))
    (write("bad") / "SKILL.md").write_text("no frontmatter", encoding="utf-8")
    for found in (discover, SkillRegistry().discover):
        with pytest.warns(prowess.SkillWarning) as said:
            assert [skill.name for skill in found(root, recursive=recursive)] == ["good"]
        for name in ("bad", "large"):
            assert len([one for one in said if str(root / name) in str(one.message)]) == 1, [str(one.message) for one in said]
        assert len(said) == 2 and all(one.filename == __file__ for one in said)
