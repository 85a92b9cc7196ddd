"""Doubts, further options and warnings behind an answer: it isn't certain then, and is asked for once more."""

from __future__ import annotations

import pytest

from roundtable.reading import Asked, read_answer

CITIES = Asked("choice", ("Lisbon", "Porto", "Faro"))
SIDES = Asked("choice", ("Yes", "No"))


@pytest.mark.parametrize(
    "text",
    [
        "The answer is Porto, but I'm not sure.",
        "The answer is Porto because it is cheap, but I am not entirely sure.",
        "The answer is Porto. I'm not sure, though.",
        "The answer is Porto. It is cheap. But I could be wrong.",
        "The answer is Porto, maybe.",
        "The answer is Porto, perhaps.",
        "The answer is Porto, I suppose.",
        "Answer: Porto (uncertain)",
        "Answer: Porto (guess)",
        "Answer: Porto (just a guess)",
        "I choose Porto, I guess.",
        "I choose Porto, but I have doubts.",
        "I choose Porto. This is just a guess.",
        "The answer is Porto, I don't think so.",
        "Porto, probably.",
        "Die Antwort ist Porto, aber ich bin nicht sicher.",
        "Die Antwort ist Porto, vielleicht.",
        "Die Antwort ist Porto, glaube ich zumindest nicht.",
        "Antwort: Porto (geraten)",
        "La réponse est Porto, peut-être.",
        "La réponse est Porto, mais je ne suis pas sûr.",
        "La respuesta es Porto, pero no estoy seguro.",
        "La risposta è Porto, ma non sono sicura.",
        "A resposta é Porto, talvez.",
        "Het antwoord is Porto, maar ik weet het niet zeker.",
        "Odpowiedź: Porto, ale nie jestem pewien.",
    ],
)
def test_a_doubt_after_an_answer_makes_it_only_likely(text: str) -> None:
    reading = read_answer(text, CITIES)
    assert (reading.certainty, reading.value) == ("likely", "Porto")


@pytest.mark.parametrize(
    "text",
    [
        "Overall, Porto is fine, but so is Lisbon.",
        "Porto is a good choice, and so is Lisbon.",
        "Porto is the best choice, and so is Lisbon.",
        "Porto is the best choice, as is Lisbon.",
        "Porto ist die beste Wahl, ebenso wie Lisbon.",
        "Porto est le meilleur choix, tout comme Lisbon.",
        "Porto es la mejor opción, al igual que Lisbon.",
        "The answer is Porto... or is it Lisbon?",
        "The answer is Porto. Or is it Lisbon?",
        "Die Antwort ist Porto ... oder doch Lisbon?",
        "The answer is Porto or something similar.",
        "The answer is Porto or so.",
        "Answer: Porto. Lisbon is equally good.",
        "I choose Porto. Lisbon would be just as good.",
        "Die Antwort ist Porto. Lisbon ist genauso gut.",
        "My answer is Porto, though I could also say Lisbon.",
        "My answer is Porto. I could just as well choose Lisbon.",
    ],
)
def test_another_option_that_is_as_good_makes_an_answer_uncertain(text: str) -> None:
    assert read_answer(text, CITIES).certainty != "certain"


@pytest.mark.parametrize(
    "text",
    [
        "Choose Porto and you will pay more.",
        "Choose Porto, and the trip gets longer.",
        "Pick Porto and you will regret it.",
        "Choose Porto at your own risk.",
        "Wähle Porto und du zahlst mehr.",
        "Choisissez Porto et vous paierez plus.",
        "Elige Porto y pagarás más.",
    ],
)
def test_advice_with_a_consequence_is_not_a_certain_choice(text: str) -> None:
    assert read_answer(text, CITIES).certainty != "certain"


@pytest.mark.parametrize(
    "text",
    [
        "I choose Porto. Not sure about the hotels, though.",
        "I choose Porto because Lisbon is probably too dear.",
        "I recommend Porto, as it is cheap. Perhaps we can go to Lisbon next year.",
        "I choose Porto, perhaps the cheapest of all.",
        "I choose Porto. You could also visit Lisbon.",
        "I choose Porto. Lisbon is just as expensive.",
        "I choose Porto. Lisbon is equally good, but dearer.",
        "I choose Porto. Lisbon is not as good.",
        "I choose Porto. Faro is just as good as dead.\n\nPorto",
        "Porto is the best choice, just like last year.",
        "Porto, I think.",
        "Porto. Maybe. No, surely.\n\nThe answer is Porto.",
        "I choose Porto, and you will love it.",
        "Choose Porto.",
        "Choose Porto and enjoy the food.",
        "Choose Porto. You will love it.",
        "Porto, without a doubt.",
    ],
)
def test_doubts_about_other_things_leave_an_answer_certain(text: str) -> None:
    reading = read_answer(text, CITIES)
    assert (reading.certainty, reading.value) == ("certain", "Porto")


@pytest.mark.parametrize("text", ["No, I don't think so.", "No, I'm not convinced.", "No - I don't believe so."])
def test_a_denial_supports_a_no(text: str) -> None:
    reading = read_answer(text, SIDES)
    assert (reading.certainty, reading.value) == ("certain", "No")
    assert read_answer(text, Asked("yes_no")).value == "no"


@pytest.mark.parametrize("text", ["Yes, maybe.", "No, I'm not sure.", "Yes, I don't think so."])
def test_a_doubtful_yes_or_no_is_not_certain(text: str) -> None:
    assert read_answer(text, SIDES).certainty != "certain"
