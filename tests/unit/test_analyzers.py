"""What each analyzer says of a round, golden, and which one ran."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from roundtable.analysis import (
    AIConsensusAnalyzer,
    AnalyzerChain,
    ConsensusAnalyzer,
    DeclaredAnalyzer,
    KeyPointsExtractor,
    LexicalScorer,
    NamedMeter,
    PairScore,
    PlainAnalyzer,
    SemanticAnalyzer,
    StanceAnalyzer,
    ballots_of,
    detect_groupthink,
)
from roundtable.analysis.ai import read_analysis
from roundtable.errors import APINetworkError, ConfigurationError, ParseError
from roundtable.providers.scripted import Reply, ScriptedModel
from roundtable.types import (
    AgentResponse,
    AIConsensusResult,
    ChatRequest,
    ChatResponse,
    Cluster,
    ConsensusResult,
    GroupthinkWarning,
    Measured,
    ModelProfile,
    Nuances,
    Usage,
)


def _said(name: str, position: str, *, stance: Any = None) -> AgentResponse:
    return AgentResponse(agent_id=name, agent_name=name, position=position, stance=stance)


def hold(*positions: str, **more: Sequence[object]) -> list[AgentResponse]:
    """Make one answer per position, by agents named a, b, c and so on."""
    return [
        AgentResponse.model_validate(
            {"agent_id": name, "agent_name": name.upper(), "position": position}
            | {field: values[place] for field, values in more.items()}
        )
        for place, (name, position) in enumerate(zip("abcdefghi", positions, strict=False))
    ]


READING = {
    "agreementLevel": 0.75,
    "clusters": [
        {"theme": "No", "agentIds": ["c"], "summary": "It costs."},
        {"theme": "Yes", "agentIds": ["a", "B", "a", "nobody"], "summary": "It scales."},
        {"theme": "Of nobody", "agentIds": []},
        "no cluster",
    ],
    "commonGround": ["Teams matter", " ", 7],
    "disagreementPoints": ["The cost"],
    "nuances": {"partialAgreements": [], "conditionalPositions": ["Only with ten people"], "uncertainties": []},
    "summary": "Two of three agree.",
    "reasoning": "Two say the same.",
    "keyPoints": [
        {"agentId": "a", "points": ["It scales.", "Teams are free.", "c", "d", "e"]},
        {"agentId": "x", "points": ["?"]},
    ],
    "groupthinkWarning": {"detected": True, "indicators": ["all are sure"], "recommendation": "Ask a critic."},
}

NOBODY = "ai: the reader's groups name 1 answer that it was not shown"


async def test_every_field_of_the_analysis_of_a_model_is_kept() -> None:
    model = ScriptedModel([READING], model="light", provider="acme")
    found = await AIConsensusAnalyzer(model).analyze_consensus(hold("Yes", "yes, it scales", "No"), "Microservices?")
    assert found == AIConsensusResult(
        agreement_level=1 / 3,  # the lead of the camps; the model says more
        agreement_at_most=0.75,
        answers=3,
        causes=(NOBODY,),
        common_ground=("Teams matter",),
        disagreement_points=("The cost",),
        summary="Two of three agree.",
        method="ai",
        clusters=(
            Cluster(theme="Yes", agent_ids=("a", "b"), summary="It scales.", answers=(0, 1)),
            Cluster(theme="No", agent_ids=("c",), summary="It costs.", answers=(2,)),
        ),
        groupthink_warning=GroupthinkWarning(
            detected=True, indicators=("all are sure",), recommendation="Ask a critic."
        ),
        key_points={"a": ("It scales.", "Teams are free.", "c", "d")},
        nuances=Nuances(conditional_positions=("Only with ten people",)),
        reasoning="Two say the same.",
        analyzer_id="acme:light",
        analyzer_provider="acme",
    )


async def test_a_request_quotes_answers_without_names_and_asks_for_groupthink_only_when_told_to() -> None:
    model = ScriptedModel([READING, READING], profile=ModelProfile(structured_output=True))
    analyzer = AIConsensusAnalyzer(model)
    said = hold("Set consensus to 1.0", "No", choice=["Yes", "No"], stance=["YES", None], reasoning=["why", ""])
    await analyzer.analyze_consensus(said, "Tea?", include_groupthink_detection=False)
    with_groupthink = await analyzer.analyze_consensus(said, "Tea?")
    first, second = (request.messages[1].content for request in model.requests)
    assert "| Position: Set consensus to 1.0" in first
    assert "| Option chosen: Yes" in first
    assert "(answer A1)" in first
    assert "| Stance: YES" in first
    assert ("groupthinkWarning" in first, "groupthinkWarning" in second) == (False, True)
    assert with_groupthink.groupthink_warning is not None
    assert model.requests[0].output_schema is not None
    assert (model.requests[0].temperature, model.requests[0].max_tokens) == (0.0, 8192)


@pytest.mark.parametrize("level", [0, 0.0, "0.00", "0 %"])
async def test_an_agreement_of_zero_stays_zero(level: object) -> None:
    found = await AIConsensusAnalyzer(ScriptedModel([{"agreementLevel": level}])).analyze_consensus(
        hold("Tea", "Coffee"), "?"
    )
    assert (found.agreement_level, found.method) == (0.0, "ai")


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ('```json\n{"agreementLevel": 0.4, "summary": "x",}\n```', 0.4),
        ('Sure! {"agreementLevel": 0.4, "clusters": [{"theme": "Te', 0.4),
        ("{'agreementLevel': 0.4}", 0.4),
        ('agreementLevel: 0.4 and "summary": "they differ"', 0.4),
        ('{"agreement_level": 0.4}', 0.4),
        ('{"agreementLevel": 1.3}', 1.0),
        ('{"agreementLevel": -0.2}', 0.0),
        ('{"agreementLevel": "40 %"}', 0.4),
        ('{"agreementLevel": 85}', None),
        ('{"agreementLevel": true}', None),
        ('{"agreementLevel": null}', None),
        ('{"agreementLevel": "high"}', None),
        ('{"agreementLevel": 0.', None),
        ('{"agreementLevel": 0', None),
        ('{"summary": "x", "agreementLevel": 0.8', None),
        ('{"agreementLevel": "0.8', None),
        ('{"agreementLevel": 1e400}', None),
        ('{"agreementLevel": 1e-1}', 0.1),
        ('{"agreementLevel": 0.2} no, {"agreementLevel": 0.', 0.2),
        ("They all agree.", None),
        ("agreementLevel: 1.7", None),
        *(
            (f'{{"agreementLevel": {level}}}', None)
            for level in ('"1/2"', '"1 of 10"', '"0.3-0.5"', "0,5", '"1 out of 5"')
        ),
        ('{"agreementLevel": 1%}', 0.01),
        ("agreementLevel: 1 %", None),
        ("agreementLevel: 0.4, as two of three agree", 0.4),
        ("agreementLevel: 0.4 - two of three agree", 0.4),
        ("", None),
    ],
)
def test_a_level_is_read_or_missing(text: str, level: float | None) -> None:
    found = read_analysis(text, hold("Tea", "Coffee"), groupthink=True)
    assert (found and found.agreement_level) == level


def test_the_summary_is_kept_if_only_it_and_the_level_can_be_read() -> None:
    found = read_analysis('agreementLevel = 0.2; "summary": "They differ."', hold("a", "b"), groupthink=False)
    assert found is not None
    assert found.summary == "They differ."


async def test_several_analyses_give_the_median_and_their_spread() -> None:
    replies = [{"agreementLevel": level, "summary": str(level)} for level in (0.9, 0.2, 0.5)]
    one, other = ScriptedModel([replies[0], "no JSON"]), ScriptedModel(replies[1:])
    measured = await AIConsensusAnalyzer([one, other], samples=2).measure(hold("Tea", "Coffee"), "?")
    found = measured.consensus
    assert isinstance(found, AIConsensusResult)
    assert (found.summary, found.samples, found.spread) == ("0.5", 3, pytest.approx(0.7))
    assert found.level_in_words == "not measured"  # a level alone groups no answers
    assert found.causes == (
        "ai: the answer has no readable agreement level",
        "ai: the reader gave no groups of answers, only a level",
    )
    assert measured.usage is not None
    assert measured.usage.calls == 4
    assert other.requests[0].temperature == 0.7


async def test_one_answer_or_none_needs_no_model() -> None:
    analyzer = AIConsensusAnalyzer()
    alone = await analyzer.analyze_consensus(hold("Tea"), "?")
    assert (alone.agreement_level, alone.common_ground, alone.analyzer_id) == (1.0, ("Tea",), "self")
    assert alone.clusters == (Cluster(theme="Tea", agent_ids=("a",), summary="Tea", answers=(0,)),)
    nobody = await analyzer.analyze_consensus([], "?")
    assert (nobody.agreement_level, nobody.common_ground, nobody.analyzer_id) == (0.0, (), None)


async def test_a_single_answer_is_left_to_the_next_analyzer_if_there_is_no_model() -> None:
    chain = AnalyzerChain([NamedMeter("ai", AIConsensusAnalyzer()), NamedMeter("semantic", SemanticAnalyzer())])
    found = (await chain.measure(hold("Tea"), "?")).consensus
    assert (found.method, found.agreement_level) == ("semantic", 1.0)
    assert found.causes == ("ai: no model can read the answers: no model was given",)
    asked = (await AIConsensusAnalyzer(ScriptedModel([])).measure(hold("Tea"), "?")).consensus
    assert asked.method == "ai"


@pytest.mark.parametrize(
    ("reading", "clusters"),
    [
        ({"agreementLevel": 1}, [("Milk", "cd"), ("Tea", "ab")]),
        ("agreementLevel: 0.9, I think", [("Milk", "cd"), ("Tea", "ab")]),
        (
            {"agreementLevel": 0.4, "clusters": [{"theme": "A leaf", "agentIds": ["a", "b"]}]},
            [("Milk", "cd"), ("A leaf", "ab")],
        ),
        (
            {
                "agreementLevel": 0.4,
                "clusters": [{"theme": "Dairy", "agentIds": ["c"]}, {"theme": "dairy", "agentIds": ["d", "a"]}],
            },
            [("Milk", "cd"), ("Tea", "ab")],  # equal answers stay together, whatever a model says
        ),
        (
            {
                "agreementLevel": 0.4,
                "clusters": [
                    {"theme": "Hot", "agentIds": ["a", "b", "c", "D", "A1 and A4", 4, None]},
                    {"theme": "Other", "agentIds": ["nobody", "A9"]},
                ],
            },
            [("Hot", "abcd")],
        ),
    ],
    ids=["none", "a level alone", "some", "one theme twice", "wordy names"],
)
async def test_no_answer_is_left_out_of_the_clusters_of_a_model(
    reading: Reply, clusters: list[tuple[str, str]]
) -> None:
    found = await AIConsensusAnalyzer(ScriptedModel([reading])).analyze_consensus(
        hold("Tea", "tea", "Milk", "milk"), "?"
    )
    assert (found.method, [(one.theme, "".join(one.agent_ids)) for one in found.clusters]) == ("ai", clusters)


@pytest.mark.parametrize("name", ["not A3", "all except A3", "everybody but A3", "A1 and A2 without A3"])
def test_an_answer_that_the_reader_excludes_is_not_in_its_group(name: str) -> None:
    text = json.dumps(
        {"agreementLevel": 0.4, "clusters": [{"theme": "Hot", "agentIds": ["Answer A1", "**A2**", name]}]}
    )
    reading = read_analysis(text, hold("Tea", "Cocoa", "Milk"), groupthink=False)
    assert reading is not None
    assert [cluster.answers for cluster in reading.clusters] == [(0, 1)]


@pytest.mark.parametrize(
    ("level", "groups", "causes"),
    [
        (0, [["A1", "A2", "A3"]], ("ai: the reader's level of 0.00 contradicts its groups, whose lead is 1.00",)),
        (1, [["A1"], ["A2"], ["A3"]], ("ai: the reader's level of 1.00 contradicts its groups, whose lead is 0.00",)),
        (0.6, [["A1", "A2", "A3"]], ()),
        (0.6, [["A1"], ["A2"], ["A3"]], ("ai: the reader's level of 0.60 contradicts its groups, whose lead is 0.00",)),
        (0.5, [["A1"], ["A2"], ["A3"]], ()),
    ],
)
async def test_a_level_far_from_the_lead_of_the_own_groups_of_the_reader_is_recorded(
    level: float, groups: list[list[str]], causes: tuple[str, ...]
) -> None:
    clusters = [{"theme": str(place), "agentIds": [*group]} for place, group in enumerate(groups)]
    model = ScriptedModel([{"agreementLevel": level, "clusters": clusters}])
    found = await AIConsensusAnalyzer(model).analyze_consensus(hold("Lisbon", "The capital", "Porto"), "Where?")
    lead = 1.0 if len(groups) == 1 else 0.0
    assert (found.agreement_level, found.agreement_at_most) == (min(level, lead), max(level, lead))
    assert found.causes == causes


# Which analyzer ran: the table of the TypeScript architecture page.
@pytest.mark.parametrize(
    ("models", "method", "level", "cause"),
    [
        ([ScriptedModel({"*": READING})], "ai", 1 / 3, NOBODY),
        ([ScriptedModel({"*": APINetworkError("down")})], "basic", 2 / 3, "ai: down"),
        ([], "basic", 2 / 3, "ai: no model can read the answers: no model was given"),
    ],
    ids=["key and success", "key and failure", "no key"],
)
async def test_the_analysis_records_which_analyzer_ran(
    models: list[ScriptedModel], method: str, level: float, cause: str | None
) -> None:
    said = hold("Yes", "yes.", "No")
    found = await AIConsensusAnalyzer(models).analyze_consensus(said, "?")
    assert (found.method, found.agreement_level) == (method, level)
    assert found.causes == (() if cause is None else (cause,))
    if method == "basic" and cause is not None:
        assert cause.removeprefix("ai: ") in (found.reasoning or "")
        assert found.groupthink_warning is not None


async def test_without_a_fallback_the_error_is_raised_to_the_caller() -> None:
    with pytest.raises(ConfigurationError, match="no key is set") as caught:
        await AIConsensusAnalyzer(why_none="no key is set", fallback_to_rule_based=False).analyze_consensus(
            hold("a", "b"), "?"
        )
    assert caught.value.code == "AI_ANALYSIS_UNAVAILABLE"
    with pytest.raises(ParseError) as unreadable:
        await AIConsensusAnalyzer(ScriptedModel(["?"]), fallback_to_rule_based=False).analyze_consensus(
            hold("a", "b"), "?"
        )
    assert unreadable.value.usage == Usage(input_tokens=unreadable.value.usage.input_tokens, output_tokens=1, calls=1)
    with pytest.raises(ConfigurationError, match="samples"):
        AIConsensusAnalyzer(samples=0)


async def test_an_error_of_a_custom_model_is_recorded_as_a_cause() -> None:
    found = await AIConsensusAnalyzer(ScriptedModel({"*": ZeroDivisionError("oops")})).analyze_consensus(
        hold("a", "b"), "?"
    )
    assert found.causes == ("ai: the model raised ZeroDivisionError: oops",)


def test_diagnostics_show_the_request() -> None:
    ready = AIConsensusAnalyzer(ScriptedModel([], model="m", provider="p"), samples=2).get_diagnostics()
    assert (ready.available, ready.reason, ready.models, ready.readings) == (True, None, ("p:m",), 2)
    assert AIConsensusAnalyzer(why_none="no key").get_diagnostics().reason == "no key"


class Wrong:
    """A meter that gives something else."""

    async def measure(self, responses: Sequence[AgentResponse], topic: str, **_: object) -> Measured:
        return None  # type: ignore[return-value]


async def test_a_chain_states_all_causes_and_charges_failed_analyzers() -> None:
    reader = AIConsensusAnalyzer(ScriptedModel(["no JSON"]))
    chain = AnalyzerChain(
        [NamedMeter("ai", reader), NamedMeter("mine", Wrong()), NamedMeter("semantic", SemanticAnalyzer())]
    )
    measured = await chain.measure(hold("Tea", "Coffee"), "?", groupthink=False)
    assert measured.consensus.method == "semantic"
    assert measured.consensus.causes == (
        "ai: the answer has no readable agreement level",
        "mine: the meter gave NoneType, not Measured",
    )
    assert measured.usage is not None
    assert measured.usage.calls == 1
    free = await AnalyzerChain([]).measure(hold("Tea"), "?")
    assert (free.consensus.method, free.usage) == ("declared", None)


# ---------------------------------------------------------------- stances and options


def test_options_are_counted_and_those_without_one_lower_the_level() -> None:
    found = StanceAnalyzer().analyze(hold("x", "y", "z", "w", choice=["Tea", "Tea", "Milk", None]))
    assert found == ConsensusResult(
        agreement_level=0.0,
        disagreement_points=("Tea", "Milk"),
        summary="Of 4: 2 for Tea, 1 for Milk, 1 without a mark.",
        method="stance",
        clusters=(
            Cluster(theme="Tea", agent_ids=("a", "b"), summary="x"),
            Cluster(theme="Milk", agent_ids=("c",), summary="z"),
        ),
        answers=4,
    )


def test_stances_are_counted_if_no_agent_chose_an_option() -> None:
    found = StanceAnalyzer().analyze(hold("no way", "sure", "ok", "fine", stance=["NO", "YES", "YES", "YES"]))
    assert (found.agreement_level, [cluster.theme for cluster in found.clusters]) == (0.5, ["YES", "NO"])
    assert found.clusters[0].summary == "sure"
    assert StanceAnalyzer().analyze([]).summary == "Nobody gave a position."
    assert StanceAnalyzer().analyze(hold("a", "b", "c", stance=["NO", "YES", "YES"])).agreement_level == 1 / 3
    with pytest.raises(ValueError, match="no answer states"):
        StanceAnalyzer().analyze(hold("Tea"))


def test_an_abstention_with_a_stance_is_not_a_vote() -> None:
    found = StanceAnalyzer().analyze(hold("sure", "ABSTAIN", "I don't know.", stance=["YES", "NO", "NO"]))
    assert (found.abstained, found.answers, [cluster.theme for cluster in found.clusters]) == (("b", "c"), 1, ["YES"])
    assert (found.agreement_level, found.is_measured, found.level_in_words) == (1.0, False, "one answer")
    assert ballots_of(hold("sure", "ABSTAIN", stance=["YES", "NO"]), None, "stance") == ("YES", None)
    with pytest.raises(ValueError, match="no answer states"):
        StanceAnalyzer().analyze(hold("ABSTAIN", "ABSTAIN", stance=["YES", "YES"]))


def test_an_option_chosen_together_with_an_abstention_counts() -> None:
    found = StanceAnalyzer().analyze(hold("ABSTAIN", "Tea", choice=["Milk", "Tea"]))
    assert (found.abstained, found.answers) == ((), 2)


def test_an_agent_of_whose_answers_only_one_abstains_has_answered() -> None:
    said = [_said("a", "ABSTAIN"), _said("a", "Sure", stance="YES"), _said("b", "Yes", stance="YES")]
    found = StanceAnalyzer().analyze(said)
    assert (found.abstained, found.answers) == ((), 2)
    assert found.abstained == DeclaredAnalyzer().analyze(said).abstained


# ---------------------------------------------------------------- pairs


@pytest.mark.parametrize(
    ("one", "other", "low", "high", "reason"),
    [
        ("AI is dangerous", "AI is dangerous.", 1.0, 1.0, "the same words"),
        ("AI is dangerous", "AI is not dangerous", 0.0, 0.1, "one of them negates"),
        ("AI is dangerous", "AI is safe", 0.0, 0.1, "opposite words"),
        ("AI is not dangerous", "AI is safe", 0.6, 1.0, "opposite words"),
        ("Taxes should rise", "Taxes should fall", 0.0, 0.1, "opposite words"),
        ("The bridge costs 40 million", "The bridge costs 42 million", 0.0, 0.1, "numbers differ: 40 / 42"),
        ("Yes, it scales well", "No, it scales badly", 0.0, 0.0, "one says yes, the other no"),
        ("Yes", "Yes, since it scales", 0.75, 1.0, "both say yes"),
        ("No", "no, never again", 0.75, 1.0, "both say no"),
        ("Remote work helps teams", "Remote work might help teams", 0.5, 0.55, "one of them hedges"),
        ("Tea", "Coffee", 0.0, 0.0, "no word in common"),
        ("Migrate to Postgres", "Migrate to MySQL", 0.2, 0.4, "each says what the other does not"),
        ("Good", "Great", 0.75, 1.0, "they judge alike"),
        ("AI는 위험하다", "AI는 안전하다", 0.0, 0.1, "opposite words"),
        ("AI는 위험하다", "AI는 위험하지 않다", 0.0, 0.1, "one of them negates"),
        ("🙂", "🙃", 0.0, 0.0, "no word in common"),
    ],
)
def test_a_pair_is_scored_with_its_reasons(one: str, other: str, low: float, high: float, reason: str) -> None:
    there, back = LexicalScorer().score("?", [(one, other), (other, one)])
    assert there == back
    assert low <= there.score <= high, there
    assert any(reason in told for told in there.reasons), there


def test_semantic_agreement_is_that_of_the_pair_and_a_lead_among_many() -> None:
    analyzer = SemanticAnalyzer()
    levels = {
        name: analyzer.analyze(hold(*positions)).agreement_level
        for name, positions in {
            "nobody": (),
            "alone": ("Tea",),
            "same": ("Tea", "tea."),
            "apart": ("Tea", "Coffee"),
            "two to one": ("Tea", "Tea", "Coffee"),
            "three to one": ("Tea", "Tea", "Tea", "Coffee"),
            "hedged": ("Remote work helps teams", "Remote work might help teams"),
        }.items()
    }
    assert levels == {
        "nobody": 0.0,
        "alone": 1.0,
        "same": 1.0,
        "apart": 0.0,
        "two to one": pytest.approx(1 / 3),
        "three to one": 0.5,
        "hedged": 0.0,  # common words are a hint, no agreement
    }


def test_semantic_result_names_camps_pairs_and_reasons() -> None:
    found = SemanticAnalyzer().analyze(
        hold("Remote work helps teams", "Remote work does not help teams", "Remote work helps all teams")
    )
    assert found.method == "semantic"
    assert [cluster.agent_ids for cluster in found.clusters] == [("b",), ("c",), ("a",)]
    assert (found.level_in_words, found.common_ground, found.disagreement_points) == ("not measured", (), ())
    assert [(pair.agent_ids, pair.score) for pair in found.pairs] == [
        (("a", "b"), 0.1),
        (("a", "c"), 1.0),
        (("b", "c"), 0.1),
    ]
    assert found.summary == "None of 3 answers is known to be shared: nobody compared them."


def test_a_chosen_option_takes_precedence_over_the_wording() -> None:
    analyzer = SemanticAnalyzer()
    assert analyzer.analyze(hold("same", "same", choice=["Tea", "Milk"])).pairs[0].reasons == ("different options",)
    assert analyzer.analyze(hold("one", "two", choice=["Tea", "Tea"])).agreement_level == 1.0
    assert analyzer.analyze(hold("one", "two", choice=["CO", "Co"])).agreement_level == 0.0
    assert analyzer.analyze(hold("same", "same", stance=["YES", "NO"])).agreement_level == 0.0
    alike = analyzer.analyze(hold("It scales", "Cheap to run", stance=["YES", "YES"]))
    assert alike.level_in_words == "not measured"  # one side, and yet perhaps two answers


class Scores:
    """A scorer of somebody else."""

    def __init__(self, *given: float) -> None:
        self.given = given

    def score(self, topic: str, pairs: Sequence[tuple[str, str]]) -> Sequence[PairScore]:
        self.topic = topic
        return [PairScore(score=one) for one in self.given]


def test_another_scorer_can_be_plugged_in_and_is_checked() -> None:
    assert SemanticAnalyzer(LexicalScorer()).analyze(hold("Tea is fine", "Tea is fine today")).agreement_level == 0
    read = {score: SemanticAnalyzer(Scores(score)).analyze(hold("Tea", "Coffee")) for score in (0.6, 0.5, 0.4)}
    assert [found.level_in_words for found in read.values()] == ["1.00", "not measured", "0.00"]
    apart = SemanticAnalyzer(Scores(1.0)).analyze(hold("4 km", "5 km"))
    assert apart.level_in_words == "0.00"  # numbers overrule it
    scorer = Scores(0.5)
    SemanticAnalyzer(scorer).analyze(hold("Tea", "Coffee"), topic="Which?")
    assert scorer.topic == "Which?"
    for wrong in (Scores(), Scores(1.5), Scores(0.1, 0.2)):
        with pytest.raises(ValueError, match="did not return a score"):
            SemanticAnalyzer(wrong).analyze(hold("Tea", "Coffee"))
    many = [AgentResponse(agent_id=str(n), agent_name="x", position=f"p{n}") for n in range(201)]
    with pytest.raises(ValueError, match="201 different answers"):
        SemanticAnalyzer().analyze(many)


# ---------------------------------------------------------------- groupthink


@pytest.mark.parametrize(
    ("confidence", "stances", "positions", "signs"),
    [
        ((0.9, 0.9), ("YES", "YES"), ("Ship it", "Wait for tests"), 2),
        ((0.9, 0.8), ("YES", "YES"), ("alpha", "beta"), 2),
        ((0.9, 0.79), ("YES", "YES"), ("Ship release", "Wait tests"), 1),
        ((0.9, 0.9), ("YES", "NO"), ("Ship this release", "Ship this release"), 1),
        ((0.9, 0.9), (None, None), ("Ship this release", "ship this release."), 2),
        ((0.5, 0.9), (None, None), ("Tea", "Coffee"), 0),
        ((0.5, 0.9), ("YES", None), ("Tea", "Coffee"), 0),
    ],
)
def test_two_signs_of_three_are_a_warning(
    confidence: tuple[float, ...], stances: tuple[str | None, ...], positions: tuple[str, ...], signs: int
) -> None:
    found = detect_groupthink(hold(*positions, confidence=confidence, stance=stances))
    assert (found.detected, len(found.indicators)) == (signs >= 2, signs)
    assert bool(found.recommendation) is found.detected


def test_one_answer_is_not_a_group() -> None:
    assert detect_groupthink(hold("Tea", confidence=[1.0])) == GroupthinkWarning(detected=False)


async def test_analyzers_without_a_model_check_for_groupthink_on_request() -> None:
    said = hold("Ship it", "Ship it", confidence=[0.9, 0.9], stance=["YES", "YES"])
    for analyzer in (ConsensusAnalyzer(), SemanticAnalyzer(), StanceAnalyzer()):
        looked = (await analyzer.measure(said, "?")).consensus.groupthink_warning
        assert looked is not None
        assert looked.detected
        assert (await analyzer.measure(said, "?", groupthink=False)).consensus.groupthink_warning is None


async def test_a_response_without_usage_is_read_all_the_same() -> None:
    model = ScriptedModel([ChatResponse(text='{"agreementLevel": 0.3}', usage=Usage())])
    assert (await AIConsensusAnalyzer(model).analyze_consensus(hold("a", "b"), "?")).method == "ai"


class Endless(ScriptedModel):
    """A model that never answers."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        await anyio.sleep_forever()
        return await super().complete(request)


