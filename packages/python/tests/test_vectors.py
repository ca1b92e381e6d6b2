"""The vectors of ``conformance/`` in Python: the same files, the same results as in Rust and JavaScript."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import prowess
import pytest
import session_vectors
from conftest import conformance

PROFILES = ["spec", "skills-ref", "anthropic", "plugin", "lenient"]
# Notes about how well a skill is written, which only some vectors are about.
QUALITY = [
    "description-placeholder", "description-too-short", "description-without-when", "body-placeholder", "path-missing",
]
DOCUMENTS = sorted(path.stem for path in (conformance() / "documents").glob("*.json"))
SESSIONS = sorted(path.stem for path in (conformance() / "session").glob("*.json"))
HOSTILE = sorted(path.stem for path in (conformance() / "hostile-yaml").glob("*.yaml"))
DOCUMENT_FILES = [
    *(f"documents/{name}" for name in DOCUMENTS), "five-systems/cases", "skills-ref/official", "skills-ref/probes",
]
OTHERS = ["tools", "paths", "render", "select", "keys", "digests", "discover"]
# What is not run here, and why.
NOT_RUN = {
    "README.md": "describes the vectors",
    "clients/": "the views of clients are of the command",
    "stems.json": "is about a function that only the core has",
    "five-systems/differences.json": "is about what other systems did",
    "five-systems/recorded/": "what other systems did; the tests of the vocabularies compare it",
    "hostile-tree/": "writes a tree, and is no vector",
    "install.json": "installations are of the command",
    "sites.json": "sites are read by the library",
    "skills-ref/differences.json": "is about what the reference did",
}
# How many vectors of a group are left out.
ABSENT = {"discover": 3, "session/host": 2, "session/tools": 1}

#: What was run, for the summary: the number of vectors of each group, and those that were left out, with the reason.
GROUPS: dict[str, int] = {}
LEFT_OUT: list[str] = []


def cases(path: str) -> list[dict[str, Any]]:
    return json.loads((conformance() / f"{path}.json").read_text(encoding="utf-8"))["cases"]


def text(value: Any) -> str:
    """A text: a string, or parts of which some are repeated."""
    if isinstance(value, list):
        return "".join(text(part) for part in value)
    return value if isinstance(value, str) else value["repeat"] * value["times"]


def files(listed: list[Any]) -> list[Any]:
    made: list[Any] = []
    for file in listed:
        if isinstance(file, str):
            made.append({"path": file, "size": 1})
        elif "count" in file:
            made += [{"path": file["path"].replace("{}", str(at + 1)), "size": 1} for at in range(file["count"])]
        else:
            made.append(file)
    return made


def same(what: str, found: Any, expected: Any) -> list[str]:
    one, other = (json.dumps(value, sort_keys=True) for value in (found, expected))
    return [] if one == other else [f"{what}: found {one}, expected {other}"]


def document_faults(case: dict[str, Any]) -> list[str]:
    source = bytes.fromhex(case["input_hex"]) if "input_hex" in case else text(case["input"])
    folder, file = case.get("folder", "demo"), case.get("file", "SKILL.md")
    place = {} if folder == "" else {"location": f"skills/{folder}/{file}", "folder": folder}
    options = {**place, "levels": case.get("levels"), **case.get("options", {})}
    if "files" in case:
        options["files"] = files(case["files"])
    faults: list[str] = []
    for member, expected in case["expect"].items():
        if member == "skill":
            skill = prowess.parse(source, **place)
            for key, value in expected.items():
                found = skill._data["bodyOffset"] if key == "body_offset" else getattr(skill, key)
                faults += same(key, found, value)
        elif member == "places":
            found = prowess.findings(source, **options)
            for code, value in expected.items():
                first = next((one.text for one in found if one.code == code), None)
                faults += same(code, first, value)
        elif member == "fixed":
            faults += same(member, prowess.fix(source, **options, profile="spec").text, expected)
        elif member in PROFILES:
            problems = prowess.check(source, **options, profile=member)
            codes = verdict(problems)
            if "quality" not in expected:
                codes["quality"] = []
            wanted = {
                kind: sorted(set(expected.get(kind, []))) for kind in ("errors", "warnings", "infos", "quality")
            }
            faults += same(member, codes, wanted)
            faults += same(f"{member} loads", loads(source, {**options, "profile": member}), not codes["errors"])
        else:
            faults.append(f"no such expectation: {member}")
    return faults


def verdict(problems: tuple[prowess.Problem, ...]) -> dict[str, list[str]]:
    def of(severity: str, quality: bool | None = None) -> list[str]:
        return sorted({
            one.code for one in problems
            if one.severity == severity and (quality is None or (one.code in QUALITY) == quality)
        })

    return {"errors": of("error"), "warnings": of("warning"), "infos": of("info", False), "quality": of("info", True)}


def loads(source: str | bytes, options: dict[str, Any]) -> bool:
    try:
        prowess.loads(source, **options)
    except prowess.LoadError as error:
        assert error.problems
        return False
    return True


def tool_faults(case: dict[str, Any]) -> list[str]:
    value, expect = case.get("text", case.get("items")), case["expect"]
    tools = prowess.parse_allowed_tools(value)
    grants = [
        {"raw": one.raw, "name": one.name, "pattern": one.pattern, "balanced": one.balanced} for one in tools.grants
    ]
    faults = same("grants", [tools.form, grants], [expect["form"], expect["grants"]])
    for asked in expect.get("allows", []):
        granted = prowess.allows_tool(value, asked["tool"], asked.get("argument"))
        faults += same(f"allows {asked['tool']}", granted, asked["granted"])
    return faults


def path_cases() -> list[tuple[Any, Any]]:
    vectors = json.loads((conformance() / "paths.json").read_text(encoding="utf-8"))

    def outcome(path: str | bytes, reading: str = "strict") -> dict[str, str]:
        read = prowess.parse_path(path, reading=reading)
        return {name: read[name] for name in ("path", "rule") if name in read}

    made = []
    for case in vectors["cases"]:
        path = text(case["path"])
        made.append(([outcome(path), outcome(path, "request")], [case["strict"], case["request"]]))
    made += [(outcome(bytes.fromhex(case["path_hex"])), case["expect"]) for case in vectors["bytes"]]
    made += [(outcome(case["name"], "name"), case["expect"]) for case in vectors["names"]]
    made += [(prowess.first_collision(case["paths"]), case["expect"]) for case in vectors["collisions"]]
    return made


def rendered(case: dict[str, Any]) -> Any:
    def given(skill: dict[str, Any]) -> dict[str, Any]:
        return {**skill, "description": text(skill["description"])}

    listed, style = files(case.get("files", [])), case.get("style", {})

    def activation(skill: dict[str, Any]) -> str:
        inlined = case.get("inlined")
        return prowess.render_activation(
            given(skill), folder=case.get("folder"), files=listed, inlined=inlined, style=style
        )

    kind = case["render"]
    if kind == "catalog":
        return prowess.render_catalog([given(skill) for skill in case["skills"]], style=style).text
    if kind == "activation":
        return activation(case["skill"])
    if kind == "compose":
        return prowess.compose([activation(skill) for skill in case["skills"]])
    if kind == "describe":
        return prowess.describe(given(case["skill"]), listed)
    if kind == "to_dict":
        location = case.get("path", "a/SKILL.md")
        return prowess.to_dict(case["input"], whole=case.get("whole", False), location=location)
    assert kind == "from_dict"
    try:
        return prowess._skill.run("fromDict", case["dict"])["markdown"]
    except prowess.ValidationError as error:
        return {"error": error.message}


def render_faults(case: dict[str, Any]) -> list[str]:
    expect = case["expect"]
    whole = isinstance(expect, (str, list)) or "repeat" in expect
    # As text, since the order of keys counts.
    one, other = json.dumps(rendered(case)), json.dumps(text(expect) if whole else expect)
    return [] if one == other else [f"found {one}, expected {other}"]


def select_faults(case: dict[str, Any]) -> list[str]:
    found = prowess.search(case["skills"], case["query"], selector=case.get("selector") or "bm25")
    close = len(found) == len(case["expect"]) and all(
        hit.key == key and math.isclose(hit.score, score, abs_tol=1e-4)
        for hit, (key, score) in zip(found, case["expect"], strict=True)
    )
    return [] if close else [f"found {found}, expected {case['expect']}"]


def key_faults(case: dict[str, Any]) -> list[str]:
    texts = {
        id: f"---\nname: {name}\ndescription: Does it.\n---\nBody of {id}.\n" for id, name in case["entries"].items()
    }
    layer = prowess.Layer(prowess.MemorySource(texts), key_from=case.get("key_from"))
    with prowess.Skills(layer) as skills:
        return same("keys", skills.keys(), case["keys"])


def run(name: str, vectors: list[Any], faults_of: Any) -> None:
    faults: list[str] = []
    left_out: list[str] = []
    for case in vectors:
        identity = case.get("id", "") if isinstance(case, dict) else ""
        found = faults_of(case)
        if isinstance(found, str):
            left_out.append(f"{identity}: {found}")
            continue
        faults += [f"{name}/{identity}: {fault}" for fault in found]
    GROUPS[name] = len(vectors) - len(left_out)
    LEFT_OUT.extend(left_out)
    assert len(left_out) == ABSENT.get(name, 0), left_out
    assert all(re.search(r"replay|links|options of a walk", one) for one in left_out), left_out
    assert vectors
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    "path",
    DOCUMENT_FILES,
)
def test_documents(path: str) -> None:
    run(path, cases(path), document_faults)


def test_strict_modes() -> None:
    """What the strict modes of other systems reject: ``spec`` does so too, with these codes, or accepts it."""
    by_id = {case["id"]: case for case in cases("five-systems/cases")}
    vectors = json.loads((conformance() / "five-systems/strict.json").read_text(encoding="utf-8"))

    def faults(vector: dict[str, Any]) -> list[str]:
        case, expected = by_id[vector["case"]], vector.get("codes", [])
        folder = case.get("folder", "demo")
        problems = prowess.check(
            text(case["input"]), folder=folder, location=f"skills/{folder}/SKILL.md", profile="spec"
        )
        errors = verdict(problems)["errors"]
        agrees = set(expected) <= set(errors) if expected else not errors
        return [] if agrees else [f"{case['id']}: found {errors}, expected {expected}"]

    run("five-systems/strict", [*vectors["rejected"], *vectors["not_in_the_specification"]], faults)


def test_hostile_yaml() -> None:
    """YAML that attacks its reader, between fences and without: it is read, and a fix leaves no new error."""

    def faults(name: str) -> list[str]:
        yaml = (conformance() / f"hostile-yaml/{name}.yaml").read_bytes()
        found = []
        for given in (b"---\n" + yaml + b"\n---\nbody\n", yaml):
            before = verdict(prowess.check(given, profile="spec"))["errors"]
            after = verdict(prowess.fix(given, profile="spec", all=True).problems)["errors"]
            found += [f"{name}: a fix leaves {code}" for code in after if code not in before]
            assert isinstance(prowess.parse(given).name, str)
        return found

    run("hostile-yaml", HOSTILE, faults)


def test_folders_of_the_reference(tmp_path: Path) -> None:
    codes = {"no-skill": "missing", "missing": "missing", "not-a-folder": "not-a-file"}
    vectors = json.loads((conformance() / "skills-ref/official.json").read_text(encoding="utf-8"))["folders"]

    def found(case: dict[str, Any], place: Path) -> dict[str, Any]:
        try:
            if case["call"] == "load":
                return {"descriptions": [prowess.Skill.load(place).description]}
            with prowess.Skills({"dir": str(place)}) as skills:
                return {"descriptions": [skill.description for skill in skills]}
        except prowess.SourceError as error:
            return {"error": error.code}

    def faults(case: dict[str, Any]) -> list[str]:
        root = tmp_path / case["id"]
        root.mkdir()
        for path, written in case["tree"].items():
            folder = root / path if path.endswith("/") else (root / path).parent
            folder.mkdir(parents=True, exist_ok=True)
            if written is not None:
                (root / path).write_text(written, encoding="utf-8")
        expected = dict(case["expect"])
        if "error" in expected:
            expected["error"] = codes[expected["error"]]
        return same("folder", found(case, root / case["path"]), expected)

    run("skills-ref/folders", vectors, faults)


def test_digests() -> None:
    class Tree:
        def __init__(self, files: list[dict[str, Any]]) -> None:
            self._files = {file["path"]: file for file in files}

        def list(self) -> list[str]:
            return ["demo"]

        def files(self, id: str) -> Any:
            return [{"path": path, "executable": file.get("executable", False)} for path, file in self._files.items()]

        def read(self, id: str, path: str) -> str | None:
            return self._files[path]["text"] if path in self._files else None

    def faults(case: dict[str, Any]) -> list[str]:
        asked: list[str] = []
        policy = {"scopes": {"explicit": {"approve": True}}}
        approve = lambda skill, digest: not asked.append(digest)  # noqa: E731
        with prowess.Skills(Tree(case["files"]), policy=policy, approve=approve) as skills:
            assert skills.chat().call("load_skill", {"name": "demo"}).ok
            return same("digest", [*asked, skills.digest("demo")], [case["digest"]] * 2)

    run("digests", cases("digests"), faults)


def test_tools() -> None:
    run("tools", cases("tools"), tool_faults)


def test_paths() -> None:
    run("paths", path_cases(), lambda case: same("path", list(case[0]) if isinstance(case[0], tuple) else case[0], case[1]))


def test_render() -> None:
    run("render", cases("render"), render_faults)


def test_select() -> None:
    run("select", cases("select"), select_faults)


def test_keys() -> None:
    run("keys", cases("keys"), key_faults)


def test_discover(tmp_path: Path) -> None:
    def good(written: str) -> str:
        name = re.fullmatch(r"<(.*)>", written, re.DOTALL)
        return written if name is None else f"---\nname: {name[1]}\ndescription: Does {name[1]}.\n---\nBody.\n"

    def faults(case: dict[str, Any]) -> list[str] | str:
        options = case.get("options", {})
        if any(name != "profile" for name in options):
            return "it has options of a walk"
        folder = tmp_path / case["id"]
        folder.mkdir()
        for name, written in case["files"].items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(good(written), encoding="utf-8")
        for name, target in case.get("links", {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).symlink_to(target)
        root = folder / case.get("root", "")

        def place(skill: prowess.Skill) -> str:
            at = Path(skill.location).parent.relative_to(root).as_posix()
            return "" if at == "." else at

        with prowess.Skills(root, **options) as skills:
            offered = sorted(place(skill) for skill in skills if skill.obstacle is None)
            broken = {
                place(skill): sorted({one.code for one in skill.problems if one.severity == "error"})
                for skill in skills.all() if skill.obstacle == "broken"
            }
        return same("offered", offered, sorted(case["offered"])) + same("broken", broken, case.get("broken", {}))

    run("discover", cases("discover"), faults)


def test_every_file_of_vectors_is_known() -> None:
    here = [f"{name}.json" for name in [*DOCUMENT_FILES, *OTHERS, "five-systems/strict", *(f"session/{one}" for one in SESSIONS)]]
    here += [f"hostile-yaml/{name}.yaml" for name in HOSTILE]
    found = {path.relative_to(conformance()).as_posix() for path in conformance().rglob("*") if path.is_file()}
    found = {path for path in found if "__pycache__" not in path}
    unknown = {path for path in found if path not in here and not any(path == one or path.startswith(one) for one in NOT_RUN)}
    assert unknown == set() and set(here) <= found


@pytest.mark.parametrize("name", SESSIONS)
def test_sessions(name: str) -> None:
    run(f"session/{name}", cases(f"session/{name}"), session_vectors.faults)
