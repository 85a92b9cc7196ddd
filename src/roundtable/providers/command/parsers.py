"""Parsers for the standard output of command-line agents. Pure functions."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from roundtable.core.errors import AgentError
from roundtable.core.types.chat import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CliEnvelope", "Reply", "clean", "parse_output", "read_claude", "read_codex", "read_gemini", "read_plain"]


_PREVIEW_CHARS = 300
_CONTROL = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles and links of a terminal
    r"|\x1b[\[(][0-?]*[ -/]*[@-~]?"  # colours and moves
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)

_DECODER = json.JSONDecoder()
_MAX_OBJECTS = 10_000


def _lines_with(names: str) -> re.Pattern[str]:
    """Return a pattern for lines with a brace and one of the names; its group begins at the first brace."""
    # `.` excludes only line feeds: texts in JSON may contain other line separators, such as U+2028.
    return re.compile(rf'^[^{{\n]*(\{{.*"(?:{names})".*)', re.MULTILINE)


_CLAUDE_LINES = _lines_with("result")
_CODEX_LINES = _lines_with("type")
_CODEX_THREAD_LINES = _lines_with(r"thread\.started")
_CODEX_STATUS = re.compile(r"\bstatus:? ([45]\d\d)\b")
_GEMINI_LINES = _lines_with("response|error")


class CliEnvelope(BaseModel):
    """The last JSON object that the Claude program writes.

    Example:
        >>> CliEnvelope.model_validate({"result": "Tea.", "session_id": "5f2e"}).total_cost_usd
        0.0
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore", alias_generator=str, defer_build=True)

    result: str
    """The answer; after a failure, a description of what went wrong."""
    session_id: str
    """Id to resume the conversation; empty if there is none."""
    total_cost_usd: float = 0.0
    """Cost of the call in US dollars; 0 also if the program doesn't state it."""
    duration_ms: float | None = None
    """Duration in milliseconds."""
    is_error: bool = False
    """Whether the agent itself reports a failure."""
    api_error_status: int | str | None = None
    """HTTP status with which Anthropic rejected a call, if that is the failure."""
    usage: dict[str, Any] | None = None
    """Token counts, if reported."""


class Reply(NamedTuple):
    """Answer of a command-line agent."""

    text: str
    """The answer."""
    session_id: str = ""
    """Id to resume the conversation; empty if that is not possible."""
    failed: bool = False
    """Whether `text` is the agent's own report of a failure."""
    usage: Usage = Usage(calls=1)
    """Usage of the call, as far as the agent reports it; the cost is `None` if it doesn't."""
    duration_ms: float | None = None
    """Duration in milliseconds, as the agent reports it."""
    status: int = 0
    """HTTP status with which the vendor rejected a call, if that is the failure; 0 if the agent reports none."""


def clean(text: str) -> str:
    r"""Remove terminal control sequences from the output of a program.

    Example:
        >>> clean("\x1b[1mTea\x1b[0m")
        'Tea'
    """
    return _CONTROL.sub("", text.replace("\r\n", "\n"))


def parse_output(stdout: str) -> CliEnvelope:
    """Return the last envelope in the output of the Claude program; other output around it is ignored.

    Raises:
        AgentError: There is no envelope; the message shows the first 300 characters. The call may be retried.
    """
    for fields in _objects(stdout, _CLAUDE_LINES):
        if isinstance(fields.get("result"), str):
            envelope = _envelope({"session_id": "", **fields})
        elif fields.get("type") == "result" and fields.get("session_id"):
            result = f"[Agent stopped: {fields.get('subtype') or 'unknown'}]"
            error = fields.get("is_error")
            envelope = _envelope({**fields, "result": result, "is_error": True if error is None else error})
        else:
            continue
        if envelope is not None:
            return envelope
    raise _unreadable("Claude", "{result: string}", stdout)


def _envelope(fields: dict[str, Any]) -> CliEnvelope | None:
    known = {name: value for name, value in fields.items() if value is not None}
    try:
        return CliEnvelope.model_validate(known)
    except ValidationError:
        return None


def read_claude(stdout: str) -> Reply:
    """Parse the envelope of the Claude program."""
    return _reply(parse_output(stdout))


