"""The argument graph: what supports and attacks what, what nobody answered, and what was dropped without a reason."""

from __future__ import annotations

import time
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from unit.argument_kit import claim, rounds, turn

from roundtable.analysis.arguments import ArgumentGraph, argument_graph
from roundtable.core.types.plan import BASELINE_STAGE, CHAIR_STAGE

PAGE = {"url": "https://example.org/tea", "quote": "tea keeps"}

DEBATE = rounds(
    turn("ada", claim("A1", evidence=[PAGE]), claim("A2"), claim("A3"), citations=[("Tea", PAGE["url"])]),
    turn("bo", claim("B1", evidence=[PAGE, PAGE]), claim("B2", "It keeps."), slot=1, choice="Milk"),
    turn("cy", claim("C1"), slot=2),
    turn("ada", claim("A4", supports=["A1"], attacks=["B1"]), round_=2),
    turn("bo", claim("B3", supports=["A1"], attacks=["B1"]), claim("B4", "it keeps."), round_=2, slot=1),
    turn("cy", claim("C2", attacks=["A2"]), round_=2, slot=2),
)


def test_edges_lead_from_later_claims_to_earlier_ones() -> None:
    graph = argument_graph(DEBATE)
    assert [(edge.source, edge.kind, edge.target) for edge in graph.edges] == [
        ("A4", "supports", "A1"),
        ("A4", "attacks", "B1"),
        ("B3", "supports", "A1"),
        ("B3", "attacks", "B1"),
        ("C2", "attacks", "A2"),
    ]
    assert graph.ignored == ()


def test_a_claim_is_answered_by_others_only_and_only_if_others_gave_claims_later() -> None:
    states = {found.id: found.state for found in argument_graph(DEBATE).claims}
    assert states == {
        **dict.fromkeys(("A1", "A2", "B1"), "answered"),
        **dict.fromkeys(("A3", "B2", "C1"), "unanswered"),
        **dict.fromkeys(("A4", "B3", "B4", "C2"), "last"),
    }
    alone = argument_graph(rounds(turn("ada", claim("A1")), turn("ada", claim("A2", supports=["A1"]), round_=2)))
    assert [found.state for found in alone.claims] == ["last", "last"]


def test_a_claim_is_dropped_if_its_agent_neither_keeps_it_nor_has_a_reason() -> None:
    # A1 is supported, B1 attacked by its own agent, B2 repeated in other letters; A2 was attacked at the same time.
    assert {found.id: found.dropped_in for found in argument_graph(DEBATE).dropped} == {"A2": 2, "A3": 2, "C1": 2}
    later = rounds(
        turn("ada", claim("A1"), claim("A2")),
        turn("bo", claim("B1", attacks=["A1"]), stage="second"),
        turn("ada", claim("A3"), round_=3),
    )
    assert [found.id for found in argument_graph(later).dropped] == ["A2"]
    silent = rounds(turn("ada", claim("A1")), turn("ada", round_=2))
    assert argument_graph(silent).dropped == ()


def test_the_conclusion_of_a_chair_drops_none_of_its_claims() -> None:
    held = rounds(
        turn("ada", claim("A1")),
        turn("bo", claim("B1"), slot=1),
        turn("ada", claim("C1", supports=["B1"]), stage=CHAIR_STAGE),
        turn("ada", claim("A2", supports=["A1"]), round_=2),
        turn("bo", claim("B2"), round_=2, slot=1),
    )
    graph = argument_graph(held)
    assert [found.id for found in graph.dropped] == ["B1"]
    assert [(edge.source, edge.target) for edge in graph.edges] == [("C1", "B1"), ("A2", "A1")]
    alone = argument_graph(held[:1])
    assert alone.dropped == ()
    assert [found.id for found in alone.claims] == ["A1", "B1", "C1"]


def test_evidence_is_counted_once_for_each_agent_and_has_the_title_of_a_citation() -> None:
    graph = argument_graph(DEBATE)
    (shared,) = graph.shared_evidence
    assert (shared.url, shared.title, shared.claims, shared.agents) == (PAGE["url"], "Tea", ("A1", "B1"), ("ada", "bo"))
    unknown = argument_graph(
        rounds(turn("bo", claim("B1", evidence=[PAGE]), citations=[("Other", "https://b.example")]))
    )
    assert unknown.evidence[0].title is None


