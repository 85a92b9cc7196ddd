"""Judges, alone and as a panel: their stored votes decide, and they count in usage and in nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from integration.engine_kit import CountingModel, asking, engine_of, fold_of, log_of, seated, table_of

from roundtable.core.base.owner import current_owner
from roundtable.errors import AgentError, ConfigurationError, QuorumLost
from roundtable.modes import BUILTIN_MODES, ExpertPanelMode, JudgedMode, answers_by_name, with_facilitator, with_judge
from roundtable.providers.scripted import ScriptedModel
from roundtable.record import rebase_past
from roundtable.storage import MemoryStorage
from roundtable.types import ChatRequest, ChatResponse, ModelProfile

SIDES = {"ada": "Tea", "bo": "Coffee", "cy": "Coffee"}


def parted(request: Any) -> str:
    return SIDES[request.metadata["agent"]]


class Judge:
    """A real model that votes for the answer which says a word, by the name it is shown under."""

    provider = "scripted"
    model = "judge"

    def __init__(self, word: str | None, *, fails: bool = False) -> None:
        self.profile = ModelProfile()
        self.requests: list[ChatRequest] = []
        self.word, self._fails = word, fails

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        if self._fails:
            raise RuntimeError("out of order")
        return await ScriptedModel([{"choice": self._vote(request), "reasoning": "So."}]).complete(request)

    def _vote(self, request: ChatRequest) -> str | None:
        text = request.messages[-1].content
        shown = [part for part in text.split("BEGIN QUOTE") if f"Position: {self.word}\n" in part]
        return shown[0].split("answer of ")[1].split(")")[0] if shown else self.word

    async def aclose(self) -> None:
        pass


def judged(*judges: Judge, storage: Any = None, **more: Any) -> Any:
    return table_of(CountingModel(parted), storage=storage, seats={"judge": list(judges)}, **more)


async def test_a_judge_decides_and_counts_only_in_usage() -> None:
    judge, storage = Judge("Tea"), MemoryStorage()
    table = judged(judge, storage=storage, quorum=3)
    result = await table.debate("Tea?", rounds=2, decide="judge")
    assert (result.answer, result.answer_source, result.status) == ("Tea", "judge", "completed")
    assert result.decision is not None
    assert (result.decision.rule, result.decision.cast) == ("judge", 1)
    assert result.ballots() == ("Tea", "Coffee", "Coffee")
    assert [one.agent_id for one in result.roster.agents] == ["ada", "bo", "cy"]
    assert all(len(held.responses) == 3 for held in result.rounds)
    assert (result.usage.calls, len(judge.requests)) == (2 * 4, 2)
    assert result.baselines is not None
    assert result.baselines.votes == 3
    without = await table_of(CountingModel(parted)).debate("Tea?", rounds=2)
    assert result.consensus == without.consensus
    assert result.independent_agreement == without.independent_agreement
    assert await table.session(result.session_id) == result
    await fold_of(storage, result.session_id)
    assert "votes for Ada: Tea" in result.to_markdown()


async def test_a_judge_sees_no_names() -> None:
    judge = Judge("Tea")
    await judged(judge).debate("Tea?", rounds=1, decide="judge")
    text = "".join(message.content for message in judge.requests[0].messages)
    assert not any(name in text for name in ("Ada", "Bo", "Cy"))
    assert all(f"answer of Answer {number})" in text for number in (1, 2, 3))
    assert "You are the judge" in text


async def test_with_options_a_judge_votes_for_one() -> None:
    def choosing(request: Any) -> Any:
        side = parted(request)
        return {"position": f"{side}!", "choice": side, "reasoning": "Because.", "confidence": 0.8}

    table = table_of(CountingModel(choosing), seats={"judge": Judge("Tea")})
    result = await table.debate("Tea?", rounds=1, decide="judge", options=["Tea", "Coffee"])
    assert (result.answer, result.answer_source) == ("Tea", "judge")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("Tea", "Tea", "Coffee"), "Tea"),
        (("Tea", "Coffee", None), None),
        (("Tea", None, None), None),
        (("Coffee", "Coffee"), "Coffee"),
    ],
)
async def test_a_panel_decides_by_more_than_half(words: tuple[str | None, ...], answer: str | None) -> None:
    result = await judged(*map(Judge, words)).debate("Tea?", rounds=1, decide="judge-panel")
    assert (result.answer, result.answer_source) == (answer, "judge" if answer else "none")
    assert result.decision is not None
    assert f"{len(words)} judges" in result.decision.why
    assert result.usage.calls == 3 + len(words)


async def test_each_judge_of_a_panel_begins_with_another_answer() -> None:
    judges = [Judge("Tea") for _ in range(3)]
    await judged(*judges).debate("Tea?", rounds=1, decide="judge-panel")
    firsts = {judge.requests[0].messages[-1].content.split("answer of ")[1].split(")")[0] for judge in judges}
    assert firsts == {"Answer 1", "Answer 2", "Answer 3"}


async def test_a_judge_that_fails_costs_no_round() -> None:
    result = await judged(Judge("Tea", fails=True), quorum=3).debate("Tea?", rounds=1, decide="judge")
    assert (result.status, result.answer, result.session_status) == ("completed", None, "completed")
    assert result.answer_reason is not None
    assert "0 of 1 voted" in result.answer_reason
    assert result.roster.complete


async def test_a_round_without_its_quorum_is_judged_once_the_failed_have_answered() -> None:
    down, judge, storage = {"ada"}, Judge("Tea"), MemoryStorage()

    def reply(request: Any) -> Any:
        return AgentError("down") if request.metadata["agent"] in down else parted(request)

    table = table_of(CountingModel(reply), storage=storage, seats={"judge": judge})
    with pytest.raises(QuorumLost) as lost:
        await table.debate("Tea?", mode="freeform", rounds=1, decide="judge", quorum=3)
    assert judge.requests == []
    down.clear()
    assert lost.value.session_id is not None
    result = await table.resume(lost.value.session_id)
    assert (result.answer, result.answer_source, len(judge.requests)) == ("Tea", "judge", 1)


async def test_judges_of_a_round_without_its_quorum_vote_again_in_a_session_of_an_earlier_version() -> None:
    down, judge, storage = {"ada"}, Judge("Coffee"), MemoryStorage()

    def reply(request: Any) -> Any:
        return AgentError("down") if request.metadata["agent"] in down else parted(request)

    table = table_of(CountingModel(reply), storage=storage, seats={"judge": judge})
    asked = {"mode": "freeform", "rounds": 1, "decide": "judge"}
    record, events = await storage.read((await table.debate("Tea?", **asked)).session_id)
    judged_at = next(place for place, event in enumerate(events) if event.type == "consensus")
    config = record.config.model_copy(update={"quorum": 3})
    await storage.create(record.model_copy(update={"id": "before", "config": config}))
    owner = current_owner()
    lease = await storage.lease("before", owner, 5.0)
    await storage.append("before", 0, lease.token, rebase_past("before", events[:judged_at]))
    await storage.lease("before", owner, 0.0)
    down.clear()
    judge.word = "Tea"
    result = await table.resume("before")
    assert [(turn.agent_id, turn.attempt) for turn in result.rounds[0].turns] == [
        ("ada", 2),
        ("bo", 1),
        ("cy", 1),
        ("judge", 2),
    ]
    assert (result.answer, result.answer_source) == ("Tea", "judge")


async def test_resuming_and_forking_keep_the_judge() -> None:
    storage = MemoryStorage()
    table = judged(Judge("Tea"), storage=storage)
    result = await table.debate("Tea?", rounds=1, decide="judge")
    longer = await judged(Judge("Coffee"), storage=storage).extend(result.session_id, rounds=1)
    assert [held.decision and held.decision.winner for held in longer.rounds] == ["Tea", "Coffee"]
    fork = await table.fork(result.session_id, at_round=1, rounds=2)
    assert (fork.answer, fork.answer_source) == ("Tea", "judge")
    judgements = [event for event in await log_of(storage, result.session_id) if event.type == "agent_complete"]
    assert [event.turn.agent_id for event in judgements].count("judge") == 2


@pytest.mark.parametrize(
    ("seats", "decide", "why"),
    [
        ({}, "judge", "no model can judge"),
        ({"judge": [Judge("Tea"), Judge("Tea")]}, "judge", "needs one judge"),
        ({"judge": Judge("Tea")}, "judge-panel", "needs two or more judges"),
        ({"jury": Judge("Tea")}, "judge", "unknown seat 'jury'"),
    ],
)
async def test_seats_that_cannot_decide_are_refused(seats: Any, decide: str, why: str) -> None:
    model = CountingModel(parted)
    with pytest.raises(ConfigurationError, match=why):
        await table_of(model, seats=seats).debate("Tea?", decide=decide)
    assert not model.begun


async def test_no_debater_may_have_the_id_of_a_seat() -> None:
    with pytest.raises(ConfigurationError, match="id of an auxiliary agent"):
        await table_of(CountingModel("Tea"), "judge", "bo", seats={"judge": Judge("Tea")}).debate("T?", decide="judge")


async def test_an_engine_without_a_table_finds_judges_in_its_registry() -> None:
    agents, storage = seated(CountingModel(parted), "ada", "bo", "cy"), MemoryStorage()
    engine = engine_of(storage, [*agents, *seated(Judge("Tea"), "judge")])
    config = asking(agents, rounds=1, decide="judge", seats={"judge": ("judge",)})
    closed = await engine.run_round((await engine.start_debate(config)).id)
    assert closed.decision is not None
    assert closed.decision.winner == "Tea"
    with pytest.raises(ConfigurationError, match="needs one judge"):
        await engine.start_debate(asking(agents, decide="judge"))


async def test_an_estimate_counts_judge_analyzer_and_synthesis() -> None:
    clerk, reader = Judge("Tea"), Judge("Tea")
    seats = {"judge": Judge("Tea"), "analyzer": [reader, reader], "synthesizer": clerk}
    table = table_of(CountingModel(parted), seats=seats)
    plain = table_of(CountingModel(parted)).estimate("Tea?", rounds=2)
    worst = table.estimate("Tea?", rounds=2, decide="judge", synthesize=True)
    by = {one.agent_id: one for one in worst.by_agent}
    assert {name: (one.turns, one.planned_calls, one.calls) for name, one in by.items() if name not in SIDES} == {
        "judge": (2, 2, 4),
        "analyzer-1": (0, 2, 2),
        "analyzer-2": (0, 2, 2),
        "synthesizer": (0, 1, 2),
    }
    assert worst.calls == plain.calls + 4 + 4 + 2
    assert worst.input_tokens > plain.input_tokens
    assert not clerk.requests
    private = table.estimate("Tea?", rounds=1, baseline=True)
    assert next(one for one in private.by_agent if one.agent_id == "analyzer-1").calls == 2


# ---------------------------------------------------------------- the facilitator


async def test_a_separate_facilitator_writes_the_perspectives() -> None:
    writer = ScriptedModel({"facilitator": ['[{"name": "Legal"}, {"name": "Medical"}, {"name": "Fiscal"}]']})
    model = CountingModel(parted)
    table = table_of(model, seats={"facilitator": writer})
    result = await table.debate("Tea?", mode="expert-panel", rounds=1, perspectives="auto")
    assert result.rounds[0].turns[0].agent_id == "facilitator"
    assert "Legal" in next(text for who, _, text in model.prompts if who == "ada")
    assert result.usage.calls == 4
    assert len(model.begun) == 3
    assert with_facilitator(ExpertPanelMode(), "clerk").facilitator == "clerk"


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize("name", [name for name, *_ in BUILTIN_MODES])
async def test_every_mode_can_be_judged(name: str) -> None:
    def answer(request: Any) -> Any:
        text = request.messages[-1].content
        if '"ranking"' in text:
            return {"ranking": [], "reasoning": "So."}
        if '"choice": the option you vote for' in text:
            return {"choice": None, "reasoning": "So."}
        return "Tea" if '"position"' in text else {"text": "words"}

    table = table_of(CountingModel(answer), "ada", "bo", "cy", "di", seats={"judge": Judge("Tea")})
    rounds = table._wiring.engine.modes.get_mode(name).rounds.start
    result = await table.debate("Tea?", mode=name, rounds=rounds, decide="judge")
    assert (result.answer, result.answer_source) == ("Tea", "judge")


def test_the_wrapper_keeps_all_other_properties_of_its_mode() -> None:
    mode = ExpertPanelMode()
    wrapped = with_judge(mode, ["one", "two"])
    assert isinstance(wrapped, JudgedMode)
    assert (wrapped.name, wrapped.rounds, wrapped.judges) == (mode.name, mode.rounds, ("one", "two"))
    assert answers_by_name([], 0) == {}


async def test_names_follow_the_seed_and_cover_every_agent() -> None:
    turns = (await table_of(CountingModel(parted)).debate("Tea?", rounds=1)).rounds[0].turns
    orders = set()
    for seed in range(20):
        named = answers_by_name(turns, seed)
        assert answers_by_name(turns, seed) == named
        assert sorted(turn.agent_id for turn in named.values()) == ["ada", "bo", "cy"]
        orders.add(tuple(turn.agent_id for turn in named.values()))
    assert len(orders) > 1
