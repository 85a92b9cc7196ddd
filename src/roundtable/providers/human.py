"""A human participant: a model that asks a person through a function that the caller passes."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias, TypeGuard, cast

import anyio

from roundtable.core.base.functions import call_function
from roundtable.core.base.scale import scale_problem
from roundtable.core.errors import AgentError, ConfigurationError
from roundtable.core.prompts.answer_format import JSON_WANTED
from roundtable.core.types.agents import ModelProfile
from roundtable.core.types.chat import ChatResponse, Usage
from roundtable.core.types.model_facts import ModelFacts
from roundtable.providers.http_model import NonStreamingModel
from roundtable.reading import Asked, read_answer

if TYPE_CHECKING:
    from roundtable.core.types.agents import ProviderConfig
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.chat import ChatRequest
    from roundtable.settings import Settings

__all__ = [
    "ABSTAINS",
    "HumanModel",
    "HumanProvider",
    "HumanReply",
    "HumanTurn",
    "parse_scores",
    "plain_text",
    "read_option",
    "reply_text",
    "split_ranking",
    "turn_of",
]

ABSTAINS: Final = frozenset({"abstain", "-"})
"""Answers that abstain from a vote."""
_PATIENCE_S: Final = 3600.0
_TRIES: Final = 3
_FOR_MODELS: Final = frozenset({"bottom_line", "claims", "compared"})
"""Fields that only models must fill in: a person answers in a few words anyway."""
_MAIN_FIELDS: Final = ("position", "choice", "ranking", "scores", "goal")


@dataclass(frozen=True, slots=True)
class HumanTurn:
    """One question to a person."""

    agent: str
    """Id of the agent the person speaks for."""
    instructions: str
    """The role and its rules."""
    prompt: str
    """The question, and the earlier answers that the agent may see."""
    fields: tuple[str, ...]
    """Fields of the answer, such as `position`, `reasoning` and `confidence` (0 to 100); none for free text."""
    options: tuple[str, ...] = ()
    """Options to choose from, if there are any."""
    problem: str = ""
    """What was wrong with the last answer, when the person is asked again; empty the first time."""
    session_id: str = ""
    """Id of the session; empty outside of debates."""
    round: int = 0
    """Round, from 1; 0 outside of debates."""
    turn_id: str = ""
    """Id of the turn within its session. It stays the same when the person is asked again, even after the session was
    resumed in another process."""
    scale: tuple[float | None, float | None] = (None, None)
    """Lowest and highest score, if the person scores the options; `None` for no limit."""


HumanReply: TypeAlias = "str | Mapping[str, JsonValue]"
"""Reply of a person: a text, which is the requested position, vote or ranking; or a mapping with the fields."""

Asker: TypeAlias = Callable[[HumanTurn], "HumanReply | Awaitable[HumanReply]"]


class HumanModel(NonStreamingModel):
    """A `ChatModel` that asks a person, so that a human can take part in every mode.

    If a choice, ranking or score names something that is not an option, or if a score is off the scale, the person is
    asked again, at most twice; `HumanTurn.problem` says what was wrong. Waiting for a person can be cancelled like any
    call. The wait ends after `patience_s`, unless the table sets a deadline for the provider `human`.

    Args:
        ask: Asks the person; a function that is not async runs in a thread.
        model: Name of the person in the record.
        patience_s: Seconds to wait for an answer.

    Raises:
        ConfigurationError: `ask` cannot be called.

    Example:
        >>> import anyio
        >>> from roundtable.types import ChatRequest, Message
        >>> ada = HumanModel(lambda turn: "Tea.", model="ada")
        >>> anyio.run(ada.complete, ChatRequest(model="", messages=(Message(role="user", content="Well?"),))).text
        'Tea.'
    """

    provider = "human"
    profile: ModelProfile = ModelProfile(
        structured_output=True,
        confidence_scale=100,
        context_tokens=1_000_000,
        calls_tools=False,
        gives_values=False,
    )

    def __init__(self, ask: Asker, *, model: str = "human", patience_s: float = _PATIENCE_S) -> None:
        if not callable(ask):
            msg = f"ask must be a function that asks the person, not {ask!r}"
            raise ConfigurationError(
                msg, hint="Write HumanModel(lambda turn: input(turn.prompt)) to ask at a terminal."
            )
        self.model = model
        self.facts: ModelFacts = ModelFacts(patience_s=patience_s)
        """How long a call waits for the person."""
        self._ask = ask

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Ask the person.

        Raises:
            AgentError: The person gave no answer, or none of three answers fits the options and the scale.
        """
        turn = turn_of(request)
        for _ in range(_TRIES):
            text = reply_text(await self._ask_person(turn), turn, request)
            if not text.strip():
                hint = "Enter an answer. Without one, this turn fails, and the debate continues with the other agents."
                raise AgentError("no answer was given", provider=self.provider, hint=hint)
            problem = _problem(text, turn)
            if not problem:
                return ChatResponse(text=text, usage=Usage(calls=1), model=self.model)
            turn = replace(turn, problem=problem)
        msg = f"none of {_TRIES} answers is valid: {turn.problem}"
        raise AgentError(msg, provider=self.provider, hint="Show the person `turn.problem` and `turn.options`.")

    async def _ask_person(self, turn: HumanTurn) -> object:
        # A limiter of its own: people take their time, and must not use up the threads of other work.
        return await call_function(self._ask, turn, limiter=anyio.CapacityLimiter(1))

    async def aclose(self) -> None:
        """Do nothing; there is nothing to release."""


