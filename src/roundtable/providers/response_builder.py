"""Build a `ChatResponse` piece by piece, for streamed and complete answers of every wire format."""

from __future__ import annotations

import json
import math
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from roundtable.core.base.addresses import site_of
from roundtable.core.base.strict_json import is_too_deep
from roundtable.core.errors import AgentError, RoundtableError
from roundtable.core.types.answers import Citation
from roundtable.core.types.base import NativeContent, RateLimit, ServerCall, utc_now
from roundtable.core.types.chat import ChatDelta, ChatResponse, ToolCall, ToolCallDelta, Usage
from roundtable.providers.failures import request_id_of
from roundtable.providers.wire import joined_halves, load_json, object_of, without_halves

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from roundtable.core.types.answers import ImageResult
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.chat import FinishReason

__all__ = ["ResponseBuilder", "arguments_of", "delta_of", "rate_limit_of"]

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS: Final[Mapping[str, float]] = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}

_EMPTY: Final = " \t\r\n{}"
"""The characters that the text of an empty JSON object may contain."""
_EMPTY_FIRST: Final = re.compile(r"\s*(?:(?:\{\s*\}|null)\s*)+(?=[{\"])")
"""Empty arguments in front of others."""
_MOST_ENCODINGS: Final = 2
"""How often arguments may be encoded as a JSON text."""
INVALID_CHARS: Final = 20_000
"""The most characters to store of arguments that are not a JSON object."""

SEARCHES: Final = frozenset(
    {"file_search", "google_maps", "google_search", "google_search_image", "google_search_web", "perplexity_search",
     "url_context", "web_fetch", "web_search", "x_search"}
)  # fmt: skip
"""Server-side calls that only find sources: an answer that contains only such calls is empty."""


def rate_limit_of(headers: Mapping[str, str]) -> RateLimit | None:
    """Parse rate-limit headers in the formats of Anthropic and OpenAI; `None` if there are none.

    See https://docs.claude.com/en/api/rate-limits and https://platform.openai.com/docs/guides/rate-limits.

    Example:
        >>> limit = rate_limit_of({"x-ratelimit-remaining-requests": "59", "x-ratelimit-reset-requests": "1m0.5s"})
        >>> limit.requests_remaining, limit.requests_reset_s
        (59, 60.5)
    """
    if not any("ratelimit" in name for name in headers):
        return None
    facts: dict[str, int | float] = {}
    for kind in ("requests", "tokens"):
        for word in ("limit", "remaining"):
            if (count := _count(_header(headers, kind, word))) is not None:
                facts[f"{kind}_{word}"] = count
        if (wait := _wait(_header(headers, kind, "reset"), headers)) is not None:
            facts[f"{kind}_reset_s"] = wait
    return RateLimit.model_validate(facts) if facts else None


def _header(headers: Mapping[str, str], kind: str, word: str) -> str:
    return headers.get(f"anthropic-ratelimit-{kind}-{word}", "") or headers.get(f"x-ratelimit-{word}-{kind}", "")


