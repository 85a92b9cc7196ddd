"""Beginning debates and conversations of teams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from roundtable.api.offered import chosen_agents
from roundtable.api.profiles import profile_of
from roundtable.errors import ConfigurationError, RoundtableError
from roundtable.exits import exit_from_spec
from roundtable.server.bodies import ConversationBody, DebateBody, ForkBody
from roundtable.server.describing import takes
from roundtable.server.launching import ANSWERED, Wanted, check_limits, launch
from roundtable.server.reading import JsonBody
from roundtable.server.state import Caller, Writer

if TYPE_CHECKING:
    from roundtable.api.handle import DebateHandle
    from roundtable.api.options import DebateOptions

__all__ = ["check_affordable", "check_more_rounds", "check_most_rounds", "debate_options", "router"]

router: APIRouter = APIRouter(prefix="/api", tags=["debates"], default_response_class=Response)

_MOST_CALLS = 500


def debate_options(caller: Caller, given: DebateBody | ForkBody) -> DebateOptions:
    """Read what is said about a debate into what a table takes.

    Raises:
        ConfigurationError: An agent is not offered here, or `exitWhen` is no criterion.
    """
    # Bodies name everything as a table does.
    options: dict[str, object] = {}
    table = caller.desk.table
    for name in given.model_fields_set - {"topic", "step", "at_round", "context_results"}:
        value = getattr(given, name)
        if name == "agents":
            options[name] = chosen_agents(table, value, models=caller.state.options.get("models", ()))
        elif name == "exit_when":
            options[name] = None if value is None else exit_from_spec(value, table.wiring.catalog.exits)
        else:
            options[name] = value
    return cast("DebateOptions", options)


def check_most_rounds(caller: Caller, rounds: int) -> None:
    """Refuse more rounds than a debate may have.

    Raises:
        RoundtableError: The code is `MAX_ROUNDS_EXCEEDED`.
    """
    most = caller.desk.table.wiring.settings.max_rounds
    if rounds > most:
        details = {"field": "rounds", "message": f"must be at most {most}"}
        raise RoundtableError(
            f"{rounds} rounds are too many; at most {most}", code="MAX_ROUNDS_EXCEEDED", details={**details}
        )


def check_affordable(caller: Caller, topic: str, options: DebateOptions) -> None:
    """Refuse what cannot be held, or would take too many calls; nothing is called.

    Raises:
        ConfigurationError: Something asked for does not exist or does not fit, or the debate is too large.
    """
    caller.desk.table.estimate(topic, most_calls=_most_calls(caller), **options)


def check_more_rounds(caller: Caller, agents: int, rounds: int) -> None:
    """Refuse further rounds that take too many calls even where everybody speaks once in each.

    Raises:
        ConfigurationError: They do.
    """
    calls, most = agents * rounds, _most_calls(caller)
    if calls > most:
        msg = f"{rounds} more rounds take {calls:,} model calls or more; {most:,} are allowed"
        raise ConfigurationError(msg, hint="Ask for fewer rounds.")


def _most_calls(caller: Caller) -> int:
    return caller.state.options.get("most_calls", _MOST_CALLS)


@router.post(
    "/debates",
    operation_id="startDebate",
    status_code=202,
    responses=ANSWERED,
    openapi_extra=takes(
        DebateBody,
        examples={
            "a question": {"topic": "Should a five-person startup adopt microservices?"},
            "options to choose from": {
                "topic": "Which database?",
                "mode": "adversarial",
                "rounds": 2,
                "options": ["SQLite", "PostgreSQL"],
                "decide": "supermajority(2/3)",
                "exitWhen": {"kind": "consensus", "threshold": 0.9},
                "budget": {"maxCalls": 40},
                "metadata": {"ticket": "OPS-7"},
            },
        },
    ),
)
async def start_debate(
    caller: Writer, wanted: Wanted, given: Annotated[DebateBody, Depends(JsonBody(DebateBody))]
) -> Response:
    """Begin a debate, which then runs by itself.

    The answer is 202 with the id of its session. With `?wait=` it is the result, if the debate ends in that time; with
    `Accept: text/event-stream` it is the events as they happen.
    """
    check_most_rounds(caller, given.rounds)
    await check_limits(caller, wanted, given.rounds)
    options = debate_options(caller, given)
    check_affordable(caller, given.topic, options)

    async def begin() -> DebateHandle:
        return await caller.desk.table.start(given.topic, step=given.step, **options)

    return await launch(caller, wanted, begin, request=_words("debate", given), rounds=given.rounds)


@router.post(
    "/conversations",
    operation_id="startConversation",
    status_code=202,
    responses=ANSWERED,
    openapi_extra=takes(
        ConversationBody,
        examples={
            "a request": {
                "agents": ["data-steward", "prospect-finder"],
                "messages": [{"role": "user", "content": "Whom in healthcare have we not called for six months?"}],
            }
        },
    ),
)
async def start_conversation(
    caller: Writer, wanted: Wanted, given: Annotated[ConversationBody, Depends(JsonBody(ConversationBody))]
) -> Response:
    """Have a team of specialised agents work on a request; answered like `POST /api/debates`."""
    check_most_rounds(caller, given.rounds)
    # What is checked by name is checked before it counts for the caller's limits.
    for name in given.agents:
        profile_of(name, caller.desk.table.wiring.catalog.profiles)

    async def begin() -> DebateHandle:
        return await caller.desk.table.start_conversation(
            agents=given.agents,
            messages=given.messages,
            rounds=given.rounds,
            order=given.order,
            timeout_s=given.timeout_s,
            budget=given.budget,
            metadata=given.metadata,
        )

    return await launch(caller, wanted, begin, request=_words("conversation", given), rounds=given.rounds)


def _words(kind: str, given: DebateBody | ConversationBody) -> bytes:
    return f"{kind}:{given.to_json()}".encode()
