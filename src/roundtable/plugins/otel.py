"""Debates as OpenTelemetry traces and metrics: an observer, enabled by `observers=["otel"]` (extra `otel`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar, Final, assert_never
from urllib.parse import urlsplit

from roundtable._version import __version__
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.answers import TurnKey
from roundtable.vendors import VENDORS

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from datetime import datetime

    from opentelemetry.context import Context
    from opentelemetry.metrics import Meter
    from opentelemetry.trace import Span, SpanContext, Tracer

    from roundtable.core.types.answers import ToolCallRecord
    from roundtable.core.types.chat import ModelCall, Usage
    from roundtable.core.types.debate import Turn
    from roundtable.core.types.events import AgentComplete, AgentError, Event
    from roundtable.settings import Settings

__all__ = ["OpenTelemetryObserver", "mark", "open_telemetry", "within"]

CONTENT_VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""OpenTelemetry's environment variable that allows content in traces."""

_TOKEN_BOUNDS: Final = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
"""Bounds of the buckets of token counts, as the conventions advise."""
_SECONDS_BOUNDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""Bounds of the buckets of durations, as the conventions advise."""

_Attributes = dict[str, str | int | float | bool | Sequence[str]]

_UNDECIDED: Final = "roundtable.undecided"
"""Key in the context of OpenTelemetry; the value is true as long as nobody has decided whether to record the parent's
trace."""


def open_telemetry(settings: Settings) -> OpenTelemetryObserver:
    """Create the observer from the environment; content is recorded only if OpenTelemetry's own variable allows it.

    Raises:
        ConfigurationError: The extra `otel` is not installed.
    """
    content = (settings.get(CONTENT_VARIABLE) or "").lower() in {"1", "true", "span_only", "span_and_event"}
    return OpenTelemetryObserver(content=content)


def mark(name: str, attributes: Mapping[str, str | int]) -> str | None:
    """Write a span that ends at once, as a child of the current span.

    Return the `traceparent` of the span, or `None` if nothing is traced.
    """
    from opentelemetry import trace

    span = trace.get_tracer("roundtable", __version__).start_span(name, attributes=attributes)
    span.end()
    span_context = span.get_span_context()
    return (
        f"00-{span_context.trace_id:032x}-{span_context.span_id:016x}-{span_context.trace_flags:02x}"
        if span_context.is_valid
        else None
    )


@contextmanager
def within(traceparent: str, *, is_decided: bool = True) -> Generator[None]:
    """Make the spans that begin within the block children of another span, which may belong to another process.

    Args:
        traceparent: The other span, in the form of the W3C's header.
        is_decided: Whether the flags of the other span say if the trace is recorded. If not, the sampler of this
            program decides by the id of the trace, so that processes with the same sampler make the same decision.
    """
    from opentelemetry import context, trace

    _, trace_id, span_id, flags = traceparent.split("-")
    parent = trace.SpanContext(
        int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=trace.TraceFlags(int(flags, 16))
    )
    if not is_decided:
        parent = _with_sampling(parent, trace.get_tracer("roundtable", __version__))
    within_span = trace.set_span_in_context(trace.NonRecordingSpan(parent))
    token = context.attach(context.set_value(_UNDECIDED, not is_decided, within_span))
    try:
        yield
    finally:
        context.detach(token)


def _with_sampling(parent: SpanContext, tracer: Tracer) -> SpanContext:
    """Return a parent whose flags hold the decision of the tracer's sampler for this trace id."""
    from opentelemetry import trace
    from opentelemetry.context import Context

    sampler = getattr(tracer, "sampler", None)  # the tracers of programs without the SDK have none
    if sampler is None:
        return parent
    is_sampled = sampler.should_sample(Context(), parent.trace_id, "debate").decision.is_sampled()
    flags = trace.TraceFlags(trace.TraceFlags.SAMPLED if is_sampled else trace.TraceFlags.DEFAULT)
    return trace.SpanContext(parent.trace_id, parent.span_id, is_remote=True, trace_flags=flags)


