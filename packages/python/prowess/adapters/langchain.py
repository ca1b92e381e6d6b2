"""LangChain: the tools of a chat as structured tools, for ``bind_tools`` and agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.tools import StructuredTool, ToolException

if TYPE_CHECKING:
    from .._chat import Chat
    from .._results import ToolResult


def tools(chat: Chat) -> list[StructuredTool]:
    """The tools of a chat. Their content is the text for the model; the artifact is the :class:`ToolResult`.

    A call that is refused is a message with the status ``error``, whose content is the reason.
    """
    return [_tool(chat, tool.name, tool.description, tool.input_schema) for tool in chat.tool_definitions()]


def _tool(chat: Chat, name: str, description: str, schema: dict[str, Any]) -> StructuredTool:
    def call(**arguments: Any) -> tuple[str, Any]:
        return _answer(chat.call(name, arguments))

    async def acall(**arguments: Any) -> tuple[str, Any]:
        return _answer(await chat.acall(name, arguments))

    return StructuredTool(
        name=name,
        description=description,
        args_schema=schema,
        func=call,
        coroutine=acall,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _answer(result: ToolResult) -> tuple[str, ToolResult]:
    if not result.ok:
        raise ToolException(result.text)
    return result.text, result
