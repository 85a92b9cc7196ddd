"""The caller of a tool, and elicitation: questions to the caller's user about information that agents request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from roundtable.auth import SCOPES, Identity
from roundtable.auth.guard import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp import types
    from mcp.server.context import ServerRequestContext

    from roundtable.core.types.answers import ContextRequest

__all__ = ["ROUND_TRIPS", "Elicitor", "InputRequired", "caller_of", "can_ask", "is_remote"]


_LOCAL: Final = Identity(user="default", scopes=SCOPES)
ROUND_TRIPS: Final = "2026-07-28"
"""From this protocol version on, a call returns a question as its result; the client calls again with the answer."""
_MAX_ANSWER_CHARS: Final = 20_000


def caller_of(ctx: ServerRequestContext[Any]) -> Identity:
    """Return the caller: the identity that the HTTP transport recognised, or the only user of a local server."""
    scope: Mapping[str, object] = {} if ctx.request is None else ctx.request.scope
    identity = scope.get(IDENTITY)
    return identity if isinstance(identity, Identity) else _LOCAL


def is_remote(ctx: ServerRequestContext[Any]) -> bool:
    """Check whether the call came over HTTP, so that the caller may be on another machine."""
    return caller_of(ctx) is not _LOCAL


def can_ask(ctx: ServerRequestContext[Any]) -> bool:
    """Check whether the client can show a form to its user."""
    capabilities = ctx.session.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    # Clients that do not distinguish kinds of elicitation send a bare `elicitation: {}`.
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


class InputRequired(Exception):
    """The client must ask its user the questions, and call again with the answers."""


class Elicitor:
    """Asks the user of the client that made a call.

    Args:
        ctx: The request context of the SDK.
        params: The tool call; when a client calls again, it contains the answers.
    """

    def __init__(self, ctx: ServerRequestContext[Any], params: types.CallToolRequestParams | None = None) -> None:
        self._ctx = ctx
        self._responses = (params.input_responses if params is not None else None) or {}
        self._questions: dict[str, types.ElicitRequest] = {}

    async def ask(self, requests: Sequence[tuple[ContextRequest, str]]) -> dict[str, str | None]:
        """Ask the user for the requested information; see `ToolCallContext.ask`.

        Raises:
            InputRequired: The client must ask; `result` returns the questions.
        """
        from mcp import types
        from mcp.types.version import is_version_at_least

        if not can_ask(self._ctx):
            return {}
        questions = {
            request.id: types.ElicitRequest(params=_question(request, agent_name)) for request, agent_name in requests
        }
        if is_version_at_least(self._ctx.protocol_version, ROUND_TRIPS):
            if questions.keys() - self._responses.keys():
                self._questions = questions
                raise InputRequired
            return _answers({request_id: self._responses[request_id] for request_id in questions})
        replies: dict[str, object] = {}
        for request_id, question in questions.items():
            form = cast("types.ElicitRequestFormParams", question.params)
            reply = await self._ctx.session.elicit_form(form.message, form.requested_schema, self._ctx.request_id)
            replies[request_id] = reply
            if reply.action == "cancel":
                break
        return _answers(replies)

    def result(self) -> types.InputRequiredResult:
        """Return the questions as the result of the call."""
        from mcp import types

        return types.InputRequiredResult(input_requests={**self._questions})


def _question(request: ContextRequest, agent_name: str) -> types.ElicitRequestFormParams:
    from mcp import types

    field = {"type": "string", "title": "Answer", "description": request.reason, "maxLength": _MAX_ANSWER_CHARS}
    return types.ElicitRequestFormParams(
        message=f"{agent_name} asks: {request.query}",
        requested_schema={"type": "object", "properties": {"answer": field}, "required": ["answer"]},
    )


def _answers(replies: Mapping[str, object]) -> dict[str, str | None]:
    """Return the answers by request id: a text, or `None` if the user gave none. Cancelled questions are left out."""
    answers: dict[str, str | None] = {}
    for request_id, reply in replies.items():
        action = getattr(reply, "action", None)
        content = getattr(reply, "content", None) or {}
        answer = content.get("answer")
        if action == "accept" and isinstance(answer, str) and answer.strip():
            answers[request_id] = answer[:_MAX_ANSWER_CHARS]
        elif action in {"accept", "decline"}:
            answers[request_id] = None
    return answers
