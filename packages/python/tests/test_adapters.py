"""The adapters with the real packages; a package that is not installed is named."""

from __future__ import annotations

import asyncio

import pytest
from conftest import skill_md
from prowess import MemorySource, Skills


@pytest.fixture
def chat():
    source = MemorySource({"bread": {"SKILL.md": skill_md("bread", "Bakes bread.", "Bake it."), "notes.md": "notes"}})
    with Skills(source) as skills:
        yield skills.chat()


def test_anthropic(chat) -> None:
    anthropic = pytest.importorskip("anthropic", reason="anthropic is not installed")
    from prowess.adapters import anthropic as adapter
    from pydantic import TypeAdapter

    tools = TypeAdapter(list[anthropic.types.ToolParam]).validate_python(adapter.tools(chat))
    assert tools[0]["input_schema"]["type"] == "object"
    message = anthropic.types.Message.model_validate({
        "id": "m", "type": "message", "role": "assistant", "model": "x", "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 1},
        "content": [
            {"type": "text", "text": "I bake."},
            {"type": "tool_use", "id": "t1", "name": "load_skill", "input": {"name": "bread"}},
            {"type": "tool_use", "id": "t2", "name": "other", "input": {}},
        ],
    })
    answer = adapter.answer(chat, message)
    assert answer is not None and [one["tool_use_id"] for one in answer["content"]] == ["t1"]
    TypeAdapter(anthropic.types.MessageParam).validate_python(answer)
    assert "Bake it." in str(answer) and adapter.answer(chat, {"content": []}) is None


def test_openai(chat) -> None:
    openai = pytest.importorskip("openai", reason="openai is not installed")
    from openai.types.chat import ChatCompletion, ChatCompletionToolMessageParam, ChatCompletionToolParam
    from prowess.adapters import openai as adapter
    from pydantic import TypeAdapter

    assert openai.__version__
    tools = TypeAdapter(list[ChatCompletionToolParam]).validate_python(adapter.tools(chat))
    assert tools[0]["function"]["name"]
    call = {"id": "c1", "type": "function", "function": {"name": "load_skill", "arguments": '{"name": "bread"}'}}
    response = ChatCompletion.model_validate({
        "id": "r", "object": "chat.completion", "created": 1, "model": "x",
        "choices": [{
            "index": 0, "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": None, "tool_calls": [call, {**call, "id": "c2", "function": {"name": "other", "arguments": "{}"}}]},
        }],
    })
    answers = TypeAdapter(list[ChatCompletionToolMessageParam]).validate_python(adapter.answer(chat, response))
    assert [answer["tool_call_id"] for answer in answers] == ["c1"] and "Bake it." in str(answers)
    assert len(adapter.answer(chat, response.choices[0].message)) == 1


def test_google_genai(chat) -> None:
    pytest.importorskip("google.genai", reason="google-genai is not installed")
    from google.genai import types
    from prowess.adapters import google_genai as adapter

    tools = adapter.tools(chat)
    names = [one.name for tool in tools for one in tool.function_declarations or []]
    assert "load_skill" in names
    assert types.GenerateContentConfig(tools=tools)
    call = types.FunctionCall(id="c1", name="load_skill", args={"name": "bread"})
    content = types.Content(role="model", parts=[types.Part(text="I bake."), types.Part(function_call=call)])
    response = types.GenerateContentResponse(candidates=[types.Candidate(content=content)])
    for given in (response, content):
        answer = adapter.answer(chat, given)
        assert answer is not None and answer.parts is not None
        result = answer.parts[0].function_response
        assert result is not None and result.name == "load_skill" and "Bake it." in str(result.response)
    assert adapter.answer(chat, types.Content(role="model", parts=[types.Part(text="x")])) is None


def test_pydantic_ai(chat) -> None:
    pydantic_ai = pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    from prowess.adapters import pydantic_ai as adapter
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    seen = []

    def model(messages, info):
        seen.append((messages, info))
        if len(seen) == 1:
            return ModelResponse(parts=[ToolCallPart("load_skill", {"name": "brad"})])
        if len(seen) == 2:
            return ModelResponse(parts=[ToolCallPart("load_skill", {"name": "bread"})])
        return ModelResponse(parts=[TextPart("done")])

    agent = pydantic_ai.Agent(FunctionModel(model), toolsets=[adapter.toolset(chat)], instructions=lambda: chat.prompt())
    assert agent.run_sync("Bake.").output == "done"
    assert "load_skill" in {tool.name for tool in seen[0][1].function_tools}
    returned = [part for part in seen[-1][0][-1].parts if isinstance(part, ToolReturnPart)]
    assert "Bake it." in str(returned[0].content) and chat.active == ["bread"]


def test_langchain(chat) -> None:
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    from langchain_core.messages import ToolCall
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from prowess.adapters import langchain as adapter

    tools = {tool.name: tool for tool in adapter.tools(chat)}
    assert convert_to_openai_tool(tools["load_skill"])["function"]["parameters"]["properties"]["name"]
    message = tools["load_skill"].invoke(ToolCall(name="load_skill", args={"name": "bread"}, id="c1", type="tool_call"))
    assert "Bake it." in message.content and message.artifact.ok and message.tool_call_id == "c1"
    refused = tools["load_skill"].invoke(ToolCall(name="load_skill", args={"name": "brad"}, id="c2", type="tool_call"))
    assert refused.status == "error" and "bread" in refused.content
    content = asyncio.run(tools["read_skill_resource"].ainvoke({"name": "bread", "path": "notes.md"}))
    assert "notes" in content


def test_mcp(chat, tmp_path) -> None:
    pytest.importorskip("mcp", reason="mcp is not installed")
    from mcp import ClientSession
    from mcp.client.stdio import stdio_client
    from prowess.adapters import mcp as adapter

    assert "load_skill" in {tool.name for tool in adapter.tools(chat)}
    result = asyncio.run(adapter.call(chat, "load_skill", {"name": "bread"}))
    assert result is not None and "Bake it." in str(result.content)
    assert asyncio.run(adapter.call(chat, "other", {})) is None

    (tmp_path / "bread").mkdir()
    (tmp_path / "bread" / "SKILL.md").write_text(skill_md("bread", "Bakes bread.", "Bake it."))

    async def client() -> str:
        async with stdio_client(adapter.server(tmp_path)) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            tools = {tool.name for tool in (await session.list_tools()).tools}
            assert "load_skill" in tools
            return str((await session.call_tool("load_skill", {"name": "bread"})).content)

    assert "Bake it." in asyncio.run(asyncio.wait_for(client(), 60))
