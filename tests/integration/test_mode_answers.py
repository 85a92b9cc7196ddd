"""What modes with stages of their own come to: Oxford's last vote decides, a council's chair has the last word."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from integration.engine_kit import NEVER_S, CountingModel, asking, cut_off, engine_of, late, said, seated, table_of

from roundtable.analysis import DeclaredAnalyzer
from roundtable.errors import ConfigurationError
from roundtable.exits import MaxRounds
from roundtable.modes import BaseModeStrategy, OxfordMode, Step, everything, nothing, parallel
from roundtable.providers.scripted import ScriptedModel
from roundtable.storage import MemoryStorage
from roundtable.types import AIConsensusResult, DebateContext, Measured, Seat, TurnSpec, Visible

_VOTES = {"ada": ["For", "For"], "bo": ["Against", "For"], "cy": ["Against", "Against"]}


def voters(votes: Mapping[str, Sequence[str | None]], *, differ: bool = False) -> CountingModel:
    """Speak for one's side, and vote before and after as is said here.

    Args:
        votes: The two votes of each agent.
        differ: Whether each speech is known to differ from all others.
    """
    taken: dict[str, int] = {}
    speeches = itertools.count(1)

    def answer(request: Any) -> Any:
        who = request.metadata["agent"]
        if '"choice": the option you vote for' in request.messages[-1].content:
            taken[who] = taken.get(who, -1) + 1
            return {"choice": votes[who][taken[who]], "reasoning": f"{who} was moved."}
        return f"{next(speeches)} cup" if differ else f"Speech of {who}"

    return CountingModel(answer)


async def test_oxford_is_decided_by_its_last_vote_and_shows_the_swing() -> None:
    result = await table_of(voters(_VOTES)).debate("Tea?", mode="oxford", rounds=1)
    assert (result.answer, result.answer_source) == ("For", "option")
    assert result.decision is not None
    assert result.decision.scores == {"For": 2.0, "Against": 1.0}
    assert "Against -1, For +1" in result.to_text()


async def test_the_reports_of_oxford_count_votes_too() -> None:
    result = await table_of(voters(_VOTES)).debate("Tea?", mode="oxford", rounds=1)
    assert result.ballots() == ("For", "For", "Against")
    assert result.ballots(by="cluster") == ("Speech of ada", "Speech of bo", "Speech of cy")
    report = result.minority_report
    assert report is not None
    assert (report.majority, report.supporters) == ("For", ("ada", "bo"))
    assert [(one.agent_id, one.position, one.choice, one.confidence) for one in report.dissents] == [
        ("cy", "Against", "Against", None)
    ]
    page, text = result.to_html(), result.to_markdown()
    assert "2 of 3 agents hold it in the last complete round" in page
    assert "**Outside the largest camp:** Cy: Against" in text
    assert text.partition("## Minority report")[2].split("##")[0].strip() == "- **Cy:** Against"
    assert "cy was moved" in page


@pytest.mark.parametrize("rounds", [1, 2])
async def test_changes_in_oxford_are_compared_by_votes_and_not_by_speeches(rounds: int) -> None:
    model = voters({**_VOTES, "dee": ["For", None]}, differ=True)
    result = await table_of(model, "ada", "bo", "cy", "dee").debate("Tea?", mode="oxford", rounds=rounds)
    health = result.health
    assert health is not None
    assert (health.compared_by, health.unclear_moves) == ("vote", 0)
    assert health.flip_rate == pytest.approx(1 / 3)  # Bo changed it, Ada and Cy did not, and Dee abstains in the end
    assert "Movement: 33% of votes changed between the first vote and the last" in result.to_text()
    assert all(score.outvoted == 0 for score in health.sycophancy)  # votes are private


async def test_an_oxford_debate_without_its_last_vote_has_no_movement() -> None:
    table = table_of(voters(_VOTES, differ=True))
    async with table:
        handle = await table.start("Tea?", mode="oxford", rounds=3, step=True)
        await handle.result()
        await (await table.start_resume(handle.session_id, step=True)).result()
        result = await table.session(handle.session_id)
    assert [held.complete for held in result.rounds] == [True, True]
    assert result.health is not None
    assert (result.health.compared_by, result.health.flip_rate, result.health.unclear_moves) == ("vote", None, 0)
    assert "Movement" not in result.to_text()


async def test_an_agent_without_a_vote_in_oxford_is_not_a_dissenter() -> None:
    votes = {**_VOTES, "cy": ["For", None]}
    result = await table_of(voters(votes)).debate("Tea?", mode="oxford", rounds=1)
    assert result.ballots() == ("For", "For", None)
    assert result.minority_report is not None
    assert result.minority_report.dissents == ()


@pytest.mark.parametrize("rule", ["confidence-weighted", "majority"])
async def test_any_rule_counts_the_votes_of_oxford_in_the_debate_and_in_redecide(rule: str) -> None:
    table = table_of(voters(_VOTES))
    results = await table.debate_many(["Tea?"], modes=["oxford"], rounds=1)
    anew = results.redecide(rule)[0]
    assert (anew.answer, anew.answer_source) == ("For", "option")
    assert anew.decision is not None
    assert anew.decision.rule == rule
    at_once = await table_of(voters(_VOTES)).debate("Tea?", mode="oxford", rounds=1, decide=rule)
    assert at_once.decision == anew.decision


def members(chair: Any = "Water", *, break_chair: bool = False) -> CountingModel:
    """Answer alone, rank nobody, and conclude; the chair is Ada."""

    def answer(request: Any) -> Any:
        text = request.messages[-1].content
        if '"ranking"' in text:
            return {"ranking": re.findall(r"answer of (Answer \d)\)", text), "reasoning": "So."}
        if "answer of" not in text:
            return {"ada": "Zebra", "bo": "Quince", "cy": "Quince"}[request.metadata["agent"]]
        return ConnectionError("gone") if break_chair else chair

    return CountingModel(answer)


async def test_the_chair_of_a_council_gives_the_answer_and_the_vote_gives_the_decision() -> None:
    result = await table_of(members()).debate("Tea?", mode="council", rounds=1)
    assert (result.answer, result.answer_source) == ("Water", "judge")
    assert result.decision is not None
    assert result.decision.winner == "Quince"
    assert result.ballots() == ("Zebra", "Quince", "Quince")
    assert [said.position for said in result.rounds[0].responses] == ["Zebra", "Quince", "Quince"]
    assert result.rounds[0].conclusion is not None
    assert [said.position for said in result.rounds[0].spoken] == ["Zebra", "Quince", "Quince", "Water"]
    assert result.minority_report is not None
    assert (result.minority_report.dissents, result.minority_report.not_compared) == ((), ("ada",))
    assert "The chair gave the answer. A vote on the answers before it: Quince wins" in result.to_html()


async def test_a_council_measures_the_answers_of_its_members_once() -> None:
    reader = ScriptedModel([{"agreementLevel": 0.25, "clusters": [{"theme": "Fruit", "agentIds": ["bo", "cy"]}]}])
    table = table_of(members(), seats={"analyzer": reader})
    result = await table.debate("Tea?", mode="council", rounds=1)
    assert isinstance(result.consensus, AIConsensusResult)
    level = pytest.approx(1 / 3)  # two of three are equal, whatever a model reads
    assert (result.consensus.agreement_level, result.independent_agreement) == (level, level)
    assert (result.independent_agreement_reason, result.conformity_delta) == (None, None)  # Zebra is in no group
    assert result.baselines is not None
    assert (result.baselines.single, result.baselines.majority, result.baselines.votes) == ("Zebra", "Fruit", 3)
    assert table.estimate("Tea?", mode="council", rounds=1).planned_calls == result.usage.calls


class Revising(BaseModeStrategy):
    """All answer alone, then each once more, having heard all."""

    name = "revising"

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        def answer(seat: Seat, sees: tuple[Visible, ...]) -> TurnSpec:
            return TurnSpec(slot=0, agent=seat.id, sees=sees)

        return parallel(view, answer, sees=nothing, name="first") + parallel(
            view, answer, sees=everything, name="second"
        )


async def test_first_answers_that_later_ones_replace_are_measured_and_counted_beforehand() -> None:
    reader = ScriptedModel([{"agreementLevel": 0.25}])
    table = table_of(members("Water"), seats={"analyzer": reader})
    result = await table.debate("Tea?", mode=Revising(), rounds=2)
    measured = result.rounds[0].consensus
    assert measured is not None
    assert result.independent_agreement == pytest.approx(1 / 3)  # two of three are equal, whatever a model reads
    assert measured.agreement_level == 1
    assert result.usage.calls == 2 * 6 + 1
    assert table.estimate("Tea?", mode=Revising(), rounds=2).planned_calls == result.usage.calls + 2  # all are equal


async def test_a_council_with_options_answers_with_the_option_its_chair_chose() -> None:
    word = {"position": "Water it is", "choice": "water", "confidence": 0.9}
    said = {"ada": "tea", "bo": "tea", "cy": "water"}

    def answer(request: Any) -> Any:
        text = request.messages[-1].content
        if '"ranking"' in text:
            return {"ranking": re.findall(r"answer of (Answer \d)\)", text), "reasoning": "So."}
        choice = said[request.metadata["agent"]]
        return {"position": choice, "choice": choice} if "answer of" not in text else word

    result = await table_of(CountingModel(answer)).debate("?", mode="council", rounds=1, options=["tea", "water"])
    assert (result.answer, result.answer_source) == ("water", "judge")
    assert result.decision is not None
    assert result.decision.winner == "tea"
    assert result.baselines is not None
    assert (result.baselines.majority, result.baselines.answer_changed) == ("tea", True)


async def test_if_the_chair_of_a_council_fails_the_vote_is_the_answer() -> None:
    result = await table_of(members(break_chair=True)).debate("Tea?", mode="council", rounds=1)
    assert (result.answer, result.answer_source) == ("Quince", "cluster")
    assert result.rounds[0].conclusion is None
    assert result.roster.agents[0].failed == 1


async def test_another_rule_over_a_council_counts_its_members() -> None:
    results = await table_of(members()).debate_many(["Tea?"], modes=["council"], rounds=1)
    anew = results.redecide("majority")[0]
    assert (anew.answer, anew.answer_source) == ("Quince", "cluster")
    with pytest.raises(ConfigurationError, match="votes of judges, but there are none"):
        results.redecide("judge")


async def test_a_judge_gets_the_last_answer_of_the_chair_of_a_council() -> None:
    def vote(request: Any) -> Any:
        text = request.messages[-1].content
        found = re.search(r"answer of (Answer \d)\)\n\| Position: Water", text)
        assert found is not None
        return {"choice": found[1], "reasoning": "Wet."}

    table = table_of(members(), seats={"judge": CountingModel(vote)})
    results = await table.debate_many(["Tea?"], modes=["council"], rounds=1, decide="judge")
    assert (results[0].answer, results[0].answer_source) == ("Water", "judge")
    assert results.redecide("judge")[0].answer == "Water"
    assert results.redecide("judge")[0].answer_source == "judge"


class JuryMode(BaseModeStrategy):
    """Pleas, and a verdict by ballot, whose sides are not those of Oxford."""

    name = "jury"
    has_own_vote = True

    def __init__(self, counts: str | None, *, answer: str = "ballot", stage: str = "verdict") -> None:
        super().__init__()
        self.verdict = {"counts": counts, "answer": answer}
        self.stage = stage

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        def plea(seat: Seat, sees: tuple[Visible, ...]) -> TurnSpec:
            return TurnSpec(slot=0, agent=seat.id, task="Plead.", sees=sees, options=view.options)

        def verdict(seat: Seat, sees: tuple[Visible, ...]) -> TurnSpec:
            options = view.options or ("guilty", "not guilty", "no crime")
            facts = {"slot": 0, "agent": seat.id, "role": "juror", "task": "Judge.", "sees": sees, "options": options}
            return TurnSpec.model_validate({**facts, **self.verdict})

        return parallel(view, plea, sees=nothing) + parallel(view, verdict, sees=everything, name=self.stage)


_VERDICTS = {"ada": ["guilty"], "bo": ["not guilty"], "cy": ["guilty"]}


async def test_deciding_ballots_of_a_mode_are_counted_by_the_rule_and_not_as_in_oxford() -> None:
    result = await table_of(voters(_VERDICTS, differ=True)).debate(
        "Did the cat do it?", mode=JuryMode("decide"), rounds=1
    )
    assert (result.answer, result.answer_source) == ("guilty", "option")
    assert result.decision is not None
    assert result.decision.scores == {"guilty": 2.0, "not guilty": 1.0}
    assert result.ballots() == ("guilty", "not guilty", "guilty")
    assert result.minority_report is not None
    assert [one.agent_id for one in result.minority_report.dissents] == ["bo"]
    audit = result.audit()
    assert (audit.basis, audit.winner) == ("vote", "guilty")
    assert [turn.decides for turn in result.rounds[0].turns] == [False] * 3 + [True] * 3
    again = type(result).model_validate_json(result.to_json())
    assert again.ballots() == result.ballots()
    assert "first vote" not in result.to_text()  # no swing: the mode has only one vote
    assert "Against" not in result.to_html()


async def test_a_vote_of_a_mode_on_the_options_of_the_debate_decides_by_any_rule() -> None:
    options = ["guilty", "not guilty"]
    mode = JuryMode("decide")
    result = await table_of(voters(_VERDICTS)).debate(
        "The cat?", mode=mode, rounds=1, options=options, decide="unanimity"
    )
    assert result.decision is not None
    assert (result.decision.winner, result.decision.rule) == (None, "unanimity")


async def test_ballots_that_only_inform_are_not_counted() -> None:
    result = await table_of(voters(_VERDICTS)).debate("Did the cat do it?", mode=JuryMode("inform"), rounds=1)
    assert result.ballots() == ("Speech of ada", "Speech of bo", "Speech of cy")
    assert not any(turn.decides for turn in result.rounds[0].turns)


@pytest.mark.parametrize(
    ("mode", "problem", "hint"),
    [
        pytest.param(JuryMode(None), "without saying how they count", 'counts="decide"', id="unsaid"),
        pytest.param(
            JuryMode("decide", answer="ranking"),
            "decides with answers of the kind 'ranking'",
            "vote=True",
            id="ranking",
        ),
        pytest.param(
            JuryMode("decide", answer="position"),
            "counts='decide', but its answers .kind 'position'. are not ballots",
            "ballot",
            id="no ballot",
        ),
        pytest.param(
            JuryMode("inform", answer="position"),
            "counts='inform', but its answers .kind 'position'. are not ballots",
            "ballot",
            id="inform",
        ),
        pytest.param(
            JuryMode("decide", stage="vote"), "under a name that has another meaning", "another name", id="vote"
        ),
        pytest.param(
            JuryMode("inform", stage="vote-after"),
            "under a name that has another meaning",
            "another name",
            id="oxford's",
        ),
    ],
)
async def test_ballots_without_a_way_to_count_them_are_refused_before_they_are_cast(
    mode: JuryMode, problem: str, hint: str
) -> None:
    model = voters(_VERDICTS)
    with pytest.raises(ConfigurationError, match=problem) as refused:
        await table_of(model).debate("Did the cat do it?", mode=mode, rounds=1)
    assert f"plans the stage {mode.stage!r}" in refused.value.message
    assert hint in str(refused.value.hint)
    assert len(model.begun) == 3  # the pleas alone


def oxford_agents(held: set[str] | None = None) -> CountingModel:
    """Return a model whose speakers argue for their side, and whose voters all vote for milk after the speeches.

    Args:
        held: Agents whose last vote never arrives; the caller may change the set.
    """

    def answer(request: Any) -> Any:
        who, stage = request.metadata["agent"], request.metadata["stage"]
        if stage == "vote-after":
            return late(NEVER_S, "x") if held and who in held else {"choice": "Milk", "reasoning": "So."}
        return said("A drink", choice="Milk" if who == "bo" else "Tea")

    return CountingModel(answer)


async def test_an_oxford_debate_that_an_exit_ends_early_is_decided_by_a_vote_and_not_by_the_assigned_sides() -> None:
    class Counting(DeclaredAnalyzer):
        calls = 0

        async def measure(self, *args: Any, **more: Any) -> Measured:
            type(self).calls += 1
            return await super().measure(*args, **more)

    sides: Any = {"mode": "oxford", "options": ["Tea", "Milk"]}
    table = table_of(oxford_agents(), analyzer=Counting())
    result = await table.debate("Tea?", rounds=3, exit_when=MaxRounds(1), **sides)
    assert (result.answer, len(result.rounds), Counting.calls) == ("Milk", 1, 1)
    assert [turn.stage for turn in result.rounds[0].turns[-3:]] == ["vote-after"] * 3
    whole = await table_of(oxford_agents()).debate("Tea?", rounds=1, **sides)
    assert (whole.answer, len(whole.rounds[0].turns)) == ("Milk", len(result.rounds[0].turns))


@pytest.mark.parametrize("ends", [{"exit_when": MaxRounds(1)}, {"skip_rounds_when": 0.1}], ids=str)
async def test_an_oxford_debate_with_private_first_answers_that_ends_early_is_decided_by_a_vote(ends: Any) -> None:
    sides: Any = {"mode": "oxford", "options": ["Tea", "Milk"], "baseline": True, **ends}
    result = await table_of(oxford_agents()).debate("Tea?", rounds=3, **sides)
    assert (result.answer, len(result.rounds)) == ("Milk", 1)
    assert [turn.stage for turn in result.rounds[0].turns[-3:]] == ["vote-after"] * 3


@pytest.mark.parametrize(("held_up", "answered"), [({"ada", "bo", "cy"}, 6), ({"cy"}, 8)])
async def test_an_oxford_debate_killed_in_its_early_vote_resumes_there(held_up: set[str], answered: int) -> None:
    held = set(held_up)
    model, storage = oxford_agents(held), MemoryStorage()
    agents = seated(model, "ada", "bo", "cy")
    engine = engine_of(storage, agents, OxfordMode())
    config = asking(agents, mode="oxford", rounds=3, options=("Tea", "Milk"), exit={"kind": "max_rounds", "rounds": 1})
    session = await engine.start_debate(config)
    await cut_off(engine, session.id, model, answered=answered, waiting=len(held))
    held.clear()
    record = (await engine.run(session.id)).to_record()
    assert (record.status, len(record.rounds), len(model.begun)) == ("completed", 1, 9 + len(held_up))
    assert record.rounds[0].decision is not None
    assert record.rounds[0].decision.winner == "Milk"
