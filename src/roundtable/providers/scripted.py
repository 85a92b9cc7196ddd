"""A model with scripted replies: the test double for tests, examples and documentation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeAlias

import anyio
import anyio.lowlevel

from roundtable.core.errors import AgentError, ConfigurationError
from roundtable.core.types.agents import ModelProfile
from roundtable.core.types.answers import AgentResponse
from roundtable.core.types.chat import ChatDelta, ChatResponse, Usage
from roundtable.gateway.streams import ChatStream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import TracebackType

    from roundtable.core.types.agents import ProviderConfig
    from roundtable.core.types.base import JsonValue
    from roundtable.core.types.chat import ChatRequest
    from roundtable.settings import Settings

__all__ = ["Delay", "Reply", "Script", "ScriptedModel", "ScriptedProvider"]

ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class Delay:
    """A reply that comes after a delay.

    Example:
        >>> Delay(0.05, "late but here")
        Delay(seconds=0.05, reply='late but here')
    """

    seconds: float
    """Length of the delay."""
    reply: Reply
    """The reply that follows the delay."""


Reply: TypeAlias = "str | Mapping[str, JsonValue] | AgentResponse | ChatResponse | Exception | Delay"
"""Reply to one call. A text is sent as it is, and a mapping or an `AgentResponse` as JSON. A `ChatResponse` is returned
whole, an exception is raised, and a `Delay` postpones its reply.

A mapping with `toolCalls` requests calls of tools: `{"toolCalls": [{"name": "price", "args": {"item": "tea"}}]}`.

