"""Debates as OpenTelemetry traces: an observer, asked for with `observers=["otel"]` (extra `otel`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from roundtable._version import __version__
from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from datetime import datetime

    from opentelemetry.trace import Span, Tracer

    from roundtable.settings import Settings
    from roundtable.types import AgentComplete, AgentError, Event, ToolCallRecord, Turn, Usage

__all__ = ["OpenTelemetryObserver", "open_telemetry"]

CONTENT_VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""Variable of OpenTelemetry's that lets content into traces."""

_Attributes = dict[str, str | int | float | bool | Sequence[str]]


def open_telemetry(settings: Settings) -> OpenTelemetryObserver:
    """Make the observer as the environment says; content is left out unless OpenTelemetry's own variable asks for it.

    Raises:
        ConfigurationError: The extra `otel` is not installed.
    """
    captured = (settings.get(CONTENT_VARIABLE) or "").lower() in {"1", "true", "span_only", "span_and_event"}
    return OpenTelemetryObserver(content=captured)


class OpenTelemetryObserver:
    """Writes a trace for each debate: spans for debate, rounds, turns (`invoke_agent`) and tools (`execute_tool`).

    Names and attributes are those of OpenTelemetry's conventions for generative AI. What was said is left out, unless
    `content` is on.

    Args:
        tracer: Where spans go; the tracer of the program's own provider when left out.
        content: Whether topic, answers, and arguments and results of tools are written too.

    Raises:
        ConfigurationError: The extra `otel` is not installed.
    """

    def __init__(self, tracer: Tracer | None = None, *, content: bool = False) -> None:
        try:
            from opentelemetry import trace
        except ImportError as error:
            msg = "traces need OpenTelemetry"
            raise ConfigurationError(msg, cause=error, hint="pip install 'roundtable-sdk[otel]'") from error
        self._trace = trace
        self._tracer: Tracer = trace.get_tracer("roundtable", __version__) if tracer is None else tracer
        self._content = content
        self._debates: dict[str, Span] = {}
        self._rounds: dict[str, Span] = {}

    def notify(self, event: Event) -> None:
        """Take one event."""
        match event.type:
            case "debate_start":
                facts: _Attributes = {"roundtable.mode": event.mode, "roundtable.rounds": event.rounds}
                if self._content:
                    facts["roundtable.topic"] = event.topic
                self._debate(event).set_attributes(facts)
            case "round_start":
                self._end_round(event)
                self._rounds[event.session_id] = self._open(
                    f"round {event.round}", self._debate(event), event.timestamp, {"roundtable.round": event.round}
                )
            case "agent_complete":
                self._answered(event)
            case "agent_error":
                self._failed(event)
            case "consensus":
                self._debate(event).set_attribute("roundtable.agreement_level", event.consensus.agreement_level)
            case "round_complete":
                self._end_round(event)
            case "error":
                self._mark(self._debate(event), event.info.name, event.error)
                self._end(event)
            case "debate_complete":
                self._debate(event).set_attribute("roundtable.status", event.status)
                self._end(event)
            case "conversation_complete":
                self._debate(event).set_attribute("roundtable.status", "completed")
                self._end(event)
            case _:
                pass

    def close(self) -> None:
        """End what is still open, such as debates that go on elsewhere."""
        for span in (*self._rounds.values(), *self._debates.values()):
            span.end()
        self._rounds.clear()
        self._debates.clear()

    def _debate(self, event: Event) -> Span:
        """Give the span of a debate; one that was resumed gets another."""
        found = self._debates.get(event.session_id)
        if found is None:
            facts: _Attributes = {"gen_ai.conversation.id": event.session_id}
            found = self._open("debate", None, event.timestamp, facts)
            self._debates[event.session_id] = found
        return found

    def _open(self, name: str, parent: Span | None, start: datetime, facts: _Attributes) -> Span:
        within = None if parent is None else self._trace.set_span_in_context(parent)
        return self._tracer.start_span(name, context=within, start_time=_nanoseconds(start), attributes=facts)

    def _parent(self, event: Event) -> Span:
        return self._rounds.get(event.session_id) or self._debate(event)

    def _answered(self, event: AgentComplete) -> None:
        turn = event.turn
        result = turn.result
        facts = self._of_turn(event, turn.duration_s, result.usage)
        facts["gen_ai.response.finish_reasons"] = (result.finish_reason,)
        if result.provider:
            facts["gen_ai.provider.name"] = result.provider
        if result.model:
            facts["gen_ai.response.model"] = facts["gen_ai.request.model"] = result.model
        if self._content:
            said = {"type": "text", "content": turn.answer.to_json()}
            message = {"role": "assistant", "parts": [said], "finish_reason": result.finish_reason}
            facts["gen_ai.output.messages"] = json.dumps([message], ensure_ascii=False)
        span = self._turn(event, turn.duration_s, facts)
        for call in turn.tools_used:
            self._tool(span, turn, call)
        span.end(_nanoseconds(turn.timestamp))

    def _failed(self, event: AgentError) -> None:
        turn = event.turn
        span = self._turn(event, turn.duration_s, self._of_turn(event, turn.duration_s, turn.usage))
        self._mark(span, turn.error.name, turn.error.message)
        span.end(_nanoseconds(turn.timestamp))

    def _of_turn(self, event: AgentComplete | AgentError, duration_s: float, usage: Usage) -> _Attributes:
        facts: _Attributes = {
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
        if usage.cost_usd is not None:
            facts["roundtable.cost_usd"] = usage.cost_usd
        return facts

    def _turn(self, event: AgentComplete | AgentError, duration_s: float, facts: _Attributes) -> Span:
        start = event.turn.timestamp - timedelta(seconds=duration_s)
        span = self._open(f"invoke_agent {facts['gen_ai.agent.name']}", self._parent(event), start, {})
        span.set_attributes(facts)
        return span

    def _tool(self, parent: Span, turn: Turn, call: ToolCallRecord) -> None:
        start = call.started_at or turn.timestamp
        facts: _Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool_name,
        }
        if self._content:
            facts["gen_ai.tool.call.arguments"] = json.dumps(call.input, ensure_ascii=False)
            facts["gen_ai.tool.call.result"] = json.dumps(call.output, ensure_ascii=False)
        span = self._open(f"execute_tool {call.tool_name}", parent, start, facts)
        if call.error is not None:
            self._mark(span, "ToolError", call.error)
        span.end(_nanoseconds(start + timedelta(seconds=call.duration_s)))

    def _mark(self, span: Span, kind: str, message: str) -> None:
        span.set_attribute("error.type", kind)
        shown = message if self._content else None
        span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, shown))

    def _end_round(self, event: Event) -> None:
        span = self._rounds.pop(event.session_id, None)
        if span is not None:
            span.end(_nanoseconds(event.timestamp))

    def _end(self, event: Event) -> None:
        self._end_round(event)
        span = self._debates.pop(event.session_id, None)
        if span is not None:
            span.end(_nanoseconds(event.timestamp))


def _nanoseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000) * 1_000
