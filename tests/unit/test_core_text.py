"""An error of foreign code that cannot say what it is costs no more than one that can."""

from __future__ import annotations

import logging
import pickle
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import pytest
from integration.engine_kit import CountingModel, by_round, seated, table_of

from roundtable import Roundtable
from roundtable.agents import BaseAgent
from roundtable.core.stages import error_info
from roundtable.errors import AgentError, RoundtableError
from roundtable.exits import Exit
from roundtable.logs import ContextFormatter
from roundtable.modes import CollaborativeMode
from roundtable.protocols import ExitRound
from roundtable.scoring import Rule
from roundtable.storage import MemoryStorage
from roundtable.tools import tool
from roundtable.tools.toolkit import call_tool
from roundtable.types import AgentConfig, ChatRequest, ErrorInfo, ExitResult, Lease, LeaseOwner

UNTOLD = "(it cannot be shown: LookupError)"


class Mute(Exception):
    """Cannot say what it is."""

    def __str__(self) -> str:
        raise LookupError


def mute(*_: object, **__: object) -> NoReturn:
    raise Mute


def test_a_cause_that_cannot_be_shown_is_reported_as_such() -> None:
    assert AgentError("no", cause=Mute()).to_dict()["cause"] == UNTOLD


class Hollow(AgentError):
    """Forgets to make itself whole."""

    def __init__(self, status: int, code: str = "ACME") -> None:
        self.status = status
        self.code = code


def hollow(*_: object, **__: object) -> NoReturn:
    raise Hollow(418)


def test_an_error_whose_class_does_not_call_its_base_is_complete() -> None:
    made = Hollow(418)
    assert not hasattr(made, "temperature")
    facts = {"name": "Hollow", "message": "418", "code": "ACME", "retryable": False}
    assert made.to_dict() == {**facts, "hint": AgentError.default_hint}
    assert (made.status, made.usage, made.partial) == (418, None, None)
    assert Hollow(7).retry_after_s is None
    assert pickle.loads(pickle.dumps(Hollow(418))).to_dict() == made.to_dict()
    with pytest.raises(AttributeError, match="temperature"):
        AgentError().temperature  # type: ignore[attr-defined]  # noqa: B018


class Crooked(AgentError):
    """Has fields that are none, and cannot be told."""

    def __init__(self) -> None:
        super().__init__("no tea")
        self.message = 404  # type: ignore[assignment]
        self.code = ["A"]  # type: ignore[assignment]

    def to_dict(self, *, debug: bool = False) -> NoReturn:
        raise LookupError


def crooked(*_: object, **__: object) -> NoReturn:
    raise Crooked


@pytest.mark.parametrize("fault", [mute, hollow, crooked])
async def test_a_storage_that_raises_such_an_error_ends_its_debate_with_an_error_of_the_library(
    fault: Callable[..., NoReturn],
) -> None:
    class Broken(MemoryStorage):
        broken = False

        async def append(self, *given: Any, **more: Any) -> int:
            return fault() if self.broken else await super().append(*given, **more)

    storage = Broken()
    agents = seated(CountingModel(by_round), "ada", "bo")
    async with Roundtable(agents, storage=storage) as table:
        handle = await table.start("Tea?", rounds=2, step=True)
        await handle.wait()
        storage.broken = True
        with pytest.raises(RoundtableError) as caught:
            await table.resume(handle.session_id)
    assert caught.value.session_id == handle.session_id


async def test_a_lease_that_such_an_error_keeps_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(MemoryStorage):
        async def lease(self, session_id: str, owner: LeaseOwner, ttl: float, *, tenant: str = "default") -> Lease:
            return await super().lease(session_id, owner, ttl, tenant=tenant) if ttl else mute()

    agents = seated(CountingModel(by_round), "ada")
    result = await Roundtable(agents, storage=Broken()).debate("Tea?", rounds=1)
    assert result.status == "completed"
    assert f"the lease was not released: {UNTOLD}" in caplog.text


