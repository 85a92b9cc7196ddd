"""A number or an option that the words beside it deny, take back or doubt is not read as the answer."""

from __future__ import annotations

import pytest

from roundtable.parsing import read_reply
from roundtable.reading import ABSTAIN, Asked

NUMBER = Asked("number")
CITIES = Asked("choice", ("A) Lisbon", "B) Porto", "C) Faro"))
OPEN = Asked("open")

DENIED_NUMBERS = [
    *("408 ist falsch.", "408 stimmt nicht.", "408 ist nicht die Antwort.", "408 est faux.", "408 es incorrecto."),
    *("408 no es correcto.", "408 è sbagliato.", "408 está errado.", "408 is onjuist.", "408 klopt niet."),
    *("408 jest błędne.", "408 неверно.", "408 не ответ.", "408 yanlış.", "Cevap 408 değil.", "408 değil."),
    *(
        "答えは408ではありません。",
        "答えは408ではない。",
        "答えは408のはずがない。",
        "408は不正解です。",
        "408ではない。",
    ),
    *("정답은 408이 아닙니다.", "408은 틀렸습니다.", "उत्तर 408 नहीं है।", "408 गलत है।", "答案并非408。"),
    *("408是错的。", "408不对。", "408不正确。", "答案不可能是408。", "408 خطأ.", "الجواب ليس 408."),
    *("Det är inte 408.", "Svaret är inte 408.", "Det er ikke 408.", "Vastaus ei ole 408.", "Odpověď není 408."),
    *("Bukan 408.", "Jawabannya bukan 408.", "Đáp án không phải là 408.", "Η απάντηση δεν είναι 408."),
    *("Răspunsul nu este 408.", "A válasz nem 408.", "Відповідь не 408."),
    *("Anything but 408.", "Everything except 408.", "408 seems wrong.", "408 looks off.", "408 feels too high."),
]
NUMBERS_ON_THE_WAY = [
    *("As of 2023, I don't know.", "confidence 90%, answer unknown", "Error code: 429", "ret = -3"),
    *("Rate limit: 60 requests per minute.", "llama_decode: failed, ret = -3", "I'm Qwen 2.5.", "HTTP status: 503"),
    *("The budget is 500 euros, but the cost isn't given.", "The price is $5, but the amount is unknown."),
    *("The answer has 3 digits.", "The answer starts with 4.", "The answer ends with 8.", "The result has 2 decimals."),
    *("To get the answer, add 5.", "Use the formula with n = 5.", "Let me break it into 4 parts.", "Now add 5."),
    *("I need 2 more facts.", "The 5 apples are irrelevant.", "He started with 12.", "Plug in x = 3."),
    *("Example answer: 42", "Expected format: 42", "Sample output: 42", "Example: 42"),
    *("The answer is 42 minus tax.", "The answer is 42 plus shipping.", "Answer: 42 (forty-three)", "Forty-two (43)"),
    *("The answer is 3x + 2 = 5", "S'il pleut, 5.", "雨なら5。"),
    *("Adaは408と言った。", "Ada a dit 408.", "Ada sagte 408."),
]
STATED_NUMBERS = {
    "408": "408",
    "408.": "408",
    "408 apples": "408",
    "**408** square metres": "408",
    "408 km/h": "408",
    "408 Euro": "408",
    "408 рублей": "408",
    "408 元": "408",
    "408個": "408",
    "408 명": "408",
    "Es sind 408.": "408",
    "Svaret är 408.": "408",
    "答えは408です。": "408",
    "정답은 408입니다.": "408",
    "उत्तर 408 है।": "408",
    "答案是408。": "408",
    "Not 398 but 408.": "408",
    "The total cost is $408, including tax.": "408",
    "She needs 12 more eggs.": "12",
    "Answer: 42 (forty-two)": "42",
    "So n = 5.": "5",
    "Therefore x = 3.": "3",
    "408\n\nReasoning: I multiplied step by step.": "408",
    "The total is $300.\n\nReasoning: I multiplied.": "300",
    "408\n\nExplanation: 17 * 24 = 340 + 68 = 408.": "408",
    "**408**\n\nBegründung: Ich habe multipliziert.": "408",
}


@pytest.mark.parametrize("text", DENIED_NUMBERS)
def test_a_denied_number_is_not_read_as_the_answer(text: str) -> None:
    reading = read_reply(text, NUMBER)
    assert reading.certainty != "certain", reading


@pytest.mark.parametrize("text", NUMBERS_ON_THE_WAY)
def test_a_number_of_a_sentence_that_gives_no_answer_is_not_certain(text: str) -> None:
    reading = read_reply(text, NUMBER)
    assert reading.certainty != "certain" or reading.value == ABSTAIN, reading


@pytest.mark.parametrize(("text", "value"), STATED_NUMBERS.items())
def test_a_stated_number_stays_certain(text: str, value: str) -> None:
    reading = read_reply(text, NUMBER)
    assert (reading.certainty, reading.value) == ("certain", value), reading


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("408\n\nReasoning: It is 17 times 24, which is 410.", NUMBER),
        ("408\n\nReasoning: 17 * 24 = 410.", NUMBER),
        ("408\n\nReasoning: I am not sure about this.", NUMBER),
        ("B\n\nReasoning: The best choice is A.", CITIES),
        ("Sure! B\n\nReasoning: I'd go with Lisbon.", CITIES),
    ],
)
def test_a_reason_that_says_otherwise_takes_the_certainty_away(text: str, asked: Asked) -> None:
    reading = read_reply(text, asked)
    assert reading.certainty != "certain", reading


