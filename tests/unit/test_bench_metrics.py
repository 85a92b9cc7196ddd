"""Every figure of a benchmark, on answers small enough to count by hand."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from roundtable.bench import (
    BenchmarkMetrics,
    ConsensusMetrics,
    ContentMetrics,
    InteractionMetrics,
    LatencyMetrics,
    MetricsCollector,
    calculate_delta,
    compare_metrics,
    interaction_score,
    metrics_of,
)
from roundtable.bench.runner import mean_metrics
from roundtable.core.base.clock import SystemClock
from roundtable.errors import ConfigurationError
from roundtable.sync import Roundtable
from roundtable.testing import scripted_agents
from roundtable.types import AgentResponse, Citation, ConsensusResult, RoundRecord, ToolCallRecord, Usage


class Ticking:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> datetime:
        return SystemClock().now()

    def monotonic(self) -> float:
        return self.at


def says(agent: str, text: str = "", *, confidence: float = 0.5, **more: Any) -> AgentResponse:
    return AgentResponse(agent_id=agent, agent_name=agent.title(), position=text, confidence=confidence, **more)


def collected(*rounds: list[AgentResponse], **more: Any) -> BenchmarkMetrics:
    collector = MetricsCollector("s1", len(rounds), **more)
    for number, held in enumerate(rounds, 1):
        collector.record_responses(number, held)
    return collector.get_metrics()


def test_times_are_those_between_start_and_end() -> None:
    clock = Ticking()
    collector = MetricsCollector("s1", 2, clock=clock)
    for number, took in ((1, 0.25), (2, 0.5)):
        collector.record_round_start(number)
        collector.record_agent_start("ada")
        clock.at += took
        collector.record_agent_end("ada")
        collector.record_round_end(number)
    collector.record_agent_end("bo")  # never began
    collector.record_round_end(2)  # over already
    found = collector.get_metrics().latency
    assert (found.total_ms, found.per_round_ms, dict(found.per_agent_ms)) == (750.0, (250.0, 500.0), {"ada": 750.0})


def test_reading_a_round_that_was_not_run_changes_nothing() -> None:
    collector = MetricsCollector("s", 3)
    assert collector.get_responses(2) == ()
    assert collector.get_metrics().rounds_held == 0


def test_a_round_without_turns_takes_no_time() -> None:
    collector = MetricsCollector("s", 1)
    collector.record_round(RoundRecord(number=1))
    found = collector.get_metrics()
    assert (found.rounds_held, found.latency.total_ms, found.consensus.method) == (1, 0, "none")


def test_reset_forgets_everything() -> None:
    collector = MetricsCollector("s1", 1)
    collector.record_response(1, says("ada", "Tea"))
    collector.record_usage(Usage(calls=1))
    assert (
        [said.position for said in collector.get_responses(1)]
        == ["Tea"]
        == [said.position for said in collector.get_responses()]
    )
    collector.reset()
    assert collector.get_responses() == ()
    empty = collector.get_metrics()
    assert (empty.rounds_held, empty.usage.calls, empty.consensus.method, empty.content.avg_confidence) == (
        0,
        0,
        "none",
        0,
    )


@pytest.mark.parametrize(
    "given", [{"groupthink_threshold": 1.5}, {"groupthink_threshold": "x"}, {"min_convergence_rounds": 1}]
)
def test_arguments_that_make_no_sense_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        MetricsCollector("s1", 1, **given)


@pytest.mark.parametrize(
    ("text", "references"),
    [
        pytest.param("Ada is right", 1, id="name"),
        pytest.param("ADA and Bo are right", 2, id="two names"),
        pytest.param("Canada is right", 0, id="part of a word"),
        pytest.param("I disagree with that", 1, id="disagree with"),
        pytest.param("As the analyst said, tea", 1, id="as somebody said"),
        pytest.param("To counter the argument: tea", 1, id="counter the argument"),
        pytest.param("The previous speaker errs", 1, id="previous speaker"),
        pytest.param("I respond to that", 1, id="respond to"),
        pytest.param("Cy thinks of tea", 0, id="one's own name"),
        pytest.param("Tea", 0, id="nothing"),
    ],
)
def test_references_are_names_of_earlier_speakers_or_words_of_reply(text: str, references: int) -> None:
    found = collected([says("ada", "Tea"), says("bo", "Tea"), says("cy", text)])
    assert found.interaction.cross_reference_count == references


def test_the_first_speaker_refers_to_no_answer() -> None:
    assert collected([says("ada", "I disagree with Bo"), says("bo", "x")]).interaction.cross_reference_count == 0


def test_depth_is_the_longest_run_of_rounds_with_references() -> None:
    calm, heated = [says("ada"), says("bo")], [says("ada"), says("bo", "Ada errs")]
    assert collected(heated, heated, calm, heated).interaction.rebuttal_depth == 2
    assert collected(calm, calm).interaction.rebuttal_depth == 0


def test_questions_count_if_an_agent_answers_them_in_the_next_round() -> None:
    asks = says("ada", "Why? When? Where? Who?")
    assert collected([asks, says("bo")], [says("bo", "Ada asks much")]).interaction.question_response_pairs == 3
    assert collected([asks, says("bo")], [says("bo", "Tea")]).interaction.question_response_pairs == 0
    assert collected([says("ada", "Why?"), says("bo", "Ada?")]).interaction.question_response_pairs == 0


def test_content_is_counted_over_all_answers() -> None:
    call, source = ToolCallRecord(tool_name="find"), Citation(title="t", url="https://example.org")
    found = collected(
        [says("ada", confidence=0.5, tool_calls=(call, call)), says("bo", confidence=1.0, citations=(source,))],
        [says("ada", confidence=0.75, tool_calls=(call,))],
    ).content
    assert (found.avg_confidence, round(found.confidence_variance, 6)) == (0.75, 0.041667)
    assert (dict(found.tool_calls_per_agent), found.citation_count) == ({"ada": 3, "bo": 0}, 1)
    assert found.role_violations == 0


def test_answers_that_left_their_side_are_counted() -> None:
    agents = scripted_agents({"ada": {"position": "Yes", "stance": "YES"}, "bo": {"position": "Yes", "stance": "YES"}})
    with Roundtable(agents, storage="memory://") as table:
        result = table.debate("Tea?", mode="oxford:reask=false", rounds=1)
    assert metrics_of(result).content.role_violations == 1


@pytest.mark.parametrize(
    ("texts", "least", "most"),
    [
        pytest.param(("It is green tea", "It is black tea"), 0.0, 1.0, id="common words say nothing"),
        pytest.param(("Tea", "tea."), 1.0, 1.0, id="equal"),
        pytest.param(("7 cups", "8 cups"), 0.0, 0.0, id="told apart"),
        pytest.param(("Tea",), 1.0, 1.0, id="one answer"),
    ],
)
def test_without_a_measure_the_evidence_of_the_answers_counts_and_never_common_words(
    texts: tuple[str, ...], least: float, most: float
) -> None:
    said = [says(agent, text, confidence=1.0) for agent, text in zip(("ada", "bo"), texts, strict=False)]
    found = collected(said).consensus
    assert (found.method, found.agreement_level, found.agreement_at_most) == ("declared", least, most)
    assert found.groupthink_warning is (len(texts) > 1 and least == 1)


def test_a_measured_round_keeps_its_level_and_method() -> None:
    collector = MetricsCollector("s1", 1)
    collector.record_responses(1, [says("ada", "tea"), says("bo", "milk")])
    collector.record_round_end(1, ConsensusResult(agreement_level=0.25, method="stance"))
    found = collector.get_metrics().consensus
    assert (found.agreement_level, found.method, found.groupthink_warning) == (0.25, "stance", False)


def test_a_debate_converges_if_neither_confidence_nor_answers_change() -> None:
    first, same = [says("ada", "green tea leaves")], [says("ada", "green tea leaves", confidence=0.59)]
    assert collected(first, same).consensus.convergence_round == 2
    assert collected(first, [says("ada", "green tea leaves", confidence=0.6)]).consensus.convergence_round is None
    assert collected(first, [says("ada", "black coffee beans")]).consensus.convergence_round is None
    assert collected(first, same, min_convergence_rounds=3).consensus.convergence_round is None
    assert collected(first, same, same, min_convergence_rounds=3).consensus.convergence_round == 3
    assert collected(first, [*same, says("bo", "tea")]).consensus.convergence_round is None
    silent = [says("ada", "ABSTAIN")]
    assert collected(silent, silent).consensus.convergence_round is None
    with_silent = [*first, says("bo", "ABSTAIN")]
    assert collected(with_silent, with_silent).consensus.convergence_round == 2
    assert collected(with_silent, [*same, says("bo", "coffee")]).consensus.convergence_round is None


def test_a_debate_converges_in_the_round_of_that_number_even_if_earlier_rounds_have_no_answers() -> None:
    same = [says("ada", "tea")]
    assert collected([], [], same, same).consensus.convergence_round == 4
    assert collected(same, [], same).consensus.convergence_round == 3
    assert collected([], same, same, same, min_convergence_rounds=4).consensus.convergence_round == 4


def test_nearly_equal_words_are_no_convergence_and_swapped_answers_have_changed() -> None:
    frame = "After weighing the size, the harbour and the history of each, I would say that it is {}."
    one = [says("ada", frame.format("Lisbon")), says("bo", frame.format("Porto"))]
    other = [says("ada", frame.format("Porto")), says("bo", frame.format("Lisbon"))]
    assert collected(one, other).consensus.convergence_round is None
    assert collected(one, one).consensus.convergence_round == 2


@pytest.mark.parametrize(
    ("compared", "converged"),
    [
        ({"you": "same"}, None),
        ({"you": "same", "Ada": "same", "Bo": "same"}, 2),
        ({"you": "different", "Ada": "same", "Bo": "same"}, None),
    ],
)
def test_an_agent_gave_its_last_answer_again_if_another_one_says_so(
    compared: dict[str, str], converged: int | None
) -> None:
    def says_it(number: int) -> dict[str, Any]:
        line = f"Words of round {number}"
        return {"position": line, "bottomLine": line, "confidence": 0.8, "compared": compared}

    script = {"ada": [says_it(1), says_it(2)], "bo": [says_it(1), says_it(2)]}
    with Roundtable(scripted_agents(script), storage="memory://") as table:
        result = table.debate("Tea?", rounds=2)
    assert metrics_of(result).consensus.convergence_round == converged


@pytest.mark.parametrize(
    ("rounds", "warned"),
    [
        pytest.param([(0.9, "tea")], True, id="high at once"),
        pytest.param([(0.2, "tea"), (0.9, "tea")], True, id="high in silence"),
        pytest.param([(0.2, "tea"), (0.9, "Ada is right")], False, id="high after talk"),
        pytest.param([(0.2, "tea"), (0.89, "tea")], False, id="not high"),
    ],
)
def test_groupthink_is_high_agreement_at_once_or_in_silence(rounds: list[tuple[float, str]], warned: bool) -> None:
    collector = MetricsCollector("s1", len(rounds))
    for number, (level, text) in enumerate(rounds, 1):
        collector.record_responses(number, [says("ada", "tea"), says("bo", text)])
        collector.record_round_end(number, ConsensusResult(agreement_level=level))
    assert collector.get_metrics().consensus.groupthink_warning is warned


def test_one_agent_alone_is_not_a_group() -> None:
    assert not collected([says("ada", "tea", confidence=1.0)]).consensus.groupthink_warning


def test_a_result_is_measured_like_a_stored_session() -> None:
    with Roundtable(scripted_agents({"ada": "Tea", "bo": "I agree with Ada: tea"}), storage="memory://") as table:
        result = table.debate("Tea?", rounds=2)
    found = metrics_of(result)
    assert (found.session_id, found.total_rounds, found.rounds_held) == (result.session_id, 2, 2)
    assert found.usage == result.usage
    assert result.consensus is not None
    assert (found.consensus.agreement_level, found.consensus.method) == (
        result.consensus.agreement_level,
        result.consensus.method,
    )
    assert len(found.latency.per_round_ms) == 2
    assert set(found.latency.per_agent_ms) == {"ada", "bo"}
    assert found.interaction.cross_reference_count == 2
    assert BenchmarkMetrics.from_json(found.to_json()) == found


def metrics(**more: Any) -> BenchmarkMetrics:
    """Make figures; each is named as the part of the formula it stands for."""
    given = {
        "ms": 100.0,
        "confidence": 0.5,
        "citations": 10,
        "references": 5,
        "agreement": 0.5,
        "groupthink": False,
    } | more
    return BenchmarkMetrics(
        session_id="s",
        total_rounds=1,
        rounds_held=1,
        latency=LatencyMetrics(total_ms=given["ms"]),
        interaction=InteractionMetrics(
            cross_reference_count=given["references"], rebuttal_depth=0, question_response_pairs=0
        ),
        content=ContentMetrics(
            avg_confidence=given["confidence"], confidence_variance=0, citation_count=given["citations"]
        ),
        consensus=ConsensusMetrics(
            agreement_level=given["agreement"],
            method=given.get("method", "basic"),
            groupthink_warning=given["groupthink"],
        ),
        usage=Usage(calls=given.get("calls", 4)),
    )


@pytest.mark.parametrize(
    ("change", "quality"),
    [
        pytest.param({}, 50.0, id="nothing"),
        pytest.param({"confidence": 1.0}, 60.0, id="confidence"),
        pytest.param({"citations": 20}, 57.5, id="citations doubled"),
        pytest.param({"citations": 1000}, 57.5, id="at most doubled"),
        pytest.param({"references": 0}, 37.5, id="interaction gone"),
        pytest.param({"agreement": 1.0}, 56.25, id="agreement"),
        pytest.param({"agreement": 1.0, "method": "ai"}, 50.0, id="agreement by another measure"),
        pytest.param({"groupthink": True}, 47.0, id="groupthink"),
        pytest.param({"confidence": 0.0, "citations": 0, "references": 0, "agreement": 0.0}, 13.75, id="all worse"),
    ],
)
def test_quality_is_the_stated_sum(change: dict[str, Any], quality: float) -> None:
    assert calculate_delta(metrics(), metrics(**change)).quality_score == quality


def test_a_new_figure_counts_as_doubled_and_an_absent_one_as_zero() -> None:
    none = metrics(citations=0, references=0, ms=0.0)
    assert calculate_delta(none, metrics()).quality_score == 50 + 7.5 + 12.5
    assert calculate_delta(none, none).quality_score == 50
    assert calculate_delta(none, metrics()).latency_reduction == 0


@pytest.mark.parametrize(
    ("change", "recommendation"),
    [
        pytest.param({"confidence": 1.0}, "adopt", id="good"),
        pytest.param({"confidence": 1.0, "ms": 110.0}, "adopt", id="10 % slower"),
        pytest.param({"confidence": 1.0, "ms": 110.1}, "conditional", id="more than 10 % slower"),
        pytest.param({"confidence": 0.9}, "conditional", id="not good enough"),
        pytest.param({"confidence": 1.0, "ms": 150.0}, "conditional", id="50 % slower"),
        pytest.param({"confidence": 1.0, "ms": 150.1}, "reject", id="more than 50 % slower"),
        pytest.param({"confidence": 0.0, "references": 0}, "reject", id="bad"),
        pytest.param({"ms": 10.0}, "conditional", id="fast alone"),
    ],
)
def test_the_recommendation_follows_its_bands(change: dict[str, Any], recommendation: str) -> None:
    assert compare_metrics(metrics(), metrics(**change)).recommendation == recommendation


def test_reasons_name_what_moved() -> None:
    found = compare_metrics(metrics(groupthink=True), metrics(ms=50.0, references=10, method="ai", calls=8))
    assert found.reasons == (
        "quality 65.5 of 100, where 50 is no change",
        "50.0 % faster",
        "interaction +100.0 %",
        "agreement is not compared: measured by basic and by ai",
        "signs of groupthink are gone",
        "2 calls for each call",
    )
    assert "signs of groupthink are new" in compare_metrics(metrics(), metrics(groupthink=True)).reasons
    assert interaction_score(found.candidate.interaction) == 20


def test_calls_are_compared_for_one_debate_however_many_debates_the_means_are_of() -> None:
    three, two = mean_metrics([metrics()] * 3), mean_metrics([metrics()] * 2)
    assert (three.runs, three.usage.calls, two.usage.calls) == (3, 12, 8)
    assert compare_metrics(three, two).reasons == compare_metrics(metrics(), metrics()).reasons
    assert "2 calls for each call" in compare_metrics(three, mean_metrics([metrics(calls=8)] * 2)).reasons
    assert mean_metrics([three, two]).runs == 5
