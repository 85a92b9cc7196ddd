"""Answers in the caller's own type: asked for on every front, checked, and kept with the answer."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pytest
from integration.mcp_kit import call, connected, server_of
from integration.server_kit import client_of, served_table
from pydantic import BaseModel

from roundtable import Roundtable
from roundtable.core.types.plan import BASELINE_STAGE
from roundtable.errors import (
    AgentError,
    APIRateLimitError,
    BudgetExceeded,
    ConfigurationError,
    QuorumLost,
    StorageError,
)
from roundtable.providers import HumanModel, ScriptedModel
from roundtable.results import DebateResult
from roundtable.storage import MemoryStorage
from roundtable.testing import VendorServer, scripted_agents
from roundtable.types import ChatResponse, Usage

if TYPE_CHECKING:
    from roundtable.types import ChatRequest, JsonObject

TOPIC = "Which city is the capital of Portugal?"


class City(BaseModel):
    """A city."""

    name: str
    country: Literal["Portugal", "Spain"]
    people: int | None = None


SCHEMA: JsonObject = City.model_json_schema()


def said(name: str, value: object = None, **more: object) -> dict[str, Any]:
    """An answer, with a value if there is one."""
    given = {} if value is None else {"value": value}
    return {"position": f"{name}.", "bottom_line": name, "reasoning": "", "confidence": 0.8, **given, **more}


LISBON = said("Lisbon", {"name": "Lisbon", "country": "Portugal", "people": 545_000})


async def held(answers: dict[str, Any], **options: Any) -> DebateResult:
    async with Roundtable(scripted_agents(answers), storage="memory://", analyzer="declared") as table:
        return await table.debate(TOPIC, **{"rounds": 1, "answer_schema": City, **options})


async def test_the_value_of_the_agents_that_hold_the_answer_is_the_value_of_the_debate() -> None:
    madrid = said("Madrid", {"name": "Madrid", "country": "Spain"})
    result = await held({"ada": LISBON, "bo": LISBON, "cy": madrid})
    assert result.answer == "Lisbon"
    assert City.model_validate(result.value) == City(name="Lisbon", country="Portugal", people=545_000)
    assert result.values["cy"] == {"name": "Madrid", "country": "Spain"}
    assert result.config.answer_schema == SCHEMA
    again = DebateResult.model_validate_json(result.model_dump_json())
    assert (again.value, again.values) == (result.value, result.values)
    row = next(row for row in result.to_records() if row["agentId"] == "ada")
    assert json.loads(str(row["value"])) == result.value
    assert '"people":545000' in result.to_markdown()
    assert "545000" in result.to_html()


async def test_different_values_give_the_debate_no_value() -> None:
    other = said("Lisbon", {"name": "Lisbon", "country": "Portugal"})
    result = await held({"ada": LISBON, "bo": other})
    assert result.answer == "Lisbon"
    assert (result.value, len(result.values)) == (None, 2)
    assert (await held({"ada": LISBON, "bo": said("Porto", LISBON["value"])})).value is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"name": "Lisbon"}, "value: 'country' is a required property"),
        ({"name": 7, "country": "Portugal"}, "value.name: 7 is not of type 'string'"),
        ("Lisbon", 'there is no object "value"'),
        (None, 'there is no object "value"'),
        ([LISBON["value"]], 'there is no object "value"'),
        ({"name": "L" * 20_000, "country": "Portugal"}, "the value has more than 16,000 characters"),
    ],
    ids=["incomplete", "wrong type", "text", "missing", "list", "too long"],
)
async def test_an_answer_with_an_invalid_value_is_requested_once_more(value: object, problem: str) -> None:
    result = await held({"ada": [said("Lisbon", value), LISBON]})
    assert result.value == LISBON["value"]
    assert result.usage.calls == 2
    never = await held({"ada": said("Lisbon", value)})
    (turn,) = never.rounds[0].turns
    assert turn.outcome == "answered"
    assert f"the value does not count: {problem}" in turn.result.warnings
    assert (never.answer, never.value, never.usage.calls) == ("Lisbon", None, 2)


async def test_the_model_is_told_what_is_wrong_and_a_worse_second_answer_is_ignored() -> None:
    asked: list[ChatRequest] = []

    def reply(request: ChatRequest) -> object:
        asked.append(request)
        return said("Lisbon", {"name": 7, "country": "Portugal"}) if len(asked) == 1 else "Sorry, I cannot do that."

    agent = ScriptedModel(reply)
    async with Roundtable([agent], storage="memory://") as table:
        result = await table.debate(TOPIC, rounds=1, answer_schema=City)
    assert result.answer == "Lisbon"
    assert "value.name: 7 is not of type 'string'" in asked[1].messages[-1].content
    prompt = asked[0].messages[-1].content
    assert '"value": an object that says the same as your position' in prompt
    assert '"enum": ["Portugal", "Spain"]' in prompt


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"x": 1}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(("depth", "kept"), [(60, True), (70, False), (260, False), (400, False)])
async def test_a_deeply_nested_value_loses_no_answer(depth: int, kept: bool) -> None:
    result = await held({"ada": said("Lisbon", nested(depth))}, answer_schema={"type": "object"})
    assert (result.answer, result.value is not None) == ("Lisbon", kept) or depth == 400  # not read as JSON at all
    assert result.rounds[0].responses[0].agent_id == "ada"
    DebateResult.model_validate_json(result.model_dump_json())


@pytest.mark.parametrize(
    "failure",
    [
        APIRateLimitError("too many requests"),
        AgentError("the model is gone"),
        BudgetExceeded("nothing is left"),
        ChatResponse(text="I won't.", finish_reason="refusal", usage=Usage(calls=1)),
    ],
    ids=["rate limit", "agent", "budget", "refusal"],
)
async def test_a_readable_answer_survives_if_the_agent_cannot_be_asked_again(failure: object) -> None:
    result = await held({"ada": [said("Lisbon", {"name": 7}), failure]})
    assert (result.status, result.answer, result.value) == ("completed", "Lisbon", None)
    (turn,) = result.rounds[0].turns
    assert turn.outcome == "answered"
    assert [warning for warning in turn.result.warnings if "could not be asked again" in warning]
    assert [warning for warning in turn.result.warnings if "the value does not count" in warning]


async def test_other_faults_are_not_hidden_by_a_readable_answer() -> None:
    with pytest.raises(QuorumLost, match="the disk is full"):
        await held({"ada": [said("Lisbon", {"name": 7}), StorageError("the disk is full")]})


async def test_prose_has_no_value_and_a_warning_says_so() -> None:
    result = await held({"ada": "Lisbon, without doubt."})
    (turn,) = result.rounds[0].turns
    assert turn.outcome == "answered"
    assert 'the value does not count: there is no object "value"' in turn.result.warnings


async def test_a_model_with_structured_output_gets_the_schema_with_its_definitions_at_the_root() -> None:
    @dataclass
    class Trip:
        """A trip to two cities."""

        start: City
        end: City

    value = {"start": LISBON["value"], "end": LISBON["value"]}
    with VendorServer("openai", lambda seen: said("Lisbon", value)) as server:
        table = Roundtable(["openai"], providers={"openai": server.config}, storage="memory://")
        async with table:
            result = await table.debate(TOPIC, rounds=1, answer_schema=Trip)
        assert result.value == value
        schema = server.seen[0].json["text"]["format"]["schema"]
    assert schema["properties"]["value"]["properties"]["start"] == {"$ref": "#/$defs/City"}
    assert "City" in schema["$defs"]
    assert "$defs" not in schema["properties"]["value"]


async def test_values_survive_storing_forking_and_further_rounds() -> None:
    storage = MemoryStorage()
    async with Roundtable(scripted_agents({"ada": LISBON, "bo": LISBON}), storage=storage) as table:
        first = await table.debate(TOPIC, rounds=1, answer_schema=SCHEMA)
        assert (await table.session(first.session_id)).value == LISBON["value"]
        more = await table.extend(first.session_id, rounds=1)
        assert more.rounds[1].responses[0].value == LISBON["value"]
        forked = await table.fork(first.session_id, at_round=1, rounds=2)
        assert forked.value == LISBON["value"]
        plan = table.describe(TOPIC, answer_schema=City)
        assert plan["answerSchema" if "answerSchema" in plan else "answer_schema"] == SCHEMA
        many = await table.debate_many([TOPIC], rounds=1, answer_schema=City, name="cities")
        assert [result.value for result in many.held] == [LISBON["value"]]


async def test_other_agents_do_not_see_values_and_private_answers_have_none() -> None:
    seen: list[ChatRequest] = []

    def reply(request: ChatRequest) -> object:
        seen.append(request)
        return LISBON

    agents = [ScriptedModel(reply, model=name) for name in ("ada", "bo")]
    async with Roundtable(agents, storage="memory://") as table:
        result = await table.debate(TOPIC, rounds=2, answer_schema=City, baseline=True, mode="delphi")
    prompts = ["\n".join(message.content for message in request.messages) for request in seen]
    assert not any("545000" in prompt for prompt in prompts)
    assert sum('"value": an object' in prompt for prompt in prompts) == 4
    private = [turn for turn in result.rounds[0].turns if turn.stage == BASELINE_STAGE]
    assert [turn.answer.value for turn in private if turn.outcome == "answered"] == [None, None]


async def test_people_and_tiny_models_are_not_asked_for_values() -> None:
    person = HumanModel(lambda turn: "Lisbon.", model="ada")
    async with Roundtable([person], storage="memory://") as table:
        result = await table.debate(TOPIC, rounds=1, answer_schema=City)
    assert (result.value, result.usage.calls) == (None, 1)
    (turn,) = result.rounds[0].turns
    assert turn.outcome == "answered"
    assert not [warning for warning in turn.result.warnings if "value" in warning]


async def test_a_value_that_was_not_requested_is_dropped() -> None:
    result = await held({"ada": LISBON}, answer_schema=None)
    assert (result.value, result.values) == (None, {})
    assert result.rounds[0].responses[0].value is None


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "string"}, 'must have "type": "object", not \'string\''),
        ({"type": "object", "properties": []}, "is not valid: properties: \\[\\] is not of type 'object'"),
        ({"type": "object", "title": "x" * 16_000}, "has 16,0.. characters"),
        ({"type": "object", "properties": {"a": {"$ref": "https://example.org/a"}}}, "not one of its definitions"),
        ({"type": "object", "properties": {"a": {"pattern": "(a+)+$"}}}, "uses 'pattern', which is not supported"),
        (7, "must be a type or a JSON Schema, not int"),
        (type("Plain", (), {}), "pydantic cannot create a JSON Schema for Plain"),
        (int, 'must have "type": "object", not \'integer\''),
    ],
    ids=["no object", "no schema", "too long", "another document", "pattern", "number", "class", "scalar"],
)
async def test_a_schema_that_cannot_be_requested_is_refused_before_any_call(schema: Any, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        await held({"ada": LISBON}, answer_schema=schema)


async def test_a_missing_extra_is_named_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(ConfigurationError, match="need the extra 'schema'") as refused:
        await held({"ada": LISBON})
    assert "roundtable-sdk[schema]" in str(refused.value.hint)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # uvicorn knows no other
async def test_over_http_and_the_client_the_schema_is_data_and_the_value_is_in_the_result() -> None:
    table = served_table(agents=scripted_agents({"ada": LISBON, "bo": LISBON}))
    async with table, client_of(table) as web:
        body = {"topic": TOPIC, "rounds": 1, "answerSchema": SCHEMA}
        done = (await web.post("/api/debates?wait=20", json=body)).json()
        refused = await web.post("/api/debates?wait=20", json=body | {"answerSchema": {"type": "string"}})
        assert (refused.status_code, "answer schema" in refused.text) == (400, True), refused.text
        session = (await web.get(f"/api/sessions/{done['sessionId']}")).json()
    assert done["value"] == session["value"] == LISBON["value"]


async def test_over_mcp_the_value_is_in_the_result_and_in_the_answers() -> None:
    async with connected(server_of(scripted_agents({"ada": LISBON, "bo": LISBON}))) as client:
        done = await call(client, "start_roundtable", topic=TOPIC, rounds=1, answerSchema=SCHEMA, wait=30)
        details = await call(client, "get_round_details", sessionId=done["sessionId"], roundNumber=1)
    assert done["value"] == LISBON["value"]
    assert [answer["value"] for answer in details["responses"]] == [LISBON["value"]] * 2


async def test_the_values_true_and_1_are_different() -> None:
    says = {
        "ada": {"position": "Tea", "value": {"n": [1]}},
        "bo": {"position": "Tea", "value": {"n": [True]}},
    }
    async with Roundtable(scripted_agents(says), storage="memory://") as table:
        schema = {"type": "object", "properties": {"n": {}}, "required": ["n"]}
        result = await table.debate("Tea?", rounds=1, answer_schema=schema)
    assert (result.answer, result.value, len(result.values)) == ("Tea", None, 2)
