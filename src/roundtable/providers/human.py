"""A human at the table: a model that asks a person, through a callback or the terminal."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import anyio
import anyio.lowlevel
import anyio.to_thread

from roundtable.errors import AgentError
from roundtable.gateway.streams import ChatStream
from roundtable.prompts import JSON_WANTED
from roundtable.types import ChatResponse, ModelProfile, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from roundtable.settings import Settings
    from roundtable.types import ChatDelta, ChatRequest, JsonObject, JsonValue, ProviderConfig

__all__ = ["HumanModel", "HumanProvider", "HumanReply", "HumanTurn", "Terminal"]

_PATIENCE_S: Final = 3600.0
_HINTS: Final = {
    "confidence": " (0 to 100)",
    "stance": " (YES, NO or NEUTRAL)",
    "ranking": " (best > next > ...)",
    "scores": " (option=number, ...)",
}
_LEADING: Final = ("position", "choice", "ranking", "scores", "goal")


@dataclass(frozen=True, slots=True)
class HumanTurn:
    """What a person is asked."""

    agent: str
    """Id of the agent the person speaks for."""
    instructions: str
    """The role and its rules."""
    prompt: str
    """The question, and what may be seen of earlier answers."""
    fields: tuple[str, ...]
    """Members an answer may have, such as `position`, `reasoning` and `confidence` (0 to 100); none for free text."""
    options: tuple[str, ...] = ()
    """Options to choose from, where there are any."""


HumanReply: TypeAlias = "str | Mapping[str, JsonValue]"
"""What a person says: a text, taken as the position, vote or ranking asked for, or the members one by one."""

Asker: TypeAlias = Callable[[HumanTurn], "HumanReply | Awaitable[HumanReply]"]


class HumanModel:
    """A `ChatModel` whose answers a person gives, so that a human can take part in every mode.

    A wait for a person can be cancelled like any call. It ends after `patience_s` where the table sets no deadline
    of its own for the provider `human`.

    Args:
        ask: Asks the person; plain functions run in a thread, `None` asks on the terminal.
        model: Name of the person, as recorded.
        patience_s: Seconds to wait for an answer.

    Example:
        >>> import anyio
        >>> from roundtable.types import ChatRequest, Message
        >>> ada = HumanModel(lambda turn: "Tea.", model="ada")
        >>> anyio.run(ada.complete, ChatRequest(model="", messages=(Message(role="user", content="Well?"),))).text
        'Tea.'
    """

    provider = "human"
    profile: ModelProfile = ModelProfile(structured_output=True, confidence_scale=100, context_tokens=1_000_000)

    def __init__(self, ask: Asker | None = None, *, model: str = "human", patience_s: float = _PATIENCE_S) -> None:
        self.model = model
        self.patience_s = patience_s
        self._ask: Asker = ask or Terminal().ask

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Ask the person.

        Raises:
            AgentError: The person gave no answer.
        """
        turn = _turn(request)
        plain = not inspect.iscoroutinefunction(self._ask)
        ask = self._ask
        replied = await anyio.to_thread.run_sync(ask, turn, abandon_on_cancel=True) if plain else ask(turn)
        reply: object = await replied if inspect.isawaitable(replied) else replied
        text = _text(reply, turn, request)
        if not text.strip():
            raise AgentError("no answer was given", provider=self.provider, hint="Say something, or leave the table.")
        return ChatResponse(text=text, usage=Usage(calls=1), model=self.model)

    def stream(self, request: ChatRequest) -> ChatStream:
        """Give the whole answer as one piece."""
        return ChatStream(self._stream(request))

    async def _stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse]:
        yield await self.complete(request)

    async def aclose(self) -> None:
        """Do nothing; a person is not released."""


def _turn(request: ChatRequest) -> HumanTurn:
    properties: Mapping[str, JsonValue] = {}
    if request.output_schema is not None:
        found = request.output_schema.definition.get("properties")
        properties = found if isinstance(found, dict) else {}
    return HumanTurn(
        agent=request.metadata.get("agent", ""),
        instructions="\n\n".join(message.content for message in request.messages if message.role == "system"),
        prompt="\n\n".join(_asked(message.content) for message in request.messages if message.role == "user"),
        fields=tuple(properties),
        options=_options(json.dumps(properties.get("choice") or properties.get("ranking"))),
    )


