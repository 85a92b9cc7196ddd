"""What a result says beside its agreement, and the four-layer response, rule by rule."""

from __future__ import annotations

import json
from decimal import Decimal
from math import nextafter
from typing import Any

import pytest
from integration.engine_kit import CountingModel, table_of

import roundtable as rt
from roundtable.analysis import (
    Baselines,
    KeyPointsExtractor,
    ResponseSettings,
    baselines_of,
    build_response,
    debate_health,
    key_points_by_rules,
    level_of,
    minority_report,
)
from roundtable.analysis.response import cut_at_sentence
from roundtable.errors import APINetworkError, ConfigurationError
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
    """Make a measured round; the answers fall into so many camps in turn."""
    clusters = [
        Cluster(theme=f"camp {camp}", agent_ids=tuple(one.agent_id for one in said[camp::camps]))
        for camp in range(camps)
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


# ---------------------------------------------------------------- the two numbers, minority, baselines


async def test_a_result_says_what_debate_changed_who_dissents_and_what_a_vote_had_said() -> None:
    says = {"ada": ["Tea", "Tea"], "bo": ["Coffee", "Tea"], "cy": ["Milk", "Milk"]}
    result = await table_of(CountingModel(lambda request: says[request.metadata["agent"]].pop(0))).debate(
        "Tea?", rounds=2, options=None
    )
    assert (result.independent_agreement, result.conformity_delta) == (0.0, pytest.approx(1 / 3))
    assert result.minority_report is not None
    assert (result.minority_report.majority, result.minority_report.supporters) == ("Tea", ("ada", "bo"))
    assert [(one.agent_id, one.position) for one in result.minority_report.dissents] == [("cy", "Milk")]
    assert result.baselines is not None
    assert (result.baselines.single, result.baselines.majority, result.baselines.votes) == ("Tea", None, 3)
    assert (result.baselines.cost_multiple, result.baselines.answer_changed) == (2.0, None)
    assert result.health is not None
    assert (result.health.compared_by, result.health.flip_rate) == ("position", pytest.approx(1 / 3))
    assert result.response is not None
    assert rt.DebateResult.from_json(result.to_json()) == result
    told = result.to_markdown()
    for part in ("Change by hearing each other", "Outside the largest camp", "Without debate", "Recommended"):
        assert part in told


async def test_baselines_say_why_there_are_none_and_whether_the_answer_changed() -> None:
    debated = await table_of(CountingModel("Tea")).debate("Tea?", rounds=1, mode="adversarial")
    assert debated.baselines == Baselines(single=None, reason="agents of the first round had seen answers of others")
    assert debated.conformity_delta is None
    same = await table_of(CountingModel("Tea")).debate("Tea?", rounds=1)
    assert same.baselines is not None
    assert same.baselines.answer_changed is False


def test_without_independent_answers_in_the_log_there_are_no_baselines() -> None:
    bare = held(answer("ada"), number=1).model_copy(update={"turns": ()})
    found = baselines_of(record(bare, independent_agreement=1.0), None)
    assert found == Baselines(single=None, reason="no independent answer is stored")
    assert baselines_of(record(), None) is None


def test_two_camps_of_one_size_are_no_majority() -> None:
    report = minority_report(held(answer("ada"), answer("bo"), camps=2), by_choice=False)
    assert (report.majority, report.supporters, len(report.dissents)) == (None, (), 2)


# ---------------------------------------------------------------- health


def test_a_collapse_without_evidence_is_seen_and_charged_to_who_gave_way() -> None:
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


def test_a_new_source_a_doubt_and_another_family_are_no_signs() -> None:
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
    assert (found.compared_by, [flag.name for flag in found.flags]) == ("stance", ["collapse"])
    assert debate_health([], agents) is None
    at_once = debate_health([held(answer("ada", choice="Tea"), answer("bo", choice="Tea"))], agents[:1] * 2)
    assert at_once is not None
    assert at_once.compared_by == "choice"
    assert "same-family" in {flag.name for flag in at_once.flags}


def test_who_was_outvoted_and_stayed_or_brought_a_source_did_not_give_way() -> None:
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
def test_points_are_found_by_rules(reasoning: str, points: tuple[str, ...]) -> None:
    assert key_points_by_rules(reasoning) == points


async def test_a_model_gives_the_points_and_the_rules_stand_in() -> None:
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


async def test_a_foreign_model_that_breaks_takes_no_points_from_others() -> None:
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


async def test_every_report_carries_what_was_found() -> None:
    def reply(request: Any) -> Any:
        who, round_ = request.metadata["agent"], int(request.metadata["round"])
        positions = {"ada": "Tea", "bo": ["Milk", "Tea"][round_ - 1], "cy": "Coffee"}
        sure = {"ada": 0.9, "bo": 0.8, "cy": 0.2}
        reasoning = f"1. {who} likes the taste of it.\n2. {who} cannot do without it."
        return {"position": positions[who], "reasoning": reasoning, "confidence": sure[who]}

    result = await table_of(CountingModel(reply)).debate("?", rounds=2)
    told = json.loads(result.to_json())
    wanted = {"answerSource", "decision", "votes", "independentAgreement", "conformityDelta", "minorityReport"}
    assert wanted | {"baselines", "health", "response", "synthesis"} <= told.keys()
    assert told["votes"] == [
        {"agentId": "ada", "agentName": "Ada", "choice": "Tea"},
        {"agentId": "bo", "agentName": "Bo", "choice": "Tea"},
        {"agentId": "cy", "agentName": "Cy", "choice": "Coffee"},
    ]
    shown = (
        "**Answer from:** the rule, over positions that say the same",
        "**Votes:** Ada, Bo for Tea; Cy for Coffee",
        "**Change by hearing each other:** +0.33",
        "**Outside the largest camp:** Cy: Coffee",
        "**Without debate:** vote of 3: no majority; one agent alone: Tea",
        "**Movement:** 33% of answers changed from round to round, compared by position",
        "**Facing another position:** 33% took one of the others', 67% kept theirs",
        "**Recommended:** verify",
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


async def test_a_tie_has_no_largest_camp_to_be_outside_of() -> None:
    table = rt.Roundtable(scripted_agents({"ada": "Tea", "bo": "Milk"}), storage="memory://")
    text = (await table.debate("?", rounds=1)).to_markdown()
    assert "**No largest camp:** Ada: Tea; Bo: Milk" in text
    assert "Outside the largest camp" not in text


async def test_who_gave_way_and_who_did_not_vote_are_told() -> None:
    def reply(request: Any) -> Any:
        choice = None if at(request) == "ada2" else _CHOICES[at(request)]
        return {"position": "So.", "choice": choice, "confidence": 0.8}

    result = await table_of(CountingModel(reply)).debate("?", rounds=2, options=["tea", "milk"])
    assert "**Votes:** Bo, Cy for tea; Ada for none" in result.to_markdown()
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
        (0.5, (0.7, 0.7), 1, None, "proceed"),
        (0.5, (0.7, 0.7), 2, ("YES", "NO"), "verify"),
        (0.5, (0.5, 0.6), 2, None, "verify"),
        (0.5, (0.6, 0.6), 2, None, "proceed"),
        (0.5, (0.4, 0.4), 1, None, "query_detail"),
        (0.39, (0.7, 0.7), 1, None, "query_detail"),
        (0.1, (0.9, 0.9), 2, None, "query_detail"),
        (0.9, (0.9, 0.8), 2, ("YES", "NO"), "proceed"),
    ],
)
def test_what_to_do_follows_the_first_rule_that_fits(
    level: float, confidences: tuple[float, float], camps: int, stances: tuple[Any, Any] | None, advice: str
) -> None:
    said = [
        answer(name, confidence=sure, stance=stances[place] if stances else None)
        for place, (name, sure) in enumerate(zip(("ada", "bo"), confidences, strict=True))
    ]
    found = build_response(record(held(*said, level=level, camps=camps)))
    assert found is not None
    assert found.decision.action_recommendation.type == advice
    assert found.decision.agreement_score == level


