"""The Google GenAI SDK: tools for ``GenerateContentConfig``, and the content that answers its function calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.genai import types

if TYPE_CHECKING:
    from .._chat import Chat


def tools(chat: Chat) -> list[types.Tool]:
    """The value of ``tools`` in a config."""
    return [types.Tool.model_validate(tool) for tool in chat.tools("gemini")]


def answer(chat: Chat, response: types.GenerateContentResponse | types.Content | dict[str, Any]) -> types.Content | None:
    """The next content of the user with the results of the calls that are ours; None if there are none."""
    parts = [types.Part.model_validate(part) for part in chat.answer_all("gemini", response)]
    return types.Content(role="user", parts=parts) if parts else None
