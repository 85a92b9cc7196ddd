"""A human at the table: a model that asks a person, through a callback or the terminal."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import anyio.to_thread

from roundtable.errors import AgentError
from roundtable.prompts import JSON_WANTED
from roundtable.providers.terminal import ABSTAINS, Terminal, chosen, listed, scored
from roundtable.providers.whole import WholeAnswers
from roundtable.types import ChatResponse, ModelProfile, Usage

if TYPE_CHECKING:
    from roundtable.settings import Settings
    from roundtable.types import ChatRequest, JsonObject, JsonValue, ProviderConfig

__all__ = ["HumanModel", "HumanProvider", "HumanReply", "HumanTurn", "Terminal"]

_PATIENCE_S: Final = 3600.0
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


class HumanModel(WholeAnswers):
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
    profile: ModelProfile = ModelProfile(
        structured_output=True, confidence_scale=100, context_tokens=1_000_000, calls_tools=False
    )

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
        options=_options(properties),
    )


def _asked(content: str) -> str:
    """Leave out how a model has to write its answer; a person is asked for its members."""
    return content.partition(f"\n\n{JSON_WANTED}")[0]


def _options(properties: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Find the options in the schema of an answer: those to choose from, to rank or to score."""
    scores = properties.get("scores")
    if isinstance(scores, dict):
        named = scores.get("properties")
        return tuple(named) if isinstance(named, dict) else ()
    found: list[JsonValue] = [properties.get("choice"), properties.get("ranking")]
    for schema in found:
        if isinstance(schema, dict):
            allowed = schema.get("enum")
            if isinstance(allowed, list):
                return tuple(str(option) for option in allowed)
            within = schema.get("anyOf")
            found += [schema.get("items"), *(within if isinstance(within, list) else ())]
    return ()


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
        "choice": lambda said, _: {"choice": None if said.casefold() in ABSTAINS else said},
        "ranking": lambda said, _: {"ranking": [*listed(said)]},
        "scores": lambda said, _: {"scores": scored(said)},
        "goal": lambda said, _: {"goal": said, "strategy": "", "successCriteria": []},
    }
    return json.dumps(read[kind](text.strip(), turn), ensure_ascii=False) if kind else text


def _position(said: str, turn: HumanTurn) -> JsonObject:
    option = chosen(said, turn.options)
    answer: JsonObject = {"position": said, "reasoning": ""}
    return answer | ({"choice": option} if option is not None else {})


class HumanProvider:
    """Makes models that ask on one terminal: `human` or `human:NAME`."""

    patience_s: Final = _PATIENCE_S
    """Seconds that a call has where nobody states a deadline."""

    def __init__(self) -> None:
        self._terminal = Terminal()

    def __call__(self, model: str | None, _config: ProviderConfig, _settings: Settings) -> HumanModel:
        """Make a model for one person."""
        return HumanModel(self._terminal.ask, model=model or "human")
