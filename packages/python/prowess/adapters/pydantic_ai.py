"""pydantic-ai: a toolset for an agent, and the instructions that list the skills."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from pydantic_ai import ModelRetry, Tool
from pydantic_ai.toolsets import FunctionToolset

if TYPE_CHECKING:
    from .._chat import Chat


def toolset(chat: Chat) -> FunctionToolset[Any]:
    """The tools of a chat: ``Agent(model, toolsets=[toolset(chat)], instructions=lambda: chat.prompt())``.

    A call that is refused goes back to the model with the reason, and is no exception.
    """
    made = [
        Tool.from_schema(
            _function(chat, tool.name),
            name=tool.name,
            description=tool.description,
            json_schema=tool.input_schema,
            takes_ctx=False,
        )
        for tool in chat.tool_definitions()
    ]
    return FunctionToolset(made)


def _function(chat: Chat, name: str) -> Callable[..., Awaitable[str]]:
    async def call(**arguments: Any) -> str:
        result = await chat.acall(name, arguments)
        if not result.ok:
            raise ModelRetry(result.text)
        return result.text

    return call
