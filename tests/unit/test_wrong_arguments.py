"""Wrong arguments of public functions are a `ConfigurationError` that says what to write instead."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

import roundtable as rt
from roundtable import sync
from roundtable.bench import Question, run_study
from roundtable.client import RoundtableClient
from roundtable.client.sync import SyncRoundtableClient
from roundtable.core.base.arguments import explains_arguments
from roundtable.errors import ConfigurationError, StorageError
from roundtable.testing import scripted_agents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def table(**options: Any) -> Any:
    return sync.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), **{"storage": "memory://", **options})


def plain(item: Any) -> Any:
    return sync.Roundtable([item], storage="memory://").debate("Tea?")


CALLS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "tools of a table": (
        lambda: rt.debate_sync("Tea?", storage="memory://", tools=[]),  # type: ignore[call-arg]
        "debate() has no argument 'tools'",
        "`tools` belongs to `Roundtable(...)`.",
    ),
    "ids instead of results": (
        lambda: table().resume_many(["4f1c"]),
        "results must be Results of debate_many, not list",
        "call resume(session_id) for each",
    ),
    "tools of a table, later": (
        lambda: table().debate_many(["Tea?"], tools=[]),
        "a debate has no option 'tools'",
        "`tools` belongs to `Roundtable(...)`.",
    ),
    "rounds of a debate": (
        lambda: table(rounds=2),
        "Roundtable() has no argument 'rounds'",
        "`rounds` belongs to `debate(...)`.",
    ),
    "typo": (lambda: table().debate("Tea?", round=2), "debate() has no argument 'round'", "Did you mean 'rounds'?"),
    "typo, passed on": (
        lambda: table().debate_many(["Tea?"], round=2),
        "a debate has no option 'round'",
        "Did you mean 'rounds'?",
    ),
    "unlike anything": (lambda: table().pause("s1", xyz=2), "pause() has no argument 'xyz'", "session_id, running"),
    "no question": (lambda: table().debate(), "debate(): missing 1 required positional argument: 'topic'", "topic,"),
    "fork without a round": (lambda: table().fork("s1", at=1), "fork() has no argument 'at'", "at_round"),
    "list of sessions": (
        lambda: table().sessions("paused"),
        "sessions() takes a SessionFilter, not 'paused'",
        "Write ",
    ),
    "budget": (
        lambda: rt.Budget(max_cost=1),  # type: ignore[call-arg]
        "Budget has no field 'max_cost'",
        "Did you mean 'max_cost_usd'?",
    ),
    "budget below 0": (lambda: rt.Budget(max_cost_usd=-1), "Budget.max_cost_usd: Input should be greater than 0", ""),
    "agent": (
        lambda: rt.AgentConfig(id="a", name="A", provider="openai", modell="x"),  # type: ignore[call-arg]
        "AgentConfig has no field 'modell'",
        "Did you mean 'model'?",
    ),
    "agent without a name": (
        lambda: rt.AgentConfig(id="a", provider="openai"),  # type: ignore[call-arg]
        "AgentConfig needs the field 'name'",
        "Pass name=",
    ),
    "filter": (lambda: rt.SessionFilter(stat="x"), "SessionFilter has no field 'stat'", "'status'"),  # type: ignore[call-arg]
    "question": (lambda: Question(id="1", question="2 + 2?", answer="4"), "Question has no field 'answer'", "gold"),  # type: ignore[call-arg]
    "provider": (
        lambda: rt.ProviderConfig(key="x"),  # type: ignore[call-arg]
        "ProviderConfig() has no argument 'key'",
        "api_key",
    ),
    "exit": (
        lambda: rt.ConsensusReached(level=1),  # type: ignore[call-arg]
        "ConsensusReached() has no argument 'level'",
        "threshold",
    ),
    "no ballots": (rt.decide, "decide(): missing 1 required positional", "ballots, rule"),  # type: ignore[call-arg]
    "tool": (lambda: rt.tool(retry=True), "tool() has no argument 'retry'", "Did you mean 'retryable'?"),  # type: ignore[call-overload]
    "client": (
        lambda: RoundtableClient("http://127.0.0.1:1", key="x"),  # type: ignore[call-arg]
        "RoundtableClient() has no argument 'key'",
        "token",
    ),
    "blocking client": (
        lambda: SyncRoundtableClient("http://127.0.0.1:1", key="x"),  # type: ignore[call-arg]
        "SyncRoundtableClient() has no argument 'key'",
        "token",
    ),
    "study": (
        lambda: sync.run_study(table(), [Question(id="1", question="2 + 2?", gold="4")], mode=["delphi"], tools=[]),  # type: ignore[call-arg]
        "",
        "",
    ),
    "model without provider": (
        lambda: plain("gpt-5.2"),
        "unknown provider 'gpt-5.2'. Did you mean 'openai:gpt-5.2'?",
        "",
    ),
    "another vendor's model": (lambda: plain("claude-opus-4-5"), "Did you mean 'anthropic:claude-opus-4-5'?", ""),
    "misspelt provider": (lambda: plain("openia:gpt-5.2"), "unknown provider 'openia'. Did you mean 'openai'?", ""),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_is_named_with_its_replacement(name: str) -> None:
    call, message, hint = CALLS[name]
    with pytest.raises(ConfigurationError) as raised:
        call()
    assert message in raised.value.message
    assert hint in (raised.value.hint or "")


@pytest.mark.both_loops
async def test_async_methods_report_wrong_arguments_in_the_same_way() -> None:
    async with rt.Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://") as asynchronous:
        with pytest.raises(ConfigurationError, match="no argument 'tools'") as raised:
            await asynchronous.debate("Tea?", tools=[])  # type: ignore[call-arg]
        assert raised.value.hint == "`tools` belongs to `Roundtable(...)`."
        with pytest.raises(ConfigurationError, match="run_study"):
            await run_study(asynchronous)  # type: ignore[call-arg]
    with pytest.raises(ConfigurationError, match="no argument 'tools'"):
        await rt.debate("Tea?", storage="memory://", tools=[])  # type: ignore[call-arg]


def test_a_type_error_from_inside_a_function_stays_as_it_is() -> None:
    @explains_arguments
    def broken(item: str) -> str:
        return item + 1  # type: ignore[operator]

    with pytest.raises(TypeError, match="can only concatenate str"):
        broken("tea")


def test_values_that_are_parsed_raise_the_errors_of_parsing() -> None:
    with pytest.raises(ValueError, match="maxCost"):
        rt.DebateConfig.model_validate({"topic": "Tea?", "budget": {"maxCost": 1}})


def test_a_blocking_call_in_an_async_tool_says_what_to_do() -> None:
    problems: list[ConfigurationError] = []

    @rt.tool
    async def ask() -> str:
        """Ask another table."""
        try:
            table().debate("Milk?", rounds=1)
        except ConfigurationError as error:
            problems.append(error)
        return "nothing"

    def reply(request: Any) -> object:
        called = any(message.role == "tool" for message in request.messages)
        return {"position": "Tea"} if called else {"toolCalls": [{"name": "ask", "args": {}}]}

    agents = [rt.providers.ScriptedModel(reply)]
    sync.Roundtable(agents, storage="memory://", tools=[ask]).debate("Tea?", rounds=1)
    assert "in an async tool" in problems[0].message
    assert "plain `def`" in (problems[0].hint or "")


def test_a_storage_path_that_cannot_be_searched_is_a_storage_error(tmp_path: Path) -> None:
    paths = [tmp_path / ("long" * 100) / "table.db"]
    if os.geteuid():
        closed = tmp_path / "closed"
        closed.mkdir(mode=0)
        paths.append(closed / "folder" / "table.db")
    for path in paths:
        with pytest.raises(StorageError, match="cannot be created") as raised:
            table(storage=f"sqlite:///{path}").debate("Tea?", rounds=1)
        assert "another file" in (raised.value.hint or "")
