"""Laws B of the consensus score, true of the basic formula too."""

from __future__ import annotations

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from roundtable.analysis import ConsensusAnalyzer
from roundtable.types import AgentResponse

NOON = "2026-01-01T00:00:00Z"
anything = st.text(max_size=12) | st.sampled_from(["yes", "no", "Yes.", "是", "🙂", "e\u0301", "x" * 5_000])
few = st.sampled_from(["yes", "no", "maybe", "later"])


def hold(positions: list[str], names: list[str] | None = None) -> list[AgentResponse]:
    ids = names or [f"a{number}" for number in range(len(positions))]
    return [
        AgentResponse.model_validate({"agent_id": name, "agent_name": name, "position": text, "timestamp": NOON})
        for name, text in zip(ids, positions, strict=True)
    ]


def level(positions: list[str]) -> float:
    return ConsensusAnalyzer().analyze(hold(positions)).agreement_level


@given(st.lists(anything, max_size=9))
@example(["JAG VET INTE"])  # who does not know has no answer, in any language
def test_the_level_lies_between_0_and_1_and_is_1_only_without_difference(positions: list[str]) -> None:
    found = ConsensusAnalyzer().analyze(hold(positions))
    assert 0.0 <= found.agreement_level <= 1.0
    assert (found.agreement_level == 1.0) is (len(found.clusters) == 1)
    assert (found.agreement_level == 0.0) is (found.answers == 0)


def test_many_agents_are_measured_like_three() -> None:
    assert level(["yes"] * 999 + ["no"]) == 1 - 1 / 1000
    assert level([str(number) for number in range(200)]) == 1 / 200


@given(st.lists(anything, max_size=7), st.randoms(use_true_random=False))
def test_order_and_names_change_nothing(positions: list[str], random: st.random.Random) -> None:  # type: ignore[name-defined]  # an alias at run time
    shuffled = list(positions)
    random.shuffle(shuffled)
    assert level(shuffled) == level(positions)
    renamed = ConsensusAnalyzer().analyze(hold(positions, [f"other{number}" for number in range(len(positions))]))
    assert renamed.agreement_level == level(positions)


@given(st.lists(anything, max_size=6))
def test_white_space_case_form_and_a_final_point_change_nothing(positions: list[str]) -> None:
    spaced = [f" {text.replace(' ', '  ')}\t" for text in positions]
    assert level(spaced) == level(positions)
    assert level([unicodedata.normalize("NFD", text) for text in positions]) == level(positions)
    assert level([f"{text}." if text.isalnum() else text for text in positions]) == level(positions)
    assert level([text.upper() if text.isascii() else text for text in positions]) == level(positions)


@given(st.lists(few, min_size=1, max_size=8), st.data())
def test_joining_the_largest_group_never_lowers_the_level(positions: list[str], data: st.DataObject) -> None:
    largest = max(sorted(set(positions)), key=positions.count)
    place = data.draw(st.integers(0, len(positions) - 1))
    assert level([*positions[:place], largest, *positions[place + 1 :]]) >= level(positions)
    assert level([*positions, largest]) >= level(positions)


@given(st.lists(few, min_size=2, max_size=8), st.data())
def test_splitting_a_group_never_raises_the_level(positions: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(positions) - 1))
    assert level([*positions[:place], "something else entirely", *positions[place + 1 :]]) <= level(positions)


@given(st.lists(anything, max_size=8))
def test_clusters_hold_every_agent_once_and_shrink(positions: list[str]) -> None:
    found = ConsensusAnalyzer().analyze(hold(positions))
    clusters = found.clusters
    members = [agent for cluster in clusters for agent in cluster.agent_ids]
    assert sorted([*members, *found.abstained]) == sorted(f"a{number}" for number in range(len(positions)))
    sizes = [len(cluster.agent_ids) for cluster in clusters]
    assert sizes == sorted(sizes, reverse=True)
    assert all(cluster.theme in {text.strip() for text in positions} for cluster in clusters)


@given(st.lists(anything, max_size=5), st.lists(st.floats(0, 1), min_size=5, max_size=5))
def test_confidence_changes_nothing(positions: list[str], shares: list[float]) -> None:
    sure = [said.model_copy(update={"confidence": share}) for said, share in zip(hold(positions), shares, strict=False)]
    assert ConsensusAnalyzer().analyze(sure) == ConsensusAnalyzer().analyze(hold(positions))


def test_doubling_every_voice_raises_the_level_as_documented() -> None:
    assert (level(["yes", "no"]), level(["yes", "no"] * 2)) == (0.5, 0.75)