A text stands for what a model would send. If it lacks the format of an answer, the agent asks once more."""

Script: TypeAlias = "Sequence[Reply] | Mapping[str, Reply | Sequence[Reply]] | Callable[[ChatRequest], Reply]"
"""Replies in order, replies by key, or a function of the request."""


def agent_of(request: ChatRequest) -> str:
    """Return the agent of a request: its `metadata["agent"]`, or `"*"` if there is none."""
    return request.metadata.get("agent", ANY)


class ScriptedModel:
    """A deterministic `ChatModel` without a network.

    Three kinds of script:

    - A sequence: one reply per call, in order. A call after the last reply fails.
    - A mapping from a key to a reply or a sequence of replies. A sequence is used up in order; a single reply answers
      every call. The key `"*"` answers for all other keys. The turns of a stage run at the same time and reach a
      model in any order, so use a mapping to script several agents with one model.
    - A function of the request, for everything else; it must return a reply.

    Calls are recorded in `requests`. If no reply is left, a call fails with `AgentError`. A debate records such a call
    as a failed turn and continues. To make a test fail on unexpected calls and on unused replies, end the test with
    `assert_consumed`, or use `async with`.

    Args:
        script: The replies.
        model: Model id.
        provider: Provider name.
        profile: Profile that prompts are written for; by default, `streams` is set if `chunks` is not 0.
        chunks: Number of pieces in which `stream` yields a text; 0 yields the response alone.
        key: Function that returns the key for a request; by default, the key is `metadata["agent"]`, the agent's id.

    Example:
        >>> import anyio
        >>> from roundtable.types import ChatRequest
        >>> model = ScriptedModel({"ada": ["Yes."], "*": {"position": "No"}})
        >>> ask = ChatRequest(model="", messages=(), metadata={"agent": "ada"})
        >>> anyio.run(model.complete, ask).text
        'Yes.'
        >>> anyio.run(model.complete, ask.model_copy(update={"metadata": {"agent": "bo"}})).text
        '{"position": "No"}'
    """

    def __init__(
        self,
        script: Script,
        *,
        model: str = "scripted",
        provider: str = "scripted",
        profile: ModelProfile | None = None,
        chunks: int = 0,
        key: Callable[[ChatRequest], str] = agent_of,
    ) -> None:
        self.model = model
        self.provider = provider
        self.profile: ModelProfile = _default_profile(chunks) if profile is None else profile
        self.requests: list[ChatRequest] = []
        """All requests, in the order of arrival."""
        self._chunks = chunks
        self._key = key
        self._function = script if callable(script) else None
        self._always: dict[str, Reply] = {}
        self._queues: dict[str, list[Reply]] = {}
        self._used: dict[str, int] = {}
        self._unexpected: list[str] = []
        if isinstance(script, Mapping):
            for name, replies in script.items():
                if isinstance(replies, Sequence) and not isinstance(replies, str):
                    self._queues[name] = list(replies)
                else:
                    self._always[name] = replies
        elif not callable(script):
            if isinstance(script, str):
                raise TypeError("a script is a sequence, a mapping or a function; put a single text in a list")
            self._queues[ANY] = list(script)
            self._key = _any_key

    def __repr__(self) -> str:
        return f"ScriptedModel(model={self.model!r}, calls={self.calls})"

    @property
    def calls(self) -> int:
        """Number of calls so far."""
        return len(self.requests)

    def calls_for(self, key: str) -> int:
        """Count the calls answered under one key of a mapping."""
        return self._used.get(key, 0)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the next reply.

        Raises:
            AgentError: The script has no reply for this call.
            Exception: The scripted exception.
        """
        # The reply is taken before the first wait, so replies follow the order of calls.
        reply = self._next(request)
        await anyio.lowlevel.checkpoint()
        while isinstance(reply, Delay):
            await anyio.sleep(reply.seconds)
            reply = reply.reply
        if isinstance(reply, Exception):
            raise reply
        return _response(reply, request, self.model)

    def stream(self, request: ChatRequest) -> ChatStream:
        """Yield the next reply in pieces, then the whole response; the iteration raises the errors of `complete`."""
        return ChatStream(self._stream(request))

    async def _stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse]:
        response = await self.complete(request)
        if self._chunks:
            size = max(1, -(-len(response.text) // self._chunks))
            for start in range(0, len(response.text), size):
                yield ChatDelta(text=response.text[start : start + size])
                await anyio.lowlevel.checkpoint()
        yield response

    async def aclose(self) -> None:
        """Do nothing; there is nothing to release."""

    def assert_consumed(self) -> None:
        """Check that every reply was used and every call had a reply.

        Raises:
            AssertionError: The message lists unused replies and unexpected calls.
        """
        problems = [
            f"{len(queue) - self._used.get(name, 0)} of {len(queue)} replies left for {name!r}"
            for name, queue in self._queues.items()
            if self._used.get(name, 0) < len(queue)
        ]
        problems += [f"never called for {name!r}" for name in self._always if name != ANY and name not in self._used]
        problems += self._unexpected
        if problems:
            raise AssertionError("the script was not followed: " + "; ".join(problems))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.assert_consumed()

    def _next(self, request: ChatRequest) -> Reply:
        self.requests.append(request)
        if self._function is not None:
            return self._function(request)
        name = self._key(request)
        if name not in self._queues and name not in self._always:
            name = ANY
        if name in self._always:
            self._used[name] = self._used.get(name, 0) + 1
            return self._always[name]
        queue = self._queues.get(name, [])
        used = self._used.get(name, 0)
        if used >= len(queue):
            problem = f"unexpected call {self.calls} (agent {agent_of(request)!r}): no reply left"
            self._unexpected.append(problem)
            raise AgentError(problem, provider=self.provider, hint="Add a reply to the script for each call.")
        self._used[name] = used + 1
        return queue[used]


def _default_profile(chunks: int) -> ModelProfile:
    # Scripted replies do not depend on the question, so it may contain any file.
    return ModelProfile(streams=chunks > 0, inputs=("image", "pdf"))


def _any_key(_request: ChatRequest) -> str:
    return ANY


def _response(reply: Reply, request: ChatRequest, model: str) -> ChatResponse:
    if isinstance(reply, ChatResponse):
        return reply
    if isinstance(reply, AgentResponse):
        facts = reply.model_dump(mode="json", include={"stance", "choice", "position", "reasoning", "confidence"})
        text = json.dumps({name: value for name, value in facts.items() if value is not None}, ensure_ascii=False)
    elif isinstance(reply, Mapping) and "toolCalls" in reply:
        return ChatResponse.model_validate({"text": "", "finish_reason": "tool_calls", "tool_calls": _calls(reply)})
    elif isinstance(reply, Mapping):
        text = json.dumps(dict(reply), ensure_ascii=False)
    elif isinstance(reply, str):
        text = reply
    else:
        raise TypeError(f"a scripted reply is text, a mapping, a response or an exception, not {type(reply).__name__}")
    # A token is counted as four characters: usage only has to be plausible and deterministic.
    usage = Usage(
        input_tokens=sum(len(message.content) for message in request.messages) // 4,
        output_tokens=-(-len(text) // 4),
        calls=1,
    )
    return ChatResponse(text=text, usage=usage, model=model)


def _calls(reply: Mapping[str, JsonValue]) -> list[JsonValue]:
    """Return the tool calls of a reply, each with an id."""
    calls = reply["toolCalls"]
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        msg = "toolCalls of a scripted reply must be a list of objects with a name and args"
        raise ConfigurationError(msg, provider="scripted")
    return [{"id": f"call-{number}", **call} for number, call in enumerate(calls, 1) if isinstance(call, dict)]


class ScriptedProvider:
    """Factory of models `scripted:FILE.json`; the file holds a list or an object, as `ScriptedModel` takes them."""

    reads_files: Final = True
    """Whether a model id is the path of a local file; servers do not let callers choose such a model."""

    def __call__(self, model: str | None, _config: ProviderConfig, _settings: Settings) -> ScriptedModel:
        """Create a model.

        Raises:
            ConfigurationError: No file is named, or the file is not a valid script.
        """
        hint = "Write 'scripted:FILE.json'; the file holds a list of answers, or an object from agent id to answers."
        if model is None:
            raise ConfigurationError("the provider 'scripted' needs a file of answers", provider="scripted", hint=hint)
        try:
            script = json.loads(Path(model).expanduser().read_text("utf-8"))
        except (OSError, ValueError, RecursionError, RuntimeError) as exc:
            raise ConfigurationError(
                f"cannot read the script {model!r}: {getattr(exc, 'strerror', None) or exc}",
                provider="scripted",
                hint=hint,
            ) from exc
        replies = script.values() if isinstance(script, dict) else [script]
        items = [item for reply in replies for item in (reply if isinstance(reply, list) else [reply])]
        if not isinstance(script, list | dict) or not all(isinstance(item, str | dict) for item in items):
            raise ConfigurationError(f"the script {model!r} may only contain strings and objects", hint=hint)
        return ScriptedModel(script, model=Path(model).name)