def test_one_position_is_no_agreement_to_go_by() -> None:
    found = build_response(record(held(answer("ada", confidence=0.9), level=1.0, camps=1)))
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
    found = build_response(record(before, now, context_requests=(asked,)))
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
    whole = build_response(record(before, now), ResponseSettings(debug=True))
    assert whole is not None
    assert whole.status == "in_progress"
    assert len(whole.evidence.consensus_summary) > 200
    again = build_response(record(before, held(answer("ada", confidence=0.5), number=2), status="completed"))
    assert again is not None
    assert again.status == "completed"
    assert again.agent_responses[0].confidence_change is not None
    assert again.agent_responses[0].confidence_change.reason == "maintained"
    assert build_response(record()) is None


def test_disagree_and_agree_are_told_apart_by_camps_and_not_by_letters() -> None:
    one = held(answer("ada", "I agree, now"), answer("bo", "I disagree, I know"), camps=2)
    found = build_response(record(one))
    assert found is not None
    assert [conflict.issue for conflict in found.evidence.conflicts] == ["Position"]
    same = build_response(record(held(answer("ada", "I know now"), answer("bo", "No"), camps=1)))
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
    says = {"ada": "Tea", "bo": "Tea", "cy": "Milk"}
    table = table_of(CountingModel(lambda request: says[request.metadata["agent"]]), settings=strict, analyzer="basic")
    result = await table.debate("Tea?", rounds=1)
    assert result.response is not None
    assert result.response.decision.consensus_level == "low"
