"""What single types promise beyond the laws of all types."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from roundtable.errors import (
    AgentError,
    APITimeoutError,
    BudgetExceeded,
    ConfigurationError,
    ParseError,
    RoundtableError,
)
from roundtable.types import (
    AgentConfig,
    AgentResponse,
    AgentToolResult,
    AIConsensusResult,
    BallotAnswer,
    ChatRequest,
    Citation,
    ConsensusResult,
    Control,
    DebateConfig,
    Decision,
    ErrorInfo,
    FailedTurn,
    GeneratedPerspective,
    Lease,
    Perspective,
    ProviderConfig,
    Roster,
    RosterEntry,
    RoundRecord,
    RoundResult,
    ScoresAnswer,
    SessionFilter,
    Stage,
    TextAnswer,
    ToolCall,
    ToolResult,
    Turn,
    TurnKey,
    TurnResult,
    TurnSpec,
    Usage,
    Value,
    utc_now,
)

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def position(agent: str, said: str = "Yes") -> AgentResponse:
    return AgentResponse(agent_id=agent, agent_name=agent, position=said, timestamp=NOON)


def config(**fields: object) -> AgentConfig:
    return AgentConfig.model_validate({"id": "ada", "name": "Ada", "provider": "scripted", **fields})


REFUSED: list[tuple[str, Callable[[], object], str]] = [
    ("empty topic", lambda: DebateConfig(topic="", agents=("a",)), "at least 1 character"),
    ("blank topic", lambda: DebateConfig(topic=" \n\t", agents=("a",)), "at least one character that is not white"),
    ("long topic", lambda: DebateConfig(topic="x" * 10_001, agents=("a",)), "at most 10000 characters"),
    ("no round", lambda: DebateConfig(topic="t", agents=("a",), rounds=0), "greater than or equal to 1"),
    ("hot agent", lambda: config(temperature=2.1), "less than or equal to 2"),
    ("cold agent", lambda: config(temperature=-0.1), "greater than or equal to 0"),
    ("no tokens", lambda: config(maxTokens=0), "greater than 0"),
    ("blank in an id", lambda: config(id="a b"), "must not contain white space or control characters"),
    ("control character in an id", lambda: config(id="a\x00b"), "must not contain white space or control characters"),
    ("long id", lambda: config(id="x" * 129), "at most 128 characters"),
    ("empty name", lambda: config(name=""), "at least 1 character"),
    ("misspelt option", lambda: config(temprature=1), "temprature\n  Extra inputs are not permitted"),
    ("stance", lambda: AgentResponse.model_validate({**position("a").model_dump(), "stance": "MAYBE"}),
     "'YES', 'NO' or 'NEUTRAL'"),
    ("confidence", lambda: AgentResponse.model_validate({**position("a").model_dump(), "confidence": 1.5}),
     "less than or equal to 1"),
    ("kind", lambda: TurnResult.model_validate({"answer": {"kind": "essay", "text": ""}}),
     "'position', 'ballot', 'ranking', 'approval', 'scores', 'plan', 'text'"),
    ("no kind", lambda: TurnResult.model_validate({"answer": {"text": ""}}), "kind"),
    ("NaN", lambda: ScoresAnswer(scores={"a": math.nan}), "finite number"),
    ("infinity in free JSON", lambda: ToolResult(success=True, data={"a": [math.inf]}), "finite number"),
    ("half a surrogate pair", lambda: TextAnswer(text="\ud83d"), "valid string"),
    ("half a surrogate pair in free JSON", lambda: ToolResult(success=True, data={"\ud83d": 1}), "valid string"),
    ("a time before all times", lambda: Lease.model_validate(
        {"token": 1, "owner": {"name": "n", "host": "h", "bootId": "b", "pid": 1, "processStart": "s"},
         "expiresAt": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))}), "years 1 to 9999"),
    ("limit", lambda: SessionFilter(limit=0), "greater than or equal to 1"),
    ("negative count", lambda: Usage(calls=-1), "greater than or equal to 0"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "allowed"), [pytest.param(make, text, id=name) for name, make, text in REFUSED])
def test_invalid_input_is_refused_with_a_message_that_says_what_is_allowed(
    make: Callable[[], object], allowed: str
) -> None:
    with pytest.raises((ValidationError, ConfigurationError)) as refusal:
        make()
    assert allowed in str(refusal.value)


def test_the_limits_themselves_are_allowed() -> None:
    assert DebateConfig(topic="x" * 10_000, agents=("a",), rounds=1).rounds == 1
    assert config(temperature=2, id="x" * 128).temperature == 2.0
    assert config(temperature=None).temperature is None


def test_both_spellings_are_read_and_only_one_is_written() -> None:
    snake = AgentConfig.model_validate({"id": "a", "name": "A", "provider": "p", "max_tokens": 7})
    camel = AgentConfig.model_validate({"id": "a", "name": "A", "provider": "p", "maxTokens": 7})
    assert snake == camel
    assert '"maxTokens":7' in snake.to_json()
    assert "max_tokens" not in snake.to_json()


def test_arguments_of_a_call_are_args_in_json() -> None:
    call = ToolCall(id="1", name="look", arguments={"at": "it"})
    assert call.to_json() == '{"id":"1","name":"look","args":{"at":"it"},"invalid":null}'
    assert ToolCall.from_json(call.to_json()) == ToolCall.model_validate_json(
        '{"id":"1","name":"look","arguments":{"at":"it"}}'
    )


def test_a_plain_string_names_a_persona_or_a_perspective() -> None:
    persona = config(persona="Skeptic").persona
    assert persona is not None
    assert (persona.name, persona.description) == ("Skeptic", "")
    debate = DebateConfig.model_validate(
        {"topic": "t", "agents": ["a"], "perspectives": ["Economic", {"name": "Legal"}]}
    )
    assert debate.perspectives == (Perspective(name="Economic"), Perspective(name="Legal"))


def test_a_generated_perspective_stays_a_generated_one() -> None:
    made = GeneratedPerspective(name="Economic")
    debate = DebateConfig(topic="t", agents=("a",), perspectives=(made,))
    assert type(debate.perspectives[0]) is GeneratedPerspective
    assert type(DebateConfig.from_json(debate.to_json()).perspectives[0]) is GeneratedPerspective


def test_a_list_becomes_a_tuple() -> None:
    given = ["a", "b"]
    debate = DebateConfig.model_validate({"topic": "t", "agents": given})
    given.append("c")
    assert debate.agents == ("a", "b")


def test_times_are_utc() -> None:
    def at(moment: object) -> datetime:
        return AgentResponse.model_validate({**position("a").model_dump(), "timestamp": moment}).timestamp

    assert at(datetime(2026, 1, 2, 12)) == NOON  # noqa: DTZ001
    assert at("2026-01-02T14:00:00+02:00") == NOON
    assert at("2026-01-02T14:00:00+02:00").tzinfo is UTC
    assert utc_now().tzinfo is UTC
    assert position("a").to_json().endswith('"timestamp":"2026-01-02T12:00:00Z"}')


def test_usages_add_up() -> None:
    one = Usage(
        input_tokens=1,
        output_tokens=2,
        cache_read_tokens=3,
        cache_write_tokens=4,
        long_cache_write_tokens=3,
        reasoning_tokens=5,
        calls=6,
        cost_usd=0.5,
    )
    assert one + one == Usage(
        input_tokens=2,
        output_tokens=4,
        cache_read_tokens=6,
        cache_write_tokens=8,
        long_cache_write_tokens=6,
        reasoning_tokens=10,
        calls=12,
        cost_usd=1.0,
    )
    assert (one + one).total_tokens == 6
    assert sum([one, one], Usage()) == one + one


@pytest.mark.parametrize(
    ("one", "two", "cost"),
    [
        pytest.param(Usage(), Usage(calls=1, cost_usd=0.2), 0.2, id="nothing and known"),
        pytest.param(Usage(calls=1, cost_usd=0.2), Usage(), 0.2, id="known and nothing"),
        pytest.param(Usage(calls=1), Usage(calls=1, cost_usd=0.2), None, id="unknown and known"),
        pytest.param(Usage(calls=1, cost_usd=0.2), Usage(calls=1), None, id="known and unknown"),
        pytest.param(Usage(calls=1, cost_usd=0.0), Usage(calls=1, cost_usd=0.0), 0.0, id="free is known"),
        pytest.param(Usage(), Usage(), None, id="nothing at all"),
    ],
)
def test_the_cost_of_a_sum_is_known_only_when_its_parts_are(one: Usage, two: Usage, cost: float | None) -> None:
    assert (one + two).cost_usd == cost


def test_only_usages_can_be_added_to_usages() -> None:
    assert Usage().__add__(1) is NotImplemented  # type: ignore[operator]
    with pytest.raises(TypeError):
        Usage() + 1  # type: ignore[operator]


def test_a_decision_has_a_winner_only_when_it_passed_with_one() -> None:
    assert Decision(rule="plurality", winners=("a",), passed=True).winner == "a"
    assert Decision(rule="plurality", winners=("a",)).winner is None
    assert Decision(rule="plurality", winners=("a", "b"), is_tie=True).winner is None
    assert Decision(rule="plurality").winner is None


def turn(agent: str, answer: AgentResponse | BallotAnswer, slot: int = 0) -> Turn:
    return Turn(round=1, stage="main", slot=slot, agent_id=agent, timestamp=NOON, result=TurnResult(answer=answer))


def test_the_responses_of_a_round_are_its_answered_positions() -> None:
    failed = FailedTurn(
        round=1, stage="main", slot=1, agent_id="bo", timestamp=NOON, error=ErrorInfo(name="E", message="m", code="C")
    )
    record = RoundRecord(
        number=1, turns=(turn("ada", position("ada")), failed, turn("cy", BallotAnswer(choice="x"), slot=2))
    )
    assert record.responses == (position("ada"),)
    assert [one.key for one in record.turns] == [TurnKey(1, "main", slot) for slot in range(3)]
    assert [type(one) for one in RoundRecord.from_json(record.to_json()).turns] == [Turn, FailedTurn, Turn]


def test_a_roster_is_complete_when_no_turn_failed() -> None:
    def entry(failed: int) -> RosterEntry:
        return RosterEntry(agent_id="a", agent_name="A", provider="p", answered=1, failed=failed)

    assert Roster(agents=(entry(0), entry(0))).complete
    assert not Roster(agents=(entry(0), entry(1))).complete


@pytest.mark.parametrize("slots", [(1,), (0, 0), (1, 0), (0, 2)], ids=str)
def test_slots_of_a_stage_count_from_zero(slots: tuple[int, ...]) -> None:
    with pytest.raises(ValidationError, match=rf"stage 's': slots must be 0 to {len(slots) - 1} in order"):
        Stage(name="s", turns=tuple(TurnSpec(slot=slot, agent="a") for slot in slots))


def test_an_error_as_data_is_the_dictionary_of_the_error() -> None:
    error = AgentError(
        "no", provider="p", cause=ValueError("why"), request_id="r", retry_after_s=1.5, details={"a": [1]}
    )
    info = ErrorInfo.model_validate(error.to_dict())
    assert info.model_dump(mode="json", exclude_none=True) == error.to_dict()
    assert (info.cause, info.hint) == ("why", AgentError.default_hint)


def test_a_secret_is_not_shown() -> None:
    shown = repr(ProviderConfig(api_key="sk-secret", client=object(), base_url="http://127.0.0.1/v1"))
    assert shown == "ProviderConfig(base_url='http://127.0.0.1/v1', timeout_s=120.0)"


def test_an_event_stream_leaves_out_unknown_fields_but_keeps_null_in_free_json() -> None:
    event = AgentToolResult(
        session_id="s", seq=4, timestamp=NOON, agent="a", round=1, step=1, tool_call_id="t", result={"found": None}
    )
    assert event.to_wire() == {
        "type": "agent_tool_result",
        "data": {
            "sessionId": "s",
            "timestamp": "2026-01-02T12:00:00Z",
            "seq": 4,
            "agent": "a",
            "round": 1,
            "step": 1,
            "toolCallId": "t",
            "result": {"found": None},
        },
    }


def test_an_event_stream_keeps_that_an_agent_sends_no_temperature() -> None:
    silent = AgentConfig(id="a", name="A", provider="scripted", temperature=None)
    usual = AgentConfig(id="b", name="B", provider="scripted")
    event = Control(session_id="s", timestamp=NOON, action="resume", agents=(silent, usual))
    wire = event.to_wire()
    assert [agent["temperature"] for agent in wire["data"]["agents"]] == [None, 0.7]
    assert Control.model_validate({"type": wire["type"], **wire["data"]}) == event


def test_the_serialized_form_of_an_agent_has_the_same_schema() -> None:
    assert AgentConfig.model_json_schema(mode="serialization") == AgentConfig.model_json_schema(mode="validation")


def test_both_kinds_of_consensus_keep_their_class_inside_others() -> None:
    for consensus in (ConsensusResult(agreement_level=0.5), AIConsensusResult(agreement_level=0.5)):
        result = RoundResult(round_number=1, responses=(), consensus=consensus)
        assert type(result.consensus) is type(consensus)
        assert type(RoundResult.from_json(result.to_json()).consensus) is type(consensus)


def test_equal_fields_make_equal_values() -> None:
    one, same, other = (Citation(title=title, url="u") for title in ("a", "a", "b"))
    assert one == same
    assert one != other
    assert len({one, same, other}) == 2


def test_a_decision_reads_as_its_rule_and_its_reason() -> None:
    assert str(Decision(rule="plurality", why="a leads by 1")) == "plurality: a leads by 1"


def test_a_changed_copy_drops_values_computed_from_the_old_fields() -> None:
    said = AgentResponse(agent_id="ada", agent_name="Ada", position="Tea.")
    turn = Turn(
        round=1, stage="positions", slot=0, agent_id="ada", timestamp=datetime.now(UTC), result=TurnResult(answer=said)
    )
    held = RoundRecord(number=1, turns=(turn,))
    assert held.responses == (said,)
    emptied = held.model_copy(update={"turns": ()})
    assert (emptied.responses, held.responses) == ((), (said,))
    assert held.model_copy(update={"complete": True}).responses == (said,)
    assert held == RoundRecord(number=1, turns=(turn,))
    assert held.to_json() == RoundRecord(number=1, turns=(turn,)).to_json()
    assert emptied.model_fields_set == {"number", "turns"}


def test_a_sum_of_usages_has_all_fields_set() -> None:
    total = Usage(input_tokens=3, calls=1, cost_usd=0.25) + Usage(output_tokens=2, calls=1, cost_usd=0.5)
    assert total == Usage(input_tokens=3, output_tokens=2, calls=2, cost_usd=0.75)
    assert Usage.from_json(total.to_json()) == total
    assert total.model_copy(update={"calls": 3}).calls == 3


@pytest.mark.parametrize(
    ("value", "change", "hint"),
    [
        (AgentConfig(id="a", name="A", provider="p"), {"temprature": 0.0}, "did you mean 'temperature'?"),
        (ChatRequest(messages=()), {"max_token": 3}, "did you mean 'max_tokens'?"),
        (ChatRequest(messages=()), {"xyz": 3}, "its fields are "),
    ],
)
@pytest.mark.parametrize("deep", [False, True])
def test_a_copy_with_a_field_that_does_not_exist_is_refused(
    value: Value, change: dict[str, Any], hint: str, deep: bool
) -> None:
    (name,) = change
    with pytest.raises(TypeError, match=rf"{type(value).__name__} has no field '{name}'; {re.escape(hint)}"):
        value.model_copy(update=change, deep=deep)


@pytest.mark.parametrize(
    ("error", "rejects"),
    [
        pytest.param(ParseError("no JSON"), True, id="unreadable"),
        pytest.param(AgentError("no", code="AGENT_REFUSED"), True, id="refused"),
        pytest.param(AgentError("raised ValueError", cause=ValueError()), True, id="raised by the agent"),
        pytest.param(AgentError("bad request", details={"status": 400}), False, id="refused call"),
        pytest.param(AgentError("exited 1", details={"exit_code": 1}), False, id="failed program"),
        pytest.param(AgentError("no answer", retryable=True), False, id="no answer to the call"),
        pytest.param(APITimeoutError("late"), False, id="too late"),
        pytest.param(BudgetExceeded("spent"), False, id="over budget"),
    ],
)
def test_a_failed_turn_knows_whether_an_answer_was_the_reason(error: RoundtableError, rejects: bool) -> None:
    info = ErrorInfo.model_validate(error.to_dict())
    failed = FailedTurn(round=1, stage="main", slot=0, agent_id="bo", timestamp=NOON, error=info)
    assert failed.rejects_answer is rejects
