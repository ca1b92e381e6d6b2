"""A chat: the skills as one conversation with a model sees them. A session: the same without input and output."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import _native
from ._callbacks import file_json
from ._closing import Closing
from ._errors import ArgumentTypeError, ValidationError
from ._results import Prompt, Reinjected, Step, ToolDefinition, ToolResult, record, step_of
from ._skill import Skill
from ._values import camel, given, items, mapping, number, of_json, of_model, optional_budget, optional_text, text, texts, to_bytes, to_json
from ._values import type_name

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import PromptOptions
    from ._skills import Skills

DIALECTS = ("mcp", "anthropic", "openai", "gemini")


def _call(tool: object, arguments: object, filter: object) -> dict[str, Any]:
    return given(
        tool=text(tool, "the tool"),
        arguments={} if arguments is None else arguments,
        filter=optional_text(filter, "the filter"),
    )


class _Talk(Closing):
    """What a chat and a session share."""

    def __init__(self, skills: Skills, native: _native.Chat) -> None:
        self._skills = skills
        self._native = native

    @property
    def skills(self) -> Skills:
        """The skills that it is about."""
        return self._skills

    def _do(self, operation: str, asked: object = None) -> Any:
        return of_json(self._native.run(operation, to_json(asked)))

    def tools(self, dialect: str = "mcp") -> list[dict[str, Any]]:
        """The tools with which a model uses skills, in the form that its interface takes: ``mcp``, ``anthropic``,
        ``openai`` or ``gemini``. Empty if there are no skills."""
        return self._do("tools", text(dialect, "the dialect"))  # type: ignore[no-any-return]

    def tool_definitions(self) -> list[ToolDefinition]:
        """The tools as plain definitions, for other interfaces."""
        return [record(ToolDefinition, one) for one in self._do("toolDefinitions")]

    def owns(self, tool: str) -> bool:
        """Whether a call of this name is for the chat, and not for the host."""
        return bool(self._do("owns", text(tool, "the tool")))

    @property
    def active(self) -> list[str]:
        """The keys of the active skills, sorted."""
        return list(self._do("active")["skills"])

    @property
    def active_tools(self) -> list[str]:
        """The tools that the active skills grant, such as ``Bash(git:*)``."""
        return list(self._do("active")["tools"])

    @property
    def changed(self) -> list[str]:
        """The active skills that changed since they were activated."""
        return list(self._do("changed"))

    def changes(self) -> dict[str, list[str]]:
        """What refreshes changed since this was last called: ``deactivated`` and ``changed`` skills."""
        return dict(self._do("changes"))

    def deactivate(self, name: str) -> list[str] | None:
        """Deactivates a skill: the tools that are no longer granted, or None when it was not active."""
        return self._do("deactivate", text(name, "the name"))  # type: ignore[no-any-return]

    def end_turn(self) -> list[str]:
        """Ends a turn: the skills whose lifetime is over."""
        return list(self._do("endTurn"))

    def set_filter(self, filter: str) -> list[str]:
        """Sets which skills are visible, by their virtual paths: the skills that it deactivated."""
        return list(self._do("setFilter", text(filter, "the filter")))

    def set_policy(self, policy: Mapping[str, Any]) -> list[str]:
        """Sets the policy: the skills that it deactivated."""
        return list(self._do("setPolicy", camel(mapping(policy, "the policy"))))

    def visible(self, by: str = "model") -> list[Skill]:
        """The skills that the ``model``, the ``user`` or the ``host`` may see."""
        return [Skill._listed(one, self._skills) for one in self._do("visible", text(by, "the actor"))]

    def why_hidden(self, key: str, by: str = "model") -> str | None:
        """Why an actor does not see a skill; None when it does. For the host, never for a model."""
        why = self._do("whyHidden", {"key": text(key, "the key"), "by": text(by, "the actor")})
        return why if why is None or isinstance(why, str) else to_json(why)

    def scope_tools(self, tools: Iterable[str]) -> list[str]:
        """The tools of the host that a model may use now."""
        return list(self._do("scopeTools", texts(tools, "the tools")))

    def reinject(
        self, *, each: Mapping[str, int] | None = None, total: Mapping[str, int] | None = None
    ) -> Reinjected:
        """The texts of the active skills, for a context that was compacted."""
        return record(Reinjected, self._do("reinject", given(each=optional_budget(each), total=optional_budget(total))))  # type: ignore[no-any-return]

    @property
    def log(self) -> list[dict[str, Any]]:
        """The events so far."""
        return list(self._do("log"))

    @property
    def state(self) -> dict[str, Any]:
        """The state, to be stored as JSON and given to :meth:`Skills.restore`."""
        return dict(self._do("state"))

    def close(self) -> None:
        """Ends it. What is under way fails with a :class:`ClosedError`."""
        self._native.close()


class Chat(_Talk):
    """One conversation with a model. It reads files, searches and asks for approvals itself.

    Several threads may use it at once. The methods that begin with ``a`` are for asyncio, and run in a thread.
    """

    def prompt(self, query: str | None = None, **options: Unpack[PromptOptions]) -> str:
        """The text for the system prompt; empty when there are no skills. With a query, only the skills that fit it.

        The options are those of :meth:`prompt_with`.
        """
        return self.prompt_with(query, **options).text

    def prompt_with(
        self,
        query: str | None = None,
        *,
        style: Mapping[str, Any] | None = None,
        budget: Mapping[str, int] | str | None = None,
        narrowing: Mapping[str, Any] | None = None,
        folder: str | None = None,
        preloaded: bool | None = None,
    ) -> Prompt:
        """The text for the system prompt with a report.

        Args:
            query: The task, if only the skills that fit it are wanted.
            style: How the list of skills is laid out.
            budget: ``{"tokens": n}``, ``{"characters": n}`` or ``"unlimited"``; 4 000 tokens by default.
            narrowing: ``top_k``, ``min_score``, ``available_tools``, ``on_empty`` and ``on_error`` of the search.
            folder: The folder of the user, which shortens locations.
            preloaded: Whether the texts of the preloaded skills are part of it; they are by default.

        Raises:
            SelectError: If the selector fails and ``on_error`` is ``fail``.
        """
        asked = given(
            query=optional_text(query, "the query"),
            style=None if style is None else camel(mapping(style, "the style")),
            budget=optional_budget(budget),
            narrowing=None if narrowing is None else camel(mapping(narrowing, "the narrowing")),
            folder=optional_text(folder, "the folder"),
            preloaded=preloaded,
        )
        return record(Prompt, self._do("prompt", asked))  # type: ignore[no-any-return]

    def answer(self, dialect: str, call: Any) -> dict[str, Any] | None:
        """Answers one call of the model, in the form of its interface; None when the call is not ours.

        ``call`` is a dict, or the object of a model library. A call that cannot be read is answered with a refusal.
        """
        asked = {"dialect": text(dialect, "the dialect"), "message": of_model(call)}
        return self._do("answer", asked)  # type: ignore[no-any-return]

    def answer_all(self, dialect: str, response: Any) -> list[dict[str, Any]]:
        """Answers every call of ours in a response of the model, in order."""
        return list(self._do("answerAll", {"dialect": text(dialect, "the dialect"), "message": of_model(response)}))

    def call(self, tool: str, arguments: Any = None, *, filter: str | None = None) -> ToolResult:
        """Answers a call of a model whose interface has no dialect."""
        return ToolResult(**self._do("call", _call(tool, arguments, filter)))

    def activate(
        self, name: str, arguments: str | None = None, *, by: str = "user", filter: str | None = None
    ) -> ToolResult:
        """Activates a skill for the user or the host, with the text that the user wrote after its name."""
        asked = given(
            name=text(name, "the name"),
            arguments=optional_text(arguments, "the arguments"),
            by=text(by, "the actor"),
            filter=optional_text(filter, "the filter"),
        )
        return ToolResult(**self._do("activate", asked))

    def user_message(self, message: str) -> list[ToolResult]:
        """Activates the skills that a message of the user names: ``/name arguments`` at its start, ``$name`` anywhere."""
        return [ToolResult(**one) for one in self._do("userMessage", text(message, "the message"))]

    def preload(self, *names: str) -> list[tuple[str, ToolResult]]:
        """Activates the skills that are active from the start, and those named here. A new chat has the former."""
        done = self._do("preload", texts(names, "the names"))
        return [(one["name"], ToolResult(**one["result"])) for one in done]

    def resume_pending(self) -> list[ToolResult]:
        """Continues the calls that a restored chat waits for."""
        return [ToolResult(**one) for one in self._do("resumePending")]

    @property
    def session(self) -> Session:
        """The session below the chat, for a host that performs effects itself."""
        return Session(self._skills, self._native)

    async def aprompt(self, query: str | None = None, **options: Unpack[PromptOptions]) -> str:
        """:meth:`prompt` in a thread."""
        return await asyncio.to_thread(self.prompt, query, **options)

    async def aanswer(self, dialect: str, call: Any) -> dict[str, Any] | None:
        """:meth:`answer` in a thread."""
        return await asyncio.to_thread(self.answer, dialect, call)

    async def aanswer_all(self, dialect: str, response: Any) -> list[dict[str, Any]]:
        """:meth:`answer_all` in a thread."""
        return await asyncio.to_thread(self.answer_all, dialect, response)

    async def acall(self, tool: str, arguments: Any = None, *, filter: str | None = None) -> ToolResult:
        """:meth:`call` in a thread."""
        return await asyncio.to_thread(self.call, tool, arguments, filter=filter)

    async def aactivate(
        self, name: str, arguments: str | None = None, *, by: str = "user", filter: str | None = None
    ) -> ToolResult:
        """:meth:`activate` in a thread."""
        return await asyncio.to_thread(self.activate, name, arguments, by=by, filter=filter)

    async def auser_message(self, message: str) -> list[ToolResult]:
        """:meth:`user_message` in a thread."""
        return await asyncio.to_thread(self.user_message, message)

    def __repr__(self) -> str:
        return "<Chat>"


class Session(_Talk):
    """A session without input and output: each step says what it needs, and :meth:`resume` continues it.

    >>> from prowess import MemorySource, Skills
    >>> text = "---\\nname: tidy-up\\ndescription: Tidies up.\\n---\\nSweep.\\n"
    >>> session = Skills(MemorySource({"tidy-up": text})).session()
    >>> step = session.call("load_skill", {"name": "tidy-up"})
    >>> step.effect["kind"]
    'files'
    >>> while step.done is None:
    ...     outcome = {"files": ["SKILL.md"]} if step.effect["kind"] == "files" else {"read": {"bytes": text}}
    ...     step = session.resume(step.ticket, outcome)
    >>> step.done.ok
    True
    """

    def _step(self, operation: str, asked: object = None, data: bytes | None = None) -> Any:
        return of_json(self._native.step(operation, to_json(asked), data))

    def call(self, tool: str, arguments: Any = None, *, filter: str | None = None) -> Step:
        """Begins a call of a model."""
        return step_of(self._step("call", _call(tool, arguments, filter)))

    def resume(self, ticket: str, outcome: Mapping[str, Any] | str) -> Step:
        """Continues a call after its effect.

        An outcome is ``{"files": […]}``, ``{"read": {"bytes", "size", "digest"}}``, ``{"hits": […]}``,
        ``{"ran": {"code", "output"}}``, ``{"approved": digest}``, ``"declined"`` or ``{"failed": reason}``.
        """
        wired, data = _outcome(outcome)
        return step_of(self._step("resume", {"ticket": text(ticket, "the ticket"), "outcome": wired}, data))

    def cancel(self, ticket: str) -> bool:
        """Ends a call that waits."""
        return bool(self._step("cancel", text(ticket, "the ticket")))

    def pending(self) -> list[Step]:
        """The calls that wait, each with its ticket and its effect."""
        return [step_of(one) for one in self._step("pending")]

    def activate(self, name: str, arguments: str | None = None, *, by: str = "user") -> Step:
        """Begins the activation of a skill for the user or the host."""
        asked = given(name=text(name, "the name"), by=text(by, "the actor"), arguments=optional_text(arguments, "the arguments"))
        return step_of(self._step("activate", asked))

    def user_message(self, message: str) -> list[Step]:
        """Begins the activations of the skills that a message of the user names."""
        return [step_of(one) for one in self._step("invoke", text(message, "the message"))]

    def preload(self, *names: str) -> list[tuple[str, Step]]:
        """Begins the activations of the skills that are active from the start, and those named here."""
        steps = self._step("preload", texts(names, "the names"))
        return [(one["name"], step_of(one["step"])) for one in steps]

    def calls(self, dialect: str, response: Any) -> list[dict[str, Any]]:
        """The calls of ours in a response of a model, each with its ``id`` and ``call``."""
        return list(self._step("calls", {"dialect": text(dialect, "the dialect"), "message": of_model(response)}))

    def result(self, dialect: str, id: str | None, tool: str, result: ToolResult) -> dict[str, Any]:
        """A result in the form of an interface."""
        if not isinstance(result, ToolResult):
            raise ArgumentTypeError(f"the result must be a ToolResult, not {type_name(result)}")
        wired = {"ok": result.ok, "text": result.text, "data": result.data, "reason": result.reason}
        asked = {"dialect": text(dialect, "the dialect"), "id": id, "tool": text(tool, "the tool"), "result": wired}
        return dict(self._step("result", asked))

    def __repr__(self) -> str:
        return "<Session>"


def _outcome(outcome: Mapping[str, Any] | str) -> tuple[Any, bytes | None]:
    """An outcome as the engine takes it; the bytes of a read go beside it."""
    if isinstance(outcome, str):
        return text(outcome, "the outcome"), None
    wired = mapping(outcome, "the outcome")
    if "read" in wired:
        read = mapping(wired["read"], "the outcome of a read")
        if "bytes" not in read:
            raise ValidationError("the outcome of a read has its bytes")
        data = to_bytes(read["bytes"], "the bytes of a read")
        size = read.get("size")
        size = len(data) if size is None else number(size, "the size of a read")
        return {"read": {"size": size, "digest": read.get("digest")}}, data
    if "files" in wired:
        return {"files": [file_json(file) for file in items(wired["files"], "the files")]}, None
    if "hits" in wired:
        from ._callbacks import hit_json

        return {"hits": [hit_json(hit) for hit in items(wired["hits"], "the hits")]}, None
    return wired, None
