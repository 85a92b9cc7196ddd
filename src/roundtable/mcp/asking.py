"""Who calls, and putting agents' requests to the user behind a client that can ask them (elicitation)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from roundtable.auth import SCOPES, Identity
from roundtable.auth.guard import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp import types
    from mcp.server.context import ServerRequestContext

    from roundtable.types import ContextRequest

__all__ = ["Asking", "InputRequired", "caller_of", "is_elsewhere"]

_LOCAL: Final = Identity(user="default", scopes=SCOPES)
_ROUND_TRIPS: Final = "2026-07-28"
"""From this protocol on a question is the answer to a call, and its answer comes with the call made anew."""
_MOST_CHARS: Final = 20_000


def caller_of(ctx: ServerRequestContext[Any]) -> Identity:
    """Say who calls: whom the HTTP transport recognised, or the one user of a server that is no service."""
    scope: Mapping[str, object] = {} if ctx.request is None else ctx.request.scope
    found = scope.get(IDENTITY)
    return found if isinstance(found, Identity) else _LOCAL


def is_elsewhere(ctx: ServerRequestContext[Any]) -> bool:
    """Tell whether a caller is a user of a service, and may sit at another machine."""
    return caller_of(ctx) is not _LOCAL


class InputRequired(Exception):
    """The client has to put questions to its user, and to call again with the answers."""


class Asking:
    """Asks the user of one call.

    Args:
        ctx: What the SDK knows of the call.
        params: The call of a tool; a client that calls again adds the answers.
    """

    def __init__(self, ctx: ServerRequestContext[Any], params: types.CallToolRequestParams | None = None) -> None:
        self._ctx = ctx
        self._given = (params.input_responses if params is not None else None) or {}
        self._questions: dict[str, types.ElicitRequest] = {}

    async def ask(self, asked: Sequence[tuple[ContextRequest, str]]) -> dict[str, str | None]:
        """Put requests to the user; see `Call.ask`.

        Raises:
            InputRequired: `result` holds the questions.
        """
        from mcp import types
        from mcp.types.version import is_version_at_least

        if not self._can_ask():
            return {}
        questions = {one.id: types.ElicitRequest(params=_question(one, name)) for one, name in asked}
        if is_version_at_least(self._ctx.protocol_version, _ROUND_TRIPS):
            if questions.keys() - self._given.keys():
                self._questions = questions
                raise InputRequired
            return _read({name: self._given[name] for name in questions})
        replies: dict[str, object] = {}
        for name, question in questions.items():
            form = cast("types.ElicitRequestFormParams", question.params)
            reply = await self._ctx.session.elicit_form(form.message, form.requested_schema, self._ctx.request_id)
            replies[name] = reply
            if reply.action == "cancel":
                break
        return _read(replies)

    def result(self) -> types.InputRequiredResult:
        """Give the questions as the answer to the call."""
        from mcp import types

        return types.InputRequiredResult(input_requests={**self._questions})

    def _can_ask(self) -> bool:
        capabilities = self._ctx.session.client_capabilities
        able = None if capabilities is None else capabilities.elicitation
        # A bare `elicitation: {}` is what clients say that know no kinds of it.
        return able is not None and (able.form is not None or able.url is None)


def _question(one: ContextRequest, name: str) -> types.ElicitRequestFormParams:
    from mcp import types

    field = {"type": "string", "title": "Answer", "description": one.reason, "maxLength": _MOST_CHARS}
    return types.ElicitRequestFormParams(
        message=f"{name} asks: {one.query}",
        requested_schema={"type": "object", "properties": {"answer": field}, "required": ["answer"]},
    )


def _read(replies: Mapping[str, object]) -> dict[str, str | None]:
    """Give what was answered: a text, or `None` where the user declined; a cancelled question is left out."""
    found: dict[str, str | None] = {}
    for name, reply in replies.items():
        action = getattr(reply, "action", None)
        content = getattr(reply, "content", None) or {}
        answer = content.get("answer")
        if action == "accept" and isinstance(answer, str) and answer.strip():
            found[name] = answer[:_MOST_CHARS]
        elif action in {"accept", "decline"}:
            found[name] = None
    return found
