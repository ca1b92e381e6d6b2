"""zerodep's vocabulary against what zerodep did with 68 files. The lists of differences are complete: each is in the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import conformance
from prowess import zerodep


def load(name: str) -> Any:
    return json.loads((conformance() / "five-systems" / f"{name}.json").read_text(encoding="utf-8"))


def text(value: Any) -> str:
    parts = value if isinstance(value, list) else [value]
    return "".join(part if isinstance(part, str) else part["repeat"] * part["times"] for part in parts)


def folders(place: Path) -> dict[str, Path]:
    """A folder with a SKILL.md for each file."""
    made = {}
    for case in load("cases")["cases"]:
        folder = place / case["id"] / case.get("folder", "demo")
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_bytes(text(case["input"]).encode())
        made[case["id"]] = folder
    return made


def differences(place: Path, record: str, accepts: Callable[[Path], bool]) -> tuple[set[str], set[str]]:
    """The files that only we accept, and those that only zerodep accepts."""
    recorded, ours, theirs = load(f"recorded/{record}"), set(), set()
    cases = folders(place)
    for id, folder in cases.items():
        if accepts(folder) != recorded[id]["ok"]:
            (theirs if recorded[id]["ok"] else ours).add(id)
    print(f"{record}: {len(cases) - len(ours | theirs)} of {len(cases)} alike")
    return ours, theirs


def loads(folder: Path) -> bool:
    try:
        zerodep.load(folder)
    except zerodep.ParseError as error:
        assert error.problems
        return False
    return True


def test_load_accepts_what_zerodep_accepted_but_for_the_list(tmp_path: Path) -> None:
    ours = {
        # Spaces, empty lines and other fences around the frontmatter.
        "leading-blank-lines", "leading-space-before-fence", "open-fence-trailing-space", "close-fence-indented",
        "close-with-dots",
        # The text as written, and the name of the folder.
        "name-number", "description-bool", "missing-name",
    }
    assert differences(tmp_path, "zerodep", loads) == (ours, {"blank-description", "duplicate-key"})


def test_validate_agrees_with_zerodep_but_for_the_list(tmp_path: Path) -> None:
    ours = {"open-fence-trailing-space", "description-bool", "anchor-alias"}
    theirs = {
        "close-fence-4-dashes", "blank-description", "description-colon", "metadata-nested", "metadata-dup", "duplicate-key",
        "tab-indent",
    }
    assert differences(tmp_path, "zerodep-validate", lambda folder: zerodep.validate(folder) == []) == (ours, theirs)


def test_what_is_loaded_is_what_zerodep_loaded_but_for_the_list(tmp_path: Path) -> None:
    """The fields and the text of the files that both load."""
    recorded, differ = load("recorded/zerodep"), {}
    for id, folder in folders(tmp_path).items():
        if not recorded[id]["ok"] or not loads(folder):
            continue
        skill = zerodep.load(folder)
        found = {
            "name": skill.name, "description": skill.description, "body": skill.instructions,
            "tools": skill.properties.allowed_tools, "metadata": skill.properties.metadata,
        }
        expected = {name: text(value) if isinstance(value, list) else value for name, value in recorded[id].items()}
        other = [name for name, value in found.items() if value != expected[name]]
        if other:
            differ[id] = other
    assert differ == {
        # What is on the line of a fence is not part of the text.
        "close-fence-trailing-space": ["body"], "close-fence-4-dashes": ["body"],
        # Names and descriptions have no spaces or line breaks around them, and are whole.
        "name-space-padded": ["name"], "dashes-in-block-scalar": ["description"], "description-folded": ["description"],
        "description-literal": ["description"], "description-multiline-plain": ["description"],
        "anchor-alias": ["name", "description"],
        "tools-comma": ["tools"], "tools-list": ["tools"], "tools-flow": ["tools"],
        "metadata-mixed": ["metadata"], "metadata-nested": ["metadata"],
    }
