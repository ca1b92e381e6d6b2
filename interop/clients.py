"""Lists, gets, reads and calls a skills server with PyPI's `mcp` and `fastmcp`; exit 0 when everything agrees.

usage: clients.py [--no-tools] [--expect-legacy-skills] URL
       clients.py [--no-tools] [--expect-legacy-skills] -- COMMAND ARG...

AT_LEAST is the minimum number of skills on the list.
"""

import asyncio
import base64
import hashlib
import os
import sys

import mcp_types
import yaml
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
from fastmcp.skills import SkillsClientExtension
from fastmcp.skills.models import (
    GetSkillParams,
    GetSkillRequest,
    GetSkillResult,
    ListSkillsParams,
    ListSkillsRequest,
    ListSkillsResult,
)
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

FAILED: list[str] = []
AT_LEAST = int(os.environ.get("AT_LEAST", "1"))


def check(ok: bool, what: str) -> None:
    print(("ok    " if ok else "FAIL  ") + what, flush=True)
    if not ok:
        FAILED.append(what)


def raw(contents) -> bytes:
    text = getattr(contents, "text", None)
    return text.encode() if text is not None else base64.b64decode(contents.blob)


def verify(resource, contents) -> bool:
    data = raw(contents)
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    return len(data) == resource.size and digest == resource.digest


async def typed(target, no_tools: bool) -> None:
    """The typed skills client: strict models, one bad entry fails the whole list."""
    async with FastClient(target, extensions=[SkillsClientExtension()]) as client:
        check(client.protocol_version == "2026-07-28", f"fastmcp negotiates {client.protocol_version}")
        skills = await client.list_skills()
        check(len(skills) >= AT_LEAST, f"fastmcp list_skills: {len(skills)}")
        check(len({s.uri for s in skills}) == len(skills), "no entry twice over the pages")
        wrong = []
        for skill in skills[:50]:
            again = await client.get_skill(skill.uri)
            if again != skill:
                wrong.append(skill.uri)
            if isinstance(skill.resources, str):
                continue
            for resource in skill.resources:
                contents = (await client.read_resource(resource.uri))[0]
                if not verify(resource, contents):
                    wrong.append(resource.uri)
        check(not wrong, f"get equals list, digest and size hold for {min(len(skills), 50)} skills {wrong[:3]}")
        try:
            await client.get_skill("skill://no-such-skill-9f3a/SKILL.md")
            check(False, "an unknown skill is an error")
        except MCPError as error:
            check(error.error.code == -32602, f"an unknown skill is {error.error.code}")
        if not no_tools:
            tools = {tool.name: tool for tool in await client.list_tools()}
            check("load_skill" in tools, f"tools: {sorted(tools)}")
            name = skills[0].frontmatter.name
            loaded = await client.call_tool("load_skill", {"name": name}, raise_on_error=False)
            check(not loaded.is_error, f"load_skill {name}")
            missing = await client.call_tool("load_skill", {"name": "no-such-skill"}, raise_on_error=False)
            check(missing.is_error, "load_skill of an unknown name is a tool error, not a protocol error")
        prompts = await client.list_prompts()
        check(isinstance(prompts, list), f"prompts: {len(prompts)}")


async def plain(target, mode: str, expect_skills: bool, no_tools: bool) -> None:
    """The SDK's own client in one era, with the extension spoken by hand."""
    async with Client(target, mode=mode) as client:
        print(f"      mcp {mode}: {client.protocol_version}")
        declared = (client.server_capabilities.extensions or {}).get("io.modelcontextprotocol/skills")
        check(declared is not None or not expect_skills, f"extension declared in {mode}: {declared}")
        if declared is not None:
            skills, cursor = [], None
            while True:
                request = ListSkillsRequest(params=ListSkillsParams(cursor=cursor))
                page = await client.session.send_request(request, ListSkillsResult)
                skills += page.skills
                cursor = page.next_cursor
                if not cursor:
                    break
            check(len(skills) >= AT_LEAST, f"skills/list in {mode}: {len(skills)}")
            first = skills[0]
            request = GetSkillRequest(params=GetSkillParams(uri=first.uri))
            got = await client.session.send_request(request, GetSkillResult)
            check(got.skill == first, f"skills/get in {mode}")
            read = await client.read_resource(first.uri)
            text = read.contents[0].text
            front = yaml.safe_load(text.split("---", 2)[1])
            check(front["name"] == first.frontmatter.name, f"resources/read {first.uri}")
            try:
                request = ListSkillsRequest(params=ListSkillsParams(cursor="not-ours"))
                await client.session.send_request(request, ListSkillsResult)
                check(False, "a foreign cursor is an error")
            except MCPError as error:
                check(error.error.code == -32602, f"a foreign cursor is {error.error.code}")
        if not no_tools:
            tools = await client.list_tools()
            check(len(tools.tools) > 0, f"tools/list in {mode}: {[t.name for t in tools.tools]}")


async def main() -> int:
    args = sys.argv[1:]
    no_tools = "--no-tools" in args
    legacy = "--expect-legacy-skills" in args
    args = [a for a in args if a not in ("--no-tools", "--expect-legacy-skills")]
    if args[:1] == ["--"]:
        command, rest = args[1], args[2:]
        fast = StdioTransport(command=command, args=rest)
        slow = StdioServerParameters(command=command, args=rest)
    else:
        fast = slow = args[0]
    await typed(fast, no_tools)
    await plain(slow, "auto", True, no_tools)
    await plain(slow, "legacy", legacy, no_tools)
    print(f"{len(FAILED)} failed")
    return 1 if FAILED else 0


if __name__ == "__main__":
    _ = mcp_types
    sys.exit(asyncio.run(main()))
