"""The Anthropic SDK: tools for ``messages.create``, and the message that answers its tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from anthropic.types import Message, MessageParam, ToolParam

    from .._chat import Chat


def tools(chat: Chat) -> list[ToolParam]:
    """The value of ``tools`` in a request."""
    return cast("list[ToolParam]", chat.tools("anthropic"))


def answer(chat: Chat, message: Message | dict[str, Any]) -> MessageParam | None:
    """The next message of the user with the results of the calls that are ours; None if there are none.

    A host with tools of its own adds their results to the ``content``.
    """
    results = chat.answer_all("anthropic", message)
    return cast("MessageParam", {"role": "user", "content": results}) if results else None
