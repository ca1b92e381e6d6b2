"""Makes the home on which clients are asked, from conformance/clients/tree.json.

The names tell where a skill is: s-* are shapes in the project and u-* in the user's folder; mK-FOLDER is a marker in a
folder that some client may read, where K says where that is (0, 1, 2 from the current folder to the root of the
repository, 3 above it, w the worktree, n0 to n2 outside of git, h the home); dup-* is one name in several folders.
"""

import json
import os
import re
import subprocess
from pathlib import Path

TREE = json.loads((Path(__file__).resolve().parents[2] / "conformance/clients/tree.json").read_text())
MARKED = {
    "code/proj/packages/app": "0", "code/proj/packages": "1", "code/proj": "2", "code": "3", "code/wt": "w",
    "nogit/a/b": "n0", "nogit/a": "n1", "nogit": "n2",
}
SCENES = {
    "root": "code/proj", "sub": "code/proj/packages/app", "worktree": "code/wt", "nogit": "nogit/a/b", "rootfile": "code/rf",
}


def put(file, data):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data if isinstance(data, bytes) else data.encode())


def skill(name, description):
    return f"---\nname: {name}\ndescription: {description}\n---\n\nDo the thing.\n"


def slug(path):
    return re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-")


def text_of(text):
    parts = text if isinstance(text, list) else [text]
    return "".join(part if isinstance(part, str) else part["repeat"] * part["times"] for part in parts)


def shapes(root, prefix, number, without):
    named = lambda text: text.replace("{p}", prefix).replace("{number}", number)
    for shape in TREE["shapes"]:
        left_out = any(shape["path"].startswith("{p}" + name + "/") for name in without)
        if not left_out and shape.get("only", prefix) == prefix:
            data = named(text_of(shape["text"]))
            put(root / named(shape["path"]), data.encode("latin-1" if shape.get("latin1") else "utf-8"))
    for link in TREE["links"]:
        path = root / named(link["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(os.path.normpath(root / named(link["to"])), path)


def git(folder, *words):
    env = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null")
    user = ["-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run(["git", "-C", folder, *user, *words], check=True, capture_output=True, env=env)


def build(home, project, user, without=()):
    """The home; shapes are in the folders `project` of the project and `user` of the home."""
    top, app = home / "code/proj", home / "code/proj/packages/app"
    app.mkdir(parents=True)
    git(home / "code", "init", "-q", "-b", "main", "proj")
    put(top / ".gitignore", f"{project}/s-ignored/\n")
    git(top, "add", ".gitignore")
    git(top, "commit", "-q", "-m", "one")
    git(top, "worktree", "add", "-q", "../wt", "-b", "wt")
    shapes(top / project, "s-", "12345", without)
    shapes(home / user, "u-", "67890", without)
    for path in TREE["markers"]["project"]:
        for folder, key in MARKED.items():
            name = f"m{key}-{slug(path)}"
            put(home / folder / path / name / "SKILL.md", skill(name, f"Marker {key} {path}."))
        for name in ("dup-all", "dup-proj", "dup-above"):
            put(top / path / name / "SKILL.md", skill(name, f"proj {path}"))
        put(app / path / "dup-above/SKILL.md", skill("dup-above", f"app {path}"))
    for path in TREE["markers"]["user"]:
        put(home / path / f"mh-{slug(path)}" / "SKILL.md", skill(f"mh-{slug(path)}", f"Marker h {path}."))
        for name in ("dup-all", "dup-user"):
            put(home / path / name / "SKILL.md", skill(name, f"user {path}"))
    put(top / project / "dup-scope/SKILL.md", skill("dup-scope", "project"))
    put(home / user / "dup-scope/SKILL.md", skill("dup-scope", "user"))
    git(home / "code", "init", "-q", "-b", "main", "rf")
    root = home / "code/rf" / project
    put(root / "SKILL.md", skill("s-root-file", "SKILL.md right in the root."))
    for name in ("rf-one", "rf-two"):
        put(root / name / "SKILL.md", skill(name, "Beside a SKILL.md in the root."))


def build_real(home, project, user, corpus, part=0, parts=1):
    """200 real skills, or each of several parts of them: half in the project, half in the home."""
    top = home / "code/proj"
    top.mkdir(parents=True)
    git(home / "code", "init", "-q", "-b", "main", "proj")
    folders = sorted(Path(corpus).glob("*/*"))
    seen = set()
    for number in range(200):
        folder = folders[number * (len(folders) // 200)]
        name = folder.name if folder.name not in seen else f"{folder.name}-{folder.parent.name}"
        seen.add(folder.name)
        if number // 2 % parts != part:
            continue
        root = home / user if number % 2 else top / project
        subprocess.run(["cp", "-r", folder, root / name] if root.exists() else ["sh", "-c", 'mkdir -p "$1" && cp -r "$2" "$1/$3"', "sh", root, folder, name], check=True)
