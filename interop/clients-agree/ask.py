"""How each client is asked which skills it has, and how its answer is read. Each function gives a list of skills:
dictionaries with a name, and where known a path and a description; `own` marks what comes with the client.

No client has an account: where one wants a key, any word will do, and its server is the stand-in of model.py.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODEL = "http://127.0.0.1:8801"
# How many times longer than usual a client may take, on a machine that is busy.
PATIENCE = float(os.environ.get("PATIENCE", "1"))


class Asker:
    """Runs commands of the clients below `work`, in a home and a folder."""

    def __init__(self, work, home, folder):
        self.work, self.home, self.folder = Path(work), Path(home), Path(folder)
        self.temporary = self.work / "tmp"
        self.temporary.mkdir(exist_ok=True)

    def npm(self, package, path):
        return str(self.work / "npm" / package / "node_modules" / path)

    def venv(self, package, path):
        return str(self.work / "venv" / package / "bin" / path)

    def write(self, path, text):
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text if isinstance(text, str) else json.dumps(text))

    def run(self, command, env=None, stdin="", keep=0, seconds=120, node="node22"):
        """The standard output. Some clients end before a pipe is empty, so it goes to a file. `keep` seconds standard
        input stays open."""
        path = f"{self.work}/npm/{node}/node_modules/.bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        env = " ".join(f"{name}={value}" for name, value in (env or {}).items())
        env = dict(os.environ, ISOLATE_PATH=path, ISOLATE_TMP=str(self.temporary), ISOLATE_WORK=str(self.work), ISOLATE_ENV=env)
        with tempfile.TemporaryFile("w+", dir=self.temporary, errors="replace") as out:
            program = [HERE / "isolate", self.home, self.folder, *command]
            child = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.DEVNULL, env=env, text=True, start_new_session=True)
            child.stdin.write(stdin)
            child.stdin.flush()
            try:
                if keep:
                    child.wait(keep * PATIENCE)
                child.stdin.close()
                child.wait(seconds * PATIENCE)
            except subprocess.TimeoutExpired:
                child.stdin.close()
                try:
                    child.wait(15)
                except subprocess.TimeoutExpired:
                    os.killpg(child.pid, 9)
            out.seek(0)
            return out.read()

    def prompts(self, command, env=None, seconds=60):
        """The texts that a client sends to the stand-in model, and its standard output."""
        log = tempfile.NamedTemporaryFile(dir=self.temporary, suffix=".jsonl", delete=False).name
        limit = str(seconds * PATIENCE)
        out = self.run([sys.executable, str(HERE / "model.py"), log, limit, *command], env, seconds=seconds + 20)
        sent = [json.loads(line)["body"] for line in open(log, encoding="utf-8")]
        os.unlink(log)
        return [text for body in sent for text in texts(body)], sent, out


def texts(value):
    """Every text in a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


def skill(name, path=None, description=None, own=False):
    return {"name": name, "path": path, "description": description, "own": bool(own)}


def tagged(prompts, own=lambda place: False):
    """The skills in the first prompt that has `<skill>` elements."""
    for text in prompts:
        found = []
        for each in re.findall(r"<skill>(.*?)</skill>", text, re.S):
            part = lambda tag: (re.search(rf"<{tag}>(.*?)</{tag}>", each, re.S) or [None, ""])[1].strip()
            place = part("location") or part("path")
            if part("name"):
                found.append(skill(part("name"), place, part("description"), own(place)))
        if found:
            return found
    return []


def shown(text, own):
    """The skills in the list of Gemini CLI and Qoder."""
    pattern = r"^(\S.*?)( \[Built-in\])? \[(?:Enabled|Disabled)\](.*)\n  Description: ((?:.*\n)*?)  Location:    (.*)$"
    return [skill(m[1], m[5], m[4].strip(), m[2] or "uilt" in m[3] or own(m[5])) for m in re.finditer(pattern, text, re.M)]


def json_in(text, opens="{"):
    return json.loads(text[text.index(opens):])


