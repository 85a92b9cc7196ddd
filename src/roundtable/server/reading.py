"""Bodies of requests, read strictly: JSON as its standard has it, with nothing that is not known."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Generic, TypeVar

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import ValidationError
from pydantic_core import from_json

from roundtable.errors import RoundtableError
from roundtable.server.failures import misfit
from roundtable.types.base import Value

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


__all__ = ["JsonBody", "check_json", "check_query"]

_IDS = "ids"
"""Streams read it by themselves."""

_DEEPEST = 64

BodyT = TypeVar("BodyT", bound=Value)


@dataclass(frozen=True, slots=True)
class JsonBody(Generic[BodyT]):
    """A dependency: the body of a request, read strictly.

    It stands behind who calls, so that nobody learns what a body should look like who may not send one.

    Args:
        model: What it is read as.
        required: Whether there has to be one; otherwise everything has a default.
    """

    model: type[BodyT]
    required: bool = True

    async def __call__(self, request: Request) -> BodyT:
        """Read it.

        Raises:
            RoundtableError: It is no JSON by its own words (`UNSUPPORTED_MEDIA_TYPE`), or does not fit
                (`VALIDATION_ERROR`).
        """
        raw = await request.body()
        if not raw and not self.required:
            raw = b"{}"
        elif not _is_json(request.headers.get("content-type", "")):
            msg = "the body has to be sent as JSON"
            raise RoundtableError(msg, code="UNSUPPORTED_MEDIA_TYPE", hint="Send `Content-Type: application/json`.")
        check_json(raw)
        try:
            return self.model.model_validate_json(raw, strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            field = ".".join(map(str, first["loc"]))
            raise misfit(field or "body", _in_words(self.model, first)) from None


def _in_words(model: type[Value], error: ErrorDetails) -> str:
    """Say what does not fit, in words of JSON."""
    if error["type"] == "extra_forbidden":
        there = ", ".join(info.alias or name for name, info in model.model_fields.items())
        return "there is no such field" + (f"; there are {there}" if len(error["loc"]) == 1 else "")
    message = error["msg"].removeprefix("Value error, ").removesuffix(" after validation")
    return message.replace("Tuple should", "List should").replace(" after validation,", ",")


async def check_query(request: Request) -> None:
    """Refuse what an endpoint does not know in a query: a misspelt filter would let everything through.

    Raises:
        RoundtableError: The code is `VALIDATION_ERROR`.
    """
    known = _query_of(request.scope["route"])
    for name in request.query_params:
        if known is not None and name not in {*known, _IDS}:
            there = f"; there are {', '.join(sorted(known))}" if known else ""
            raise misfit(name[:100], f"there is no such parameter{there}")


def _query_of(route: object) -> frozenset[str] | None:
    """List the parameters of an endpoint of the API; `None` for pages, whose links may carry more."""
    if not isinstance(route, APIRoute) or not route.path.startswith("/api/"):
        return None
    found: set[str] = set()
    waiting = [route.dependant]
    while waiting:
        one = waiting.pop()
        found |= {field.alias for field in one.query_params}
        waiting += one.dependencies
    return frozenset(found)


def check_json(raw: bytes) -> None:
    """Refuse what readers of JSON may understand differently: repeated names, `NaN`, what is no UTF-8 or too deep.

    Raises:
        RoundtableError: The code is `VALIDATION_ERROR`.

    Example:
        >>> check_json(b'{"rounds": 1, "rounds": 9}')
        Traceback (most recent call last):
        roundtable.errors.RoundtableError: body: is no JSON: the name 'rounds' stands twice in one object
    """
    try:
        # This one knows a limit for depth, but what is kept of a body is put into more than it came in.
        _check_depth(from_json(raw, allow_inf_nan=False, cache_strings=False))
        json.loads(raw, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise misfit("body", f"is no JSON: {error}") from None


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(_DEEPEST):
        lists = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [*chain.from_iterable(lists)]
    if any(isinstance(one, dict | list) for one in level):
        raise ValueError(f"it is nested more than {_DEEPEST} deep")


def _is_json(content_type: str) -> bool:
    kind, _, parameters = content_type.partition(";")
    charset = parameters.strip().casefold()
    return kind.strip().casefold() == "application/json" and charset in {"", "charset=utf-8", 'charset="utf-8"'}


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = sorted(name for name, _ in pairs)
        twice = next(one for one, next_one in pairwise(names) if one == next_one)
        raise ValueError(f"the name {twice[:100]!r} stands twice in one object")
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")
