"""The OpenAPI document is whole, and the server keeps to it whatever it is sent."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import anyio
import jsonschema
import pytest
from integration.server_kit import client_of, served, served_table, token_for

from roundtable import Roundtable
from roundtable.api import AgentProfile
from roundtable.errors import AgentError
from roundtable.server import create_app
from roundtable.server.errors import STATUSES
from roundtable.server.limits import Limits
from roundtable.testing import ScriptedModel, scripted_agents

if TYPE_CHECKING:
    from pathlib import Path

    from roundtable.types import Event

_NO_LIMITS = Limits(
    conversations_per_hour=None, concurrent=None, rounds_per_day=None, streams_per_user=None, streams_total=None
)


@cache
def document() -> dict[str, Any]:
    return json.loads(json.dumps(create_app(Roundtable(storage="memory://")).openapi()))


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [(path, method, one) for path, item in document()["paths"].items() for method, one in item.items()]


@pytest.mark.slow
def test_every_operation_documents_its_parameters_results_and_errors() -> None:
    names = [one["operationId"] for _, _, one in operations()]
    assert len(set(names)) == len(names)
    for path, method, one in operations():
        place = f"{method} {path}"
        assert one["description"], place
        assert len(one["tags"]) == 1, place
        assert "HTTPValidationError" not in json.dumps(one), place
        assert any(status.startswith("2") for status in one["responses"]), place
        assert {"403", "421", "500"} <= one["responses"].keys(), place
        assert ("401" in one["responses"]) == (path not in {"/health", "/ready"}), place
        for status, told in one["responses"].items():
            assert told["description"], (place, status)


@pytest.mark.slow
def test_every_reference_has_its_component_and_no_component_is_unused() -> None:
    pointed = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document())))
    assert pointed == document()["components"]["schemas"].keys()


@pytest.mark.slow
def test_schemas_are_valid_and_examples_match_them() -> None:
    defs = {"components": document()["components"]}
    for name, schema in document()["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema.get("description") or name == "JsonValue", name
    for _, _, one in operations():
        for held in (one.get("requestBody"), *one["responses"].values()):
            content = (held or {}).get("content", {}).get("application/json", {})
            shown = [told["value"] for told in content.get("examples", {}).values()]
            for example in [*shown, *([content["example"]] if "example" in content else [])]:
                jsonschema.validate(example, {**content["schema"], **defs})


@pytest.mark.slow
def test_every_code_has_a_status_that_is_described() -> None:
    described = " ".join(told["description"] for _, _, one in operations() for told in one["responses"].values())
    told = {status for _, _, one in operations() for status in one["responses"]}
    assert {str(status) for status in STATUSES.values()} - told == {"405"}
    for code in ("VALIDATION_ERROR", "AGENT_NOT_FOUND", "MAX_ROUNDS_EXCEEDED", "RATE_LIMIT_EXCEEDED", "QUORUM_LOST"):
        assert code in described


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_audit_of_a_debate_without_a_round_is_described() -> None:
    failing = served_table(agents=scripted_agents({name: AgentError("the model is gone") for name in ("ada", "bo")}))
    async with client_of(failing) as web:
        failed = await web.post("/api/debates?wait=20", json={"topic": "Tea?", "rounds": 1})
        audit = await web.get(f"/api/sessions/{failed.json()['details']['sessionId']}/audit")
    responses = document()["paths"]["/api/sessions/{sessionId}/audit"]["get"]["responses"]
    assert audit.status_code == 409
    assert "409" in responses


@pytest.mark.anyio
async def test_events_of_a_debate_and_of_a_team_fit_their_schemas() -> None:
    says = {"initiator": {"goal": "Name it."}, "scout": "It is Paris.", "summarizer": "Paris."}
    heard: list[Event] = []
    debaters = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://", observers=[heard.append])
    await debaters.debate("Tea?", rounds=1)
    team = Roundtable(
        [ScriptedModel(says)], storage="memory://", profiles=[AgentProfile("scout")], observers=[heard.append]
    )
    await team.converse(agents=["scout"], messages="Capital?", rounds=1)
    schema = {"$ref": "#/components/schemas/EventMessage", "components": document()["components"]}
    validator = jsonschema.Draft202012Validator(schema)
    for event in heard:
        validator.validate(json.loads(json.dumps(event.to_wire())))
    assert len({event.type for event in heard}) >= 13
    mapping = document()["components"]["schemas"]["EventMessage"]["discriminator"]["mapping"]
    assert {event.type for event in heard} <= mapping.keys()


async def _schemathesis(folder: Path, *arguments: str) -> str:
    """Send the server what its document allows, and what it does not; give what was found."""
    clerk = ScriptedModel([{"conclusion": "Tea."}] * 10_000)
    table = served_table(profiles=[AgentProfile("scout")], seats={"synthesizer": clerk})
    token = await token_for(table, "ann", "read", "write", "admin")
    async with served(create_app(table, limits=_NO_LIMITS)) as url:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/api/openapi.json", "--no-color"]
        # That a name is well formed does not make it that of an agent, a mode or a rule.
        command += ["-H", f"Authorization: Bearer {token}", "--exclude-checks", "positive_data_acceptance"]
        ran = await anyio.run_process([*command, *arguments], check=False, cwd=folder)
        assert ran.returncode == 0, ran.stdout.decode()[-8000:] + ran.stderr.decode()[-2000:]
        return ran.stdout.decode()


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_server_keeps_to_its_document(tmp_path: Path) -> None:
    said = await _schemathesis(tmp_path, "--phases", "examples,fuzzing", "--max-examples", "8", "--seed", "1")
    assert f"{len(operations())} selected / {len(operations())} total" in said


@pytest.mark.deep
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_server_keeps_to_its_document_in_every_corner(tmp_path: Path) -> None:
    await _schemathesis(tmp_path, "--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "60")
