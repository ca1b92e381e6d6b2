"""The vectors of sessions: calls of a model and actions of its host, over skills in a folder."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import prowess


def needs_more(case: dict[str, Any]) -> str | None:
    """Why a case is not about a session over skills."""

    def replay(call: Any) -> bool:
        return (
            not isinstance(call, dict)
            or any(name not in ("tool", "arguments", "host", "filter") for name in call)
            or call.get("host") == "dance"
            or ("host" in call and isinstance(call.get("arguments"), dict) and "unheard" in call["arguments"])
        )

    calls = [line["call"] for line in case["lines"] if "call" in line]
    if any(replay(call) for call in calls) or "--model-only" in case.get("args", []):
        return "is about the lines of `replay`"
    return None


class Host:
    """The files of a case in a folder, its skills and its chat."""

    def __init__(self, case: dict[str, Any], root: Path) -> None:
        self.root = root
        self.approving = False
        (root / "skills").mkdir(parents=True)
        self.apply({"write": case["files"]})
        policy: dict[str, Any] = {}
        options: dict[str, Any] = {}
        source: Any = {"dir": str(root / "skills")}
        args = case.get("args", [])
        for name, value in zip(args[::2], args[1::2], strict=True):
            if name == "--tools":
                policy["host_tools"] = [grant.raw for grant in prowess.parse_allowed_tools(value).grants]
            elif name == "--filter":
                policy["filter"] = value
            elif name == "--naming":
                options["naming"] = value
            elif name == "--max-active":
                options["max_active"] = int(value)
            elif (name, value) == ("--in", "dir=skills,preload=true"):
                source["preload"] = True
            else:
                raise AssertionError(f"no such option of a vector: {name} {value}")
        self.settings = {"policy": policy, "options": options}
        self.skills = prowess.Skills(source, **self.settings, approve=lambda skill, digest: self.approving)
        self.chat = self.skills.chat("vector")

    def apply(self, change: dict[str, Any]) -> None:
        """Changes the files."""
        skills = self.root / "skills"
        for gone in change.get("remove", []):
            path = skills / gone
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        for path, contents in change.get("write", {}).items():
            (skills / path).parent.mkdir(parents=True, exist_ok=True)
            (skills / path).write_bytes(contents.encode())
        for path, target in change.get("link", {}).items():
            (skills / path).parent.mkdir(parents=True, exist_ok=True)
            (skills / path).symlink_to(target)


def done(data: Any, text: str = "") -> dict[str, Any]:
    return {"ok": True, "text": text, "data": data, "reason": None}


def bare(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def begun(asked: dict[str, Any]) -> dict[str, Any]:
    """The settings of a chat that `begin` asks for."""
    shape = asked.get("catalog_in_tool")
    options = bare({
        "naming": asked.get("naming"), "namespace": asked.get("namespace"), "max_active": asked.get("max_active"),
        "when_full": asked.get("when_full"), "lifetime": asked.get("lifetime"), "repeat": asked.get("repeat"),
        "hint_files": asked.get("hint_files"), "inline_resources": "inline_bytes" in asked,
        "max_activation_bytes": asked.get("max_activation_bytes"), "max_kept_bytes": asked.get("max_kept_bytes"),
        "activation": bare({"plain": asked.get("plain"), "max_inline_bytes": asked.get("inline_bytes")}),
        "max_files": asked.get("max_files"), "max_resource_bytes": asked.get("max_bytes"),
        "too_large": asked.get("too_large"), "max_enum": asked.get("max_enum"),
        "catalog_in_tool": shape and {"style": {"shape": shape}}, "instruction": asked.get("instruction"),
    })
    policy: dict[str, Any] = bare({
        "allow": asked.get("allow"), "deny": asked.get("deny"), "filter": asked.get("filter"),
        "untrusted": asked.get("untrusted"), "tool_mode": asked.get("mode"),
        "scopes": {"explicit": {"approve": True}} if "approve" in asked else None,
    })
    if "tools" in asked:
        # None is a host with every tool.
        policy["host_tools"] = asked["tools"]
    return {"policy": policy, "options": options}


def act(host: Host, what: str, args: dict[str, Any]) -> dict[str, Any]:
    """What a host does between the calls of a model."""
    chat = host.chat
    if what == "begin":
        host.approving = args.get("approve") is True
        host.chat = host.skills.chat("vector", **begun(args))
        return done({"tools": host.chat.tools(args.get("dialect", "mcp"))})
    if what == "active":
        return done({"skills": chat.active, "tools": chat.active_tools})
    if what == "deactivate":
        removed = chat.deactivate(args["name"])
        return done({"deactivated": removed is not None, "removed_tools": removed or []})
    if what == "end_turn":
        return done({"deactivated": chat.end_turn()})
    if what == "log":
        wanted = args.get("events")
        return done({"events": [event for event in chat.log if wanted is None or event["event"] in wanted]})
    if what == "preload":
        results = chat.preload(*args.get("names", []))
        failed = [{"name": name, "reason": one.reason} for name, one in results if one.reason is not None]
        return done({"active": chat.active, "failed": failed})
    if what == "prompt":
        characters = args.get("characters")
        made = chat.prompt_with(
            args.get("query"),
            style={"shape": "xml", **args.get("style", {})},
            budget="unlimited" if characters is None else {"characters": characters},
            narrowing=bare({"top_k": args.get("top_k")}),
            folder=args.get("folder", ""),
        )
        report = {"total": made.total, "included": made.included, "omitted": made.omitted, "shortened": made.shortened}
        return done(report, made.text)
    if what == "refresh":
        before = chat.active
        host.skills.refresh()
        after = chat.active
        return done({"deactivated": [key for key in before if key not in after], "changed": chat.changed})
    if what == "reinject":
        limits = {name: {"characters": args.get(name, 1_000_000_000)} for name in ("each", "total")}
        again = chat.reinject(**limits)
        return done({"included": again.included, "cut": again.cut, "omitted": again.omitted}, again.text)
    if what == "restore":
        host.chat = host.skills.restore(json.dumps(chat.state), **host.settings)
        return done({"skills": host.chat.active, "tools": host.chat.active_tools})
    if what == "scope":
        return done({"tools": chat.scope_tools(args["tools"])})
    if what == "set_filter":
        return done({"deactivated": chat.set_filter(args["filter"])})
    assert what == "user", what
    results = chat.user_message(args["message"])
    refused = next((one.reason for one in results if one.reason is not None), None)
    text = prowess.compose([one.text for one in results])
    return {"ok": refused is None, "text": text, "data": {"skills": [one.data for one in results]}, "reason": refused}


def answered(host: Host, call: dict[str, Any]) -> dict[str, Any]:
    """The result of a call or an action. What `replay` refuses as a bad call is an exception here."""
    args = call.get("arguments", {})
    try:
        if "host" in call:
            result = act(host, call["host"], args)
        else:
            one = host.chat.call(call["tool"], args, filter=call.get("filter"))
            result = {"ok": one.ok, "text": one.text, "data": one.data, "reason": one.reason}
    except prowess.ValidationError as error:
        return {"ok": False, "text": error.message, "data": None, "reason": "bad-call"}
    return json.loads(json.dumps(result, ensure_ascii=False).replace(str(host.root), "[DIR]"))


def covers(wanted: Any, found: Any) -> bool:
    """Whether every expected member is there; lists must have the expected length."""
    if wanted is None:
        return True
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(wanted) == len(found)
            and all(covers(one, other) for one, other in zip(wanted, found, strict=True))
        )
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(name in found and covers(one, found[name]) for name, one in wanted.items())
    return type(wanted) is type(found) and wanted == found


def differences(expect: dict[str, Any], result: dict[str, Any]) -> list[str]:
    line = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
    text = result["text"]
    checks = [
        (expect.get("ok") in (None, result["ok"]), "ok"),
        (result["ok"] == (result["reason"] is None), "ok and reason"),
        ("reason" not in expect or expect["reason"] == result["reason"], "reason"),
        (expect.get("text") in (None, text), "text"),
        (covers(expect.get("data"), result["data"]), "data"),
        *((part in text, f"{part!r} is not in") for part in expect.get("contains", [])),
        *((part not in text, f"{part!r} is in") for part in expect.get("lacks", [])),
        *((part in line, f"{part!r} is not said in") for part in expect.get("says", [])),
        *((part not in line, f"{part!r} is said in") for part in expect.get("lacks_said", [])),
    ]
    return [f"{what}: {line}" for holds, what in checks if not holds]


def faults(case: dict[str, Any]) -> list[str] | str:
    """The faults of a case, or why it is left out."""
    more = needs_more(case)
    if more is not None:
        return more
    # A short path, since some cases count the characters of texts with it.
    with tempfile.TemporaryDirectory(prefix="v") as root:
        return run(case, Path(root).resolve())


def run(case: dict[str, Any], root: Path) -> list[str]:
    """Runs the lines of a case."""
    host = Host(case, root)
    found: list[str] = []
    for at, line in enumerate(case["lines"]):
        if "do" in line:
            host.apply(line["do"])
            continue
        found += [f"line {at + 1}: {one}" for one in differences(line["expect"], answered(host, line["call"]))]
    host.skills.close()
    return found