def codex(a):
    calls = [{"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "t", "version": "1"}}}, {"method": "initialized"},
             {"id": 2, "method": "skills/list", "params": {"cwds": [str(a.folder)], "forceReload": True}}]
    lines = "".join(json.dumps(dict(call, jsonrpc="2.0")) + "\n" for call in calls)
    out = a.run([a.npm("codex", ".bin/codex"), "app-server"], stdin=lines, keep=4)
    answer = next(message for message in map(json.loads, out.splitlines()) if message.get("id") == 2)
    listed = answer["result"]["data"][0]["skills"]
    return [skill(s["name"], s["path"], s["description"], s["scope"] == "system") for s in listed if s["enabled"]]


def codex_prompt(a):
    prompts = texts(json_in(a.run([a.npm("codex", ".bin/codex"), "debug", "prompt-input", "hi"]), "["))
    text = next(text for text in prompts if "\n### Available skills\n" in text)
    roots = dict(re.findall(r"^- `(r\d+)` = `(.*)`$", text, re.M))
    lines = re.findall(r"^- (\S.*?): (.*)\(file: (.+?)\)\s*$", text.split("### Available skills")[1], re.M)
    return [skill(name, path, said.strip(), "/.system" in roots.get(path.split("/")[0], path)) for name, said, path in lines]


def gemini_cli(a):
    out = a.run([a.npm("gemini", ".bin/gemini"), "skills", "list", "--all"], {"GEMINI_CLI_TRUST_WORKSPACE": "true"})
    return shown(out, lambda place: "node_modules/@google" in place)


def gemini_cli_prompt(a):
    a.write(".gemini/settings.json", {"security": {"auth": {"selectedType": "gemini-api-key"}}})
    env = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": MODEL}
    prompts, *_ = a.prompts([a.npm("gemini", ".bin/gemini"), "-m", "gemini-2.5-pro", "-p", "hi"], env)
    return tagged(prompts, lambda place: "node_modules/@google" in place)


BUILT_IN = ("<built-in>", "builtin", "&lt;built-in&gt;")


def debug_skill(a, program):
    found = json_in(a.run([program, "debug", "skill"]), "[")
    return [skill(s["name"], s["location"], s.get("description"), s["location"] in BUILT_IN) for s in found]


def debug_run(a, program, variable):
    model = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": MODEL + "/v1", "apiKey": "none"}, "models": {"m": {"name": "m"}}}
    config = {"provider": {"fake": model}, "model": "fake/m", "small_model": "fake/m", "autoupdate": False, "share": "disabled"}
    env = {f"{variable}_CONFIG_CONTENT": json.dumps(config, separators=(",", ":")), f"{variable}_DISABLE_MODELS_FETCH": "1"}
    prompts, *_ = a.prompts([program, "run", "hi"], env)
    return tagged(prompts, lambda place: place in BUILT_IN)


def opencode(a):
    return debug_skill(a, a.npm("opencode", "opencode-linux-x64/bin/opencode"))


def opencode_prompt(a):
    return debug_run(a, a.npm("opencode", "opencode-linux-x64/bin/opencode"), "OPENCODE")


def kilo(a):
    return debug_skill(a, a.npm("kilo", "@kilocode/cli-linux-x64/bin/kilo"))


def kilo_prompt(a):
    return debug_run(a, a.npm("kilo", "@kilocode/cli-linux-x64/bin/kilo"), "KILO")


def claude_code_prompt(a):
    env = {"ANTHROPIC_BASE_URL": MODEL, "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    prompts, *_ = a.prompts([a.npm("claude", "@anthropic-ai/claude-code-linux-x64/claude"), "-p", "hi"], env)
    words = "skills are available for use with the Skill tool"
    text = next(text for text in prompts if words in text).split(words, 1)[1]
    found = []
    for name, _, said in re.findall(r"^- ([^\n]+?)(?: \(([^)\n]*)\))?(?:: (.*))?$", text, re.M):
        name = name if said else name.split(":")[0]
        folders = [folder / ".claude/skills" / name for folder in (a.home, a.folder, *a.folder.parents)]
        found.append(skill(name, None, said or None, not any(folder.exists() for folder in folders)))
    return found


def github_copilot(a):
    data = json.loads(a.run([a.npm("copilot", ".bin/copilot"), "skill", "list", "--json"]))
    listed = data["skills"] if isinstance(data, dict) else data
    return [skill(s["name"], s.get("path"), s.get("description"), s.get("source") in ("builtin", "built-in", "bundled")) for s in listed]


def universal(a):
    found = []
    for scope in ([], ["-g"]):
        found += json.loads(a.run([a.npm("skills", ".bin/skills"), "list", "--json", *scope]))
    roots = [f"{a.folder}/.agents/skills/", f"{a.home}/.agents/skills/", f"{a.home}/.config/agents/skills/"]
    return [skill(s["name"], s["path"]) for s in found if any(s["path"].startswith(root) for root in roots)]


def qwen_code_prompt(a):
    env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": MODEL + "/v1", "OPENAI_MODEL": "fake"}
    prompts, *_ = a.prompts([a.npm("qwen", ".bin/qwen"), "--auth-type", "openai", "-m", "fake", "hi"], env)
    found = tagged(prompts, lambda place: place in ("bundled", "builtin"))
    return [dict(each, path=None, description=re.sub(r" \((project|user)\)$", "", each["description"])) for each in found]


def openclaw_prompt(a):
    out = a.run([a.npm("openclaw", ".bin/openclaw"), "skills", "list", "--json"], node="node24")
    listed = [s for s in json_in(out)["skills"] if s.get("bundled") or s["modelVisible"]]
    # Those of its extensions are not marked as bundled.
    own = lambda s: s.get("bundled") or s.get("source") == "openclaw-extra"
    return [skill(s["name"], s.get("filePath"), s.get("description"), own(s)) for s in listed]


def pi_prompt(a):
    model = {"id": "m", "name": "m", "reasoning": False, "input": ["text"], "contextWindow": 200000, "maxTokens": 1000,
             "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
    provider = {"baseUrl": MODEL + "/v1", "api": "openai-completions", "apiKey": "none", "models": [model]}
    a.write(".pi/agent/models.json", {"providers": {"fake": provider}})
    command = [a.npm("pi", ".bin/pi"), "-p", "--approve", "--provider", "fake", "--model", "m", "hi"]
    return tagged(a.prompts(command, {"PI_OFFLINE": "1"})[0])


def kimi_code_cli_prompt(a):
    a.write(".kimi-code/config.toml", f'default_model = "fake/m"\n[models."fake/m"]\nprovider = "fake"\nmodel = "m"\nmax_context_size = 200000\n'
            f'[providers.fake]\ntype = "openai"\nbase_url = "{MODEL}/v1"\napi_key = "none"\n')
    prompts, *_ = a.prompts([a.npm("kimi", ".bin/kimi"), "-p", "hi"])
    text = next((text for text in prompts if re.search(r"^- \S.*\n  Path: ", text, re.M)), "")
    lines = re.findall(r"^- (.+?): (.*(?:\n(?!- |  Path: ).*)*)\n  Path: (.*)$", text, re.M)
    return [skill(name, path, said, not path.startswith(str(a.home))) for name, said, path in lines]


def amp(a):
    env = {"AMP_API_KEY": "none", "AMP_URL": MODEL}
    out = a.prompts([a.npm("amp", "@ampcode/cli-linux-x64/amp"), "skill", "list", "--json"], env)[2]
    listed = json_in(out)["skills"]
    return [skill(s["name"], s["baseDir"].removeprefix("file://") + "/SKILL.md", s.get("description"), s["source"] == "builtin") for s in listed]


def grok(a):
    listed = json_in(a.run([a.npm("grok", ".bin/grok"), "--trust", "inspect", "--json"]))["skills"]
    return [skill(s["name"], s["source"].get("path"), s.get("description"), s["source"]["type"] in ("builtin", "bundled")) for s in listed]


def cline_prompt(a):
    program = a.npm("cline", ".bin/cline")
    a.run([program, "auth", "-p", "openai-compatible", "-k", "none", "-m", "fake", "-b", MODEL + "/v1"])
    prompts, *_ = a.prompts([program, "--json", "-t", "30", "say hello to me"])
    text = next((text for text in prompts if "vailable skills: " in text), "vailable skills: ")
    line = text.split("vailable skills: ", 1)[1].split("\n")[0]
    return [skill(name.strip().rstrip(".")) for name in line.split(", ") if name]


def droid_prompt(a):
    model = {"model": "fake", "displayName": "fake", "baseUrl": MODEL + "/v1", "apiKey": "none", "provider": "generic-chat-completion-api", "maxOutputTokens": 1000}
    a.write(".factory/settings.json", {"customModels": [model]})
    command = [a.npm("droid", ".bin/droid"), "exec", "--disable-builtin-skills", "-m", "custom:fake-0", "hi"]
    prompts, *_ = a.prompts(command, {"FACTORY_API_KEY": "fk-none", "FACTORY_API_BASE_URL": MODEL})
    text = next((text for text in prompts if "Available skills (invoke by exact name" in text), None)
    if text is None:
        return []
    lines = text.split("matches the request):\n", 1)[1].split("</system-reminder>")[0].splitlines()
    parts = [re.match(r"(\S.*?)(?:: (.*))?$", line) for line in lines if line.strip()]
    return [skill(part[1], None, part[2]) for part in parts if part]


def goose_prompt(a):
    env = {"GOOSE_PROVIDER": "openai", "OPENAI_HOST": MODEL, "OPENAI_API_KEY": "none", "GOOSE_MODEL": "gpt-4o", "GOOSE_DISABLE_KEYRING": "1"}
    prompts, *_ = a.prompts([a.npm("goose", ".bin/goose"), "run", "--no-session", "-t", "hi"], env)
    found = {name: said for text in prompts for name, said in re.findall(r"^• (.+?) - (.*)$", text, re.M)}
    return [skill(name, None, said, name.startswith("goose-")) for name, said in found.items()]


def qoder(a):
    return shown(a.run([a.npm("qoder", ".bin/qodercli"), "skills", "list", "--all"]), lambda place: not place.startswith(str(a.home)))


def continue_prompt(a):
    model = {"name": "fake", "provider": "openai", "model": "fake", "apiKey": "none", "apiBase": MODEL + "/v1", "roles": ["chat"], "capabilities": ["tool_use"]}
    config = a.temporary / "continue.yaml"
    config.write_text(json.dumps({"name": "t", "version": "0.0.1", "schema": "v1", "models": [model]}))
    prompts, *_ = a.prompts([a.npm("continue", ".bin/cn"), "-p", "hi", "--config", str(config)], {"CONTINUE_TELEMETRY_ENABLED": "0"})
    found = dict.fromkeys(pair for text in prompts for pair in re.findall(r"^name: (.+)\ndescription: (.*)$", text, re.M))
    return [skill(name, None, said) for name, said in found]


def reasonix_prompt(a):
    config = f'default_model = "fake/m"\n[[providers]]\nname = "fake"\nkind = "openai"\nbase_url = "{MODEL}/v1"\nmodel = "m"\nmodels = ["m"]\napi_key_env = "FAKE_KEY"\n'
    for folder in (".reasonix", ".config/reasonix"):
        a.write(f"{folder}/config.toml", config)
    prompts, *_ = a.prompts([a.npm("reasonix", ".bin/reasonix"), "-p", "hi"], {"FAKE_KEY": "none"})
    text = next((text for text in prompts if len(re.findall(r"^- \S.* — ", text, re.M)) > 4), "")
    own = "explore research review security-review test init install-capability reasonix-guide".split()
    return [skill(name, own=name in own) for name in re.findall(r"^- (.+?)(?: \[[^\]]*\])? — ", text, re.M)]


def augment_prompt(a):
    session = {"accessToken": "none", "tenantURL": MODEL + "/", "scopes": ["read", "write"]}
    env = {"AUGMENT_SESSION_AUTH": json.dumps(session, separators=(",", ":"))}
    _, sent, _ = a.prompts([a.npm("auggie", ".bin/auggie"), "--print", "hi"], env, seconds=90)

    def lists(value):
        if isinstance(value, list) and value and isinstance(value[0], dict) and "name" in value[0] and any(str(v).endswith("SKILL.md") for v in value[0].values()):
            yield value
        elif isinstance(value, (dict, list)):
            for each in value.values() if isinstance(value, dict) else value:
                yield from lists(each)

    found = next((found for body in sent for found in lists(body)), [])
    return [skill(s["name"], next((v for v in s.values() if str(v).endswith("SKILL.md")), None), s.get("description")) for s in found]


def mistral_vibe_prompt(a):
    a.write(".vibe/config.toml", f'active_model = "fake"\nenable_telemetry = false\nenable_update_checks = false\n[[providers]]\nname = "fake"\n'
            f'api_base = "{MODEL}/v1"\napi_key_env_var = "FAKE_KEY"\n[[models]]\nname = "m"\nprovider = "fake"\nalias = "fake"\n')
    prompts, *_ = a.prompts([a.venv("vibe", "vibe"), "-p", "hi", "--trust"], {"FAKE_KEY": "none", "MISTRAL_API_KEY": "none"})
    return [dict(each, own=each["name"].startswith("vibe:")) for each in tagged(prompts)]


def hermes_agent(a):
    out = a.run([a.venv("hermes", "hermes"), "skills", "list", "--enabled-only"], {"COLUMNS": "400"})
    rows = re.findall(r"^│ (.*?) │.*?│ *(\w+) *│ *\w* *│ *enabled", out, re.M)
    return [skill(name.strip(), own=kind == "builtin") for name, kind in rows if name.strip()]


def deepagents(a):
    listed = json_in(a.run([a.venv("dcode", "dcode"), "skills", "list", "--json"]))["data"]
    return [skill(s["name"], s["path"], s["description"], s["source"] == "built-in") for s in listed]


OPENHANDS = """import json, sys
from openhands.sdk.skills import load_available_skills
found = load_available_skills(sys.argv[1], include_user=True, include_project=True, include_public=False)
print("@@" + json.dumps([[s.name, s.source, s.description] for s in found.values()]))
"""


def openhands(a):
    out = a.run([a.venv("openhands", "python"), "-c", OPENHANDS, str(a.folder)], {"LITELLM_LOCAL_MODEL_COST_MAP": "True"})
    return [skill(*each) for each in json.loads(next(line for line in out.splitlines() if line.startswith("@@"))[2:])]