@pytest.mark.parametrize("fault", [mute, hollow])
async def test_a_tool_that_raises_such_an_error_is_a_failed_call(fault: Callable[..., NoReturn]) -> None:
    @tool
    def look(what: str) -> str:
        """Look."""
        return fault()

    found = await call_tool(look, {"what": "tea"})
    assert not found.success
    assert (UNTOLD if fault is mute else "418") in (found.error or "")


@pytest.mark.parametrize("fault", [mute, hollow])
async def test_a_rule_that_raises_such_an_error_decides_nothing(fault: Callable[..., NoReturn]) -> None:
    table = table_of(CountingModel(by_round), "ada", "bo")
    result = await table.debate("Tea?", rounds=1, decide=Rule("odd", fault))
    assert result.status == "completed"
    assert (result.answer_reason or "").startswith("no decision: the rule 'odd' failed")


def test_an_error_that_cannot_be_shown_is_stored_by_its_kind_and_text() -> None:
    assert error_info(Crooked()) == ErrorInfo(name="Crooked", message="no tea", code="AGENT_ERROR")


@pytest.mark.parametrize("fault", [mute, hollow, crooked])
@pytest.mark.parametrize("broken", ["model", "build_messages", "take_turn"])
async def test_a_debate_continues_without_an_agent_that_raises_such_an_error(
    broken: str, fault: Callable[..., NoReturn]
) -> None:
    def reply(request: ChatRequest) -> dict[str, Any]:
        return fault() if broken == "model" and request.metadata["agent"] == "bo" else by_round(request)

    class Odd(BaseAgent):
        if broken == "build_messages":
            build_messages = fault
        if broken == "take_turn":
            take_turn = fault

    model = CountingModel(reply)
    ada, plain = seated(model, "ada", "bo")
    odd = Odd(AgentConfig(id="bo", name="Bo", provider="scripted"), model)
    agents = [ada, plain if broken == "model" else odd]
    result = await Roundtable(agents, storage="memory://").debate("Tea?", rounds=1)
    (failed,) = [turn for turn in result.rounds[0].turns if turn.outcome == "failed"]
    assert (result.status, failed.agent_id) == ("completed", "bo")
    told = {mute: f"Mute: {UNTOLD}", hollow: "418", crooked: "no tea"}
    assert told[fault] in failed.error.message


async def test_a_round_is_closed_without_a_meter_or_criterion_that_raises_such_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(Exit):
        kind = "broken"

        def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
            raise Mute

    class Meter:
        measure = mute

    table = Roundtable(seated(CountingModel(by_round), "ada"), storage="memory://", analyzer=Meter())  # type: ignore[arg-type]  # breaks
    result = await table.debate("Tea?", rounds=1, exit_when=Broken())
    assert result.status == "completed"
    assert result.rounds[0].consensus is not None
    assert UNTOLD in str(result.rounds[0].consensus)
    assert f"the stop criterion 'broken' failed and was ignored: Mute: {UNTOLD}" in caplog.text


async def test_a_mode_that_raises_such_an_error_ends_the_debate_with_an_error_of_the_library() -> None:
    class Lost(CollaborativeMode):
        name = "lost"
        next_stage = mute

    with pytest.raises(RoundtableError, match=re.escape(f"failed while planning: Mute: {UNTOLD}")):
        await table_of(CountingModel(by_round), "ada").debate("Tea?", mode=Lost(), rounds=1)


async def test_an_observer_that_raises_such_an_error_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    result = await table_of(CountingModel(by_round), "ada", observers=[mute]).debate("Tea?", rounds=1)
    assert result.status == "completed"
    assert f"Mute: {UNTOLD}" in caplog.text


def test_a_log_line_reports_such_an_error() -> None:
    record = logging.LogRecord("roundtable", logging.ERROR, __file__, 1, "oh", None, (Mute, Mute(), None))
    assert UNTOLD in ContextFormatter(as_json=True).format(record)
