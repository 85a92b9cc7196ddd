"""Beginning debates and conversations of teams."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from roundtable.api.offered import chosen_agents
from roundtable.api.teams import asked_of_team
from roundtable.exits import exit_from_spec
from roundtable.server.bodies import ConversationBody, DebateBody, ForkBody
from roundtable.server.bounds import check_affordable, check_most_rounds, check_team, seconds_of
from roundtable.server.describing import takes
from roundtable.server.launching import ANSWERED, Wanted, check_limits, launch
from roundtable.server.reading import JsonBody
from roundtable.server.starting import begun
from roundtable.server.state import Caller, Writer

if TYPE_CHECKING:
    from roundtable.api.converse import ConverseOptions
    from roundtable.api.handle import DebateHandle
    from roundtable.api.options import DebateOptions

__all__ = ["debate_options", "router"]

router: APIRouter = APIRouter(prefix="/api", tags=["debates"], default_response_class=Response)


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

    count = partial(begun, caller, rounds=given.rounds)
    return await launch(caller, wanted, begin, request=_words("debate", given), count=count)


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
    options: ConverseOptions = {
        "rounds": given.rounds,
        "order": given.order,
        "timeout_s": seconds_of(caller, given.timeout_s, "timeoutS", team=True),
        "budget": given.budget,
        "metadata": given.metadata,
    }
    table = caller.desk.table
    check_team(caller, asked_of_team(table.wiring, given.agents, given.messages, **options).config)

    async def begin() -> DebateHandle:
        return await table.start_conversation(agents=given.agents, messages=given.messages, **options)

    count = partial(begun, caller, rounds=given.rounds)
    return await launch(caller, wanted, begin, request=_words("conversation", given), count=count)


def _words(kind: str, given: DebateBody | ConversationBody) -> bytes:
    return f"{kind}:{given.to_json()}".encode()
