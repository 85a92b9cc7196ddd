"""An answer that is being put together, the same for every wire and for plain and streamed answers."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pydantic import ValidationError

from roundtable.errors import AgentError, RoundtableError
from roundtable.providers.failures import request_id_of
from roundtable.providers.limits import rate_limit_of
from roundtable.providers.wire import load_json
from roundtable.types import (
    ChatDelta,
    ChatResponse,
    Citation,
    NativeContent,
    ServerCall,
    ToolCall,
    ToolCallDelta,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from roundtable.types import FinishReason, ImageResult, JsonObject, JsonValue

__all__ = ["AnswerDraft", "delta_of", "host_of"]

INVALID_CHARS: Final = 20_000
"""Most characters kept of arguments that are no JSON object."""


@dataclass(slots=True)
class CallDraft:
    """A tool call that is still being received."""

    index: int
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Pieces:
    """What has come since the last delta was given."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[int, CallDraft] = field(default_factory=dict)
    citations: list[Citation] = field(default_factory=list)
    usage: Usage | None = None


class AnswerDraft:
    """An answer that is still being received; plain answers fill it at once, streams piece by piece.

    What is added shows in the next delta and in the response alike, so that the deltas of a stream always say
    together what its response says.

    Args:
        provider: Name for errors.
        headers: Headers of the answer.
    """

    def __init__(self, provider: str, headers: Mapping[str, str]) -> None:
        self.provider: str = provider
        self.headers: Mapping[str, str] = headers
        self.finish: FinishReason | None = None
        """Why it ended; None until that is known."""
        self.explicit: bool = False
        """Whether the reason to end explains that there may be no text."""
        self.stopped_by: str = ""
        """The provider's word for why there may be no text, where it is a fault."""
        self.model: str | None = None
        self.id: str | None = None
        self.images: list[ImageResult] = []
        self.related: list[str] = []
        self.server_calls: list[ServerCall] = []
        self.native: list[JsonObject] = []
        """What to send back unchanged."""
        self.raw: JsonObject | None = None
        """The answer as the provider wrote it."""
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, CallDraft] = {}
        self._links: dict[str, Citation] = {}
        self._usage: Usage | None = None
        self._new = _Pieces()

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._text)

    @property
    def calls(self) -> list[CallDraft]:
        """The calls so far."""
        return list(self._calls.values())

    def note(self, *, answer_id: str = "", model: str = "") -> None:
        """Note the provider's id and the model that answers; an empty one changes nothing."""
        self.id = answer_id or self.id
        self.model = model or self.model

    def end(self, finish: FinishReason | None, *, explicit: bool = False) -> None:
        """Note why the answer ended, and whether that explains that there may be no text."""
        self.finish = finish
        self.explicit = explicit

    def send_back(self, items: list[JsonObject]) -> None:
        """Keep what has to go back unchanged."""
        self.native = items

    def add_text(self, text: str) -> None:
        """Add to the text."""
        if text:
            self._text.append(text)
            self._new.text.append(text)

    def add_reasoning(self, text: str) -> None:
        """Add to the shown reasoning."""
        if text:
            self._reasoning.append(text)
            self._new.reasoning.append(text)

    def add_call(self, number: int, *, call_id: str = "", name: str = "", arguments: JsonValue = "") -> None:
        """Add a call or a piece of one; pieces of one call share a number, by which calls are ordered."""
        call = self._calls.setdefault(number, CallDraft(number))
        piece = self._new.calls.setdefault(number, CallDraft(number))
        if call_id and not call.id:
            call.id = piece.id = call_id
        if name and not call.name:
            call.name = piece.name = name
        if arguments is None or arguments == "":
            return
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        call.arguments.append(text)
        piece.arguments.append(text)

    def add_citation(self, url: str, title: str = "", snippet: str | None = None) -> None:
        """Add a source; the first mention of an address counts."""
        if url and url not in self._links:
            self._links[url] = Citation(title=title or host_of(url), url=url, snippet=snippet or None)
            self._new.citations.append(self._links[url])

    def set_usage(self, usage: Usage) -> None:
        """Set what the call consumed so far."""
        self._usage = self._new.usage = usage

    @contextmanager
    def charged(self) -> Generator[None]:
        """Say with an error what the answer consumed, as far as the provider has stated it: it was paid for."""
        try:
            yield
        except RoundtableError as error:
            error.usage = error.usage or self._usage
            raise

    def catch_up(self, whole: AnswerDraft) -> None:
        """Add what the whole answer says and this one does not yet; what both say differently stays as it is."""
        for mine, theirs, add in (
            (self.text, whole.text, self.add_text),
            ("".join(self._reasoning), "".join(whole._reasoning), self.add_reasoning),
        ):
            add(theirs[len(mine) :] if theirs.startswith(mine) else "")
        for number, call in whole._calls.items():
            present = self._calls.get(number)
            mine, theirs = "".join(present.arguments if present else ()), "".join(call.arguments)
            more = theirs[len(mine) :] if theirs.startswith(mine) else ""
            if present is None or more:
                self.add_call(number, call_id=call.id, name=call.name, arguments=more)
        for link in whole._links.values():
            self.add_citation(link.url, link.title, link.snippet)
        if whole._usage is not None:
            self.set_usage(whole._usage)

    def deltas(self) -> list[ChatDelta]:
        """Give what has come since the last time, in one piece."""
        new = self._new
        if not (new.text or new.reasoning or new.calls or new.citations or new.usage):
            return []
        self._new = _Pieces()
        delta = ChatDelta(
            text="".join(new.text),
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
        """Give the answer.

        Raises:
            AgentError: It is empty, or holds something that no answer can hold; says what it consumed.
        """
        with self.charged():
            return self._response()

    def _response(self) -> ChatResponse:
        finish = self.finish or "other"
        try:
            calls = tuple(self._tool_calls())
            if calls and self.finish in {"stop", None}:
                finish = "tool_calls"
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
                usage=self._usage or Usage(calls=1),
                model=self.model or None,
                request_id=request_id_of(self.headers) or self.id,
                rate_limit=rate_limit_of(self.headers),
            ).with_raw(self.raw)
        except (ValidationError, RecursionError) as exc:
            # The text of a validation error quotes the whole value.
            raise AgentError(
                "the answer holds something that cannot be read, such as JSON that is nested too deeply",
                provider=self.provider,
                request_id=request_id_of(self.headers),
            ) from (exc if isinstance(exc, RecursionError) else None)

    def _refuse_empty(self, finish: FinishReason, *, has_calls: bool) -> None:
        excused = has_calls or self.server_calls or self.explicit or finish not in {"stop", "other"}
        # Reasoning alone was paid for and may be cut short by its own limit: whoever asked is to see it.
        if excused or any(part.strip() for part in (*self._text, *self._reasoning)):
            return
        hint = "Try again; if it stays so, use another model or a larger `max_tokens`."
        if self.stopped_by:
            hint = "Try again; if it stays so, offer fewer or simpler tools, or use another model."
        raise AgentError(
            f"the provider ended the answer with {self.stopped_by}" if self.stopped_by else "the answer is empty",
            provider=self.provider,
            retryable=True,
            request_id=request_id_of(self.headers),
            hint=hint,
        )

    def _tool_calls(self) -> Iterator[ToolCall]:
        seen: set[str] = set()
        for _, call in sorted(self._calls.items()):
            name = call.id or f"call_{call.index}"
            while name in seen:
                name += "+"
            seen.add(name)
            arguments, invalid = _arguments("".join(call.arguments))
            yield ToolCall(id=name, name=call.name, arguments=arguments, invalid=invalid)