def _reply(envelope: CliEnvelope) -> Reply:
    counts = envelope.usage or {}
    is_known = "total_cost_usd" in envelope.model_fields_set and 0 <= envelope.total_cost_usd < math.inf
    read, written = _count(counts, "cache_read_input_tokens"), _count(counts, "cache_creation_input_tokens")
    by_lifetime = counts.get("cache_creation")
    written_long = _count(by_lifetime, "ephemeral_1h_input_tokens") if isinstance(by_lifetime, dict) else 0
    usage = Usage(
        # The program counts cached input apart.
        input_tokens=_count(counts, "input_tokens") + read + written,
        output_tokens=_count(counts, "output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
        long_cache_write_tokens=min(written, written_long),
        calls=1,
        cost_usd=envelope.total_cost_usd if is_known else None,
    )
    status = envelope.api_error_status if isinstance(envelope.api_error_status, int) else 0
    return Reply(envelope.result, envelope.session_id, envelope.is_error, usage, envelope.duration_ms, status)


def read_codex(stdout: str) -> Reply:
    """Parse the events of `codex exec --json`: the last message of the agent, the thread id and the token counts."""
    text: str | None = None
    session, failure, usage = "", "", Usage(calls=1)
    for event in reversed([*_objects(stdout, _CODEX_LINES)]):
        kind, item = event.get("type"), event.get("item")
        if kind == "thread.started":
            session = str(event.get("thread_id") or "")
        elif kind == "item.completed" and isinstance(item, dict) and item.get("type") == "agent_message":
            text = str(item.get("text") or "")
        elif kind == "turn.completed" and isinstance(event.get("usage"), dict):
            counts = event["usage"]
            usage = Usage(
                input_tokens=_count(counts, "input_tokens"),
                output_tokens=_count(counts, "output_tokens"),
                cache_read_tokens=_count(counts, "cached_input_tokens"),
                reasoning_tokens=_count(counts, "reasoning_output_tokens"),
                calls=1,
            )
        elif kind in {"turn.failed", "error"}:
            error = event.get("error")
            if kind == "turn.failed":
                text = None  # earlier messages were only steps towards an answer that never came
            failure = str((error if isinstance(error, dict) else event).get("message") or "unknown")
    if text is None and not failure:
        raise _unreadable("Codex", "an agent_message", stdout)
    session = session or _first_thread(stdout)
    if text is not None:
        return Reply(text, session, usage=usage)
    status = _CODEX_STATUS.search(failure)
    return Reply(failure, session, failed=True, usage=usage, status=int(status[1]) if status else 0)


def _first_thread(stdout: str) -> str:
    """Return the thread id from the first event; in a long output, this event is not among those that are read."""
    line = _CODEX_THREAD_LINES.search(stdout)
    events = () if line is None else _objects_at_start(line[1])
    return next((str(event.get("thread_id") or "") for event in events if event.get("type") == "thread.started"), "")


def read_gemini(stdout: str) -> Reply:
    """Parse the object of `gemini --output-format json`: the response, the session id and the token counts."""
    for answer in _objects(stdout, _GEMINI_LINES):
        error, session = answer.get("error"), str(answer.get("session_id") or "")
        if isinstance(answer.get("response"), str):
            return Reply(answer["response"], session, usage=_gemini_usage(answer.get("stats")))
        if isinstance(error, dict):
            return Reply(str(error.get("message") or "unknown"), session, failed=True, status=_count(error, "code"))
    raise _unreadable("Gemini", "{response: string}", stdout)


def _gemini_usage(stats: object) -> Usage:
    models = stats.get("models") if isinstance(stats, dict) else None
    entries = [model for model in models.values() if isinstance(model, dict)] if isinstance(models, dict) else []
    tokens = [counts for entry in entries if isinstance(counts := entry.get("tokens"), dict)]
    thought = sum(_count(counts, "thoughts") for counts in tokens)
    return Usage(
        # The program counts reasoning, and the prompts of tools, apart.
        input_tokens=sum(_count(counts, "prompt") + _count(counts, "tool") for counts in tokens),
        output_tokens=sum(_count(counts, "candidates") for counts in tokens) + thought,
        reasoning_tokens=thought,
        cache_read_tokens=sum(_count(counts, "cached") for counts in tokens),
        calls=1,
    )


def read_plain(stdout: str) -> Reply:
    """Parse the answer of any program: an envelope like Claude's if it is the last line or all of it, else the output.

    JSON elsewhere in the output is part of the answer.
    """
    text = stdout.strip()
    if not text:
        raise AgentError("the program wrote nothing", retryable=True, details={"exit_code": 0})
    for document in (text.rpartition("\n")[2], text):
        envelope = _plain_envelope(document)
        if envelope is not None:
            return _reply(envelope)
    return Reply(text)


def _plain_envelope(document: str) -> CliEnvelope | None:
    """Return the envelope that a document is, or the one at the end of a list."""
    try:
        value = json.loads(document)
    except (ValueError, RecursionError):
        return None
    last = value[-1] if isinstance(value, list) and value else value
    return _envelope(last) if isinstance(last, dict) else None


def _objects(stdout: str, lines: re.Pattern[str]) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in the matching lines, the last line first, then those of the whole text as one document.

    Of many lines or objects, only the last are read, so that no output blocks the event loop for long.
    """
    for text in reversed(lines.findall(stdout)[-_MAX_OBJECTS:]):
        yield from _objects_at_start(text)
    yield from _objects_at_start(stdout.strip())


def _objects_at_start(text: str) -> Iterator[dict[str, Any]]:
    try:
        value, _ = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return
    for item in reversed(value[-_MAX_OBJECTS:]) if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            yield item


def _count(counts: dict[str, Any], name: str) -> int:
    number = counts.get(name)
    return number if isinstance(number, int) and number > 0 else 0


def _unreadable(title: str, expected: str, stdout: str) -> AgentError:
    return AgentError(
        f"Failed to parse {title} JSON output (expected {expected}). Got: {stdout[:_PREVIEW_CHARS]}",
        retryable=True,
        hint="The program may have been interrupted, or this version of the program may write another format.",
        details={"exit_code": 0},
    )
