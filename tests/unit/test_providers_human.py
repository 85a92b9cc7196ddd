"""A person at the table: asked through a callback or a terminal, in every kind of turn, and never in the way."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from integration.engine_kit import said
from integration.mode_kit import MODES
from snapshots.prompt_views import ADA, planned, view

from roundtable import AgentConfig, Budget, Roundtable
from roundtable.agents import BaseAgent
from roundtable.cli.context import CommandOptions, make_table
from roundtable.cli.terminal import Terminal
from roundtable.errors import AgentError, ConfigurationError
from roundtable.providers import HumanModel, HumanProvider, HumanTurn, ScriptedModel
from roundtable.settings import Settings
from roundtable.testing import scripted_agents
from roundtable.types import ChatRequest, Message, ProviderConfig, TurnResult

pytestmark = pytest.mark.both_loops

ASK = ChatRequest(model="", messages=(Message(role="user", content="Well?"),))


async def turn(reply: Any, **changes: Any) -> tuple[TurnResult, HumanTurn]:
    """Run one turn of a person; return what was asked and what was understood."""
    asked: list[HumanTurn] = []

    def ask(turn: HumanTurn) -> Any:
        asked.append(turn)
        return reply

    return await turn_of_agent(ask, **changes), asked[0]


async def turn_of_agent(ask: Any, **changes: Any) -> Any:
    """Run one turn of a person who answers by a function."""
    options = changes.pop("options", None)
    agent = BaseAgent(ADA.model_copy(update={"provider": "human"}), HumanModel(ask))
    return await agent.take_turn(planned(view(options=options), **changes))


async def test_a_plain_sentence_is_a_position() -> None:
    result, asked = await turn("Tea, I think.")
    assert result.answer.position == "Tea, I think."  # type: ignore[union-attr]
    assert asked.agent == "ada"
    assert asked.fields == ("position", "reasoning", "confidence", "stance")
    assert "Should a five-person startup" in asked.prompt
    assert "JSON" not in asked.prompt
    assert "ROLE: Consensus builder" in asked.instructions
    assert (result.provider, result.model, result.usage.calls) == ("human", "human", 1)


@pytest.mark.parametrize("is_partial", [False, True])
async def test_a_person_may_be_asked_by_an_async_object_without_a_thread(is_partial: bool) -> None:
    class Desk:
        async def __call__(self, turn: HumanTurn) -> str:
            await anyio.lowlevel.checkpoint()
            return "Tea."

    before = set(threading.enumerate())
    model = HumanModel(partial(Desk()) if is_partial else Desk())
    assert (await model.complete(ASK)).text == "Tea."
    assert not set(threading.enumerate()) - before


async def test_a_person_may_be_asked_by_a_plain_function_that_returns_an_awaitable() -> None:
    async def reply() -> str:
        await anyio.lowlevel.checkpoint()
        return "Tea."

    assert (await HumanModel(lambda turn: reply()).complete(ASK)).text == "Tea."


async def test_members_may_be_given_one_by_one_or_as_json() -> None:
    result, _ = await turn({"position": "Tea", "reasoning": "It keeps.", "confidence": 90, "stance": "YES"})
    assert (result.answer.confidence, result.answer.stance) == (0.9, "YES")  # type: ignore[union-attr]
    result, _ = await turn('{"position": "Tea", "confidence": 10}')
    assert result.answer.confidence == 0.1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("kind", "reply", "field", "value"),
    [
        ("ballot", "Yes", "choice", "Yes"),
        ("ballot", "abstain", "choice", None),
        ("ranking", "No > Yes", "ranking", (("No",), ("Yes",))),
        ("scores", "Yes=3, No = 1.5", "scores", {"Yes": 3.0, "No": 1.5}),
        ("plan", "Drink tea.", "goal", "Drink tea."),
        ("text", "Whatever.", "text", "Whatever."),
    ],
)
async def test_every_kind_of_turn_can_be_answered_in_a_line(kind: str, reply: str, field: str, value: object) -> None:
    result, asked = await turn(reply, options=("Yes", "No"), answer=kind)
    assert getattr(result.answer, field) == value
    assert asked.options == (("Yes", "No") if kind in {"ballot", "ranking", "scores"} else ())


async def test_scores_off_the_scale_are_requested_again() -> None:
    said: list[Any] = ["Yes=11, No=10", {"scores": {"Yes": 5, "No": -1}}, "Yes=10, No=0"]
    asked: list[HumanTurn] = []

    def ask(turn: HumanTurn) -> Any:
        asked.append(turn)
        return said.pop(0)

    result = await turn_of_agent(ask, options=("Yes", "No"), answer="scores", scale=(0, 10))
    assert result.answer.scores == {"Yes": 10.0, "No": 0.0}
    assert [turn.scale for turn in asked] == [(0, 10)] * 3
    assert [turn.problem for turn in asked] == [
        "",
        "the score 11 is off the scale: each score must be a number from 0 to 10",
        "the score -1 is off the scale: each score must be a number from 0 to 10",
    ]


async def test_scores_without_options_have_a_scale_too() -> None:
    asked: list[HumanTurn] = []

    def ask(turn: HumanTurn) -> Any:
        asked.append(turn)
        return {"scores": {"tea": None, "milk": 6 - len(asked)}}

    result = await turn_of_agent(ask, answer="scores", scale=(None, 4))
    assert (result.answer.scores, asked[0].scale) == ({"milk": 4.0}, (None, 4))


async def test_the_terminal_asks_for_scores_off_the_scale_again(
    pipe: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    read, write = pipe
    os.write(write, b"a=11, b=10\na=10, b=9\n\n")
    turn = HumanTurn("", "", "", ("scores", "reasoning"), ("a", "b"), scale=(0, 10))
    assert await Terminal(read).ask(turn) == {"scores": {"a": 10.0, "b": 9.0}}
    shown = capsys.readouterr().err
    assert "scores (option=number, ...; each number from 0 to 10): " in shown
    assert "The score 11 is off the scale: each score must be a number from 0 to 10.\n" in shown


@pytest.mark.parametrize("kind", ["position", "ballot", "ranking", "scores"])
async def test_options_are_shown_unchanged_whatever_characters_they_contain(kind: str) -> None:
    options = ('f[0], g"], h', "{x}", "1")
    said = {"position": "p", "choice": "1", "ranking": ["1"], "scores": {"1": 1}}
    _, asked = await turn(said, options=options, answer=kind)
    assert asked.options == options


async def test_an_option_given_as_a_position_is_chosen() -> None:
    result, _ = await turn("yes", options=("Yes", "No"))
    assert result.answer.choice == "Yes"  # type: ignore[union-attr]
    result, _ = await turn("Neither.", options=("Yes", "No"))
    assert result.answer.choice is None  # type: ignore[union-attr]


async def test_a_person_who_says_nothing_fails_only_their_turn() -> None:
    with pytest.raises(AgentError, match="no answer was given"):
        await HumanModel(lambda _: " ").complete(ASK)
    with pytest.raises(AgentError, match="no answer was given"):
        await HumanModel(lambda _: None).complete(ASK)  # type: ignore[arg-type,return-value]  # a careless callback


async def test_a_wait_for_a_person_can_be_cancelled() -> None:
    async def never(_: HumanTurn) -> str:
        await anyio.sleep_forever()
        return ""

    with anyio.move_on_after(0.05) as scope:
        await HumanModel(never).complete(ASK)
    assert scope.cancelled_caught


async def test_functions_that_wait_for_people_take_no_threads_from_others() -> None:
    asked, answered = anyio.Semaphore(0), threading.Event()
    shared = anyio.to_thread.current_default_thread_limiter()
    threads, shared.total_tokens = shared.total_tokens, 1

    def ask(turn: HumanTurn) -> str:
        anyio.from_thread.run_sync(asked.release)
        answered.wait(20)
        return "Tea."

    try:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                for model in (HumanModel(ask), HumanModel(ask)):
                    group.start_soon(model.complete, ASK)
                await asked.acquire()
                await asked.acquire()
                await anyio.to_thread.run_sync(answered.set)
    finally:
        answered.set()
        shared.total_tokens = threads


async def test_an_async_callback_and_a_stream_give_the_same_answer() -> None:
    async def ask(_: HumanTurn) -> str:
        return "Tea."

    model = HumanModel(ask, model="ada")
    pieces = [piece async for piece in model.stream(ASK)]
    assert [piece.text for piece in pieces] == ["Tea."]
    await model.aclose()


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
async def test_a_person_takes_part_in_every_mode(mode: str) -> None:
    asked: list[HumanTurn] = []

    def ask(turn: HumanTurn) -> Any:
        asked.append(turn)
        if "position" in turn.fields:
            return {"position": "Tea.", "stance": "YES"}
        return turn.options[0] if "choice" in turn.fields else " > ".join(turn.options) or "Tea."

    ballots = {"position": "Coffee", "choice": "For", "ranking": ["Answer 1", "Answer 2"]}
    table = Roundtable(
        [HumanModel(ask, model="ada"), *scripted_agents({"bo": ballots, "cy": ballots})], storage="memory://"
    )
    result = await table.debate("Tea or coffee?", mode=mode, rounds=2)
    assert result.roster.complete
    assert asked
    assert result.agents[0].id == "human-ada"


@pytest.mark.parametrize("budget", [{"max_tokens": 12_000}, {"max_cost_usd": 0.02}, {"max_calls": 4}])
async def test_a_person_takes_part_under_every_budget_and_costs_nothing(budget: dict[str, Any]) -> None:
    prices = {"scripted:*": {"input": 1, "output": 1}}
    bo = BaseAgent(AgentConfig(id="bo", name="Bo", provider="scripted"), ScriptedModel({"*": said("Tea")}))
    ada = HumanModel(lambda _: "Milk", model="ada")
    table = Roundtable([ada, bo], storage="memory://", prices=prices, budget=Budget(**budget))
    worst = table.estimate("Tea?", rounds=2)
    result = await table.debate("Tea?", rounds=2)
    assert (result.status, result.usage.calls, result.usage.unreported_calls) == ("completed", 4, 0)
    spent = {entry.agent_id: (entry.usage.total_tokens, entry.usage.cost_usd) for entry in result.roster.agents}
    assert spent["human-ada"] == (0, 0.0)
    assert result.usage.cost_usd == spent["bo"][1]
    assert (worst.by_agent[0].total_tokens, worst.by_agent[0].cost_usd) == (0, 0.0)


async def test_a_person_costs_the_price_that_the_caller_states() -> None:
    hired = {"human:*": {"input": 0, "output": 0, "per_call": 60}}
    table = Roundtable([HumanModel(lambda _: "Milk", model="ada")], storage="memory://", prices=hired)
    result = await table.debate("Tea?", rounds=1)
    assert result.usage.cost_usd == 60


async def test_every_question_says_which_turn_of_which_session_it_is_for() -> None:
    asked: list[HumanTurn] = []

    def ask(turn: HumanTurn) -> str:
        asked.append(turn)
        return turn.options[0] if turn.problem else "Milk" if "ranking" in turn.fields else "Tea"

    people = [HumanModel(ask, model="ada"), HumanModel(ask, model="bo")]
    table = Roundtable(people, storage="memory://")
    first = await table.debate("Tea or coffee?", rounds=2, options=["Tea", "Coffee"], vote=True)
    second = await table.debate("Tea or coffee?", rounds=1)
    keys = {(turn.session_id, turn.turn_id) for turn in asked}
    stored = {
        (result.session_id, f"{turn.round}/{turn.stage}/{turn.slot}"): (turn.agent_id, turn.round)
        for result in (first, second)
        for held in result.rounds
        for turn in held.turns
    }
    assert keys == set(stored)
    assert {(turn.session_id, turn.turn_id): (turn.agent, turn.round) for turn in asked} == stored
    again = [turn for turn in asked if turn.problem]
    assert again, "a vote for something else is asked for again"
    assert {(turn.session_id, turn.turn_id) for turn in again} <= {
        (turn.session_id, turn.turn_id) for turn in asked if not turn.problem
    }


async def test_a_question_has_the_same_id_after_its_session_is_resumed() -> None:
    asked: list[HumanTurn] = []

    async def ask(turn: HumanTurn) -> str:
        asked.append(turn)
        if len(asked) == 1:
            await anyio.sleep_forever()
        return "Tea"

    table = Roundtable([HumanModel(ask, model="ada")], storage="memory://")
    left = await table.debate("Tea?", rounds=1, deadline_s=0.2)
    assert left.status == "partial"
    assert (await table.resume(left.session_id)).status == "completed"
    first, second = ((turn.session_id, turn.round, turn.turn_id) for turn in asked)
    assert first == second
    assert first[:2] == (left.session_id, 1)


# ---------------------------------------------------------------- the terminal


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


async def test_the_terminal_asks_member_by_member(pipe: tuple[int, int], capsys: pytest.CaptureFixture[str]) -> None:
    read, write = pipe
    os.write(write, b"Tea.\nIt keeps.\n70 %\n\n")
    said = await Terminal(read).ask(
        HumanTurn("ada", "Be brief.", "Well?", ("position", "reasoning", "confidence", "stance"))
    )
    assert said == {"position": "Tea.", "reasoning": "It keeps.", "confidence": 70}
    shown = capsys.readouterr().err
    assert "=== ada ===\nBe brief.\n\nWell?" in shown
    assert shown.endswith("position: reasoning: confidence (0 to 100): stance (YES, NO or NEUTRAL): ")


async def test_the_terminal_takes_rankings_scores_text_and_the_end_of_input(pipe: tuple[int, int]) -> None:
    read, write = pipe
    terminal = Terminal(read)
    os.write(write, "b > a\nwell\na=1, b=2\nhow\nfree text\nté".encode())
    assert await terminal.ask(HumanTurn("", "", "", ("ranking", "reasoning"))) == {
        "ranking": ["b", "a"],
        "reasoning": "well",
    }
    assert await terminal.ask(HumanTurn("", "", "", ("scores", "reasoning"))) == {
        "scores": {"a": 1.0, "b": 2.0},
        "reasoning": "how",
    }
    assert await terminal.ask(HumanTurn("", "", "", ())) == "free text"
    with anyio.move_on_after(0.05) as scope:
        await terminal.ask(HumanTurn("", "", "", ()))
    assert scope.cancelled_caught


CHOICE = HumanTurn("", "", "Well?", ("choice", "reasoning"), ("Tea", "Coffee"))


async def test_the_terminal_lists_the_options(pipe: tuple[int, int], capsys: pytest.CaptureFixture[str]) -> None:
    read, write = pipe
    os.write(write, b"tea\n\n")
    assert await Terminal(read).ask(CHOICE) == {"choice": "Tea"}
    assert "by name or number:\n  1. Tea\n  2. Coffee\nchoice (- to abstain): " in capsys.readouterr().err
    os.write(write, b"2\n\n")
    assert await Terminal(read).ask(HumanTurn("", "", "", CHOICE.fields, ("4", "2"))) == {"choice": "2"}
    assert "by name:\n  4\n  2\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fields", "lines", "said", "told"),
    [
        (("position", "confidence"), "Tea\nabc\n150\n80\n", {"position": "Tea", "confidence": 80}, "0 to 100, please"),
        (
            ("position", "stance"),
            "Tea\nperhaps\nno\n",
            {"position": "Tea", "stance": "NO"},
            "YES, NO or NEUTRAL, please",
        ),
        (
            ("choice", "reasoning"),
            "Milk\n3\n2\nwhy\n",
            {"choice": "Coffee", "reasoning": "why"},
            "'Milk' is not one of",
        ),
        (("choice", "reasoning"), "-\nneither\n", {"choice": None, "reasoning": "neither"}, "choice (- to abstain)"),
        (("ranking", "reasoning"), "2>Milk\n2>1\n\n", {"ranking": ["Coffee", "Tea"]}, "'Milk' is not one of"),
        (("scores", "reasoning"), "tea\ntea=2\n\n", {"scores": {"Tea": 2.0}}, "For example"),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else None,
)
async def test_an_answer_that_cannot_be_understood_is_requested_again(
    pipe: tuple[int, int],
    capsys: pytest.CaptureFixture[str],
    fields: tuple[str, ...],
    lines: str,
    said: dict[str, object],
    told: str,
) -> None:
    read, write = pipe
    os.write(write, lines.encode())
    assert await Terminal(read).ask(HumanTurn("", "", "", fields, CHOICE.options)) == said
    assert told in capsys.readouterr().err


async def test_an_empty_first_line_skips_the_turn_and_a_later_one_its_member(pipe: tuple[int, int]) -> None:
    read, write = pipe
    os.write(write, b"\nTea\n\n70\n")
    terminal = Terminal(read)
    asked = HumanTurn("", "", "", ("position", "reasoning", "confidence"))
    assert await terminal.ask(asked) == ""
    assert await terminal.ask(asked) == {"position": "Tea", "confidence": 70}


async def test_the_end_of_input_skips_the_turn(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "answers"
    path.write_text("Tea.\nlast")
    with path.open("rb") as file:
        terminal = Terminal(file.fileno())
        asked = HumanTurn("", "", "", ("position", "reasoning", "confidence"))
        assert await terminal.ask(asked) == {"position": "Tea.", "reasoning": "last"}
        capsys.readouterr()
        assert await terminal.ask(asked) == ""
        assert "reasoning" not in capsys.readouterr().err
        assert await terminal.ask(HumanTurn("", "", "", ())) == ""


def test_the_provider_creates_people_if_the_table_says_how_to_ask_them() -> None:
    provider, config = HumanProvider(), ProviderConfig(client=lambda turn: "Tea")
    ada, anybody = (provider(name, config, Settings()) for name in ("ada", None))
    assert (ada.model, anybody.model) == ("ada", "human")
    with pytest.raises(ConfigurationError, match="'human:ada'") as caught:
        provider("ada", ProviderConfig(), Settings())
    assert "HumanModel(ask, model='ada')" in str(caught.value.hint)


@pytest.mark.parametrize("ask", [None, "stdin", 3])
def test_a_person_without_a_function_that_asks_is_refused(ask: Any) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(repr(ask))):
        HumanModel(ask)


@pytest.mark.parametrize(
    ("kind", "replies", "field", "value"),
    [
        ("ballot", ["Milk", {"choice": "Water"}, "tea"], "choice", "Tea"),
        ("ranking", ["Milk > Tea", "Coffee > Tea"], "ranking", (("Coffee",), ("Tea",))),
        ("scores", ["Milk=2", "Tea=2, Coffee=1"], "scores", {"Tea": 2.0, "Coffee": 1.0}),
        ("position", [{"position": "Milk", "choice": "Milk"}, {"position": "Tea", "choice": "Tea"}], "choice", "Tea"),
    ],
)
async def test_an_invalid_choice_is_requested_again_with_the_reason(
    kind: str, replies: list[Any], field: str, value: object
) -> None:
    told: list[str] = []

    def ask(turn: HumanTurn) -> Any:
        told.append(turn.problem)
        return replies[len(told) - 1]

    agent = BaseAgent(ADA.model_copy(update={"provider": "human"}), HumanModel(ask))
    result = await agent.take_turn(planned(view(options=("Tea", "Coffee")), answer=kind))
    assert getattr(result.answer, field) == value
    assert told[0] == ""
    assert told[1] == "'Milk' is not one of the options: Tea, Coffee"
    assert len(told) == len(replies)


async def test_a_person_who_never_names_an_option_is_asked_three_times_and_fails_the_turn() -> None:
    told: list[str] = []

    def ask(turn: HumanTurn) -> dict[str, str]:
        told.append(turn.problem)
        return {"position": "Milk", "choice": "Milk"}

    tea = BaseAgent(AgentConfig(id="bo", name="Bo", provider="scripted"), ScriptedModel({"*": said("Tea")}))
    agents = [HumanModel(ask, model="ada"), tea]
    result = await Roundtable(agents, storage="memory://").debate("Tea?", options=["Tea", "Coffee"], rounds=1)
    assert not result.roster.complete
    assert len(told) == 3


@pytest.mark.parametrize("name", ["claude-cli:opus", "command:tea"])
@pytest.mark.parametrize("is_taped", [False, True])
def test_programs_have_more_time_than_a_server_unless_the_caller_says_otherwise(
    name: str, *, is_taped: bool, tmp_path: Path
) -> None:
    provider, model = name.split(":")
    config = AgentConfig(id="ada", name="Ada", provider=provider, model=model)
    for more, seconds in (
        ({}, 600.0),
        ({"timeout_s": 5.0}, 5.0),
        ({"providers": {provider: ProviderConfig(timeout_s=120)}}, 120.0),
    ):
        tape: Any = {"cassette": tmp_path / "tape"} if is_taped else {}
        table = Roundtable([config], storage="memory://", **tape, **more)  # type: ignore[arg-type]
        assert table._wiring.models.get(provider, model).guard.timeout_s == seconds


@pytest.mark.parametrize(("said_s", "seconds"), [(None, 3600.0), (5.0, 5.0)])
def test_people_at_the_terminal_of_a_command_have_an_hour(said_s: float | None, seconds: float) -> None:
    ask = CommandOptions(agents=("human:ada",), timeout_s=said_s)
    table = make_table(ask, Settings(), "memory://", asks_people=True)
    assert table._wiring.models.get("human", "ada").guard.timeout_s == seconds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("patience", "stated"),
    [
        pytest.param({"patience_s": 1.0}, {}, id="their own"),
        pytest.param(
            {"patience_s": 60},
            {"providers": {"human": ProviderConfig(timeout_s=1.0)}},
            id="the provider's",
            marks=pytest.mark.slow,
        ),
        pytest.param({"patience_s": 60}, {"timeout_s": 1.0}, id="the table's", marks=pytest.mark.slow),
    ],
)
async def test_a_person_given_as_a_model_is_waited_for_as_long_as_stated(
    patience: dict[str, float], stated: dict[str, Any]
) -> None:
    async def ask(turn: object) -> str:
        await anyio.sleep(60)
        return "Tea."

    people = [HumanModel(ask, model="ada", **patience), HumanModel(lambda turn: "Tea.", model="bo")]
    async with Roundtable(people, storage="memory://", **stated) as table:
        with anyio.fail_after(20):
            result = await table.debate("Tea?", rounds=1)
    assert [(turn.agent_id, turn.outcome) for turn in result.rounds[0].turns] == [
        ("human-ada", "failed"),
        ("human-bo", "answered"),
    ]
