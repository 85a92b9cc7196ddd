"""What may stand around a cue, an option and an answer: negations, other options, retractions, rejections."""

from __future__ import annotations

import time

import pytest

from roundtable.parsing import read_reply
from roundtable.reading import Asked, read_answer

CITIES = ("A) Lisbon", "B) Porto", "C) Faro")
LISBON, PORTO, FARO = CITIES


def choice(text: str, options: tuple[str, ...] = CITIES) -> str | None:
    """Return the option that a reply certainly chooses."""
    reading = read_reply(text, Asked("choice", options))
    return reading.value if reading.certainty == "certain" else None


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("The answer is B. If prices rise, it stays cheap.", PORTO),
        ("I choose B. Is that clear?", PORTO),
        ("I choose B. It stays cheap.", PORTO),
        ("Die Antwort ist B. Wenn die Preise steigen, bleibt es billig.", PORTO),
        ("La réponse est B. Si les prix montent, cela reste bon marché.", PORTO),
        ("La respuesta es B. Si suben los precios, sigue siendo barata.", PORTO),
        ("I choose B. " * 400, PORTO),
        ("I choose Porto over Lisbon.", PORTO),
        ("I choose B, not A.", PORTO),
        ("The answer is B because A is too dear.", PORTO),
        ("The answer is B rather than A.", PORTO),
        ("The answer is B instead of A.", PORTO),
        ("答案是B，不是A。", PORTO),
        ("答案是B。", PORTO),
        ("答えはBです。", PORTO),
        ("정답은 B입니다.", PORTO),
        ("Cevap B, A değil.", PORTO),
        ("So the best answer is B.", PORTO),
        ("I think that the right choice is Porto.", PORTO),
        ("Die richtige Antwort ist B.", PORTO),
        ("Le meilleur choix est Porto.", PORTO),
        ("La mejor opción es Porto.", PORTO),
        ("My answer is A. Wait, I have checked it again. The answer is A.", LISBON),
        ("So Porto.", PORTO),
        ("我认为正确答案是B。", PORTO),
        ("Overall, Porto is the strongest choice.", PORTO),
        ("We can eliminate A and C. The answer is B.", PORTO),
        ("Lisbon is the worst choice, so Porto.", PORTO),
        ("Ich denke, die beste Wahl ist Porto.", PORTO),
        ("A mi juicio, la mejor opción es Porto.", PORTO),
        ("Therefore, Porto is my choice.", PORTO),
        ("I choose Porto because Lisbon is the worst.", PORTO),
    ],
)
def test_a_stated_option_is_read(text: str, option: str) -> None:
    assert choice(text) == option