def turn_of(request: ChatRequest) -> HumanTurn:
    """Return the question that a request asks, in the form for a person."""
    labels = request.metadata
    properties: Mapping[str, JsonValue] = {}
    if request.output_schema is not None:
        fields = request.output_schema.definition.get("properties")
        properties = fields if isinstance(fields, dict) else {}
    return HumanTurn(
        agent=labels.get("agent", ""),
        instructions=request.instructions,
        prompt="\n\n".join(_without_format(message.content) for message in request.messages if message.role == "user"),
        fields=tuple(name for name in properties if name not in _FOR_MODELS),
        options=_options(properties),
        scale=_scale(properties.get("scores")),
        session_id=labels.get("session", ""),
        round=int(labels.get("round", "0")),
        turn_id="/".join(labels[name] for name in ("round", "stage", "slot") if labels.get(name)),
    )


def _without_format(content: str) -> str:
    """Remove the format instructions for models; a person is asked for the fields instead."""
    return content.partition(f"\n\n{JSON_WANTED}")[0]


def _options(properties: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Return the options to choose from, to rank or to score, as the schema of the answer lists them."""
    scores = properties.get("scores")
    if isinstance(scores, dict):
        by_option = scores.get("properties")
        return tuple(by_option) if isinstance(by_option, dict) else ()
    schemas: list[JsonValue] = [properties.get("choice"), properties.get("ranking")]
    for schema in schemas:
        if isinstance(schema, dict):
            allowed = schema.get("enum")
            if isinstance(allowed, list):
                return tuple(str(option) for option in allowed)
            variants = schema.get("anyOf")
            schemas += [schema.get("items"), *(variants if isinstance(variants, list) else ())]
    return ()


def _scale(schema: JsonValue) -> tuple[float | None, float | None]:
    """Return the lowest and the highest score that the schema of scores allows; all options have the same scale."""
    if not isinstance(schema, dict):
        return None, None
    by_option = schema.get("properties")
    number = next(iter(by_option.values()), None) if isinstance(by_option, dict) else schema.get("additionalProperties")
    ends = (number.get("minimum"), number.get("maximum")) if isinstance(number, dict) else (None, None)
    low, high = (float(end) if isinstance(end, int | float) else None for end in ends)
    return low, high


def reply_text(reply: object, turn: HumanTurn, request: ChatRequest) -> str:
    """Convert the reply of a person, or of a function, to the format that a model uses."""
    if isinstance(reply, Mapping):
        return json.dumps(dict(reply), ensure_ascii=False)
    text = reply if isinstance(reply, str) else ""
    return text if text.lstrip().startswith("{") else plain_text(text, turn, request)


def plain_text(text: str, turn: HumanTurn, request: ChatRequest) -> str:
    """Convert a text without JSON, such as a position or a list of options, to the format that a model uses."""
    if not text.strip() or request.output_schema is None:
        return text
    kind = next((name for name in _MAIN_FIELDS if name in turn.fields), "")
    parsers: dict[str, Callable[[str, HumanTurn], JsonObject]] = {
        "position": _position,
        "choice": lambda value, _: {"choice": None if value.casefold() in ABSTAINS else value},
        "ranking": lambda value, _: {"ranking": [*split_ranking(value)]},
        "scores": lambda value, _: {"scores": {**parse_scores(value)}},
        "goal": lambda value, _: {"goal": value, "strategy": "", "successCriteria": []},
    }
    return json.dumps(parsers[kind](text.strip(), turn), ensure_ascii=False) if kind else text


def _problem(text: str, turn: HumanTurn) -> str:
    """Return what is wrong with a choice, a ranking or scores; empty if nothing is wrong."""
    try:
        answer = json.loads(text) if turn.fields and (turn.options or "scores" in turn.fields) else None
    except ValueError:
        return ""  # the parser of the turn handles invalid JSON
    if not isinstance(answer, dict):
        return ""
    named: list[object] = [answer.get("choice")]
    for value in (answer.get("ranking"), answer.get("scores")):
        if isinstance(value, list | dict):
            named += [option for entry in value for option in (entry if isinstance(entry, list) else [entry])]
    unknown = [
        option for option in named if option is not None and read_option(str(option).strip(), turn.options) is None
    ]
    if unknown and turn.options:
        return f"{unknown[0]!r} is not one of the options: {', '.join(turn.options)}"
    scores = answer.get("scores")
    numbers = [score for score in scores.values() if _is_number(score)] if isinstance(scores, dict) else []
    return scale_problem(numbers, *turn.scale)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _position(text: str, turn: HumanTurn) -> JsonObject:
    option = read_option(text, turn.options)
    answer: JsonObject = {"position": text, "reasoning": ""}
    return answer | ({"choice": option} if option is not None else {})


class HumanProvider:
    """Factory of models for people, `human` or `human:NAME`.

    `ProviderConfig(client=ask)` sets the function that asks a person, as in `HumanModel`. Commands set a function that
    asks at the terminal. There is no default: the standard input of a server does not belong to a person.
    """

    patience_s: Final = _PATIENCE_S
    """Seconds that a call without a deadline may take."""

    def __call__(self, model: str | None, config: ProviderConfig, _settings: Settings) -> HumanModel:
        """Create a model for one person.

        Raises:
            ConfigurationError: The config has no function that asks a person.
        """
        name = model or "human"
        if config.client is None:
            raise ConfigurationError(
                f"{f'human:{model}' if model else 'human'!r} needs a function that asks the person",
                provider="human",
                hint=f"Add HumanModel(ask, model={name!r}) to this table; only commands ask at the terminal.",
            )
        return HumanModel(cast("Asker", config.client), model=name)


def read_option(text: str, options: tuple[str, ...], labels: tuple[str, ...] = ()) -> str | None:
    """Return the option that a text names, as answers of models are read; `None` if there is none.

    Args:
        text: What the person wrote.
        options: The options.
        labels: Numbers or letters under which the options were listed.
    """
    if not options:
        return None
    reading = read_answer(text, Asked("choice", options, labels))
    return reading.value if reading.certainty == "certain" and reading.value in options else None


def split_ranking(text: str) -> list[str]:
    """Split a text into a ranking, best first."""
    return [part.strip() for part in re.split(r"[>\n,;]", text) if part.strip()]


def parse_scores(text: str) -> dict[str, float]:
    """Parse scores written as option=number."""
    pairs = re.findall(r"([^=,;\n]+)=\s*(-?\d+(?:\.\d+)?)", text)
    return {name.strip(): float(number) for name, number in pairs}
