"""A model that says what it is told to say: the double for tests, examples and documentation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeAlias

import anyio
import anyio.lowlevel

from roundtable.errors import AgentError, ConfigurationError
from roundtable.gateway.streams import ChatStream
from roundtable.types import AgentResponse, ChatDelta, ChatResponse, ModelProfile, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import TracebackType

    from roundtable.settings import Settings
    from roundtable.types import ChatRequest, JsonValue, ProviderConfig

__all__ = ["Delay", "Reply", "Script", "ScriptedModel", "ScriptedProvider"]


@dataclass(frozen=True, slots=True)
class Delay:
    """A reply that comes after a while.

    Example:
        >>> Delay(0.05, "late but here")
        Delay(seconds=0.05, reply='late but here')
    """

    seconds: float
    """How long to wait."""
    reply: Reply
    """What comes then."""


Reply: TypeAlias = "str | Mapping[str, JsonValue] | AgentResponse | ChatResponse | Exception | Delay"
"""What one call gives: text as it stands, a mapping or position rendered as its JSON, a whole response, or an error.

A mapping with `toolCalls` asks for tools: `{"toolCalls": [{"name": "price", "args": {"item": "tea"}}]}`.

A text is what a model would send. One that lacks the format of an answer makes an agent ask once more."""

Script: TypeAlias = "Sequence[Reply] | Mapping[str, Reply | Sequence[Reply]] | Callable[[ChatRequest], Reply]"
"""Replies in order, replies by key, or a function of the request."""

ANY: Final = "*"


def agent_of(request: ChatRequest) -> str:
    """Name the agent a request is made for: its `metadata["agent"]`, or `"*"` where there is none."""
    return request.metadata.get("agent", ANY)


class ScriptedModel:
    """A deterministic `ChatModel` without a network.

    Three kinds of script:

    - A sequence: one reply a call, in order. A call after the last one fails.
    - A mapping from a key to a reply or a sequence of replies. A sequence is used up in order, a single
      reply answers every call. The key `"*"` answers for keys that are not there. Turns of one stage run
      at once and reach a model in any order, so this is the way to script several agents with one model.
    - A function of the request, for all else; it must give a reply.

    Calls are recorded in `requests`. A call without a reply left fails with `AgentError`; since a debate
    records that as a failed turn, end a test with `assert_consumed`, or use `async with`, to be told of
    unexpected calls and of replies that nobody asked for.

    Args:
        script: The replies.
        model: Model id to go by.
        provider: Provider name to go by.
        profile: What prompts are made for; the default model with `streams` set if `chunks` is.
        chunks: In how many pieces `stream` gives a text; 0 gives the response alone.
        key: How a mapping's key is read from a request; `metadata["agent"]`, which agents fill in with their id.

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
        self.profile: ModelProfile = ModelProfile(streams=chunks > 0) if profile is None else profile
        self.requests: list[ChatRequest] = []
        """Every request, in the order of arrival."""
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
            self._key = _nobody

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
        """Give the next reply.

        Raises:
            AgentError: The script has no reply for this call.
            Exception: Whatever the script says is to be raised.
        """
        # Taken before the first wait: the order of calls is then the order of replies.
        reply = self._next(request)
        await anyio.lowlevel.checkpoint()
        while isinstance(reply, Delay):
            await anyio.sleep(reply.seconds)
            reply = reply.reply
        if isinstance(reply, Exception):
            raise reply
        return _response(reply, request, self.model)

    def stream(self, request: ChatRequest) -> ChatStream:
        """Give the next reply in pieces, then whole; what iterates gets what `complete` raises."""
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
        """Check that every reply was asked for and every call had a reply.

        Raises:
            AssertionError: The message lists what was left over and what was unexpected.
        """
        faults = [
            f"{len(queue) - self._used.get(name, 0)} of {len(queue)} replies left for {name!r}"
            for name, queue in self._queues.items()
            if self._used.get(name, 0) < len(queue)
        ]
        faults += [f"never called for {name!r}" for name in self._always if name != ANY and name not in self._used]
        faults += self._unexpected
        if faults:
            raise AssertionError("the script was not followed: " + "; ".join(faults))

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
            fault = f"unexpected call {self.calls} (agent {agent_of(request)!r}): no reply left"
            self._unexpected.append(fault)
            raise AgentError(fault, provider=self.provider, hint="Give the script as many replies as calls are made.")
        self._used[name] = used + 1
        return queue[used]


def _nobody(_request: ChatRequest) -> str:
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
    # About four characters a token: the figures only have to be plausible and always the same.
    usage = Usage(
        input_tokens=sum(len(message.content) for message in request.messages) // 4,
        output_tokens=-(-len(text) // 4),
        calls=1,
    )
    return ChatResponse(text=text, usage=usage, model=model)


def _calls(reply: Mapping[str, JsonValue]) -> list[JsonValue]:
    """Give the tool calls of a reply, each with an id."""
    calls = reply["toolCalls"]
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        msg = "a scripted reply with toolCalls holds a list of objects with a name and args"
        raise ConfigurationError(msg, provider="scripted")
    return [{"id": f"call-{place}", **call} for place, call in enumerate(calls, 1) if isinstance(call, dict)]


class ScriptedProvider:
    """Makes models from `scripted:FILE.json`: the file holds a list or an object as `ScriptedModel` takes it."""

    reads_files: Final = True
    """Whether the name of a model is that of a file here; servers let no caller choose one."""

    def __call__(self, model: str | None, _config: ProviderConfig, _settings: Settings) -> ScriptedModel:
        """Make a model.

        Raises:
            ConfigurationError: No file is named, or it cannot be read as such.
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
            raise ConfigurationError(f"the script {model!r} holds something else than texts and objects", hint=hint)
        return ScriptedModel(script, model=Path(model).name)