@pytest.mark.parametrize(
    "text",
    [
        "答案是A或B",
        "答案是A和B",
        "答えはAかB",
        "답은 A와 B",
        "Answer: A; B",
        "Answer: A - B",
        "Answer: A, then B",
        "Answer: A, possibly B",
        "Answer: A (60%), B (40%)",
        "Answer: A B",
        "Answer: A+B",
        "Answer: A and also B",
        "A; B",
        "A - B",
        "A, then B",
        "A, possibly B",
        "A (60%), B (40%)",
        "A B",
        "A+B",
        "A and also B",
        "Antwort: A, dann B",
        "Réponse : A, puis B",
        "Respuesta: A, luego B",
        "I choose Lisbon and maybe Porto",
    ],
)
def test_joined_options_are_not_read(text: str) -> None:
    assert choice(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "答えはAではありません",
        "答えはAではない。",
        "答えはAじゃない",
        "정답은 A가 아닙니다",
        "정답은 A가 아니다.",
        "Cevap A değil.",
        "उत्तर A नहीं है",
        "The answer is A not.",
    ],
)
def test_an_option_before_a_negation_is_not_read(text: str) -> None:
    assert choice(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "答案是A。不对，是B。",
        "答案是A。等等，应该是B。",
        "The answer is B. Wait, no, it's A.",
        "Final answer: B\nUpdate: after rereading, Lisbon.",
        "Answer: B\n\nEDIT: A",
        "Answer: B\n\nCorrection: A",
        "I choose Lisbon; scratch that, Porto.",
        "I choose Lisbon. Sorry, I meant Porto.",
        "I choose Lisbon. Actually, Porto.",
        "I choose Lisbon... no, Porto.",
        "B - I mean A",
        "The answer is B.\n\nWait, that is wrong.",
        "The answer is B. I take that back.",
        "The answer is B. On reflection, Lisbon.",
        "The answer is B. On second thought, it is A.",
        "La réponse est B. Non, attends, c'est A.",
        "La respuesta es B. Espera, es A.",
        "La risposta è B. Aspetta, è A.",
        "Die Antwort ist B. Warte, nein, A.",
        "Die Antwort ist B. Moment, es ist A.",
        "答えはBです。いや、Aです。",
        "답은 B입니다. 잠깐, A입니다.",
    ],
)
def test_retracted_option_is_not_certain(text: str) -> None:
    assert choice(text) in {None, LISBON if text.startswith(("The answer is B. Wait", "Final")) else None}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The answer is 12. Wait, no, 13.", "number"),
        ("The answer is 12.\n\nWait, that is wrong.", "number"),
        ("The answer is 12. Scratch that, 13.", "number"),
        ("Die Antwort ist 12. Moment, 13.", "number"),
        ("The answer is Lisbon. Wait, no: Porto.", "open"),
        ("The answer is Lisbon.\n\nWait, that is wrong.", "open"),
        ("The answer is Lisbon. Sorry, I meant Porto.", "open"),
    ],
)
def test_retracted_answer_is_not_certain(text: str, kind: str) -> None:
    reading = read_reply(text, Asked(kind))  # type: ignore[arg-type]
    assert reading.certainty != "certain" or reading.value == "13"


def test_initials_do_not_end_a_sentence() -> None:
    for name in ("George W. Bush", "J. K. Rowling", "J. Smith"):
        assert read_reply(f"The answer is {name}.", Asked("open")).value in {name, f"{name}."}
        assert choice(f"The answer is {name}.", (name, "Somebody Else")) == name


@pytest.mark.parametrize(
    "text",
    [
        *(
            f"The {adjective} {noun} is A."
            for adjective in (
                "worst", "least bad", "last", "runner-up", "opposite", "draft", "alternative", "example", "possible",
                "incorrect", "previous", "second-best", "rejected",
            )
            for noun in ("answer", "choice", "option")
        ),
        "La peor opción es A",
        "Die schlechteste Wahl ist A",
        "Die zweitbeste Wahl ist A",
        "Le pire choix est A",
        "Худший вариант — A",
        "오답은 A입니다",
        "間違った答えはAです",
        "错误的答案是A",
        "一番悪い選択はAです",
        "가장 나쁜 선택은 A입니다",
        "Het slechtste antwoord is A",
        "La peggiore scelta è A",
        "A pior opção é A",
        "The wrong answer is Lisbon",
        "Incorrect answer: A",
        "Previous answer: A",
        "Неправильный ответ A",
        "Student's answer: A",
        "I doubt the answer is A",
        "I deny the answer is A",
        "I deny that the answer is A",
        "I disagree that the answer is A",
        "I fear the answer is A",
        "I wish the answer is A",
        "I hope the answer is A",
        "I refuse to say the answer is A",
        "It is false that the answer is A",
        "Suppose the answer is A. Then contradiction.",
        "Assume the answer is A. Then contradiction.",
        "I used to think the answer is A",
        "Only a fool would say the answer is A",
        "Critics argue the answer is A",
        "Most people say the answer is B",
        "Ich bezweifle, dass die Antwort A ist",
        "Angenommen, die Antwort ist A.",
        "Je doute que la réponse est A",
        "Supongamos que la respuesta es A.",
        "假设答案是A。",
        "The answer to avoid is A",
        "Ada's final answer: A",
        "前の答えはA",
        "以前的答案是A",
        "Nehmen wir an, die Antwort ist A.",
        "Manche sagen, die Antwort ist A",
        "Certains disent que la réponse est A",
    ],
)  # fmt: skip
def test_a_statement_that_is_not_the_answer_is_not_read(text: str) -> None:
    assert choice(text) in {None, "ABSTAIN"}


