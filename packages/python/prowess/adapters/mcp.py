"""MCP: the tools of a chat in a server of yours, and the command as a server for a client of yours."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mcp import StdioServerParameters, types

from ..__main__ import command

if TYPE_CHECKING:
    from .._chat import Chat


def tools(chat: Chat) -> list[types.Tool]:
    """The tools of a chat, for a handler of ``tools/list``."""
    return [types.Tool.model_validate(tool) for tool in chat.tools("mcp")]


async def call(chat: Chat, name: str, arguments: dict[str, Any] | None) -> types.CallToolResult | None:
    """The result of a call, for a handler of ``tools/call``; None if the tool is not ours."""
    if not chat.owns(name):
        return None
    answer = await chat.aanswer("mcp", {"name": name, "arguments": arguments or {}})
    return None if answer is None else types.CallToolResult.model_validate(answer)


def server(*sources: str | os.PathLike[str], **options: Any) -> StdioServerParameters:
    """How a client starts ``prowess serve`` over some sources; without any, it serves the user's skills."""
    arguments = ["serve"]
    for source in sources:
        arguments += ["--in", os.fspath(source)]
    return StdioServerParameters(command=command(), args=arguments, **options)