class OpenTelemetryObserver:
    """Observer that writes a trace for each debate, and metrics of model calls.

    There are spans for the debate, rounds, turns (`invoke_agent`), calls of models (`chat`) and calls of tools
    (`execute_tool`). Names and attributes follow OpenTelemetry's conventions for generative AI. Content is recorded
    only if `content` is on.

    Args:
        tracer: Tracer for the spans; by default, a tracer of the program's own tracer provider.
        content: Whether to record topic, answers, and arguments and results of tools.
        meter: Meter for the metrics `gen_ai.client.token.usage`, `gen_ai.client.operation.duration` and
            `roundtable.waits`; by default, a meter of the program's own meter provider.

    Raises:
        ConfigurationError: The extra `otel` is not installed.
    """

    wants_pieces: ClassVar[bool] = False
    """False, because the observer records whole turns."""

    def __init__(self, tracer: Tracer | None = None, *, content: bool = False, meter: Meter | None = None) -> None:
        try:
            from opentelemetry import context, metrics, trace
        except ImportError as error:
            msg = "traces need OpenTelemetry"
            raise ConfigurationError(msg, cause=error, hint="pip install 'roundtable-sdk[otel]'") from error
        self._trace = trace
        self._context = context
        self._tracer: Tracer = trace.get_tracer("roundtable", __version__) if tracer is None else tracer
        meter = metrics.get_meter("roundtable", __version__) if meter is None else meter
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used",
            explicit_bucket_boundaries_advisory=_TOKEN_BOUNDS,
        )
        self._waits = meter.create_counter(
            "roundtable.waits", unit="{wait}", description="Number of waits of debates of more than a second"
        )
        self._duration = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="GenAI operation duration",
            explicit_bucket_boundaries_advisory=_SECONDS_BOUNDS,
        )
        self._content = content
        self._calls: dict[str, dict[TurnKey, list[ModelCall]]] = {}
        """Calls of unfinished turns, by session; the span of a turn is written when the turn's outcome is known."""
        self._debates: dict[str, Span] = {}
        self._rounds: dict[str, Span] = {}

    def notify(self, event: Event) -> None:
        """Record one event."""
        match event.type:
            case "debate_start":
                attributes: _Attributes = {"roundtable.mode": event.mode, "roundtable.rounds": event.rounds}
                if self._content:
                    attributes["roundtable.topic"] = event.topic
                self._debate(event).set_attributes(attributes)
            case "round_start":
                self._end_round(event)
                self._rounds[event.session_id] = self._start_span(
                    f"round {event.round}", self._debate(event), event.timestamp, {"roundtable.round": event.round}
                )
            case "agent_complete":
                self._end_turn(event)
            case "agent_error":
                self._end_failed_turn(event)
            case "waiting":
                self._waits.add(1, {"roundtable.wait.reason": event.reason})
            case "consensus":
                span = self._debate(event)
                span.set_attribute("roundtable.agreement_level", event.consensus.agreement_level)
                span.set_attribute("roundtable.agreement_at_most", event.consensus.agreement_at_most)
            case "round_complete":
                self._end_round(event)
            case "error":
                self._mark_error(self._debate(event), event.info.name, event.error)
                self._end_debate(event)
            case "debate_complete" | "conversation_complete":
                status = event.status if event.type == "debate_complete" else "completed"
                self._debate(event).set_attribute("roundtable.status", status)
                self._end_debate(event)
            case (
                "conversation_start"
                | "initiator_start"
                | "initiator_tool_call"
                | "initiator_complete"
                | "summarizer_start"
                | "summarizer_chunk"
                | "agent_start"
                | "agent_response_chunk"
                | "retry"
                | "agent_tool_call"
                | "agent_tool_result"
                | "approval_decided"
                | "approval_requested"
                | "context_requested"
                | "exit"
                | "control"
                | "synthesis_complete"
            ):
                pass
            case _:
                assert_never(event.type)

    def notify_call(self, call: ModelCall) -> None:
        """Record one call of a model: the metrics at once, the span when the span of the turn is known."""
        self._measure(call)
        session_id, key = call.metadata.get("session", ""), _turn_of(call)
        if session_id and key is not None:
            self._calls.setdefault(session_id, {}).setdefault(key, []).append(call)
        else:
            self._record_call(call, self._rounds.get(session_id) or self._debates.get(session_id))

    def close(self) -> None:
        """End all open spans, for example the spans of debates that another process continues."""
        for session_id in list(self._calls):
            self._record_left_calls(session_id)
        for span in (*self._rounds.values(), *self._debates.values()):
            span.end()
        self._rounds.clear()
        self._debates.clear()

    def _measure(self, call: ModelCall) -> None:
        attributes = _call_attributes(call)
        for kind, tokens in () if call.usage is None else _tokens_of(call.usage):
            self._tokens.record(tokens, {**attributes, "gen_ai.token.type": kind})
        failed: _Attributes = {} if call.error is None else {"error.type": call.error}
        self._duration.record(call.duration_s, {**attributes, **failed})

    def _record_call(self, call: ModelCall, parent: Span | None) -> None:
        attributes = {**_call_attributes(call), **_call_details(call)}
        context = None if parent is None else self._trace.set_span_in_context(parent)
        span = self._tracer.start_span(
            f"chat {call.model}",
            context=context,
            kind=self._trace.SpanKind.CLIENT,
            start_time=_nanoseconds(call.started_at),
            attributes=attributes,
        )
        if call.error is not None:
            self._mark_error(span, call.error, call.error)
        span.end(_nanoseconds(call.started_at + timedelta(seconds=call.duration_s)))

    def _record_left_calls(self, session_id: str) -> None:
        """Write the spans of calls whose turn has no outcome, because the turn was cancelled."""
        parent = self._rounds.get(session_id) or self._debates.get(session_id)
        for calls in self._calls.pop(session_id, {}).values():
            for call in calls:
                self._record_call(call, parent)

    def _debate(self, event: Event) -> Span:
        """Return the span of a debate; a resumed debate gets a new span."""
        span = self._debates.get(event.session_id)
        if span is None:
            attributes: _Attributes = {"gen_ai.conversation.id": event.session_id}
            span = self._start_span("debate", None, event.timestamp, attributes)
            self._debates[event.session_id] = span
        return span

    def _start_span(self, name: str, parent: Span | None, start: datetime, attributes: _Attributes) -> Span:
        context = self._undecided_parent() if parent is None else self._trace.set_span_in_context(parent)
        return self._tracer.start_span(name, context=context, start_time=_nanoseconds(start), attributes=attributes)

    def _undecided_parent(self) -> Context | None:
        """Return the parent's context with this tracer's decision whether to record; `None` if others have decided."""
        if not self._context.get_value(_UNDECIDED):
            return None
        parent = _with_sampling(self._trace.get_current_span().get_span_context(), self._tracer)
        return self._trace.set_span_in_context(self._trace.NonRecordingSpan(parent))

    def _turn_parent(self, event: Event) -> Span:
        return self._rounds.get(event.session_id) or self._debate(event)

    def _end_turn(self, event: AgentComplete) -> None:
        turn = event.turn
        result = turn.result
        attributes = self._turn_attributes(event, turn.duration_s, result.usage)
        attributes["gen_ai.response.finish_reasons"] = (result.finish_reason,)
        if result.provider:
            attributes["gen_ai.provider.name"] = _provider(result.provider)
        if result.model:
            attributes["gen_ai.response.model"] = result.model
        if self._content:
            text = {"type": "text", "content": turn.answer.to_json()}
            message = {"role": "assistant", "parts": [text], "finish_reason": result.finish_reason}
            attributes["gen_ai.output.messages"] = json.dumps([message], ensure_ascii=False)
        span = self._start_turn(event, turn.duration_s, attributes)
        for call in turn.tools_used:
            self._record_tool(span, turn, call)
        span.end(_nanoseconds(turn.timestamp))

    def _end_failed_turn(self, event: AgentError) -> None:
        turn = event.turn
        span = self._start_turn(event, turn.duration_s, self._turn_attributes(event, turn.duration_s, turn.usage))
        self._mark_error(span, turn.error.name, turn.error.message)
        span.end(_nanoseconds(turn.timestamp))

    def _turn_attributes(self, event: AgentComplete | AgentError, duration_s: float, usage: Usage) -> _Attributes:
        attributes: _Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.id": event.agent,
            "gen_ai.agent.name": event.turn.agent_name or event.agent,
            "gen_ai.conversation.id": event.session_id,
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "roundtable.stage": event.turn.stage,
            "roundtable.round": event.round,
            "roundtable.duration_s": duration_s,
        }
        turn = event.turn
        if turn.provider:
            attributes["gen_ai.provider.name"] = _provider(turn.provider)
        if turn.model:
            attributes["gen_ai.request.model"] = turn.model
        if usage.cost_usd is not None:
            attributes["roundtable.cost_usd"] = usage.cost_usd
        return attributes

    def _start_turn(self, event: AgentComplete | AgentError, duration_s: float, attributes: _Attributes) -> Span:
        start = event.turn.timestamp - timedelta(seconds=duration_s)
        span = self._start_span(f"invoke_agent {attributes['gen_ai.agent.name']}", self._turn_parent(event), start, {})
        span.set_attributes(attributes)
        for call in self._calls.get(event.session_id, {}).pop(event.turn.key, ()):
            self._record_call(call, span)
        return span

    def _record_tool(self, parent: Span, turn: Turn, call: ToolCallRecord) -> None:
        start = call.started_at or turn.timestamp
        attributes: _Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool_name,
        }
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = json.dumps(call.input, ensure_ascii=False)
            attributes["gen_ai.tool.call.result"] = json.dumps(call.output, ensure_ascii=False)
        span = self._start_span(f"execute_tool {call.tool_name}", parent, start, attributes)
        if call.error is not None:
            self._mark_error(span, "ToolError", call.error)
        span.end(_nanoseconds(start + timedelta(seconds=call.duration_s)))

    def _mark_error(self, span: Span, kind: str, message: str) -> None:
        span.set_attribute("error.type", kind)
        description = message if self._content else None
        span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, description))

    def _end_round(self, event: Event) -> None:
        span = self._rounds.pop(event.session_id, None)
        if span is not None:
            span.end(_nanoseconds(event.timestamp))

    def _end_debate(self, event: Event) -> None:
        self._record_left_calls(event.session_id)
        self._end_round(event)
        span = self._debates.pop(event.session_id, None)
        if span is not None:
            span.end(_nanoseconds(event.timestamp))