@pytest.mark.parametrize(
    "text",
    [
        "Great question!\n\n<think>\nI'd go with Lisbon.",
        "Sure.\n<think>\nThe answer is A.",
        "Okay <think>The answer is A.",
        "Sure!\n\n<thinking>A) Lisbon",
        "Let me see.\n[THINK]The answer is A.",
    ],
)
def test_thoughts_without_an_end_behind_a_greeting_hold_no_answer(text: str) -> None:
    for asked in (CITIES, NUMBER, OPEN):
        reading = read_reply(text.replace("is A", "is 5") if asked is NUMBER else text, asked)
        assert reading.certainty != "certain", reading


@pytest.mark.parametrize(
    "text",
    [
        "Sure.\n<think>\nThe answer is A. Or C?\n</think>\nThe answer is B.",
        "Great question! <think>Lisbon? No.</think> I choose Porto.",
    ],
)
def test_the_answer_behind_thoughts_that_follow_a_greeting_counts(text: str) -> None:
    assert read_reply(text, CITIES).value == "B) Porto"


@pytest.mark.parametrize(
    "text",
    [
        "Porto is the best option. I vote for none.",
        "Porto is the best of the bad options, but I choose none of them.",
        "Porto is the best option. None of these for me.",
        "Porto is best. But I won't choose.",
        "The best choice is Porto. However, I'm undecided.",
        "The answer is B. But it could also be A.",
        "As a tourist I'd choose Porto, as a resident Lisbon.",
        "I choose Porto. Not.",
        "Porto ist die beste Wahl. Ich wähle trotzdem keine davon.",
    ],
)
def test_a_choice_that_is_taken_back_is_not_certain(text: str) -> None:
    reading = read_reply(text, CITIES)
    assert reading.certainty != "certain", reading


@pytest.mark.parametrize(
    "text",
    [
        *("The answer is B, they say.", "B, they say.", "The answer is B, supposedly.", "The answer is B, allegedly."),
        *("The answer is B, reportedly.", "I heard that the answer is B.", "The answer is B, or so I've heard."),
        *("Supposedly the answer is B.", "I was told that the answer is B.", "Die Antwort ist B, sagt man."),
        *("La réponse est B, paraît-il.", "The answer is B, apparently.", "It is said that the answer is B."),
    ],
)
def test_a_choice_by_hearsay_is_not_certain(text: str) -> None:
    reading = read_reply(text, CITIES)
    assert reading.certainty != "certain", reading


@pytest.mark.parametrize(
    "text",
    [
        *("The answer is Sydney?", "Is the answer Sydney?", "The answer is easy.", "The answer is up to you."),
        *(
            "The answer is unclear.",
            "The answer is complicated.",
            "The answer is below.",
            "The answer is yours to find.",
        ),
    ],
)
def test_an_open_answer_that_asks_or_says_nothing_is_not_certain(text: str) -> None:
    reading = read_reply(text, OPEN)
    assert reading.certainty != "certain", reading


@pytest.mark.parametrize(
    "text",
    [
        '{"position": "<your position>", "bottom_line": "<answer>"}',
        '{"position": "<your answer to the question>"}',
        "<answer>",
    ],
)
def test_a_place_to_be_filled_in_is_not_an_answer(text: str) -> None:
    assert read_reply(text, OPEN).certainty == "unread"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<div>", "<div>"),
        ("Lisbon\nReasoning: It is the seat of government.", "Lisbon"),
        ("Canberra\n\nExplanation: It was planned as the capital.", "Canberra"),
        ("- Canberra", "Canberra"),
        ("`Canberra`", "Canberra"),
        ("Canberra!", "Canberra"),
        ("> Canberra", "Canberra"),
        ("Final Answer: **Canberra** ✅", "Canberra"),
        ("The answer is obviously Canberra.", "Canberra"),
    ],
)
def test_an_open_answer_is_read_without_what_stands_around_it(text: str, value: str) -> None:
    reading = read_reply(text, OPEN)
    assert (reading.certainty, reading.value) == ("certain", value), reading


@pytest.mark.parametrize(
    "text",
    [
        *("Here's my response in the requested format:\n\nB) Porto", "Sure, here you go: B", "Selected: Porto"),
        *("Here is my answer in the requested format:\nChoice: B", "Answer -> B", "To sum up: Porto."),
        *("I'll stick with B.", "I'll stay with B."),
        *(
            "我认为B是正确的。",
            "B是正确的。",
            "Ich denke, dass Porto die beste Wahl ist.",
            "Sure! B",
            "Rents are low.\n\nPorto",
            "```\nB\n```",
        ),
        *("B. Not A.", "B) Porto. Not A) Lisbon.", "Porto, not Lisbon or Faro.", "I switch from Lisbon to Porto."),
        *("Je pense que Porto est la meilleure option.",),
        *("Sure! B\n\nReasoning: It is cheaper.", "```\nB\n```\n\nReasoning: It is cheaper."),
    ],
)
def test_a_plain_choice_of_a_small_model_is_read(text: str) -> None:
    reading = read_reply(text, CITIES)
    assert (reading.certainty, reading.value) == ("certain", "B) Porto"), reading
