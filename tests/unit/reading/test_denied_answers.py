"""A number or an option that the words beside it deny, take back or doubt is not read as the answer."""

from __future__ import annotations

import pytest

from roundtable.parsing import read_reply
from roundtable.reading import ABSTAIN, Asked

NUMBER = Asked("number")
CITIES = Asked("choice", ("A) Lisbon", "B) Porto", "C) Faro"))
OPEN = Asked("open")
FORMULA = Asked("formula")

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
    *("Sample answer = 42", "Example solution: **42**"),
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
    "Expected value = 42": "42",
    "The answer is 42. This follows from the first rule, which holds for every number of the list above.": "42",
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


OF_SOME_OR_OF_OTHERS = [
    (NUMBER, "**Solution:**\n\n- Apples: 3\n- Pears: 4\n- Total: 7"),
    (NUMBER, "**Answer:**\n- Cost of books: $15\n- Cost of pens: $2\n- Total: $17"),
    (NUMBER, "Solution:\n- Cost of books: 3 × $5 = $15\n- Cost of pens: 2 × $1 = $2\n- Total cost: $17"),
    (NUMBER, "**Solution:**\n- Apples: 3\n- Pears: 4"),
    (NUMBER, "Final Answer:\n\n- John: 12\n- Mary: 15"),
    (NUMBER, "Solution:\n\n- Step 1: 3 × 5 = 15\n- Step 2: 15 + 2 = 17"),
    (NUMBER, "An adult human has 206 bones, while babies have about 300."),
    (NUMBER, "There are 50 states in the US. There are also 5 major territories."),
    (NUMBER, "The answer is 20. However, if the tax is included, it is 22."),
    (NUMBER, "The answer is 20 (without tax) or 22 (with tax)."),
    (NUMBER, "The answer is 20. Or is it 21?"),
    (NUMBER, "The adult ticket costs 12 euros, but children pay 6."),
    (NUMBER, "Anna has 3 apples. Ben has 4 apples."),
    (NUMBER, "A soccer team has 11 players. A basketball team has 5."),
    (NUMBER, "So far we have 20 apples."),
    (NUMBER, "The intermediate result is 40."),
    (NUMBER, "The subtotal is 20."),
    (NUMBER, "A common mistake is to answer 45."),
    (NUMBER, "The typical mistake is 20."),
    (NUMBER, "Das Zwischenergebnis ist 20."),
    (NUMBER, "El resultado intermedio es 20."),
    (NUMBER, "中间结果是20。"),
    (NUMBER, "So far, the total is 20."),
    (NUMBER, "A trap answer is 20."),
    (NUMBER, "20だと言われています。"),
    (CITIES, "For families, Faro is the best choice."),
    (CITIES, "For families, Faro is the best choice. For business travelers, Lisbon is better."),
    (CITIES, "It depends on your needs. For limited budgets, Porto is the best choice."),
    (CITIES, "If you want beaches, choose Faro. For nightlife, Lisbon is the best choice."),
    (CITIES, "For beach lovers, I recommend Faro."),
    (CITIES, "When it comes to beaches, Faro is the best option."),
    (CITIES, "As for beaches, Faro is the best option."),
    (CITIES, "Culturally, Lisbon is the best choice."),
    (CITIES, "Pour les familles, Faro est le meilleur choix."),
    (CITIES, "Para familias, Faro es la mejor opción."),
    (CITIES, "Ich habe gehört, dass Porto die beste Wahl ist."),
    (CITIES, "Mir wurde gesagt, dass Porto die beste Wahl ist."),
    (CITIES, "For those who like wine, Porto is the best option."),
    (CITIES, "In summer, Faro is the best choice."),
    (OPEN, "My teacher told me that the answer is Sydney."),
    (OPEN, "I read somewhere that the answer is Sydney."),
    (OPEN, "The answer is probably Canberra."),
    (OPEN, "The answer is not known."),
    (OPEN, "The answer is debatable."),
    (OPEN, "The answer is subjective."),
    (OPEN, "The answer is a matter of opinion."),
    (OPEN, "The answer is wrong."),
    (OPEN, "Die Antwort ist falsch."),
    (OPEN, "La réponse est fausse."),
    (OPEN, "答案是错误的。"),
    (OPEN, "Sure, I'd be happy to help!"),
    (OPEN, "I'd be glad to help."),
    (OPEN, "Thank you for your question."),
    (OPEN, "Let me think about it."),
    (OPEN, "I understand."),
    (OPEN, "Interesting question!"),
    (OPEN, "It varies."),
    (OPEN, "Opinions differ."),
    (OPEN, "The answer is likely Canberra."),
]
STATED_ALL_THE_SAME = [
    (NUMBER, "The total is $17.", "17"),
    (NUMBER, "**Answer:**\n\n408", "408"),
    (NUMBER, "Answer: 17 books", "17"),
    (CITIES, "For our retreat, Porto is the best choice.", "B) Porto"),
    (CITIES, "For me, Porto is the best choice.", "B) Porto"),
    (CITIES, "For this team, I recommend Porto.", "B) Porto"),
    (NUMBER, "It has 206 bones.", "206"),
    (NUMBER, "Anna has 3 apples. Ben gives her 4. So she has 7 apples.", "7"),
    (OPEN, "The answer is Canberra.", "Canberra"),
    (NUMBER, "Final answer:\n42", "42"),
    (CITIES, "In the end, Porto is the best choice.", "B) Porto"),
    (CITIES, "In conclusion, Porto is the best choice.", "B) Porto"),
    (CITIES, "Overall, Porto is the best choice.", "B) Porto"),
    (CITIES, "Ultimately, Porto is the best choice.", "B) Porto"),
    (CITIES, "For these reasons, Porto is the best choice.", "B) Porto"),
    (CITIES, "In my view, Porto is the best choice.", "B) Porto"),
    (CITIES, "In summary, Porto is the best choice.", "B) Porto"),
    (NUMBER, "**Answer:** 3 books cost $15 and 2 pens cost $2, for a total of $17.", "17"),
    (NUMBER, "25. If you need more detail, ask me.", "25"),
]


