"""What the tests share."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


def skill_md(name: str, description: str = "Does it.", body: str = "Body.") -> str:
    """The text of a SKILL.md."""
    return f"---\nname: {name}\ndescription: {description}\n---\n{body}\n"


@pytest.fixture
def write(tmp_path: Path):
    """Writes a skill into a folder: ``write("tidy-up", "Tidies up.", files={"notes.md": "x"})``.

    A skill that is written ``whole`` appears at once, for a test that watches its folder.
    """

    def write(
        name: str, description: str = "Does it.", body: str = "Body.", files: dict | None = None, whole: bool = False
    ) -> Path:
        folder = tmp_path / ("beside" if whole else "skills") / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SKILL.md").write_text(skill_md(name, description, body), encoding="utf-8")
        for path, contents in (files or {}).items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        return folder.rename(tmp_path / "skills" / name) if whole else folder

    return write


def run(code: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Runs code in a new interpreter."""
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1"}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=timeout, env=environment
    )


def conformance() -> Path:
    """The folder of the vectors. The tests run outside the tree, so a variable names it."""
    return Path(os.environ["PROWESS_TREE"]) / "conformance"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Shows how many vectors were run, and which were left out."""
    vectors = sys.modules.get("test_vectors")
    if vectors is None or not vectors.GROUPS:
        return
    groups, left_out = vectors.GROUPS, vectors.LEFT_OUT
    terminalreporter.write_line(f"{sum(groups.values())} vectors in {len(groups)} groups; {len(left_out)} left out")
    for name, count in groups.items():
        terminalreporter.write_line(f"  {name}: {count}")
    for one in left_out:
        terminalreporter.write_line(f"  left out: {one}")
