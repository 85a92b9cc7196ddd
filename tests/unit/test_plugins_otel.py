"""Debates as traces: the names of OpenTelemetry's conventions, and nothing of what was said unless asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from roundtable import Roundtable, hookimpl
from roundtable.agents import BaseAgent
from roundtable.errors import APIAuthError, APIRateLimitError, ConfigurationError
from roundtable.plugins.otel import CONTENT_VARIABLE, OpenTelemetryObserver, open_telemetry
from roundtable.providers.scripted import Reply
from roundtable.settings import Settings
from roundtable.testing import Delay, ScriptedModel, scripted_agents
from roundtable.types import (
    AgentComplete,
    AgentConfig,
    ChatRequest,
    ChatResponse,
    ConversationComplete,
    DebateError,
    ErrorInfo,
    Event,
    ExitResult,
    ModelCall,
    RoundStart,
    ToolCallRecord,
    Turn,
    utc_now,
)

SECRET = "CANARY-7"


class Traced:
    """An observer with the spans and the metrics that it wrote."""

    def __init__(self, *, content: bool = False) -> None:
        self.spans = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.spans))
        self.reader = InMemoryMetricReader()
        meter = MeterProvider([self.reader]).get_meter("test")
        self.observer = OpenTelemetryObserver(provider.get_tracer("test"), content=content, meter=meter)

    def points(self, metric: str) -> list[HistogramDataPoint]:
        """Return the points of a histogram; none if nothing was recorded."""
        data = self.reader.get_metrics_data()
        scopes = [] if data is None else [scope for one in data.resource_metrics for scope in one.scope_metrics]
        found = [each for scope in scopes for each in scope.metrics if each.name == metric]
        return [point for each in found for point in each.data.data_points if isinstance(point, HistogramDataPoint)]

    def named(self, start: str) -> list[ReadableSpan]:
        return [span for span in self.spans.get_finished_spans() if span.name.startswith(start)]

    @property
    def text(self) -> str:
        return "".join(span.to_json() for span in self.spans.get_finished_spans())


def facts(span: ReadableSpan) -> Mapping[str, Any]:
    return dict(span.attributes or {})


async def held(traced: Traced, says: Mapping[str, Any]) -> Any:
    table = Roundtable(scripted_agents(says), storage="memory://", observers=[traced.observer])
    result = await table.debate(f"Tea? {SECRET}", rounds=2)
    await table.aclose()
    return result


async def test_a_debate_is_one_trace_of_rounds_and_turns() -> None:
    traced = Traced()
    result = await held(traced, {"ada": "Tea", "bo": "Tea"})
    (debate,) = traced.named("debate")
    rounds, turns = traced.named("round"), traced.named("invoke_agent")
    assert ([span.name for span in rounds], len(turns)) == (["round 1", "round 2"], 4)
    assert {span.context.trace_id for span in (debate, *rounds, *turns)} == {debate.context.trace_id}
    assert all(span.parent and span.parent.span_id == debate.context.span_id for span in rounds)
    assert {span.parent.span_id for span in turns if span.parent} == {span.context.span_id for span in rounds}
    assert facts(debate)["gen_ai.conversation.id"] == result.session.id
    assert facts(debate)["roundtable.status"] == "completed"
    ada = facts(traced.named("invoke_agent Ada")[0])
    assert ada["gen_ai.operation.name"] == "invoke_agent"
    assert (ada["gen_ai.agent.id"], ada["gen_ai.agent.name"]) == ("ada", "Ada")
    assert (ada["gen_ai.provider.name"], ada["gen_ai.response.model"]) == ("scripted", "scripted")
    assert ada["gen_ai.usage.output_tokens"] > 0
    assert ada["gen_ai.response.finish_reasons"] == ("stop",)
    assert all((span.end_time or 0) >= (span.start_time or 1) for span in (debate, *rounds, *turns))


async def test_texts_are_written_only_on_request() -> None:
    quiet, loud = Traced(), Traced(content=True)
    for traced in (quiet, loud):
        await held(traced, {"ada": f"Tea {SECRET}", "bo": "Tea"})
    assert SECRET not in quiet.text
    assert "Tea" not in quiet.text
    (debate,) = loud.named("debate")
    assert SECRET in facts(debate)["roundtable.topic"]
    (message,) = json.loads(facts(loud.named("invoke_agent Ada")[0])["gen_ai.output.messages"])
    assert (message["role"], message["finish_reason"], len(message["parts"])) == ("assistant", "stop", 1)
    assert message["parts"][0]["type"] == "text"
    said = json.loads(message["parts"][0]["content"])
    assert said["position"] == f"Tea {SECRET}"


async def test_a_failed_turn_has_its_error_without_its_words() -> None:
    traced = Traced()
    await held(traced, {"ada": "Tea", "bo": [APIAuthError(SECRET), "Tea"]})
    failed = traced.named("invoke_agent Bo")[0]
    assert facts(failed)["error.type"] == "APIAuthError"
    assert failed.status.is_ok is False
    assert SECRET not in traced.text


@pytest.mark.slow  # waits for a second try
async def test_every_call_of_a_model_is_a_span_of_its_turn() -> None:
    traced = Traced()
    bo: list[Any] = [APIRateLimitError(SECRET), "Milk", "Tea"]
    await held(traced, {"ada": "Tea", "bo": bo})
    calls = traced.named("chat scripted")
    assert len(calls) == 5  # one for each of four turns, and one that was tried again
    turns = {span.context.span_id: span for span in traced.named("invoke_agent") if span.context is not None}
    for call in calls:
        assert call.parent is not None
        turn = turns[call.parent.span_id]
        assert facts(call)["gen_ai.agent.id"] == facts(turn)["gen_ai.agent.id"]
        assert (
            (turn.start_time or 0) <= (call.start_time or 0) <= (call.end_time or 0) <= (turn.end_time or 0) + 5_000_000
        )
        assert call.kind == SpanKind.CLIENT
    failed, again = [call for call in calls if facts(call)["gen_ai.agent.id"] == "bo"][:2]
    assert (facts(failed)["error.type"], facts(failed)["roundtable.attempt"]) == ("APIRateLimitError", 1)
    assert failed.status.is_ok is False
    found = facts(again)
    assert (found["gen_ai.operation.name"], found["gen_ai.provider.name"]) == ("chat", "scripted")
    assert (found["gen_ai.request.model"], found["gen_ai.response.finish_reasons"]) == ("scripted", ("stop",))
    assert found["roundtable.attempt"] == 2
    assert found["gen_ai.usage.output_tokens"] > 0
    assert again.parent == failed.parent
    assert SECRET not in traced.text


async def test_tokens_and_durations_of_calls_are_metrics() -> None:
    traced = Traced()
    result = await held(traced, {"ada": "Tea", "bo": [APIAuthError(SECRET), "Tea"]})
    durations = traced.points("gen_ai.client.operation.duration")
    by_error = {dict(point.attributes or {}).get("error.type"): point.count for point in durations}
    assert by_error == {None: 3, "APIAuthError": 1}
    tokens = traced.points("gen_ai.client.token.usage")
    by_kind = {dict(point.attributes or {})["gen_ai.token.type"]: point.sum for point in tokens}
    assert by_kind == {"input": result.usage.input_tokens, "output": result.usage.output_tokens}
    (common,) = {
        (point.attributes or {})["gen_ai.operation.name"]: dict(point.attributes or {}) for point in durations
    }.values()
    assert (common["gen_ai.provider.name"], common["gen_ai.request.model"]) == ("scripted", "scripted")
    assert not any(name.startswith(("gen_ai.conversation", "gen_ai.agent")) for name in common)  # few values each


async def test_a_call_that_reads_a_round_is_a_span_of_the_round() -> None:
    traced = Traced()
    reading = {"agreementLevel": 1.0, "clusters": [{"theme": "Tea", "agentIds": ["ada", "bo"]}], "summary": "One."}
    reader = ScriptedModel({"analyzer": [reading] * 2}, model="reader")
    agents = scripted_agents({"ada": "Tea", "bo": "A pot of tea"})
    table = Roundtable(
        agents, storage="memory://", observers=[traced.observer], seats={"analyzer": reader}, analyzer="ai"
    )
    await table.debate("Tea?", rounds=2)
    await table.aclose()
    rounds = {span.context.span_id for span in traced.named("round ") if span.context is not None}
    calls = traced.named("chat reader")
    assert [call.parent is not None and call.parent.span_id in rounds for call in calls] == [True, True]
    assert {facts(call)["roundtable.purpose"] for call in calls} == {"analysis"}


async def test_calls_of_a_turn_that_was_given_up_are_written_with_the_debate() -> None:
    traced = Traced()
    agents = scripted_agents({"ada": "Tea", "bo": Delay(30, "Tea")})
    table = Roundtable(agents, storage="memory://", observers=[traced.observer])
    result = await table.debate("Tea?", rounds=1, deadline_s=0.3)
    await table.aclose()
    traced.observer.close()
    assert result.status == "partial"
    errors = {facts(call)["gen_ai.agent.id"]: facts(call).get("error.type") for call in traced.named("chat scripted")}
    assert errors == {"ada": None, "bo": "cancelled"}


async def test_an_observer_on_a_thread_gets_calls_before_their_events() -> None:
    heard: list[str] = []

    class Listener:
        def notify(self, event: Event) -> None:
            heard.append(event.type)

        def notify_call(self, call: ModelCall) -> None:
            heard.append(f"call of {call.metadata['agent']}")

    class Plugin:
        @hookimpl
        def roundtable_register_observers(self, registrar: Any) -> None:
            registrar.add("listener", lambda settings: Listener())

    table = Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://", plugins=[Plugin()])
    await table.debate("Tea?", rounds=1)
    await table.aclose()
    assert heard.index("agent_start") < heard.index("call of ada") < heard.index("agent_complete")


async def test_an_observer_that_fails_on_calls_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Failing:
        def notify(self, event: Event) -> None: ...

        def notify_call(self, call: ModelCall) -> None:
            raise KeyError("oops")

    table = Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://", observers=[Failing()])
    result = await table.debate("Tea?", rounds=1)
    await table.aclose()
    assert (result.answer, result.usage.calls) == ("Tea", 1)
    assert "an observer failed on a call of a model: KeyError: 'oops'" in caplog.text


def test_an_observer_whose_calls_are_awaited_is_refused() -> None:
    class Awaited:
        def notify(self, event: Event) -> None: ...

        async def notify_call(self, call: ModelCall) -> None: ...

    class AwaitedCall:
        async def __call__(self, call: ModelCall) -> None: ...

    class HasAwaitedCall:
        notify_call = AwaitedCall()

        def notify(self, event: Event) -> None: ...

    for observer in (Awaited(), HasAwaitedCall()):
        with pytest.raises(ConfigurationError, match="`notify_call` of an observer must be a function"):
            _ = Roundtable(storage="memory://", observers=[observer], settings=Settings())._wiring


class Renamed(ScriptedModel):
    """A model that answers under another name than it was asked for, as an alias does."""

    provider = "google"

    async def complete(self, request: ChatRequest) -> ChatResponse:
        answer = await super().complete(request)
        return answer.model_copy(update={"model": "gemini-3-flash-001"})


async def test_spans_say_which_model_was_asked_and_which_answered_in_failed_turns_too() -> None:
    traced = Traced()
    config = AgentConfig(id="ada", name="Ada", provider="google", model="gemini-3-flash")
    ada = BaseAgent(config, Renamed([{"position": "Tea", "reasoning": "It keeps."}, APIAuthError("no")]))
    bo = scripted_agents({"bo": "Tea"})[0]
    table = Roundtable([ada, bo], storage="memory://", observers=[traced.observer])
    result = await table.debate("Tea?", rounds=2)
    answered, failed = (facts(span) for span in traced.named("invoke_agent Ada"))
    for span in (answered, failed):
        assert (span["gen_ai.provider.name"], span["gen_ai.request.model"]) == ("gcp.gemini", "gemini-3-flash")
    assert answered["gen_ai.response.model"] == "gemini-3-flash-001"
    assert "gen_ai.response.model" not in failed
    assert [(turn.provider, turn.model) for held in result.rounds for turn in held.turns if turn.agent_id == "ada"] == [
        ("google", "gemini-3-flash")
    ] * 2


async def test_tools_used_for_a_position_are_spans_too() -> None:
    def look_up(word: str) -> str:
        """Return what a word means."""
        return f"{word} is a drink"

    def reply(request: ChatRequest) -> Reply:
        if any(message.role == "tool" for message in request.messages):
            return {"position": "Tea", "reasoning": "A drink.", "confidence": 0.9}
        return {"toolCalls": [{"name": "look_up", "args": {"word": "tea"}}]}

    traced = Traced()
    table = Roundtable([ScriptedModel(reply)], tools=[look_up], storage="memory://", observers=[traced.observer])
    await table.debate("Tea?", rounds=1)
    assert len(traced.named("execute_tool look_up")) == 1


def test_tools_are_spans_of_their_turn() -> None:
    traced = Traced(content=True)
    done = ToolCallRecord(tool_name="look_up", input={"word": "tea"}, output="a drink", duration_s=0.5)
    lost = ToolCallRecord(tool_name="look_up", input={}, error="no such word")
    turn = Turn.model_validate(
        {
            "round": 1, "stage": "s", "slot": 0, "agent_id": "ada", "timestamp": utc_now(),
            "result": {
                "answer": {"kind": "text", "text": "Tea"}, "tool_calls": (done, lost), "usage": {"cost_usd": 0.25},
            },
        }
    )  # fmt: skip
    traced.observer.notify(AgentComplete(session_id="s", timestamp=utc_now(), turn=turn, agent="ada", round=1))
    (span,) = traced.named("invoke_agent ada")
    first, second = traced.named("execute_tool look_up")
    assert first.parent is not None
    assert first.parent.span_id == span.context.span_id
    assert facts(first)["gen_ai.tool.call.result"] == '"a drink"'
    assert (first.end_time or 0) - (first.start_time or 0) == 500_000_000
    assert facts(second)["error.type"] == "ToolError"
    assert facts(span)["roundtable.cost_usd"] == 0.25
    info = ErrorInfo(name="QuorumLost", message="nobody", code="QUORUM_LOST")
    traced.observer.notify(
        DebateError(session_id="s", timestamp=utc_now(), error="nobody", code="QUORUM_LOST", info=info)
    )
    (debate,) = traced.named("debate")
    assert facts(debate)["error.type"] == "QuorumLost"


def test_open_spans_are_ended_at_the_end() -> None:
    traced = Traced()
    traced.observer.notify(RoundStart(session_id="s", timestamp=utc_now(), round=1, agents=("ada",)))
    assert traced.spans.get_finished_spans() == ()
    traced.observer.close()
    assert [span.name for span in traced.spans.get_finished_spans()] == ["round 1", "debate"]


@pytest.mark.parametrize(("given", "content"), [(None, False), ("true", True), ("no", False), ("SPAN_ONLY", True)])
def test_the_variable_of_opentelemetry_allows_content(given: str | None, content: bool) -> None:
    environment = {} if given is None else {CONTENT_VARIABLE: given}
    assert open_telemetry(Settings.from_env(environment))._content is content


async def test_the_otel_observer_is_chosen_by_name() -> None:
    agents = scripted_agents({"ada": "Tea"})
    table = Roundtable(agents, storage="memory://", observers=["otel"], settings=Settings())
    assert (await table.debate("Tea?", rounds=1)).status == "completed"
    await table.aclose()


@pytest.mark.slow
def test_opentelemetry_is_loaded_only_on_request() -> None:
    code = "import sys, roundtable; roundtable.Roundtable(storage='memory://')._wiring; "
    code += "assert 'opentelemetry' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_without_the_extra_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigurationError, match="traces need OpenTelemetry") as refusal:
        _ = Roundtable(storage="memory://", observers=["otel"], settings=Settings())._wiring
    assert refusal.value.hint == "pip install 'roundtable-sdk[otel]'"


def test_a_conversation_ends_its_trace() -> None:
    traced = Traced()
    done = ExitResult(should_exit=True, reason="max_rounds")
    traced.observer.notify(
        ConversationComplete(
            session_id="s",
            timestamp=utc_now(),
            summary=SECRET,
            total_rounds=1,
            total_agents=2,
            execution_time=1,
            exit=done,
        )
    )
    (debate,) = traced.named("debate")
    assert facts(debate)["roundtable.status"] == "completed"
    assert SECRET not in traced.text
