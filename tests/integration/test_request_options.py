"""Every option of a debate can be given at every front, and means the same there."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest
from integration.engine_kit import some_every_day
from integration.mcp_kit import connected, server_of
from integration.server_kit import client_of, served_table
from typer.main import get_command

from roundtable import Budget, Roundtable, sync
from roundtable.api import options as caller_options
from roundtable.cli.app import app
from roundtable.client import keywords
from roundtable.core.types.base import field_docs
from roundtable.core.types.request import ConversationRequest, DebateRequest, ExtendRequest, ForkRequest, ResumeRequest
from roundtable.mcp.inputs import ContinueInput, StartInput
from roundtable.mcp.listing import tool_list
from roundtable.server.request_bodies import ConversationBody, DebateBody, ExtendBody, ForkBody, ResumeBody
from roundtable.storage import MemoryStorage
from roundtable.testing import scripted_agents
from roundtable.types import Attachment

if TYPE_CHECKING:
    from roundtable.types import DebateConfig

TOPIC = "Tea or coffee?"
OPTIONS = [name for name in DebateRequest.model_fields if name != "topic"]

GIVEN: dict[str, tuple[Any, Any]] = {
    "mode": ("delphi", "delphi"),
    "rounds": (2, 2),
    "agents": (scripted_agents({"ada": "Tea", "bo": "Tea"}), ["ada", "bo"]),
    "options": (["Tea", "Coffee"], ["Tea", "Coffee"]),
    "attachments": ([Attachment(name="a.md", text="Tea.")], [{"name": "a.md", "text": "Tea."}]),
    "decide": ("supermajority(2/3)", "supermajority(2/3)"),
    "vote": ("every", "every"),
    "exit_when": ("consensus(0.75)", "consensus(0.75)"),
    "exit_on_consensus": (True, True),
    "quorum": (2, 2),
    "focus_question": ("Which is cheaper?", "Which is cheaper?"),
    "perspectives": (["cost", "taste"], ["cost", "taste"]),
    "search": (False, False),
    "baseline": (True, True),
    "synthesize": (True, True),
    "claims": (True, True),
    "answer_schema": ({"type": "object", "title": "Drink"}, {"type": "object", "title": "Drink"}),
    "skip_rounds_when": (0.9, 0.9),
    "budget": (Budget(max_calls=90), {"maxCalls": 90}),
    "deadline_s": (60.0, 60.0),
    "metadata": ({"ticket": "OPS-7"}, {"ticket": "OPS-7"}),
}
"""For each option, a value in Python and the same as JSON."""


def camel(name: str) -> str:
    """Write a name as JSON does."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


@pytest.mark.parametrize("table", [Roundtable, sync.Roundtable], ids=["async", "sync"])
def test_the_signature_of_debate_lists_every_option(table: type) -> None:
    parameters = inspect.signature(table.debate).parameters
    assert [name for name in parameters if name not in {"self", "topic"}] == OPTIONS
    for name in OPTIONS:
        default = DebateRequest.model_fields[name].get_default(call_default_factory=True)
        assert parameters[name].default == (None if name == "metadata" else default), name


def test_help_describes_every_option() -> None:
    documented = inspect.getdoc(Roundtable.debate)
    assert documented is not None
    assert [name for name in ("topic", *OPTIONS) if f"\n    {name}: " not in documented] == []


