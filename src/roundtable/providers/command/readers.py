"""What command-line agents write: from the text of standard output to an answer. Pure."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from roundtable.errors import AgentError
from roundtable.types import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CliEnvelope", "Reply", "clean", "parse_output", "read_claude", "read_codex", "read_gemini", "read_plain"]

_PREVIEW_CHARS = 300
_CONTROL = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles and links of a terminal
    r"|\x1b[\[(][0-?]*[ -/]*[@-~]?"  # colours and moves
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)


class CliEnvelope(BaseModel):
    """The JSON object with which the Claude program ends.

    Example:
        >>> CliEnvelope.model_validate({"result": "Tea.", "session_id": "5f2e"}).total_cost_usd
        0.0
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore", alias_generator=str, defer_build=True)

    result: str
    """The answer, or what went wrong."""
    session_id: str
    """What to go on with; empty where it says none."""
    total_cost_usd: float = 0.0
    """What the call cost, in US dollars."""
    duration_ms: float | None = None
    """How long it took, in milliseconds."""
    is_error: bool = False
    """Whether the agent itself reports a failure."""
    usage: dict[str, Any] | None = None
    """Tokens, where it states them."""


class Reply(NamedTuple):
    """What a command-line agent answered."""

    text: str
    """The answer."""
    session_id: str = ""
    """What to go on with; empty where it cannot be."""
    failed: bool = False
    """Whether `text` is the agent's own report of a failure."""
    usage: Usage = Usage(calls=1)
    """What the call consumed, as far as it says so."""
    duration_ms: float | None = None
    """How long it took, by the agent's own clock."""


def clean(text: str) -> str:
    r"""Drop what steers a terminal from what a program wrote.

    Example:
        >>> clean("\x1b[1mTea\x1b[0m")
        'Tea'
    """
    return _CONTROL.sub("", text.replace("\r\n", "\n"))


def parse_output(stdout: str) -> CliEnvelope:
    """Find the last envelope in what the Claude program wrote, before and behind whatever else it wrote.

    Raises:
        AgentError: There is none; the message shows the first 300 characters. It may be tried again.
    """
    for found in _objects(stdout):
        if isinstance(found.get("result"), str):
            envelope = _envelope({"session_id": "", **found})
        elif found.get("type") == "result" and found.get("session_id"):
            stopped = f"[Agent stopped: {found.get('subtype') or 'unknown'}]"
            error = found.get("is_error")
            envelope = _envelope({**found, "result": stopped, "is_error": True if error is None else error})
        else:
            continue
        if envelope is not None:
            return envelope
    raise _unreadable("Claude", "{result: string}", stdout)


def _envelope(found: dict[str, Any]) -> CliEnvelope | None:
    kept = {name: value for name, value in found.items() if value is not None}
    try:
        return CliEnvelope.model_validate(kept)
    except ValidationError:
        return None


def read_claude(stdout: str) -> Reply:
    """Read the envelope of the Claude program."""
    envelope = parse_output(stdout)
    counts = envelope.usage or {}
    usage = Usage(
        input_tokens=_count(counts, "input_tokens"),
        output_tokens=_count(counts, "output_tokens"),
        cache_read_tokens=_count(counts, "cache_read_input_tokens"),
        cache_write_tokens=_count(counts, "cache_creation_input_tokens"),
        calls=1,
        cost_usd=envelope.total_cost_usd if 0 <= envelope.total_cost_usd < math.inf else None,
    )
    return Reply(envelope.result, envelope.session_id, envelope.is_error, usage, envelope.duration_ms)


def read_codex(stdout: str) -> Reply:
    """Read the events of `codex exec --json`: the last message of the agent, its thread, its tokens."""
    text: str | None = None
    session, failure, usage = "", "", Usage(calls=1)
    for event in reversed([*_objects(stdout)]):
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
                calls=1,
            )
        elif kind in {"turn.failed", "error"}:
            fault = event.get("error")
            if kind == "turn.failed":
                text = None  # what it said before was on the way to an answer that never came
            failure = str((fault if isinstance(fault, dict) else event).get("message") or "unknown")
    if text is None and not failure:
        raise _unreadable("Codex", "an agent_message", stdout)
    return Reply(failure if text is None else text, session, text is None, usage)


def read_gemini(stdout: str) -> Reply:
    """Read the object of `gemini --output-format json`: its response, its session, its tokens."""
    for found in _objects(stdout):
        fault, session = found.get("error"), str(found.get("session_id") or "")
        if isinstance(found.get("response"), str):
            return Reply(found["response"], session, usage=_gemini_usage(found.get("stats")))
        if isinstance(fault, dict):
            return Reply(str(fault.get("message") or "unknown"), session, failed=True)
    raise _unreadable("Gemini", "{response: string}", stdout)


def _gemini_usage(stats: object) -> Usage:
    models = stats.get("models") if isinstance(stats, dict) else None
    counts = [one.get("tokens") for one in models.values() if isinstance(one, dict)] if isinstance(models, dict) else []
    held = [one for one in counts if isinstance(one, dict)]
    return Usage(
        input_tokens=sum(_count(one, "prompt") for one in held),
        output_tokens=sum(_count(one, "candidates") for one in held),
        reasoning_tokens=sum(_count(one, "thoughts") for one in held),
        cache_read_tokens=sum(_count(one, "cached") for one in held),
        calls=1,
    )


def read_plain(stdout: str) -> Reply:
    """Read the answer of any program: an envelope as Claude's is, where the last line is one; else all it wrote."""
    last = next(_objects(stdout), None)
    if last is not None and isinstance(last.get("result"), str) and "session_id" in last:
        return read_claude(stdout)
    if not stdout.strip():
        raise AgentError("the program wrote nothing", retryable=True, details={"exit_code": 0})
    return Reply(stdout.strip())


def _objects(stdout: str) -> Iterator[dict[str, Any]]:
    """Give the JSON objects among the lines, the last first; at last the whole, should it be one document."""
    for line in reversed(stdout.splitlines()):
        start = line.find("{")
        if start >= 0:
            yield from _read(line[start:])
    yield from _read(stdout)


def _read(text: str) -> Iterator[dict[str, Any]]:
    try:
        found, _ = json.JSONDecoder().raw_decode(text.strip())
    except (ValueError, RecursionError):
        return
    for one in reversed(found) if isinstance(found, list) else [found]:
        if isinstance(one, dict):
            yield one


def _count(counts: dict[str, Any], name: str) -> int:
    number = counts.get(name)
    return number if isinstance(number, int) and number > 0 else 0


def _unreadable(title: str, expected: str, stdout: str) -> AgentError:
    return AgentError(
        f"Failed to parse {title} JSON output (expected {expected}). Got: {stdout[:_PREVIEW_CHARS]}",
        retryable=True,
        hint="The program may have been cut off, or is of a version that writes something else.",
        details={"exit_code": 0},
    )
