"""Laws of the argument graph, for answers of any kind: even with repeated labels, circles and markup."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st
from unit.argument_kit import claim, rounds, turn

from roundtable.analysis.arguments import ArgumentGraph, argument_graph
from roundtable.types import RoundRecord, Turn

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
LABELS = st.sampled_from([f"R{number}-{letter}" for number in (1, 2, 3) for letter in "ABCDE"]) | TEXTS
SOURCES = st.sampled_from(["https://a.example", "https://b.example"]).map(lambda url: {"url": url})
CLAIMS = st.builds(
    claim,
    LABELS,
    TEXTS,
    supports=st.lists(LABELS, max_size=4),
    attacks=st.lists(LABELS, max_size=4),
    evidence=st.lists(SOURCES, max_size=2),
)


@st.composite
def debates(draw: st.DrawFn) -> tuple[RoundRecord, ...]:
    turns: list[Turn] = []
    for number in range(1, draw(st.integers(1, 3)) + 1):
        for stage in draw(st.sampled_from([("positions",), ("first", "last")])):
            for slot, agent in enumerate(draw(st.permutations(["ada", "bo", "cy"]))[: draw(st.integers(1, 3))]):
                said = draw(st.lists(CLAIMS, max_size=4))
                turns.append(
                    turn(agent, *said, round_=number, stage=stage, slot=slot, choice=draw(st.sampled_from("xy")))
                )
    return rounds(*turns)


def places(held: tuple[RoundRecord, ...], graph: ArgumentGraph) -> dict[str, tuple[int, int]]:
    """Return round and stage of each claim of a graph, in the order of the claims."""
    found = [
        (record.number, list(dict.fromkeys(one.stage for one in record.turns)).index(said.stage))
        for record in held
        for said in record.turns
        if isinstance(said, Turn)
        for _ in said.answer.claims  # type: ignore[union-attr]
    ]
    return dict(zip([one.id for one in graph.claims], found, strict=True))


@given(debates())
def test_labels_are_unique_and_edges_lead_backwards(held: tuple[RoundRecord, ...]) -> None:
    graph = argument_graph(held)
    labels = [one.id for one in graph.claims]
    assert len(set(labels)) == len(labels)
    place = places(held, graph)
    assert all(place[edge.target] < place[edge.source] for edge in graph.edges)
    pairs = [(edge.source, edge.target) for edge in graph.edges]
    assert len(set(pairs)) == len(pairs)


@given(debates())
def test_no_claim_is_both_answered_and_unanswered(held: tuple[RoundRecord, ...]) -> None:
    graph = argument_graph(held)
    owner = {one.id: one.agent_id for one in graph.claims}
    answered = {edge.target for edge in graph.edges if owner[edge.source] != owner[edge.target]}
    place = places(held, graph)
    for one in graph.claims:
        later = any(place[other.id] > place[one.id] for other in graph.claims if other.agent_id != one.agent_id)
        assert one.state == ("answered" if one.id in answered else "unanswered" if later else "last")
    assert not answered & {one.id for one in graph.unanswered}


@given(debates())
def test_a_dropped_claim_was_not_kept_attacked_or_referred_to_by_its_agent(held: tuple[RoundRecord, ...]) -> None:
    graph = argument_graph(held)
    place, by_label = places(held, graph), {one.id: one for one in graph.claims}
    for one in graph.dropped:
        own = [other for other in graph.claims if other.agent_id == one.agent_id and place[other.id] > place[one.id]]
        assert own
        first = min(place[other.id] for other in own)
        successors = [other for other in own if place[other.id] == first]
        assert one.dropped_in == successors[0].round
        assert one.text.casefold() not in {other.text.casefold() for other in successors}
        for edge in graph.edges:
            if edge.target == one.id:
                assert by_label[edge.source] not in successors
                assert edge.kind == "supports" or place[edge.source] >= first


@given(debates())
def test_the_same_rounds_give_the_same_graph_and_every_export_contains_all_of_it(held: tuple[RoundRecord, ...]) -> None:
    graph = argument_graph(held)
    assert argument_graph(held) == graph
    assert argument_graph(tuple(RoundRecord.from_json(record.to_json()) for record in held)) == graph
    assert ArgumentGraph.from_json(graph.to_json()) == graph
    assert len(json.loads(json.dumps(graph.to_records()))) == len(graph.claims)
    root = ET.fromstring(graph.to_graphml())
    tags = [part.tag.rpartition("}")[2] for part in root.iter()]
    assert (tags.count("node"), tags.count("edge")) == (len(graph.claims), len(graph.edges))
    ids = [part.get("id") for part in root.iter() if part.tag.endswith("}node")]
    assert len(set(ids)) == len(ids)


@given(debates())
def test_references_are_counted_or_ignored_and_influence_adds_up(held: tuple[RoundRecord, ...]) -> None:
    graph = argument_graph(held)
    owner = {one.id: one.agent_id for one in graph.claims}
    foreign = [edge for edge in graph.edges if owner[edge.source] != owner[edge.target]]
    assert sum(one.supported + one.attacked for one in graph.influence) == len(foreign)
    assert sum(one.claims for one in graph.influence) == len(graph.claims)
    assert sum(one.followed or 0 for one in graph.influence) == sum(len(move.held_by) for move in graph.moves)
    urls = {source.url for one in graph.claims for source in one.evidence}
    assert {use.url for use in graph.evidence} == urls