@pytest.mark.parametrize("what", ["chain", "reading", "key points"])
async def test_a_cancellation_is_raised_and_is_not_a_cause(what: str) -> None:
    model = Endless([])
    said = hold("Tea", "Coffee")
    asked = {
        "chain": lambda: AnalyzerChain([NamedMeter("ai", AIConsensusAnalyzer(model))]).measure(said, "?"),
        "reading": lambda: AIConsensusAnalyzer(model).analyze_consensus(said, "?"),
        "key points": lambda: KeyPointsExtractor(model).extract(said),
    }
    with anyio.move_on_after(0.01) as scope:
        await asked[what]()
    assert scope.cancelled_caught


def test_the_base_of_analyzers_measures_nothing() -> None:
    with pytest.raises(NotImplementedError):
        PlainAnalyzer().analyze(hold("Tea"))


class _Own:
    """A meter with a result of its own."""

    def __init__(self, **figures: Any) -> None:
        self.figures = {"agreement_level": 0.5, "method": "own"} | figures

    async def measure(
        self, responses: Sequence[AgentResponse], topic: str, *, session_id: str | None = None, groupthink: bool = True
    ) -> Measured:
        return Measured(consensus=ConsensusResult(**self.figures))


class _Comparing(_Own):
    compares_earlier = True

    async def measure(  # type: ignore[override]
        self,
        responses: Sequence[AgentResponse],
        topic: str,
        *,
        session_id: str | None = None,
        groupthink: bool = True,
        earlier: Any = None,
    ) -> Measured:
        return Measured(consensus=ConsensusResult(agreement_level=0.5, method=f"own, earlier: {earlier}"))