def _count(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def _wait(text: str, headers: Mapping[str, str]) -> float | None:
    text = text.strip()
    if re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", text):
        return float(text)
    if len(text) < 40 and re.fullmatch(f"(?:{_DURATION.pattern})+", text):
        total = sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(text))
        return total if math.isfinite(total) else None
    try:
        at = datetime.fromisoformat(text)
        now = parsedate_to_datetime(headers["date"]) if "date" in headers else utc_now()
        at, now = (time if time.tzinfo else time.replace(tzinfo=UTC) for time in (at, now))
        return max(0.0, (at - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


@dataclass(slots=True)
class CallDraft:
    """A tool call that is still being received."""

    index: int
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    is_blank: bool = True
    """Whether the call has no name and no arguments yet; some servers add such a call to each answer."""


@dataclass(slots=True)
class _Pieces:
    """What has arrived since the last delta."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[int, CallDraft] = field(default_factory=dict)
    citations: list[Citation] = field(default_factory=list)
    usage: Usage | None = None


class ResponseBuilder:
    """An answer under construction; a complete answer fills it in one step, a stream fills it piece by piece.

    Everything that is added appears in the next delta and in the response, so the deltas of a stream always add up to
    its response.

    Args:
        provider: Name of the provider in errors.
        headers: Headers of the answer.
    """

    def __init__(self, provider: str, headers: Mapping[str, str]) -> None:
        self.provider: str = provider
        self.headers: Mapping[str, str] = headers
        self.finish: FinishReason | None = None
        """Why the answer ended; `None` until the reason is known."""
        self.explicit: bool = False
        """Whether the finish reason explains an empty text."""
        self.stopped_by: str = ""
        """The provider's finish reason for an empty text, if this reason is a fault."""
        self.model: str | None = None
        self.id: str | None = None
        self.images: list[ImageResult] = []
        self.has_media: bool = False
        """Whether the answer holds content that is not text, such as a generated image."""
        self.related: list[str] = []
        self.server_calls: list[ServerCall] = []
        self.native: list[JsonObject] = []
        """Items to send back unchanged with the next request."""
        self.raw: JsonObject | None = None
        """The answer as the provider wrote it."""
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, CallDraft] = {}
        self._blank_calls: dict[int, CallDraft] = {}
        self._links: dict[str, Citation] = {}
        self._usage: Usage | None = None
        self._searches = 0
        self._halves: dict[str | int, str] = {}
        """First halves of characters whose second half has not arrived, by the text or the call that they end."""
        self._had_halves = False
        self._new = _Pieces()

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._text)

    @property
    def has_begun(self) -> bool:
        """Whether any text, reasoning or tool call has arrived."""
        return bool(self._text or self._reasoning or self._calls)

    @property
    def call_count(self) -> int:
        """Number of tool calls so far."""
        return len(self._calls)

    def note(self, *, answer_id: str = "", model: str = "") -> None:
        """Set the provider's id and the model that answers; an empty value changes nothing."""
        self.id = answer_id or self.id
        self.model = model or self.model

    def end(self, finish: FinishReason | None, *, explicit: bool = False) -> None:
        """Set the finish reason, and whether it explains an empty text."""
        self.finish = finish
        self.explicit = explicit

    def send_back(self, items: list[JsonObject]) -> None:
        """Set the items to send back unchanged."""
        self.native = items

    def add_text(self, text: str) -> None:
        """Add to the text."""
        if text and (text := self._whole_characters("text", text)):
            self._text.append(text)
            self._new.text.append(text)

    def add_reasoning(self, text: str) -> None:
        """Add to the visible reasoning."""
        if text and (text := self._whole_characters("reasoning", text)):
            self._reasoning.append(text)
            self._new.reasoning.append(text)

    def _whole_characters(self, place: str | int, text: str) -> str:
        """Return a piece of a text with whole characters; half a character at its end waits for the next piece."""
        if not (self._halves or "\udc00" <= text[0] <= "\udfff" or "\ud800" <= text[-1] <= "\udbff"):
            return text
        self._had_halves = True
        text = self._halves.pop(place, "") + text
        if "\ud800" <= text[-1] <= "\udbff":
            self._halves[place], text = text[-1], text[:-1]
        return joined_halves(text)

    def end_characters(self) -> None:
        """Replace the halves of characters whose other half has not arrived; for the end of a stream."""
        places, self._halves = self._halves, {}
        for place in places:
            if isinstance(place, int):
                self.add_call(place, arguments="\ufffd")
            else:
                (self.add_text if place == "text" else self.add_reasoning)("\ufffd")

    def add_call(self, number: int, *, call_id: str = "", name: str = "", arguments: JsonValue = "") -> None:
        """Add a tool call or a piece of one. Pieces of one call have the same number; calls are sorted by number."""
        call = self._calls.setdefault(number, CallDraft(number))
        # A call without a name and arguments may stay empty, so its id waits until one of the two arrives.
        calls = self._blank_calls if call.is_blank else self._new.calls
        piece = calls.setdefault(number, CallDraft(number))
        if call_id and not call.id:
            call.id = piece.id = call_id
        if name and not call.name:
            call.name = piece.name = name
            call.is_blank = False
        if arguments is not None and arguments != "":
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            text = self._whole_characters(number, text)
            call.is_blank = call.is_blank and not text.strip(_EMPTY)
            call.arguments.append(text)
            piece.arguments.append(text)
        if not call.is_blank and number in self._blank_calls:
            self._new.calls[number] = self._blank_calls.pop(number)

    def drop_calls(self) -> None:
        """Remove the tool calls so far; a stream may have shown pieces of them already."""
        self._calls.clear()
        self._blank_calls.clear()
        self._new.calls.clear()

    def add_citation(self, url: str, title: str = "", snippet: str | None = None) -> None:
        """Add a source; if two sources have the same address, the first one counts."""
        if url and url not in self._links:
            snippet = joined_halves(snippet) if snippet else None
            self._links[url] = Citation(title=title or site_of(url), url=url, snippet=snippet)
            self._new.citations.append(self._links[url])

    def set_usage(self, usage: Usage) -> None:
        """Set the usage of the call so far."""
        if self._searches:
            usage = usage.model_copy(update={"searches": max(self._searches, usage.searches)})
        self._usage = self._new.usage = usage

    def set_searches(self, searches: int) -> None:
        """Set the number of web searches that the provider ran for this answer so far."""
        if searches != self._searches:
            self._searches = searches
            if self._usage is not None:
                self.set_usage(self._usage)

    @contextmanager
    def add_usage_to_errors(self) -> Generator[None]:
        """Add the usage reported so far to an error that the block raises, since this usage was paid for."""
        try:
            yield
        except RoundtableError as error:
            self.charge(error)
            raise

    def charge(self, error: RoundtableError, *, is_cut_off: bool = False) -> None:
        """Add the usage that the provider has reported so far to an error.

        Args:
            error: The error.
            is_cut_off: Whether the error broke off the answer, so that the provider may bill more than it has reported.
        """
        usage = self._usage
        if usage is not None and is_cut_off and self.finish is None:
            usage = usage.model_copy(update={"unreported_calls": usage.calls})
        error.usage = error.usage or usage

    def catch_up(self, whole: ResponseBuilder) -> None:
        """Add what is still missing here but is in the whole answer; parts that differ are not changed."""
        self.end_characters()
        for present_text, whole_text, add in (
            (self.text, whole.text, self.add_text),
            ("".join(self._reasoning), "".join(whole._reasoning), self.add_reasoning),
        ):
            add(whole_text[len(present_text) :] if whole_text.startswith(present_text) else "")
        for number, call in whole._calls.items():
            present = self._calls.get(number)
            present_text, whole_text = "".join(present.arguments if present else ()), "".join(call.arguments)
            more = whole_text[len(present_text) :] if whole_text.startswith(present_text) else ""
            if present is None or more:
                self.add_call(number, call_id=call.id, name=call.name, arguments=more)
        for link in whole._links.values():
            self.add_citation(link.url, link.title, link.snippet)
        if whole._usage is not None:
            self.set_usage(whole._usage)

    def deltas(self) -> list[ChatDelta]:
        """Return what has arrived since the last call, as at most one delta."""
        new = self._new
        if not (new.text or new.reasoning or new.calls or new.citations or new.usage):
            return []
        self._new = _Pieces()
        text = "".join(new.text)
        if not (new.reasoning or new.calls or new.citations or new.usage):
            # Nearly every delta of a stream is like this; building the other fields would double the time.
            return [ChatDelta(text=text)]
        delta = ChatDelta(
            text=text,
            reasoning="".join(new.reasoning),
            tool_calls=tuple(
                ToolCallDelta(index=call.index, id=call.id, name=call.name, arguments="".join(call.arguments))
                for call in new.calls.values()
            ),
            citations=tuple(new.citations),
            usage=new.usage,
        )
        return [delta]

    def response(self) -> ChatResponse:
        """Return the response.

        Raises:
            AgentError: The answer is empty or invalid; the error holds its usage.
        """
        with self.add_usage_to_errors():
            return self._response()

    def _response(self) -> ChatResponse:
        finish = self.finish or "other"
        self.end_characters()
        if self._had_halves:
            self.native = [object_of(without_halves(item)) for item in self.native]
            self.raw = None if self.raw is None else object_of(without_halves(self.raw))
        try:
            calls = tuple(self._tool_calls())
            if calls and self.finish in {"stop", None}:
                finish = "tool_calls"
            elif not calls and finish == "tool_calls":
                finish = "stop"
            self._refuse_empty(finish, has_calls=bool(calls))
            return ChatResponse(
                text=self.text,
                reasoning="".join(self._reasoning),
                finish_reason=finish,
                tool_calls=calls,
                citations=tuple(self._links.values()),
                images=tuple(self.images),
                related_questions=tuple(self.related),
                server_calls=tuple(self.server_calls),
                native=NativeContent(provider=self.provider, items=tuple(self.native)) if self.native else None,
                usage=self._usage or Usage(calls=1, searches=self._searches),
                model=self.model or None,
                request_id=request_id_of(self.headers) or self.id,
                rate_limit=rate_limit_of(self.headers),
            ).with_raw(self.raw)
        except (ValidationError, RecursionError) as exc:
            # A validation error quotes the whole value, so it does not become the cause.
            raise AgentError(
                "the answer holds a value that cannot be parsed, such as JSON that is nested too deeply",
                provider=self.provider,
                request_id=request_id_of(self.headers),
            ) from (exc if isinstance(exc, RecursionError) else None)

    def _refuse_empty(self, finish: FinishReason, *, has_calls: bool) -> None:
        worked = self.has_media or any(call.name not in SEARCHES for call in self.server_calls)
        excused = has_calls or worked or self.explicit or finish not in {"stop", "other"}
        # Reasoning without a text was paid for, and a token limit may have cut off the rest, so the caller gets it.
        if excused or any(part.strip() for part in (*self._text, *self._reasoning)):
            return
        hint = "Try again; if it happens again, use another model or a larger `max_tokens`."
        if self.stopped_by:
            hint = "Try again; if it happens again, offer fewer or simpler tools, or use another model."
        raise AgentError(
            f"the provider ended the answer with {self.stopped_by}" if self.stopped_by else "the answer is empty",
            provider=self.provider,
            retryable=True,
            request_id=request_id_of(self.headers),
            hint=hint,
        )

    def _tool_calls(self) -> Iterator[ToolCall]:
        seen: dict[str, int] = {}
        for _, call in sorted(self._calls.items()):
            if call.is_blank:
                continue
            call_id = call.id or f"call_{call.index}"
            while call_id in seen:
                seen[call_id] += 1
                call_id = f"{call_id}+{seen[call_id]}" if seen[call_id] > 1 else f"{call_id}+"
            seen[call_id] = 0
            arguments, invalid = arguments_of("".join(call.arguments))
            yield ToolCall(id=call_id, name=call.name, arguments=arguments, invalid=invalid)


