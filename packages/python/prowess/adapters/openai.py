"""The OpenAI SDK: tools for ``chat.completions.create``, and the messages that answer its tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion, ChatCompletionMessage, ChatCompletionToolMessageParam
    from openai.types.chat import ChatCompletionToolParam

    from .._chat import Chat


def tools(chat: Chat) -> list[ChatCompletionToolParam]:
    """The value of ``tools`` in a request."""
    return cast("list[ChatCompletionToolParam]", chat.tools("openai"))


def answer(
    chat: Chat, response: ChatCompletion | ChatCompletionMessage | dict[str, Any]
) -> list[ChatCompletionToolMessageParam]:
    """The messages with the results of the calls that are ours, to be added after the message of the model."""
    return cast("list[ChatCompletionToolMessageParam]", chat.answer_all("openai", response))