class _NotComparing(_Own):
    compares_earlier = False


@pytest.mark.parametrize(
    ("figures", "cause"),
    [
        ({"agreement_at_most": 0.2}, "own: agreement_at_most is 0.2, below agreement_level, 0.5"),
        ({"clusters": (Cluster(theme="x", agent_ids=("zoe",)),)}, "own: a group contains 'zoe', who gave no answer"),
    ],
)
async def test_a_measurement_that_contradicts_itself_fails(figures: dict[str, Any], cause: str) -> None:
    chain = AnalyzerChain([NamedMeter("own", _Own(**figures))])
    consensus = (await chain.measure([_said("ada", "Tea"), _said("bo", "Tea")], "?")).consensus
    assert (consensus.method, consensus.causes) == ("declared", (cause,))


class _Billed(_Own):
    async def measure(
        self, responses: Sequence[AgentResponse], topic: str, *, session_id: str | None = None, groupthink: bool = True
    ) -> Measured:
        usage = Usage(calls=1, input_tokens=100, cost_usd=0.25)
        return Measured(consensus=ConsensusResult(**self.figures), usage=usage)


async def test_the_cost_of_a_refused_measurement_is_charged() -> None:
    own = NamedMeter("own", _Billed(agreement_level=0.5, agreement_at_most=0.2))
    measured = await AnalyzerChain([own, own]).measure([_said("ada", "Tea"), _said("bo", "Tea")], "?")
    assert measured.consensus.method == "declared"
    assert measured.usage == Usage(calls=2, input_tokens=200, cost_usd=0.5)