@pytest.mark.parametrize(
    ("listed", "request_type", "without"),
    [
        (caller_options.DebateOptions, DebateRequest, {"topic"}),
        (keywords.DebateKeywords, DebateRequest, {"topic"}),
        (keywords.ForkKeywords, ForkRequest, {"at_round"}),
        (keywords.ConversationKeywords, ConversationRequest, {"agents", "messages"}),
        (keywords.ResumeKeywords, ResumeRequest, set()),
        (keywords.ExtendKeywords, ExtendRequest, set()),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_keywords_list_every_option(listed: type, request_type: type, without: set[str]) -> None:
    assert set(listed.__annotations__) - {"step"} == set(request_type.model_fields) - without


@pytest.mark.parametrize(
    ("body", "request_type"),
    [
        (DebateBody, DebateRequest),
        (ForkBody, ForkRequest),
        (ConversationBody, ConversationRequest),
        (ResumeBody, ResumeRequest),
        (ExtendBody, ExtendRequest),
        (StartInput, DebateRequest),
        (ContinueInput, ResumeRequest),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_servers_describe_every_option_in_the_words_of_the_request(body: type, request_type: type) -> None:
    properties, docs = body.model_json_schema()["properties"], field_docs(request_type)
    assert [name for name in request_type.model_fields if camel(name) not in properties] == []
    written = {name: " ".join(properties[camel(name)]["description"].split()) for name in request_type.model_fields}
    own = {"mode"} if body is StartInput else set()
    for name in request_type.model_fields.keys() - own:
        assert written[name] == " ".join(docs[name].split()), name


def test_the_list_of_tools_that_clients_load_is_that_of_the_types() -> None:
    start = next(tool for tool in tool_list().tools if tool.name == "start_roundtable")
    assert set(start.input_schema["properties"]) == {camel(name) for name in StartInput.model_fields}
    assert next(iter(start.input_schema["properties"])) == "topic"


@pytest.mark.parametrize("body", [ForkBody, ForkRequest])
def test_a_fork_has_no_defaults_of_a_new_debate(body: type) -> None:
    properties = body.model_json_schema()["properties"]
    assert [name for name in OPTIONS if "default" in properties[camel(name)]] == []


def test_a_request_records_which_options_were_given() -> None:
    request = DebateRequest(topic=TOPIC, rounds=3, options=None)
    assert request.given_options() == {"rounds": 3, "options": None}
    assert ForkRequest(at_round=0).given_options() == {}


@pytest.mark.parametrize("name", ["debate", "fork"])
def test_the_command_takes_every_option(name: str) -> None:
    named = {
        "focus_question": "focus",
        "perspectives": "perspective",
        "deadline_s": "deadline",
        "metadata": "meta",
    }
    taken = {parameter.name for parameter in get_command(app).commands[name].params}
    assert [option for option in OPTIONS if named.get(option, option) not in taken] == []


def test_every_option_has_a_test_value() -> None:
    assert sorted(GIVEN) == sorted(OPTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # uvicorn knows no other
@pytest.mark.parametrize("name", some_every_day(OPTIONS, 4))
async def test_an_option_is_stored_in_the_same_way_from_every_front(name: str) -> None:
    value, written = GIVEN[name]
    here = await _configured_here(name, value)
    assert await _configured_over_http(name, written) == here
    assert await _configured_over_mcp(name, written) == here
    if name not in {"deadline_s", "search"}:  # these are not part of the configuration
        assert here != await _configured_here("rounds", 3)


async def _configured_here(name: str, value: Any) -> DebateConfig:
    table = served_table()
    result = await table.debate(TOPIC, **{"mode": _mode_for(name), name: value})
    return (await table._wiring.sessions.load(result.session_id)).record.config


async def _configured_over_http(name: str, written: Any) -> DebateConfig:
    table = served_table()
    body = {"topic": TOPIC, "mode": _mode_for(name), camel(name): written}
    async with table, client_of(table) as web:
        answered = await web.post("/api/debates?wait=20", json=body)
        assert answered.status_code == 200, answered.text
        return (await table._wiring.sessions.load(answered.json()["sessionId"])).record.config


async def _configured_over_mcp(name: str, written: Any) -> DebateConfig:
    storage = MemoryStorage()
    async with connected(server_of(storage=storage)) as client:
        arguments = {"topic": TOPIC, "mode": _mode_for(name), "wait": 20} | {camel(name): written}
        answered = await client.call_tool("start_roundtable", arguments)
        assert not answered.is_error, answered.content[0].text
        session_id = answered.structured_content["sessionId"]
    table = served_table(storage=storage, tenant="default")
    return (await table._wiring.sessions.load(session_id)).record.config


def _mode_for(name: str) -> str:
    return "expert-panel" if name == "perspectives" else "collaborative"
