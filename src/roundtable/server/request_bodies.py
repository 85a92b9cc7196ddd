"""Request bodies, parsed strictly from camelCase JSON; unknown fields are refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Generic, TypeAlias, TypeVar

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import Field, ValidationError
from pydantic_core import from_json

from roundtable.core.base.strict_json import TOO_DEEP, is_too_deep, unique_names
from roundtable.core.errors import RoundtableError
from roundtable.core.types.base import Value, nearest_error
from roundtable.core.types.events import RunningCalls
from roundtable.core.types.request import ConversationRequest, DebateRequest, ExtendRequest, ForkRequest, ResumeRequest
from roundtable.server.errors import invalid_field
from roundtable.tools.approval import MOST_REASON_CHARS

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = [
    "LONGEST_WAIT_S",
    "ApprovalBody",
    "ConversationBody",
    "DebateBody",
    "ExtendBody",
    "ForkBody",
    "JsonBody",
    "PauseBody",
    "ResumeBody",
    "StopBody",
    "SynthesisBody",
    "check_json",
    "check_query",
]

_IDS_PARAMETER = "ids"
"""Name of the query parameter that streams read themselves."""


BodyT = TypeVar("BodyT", bound=Value)

LONGEST_WAIT_S: Final = 600.0
"""Maximum number of seconds that a request waits for the end of its run."""


@dataclass(frozen=True, slots=True)
class JsonBody(Generic[BodyT]):
    """A FastAPI dependency that parses the body of a request strictly.

    It runs after authentication, so that only authorized callers see which fields a body must have.

    Args:
        model: Type of the body.
        required: Whether a body must be sent; if not, every field needs a default.
    """

    model: type[BodyT]
    required: bool = True

    async def __call__(self, request: Request) -> BodyT:
        """Parse the body of a request.

        Raises:
            RoundtableError: The `Content-Type` is not JSON (`UNSUPPORTED_MEDIA_TYPE`), or the body is not valid
                (`VALIDATION_ERROR`).
        """
        raw = await request.body()
        if not raw and not self.required:
            raw = b"{}"
        elif not _is_json(request.headers.get("content-type", "")):
            msg = "the body must be sent as JSON"
            raise RoundtableError(msg, code="UNSUPPORTED_MEDIA_TYPE", hint="Send `Content-Type: application/json`.")
        check_json(raw)
        try:
            return self.model.model_validate_json(raw, strict=True)
        except ValidationError as error:
            first = nearest_error(error)
            field = ".".join(map(str, first["loc"]))
            raise invalid_field(field or "body", _message_of(self.model, first)) from None


def _message_of(model: type[Value], error: ErrorDetails) -> str:
    """Return the message of a validation error, in JSON terms instead of Python terms."""
    if error["type"] == "extra_forbidden":
        fields = ", ".join(info.alias or name for name, info in model.model_fields.items())
        return "unknown field" + (f"; choose from {fields}" if len(error["loc"]) == 1 else "")
    message = error["msg"].removeprefix("Value error, ").removesuffix(" after validation")
    return message.replace("Tuple should", "List should").replace(" after validation,", ",")


async def check_query(request: Request) -> None:
    """Refuse unknown query parameters, because otherwise a misspelled filter would be ignored.

    Raises:
        RoundtableError: The code is `VALIDATION_ERROR`.
    """
    names = _query_names(request.scope["route"])
    for name in request.query_params:
        if names is not None and name not in {*names, _IDS_PARAMETER}:
            choices = f"; choose from {', '.join(sorted(names))}" if names else ""
            raise invalid_field(name[:100], f"unknown parameter{choices}")


def _query_names(route: object) -> frozenset[str] | None:
    """Return the query parameters of an API endpoint; `None` for pages, whose links may have other parameters."""
    if not isinstance(route, APIRoute) or not route.path.startswith("/api/"):
        return None
    names: set[str] = set()
    pending = [route.dependant]
    while pending:
        dependant = pending.pop()
        names |= {field.alias for field in dependant.query_params}
        pending += dependant.dependencies
    return frozenset(names)


def check_json(raw: bytes) -> None:
    """Refuse JSON that different parsers treat differently: repeated names, `NaN`, invalid UTF-8, or deep nesting.

    Raises:
        RoundtableError: The code is `VALIDATION_ERROR`.

    Example:
        >>> check_json(b'{"rounds": 1, "rounds": 9}')
        Traceback (most recent call last):
        roundtable.core.errors.RoundtableError: body: is not valid JSON: the name 'rounds' occurs twice in one object
    """
    try:
        value = from_json(raw, allow_inf_nan=False, cache_strings=False)
        json.loads(raw, object_pairs_hook=unique_names, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise invalid_field("body", f"is not valid JSON: {error}") from None
    if is_too_deep(value):
        raise invalid_field("body", f"is not valid JSON: it is {TOO_DEEP}")


def _is_json(content_type: str) -> bool:
    kind, _, parameters = content_type.partition(";")
    charset = parameters.strip().casefold()
    return kind.strip().casefold() == "application/json" and charset in {"", "charset=utf-8", 'charset="utf-8"'}


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON")


_Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]


class DebateBody(DebateRequest):
    """A debate to start."""

    step: bool = False
    """Whether to run only the first round; `resume` with `step` runs the next round."""


class ConversationBody(ConversationRequest):
    """A conversation of a team to start."""


class PauseBody(Value):
    """How to pause."""

    running: RunningCalls = "settle"
    """`settle` gives running calls 60 seconds to finish, so that their cost is not wasted; `cancel` cancels them."""


class StopBody(Value):
    """How to stop."""

    running: RunningCalls = "cancel"
    """`cancel` cancels running calls; `settle` first gives them 60 seconds to finish."""


class ResumeBody(ResumeRequest):
    """How to resume a session that was paused, failed, or whose process died."""

    step: bool = False
    """Whether to run only the next round."""


class ExtendBody(ExtendRequest):
    """Rounds to add to a session."""

    step: bool = False
    """Whether to run only the next round."""


class ForkBody(ForkRequest):
    """A new session that shares the first rounds of another; options that are left out don't change."""

    step: bool = False
    """Whether to run only one round."""


class ApprovalBody(Value):
    """A decision about a tool call."""

    allowed: bool
    """Whether the tool may be called."""
    reason: Annotated[str, Field(max_length=MOST_REASON_CHARS)] = ""
    """Why the tool may not be called; the agent reads this reason."""


class SynthesisBody(Value):
    """Who writes the synthesis of a session."""

    by: _Name | None = None
    """Id of the agent whose model writes the synthesis. When left out, the server chooses a model."""
