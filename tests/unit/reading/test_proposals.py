"""Sentences that propose an option are answers, unless they are of others, deny, or depend on something."""

from __future__ import annotations

import pytest

from roundtable.reading import Asked, read_answer

CITIES = ("Lisbon", "Porto", "Faro")
DATABASES = ("PostgreSQL", "MySQL", "MongoDB")
DESIGNS = ("monolith", "microservices")


def chosen(text: str, options: tuple[str, ...] = CITIES) -> str | None:
    """Return the option that is read for certain."""
    reading = read_answer(text, Asked("choice", options))
    return reading.value if reading.certainty == "certain" else None


@pytest.mark.parametrize(
    "text",
    [
        "We should hold the offsite in Porto.",
        "We should definitely hold the company offsite in **Porto**.",
        "I think we should go to Porto.",
        "I think that we should go to Porto because it is cheaper.",
        "In my opinion, we should go to Porto.",
        "Lisbon is dear. We should hold the offsite in Porto.",
        "I'd hold it in Porto.",
        "I would go to Porto.",
        "Let's meet in Porto.",
        "I recommend holding the offsite in Porto.",
        "I suggest that we hold the company offsite in Porto because it is a beautiful city.",
        "My recommendation is to hold the offsite in Porto.",
        "The offsite should be held in Porto.",
        "The company offsite should take place in Porto, because rents there are lower.",
        "Hold the offsite in Porto.",
        "**Recommendation:** Hold the offsite in Porto.",
        "Holding the offsite in Porto is the best option.",
        "Wir sollten das Treffen in Porto abhalten.",
        "Wir sollten nach Porto fahren, weil es billiger ist.",
        "Das Treffen sollte in Porto stattfinden.",
        "Nous devrions aller à Porto.",
        "Deberíamos ir a Porto.",
        "Dovremmo andare a Porto.",
        "Deveríamos ir para Porto.",
        "Meiner Meinung nach ist Porto die beste Wahl.",
        "Meines Erachtens wäre Porto die beste Lösung.",
        "Naar mijn mening is Porto de beste keuze.",
    ],
)
def test_a_proposal_is_an_answer(text: str) -> None:
    assert chosen(text) == "Porto"


@pytest.mark.parametrize(
    ("text", "options", "wanted"),
    [
        ("You should use PostgreSQL", DATABASES, "PostgreSQL"),
        ("I would use PostgreSQL.", DATABASES, "PostgreSQL"),
        ("Start with a monolith.", DESIGNS, "monolith"),
        ("You should start with a monolith.", DESIGNS, "monolith"),
    ],
)
def test_advice_is_an_answer(text: str, options: tuple[str, ...], wanted: str) -> None:
    assert chosen(text, options) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "We should not hold the offsite in Porto.",
        "We could hold the offsite in Porto.",
        "We should consider Porto.",
        "We should avoid Porto.",
        "We should use this to avoid Porto.",
        "We should use the train from Porto.",
        "We should do Porto last.",
        "We should invest in Porto's airport.",
        "We should hold the next offsite in Porto.",
        "We should hold the offsite in Porto or Lisbon.",
        "We should hold the offsite in Porto, the next one in Lisbon.",
        "We should hold the offsite in Porto if it is cheap.",
        "We should go to Porto, then Lisbon.",
        "If it rains, we should go to Porto.",
        "Maybe we should go to Porto.",
        "Should we hold the offsite in Porto?",
        "Let's go to Porto?",
        "I don't think we should go to Porto.",
        "Ada thinks we should go to Porto.",
        "Ada's plan is that we should go to Porto.",
        "Ada: we should go to Porto.",
        "Some say we should go to Porto.",
        '"We should go to Porto." is what Ada says.',
        "> We should go to Porto.\n\nI see it otherwise.",
        "We would go to Porto.",
        "The next offsite should be in Porto.",
        "The offsite should not be in Porto.",
        "My recommendation is to avoid Porto.",
        "Start with Porto.\nThen go to Lisbon.",
        "Go to Porto. Or Lisbon.",
        "Hold the offsite in Porto? No.",
        "Holding the offsite in Porto is the worst option.",
        "Holding the offsite in Porto is expensive.",
        "Ada thinks holding the offsite in Porto is the best option.",
        "Holding the offsite in Porto would be the best option if we had money.",
        "Meiner Meinung nach ist Porto nicht die beste Wahl.",
        "Meiner Meinung nach ist Porto die schlechteste Wahl.",
        "Meiner Meinung nach ist Porto die beste Wahl, wenn es warm ist.",
        "Meiner Meinung nach ist Porto die beste Wahl für Ada.",
        "Meiner Meinung nach ist Porto die beste Wahl?",
    ],
)
def test_other_sentences_of_this_form_propose_nothing(text: str) -> None:
    assert chosen(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "La scelta migliore è Porto.",
        "A mio parere la scelta migliore è Porto.",
        "Secondo me, Porto è la scelta migliore.",
        "Moim zdaniem Porto to najlepszy wybór.",
        "Porto jest najlepszym wyborem.",
        "Najlepszym wyborem jest Porto.",
        "I am 80% confident that Porto is the best choice.",
        "I'm sure that Porto is the best choice.",
        "Sure! I'd be happy to help. Porto would be the best city for your offsite.",
        "Sure, here's my answer:\n\nPorto",
        "Output: Porto",
        "Response: Porto",
        "Assistant: Porto",
        "I stand by Porto.",
        "Given the options, Porto.",
        "On second thought, Porto.",
        "I am changing my answer to Porto.",
        "### My Perspective\nPorto is the ideal location because of its prices.\n\n### Areas for Collaboration\nNone.",
    ],
)
def test_more_wordings_of_an_answer_are_read(text: str) -> None:
    assert chosen(text) == "Porto"


@pytest.mark.parametrize(
    "text",
    [
        "I am 20% confident that Porto is the best choice.",
        "I am not confident that Porto is the best choice.",
        "I am less sure that Porto is the best choice.",
        "Secondo lui, Porto è la scelta migliore.",
        "Secondo Ada Porto è la migliore.",
        "La scelta migliore non è Porto.",
        "Porto nie jest najlepszym wyborem.",
        "Moim zdaniem Porto to nie najlepszy wybór.",
        "Porto would be the best city for your enemy, but not for us.",
        "Porto is the best for your budget, Lisbon for your comfort.",
        "Here's Ada's answer:\nPorto",
        "Output: Porto or Lisbon",
        "On second thought, not Porto.",
        "Given the options, Porto is out.",
        "I stand by Porto's mayor.",
    ],
)
def test_opposite_wordings_are_not_read(text: str) -> None:
    assert chosen(text) is None


def test_leaning_towards_an_option_is_likely() -> None:
    reading = read_answer("I'm leaning towards Porto.", Asked("choice", CITIES))
    assert (reading.certainty, reading.value) == ("likely", "Porto")
