"""Options that a text names without choosing them: at its end, before a judgement, behind a verb, in a reply."""

from __future__ import annotations

import pytest

from roundtable.parsing import read_reply
from roundtable.reading import Asked, read_answer

CITIES = Asked("choice", ("A) Lisbon", "B) Porto", "C) Faro"))
PLAIN = Asked("choice", ("Lisbon", "Porto", "Faro"))
LANGUAGES = Asked("choice", ("Python", "Go", "Rust"))
SIDES = Asked("choice", ("Yes", "No"))
TONES = Asked("choice", ("positive", "negative", "neutral"))


@pytest.mark.parametrize(
    "text",
    [
        "I disagree with Ada (B).",
        "I disagree with option (B)",
        "Lisbon has more flights than (B).",
        "Lisbon is better than (B)",
        "A beats (B)",
        "I still prefer the capital over Porto (B).",
        "We can eliminate (B)",
        "Avoid (B).",
        "Anything but (B).",
        "The wrong answer is (B)",
        "The worst option is clearly (B).",
        "I withdraw my answer (B).",
        "Rain speaks against Porto (B).",
        "I see problems with both Lisbon (A) and Porto (B).",
        "Rents decide this. Ada and Bo both prefer Porto (B).",
        "Compare (A) with (B).",
        "Ada (A), Bo (B), Cy (C)",
        "See (B).",
        "As in (B)",
        "Ada: (B)",
        "Question: (B)",
        "Unsure: (B)",
        "Ich teile Adas Meinung kaum (B).",
        "Bo préfère Porto (B).",
        "Порту хуже, чем столица (B).",
        "阿达选了波尔图 (B)",
    ],
)
def test_a_label_in_brackets_at_the_end_does_not_choose_the_topic_of_the_sentence(text: str) -> None:
    assert read_answer(text, CITIES).certainty != "certain"


@pytest.mark.parametrize(
    "text",
    [
        "I looked at the prices, and it is (B).",
        "It is cheap, warm and close to the sea. (B)",
        "So the answer is (B).",
        "The rent decides this.\n\n(B)",
        "I'd choose Porto (B).",
        "We recommend option (B)",
    ],
)
def test_a_label_in_brackets_at_the_end_of_a_statement_is_a_choice(text: str) -> None:
    assert read_answer(text, CITIES).value == "B) Porto"


@pytest.mark.parametrize(
    "judgement",
    [
        "incorrect", "false", "rejected", "disqualified", "I disagree.", "this is false", "invalid", "nein", "falsch",
        "faux", "incorrecte", "incorrecta", "sbagliato", "errado", "onjuist", "nie", "неверно",
        "нет", "yanlış", "hayır", "错误", "錯誤", "間違い",
        "틀렸습니다", "خطأ", "गलत",
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["B: {}", "B) Porto: {}", "B - {}", "Porto ({})"])
def test_an_option_that_is_judged_false_is_not_chosen(form: str, judgement: str) -> None:
    asked = PLAIN if form.startswith("Porto") else CITIES
    assert read_answer(form.format(judgement), asked).certainty != "certain"


@pytest.mark.parametrize(
    "text",
    [
        "A) Lisbon: Incorrect.\n\nFaro is warm and cheap.",
        "A: incorrect. It must be the third.",
        "A) Lisbon: This is incorrect because it is crowded.\n\nSo the best is the cheap northern one.",
        "The answer is B was my first thought.",
    ],
)
def test_a_judged_option_before_further_words_is_not_chosen(text: str) -> None:
    assert read_answer(text, CITIES).certainty != "certain"


@pytest.mark.parametrize(
    "text",
    [
        "B: its false alarms are rare.",
        "B: I disagree with Ada, the sea counts.",
        "B: the best of them",
        "B: warm and cheap",
    ],
)
def test_an_option_with_a_reason_after_a_colon_is_chosen(text: str) -> None:
    assert read_answer(text, CITIES).value == "B) Porto"


@pytest.mark.parametrize(
    "text",
    [
        "I would not go with Python.",
        "Don't go with Rust.",
        "Never go with Rust.",
        "We decided not to go with Rust.",
        "I don't think we should go with Python.",
        "There is no need to go with Rust.",
        "It would be wrong to go with Rust.",
    ],
)
def test_a_verb_that_is_spelt_like_an_option_hides_no_negation(text: str) -> None:
    assert read_answer(text, LANGUAGES).certainty != "certain"


@pytest.mark.parametrize(
    ("text", "value"), [("I'd go with Python.", "Python"), ("Go", "Go"), ("I would choose Go.", "Go"), ("go.", "Go")]
)
def test_a_verb_that_is_spelt_like_an_option_hides_no_choice(text: str, value: str) -> None:
    assert read_answer(text, LANGUAGES).value == value


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("No, I haven't changed my mind.", "you"),
        ("Yes, I maintain my previous answer.", "you"),
        ("Yes, I agree with Bo.", "Bo"),
        ("**Yes**, I agree with Bo.", "Bo"),
        ("Nein, ich bleibe bei meiner Antwort.", "you"),
        ("Oui, je maintiens ma réponse.", "you"),
    ],
)
@pytest.mark.parametrize("asked", [SIDES, Asked("yes_no")], ids=["options", "yes or no"])
def test_a_yes_or_no_in_reply_to_others_refers_to_an_answer(text: str, name: str, asked: Asked) -> None:
    reading = read_answer(text, asked)
    assert (reading.certainty, reading.rule, reading.points_to) == ("unread", "reference", name)