@pytest.mark.parametrize(
    "text",
    [
        "The answer is anything but B",
        "My final answer: everything except B",
        "My final answer: all options other than B",
        "The answer is hardly B",
        "The answer is far from Lisbon",
        "The answer is north of Lisbon",
        "So far from Lisbon",
        "So the answer is north of Lisbon",
        "Die Antwort ist alles außer B",
        "La réponse est tout sauf B",
        "La respuesta es todo menos B",
        "So Lisbon is out",
        "So Lisbon loses",
        "In conclusion, Lisbon fails",
        "Overall, Lisbon is worse",
        "So we drop Lisbon",
        "Therefore, avoid Lisbon",
        "The worst is **Lisbon**",
        "Avoid **Lisbon**",
        "Lisbon is my last choice",
        "Lisbon is my second choice",
        "Lisbon is my least favourite",
        "Lisbon is the most overrated",
        "Lisbon is the one I'd avoid",
        "I choose Lisbon as the worst",
        "I favor Lisbon least",
        "I recommend Lisbon be avoided",
        "I'd say Lisbon is overrated",
        "Also scheidet Lisbon aus",
        "Donc Lisbon est éliminée",
        "所以排除Lisbon",
        "It is not \\boxed{B}",
        "\\boxed{B} is what one might think",
        "\\boxed{B} is wrong.",
        "Es ist nicht \\boxed{B}.",
    ],
)
def test_a_rejected_option_is_not_read(text: str) -> None:
    assert choice(text) is None


@pytest.mark.parametrize("text", ["all except B", "anything but B", "everything other than Porto", "alles außer B"])
def test_an_exception_in_a_short_part_is_not_certain(text: str) -> None:
    assert read_answer(text, Asked("choice", CITIES, is_short=True)).certainty != "certain"
    assert choice(f'{{"choice": "{text}", "position": "It is cheap."}}') is None


@pytest.mark.parametrize(
    "text", ["-10", "10%", "10 thousand", "10 million", "10^2", "10²", "10!", "5 × 2", "5 * 2", "10/3"]
)
def test_part_of_a_number_is_not_an_option(text: str) -> None:
    for reply in (f"The answer is {text}.", f"Answer: {text}", text):
        assert choice(reply, ("5", "10", "15")) is None, reply


def test_part_of_a_formula_is_not_an_option() -> None:
    for reply in ("The answer is x^2.", "x^2", "The answer is x²"):
        assert choice(reply, ("x", "y")) is None, reply
    assert choice("The answer is 10.", ("5", "10", "15")) == "10"
    assert choice("The answer is 10 kg.", ("5", "10", "15")) == "10"
    assert choice("The answer is 10!", ("5", "10!", "15")) == "10!"


@pytest.mark.parametrize("text", ["Yes we can't.", "Yes it isn't", "No. 5", "No it is.", "Nr. 5", "Yes, it isn't."])
def test_a_contradictory_yes_or_no_is_not_certain(text: str) -> None:
    assert read_reply(text, Asked("yes_no")).certainty != "certain"


@pytest.mark.parametrize(
    ("text", "value"),
    [("Yes, it is.", "yes"), ("Yes we can.", "yes"), ("No, it isn't.", "no"), ("No. It is too dear.", "no")],
)
def test_a_clear_yes_or_no_is_read(text: str, value: str) -> None:
    assert read_reply(text, Asked("yes_no")).value == value


@pytest.mark.parametrize("text", ["I'm unable to choose between them, but B is fine.", "I cannot say which, B"])
def test_a_refusal_with_an_option_chooses_no_other_option(text: str) -> None:
    assert choice(text) in {None, PORTO}


def test_a_refusal_with_all_options_is_an_abstention() -> None:
    assert choice("I'm unable to choose between A and B.") == "ABSTAIN"


def test_time_grows_no_faster_than_the_text() -> None:
    for text in ("I choose B. ", "The answer is B. ", "Wait, no, B. "):
        start = time.process_time()
        choice(text * (5_000 // len(text)))
        assert time.process_time() - start < 1, text