def test_moves_and_influence_come_from_the_flow_of_opinions() -> None:
    graph = argument_graph(DEBATE)
    (move,) = graph.moves
    assert (move.agent_id, move.round, move.held_by, move.claims) == ("bo", 2, ("ada", "cy"), ("A1",))
    by_agent = {one.agent_id: one for one in graph.influence}
    ada, bo = by_agent["ada"], by_agent["bo"]
    assert (ada.claims, ada.supported, ada.attacked, ada.unanswered, ada.followed) == (4, 1, 1, 1, 1)
    assert (bo.claims, bo.supported, bo.attacked, bo.unanswered, bo.followed) == (4, 0, 1, 1, 0)


def test_without_a_flow_of_opinions_the_number_of_followers_is_unknown() -> None:
    crowd = [turn(f"agent{slot}", claim(f"X{slot}"), slot=slot) for slot in range(301)]
    assert {one.followed for one in argument_graph(rounds(*crowd)).influence} == {None}
    assert {one.followed for one in argument_graph(rounds(*crowd[:3])).influence} == {0}


@pytest.mark.parametrize(
    ("turns", "ignored"),
    [
        ([turn("ada", claim("A1", supports=["A1"]))], [("A1", "A1", "not earlier")]),
        ([turn("ada", claim("A1", attacks=["B1"])), turn("bo", claim("B1"), slot=1)], [("A1", "B1", "not earlier")]),
        ([turn("ada", claim("A1", attacks=["Z"]))], [("A1", "Z", "unknown")]),
        (
            [turn("ada", claim("A1")), turn("bo", claim("B1", supports=["A1"], attacks=["A1"]), round_=2)],
            [("B1", "A1", "both")],
        ),
    ],
)
def test_impossible_references_are_reported_and_not_counted(turns: list[Any], ignored: list[Any]) -> None:
    graph = argument_graph(rounds(*turns))
    assert graph.edges == ()
    assert [(one.source, one.target, one.reason) for one in graph.ignored] == ignored


def test_repeated_labels_are_distinguished_and_refer_to_the_first() -> None:
    graph = argument_graph(
        rounds(
            turn("ada", claim("X"), claim("X\x01")),
            turn("bo", claim("X"), slot=1),
            turn("bo", claim("Y", supports=["X"]), round_=2),
        )
    )
    assert [found.id for found in graph.claims] == ["X", "X\ufffd", "X~2", "Y"]
    assert graph.edges[0].target == "X"


def test_private_answers_are_not_part_of_the_graph() -> None:
    assert argument_graph(rounds(turn("ada", claim("A1"), stage=BASELINE_STAGE))) == ArgumentGraph()
    assert argument_graph(rounds(turn("ada"))) == ArgumentGraph()
    assert argument_graph(()) == ArgumentGraph()


def test_graphml_has_every_claim_and_reference() -> None:
    graph = argument_graph(DEBATE)
    root = ET.fromstring(graph.to_graphml())
    names = {"g": "http://graphml.graphdrawing.org/xmlns"}
    nodes = root.findall(".//g:node", names)
    assert [node.get("id") for node in nodes] == [found.id for found in graph.claims]
    data = {item.get("key"): item.text for item in nodes[0]}
    expected = {"agent": "ada", "round": "1", "text": "Text of A1.", "state": "answered", "evidence": PAGE["url"]}
    assert data == expected
    edges = [(edge.get("source"), edge[0].text, edge.get("target")) for edge in root.findall(".//g:edge", names)]
    assert edges == [(edge.source, edge.kind, edge.target) for edge in graph.edges]


def test_records_are_flat_rows() -> None:
    row = argument_graph(DEBATE).to_records()[6]
    assert row == {
        "id": "A4",
        "agentId": "ada",
        "round": 2,
        "text": "Text of A4.",
        "state": "last",
        "droppedIn": None,
        "supports": "A1",
        "attacks": "B1",
        "evidence": "",
    }


@pytest.mark.slow
def test_very_many_labels_take_linear_time() -> None:
    held = rounds(*(turn("ada", *[claim("X")] * 100, slot=slot) for slot in range(300)))
    began = time.perf_counter()
    labels = [found.id for found in argument_graph(held).claims]
    assert time.perf_counter() - began < 20
    assert labels == ["X", *(f"X~{number}" for number in range(2, 30_001))]
    taken = argument_graph(rounds(turn("ada", claim("X~2"), claim("X"), claim("X"), claim("X"), claim("X~2"))))
    assert [found.id for found in taken.claims] == ["X~2", "X", "X~3", "X~4", "X~2~2"]