def delta_of(response: ChatResponse) -> ChatDelta:
    """Return a whole answer as one delta, for a server that did not stream although the request said so."""
    return ChatDelta(
        text=response.text,
        reasoning=response.reasoning,
        tool_calls=tuple(
            ToolCallDelta(
                index=index,
                id=call.id,
                name=call.name,
                arguments=call.invalid or json.dumps(dict(call.arguments), ensure_ascii=False),
            )
            for index, call in enumerate(response.tool_calls)
        ),
        citations=response.citations,
        usage=response.usage,
    )


def arguments_of(text: str) -> tuple[JsonObject, str | None]:
    r"""Parse the arguments of a call. If they are not a JSON object, or nested too deeply, return their text as well.

    Some servers write `{}` before the arguments, and some models a JSON text that holds the object.

    Example:
        >>> arguments_of('{}{"q": "tea"}'), arguments_of('"{\\"q\\": \\"tea\\"}"'), arguments_of('{"q": ')
        (({'q': 'tea'}, None), ({'q': 'tea'}, None), ({}, '{"q": '))
    """
    try:
        empty = _EMPTY_FIRST.match(text)
        value = load_json(text[empty.end() :] if empty else text) if text.strip() else {}
        for _ in range(_MOST_ENCODINGS):
            value = load_json(value) if isinstance(value, str) and value.strip().startswith(("{", '"')) else value
    except RoundtableError:
        return {}, text[:INVALID_CHARS]
    if value is None:
        return {}, None
    return (value, None) if isinstance(value, dict) and not is_too_deep(value) else ({}, text[:INVALID_CHARS])
