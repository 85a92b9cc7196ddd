"""What a result says beside its agreement, and the four-layer response, rule by rule."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import permutations
from math import nextafter
from typing import Any

import pytest
from integration.engine_kit import CountingModel, table_of
from pydantic import ValidationError

import roundtable as rt
from roundtable.analysis import (
    Baselines,
    DebateHealth,
    KeyPointsExtractor,
    ResponseSettings,
    answer_changed,
    baselines_of,
    build_response,
    debate_health,
    key_points_by_rules,
    level_of,
    minority_report,
)
from roundtable.analysis.response import cut_at_sentence
from roundtable.errors import APIAuthError, APINetworkError, ConfigurationError
from roundtable.providers.scripted import ScriptedModel
from roundtable.settings import Settings
from roundtable.testing import scripted_agents
from roundtable.types import (
    AgentConfig,
    AgentResponse,
    ChatRequest,
    ChatResponse,
    Citation,
    Cluster,
    Comparison,
    ConsensusResult,
    ContextRequest,
    DebateConfig,
    DebateRecord,
    ModelProfile,
    RoundRecord,
    SessionRecord,
    ToolCallRecord,
    Turn,
    TurnResult,
    utc_now,
)


def answer(name: str, position: str = "Tea", **more: Any) -> AgentResponse:
    return AgentResponse(agent_id=name, agent_name=name.title(), position=position, **more)


def held(*said: AgentResponse, number: int = 1, level: float = 1.0, camps: int = 1, **more: Any) -> RoundRecord:
    """Make a measured round; several camps are those of equal positions, or in turn if all positions are equal."""
    groups = [
        [one for one in said if one.position == position] for position in dict.fromkeys(one.position for one in said)
    ]
    if camps == 1 or len(groups) == 1:
        groups = [list(said[camp::camps]) for camp in range(camps)]
    clusters = [
        Cluster(theme=f"camp {number}", agent_ids=tuple(one.agent_id for one in group))
        for number, group in enumerate(sorted(groups, key=len, reverse=True))
    ]
    consensus = ConsensusResult(agreement_level=level, clusters=tuple(clusters), **({"summary": "So so."} | more))
    turns = [
        Turn(
            round=number,
            stage="positions",
            slot=slot,
            agent_id=one.agent_id,
            agent_name=one.agent_name,
            timestamp=utc_now(),
            result=TurnResult(answer=one),
            independent=number == 1,
        )
        for slot, one in enumerate(said)
    ]
    return RoundRecord(number=number, turns=tuple(turns), consensus=consensus, complete=True)


def record(*rounds: RoundRecord, **more: Any) -> DebateRecord:
    ids = tuple(dict.fromkeys(said.agent_id for one in rounds for said in one.responses)) or ("ada",)
    agents = tuple(AgentConfig(id=name, name=name, provider="p") for name in ids)
    session = SessionRecord(id="s", config=DebateConfig(topic="Tea?", agents=ids, rounds=3), agents=agents)
    return DebateRecord(**({"session": session, "total_rounds": 3, "rounds": rounds, "updated_at": utc_now()} | more))


def result_of(*rounds: RoundRecord, **more: Any) -> rt.DebateResult:
    return rt.DebateResult.from_record(record(*rounds, **more))


# ---------------------------------------------------------------- the two numbers, minority, baselines


async def test_a_result_shows_what_the_debate_changed_who_dissents_and_the_baseline_vote() -> None:
    says = {"ada": ["1 cup", "1 cup"], "bo": ["2 cup", "1 cup"], "cy": ["3 cup", "3 cup"]}  # told apart by themselves
    result = await table_of(CountingModel(lambda request: says[request.metadata["agent"]].pop(0))).debate(
        "Tea?", rounds=2, options=None
    )
    assert (result.independent_agreement, result.conformity_delta) == (0.0, pytest.approx(1 / 3))
    assert result.minority_report is not None
    assert (result.minority_report.majority, result.minority_report.supporters) == ("1 cup", ("ada", "bo"))
    assert [(one.agent_id, one.position) for one in result.minority_report.dissents] == [("cy", "3 cup")]
    assert result.baselines is not None
    assert (result.baselines.single, result.baselines.majority, result.baselines.votes) == ("1 cup", None, 3)
    assert (result.baselines.cost_multiple, result.baselines.answer_changed) == (2.0, None)
    assert result.health is not None
    assert (result.health.compared_by, result.health.flip_rate) == ("position", pytest.approx(1 / 3))
    assert result.response is not None
    assert rt.DebateResult.from_json(result.to_json()) == result
    told = result.to_markdown()
    for part in ("Change through the debate", "Outside the largest camp", "Without debate", "Recommended"):
        assert part in told


async def test_baselines_say_why_there_are_none_and_whether_the_answer_changed() -> None:
    debated = await table_of(CountingModel("Tea")).debate("Tea?", rounds=1, mode="adversarial")
    assert debated.baselines == Baselines(single=None, reason="agents of the first round had seen answers of others")
    assert debated.conformity_delta is None
    same = await table_of(CountingModel("Tea")).debate("Tea?", rounds=1)
    assert same.baselines is not None
    assert same.baselines.answer_changed is False


@pytest.mark.parametrize(
    ("answer", "majority", "changed"),
    [("42", "42.0", False), ("Ja", "yes", False), ("O-", "O", None), ("1,000", "1.000", None), (None, "Tea", None)],
)
def test_an_open_answer_is_unchanged_only_if_it_is_certainly_equal(
    answer: str | None, majority: str, changed: bool | None
) -> None:
    assert answer_changed(answer, majority, by_choice=False) is changed
    assert answer_changed("A", "b", by_choice=True) is True


def test_a_log_without_independent_answers_gives_no_baselines() -> None:
    bare = held(answer("ada"), number=1).model_copy(update={"turns": ()})
    found = baselines_of(result_of(bare, independent_agreement=1.0), None)
    assert found == Baselines(single=None, reason="no independent answer is stored")
    assert baselines_of(result_of(), None) is None


def test_two_camps_of_the_same_size_have_neither_majority_nor_minority() -> None:
    report = minority_report(held(answer("ada"), answer("bo"), camps=2), by_choice=False)
    assert (report.majority, report.supporters, report.dissents) == (None, (), ())


# ---------------------------------------------------------------- health


def test_a_collapse_without_evidence_is_reported_with_the_agents_that_gave_way() -> None:
    first = held(answer("ada"), answer("bo"), answer("cy", "Milk", confidence=0.4), camps=2)
    last = held(answer("ada"), answer("bo"), answer("cy", confidence=0.9), number=2)
    found = debate_health(
        [first, last], [AgentConfig(id=name, name=name, provider="p") for name in ("ada", "bo", "cy")]
    )
    assert found is not None
    assert [flag.name for flag in found.flags] == ["collapse", "no-new-evidence", "confidence-only", "silent-agreement"]
    assert {one.agent_id: (one.outvoted, one.gave_way, one.score) for one in found.sycophancy} == {
        "ada": (0, 0, None),
        "bo": (0, 0, None),
        "cy": (1, 1, 1.0),
    }
    assert found.conformity is not None


def test_a_new_source_a_doubt_or_another_model_family_are_not_warning_signs() -> None:
    source = (Citation(title="t", url="https://example.org"),)
    first = held(answer("ada", "Tea", stance="YES"), answer("bo", "Milk", stance="NO"), camps=2)
    last = held(
        answer("ada", stance="YES"),
        answer("bo", stance="YES", citations=source, reasoning="However, milk has its merits."),
        number=2,
    )
    agents = [AgentConfig(id="ada", name="a", provider="p"), AgentConfig(id="bo", name="b", provider="q")]
    found = debate_health([first, last], agents)
    assert found is not None
    assert (found.compared_by, [flag.name for flag in found.flags]) == ("position", ["collapse"])
    assert debate_health([], agents) is None
    at_once = debate_health([held(answer("ada", choice="Tea"), answer("bo", choice="Tea"))], agents[:1] * 2)
    assert at_once is not None
    assert at_once.compared_by == "choice"
    assert "same-family" in {flag.name for flag in at_once.flags}


def test_an_outvoted_agent_that_stayed_or_gave_a_source_did_not_give_way() -> None:
    agents = [AgentConfig(id=name, name=name, provider="p") for name in ("ada", "bo", "cy", "di")]
    source = (Citation(title="t", url="https://example.org"),)
    first = held(answer("ada"), answer("bo"), answer("cy", "Milk"), answer("di", "Rum"), camps=2)
    last = held(answer("ada"), answer("bo"), answer("cy", citations=source), number=2, camps=2)
    found = debate_health([first, last], agents)
    assert found is not None
    assert {one.agent_id: (one.outvoted, one.gave_way) for one in found.sycophancy} == {
        "ada": (0, 0),
        "bo": (0, 0),
        "cy": (1, 0),
        "di": (0, 0),
    }


def test_another_wording_is_a_change_only_if_an_agent_says_so() -> None:
    agents = [AgentConfig(id=name, name=name, provider="p") for name in ("ada", "bo")]
    first = held(answer("ada", "Lisbon"), answer("bo", "The city on the Tagus"), camps=2, not_compared=("bo",))
    keys = {turn.agent_id: turn.key for turn in first.turns}
    reworded = answer("bo", "Portugal's capital")
    silent = debate_health([first, held(answer("ada", "Lisbon"), reworded, number=2, not_compared=("bo",))], agents)
    assert silent is not None
    assert (silent.flip_rate, silent.unclear_moves, silent.conformity, silent.obstinacy) == (0.0, 1, None, None)
    declared = {"same": Comparison(turn=keys["bo"], verdict="same")}
    declared["different"] = Comparison(turn=keys["bo"], verdict="different")
    found = [
        debate_health(
            [first, held(answer("ada", "Lisbon"), reworded.model_copy(update={"compared": (it,)}), number=2, camps=2)],
            agents,
        )
        for it in declared.values()
    ]
    assert [health and (health.flip_rate, health.unclear_moves) for health in found] == [
        (0.0, 1),
        (0.5, 0),
    ]  # its own word does not show that it kept its answer


def test_an_agent_that_says_it_now_agrees_with_the_majority_gave_way() -> None:
    agents = [AgentConfig(id=name, name=name, provider="p") for name in ("ada", "bo", "cy")]
    first = held(answer("ada"), answer("bo"), answer("cy", "Milk"), camps=2)
    joined = answer("cy", "A cup of leaves", compared=(Comparison(turn=first.turns[0].key, verdict="same"),))
    found = debate_health([first, held(answer("ada"), answer("bo"), joined, number=2)], agents)
    assert found is not None
    assert (found.flip_rate, found.conformity, found.obstinacy) == (pytest.approx(1 / 3), pytest.approx(1 / 3), 2 / 3)
    assert [one.gave_way for one in found.sycophancy] == [0, 0, 1]


def test_an_agent_that_abstains_neither_moves_nor_gives_way() -> None:
    agents = [AgentConfig(id=name, name=name, provider="p") for name in ("ada", "bo", "cy")]
    first = held(answer("ada"), answer("bo"), answer("cy", "Milk"), camps=2)
    found = debate_health([first, held(answer("ada"), answer("bo"), answer("cy", "ABSTAIN"), number=2)], agents)
    assert found is not None
    assert (found.flip_rate, found.unclear_moves) == (0.0, 0)
    assert not any(one.gave_way for one in found.sycophancy)


_AGENTS = [AgentConfig(id=name, name=name, provider="p") for name in ("ada", "bo", "cy")]


def _same(record_: RoundRecord, agent: str) -> Comparison:
    return Comparison(turn=next(turn.key for turn in record_.turns if turn.agent_id == agent), verdict="same")


def test_an_agent_kept_its_answer_in_other_words_if_another_agent_says_so() -> None:
    first = held(answer("ada", "5 km"), answer("bo", "6 km"), answer("cy", "7 km"), camps=3)

    def health_of(*others: AgentResponse) -> DebateHealth | None:
        second = held(answer("ada", "6 km"), *others, number=2, camps=3, is_lead_open=True)
        return debate_health([first, second], _AGENTS)

    kept = [
        answer("bo", "six of them", compared=(_same(first, "bo"),)),
        answer("cy", "VII", compared=(_same(first, "cy"),)),
    ]
    alone = health_of(*kept)
    assert alone is not None
    assert (alone.flip_rate, alone.unclear_moves) == (1.0, 2)
    confirmed = health_of(kept[0], answer("cy", "six of them", compared=(_same(first, "bo"),)))
    assert confirmed is not None
    assert (confirmed.flip_rate, confirmed.unclear_moves) == (pytest.approx(2 / 3), 0)


def test_an_agent_that_left_a_shared_answer_moved() -> None:
    first = held(answer("ada", "Tea"), answer("bo", "A cup of leaves"))
    left = answer("bo", "Beans", compared=(Comparison(turn=first.turns[0].key, verdict="different"),))
    found = debate_health([first, held(answer("ada", "Tea"), left, number=2, camps=2)], _AGENTS[:2])
    assert found is not None
    assert (found.flip_rate, found.unclear_moves) == (0.5, 0)


def test_one_opponent_is_not_a_majority() -> None:
    first = held(answer("ada", "1"), answer("bo", "2"), camps=2)
    found = debate_health([first, held(answer("ada", "2"), answer("bo", "2"), number=2)], _AGENTS[:2])
    assert found is not None
    assert [one.outvoted for one in found.sycophancy] == [0, 0]
    assert (found.flip_rate, found.conformity) == (0.5, 0.5)


def test_giving_way_in_other_words_is_seen() -> None:
    first = held(answer("ada", "Lisbon"), answer("bo", "Porto"), answer("cy", "Lisbon"), camps=2, is_lead_open=True)
    own = Comparison(turn=next(turn.key for turn in first.turns if turn.agent_id == "bo"), verdict="different")
    moved = answer("bo", "The capital", compared=(_same(first, "ada"), _same(first, "cy"), own))
    found = debate_health([first, held(answer("ada", "Lisbon"), moved, answer("cy", "Lisbon"), number=2)], _AGENTS)
    assert found is not None
    assert (found.sycophancy[1].outvoted, found.sycophancy[1].gave_way) == (1, 1)


def test_groups_of_several_answers_of_one_agent_are_read_by_answer() -> None:
    first = held(answer("ada", "Tea"), answer("ada", "Milk"), answer("bo", "Tea"))
    groups = (
        Cluster(theme="Tea", agent_ids=("ada", "bo"), answers=(0, 2)),
        Cluster(theme="Milk", agent_ids=("ada",), answers=(1,)),
    )
    assert first.consensus is not None
    first = first.model_copy(update={"consensus": first.consensus.model_copy(update={"clusters": groups})})
    found = debate_health([first, held(answer("ada", "Tea"), answer("bo", "Tea"), number=2)], _AGENTS[:2])
    assert found is not None
    assert (found.flip_rate, found.unclear_moves) == (0.5, 0)  # ada's last answer was milk


def test_groups_made_from_common_words_in_old_sessions_say_nothing() -> None:
    old = ConsensusResult.model_validate(
        {"agreement_level": 1.0, "method": "semantic", "clusters": [{"theme": "To Lisbon", "agent_ids": ["ada", "bo"]}]}
    )
    assert (old.level_in_words, old.is_lead_open, old.clusters) == ("not measured", True, ())
    first = held(answer("ada", "We go to Lisbon"), answer("bo", "We go to Porto")).model_copy(update={"consensus": old})
    assert minority_report(first, by_choice=False).majority is None
    found = debate_health([first], _AGENTS[:2])
    assert found is not None
    assert found.flags == ()


@pytest.mark.parametrize("seats", list(permutations(range(5)))[::17])
def test_the_order_of_seats_does_not_change_who_gave_way(seats: tuple[int, ...]) -> None:
    names = ["x", "p1", "p2", "p3", "p4"]
    says = {"x": "5 km", "p1": "alpha", "p2": "beta", "p3": "gamma", "p4": "delta"}
    calls_same = {"p1": ("p2", "p3"), "p3": ("p4", "p1")}
    first = held(*(answer(names[seat], says[names[seat]]) for seat in seats), camps=5, is_lead_open=True)
    again = [
        answer(name, says[name], compared=tuple(_same(first, other) for other in calls_same.get(name, ())))
        for name in (names[seat] for seat in seats)
    ]
    second = held(*again, number=2, camps=5, is_lead_open=True)
    found = debate_health([first, second], [AgentConfig(id=name, name=name, provider="p") for name in names])
    assert found is not None
    assert [one.outvoted for one in found.sycophancy] == [0] * 5


async def test_without_independent_answers_nothing_is_recommended_for_certain() -> None:
    for mode, more, advice in (
        ("socratic", {}, "verify"),
        ("socratic", {"baseline": True}, "proceed"),
        ("collaborative", {}, "proceed"),
    ):
        result = await table_of(CountingModel("Tea")).debate("Tea?", rounds=1, mode=mode, **more)
        assert result.response is not None
        recommended = result.response.decision.action_recommendation
        assert recommended.type == advice, (mode, more, recommended.reason)
        assert ("no independent answers" in recommended.reason) == (advice == "verify")


# ---------------------------------------------------------------- key points


@pytest.mark.parametrize(
    ("reasoning", "points"),
    [
        pytest.param(
            "1. It scales very well.\n2) Teams work alone.\n3: short\n4. And it is fun to build.",
            ("It scales very well.", "Teams work alone.", "And it is fun to build."),
            id="numbered",
        ),
        pytest.param(
            "It scales to any number of users. Teams can work alone. OK. It also costs much more.",
            ("It scales to any number of users.", "Teams can work alone.", "It also costs much more."),
            id="sentences",
        ),
        pytest.param(
            "이것은 규모가 커져도 잘 확장되는 구조입니다. 팀은 서로 독립적으로 일할 수 있게 됩니다.",
            ("이것은 규모가 커져도 잘 확장되는 구조입니다.", "팀은 서로 독립적으로 일할 수 있게 됩니다."),
            id="korean",
        ),
        pytest.param(
            "Because:\n- It scales very well.\n  - a detail of it\n* Teams work alone.\n\u2022 And it is fun.",
            ("It scales very well.", "Teams work alone.", "And it is fun."),
            id="bullets",
        ),
        pytest.param(
            "Über alles ist gut nachgedacht. Öfter ging das schon gut, etwa 2. hier im Haus. 3.5 ist genug davon.",
            ("Über alles ist gut nachgedacht.", "Öfter ging das schon gut, etwa 2. hier im Haus. 3.5 ist genug davon."),
            id="umlauts",
        ),
        pytest.param(
            "茶がいいと思います、なぜなら長く続くからですよ。牛乳もいいですが、高いと思いますので私は買いません。",
            (
                "茶がいいと思います、なぜなら長く続くからですよ。",
                "牛乳もいいですが、高いと思いますので私は買いません。",
            ),
            id="japanese",
        ),
        pytest.param("Short.", ("Short.",), id="short"),
        pytest.param("", (), id="none"),
    ],
)
def test_key_points_are_found_by_rules(reasoning: str, points: tuple[str, ...]) -> None:
    assert key_points_by_rules(reasoning) == points


async def test_a_model_gives_the_key_points_and_the_rules_are_the_fallback() -> None:
    script = {
        "ada": '```json\n{"keyPoints": [" One. ", "", "Two.", "Three.", "Four.", "Five."]}',
        "bo": "no JSON",
        "cy": APINetworkError("down"),
    }
    said = [answer(name, reasoning=f"{name} has a reason worth telling.") for name in script]
    model = ScriptedModel(script, profile=ModelProfile(structured_output=True))
    extractor = KeyPointsExtractor(model)
    assert await extractor.extract(said) == {
        "ada": ("One.", "Two.", "Three.", "Four."),
        "bo": ("bo has a reason worth telling.",),
        "cy": ("cy has a reason worth telling.",),
    }
    assert extractor.usage.calls == 2
    assert model.requests[0].output_schema is not None
    strict = KeyPointsExtractor(ScriptedModel(script), fallback_to_rule_based=False, max_key_points=1)
    assert await strict.extract(said) == {"ada": ("One.",), "bo": (), "cy": ()}
    with pytest.raises(ConfigurationError, match="max_key_points must be at least 1"):
        KeyPointsExtractor(max_key_points=0)


async def test_a_failing_model_does_not_remove_the_points_of_the_rules() -> None:
    class Foreign(ScriptedModel):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            if request.metadata["agent"] == "bo":
                raise OSError("disk")
            return await super().complete(request)

    said = [answer(name, reasoning=f"{name} has a reason worth telling.") for name in ("ada", "bo")]
    assert await KeyPointsExtractor(Foreign({"ada": {"keyPoints": ["One."]}})).extract(said) == {
        "ada": ("One.",),
        "bo": ("bo has a reason worth telling.",),
    }


async def test_every_report_contains_the_findings() -> None:
    def reply(request: Any) -> Any:
        who, round_ = request.metadata["agent"], int(request.metadata["round"])
        positions = {"ada": "1 cup", "bo": ["2 cup", "1 cup"][round_ - 1], "cy": "3 cup"}
        sure = {"ada": 0.9, "bo": 0.8, "cy": 0.2}
        reasoning = f"1. {who} likes the taste of it.\n2. {who} cannot do without it."
        return {"position": positions[who], "reasoning": reasoning, "confidence": sure[who]}

    result = await table_of(CountingModel(reply)).debate("?", rounds=2)
    told = json.loads(result.to_json())
    wanted = {"answerSource", "decision", "votes", "independentAgreement", "conformityDelta", "minorityReport"}
    assert wanted | {"baselines", "health", "response", "synthesis"} <= told.keys()
    assert told["votes"] == [
        {"agentId": "ada", "agentName": "Ada", "choice": "1 cup"},
        {"agentId": "bo", "agentName": "Bo", "choice": "1 cup"},
        {"agentId": "cy", "agentName": "Cy", "choice": "3 cup"},
    ]
    shown = (
        "**Answer from:** the rule, over positions that say the same",
        "**Votes:** Ada, Bo for 1 cup; Cy for 3 cup",
        "**Change through the debate:** +0.33",
        "**Outside the largest camp:** Cy: 3 cup",
        "**Without debate:** plurality of 3 answers: none; one agent alone: 1 cup",
        "**Movement:** 33% of answers changed from round to round, compared by position",
        "**Facing another position:** 33% took another agent's answer, 67% kept their own",
        "**Recommended:** Look at the details before you rely on it",
        "**Conflict:** Confidence — Ada: 90 % sure; Bo: 80 % sure; Cy: 20 % sure",
        "**Look again:** Low confidence: Cy",
        "**Key points of Ada:** ada likes the taste of it.; ada cannot do without it.",
    )
    text, page = result.to_markdown(), result.to_html()
    for line in shown:
        assert f"- {line}" in text
        assert line.rpartition("** ")[2].replace("'", "&#x27;") in page.replace("&#39;", "&#x27;")


_CHOICES = {"ada1": "tea", "ada2": "tea", "bo1": "tea", "bo2": "tea", "cy1": "milk", "cy2": "tea"}


def at(request: Any) -> str:
    return f"{request.metadata['agent']}{request.metadata['round']}"


async def test_a_tie_names_the_votes_and_no_minority() -> None:
    table = rt.Roundtable(scripted_agents({"ada": "Yes", "bo": "No"}), storage="memory://")
    text = (await table.debate("?", rounds=1, options=("Yes", "No"))).to_markdown()
    assert "**Votes:** Ada for Yes; Bo for No" in text
    assert "tie between Yes and No" in text
    assert "largest camp" not in text


async def test_agents_that_gave_way_or_did_not_vote_are_reported() -> None:
    def reply(request: Any) -> Any:
        choice = None if at(request) == "ada2" else _CHOICES[at(request)]
        return {"position": "So.", "choice": choice, "confidence": 0.8}

    result = await table_of(CountingModel(reply)).debate("?", rounds=2, options=["tea", "milk"])
    assert "**Votes:** Bo, Cy for tea; Ada could not be read" in result.to_markdown()
    moved = await table_of(CountingModel(lambda request: reply(request) | {"choice": _CHOICES[at(request)]})).debate(
        "?", rounds=2, options=["tea", "milk"]
    )
    assert "**Gave way when outvoted, with no new source:** Cy 1 of 1" in moved.to_markdown()


# ---------------------------------------------------------------- four layers


@pytest.mark.parametrize(
    ("score", "level"),
    [
        (0.7, "high"),
        (nextafter(0.7, 0), "medium"),
        (0.4, "medium"),
        (nextafter(0.4, 0), "low"),
        (0.0, "low"),
        (1.0, "high"),
    ],
)
def test_levels_are_exact_at_their_thresholds(score: float, level: str) -> None:
    assert level_of(score) == level


@pytest.mark.parametrize(
    ("level", "confidences", "camps", "stances", "advice"),
    [
        (0.7, (0.8, 0.8), 1, None, "proceed"),
        (0.7, (0.8, 0.79), 1, None, "proceed"),
        (0.7, (0.6, 0.6), 2, None, "proceed"),
        (0.7, (0.59, 0.6), 2, None, "verify"),
        (0.7, (0.4, 0.5), 1, None, "query_detail"),
        (0.9, (0.7, 0.7), 2, ("YES", "NO"), "query_detail"),
        (0.5, (0.7, 0.7), 1, None, "verify"),
        (0.69, (1.0, 1.0), 1, None, "verify"),
        (0.5, (0.7, 0.7), 2, ("YES", "NO"), "query_detail"),
        (0.5, (0.5, 0.6), 2, None, "verify"),
        (0.5, (0.6, 0.6), 2, None, "verify"),
        (0.5, (0.4, 0.4), 1, None, "query_detail"),
        (0.39, (0.7, 0.7), 1, None, "query_detail"),
        (0.1, (0.9, 0.9), 2, None, "query_detail"),
        (0.9, (0.9, 0.8), 2, ("YES", "NO"), "proceed"),
    ],
)
def test_the_recommended_action_follows_the_first_matching_rule(
    level: float, confidences: tuple[float, float], camps: int, stances: tuple[Any, Any] | None, advice: str
) -> None:
    said = [
        answer(name, confidence=sure, stance=stances[place] if stances else None)
        for place, (name, sure) in enumerate(zip(("ada", "bo"), confidences, strict=True))
    ]
    found = build_response(result_of(held(*said, level=level, camps=camps)))
    assert found is not None
    assert found.decision.action_recommendation.type == advice
    assert found.decision.agreement_score == level


def test_the_example_of_the_specification_says_verify() -> None:
    """Medium agreement (0.65) on the matter, and one conflict on the way there."""
    said = (
        answer("claude-1", "Gradual strangler pattern", confidence=0.75),
        answer("chatgpt-1", "Big bang rewrite", confidence=0.75),
    )
    measured = held(*said, level=0.65, camps=2, method="ai", disagreement_points=("Migration approach",))
    found = build_response(result_of(measured))
    assert found is not None
    assert (found.decision.consensus_level, found.decision.agreement_score) == ("medium", 0.65)
    assert [conflict.issue for conflict in found.evidence.conflicts] == ["Migration approach"]
    advice = found.decision.action_recommendation
    assert advice.type == "verify"
    finding = "Agreement is medium, with a mean confidence of 75%"
    assert advice.reason == f"{finding}; there is 1 conflict (Migration approach)."


async def test_answers_with_common_words_recommend_no_action() -> None:
    for said, advice in (("Tea is fine today", "verify"), ("tea is fine.", "proceed")):
        table = table_of(CountingModel(lambda request, said=said: _pair(request, said)), "ada", "bo")
        found = (await table.debate("?", rounds=1)).response
        assert found is not None
        assert found.decision.action_recommendation.type == advice


def _pair(request: Any, said: str) -> dict[str, Any]:
    return {"position": "Tea is fine" if request.metadata["agent"] == "ada" else said, "confidence": 0.9}


async def test_an_agent_that_did_not_answer_is_named_wherever_agreement_is_shown() -> None:
    replies = {"ada": "Tea", "bo": "Tea", "cy": [APIAuthError("refused")]}
    async with rt.Roundtable(scripted_agents(replies), storage="memory://") as table:
        result = await table.debate("Tea?", rounds=1)
    assert result.consensus is not None
    assert result.consensus.summary == "All 2 answers say the same. Cy did not answer."
    assert result.decision is not None
    assert (result.decision.winner, result.decision.abstained) == ("Tea", ("cy",))
    assert not result.decision.is_unanimous
    assert result.decision.why == "Tea wins: 2 of 2 votes (100 %); cy did not vote."
    assert result.response is not None
    advice = result.response.decision.action_recommendation
    assert advice.type == "verify"
    assert "Cy did not answer" in advice.reason
    assert result.ballots() == ("Tea", "Tea", None)
    assert "2 of 3 agents hold it" in result.to_html()


async def test_one_answer_is_shown_as_one_answer_and_as_no_agreement() -> None:
    """It was "1.00" and "1 of 1 votes (100 %)" on every front; the level itself stays what it was."""
    async with rt.Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://") as table:
        result = await table.debate("Tea?", rounds=1)
    assert result.consensus is not None
    assert (result.consensus.agreement_level, result.consensus.answers) == (1.0, 1)
    assert result.decision is not None
    assert result.decision.why == "Tea wins: 1 vote, the only one."
    shown = "".join((result.to_markdown(), result.to_text(), result.to_html(), str(result)))
    assert "one answer" in result.to_text()
    assert "agreement one answer" in result.to_html()
    assert "The only answer of the last complete round." in result.to_html()
    for wrong in ("1.00", "100 %)", "1 agents", "1 calls", "1 rounds", "of 1 planned rounds"):
        assert wrong not in shown, wrong


def test_the_list_of_sessions_counts_one_agent_as_one() -> None:
    from roundtable.server.rendering import _templates

    count = _templates().from_string('{{ ids|length|counted("agent") }}')
    assert [count.render(ids=["ada"]), count.render(ids=["ada", "bo"])] == ["1 agent", "2 agents"]
    source = _templates().loader.get_source(_templates(), "sessions.html")[0]  # type: ignore[union-attr]  # it has one
    assert 'agent_ids|length|counted("agent")' in source


def test_one_position_is_not_an_agreement() -> None:
    found = build_response(result_of(held(answer("ada", confidence=0.9), level=1.0, camps=1)))
    assert found is not None
    advice = found.decision.action_recommendation
    assert (advice.type, advice.reason) == ("verify", "One agent alone gave a position, with a mean confidence of 90%.")


def test_every_layer_is_filled() -> None:
    before = held(answer("ada", confidence=0.5), answer("bo", confidence=0.9))
    calls = tuple(ToolCallRecord(tool_name=name) for name in ("search_web", "search_web", "fact_check"))
    now = held(
        answer("ada", confidence=0.9, tool_calls=calls, citations=(Citation(title="t", url="u"),), reasoning="x" * 100),
        answer("bo", "Coffee", confidence=0.4, stance="NO", reasoning="Short."),
        answer("cy", confidence=0.7, stance="YES", reasoning="y" * 100),
        number=2,
        level=0.3,
        camps=2,
        key_points={"ada": ("It keeps.",)},
        summary="They agree on the goal of it all. " * 7,
        disagreement_points=("The drink",),
        method="ai",
    )
    asked = ContextRequest(id="r", agent_id="ada", query="q", reason="r")
    found = build_response(result_of(before, now, context_requests=(asked,)))
    assert found is not None
    assert (found.round_number, found.total_rounds, found.status, found.context_requests) == (
        2,
        3,
        "needs_context",
        (asked,),
    )
    ada, bo, cy = found.agent_responses
    assert (ada.key_points, bo.key_points) == (("It keeps.",), ("Short.",))
    assert (ada.evidence_used.web_searches, ada.evidence_used.citations) == (2, 1)
    assert ada.evidence_used.tool_calls == ("search_web", "fact_check")
    assert ada.confidence_change is not None
    assert (ada.confidence_change.delta, ada.confidence_change.reason, ada.confidence_change.previous_round) == (
        0.4,
        "strengthened",
        1,
    )
    assert bo.confidence_change is not None
    assert (bo.confidence_change.delta, bo.confidence_change.reason) == (-0.5, "reconsidered")
    assert cy.confidence_change is None
    assert [conflict.issue for conflict in found.evidence.conflicts] == ["Confidence", "Stance", "The drink"]
    assert [one.stance for one in found.evidence.conflicts[0].positions] == ["90 % sure", "40 % sure", "70 % sure"]
    assert found.evidence.total_citations == 1
    assert found.evidence.consensus_summary.endswith("all.")
    assert len(found.evidence.consensus_summary) <= 200
    assert [hint.suggested_tool for hint in found.metadata.verification_hints] == [
        "get_thoughts",
        "get_citations",
        "get_round_details",
    ]
    assert found.metadata.detail_reference.params == {"sessionId": "s", "roundNumber": 2}
    whole = build_response(result_of(before, now), ResponseSettings(debug=True))
    assert whole is not None
    assert whole.status == "in_progress"
    assert len(whole.evidence.consensus_summary) > 200
    again = build_response(result_of(before, held(answer("ada", confidence=0.5), number=2), status="completed"))
    assert again is not None
    assert again.status == "completed"
    assert again.agent_responses[0].confidence_change is not None
    assert again.agent_responses[0].confidence_change.reason == "maintained"
    assert build_response(result_of()) is None


def test_agreement_is_found_by_camps_and_not_by_spelling() -> None:
    one = held(answer("ada", "I agree, now"), answer("bo", "I disagree, I know"), camps=2)
    found = build_response(result_of(one))
    assert found is not None
    assert [conflict.issue for conflict in found.evidence.conflicts] == ["Position"]
    same = build_response(result_of(held(answer("ada", "I know now"), answer("bo", "No"), camps=1)))
    assert same is not None
    assert same.evidence.conflicts == ()


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("abc", 0, "abc"),
        ("abc", 3, "abc"),
        ("abcdef", 2, ".."),
        ("Aaaa. Bbbbbbbbb", 6, "Aaaa."),
        ("Aaaa. Bbbbbbbbb", 10, "Aaaa. B..."),
        ("한국어 문장. 다음 문장", 8, "한국어 문장."),
        ("They pay 3.50 a cup", 12, "They pay..."),
        ("They pay 3.50 a cup", 11, "They pay..."),
        ("It is so! Or not?", 9, "It is so!"),
        ("茶がいい。牛乳もいい", 6, "茶がいい。"),
    ],
)
def test_a_text_is_cut_at_the_end_of_a_sentence(text: str, limit: int, shown: str) -> None:
    assert cut_at_sentence(text, limit) == shown


def test_thresholds_come_from_the_environment_as_decimals() -> None:
    environment = {
        "ROUNDTABLE_HIGH_CONSENSUS_THRESHOLD": "0.8",
        "ROUNDTABLE_MEDIUM_CONSENSUS_THRESHOLD": "0.5",
        "ROUNDTABLE_LOW_CONFIDENCE_THRESHOLD": "0.55",
        "ROUNDTABLE_CONFIDENCE_VARIANCE_THRESHOLD": ".1",
        "ROUNDTABLE_MIN_REASONING_LENGTH_RATIO": "0.25",
        "ROUNDTABLE_HIGH_CONFIDENCE_ACTION_THRESHOLD": "0.9",
        "ROUNDTABLE_LOW_CONFIDENCE_ACTION_THRESHOLD": "0.7",
        "ROUNDTABLE_VERY_LOW_CONFIDENCE_ACTION_THRESHOLD": "0.45",
        "ROUNDTABLE_CONSENSUS_SUMMARY_MAX_LENGTH": "-1",
        "ROUNDTABLE_DEBUG_MODE": "1",
    }
    read = ResponseSettings.from_settings(Settings.from_env(environment))
    assert read == ResponseSettings(
        high_consensus=Decimal("0.8"),
        medium_consensus=Decimal("0.5"),
        low_confidence=Decimal("0.55"),
        confidence_variance=Decimal(".1"),
        min_reasoning_ratio=Decimal("0.25"),
        high_confidence_action=Decimal("0.9"),
        low_confidence_action=Decimal("0.7"),
        very_low_confidence_action=Decimal("0.45"),
        summary_chars=0,
        debug=True,
    )
    assert ResponseSettings.from_settings(Settings.from_env({})) == ResponseSettings()
    assert (level_of(0.75, read), level_of(0.8, read)) == ("medium", "high")
    with pytest.raises(ConfigurationError, match="ROUNDTABLE_HIGH_CONSENSUS_THRESHOLD"):
        Settings.from_env({"ROUNDTABLE_HIGH_CONSENSUS_THRESHOLD": "7"})


async def test_a_table_uses_the_thresholds_of_its_settings() -> None:
    strict = Settings.from_env(
        {"ROUNDTABLE_HIGH_CONSENSUS_THRESHOLD": "1", "ROUNDTABLE_MEDIUM_CONSENSUS_THRESHOLD": "1"}
    )
    says = {"ada": "1 cup", "bo": "1 cup", "cy": "2 cup"}
    table = table_of(CountingModel(lambda request: says[request.metadata["agent"]]), settings=strict, analyzer="basic")
    result = await table.debate("Tea?", rounds=1)
    assert result.response is not None
    assert result.response.decision.consensus_level == "low"


async def test_agreement_that_arose_in_the_debate_must_be_verified() -> None:
    says = {name: ["7 cup", "7 cup"] for name in "abcdefgh"} | {"i": ["8 cup", "8 cup"], "j": ["9 cup", "7 cup"]}
    says |= {"k": ["10 cup", "7 cup"], "h": ["11 cup", "7 cup"]}

    def reply(request: Any) -> Any:
        position = says[request.metadata["agent"]][int(request.metadata["round"]) - 1]
        return {"position": position, "confidence": 0.9}

    result = await table_of(CountingModel(reply), *says).debate("?", rounds=2)
    assert result.response is not None
    advice = result.response.decision.action_recommendation
    assert (advice.type, result.consensus and result.consensus.level_in_words) == ("verify", "0.82")
    assert "before they read each other's answers, agreement was at most 0.27" in advice.reason


# ---------------------------------------------------------------- views that are computed when they are read


def test_views_are_computed_when_they_are_first_read_and_are_part_of_the_json() -> None:
    said = [answer("ada", confidence=0.4), answer("bo", confidence=0.4)]
    result = result_of(held(*said, level=0.8, camps=1))
    assert not {"baselines", "health", "response"} & set(vars(result))
    assert result.response is result.response
    assert {"baselines", "health", "response"} <= set(json.loads(result.to_json()))


def test_views_in_json_are_kept_as_they_were_written() -> None:
    strict = ResponseSettings(high_consensus=Decimal("0.9"))
    result = rt.DebateResult.from_record(record(held(answer("ada"), answer("bo"), level=0.8, camps=1)), strict)
    assert result.response is not None
    assert result.response.decision.consensus_level == "medium"
    again = rt.DebateResult.from_json(result.to_json())
    assert (again, again.response, again.health) == (result, result.response, result.health)
    wrong = json.loads(result.to_json()) | {"health": {"flipRate": "often"}}
    with pytest.raises(ValidationError, match="flipRate"):
        rt.DebateResult.model_validate(wrong)


async def test_deciding_by_another_rule_keeps_the_findings_of_the_debate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDTABLE_HIGH_CONSENSUS_THRESHOLD", "0.45")
    async with rt.Roundtable(
        scripted_agents({"ada": "1", "bo": "1", "cy": "1", "dee": "2"}), storage="memory://"
    ) as table:
        held = await table.debate_many(["How many?"], rounds=1)
    before, after = held.held[0], held.redecide("borda").held[0]
    assert isinstance(before, rt.DebateResult)
    assert isinstance(after, rt.DebateResult)
    assert before.response is not None
    assert before.response.decision.consensus_level == "high"
    assert (after.response, after.health) == (before.response, before.health)
    assert after.config.decide == "borda"