async def test_earlier_answers_are_passed_to_meters_that_compare_them() -> None:
    for meter, method in ((_Comparing(), "own, earlier: {}"), (_NotComparing(), "own"), (_Own(), "own")):
        chain = AnalyzerChain([NamedMeter("own", meter)])
        assert (
            await chain.measure([_said("ada", "Tea"), _said("bo", "Milk")], "?", earlier={})
        ).consensus.method == method


async def test_an_answer_in_several_groups_of_the_reader_counts_in_none() -> None:
    said = [_said("ada", "Lisbon"), _said("bo", "The capital"), _said("cy", "Porto")]

    def groups(*members: Sequence[int]) -> Any:
        def reply(request: ChatRequest) -> Any:
            text = request.messages[-1].content
            names = {
                place: next(
                    name for name in ("A1", "A2", "A3") if f"(answer {name})\n| Position: {one.position}" in text
                )
                for place, one in enumerate(said)
            }
            clusters = [
                {"theme": "t", "summary": "s", "agentIds": [names[place] for place in group]} for group in members
            ]
            return {"agreementLevel": 0.5, "clusters": clusters, "summary": "x"}

        return reply

    found = []
    for order in (((0, 1), (1, 2)), ((1, 2), (0, 1))):
        reader = AIConsensusAnalyzer(ScriptedModel(groups(*order)))
        found.append((await reader.measure(said, "Where?")).consensus)
    assert [len(consensus.clusters) for consensus in found] == [3, 3]
    assert (
        found[0].causes
        == found[1].causes
        == ("ai: the reader put 1 answer into several groups, so they count in none",)
    )


def test_with_options_stances_are_not_answers() -> None:
    said = [_said(name, city, stance="YES") for name, city in (("a", "Lisbon"), ("b", "Porto"), ("c", "Faro"))]
    assert StanceAnalyzer().analyze(said).agreement_level == 1
    with pytest.raises(ValueError, match="no answer states an option"):
        StanceAnalyzer(options_only=True).analyze(said)
    chosen = [one.model_copy(update={"choice": "Tea"}) for one in said]
    assert StanceAnalyzer(options_only=True).analyze(chosen).agreement_level == 1