@pytest.mark.parametrize(
    "text",
    [
        "Yes, I can help with that.",
        "Yes I can help with that.",
        "Yes, I am ready.",
        "Yes, I'd be happy to help.",
        "No, I cannot answer that.",
        "No, I don't know.",
        "Yes, here is my answer:",
        "Yes, I'll answer.",
        "Yes, of course I can help you.",
        "Yes, I have considered all arguments carefully.",
        "No, thanks",
        "No, gracias",
        "No, I'm sorry, I can't help with that.",
    ],
)
def test_a_yes_or_no_that_answers_something_else_is_not_certain(text: str) -> None:
    assert read_answer(text, SIDES).certainty != "certain"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("No, I cannot support this proposal.", "No"),
        ("No, I don't think so.", "No"),
        ("Yes, I agree with the plan.", "Yes"),
        ("Yes, I can see the benefits.", "Yes"),
        ("No. I haven't changed my mind about the costs: they are too high.", "No"),
    ],
)
def test_a_yes_or_no_with_its_reason_is_an_answer(text: str, value: str) -> None:
    assert read_answer(text, SIDES).value == value


@pytest.mark.parametrize("text", ["I think Porto is the best place.", "Porto is the best location for us."])
def test_an_option_that_is_called_the_best_of_its_kind_is_chosen(text: str) -> None:
    assert read_answer(text, PLAIN).value == "Porto"


@pytest.mark.parametrize("text", ["Porto is the best known.", "Porto is the best place to lose money."])
def test_an_option_that_is_praised_for_something_else_is_not_chosen(text: str) -> None:
    assert read_answer(text, PLAIN).certainty != "certain"


def test_a_negation_in_quotes_negates_nothing() -> None:
    assert read_answer('The word "bad" is negative, but "not bad" is positive.', TONES).value != "negative"


@pytest.mark.parametrize(("text", "value"), [("~~A~~ B", "B) Porto"), ("<del>A</del> B", "B) Porto")])
def test_crossed_out_text_is_not_read(text: str, value: str) -> None:
    assert read_answer(text, CITIES).value == value
    assert read_answer(text.partition(" ")[0], CITIES).certainty == "unread"


def test_thoughts_that_end_before_the_answer_on_their_line_are_left_out() -> None:
    assert read_answer("</think>B", CITIES).value == "B) Porto"


@pytest.mark.parametrize(
    "text",
    [
        "B: disagree", "B - disagree", "B: 0", "B: 0%", "B (10%)", "B: score 1", "B: inexact", "B: 틀림", "B: non",
        "B: misleading", "B: a trap", "B: Ada's view", "B (per Ada)",
    ],
)  # fmt: skip
def test_a_short_note_that_may_judge_an_option_leaves_it_open(text: str) -> None:
    assert read_answer(text, CITIES).certainty != "certain"


@pytest.mark.parametrize(
    "text",
    ["B: yes", "B (correct)", "B: definitely", "B (90%)", "B: my choice", "B: Porto", "B) Porto: the best", "B", "B."],
)
def test_a_short_note_that_approves_an_option_keeps_it(text: str) -> None:
    assert read_answer(text, CITIES).value == "B) Porto"


@pytest.mark.parametrize(
    "text",
    [
        "<b>B</b>", "<strong>B) Porto</strong>", "<p>B</p>", "B&nbsp;", "&quot;B&quot;", "```text\nB) Porto\n```",
        '```json\n"B"\n```', "Clearly, Porto.", "Absolutely Porto!", "Surely B.", "Ergo: B", "Just B.",
        "With high confidence: B", "Porto seems like the best choice.", "Porto stands out as the best option.",
        "B is the only correct option.",
    ],
)  # fmt: skip
def test_a_choice_inside_markup_or_after_an_adverb_is_read(text: str) -> None:
    assert read_answer(text, CITIES).value == "B) Porto"


@pytest.mark.parametrize(
    "text", ["Just B and C are left.", "Surely B fails.", "Only B is wrong.", "<b>A</b> or <b>B</b>"]
)
def test_an_adverb_before_an_option_chooses_nothing_by_itself(text: str) -> None:
    assert read_answer(text, CITIES).certainty != "certain"


@pytest.mark.parametrize(
    "text",
    ["Lisbon: ❌", "Lisbon (❌)", "Lisbon ✗", "Lisbon - 👎", "❌ Lisbon", "[ ] Lisbon", "☐ Lisbon", "Lisbon (N)",
     "My answer: Lisbon 🚫"],
)  # fmt: skip
def test_an_option_with_a_sign_of_refusal_is_not_chosen(text: str) -> None:
    assert read_reply(text, Asked("choice", ("Lisbon", "Porto"))).certainty == "unread"


@pytest.mark.parametrize("text", ["❌ Reject", "Reject", '{"choice": "❌ Reject"}'])
def test_a_sign_that_is_part_of_an_option_refuses_nothing(text: str) -> None:
    reading = read_reply(text, Asked("choice", ("✅ Accept", "❌ Reject")))
    assert (reading.value, reading.certainty) == ("❌ Reject", "certain")


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("I think **Lisbon** would be expensive.", None),
        ("I fear **Lisbon** is far away.", None),
        ("I believe **Lisbon** will cost too much.", None),
        ("Ich denke, **Lisbon** ist teuer.", None),
        ("I think **Porto** would be a great choice.", "Porto"),
        ("I believe **Porto** offers the best value.", "Porto"),
        ("So **Porto** it is!", "Porto"),
    ],
)
def test_bold_chooses_an_option_unless_the_sentence_only_says_something_about_it(text: str, chosen: str | None) -> None:
    assert read_reply(text, Asked("choice", ("Lisbon", "Porto", "Faro"))).value == chosen
