"""The package itself: the command it carries, its types, and the pages about it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import prowess
import pytest
from conftest import skill_md


def test_the_command(write, tmp_path: Path) -> None:
    folder = write("bread", "Bakes bread.").parent
    program = shutil.which("prowess", path=os.path.dirname(sys.executable))
    assert program, "the wheel carries the command"
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    for command in ([program], [sys.executable, "-m", "prowess"]):
        made = subprocess.run(
            [*command, "list", "--in", str(folder), "--json"], capture_output=True, text=True, env=environment, timeout=60
        )
        assert made.returncode == 0 and "bread" in made.stdout, made
        made = subprocess.run([*command, "check", str(tmp_path / "none")], capture_output=True, text=True, env=environment, timeout=60)
        assert made.returncode == 2, made
    version = subprocess.run([program, "--version"], capture_output=True, text=True, env=environment, timeout=60)
    assert version.stdout.split()[1] == prowess.__version__


def test_the_types_are_complete(tmp_path: Path) -> None:
    package = Path(prowess.__file__).parent
    assert (package / "py.typed").exists() and (package / "_native.pyi").exists()
    if shutil.which("mypy", path=os.path.dirname(sys.executable)) is None:
        pytest.skip("mypy is not installed")
    made = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "-p", "prowess"],
        capture_output=True, text=True, timeout=300, cwd=tmp_path,
    )
    # An adapter is complete only beside its library.
    libraries = {"google_genai": "google.genai", "langchain": "langchain_core"}
    modules = [path.stem for path in (package / "adapters").glob("[a-z]*.py")]
    missing = [f"/adapters/{name}.py:" for name in modules if not found(libraries.get(name, name))]
    errors = [line for line in made.stdout.splitlines() if ": error:" in line]
    assert not [line for line in errors if not any(name in line for name in missing)], made.stdout
    assert "Success" in made.stdout or errors, made.stdout


def test_the_stub_of_the_extension_module_agrees_with_it(tmp_path: Path) -> None:
    if shutil.which("mypy", path=os.path.dirname(sys.executable)) is None:
        pytest.skip("mypy is not installed")
    made = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "prowess._native", "--ignore-disjoint-bases"],
        capture_output=True, text=True, timeout=300, cwd=tmp_path,
    )
    assert made.returncode == 0, made.stdout + made.stderr


def test_a_user_of_the_types(tmp_path: Path) -> None:
    if shutil.which("mypy", path=os.path.dirname(sys.executable)) is None:
        pytest.skip("mypy is not installed")
    (tmp_path / "host.py").write_text(
        "import prowess\n"
        "from prowess import Skills, Skill, Hit\n"
        "skills = Skills('skills')\n"
        "hits: list[Hit] = skills.search('x', top_k=3)\n"
        "skill: Skill = skills['x']\n"
        "answer: dict[str, object] | None = skills.chat().answer('anthropic', {})\n"
        "listed: Skill | None = skills.get('x')\n"
        "skills.chat('c', options={'max_active': 1}).prompt('q', budget={'tokens': 9})\n"
        "wrong: int = skill.name\n"
        "skills.chat('c', colour='red')\n"
        "prowess.check('', profle='spec')\n"
        "found = skills.asearch('x', top=3)\n"
    )
    made = subprocess.run([sys.executable, "-m", "mypy", "--strict", "host.py"], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    errors = [line for line in made.stdout.splitlines() if ": error:" in line]
    assert [line.split(": ")[0] for line in errors] == [f"host.py:{at}" for at in (9, 10, 11, 12)], made.stdout


def pages() -> list[Path]:
    tree = Path(os.environ["PROWESS_TREE"])
    return [tree / "docs" / "embed" / "python.md", tree / "packages" / "python" / "README.md"]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.parent.name + "/" + page.name)
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page run one after another, in a folder with the skills that the page is about."""
    for name, description in (("review-pr", "Reviews a pull request. Use it when asked for a review."), ("pdf", "Reads and converts PDF files.")):
        (tmp_path / "skills" / name).mkdir(parents=True)
        (tmp_path / "skills" / name / "SKILL.md").write_text(skill_md(name, description, "Read the diff first."))
    (tmp_path / "skills" / "review-pr" / "checklist.md").write_text("- tests\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    skipped: list[str] = []
    scope: dict = {"__name__": "page"}
    for at, block in enumerate(blocks):
        needed = re.findall(r"^from prowess\.adapters import (.*)$", block, re.MULTILINE)
        modules = {"google_genai": "google.genai", "langchain": "langchain_core"}
        names = [name.strip() for line in needed for name in line.split(",")]
        missing = [name for name in names if not found(modules.get(name, name))]
        if missing:
            skipped.append(f"block {at + 1}, without {', '.join(missing)}")
            continue
        exec(compile(block, f"{page.name}, block {at + 1}", "exec"), scope)
    if skipped:
        pytest.skip(f"{len(blocks) - len(skipped)} of {len(blocks)} blocks were run; not {'; '.join(skipped)}")


def found(module: str) -> bool:
    """Whether a module can be imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def test_versions_are_in_step() -> None:
    tree = Path(os.environ["PROWESS_TREE"])
    for manifest in ("Cargo.toml", "packages/Cargo.toml"):
        found = re.search(r'^version = "(.*)"', (tree / manifest).read_text(), re.MULTILINE)
        assert found and found[1] == prowess.__version__, manifest
    web = json.loads((tree / "packages/web/package.json").read_text())
    assert web["version"] == prowess.__version__