def _turn_of(call: ModelCall) -> TurnKey | None:
    """Return the key of the turn that a call belongs to; `None` for analyses, syntheses and calls outside debates."""
    try:
        return TurnKey(int(call.metadata["round"]), call.metadata["stage"], int(call.metadata["slot"]))
    except (KeyError, ValueError):
        return None


def _call_attributes(call: ModelCall) -> _Attributes:
    """Return the attributes that the span and the metrics of a call share."""
    attributes: _Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _provider(call.provider),
        "gen_ai.request.model": call.model,
    }
    if call.response_model:
        attributes["gen_ai.response.model"] = call.response_model
    address = urlsplit(call.endpoint)
    if address.hostname:
        attributes["server.address"] = address.hostname
        attributes["server.port"] = address.port or (80 if address.scheme == "http" else 443)
    return attributes


def _call_details(call: ModelCall) -> _Attributes:
    """Return the attributes that only the span of a call has."""
    details: dict[str, str | int | float | Sequence[str] | None] = {
        "gen_ai.conversation.id": call.metadata.get("session"),
        "gen_ai.agent.id": call.metadata.get("agent"),
        "gen_ai.request.temperature": call.temperature,
        "gen_ai.request.max_tokens": call.max_tokens,
        "roundtable.request_id": call.request_id,
        "gen_ai.response.finish_reasons": None if call.finish_reason is None else (call.finish_reason,),
        "roundtable.purpose": call.metadata.get("purpose"),
        "roundtable.attempt": call.attempt,
        "roundtable.first_text_s": call.first_text_s,
    }
    usage = {} if call.usage is None else {f"gen_ai.usage.{kind}_tokens": n for kind, n in _tokens_of(call.usage)}
    return {name: value for name, value in details.items() if value is not None} | usage


def _tokens_of(usage: Usage) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("input", usage.input_tokens), ("output", usage.output_tokens)


def _provider(name: str) -> str:
    """Return the name of a provider in the conventions; if they have none, the library's own name."""
    vendor = VENDORS.get(name)
    return name if vendor is None else vendor.telemetry_name or name


def _nanoseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000) * 1_000
