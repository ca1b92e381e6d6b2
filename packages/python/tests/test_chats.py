"""Chats and searches: tools of the host, tools that skills need, approvals, and what is kept."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import skill_md
from prowess import MemorySource, Skills


def _keys(hits: Any) -> list[str]:
    return [hit.key for hit in hits]


def test_a_tool_that_the_chat_does_not_offer_is_one_of_the_host() -> None:
    def call(name: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": "t1", "name": name, "input": {"name": "a"}}

    with Skills(MemorySource({"a": skill_md("a")})) as skills:
        chat = skills.chat(options={"tools": ["load"]})
        assert chat.answer("anthropic", call("run_skill_script")) is None
        content = [call(name) for name in ("run_skill_script", "load_skill", "list_skills")]
        assert len(chat.answer_all("anthropic", {"content": content})) == 1
        assert [chat.owns(name) for name in ("load_skill", "list_skills", "run_skill_script")] == [True, False, False]
        running = skills.chat(policy={"run": True})
        assert running.answer("anthropic", call("run_skill_script")) is not None


@pytest.mark.parametrize("way", ["bm25", "keyword", "host", "embedding"])
def test_skills_without_the_tools_that_they_need_are_found_by_no_selector(way: str) -> None:
    shell = "---\nname: a-shell\ndescription: Tidies tidies tidies.\nallowed-tools: Bash\n---\nBody.\n"
    source = MemorySource({"a-shell": shell, "plain": skill_md("plain", "Tidies a desk when it is full.")})

    def ranked(query: str, skills: list[Any], *, limit: int, tags: list[str]) -> list[dict[str, Any]]:
        return [{"key": skill.key, "score": 2 if skill.key == "a-shell" else 1} for skill in skills]

    def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0 if "shell" in text or text == "tidies" else 0.0, 0.1] for text in texts]

    options: dict[str, Any] = {"selector": ranked if way == "host" else way}
    if way == "embedding":
        options["embed"] = embed
    with Skills(source, **options) as skills:
        assert _keys(skills.search("tidies", top_k=1)) == ["a-shell"]
        assert _keys(skills.search("tidies", top_k=1, available_tools=["Read"])) == ["plain"]
        assert sorted(_keys(skills.search("tidies", available_tools=["bash"]))) == ["a-shell", "plain"]
        prompt = skills.chat().prompt_with("tidies", narrowing={"top_k": 1, "available_tools": ["Read"]})
        assert (prompt.skills, prompt.not_narrowed) == (("plain",), None)


class _Files:
    """One skill with the given files, of which a list names some."""

    def __init__(self, listed: list[Any]) -> None:
        self.contents: dict[str, str] = {"SKILL.md": skill_md("a"), "x.md": "x"}
        self.listed = listed

    def list(self) -> list[str]:
        return ["a"]

    def files(self, id: str) -> Any:
        return self.listed

    def read(self, id: str, path: str) -> str | None:
        return self.contents.get(path)


def test_an_approval_covers_only_the_files_that_a_source_lists() -> None:
    policy = {"scopes": {"explicit": {"approve": True}}}
    asked: list[str] = []

    def chat(listed: list[Any]) -> Any:
        approve = lambda skill, digest: not asked.append(digest)  # noqa: E731
        return Skills(_Files(listed), policy=policy, approve=approve, on_error=lambda *_: None).chat()

    approved = chat(["SKILL.md"])
    assert approved.call("load_skill", {"name": "a"}).ok and len(asked) == 1
    assert approved.call("read_skill_resource", {"name": "a", "path": "x.md"}).reason == "missing-file"
    left_out = chat(["SKILL.md", {"path": "node_modules", "left_out": "a folder of packages"}])
    assert left_out.call("load_skill", {"name": "a"}).reason == "not-approved" and len(asked) == 1


def test_vectors_of_texts_that_are_gone_are_not_kept() -> None:
    asked: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[float(len(text)), 1.0] for text in texts]

    source = _Files(["SKILL.md"])
    source.contents["SKILL.md"] = skill_md("a", "The first.")
    with Skills(source, embed=embed, selector="embedding") as skills:
        skills.search("query")
        skills.search("query")
        first = next(text for text in asked if "The first." in text)
        assert (asked.count("query"), asked.count(first)) == (2, 1)
        for number in range(40):
            source.contents["SKILL.md"] = skill_md("a", f"Number {number}.")
            skills.refresh()
            skills.search("query")
        source.contents["SKILL.md"] = skill_md("a", "The first.")
        skills.refresh()
        skills.search("query")
        assert asked.count(first) == 2


def test_sources_with_one_label_have_skills_of_their_own() -> None:
    one, other = (MemorySource({"a": skill_md("a", text)}) for text in ("One.", "Two."))
    with Skills(one, other) as skills:
        assert len({skill.location for skill in skills.all()}) == 2
        assert "One." in skills.read_text("a")


def test_a_call_of_gemini_needs_no_part_around_it() -> None:
    """The lists of calls in Google's libraries have none."""
    with Skills(MemorySource({"bread": skill_md("bread")})) as skills:
        chat = skills.chat()
        call = {"id": "1", "name": "load_skill", "args": {"name": "bread"}}
        wanted = chat.answer("gemini", {"functionCall": call})
        assert wanted["functionResponse"]["id"] == "1"
        assert chat.answer("gemini", call)["functionResponse"]["name"] == "load_skill"
        for response in ([call], {"functionCalls": [call]}, {"parts": [{"text": "x"}, {"functionCall": call}]}):
            assert len(chat.answer_all("gemini", response)) == 1
        assert chat.answer("gemini", {"name": "other", "args": {}}) is None
        assert chat.answer_all("gemini", {"parts": [{"text": "x"}, {"functionResponse": {"name": "load_skill"}}]}) == []
