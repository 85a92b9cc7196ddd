"""Every mode on the embedded model: short prompts, valid answers, nobody missing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.embedded_kit import loaded
from integration.mode_kit import MODES

from roundtable import Roundtable
from roundtable.agents import BaseAgent, seat_personas
from roundtable.bench import read_experiment, read_metrics, run_experiment
from roundtable.protocols import ChatModel
from roundtable.providers import LocalProvider

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.skipif(not LocalProvider.is_installed(), reason="the extra `local` is not installed"),
]
SLOW_MODES = ("adversarial", "delphi")


@pytest.fixture(scope="module")
def model() -> Iterator[ChatModel]:
    """The embedded model, loaded once."""
    with loaded() as made:
        yield made


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """One backend: a model that takes seconds a turn says nothing new on the other."""
    return request.param


async def debate(model: ChatModel, mode: str, agents: int, rounds: int) -> None:
    seats = [BaseAgent(config, model) for config in seat_personas([("local", None)] * agents, mode)]
    began = time.monotonic()
    table = Roundtable(seats, storage="memory://")
    result = await table.debate("Is remote work better than office work?", mode=mode, rounds=rounds)
    turns = [turn for held in result.rounds for turn in held.turns]
    sys.stdout.write(f"{mode}: {len(turns)} turns in {time.monotonic() - began:.1f} s\n")
    for turn in turns:
        said = turn.answer.to_json() if turn.outcome == "answered" else turn.error.message
        sys.stdout.write(f"  {turn.round} {turn.role} {turn.agent_name}: {said[:150]}\n")
    assert result.status == "completed"
    assert result.roster.complete
    for turn in turns:
        assert turn.outcome == "answered"
        # The example of the answer's form is not counted: it is the same for every turn.
        assert turn.result.usage.input_tokens <= 450 * turn.result.usage.calls


@pytest.mark.slow
@pytest.mark.parametrize("mode", SLOW_MODES)
async def test_two_embedded_agents_debate_in_the_mode(model: ChatModel, mode: str) -> None:
    await debate(model, mode, agents=2, rounds=2)


@pytest.mark.deep
@pytest.mark.parametrize("mode", MODES)
async def test_three_embedded_agents_debate_in_every_mode(model: ChatModel, mode: str) -> None:
    await debate(model, mode, agents=3, rounds=2)


@pytest.mark.slow
async def test_the_quick_experiment_runs_and_is_written(model: ChatModel, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    seats = [BaseAgent(config, model) for config in seat_personas([("local", None)] * 2, "collaborative")]
    table = Roundtable(seats, storage="memory://")
    plan = read_experiment(Path(__file__).parents[2] / "examples" / "experiments" / "quick.yaml")
    (done,) = await run_experiment(table, plan, folder=tmp_path)
    assert done.run.success, done.run.error
    assert done.folder is not None
    assert (done.folder / "rounds" / "round-1.json").is_file()
    (found,) = read_metrics(tmp_path)
    assert (found.rounds_held, found.consensus.method) == (1, "declared")