def _asked(content: str) -> str:
    """Leave out how a model has to write its answer; a person is asked for its members."""
    return content.partition(f"\n\n{JSON_WANTED}")[0]


def _options(schema: str) -> tuple[str, ...]:
    listed = re.search(r'"enum": (\[.*?\])(?=[,}])', schema)
    return tuple(json.loads(listed[1])) if listed else ()


def _text(reply: object, turn: HumanTurn, request: ChatRequest) -> str:
    """Bring what a person said into the form a model would have used."""
    if isinstance(reply, Mapping):
        return json.dumps(dict(reply), ensure_ascii=False)
    text = reply if isinstance(reply, str) else ""
    if not text.strip() or request.output_schema is None or text.lstrip().startswith("{"):
        return text
    kind = next((name for name in _LEADING if name in turn.fields), "")
    read: dict[str, Callable[[str, HumanTurn], JsonObject]] = {
        "position": _position,
        "choice": lambda said, _: {"choice": None if said.casefold() in {"abstain", "-"} else said},
        "ranking": lambda said, _: {"ranking": [part.strip() for part in re.split(r"[>\n,;]", said) if part.strip()]},
        "scores": lambda said, _: {"scores": _scores(said)},
        "goal": lambda said, _: {"goal": said, "strategy": "", "successCriteria": []},
    }
    return json.dumps(read[kind](text.strip(), turn), ensure_ascii=False) if kind else text


def _position(said: str, turn: HumanTurn) -> JsonObject:
    chosen = next((option for option in turn.options if option.casefold() == said.casefold()), None)
    answer: JsonObject = {"position": said, "reasoning": ""}
    return answer | ({"choice": chosen} if chosen is not None else {})


def _scores(said: str) -> JsonObject:
    pairs = re.findall(r"([^=,;\n]+)=\s*(-?\d+(?:\.\d+)?)", said)
    return {name.strip(): float(number) for name, number in pairs}


class Terminal:
    """Asks on standard error and reads lines from standard input, one person at a time.

    Args:
        source: File descriptor that lines are read from.
    """

    def __init__(self, source: int = 0) -> None:
        self._source = source
        self._buffer = b""
        self._lock = anyio.Lock()

    async def ask(self, turn: HumanTurn) -> HumanReply:
        """Show the turn and read an answer, member by member; an empty line leaves a member out."""
        async with self._lock:
            sys.stderr.write(f"\n=== {turn.agent or 'Your turn'} ===\n{turn.instructions}\n\n{turn.prompt}\n\n")
            if turn.options:
                sys.stderr.write(f"The options: {', '.join(turn.options)}\n")
            if not turn.fields:
                return await self._line("answer")
            said = {name: await self._line(name) for name in turn.fields}
        given = {name: text for name, text in said.items() if text}
        return {name: _value(name, text) for name, text in given.items()} if given else ""

    async def _line(self, name: str) -> str:
        sys.stderr.write(f"{name}{_HINTS.get(name, '')}: ")
        sys.stderr.flush()
        while b"\n" not in self._buffer:
            try:
                await anyio.wait_readable(self._source)
            except PermissionError:
                await anyio.lowlevel.checkpoint()  # a plain file can always be read
            more = os.read(self._source, 65_536)
            if not more:
                line, self._buffer = self._buffer, b""
                return line.decode("utf-8", "replace").strip()
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", "replace").strip()


def _value(name: str, text: str) -> JsonValue:
    if name == "confidence":
        digits = text.removesuffix("%").strip()
        return int(digits) if digits.isascii() and digits.isdigit() else text
    if name == "ranking":
        return [part.strip() for part in re.split(r"[>,;]", text) if part.strip()]
    if name == "scores":
        return _scores(text)
    return text


class HumanProvider:
    """Makes models that ask on one terminal: `human` or `human:NAME`."""

    def __init__(self) -> None:
        self._terminal = Terminal()

    def __call__(self, model: str | None, _config: ProviderConfig, _settings: Settings) -> HumanModel:
        """Make a model for one person."""
        return HumanModel(self._terminal.ask, model=model or "human")