def delta_of(response: ChatResponse) -> ChatDelta:
    """Give a whole answer as one piece, for a server that answered a request for a stream without streaming."""
    return ChatDelta(
        text=response.text,
        reasoning=response.reasoning,
        tool_calls=tuple(
            ToolCallDelta(
                index=place,
                id=call.id,
                name=call.name,
                arguments=call.invalid or json.dumps(dict(call.arguments), ensure_ascii=False),
            )
            for place, call in enumerate(response.tool_calls)
        ),
        citations=response.citations,
        usage=response.usage,
    )


def _arguments(text: str) -> tuple[JsonObject, str | None]:
    """Read arguments; what is no JSON object is kept as it is, for the model to be told."""
    try:
        value = load_json(text) if text.strip() else {}
    except RoundtableError:
        return {}, text[:INVALID_CHARS]
    if value is None:
        return {}, None
    return (value, None) if isinstance(value, dict) else ({}, text[:INVALID_CHARS])


def host_of(url: str) -> str:
    """Give the name of the site behind an address, to stand for a missing title.

    Example:
        >>> host_of("https://www.example.org/a"), host_of("mailto:")
        ('example.org', 'mailto:')
    """
    try:
        return (urlsplit(url).hostname or url).removeprefix("www.")
    except ValueError:
        return url
