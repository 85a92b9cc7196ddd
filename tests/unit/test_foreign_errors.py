"""An error of foreign code that cannot say what it is costs no more than one that can."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import pytest
from integration.engine_kit import CountingModel, by_round, seated, table_of

from roundtable import Roundtable
from roundtable.agents import BaseAgent
from roundtable.errors import AgentError, RoundtableError
from roundtable.exits import Exit
from roundtable.logs import ContextFormatter
from roundtable.modes import CollaborativeMode
from roundtable.protocols import ExitRound
from roundtable.types import AgentConfig, ChatRequest, ExitResult

UNTOLD = "(it cannot be shown: LookupError)"


class Mute(Exception):
    """Cannot say what it is."""

    def __str__(self) -> str:
        raise LookupError


def mute(*_: object, **__: object) -> NoReturn:
    raise Mute


def test_a_cause_that_cannot_be_shown_is_told_as_such() -> None:
    assert AgentError("no", cause=Mute()).to_dict()["cause"] == UNTOLD


@pytest.mark.parametrize("broken", ["model", "build_messages", "take_turn"])
async def test_a_debate_goes_on_without_an_agent_that_raises_it(broken: str) -> None:
    def reply(request: ChatRequest) -> dict[str, Any]:
        return mute() if broken == "model" and request.metadata["agent"] == "bo" else by_round(request)

    class Odd(BaseAgent):
        if broken == "build_messages":
            build_messages = mute
        if broken == "take_turn":
            take_turn = mute

    model = CountingModel(reply)
    ada, plain = seated(model, "ada", "bo")
    odd = Odd(AgentConfig(id="bo", name="Bo", provider="scripted"), model)
    agents = [ada, plain if broken == "model" else odd]
    result = await Roundtable(agents, storage="memory://").debate("Tea?", rounds=1)
    (failed,) = [turn for turn in result.rounds[0].turns if turn.outcome == "failed"]
    assert (result.status, failed.agent_id) == ("completed", "bo")
    assert f"Mute: {UNTOLD}" in failed.error.message


async def test_a_round_is_closed_without_a_meter_or_a_criterion_that_raises_it(
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
    assert f"the exit 'broken' broke and was left out: Mute: {UNTOLD}" in caplog.text


async def test_a_mode_that_raises_it_ends_the_debate_with_an_error_of_ours() -> None:
    class Lost(CollaborativeMode):
        name = "lost"
        next_stage = mute

    with pytest.raises(RoundtableError, match=re.escape(f"broke while it planned: Mute: {UNTOLD}")):
        await table_of(CountingModel(by_round), "ada").debate("Tea?", mode=Lost(), rounds=1)


async def test_an_observer_that_raises_it_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    result = await table_of(CountingModel(by_round), "ada", observers=[mute]).debate("Tea?", rounds=1)
    assert result.status == "completed"
    assert f"Mute: {UNTOLD}" in caplog.text


def test_a_line_of_the_log_tells_it() -> None:
    record = logging.LogRecord("roundtable", logging.ERROR, __file__, 1, "oh", None, (Mute, Mute(), None))
    assert UNTOLD in ContextFormatter(as_json=True).format(record)
