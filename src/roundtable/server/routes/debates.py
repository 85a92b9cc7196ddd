"""Endpoints that start debates and conversations of teams."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from roundtable.api.offered import debate_options
from roundtable.server.openapi_parts import json_body
from roundtable.server.request_bodies import ConversationBody, DebateBody, ForkBody, JsonBody
from roundtable.server.request_limits import check_affordable, check_most_rounds, check_team, seconds_of
from roundtable.server.runs import RUN_RESPONSES, ResponseOptions, check_limits, launch, start_run
from roundtable.server.state import Caller, Writer

if TYPE_CHECKING:
    from roundtable.api.options import ConverseOptions, DebateOptions
    from roundtable.api.runs import DebateHandle

__all__ = ["options_of", "router"]


router: APIRouter = APIRouter(prefix="/api", tags=["debates"], default_response_class=Response)


def options_of(caller: Caller, body: DebateBody | ForkBody) -> DebateOptions:
    """Convert a request body to the debate options of the caller's table.

    Raises:
        ConfigurationError: This server does not offer an agent, agents cannot search, or `exitWhen` is not a criterion.
    """
    return debate_options(caller.tenant_session.table, body, models=caller.state.options.get("models", ()))


@router.post(
    "/debates",
    operation_id="startDebate",
    status_code=202,
    responses=RUN_RESPONSES,
    openapi_extra=json_body(
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
    caller: Writer, wanted: ResponseOptions, body: Annotated[DebateBody, Depends(JsonBody(DebateBody))]
) -> Response:
    """Start a debate, which then runs in the background.

    The response is 202 with the id of the session. With `?wait=`, the response is the result if the debate ends in this
    time. With `Accept: text/event-stream`, the response is a stream of the events.
    """
    check_most_rounds(caller, body.rounds)
    await check_limits(caller, wanted, body.rounds)
    options = options_of(caller, body)
    await check_affordable(caller, body.topic, options)

    async def begin() -> DebateHandle:
        return await caller.tenant_session.table.start(body.topic, step=body.step, wait_for="all", **options)

    count = partial(start_run, caller, rounds=body.rounds)
    return await launch(caller, wanted, begin, request=_content("debate", body), count=count)


@router.post(
    "/conversations",
    operation_id="startConversation",
    status_code=202,
    responses=RUN_RESPONSES,
    openapi_extra=json_body(
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
    caller: Writer, wanted: ResponseOptions, body: Annotated[ConversationBody, Depends(JsonBody(ConversationBody))]
) -> Response:
    """Run a team of specialised agents on a request. The response is like that of `POST /api/debates`."""
    check_most_rounds(caller, body.rounds)
    options: ConverseOptions = {
        "rounds": body.rounds,
        "order": body.order,
        "timeout_s": seconds_of(caller, body.timeout_s, "timeoutS", team=True),
        "budget": body.budget,
        "metadata": body.metadata,
    }
    table = caller.tenant_session.table
    check_team(caller, table.team_config(body.agents, body.messages, **options))

    async def begin() -> DebateHandle:
        return await table.start_conversation(agents=body.agents, messages=body.messages, **options)

    count = partial(start_run, caller, rounds=body.rounds)
    return await launch(caller, wanted, begin, request=_content("conversation", body), count=count)


def _content(kind: str, body: DebateBody | ConversationBody) -> bytes:
    return f"{kind}:{body.to_json()}".encode()