@pytest.mark.parametrize(("asked", "text"), OF_SOME_OR_OF_OTHERS)
def test_an_answer_of_others_for_some_or_beside_another_is_not_certain(asked: Asked, text: str) -> None:
    reading = read_reply(text, asked)
    assert reading.certainty != "certain", reading


@pytest.mark.parametrize(("asked", "text", "value"), STATED_ALL_THE_SAME)
def test_an_answer_for_the_question_itself_stays_certain(asked: Asked, text: str, value: str) -> None:
    reading = read_reply(text, asked)
    assert (reading.certainty, reading.value) == ("certain", value), reading


ORDINARY = [
    (OPEN, "Sydney\n\nReasoning: I first thought Sydney. Final answer: Canberra", "Canberra"),
    (OPEN, "**Analysis**\n\n**Reasoning:** It is planned.\n\n**Final answer:** Canberra", "Canberra"),
    (FORMULA, "x+1\n\nReasoning: \\boxed{x+2}", "x+2"),
    (FORMULA, "- x^2 + 3", "- x^2 + 3"),
    (NUMBER, "The answer is 42 because there is no remainder.", "42"),
    (NUMBER, "The probability is 0.3 that it does not rain.", "0.3"),
    (NUMBER, "There are 42 people who do not smoke.", "42"),
    (NUMBER, "Answer: 42 non-negative integers", "42"),
    (NUMBER, "The radius is 5. The area is 78.5.", "78.5"),
    (NUMBER, "Each ticket costs 5. All of them cost 20.", "20"),
    (NUMBER, "408 is the answer.", "408"),
    (NUMBER, "Tom bought 42 apples.", "42"),
    (NUMBER, "Only 42 remain.", "42"),
    (NUMBER, "Sum: 42", "42"),
    (NUMBER, "Number of apples: 42", "42"),
    (NUMBER, "Expected value: 42", "42"),
    (NUMBER, "408 was the result.", "408"),
    (CITIES, "For budget reasons, I choose Porto.", "B) Porto"),
    (CITIES, "For several reasons, the answer is B.", "B) Porto"),
    (CITIES, "Financially, Porto is the best choice.", "B) Porto"),
    (CITIES, "Mathematically, the answer is B.", "B) Porto"),
    (CITIES, "As for my vote, I choose Porto.", "B) Porto"),
    (CITIES, "Para concluir, elijo Porto.", "B) Porto"),
    (CITIES, "Pour les raisons suivantes, je choisis Porto.", "B) Porto"),
    (NUMBER, "Multiply 6 by 7 to get 42.", "42"),
    (NUMBER, "To find the total, add all: 17 + 25 = 42.", "42"),
    (NUMBER, "So 42 students failed.", "42"),
    (NUMBER, "There are 42 exceptions.", "42"),
    (NUMBER, "For now, the total is 42.", "42"),
    (CITIES, "I recommend Porto; none of the options is perfect.", "B) Porto"),
    (OPEN, "<string>", "<string>"),
    (NUMBER, "Final answer:\n* **42**\n* unit: km", "42"),
    (CITIES, "The answer is B.\n<think>Is it? Yes.</think>\nI hope this helps!", "B) Porto"),
    (CITIES, "Use <thinking>. The answer is B", "B) Porto"),
    (CITIES, "Ich denke, dass Porto die beste Wahl ist.", "B) Porto"),
    (CITIES, "I'll keep Porto in mind, but I choose Lisbon.", "A) Lisbon"),
]
OF_OTHERS = [
    (CITIES, "Ich habe gelesen, die Antwort ist B."),
    (CITIES, "J'ai entendu que la réponse est B."),
    (CITIES, "Es heißt, die Antwort ist B."),
    (CITIES, "Niemand glaubt, dass Porto die beste Wahl ist."),
    (CITIES, "Ich bezweifle, dass Porto die beste Wahl ist."),
    (CITIES, "Es ist falsch, dass Porto die beste Wahl ist."),
    (CITIES, "Ada denkt, dass Porto die beste Wahl ist."),
    (CITIES, "Wer glaubt, dass Porto am besten ist, irrt."),
    (CITIES, "I'll keep Porto for later and take Faro."),
    (OPEN, "Canberra\n<thought>easy</thought>\nThat's it."),
    (OPEN, "Hello, Ada!\n\nReasoning: It is planned."),
    (NUMBER, "Error code: 429"),
    (NUMBER, "408 ist falsch."),
    (NUMBER, "It is 408 apples, which is wrong."),
]


@pytest.mark.parametrize(("asked", "text", "value"), ORDINARY)
def test_an_ordinary_answer_stays_certain(asked: Asked, text: str, value: str) -> None:
    reading = read_reply(text, asked)
    assert (reading.certainty, reading.value) == ("certain", value), reading


@pytest.mark.parametrize(("asked", "text"), OF_OTHERS)
def test_what_others_think_or_a_heading_is_not_certain(asked: Asked, text: str) -> None:
    reading = read_reply(text, asked)
    assert reading.certainty != "certain", reading


def test_signs_around_an_answer_are_removed_in_linear_time() -> None:
    for text in ("`" * 200_000 + "a\u2705", "\n" * 200_000 + "a"):
        assert read_reply(text, NUMBER).certainty != "certain"
