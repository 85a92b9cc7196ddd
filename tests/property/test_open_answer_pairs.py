"""A thousand pairs of answers that differ in one thing: no pair is one answer unless somebody says so."""

from __future__ import annotations

from itertools import islice, product

import pytest

from roundtable.analysis import DeclaredAnalyzer, SemanticAnalyzer
from roundtable.scoring import open_key
from roundtable.types import AgentResponse

FRAMES = (
    "{}",
    "It is {}.",
    "The answer is {}.",
    "I would choose {} after all.",
    "After weighing everything that was said, the best choice is {}.",
    "**{}**",
    '"{}"',
    "Nobody named anything better than {} so far.",
    "My answer: {}",
    "({})",
)
ENTITIES = (
    *(
        ("Lisbon", "Porto"),
        ("Faro", "Lagos"),
        ("Ada Lovelace", "Grace Hopper"),
        ("Python", "Pytho"),
        ("Java", "JavaScript"),
    ),
    *(
        ("C", "C++"),
        ("C", "C#"),
        ("A", "A*"),
        ("O-", "O+"),
        ("O", "O-"),
        ("vitamin B6", "vitamin B12"),
        ("Mars", "Mar"),
    ),
    *(("Österreich", "Australien"), ("resume", "résumé"), ("Zürich", "Zurich"), ("東京", "京都"), ("No 1", "Nr 1")),
)
NUMBERS = (
    *(("42", "43"), ("42", "24"), ("42", "-42"), ("4.2", "42"), ("1,000", "1,001"), ("1000", "10000"), ("10²", "102")),
    *(("10^2", "102"), ("1/2", "12"), ("50%", "50"), ("3:2", "32"), ("2024-01-02", "2024-02-01"), ("1.000", "1")),
    *(("5 mW", "5 MW"), ("5 km", "5 miles"), ("5 kg", "5 g"), ("$5", "€5"), ("5 °C", "5 °F"), ("1e3", "13")),
    *(
        ("H₂O", "H2O2"),
        ("x²", "x2"),
        ("½", "12"),
        ("20:30", "2030"),
        ("+5", "-5"),
        ("0.1", "0.01"),
        ("7 a.m.", "7 p.m."),
    ),
)
NEGATIONS = (
    *(("it works", "it does not work"), ("adopt it", "don't adopt it"), ("safe", "unsafe"), ("always", "never")),
    *(("es hilft", "es hilft nicht"), ("ein Vorteil", "kein Vorteil"), ("möglich", "unmöglich")),
    *(("c'est sûr", "ce n'est pas sûr"), ("il faut partir", "il ne faut pas partir"), ("légal", "illégal")),
    *(("es seguro", "no es seguro"), ("funciona", "no funciona"), ("siempre", "nunca")),
    *(("это работает", "это не работает"), ("можно", "нельзя"), ("всегда", "никогда")),
    *(("安全です", "安全ではありません"), ("できる", "できない"), ("必要だ", "必要ではない")),
)
ROLES = tuple(
    (f"{one} {verb} {other}", f"{other} {verb} {one}")
    for (one, other), verb in product(
        (("Ada", "Bo"), ("the dog", "the man"), ("Rome", "Carthage"), ("red", "blue"), ("x", "y")),
        ("beats", "follows", "pays", "is larger than", "comes before", "depends on"),
    )
)
CONDITIONS = tuple(
    (f"{act} {one}", f"{act} {other}")
    for act, (one, other) in product(
        ("yes", "adopt it", "raise the tax", "ship it", "wait", "sell"),
        (
            *(("if it rains", "unless it rains"), ("before May", "after May"), ("with tests", "without tests")),
            *(("today", "tomorrow"), ("at most once", "at least once"), ("for adults", "for children")),
            *(("in Europe", "in Asia"), ("now", "now, if the budget allows")),
        ),
    )
)
KINDS = (ENTITIES, NUMBERS, NEGATIONS, ROLES, CONDITIONS)


def pairs() -> list[tuple[str, str]]:
    """Return each pair in every frame, all kinds in turn."""
    framed = ((frame.format(one), frame.format(other)) for frame in FRAMES for kind in KINDS for one, other in kind)
    return list(islice(dict.fromkeys(framed), 1000))


def hold(one: str, other: str) -> list[AgentResponse]:
    return [
        AgentResponse(agent_id=name, agent_name=name, position=text, confidence=0.9)
        for name, text in (("a", one), ("b", other))
    ]


def test_no_pair_of_different_answers_is_equal_by_its_wording() -> None:
    found = pairs()
    assert len(found) == 1000
    joined = [pair for pair in found if open_key(pair[0]) == open_key(pair[1])]
    assert joined == []


@pytest.mark.slow
def test_no_pair_of_different_answers_agrees_for_an_analyzer_without_a_reader() -> None:
    for analyzer in (DeclaredAnalyzer(), SemanticAnalyzer()):
        joined = [pair for pair in pairs() if analyzer.analyze(hold(*pair)).agreement_level > 0]
        assert joined == []
