"""Labels before an answer in own words, and remarks behind it: neither belongs to the answer."""

from __future__ import annotations

import pytest

from roundtable.reading import Asked, read_answer

OPEN = Asked()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("**Total:** 42", "42"),
        ("**Total**: 42", "42"),
        ("**Total: 42**", "42"),
        ("*Total:* 42", "42"),
        ("__Total:__ 42", "42"),
        ("### Total: 42", "42"),
        ("## **Total**: 42", "42"),
        ("**Number of apples:** 42", "42"),
        ("**Total number of apples:** 6 × 7 = 42", "42"),
        ("**Apples in total:** 42", "42"),
        ("**Total apples:** 42", "42"),
        ("**Count:** 42 apples", "42 apples"),
        ("**Capital:** Canberra", "Canberra"),
        ("**Capital of Australia**: Canberra", "Canberra"),
        ("**City:** Canberra", "Canberra"),
        ("**Hauptstadt:** Canberra", "Canberra"),
        ("**Capitale :** Canberra", "Canberra"),
        ("**Summe:** 42", "42"),
        ("**总数：** 42", "42"),
        ("**首都**：堪培拉", "堪培拉"),
        ("## Capital\nCanberra", "Canberra"),
        ("**Total**\n42", "42"),
        ("# Total:\n\n42 apples", "42 apples"),
        ("6 bags of 7.\n\n**Total:** 42 apples", "42 apples"),
        ("**Calculation:** 6 × 7\n**Total:** 42", "42"),
    ],
)
def test_the_text_after_a_label_is_the_answer(text: str, value: str) -> None:
    reading = read_answer(text, OPEN)
    assert (reading.certainty, reading.value) == ("certain", value)


@pytest.mark.parametrize(
    "text",
    [
        "**Note:** It rains.",
        "**Canberra**: the capital.",
        "**Canberra:** it was chosen in 1908.",
        "**Ada:** Canberra",
        "**Wrong city:** Sydney",
        "**City that I rejected:** Sydney",
        "**Capital:** maybe Canberra",
        "**Capital:** Canberra or Sydney",
        "**Capital:** not Sydney",
        "**Capital:** Canberra?",
        "**Total:** at least 42",
        "**Total:** 40-42",
        "**Total:**",
        "**Confidence:** 0.9",
        "**Step 1:** 42",
        "**Name:** Canberra\n**Country:** Australia",
        "**Total:** 40\n**Total:** 42",
        "Both are far.\n**Capital:** Canberra",
        "There are **two things:** speed and cost.",
        "There are **two things**: speed and cost.",
        "The result is **as follows:**",
        "**Number of apples**\nThere are several bags. Each holds some.",
        "**Capital:**\nBoth cities are far away, and each has its charm.",
    ],
)
def test_a_label_is_never_the_answer(text: str) -> None:
    reading = read_answer(text, OPEN)
    assert (reading.certainty, reading.value) == ("unread", None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("**Canberra**", "Canberra"),
        ("**Canberra** is the capital of Australia.", "Canberra"),
        ("The capital is **Canberra**.", "Canberra"),
        ("**By the river.**\nRents are low.", "By the river"),
        ("**Short answer:** No.", "No"),
        ("**Answer:** 42", "42"),
        ("There are **42** apples in total.", "42"),
    ],
)
def test_bold_words_without_a_colon_are_the_answer(text: str, value: str) -> None:
    reading = read_answer(text, OPEN)
    assert (reading.certainty, reading.value) == ("certain", value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("My answer is 42, with confidence 0.9.", "42"),
        ("My answer is 42, confidence: 90%.", "42"),
        ("The answer is Canberra, with 90% confidence.", "Canberra"),
        ("The answer is Canberra, with high confidence.", "Canberra"),
        ("My answer is 42, thank you.", "42"),
        ("Answer: 42 - I'm sure.", "42"),
        ("Answer: 42 — I am absolutely certain.", "42"),
        ("The answer is 42 and I am confident.", "42"),
        ("Die Antwort ist 42, danke.", "42"),
        ("Die Antwort ist 42, mit einer Konfidenz von 90 %.", "42"),
        ("La réponse est 42, merci.", "42"),
        ("La respuesta es 42, gracias.", "42"),
        ("答案是42，谢谢。", "42"),
        ("42, thank you!", "42"),
        ("42...thanks", "42"),
        ("Canberra, I'm sure.", "Canberra"),
        ("My answer is 42, I think.", "42"),
        ("42, I think.", "42"),
        ("Die Antwort ist 42, denke ich.", "42"),
        ("La réponse est 42, je crois.", "42"),
        ("La respuesta es 42, creo.", "42"),
    ],
)
def test_a_remark_after_the_answer_is_not_part_of_it(text: str, value: str) -> None:
    reading = read_answer(text, OPEN)
    assert (reading.certainty, reading.value) == ("certain", value)


@pytest.mark.parametrize(
    "text",
    [
        "The answer is 42, I'm not entirely sure.",
        "The answer is 42, probably.",
        "The answer is 42, but I'm not sure.",
        "Ответ 42, наверное.",
        "42, I guess.",
        "Canberra I guess",
    ],
)
def test_a_doubtful_remark_leaves_the_answer_likely(text: str) -> None:
    assert read_answer(text, OPEN).certainty != "certain"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The answer is to say thanks.", "to say thanks"),
        ("The answer is to trade with confidence.", "to trade with confidence"),
        ("Speak slowly, with confidence", "Speak slowly, with confidence"),
        ("Answer: bread and butter", "bread and butter"),
        ("The answer is I think therefore I am.", "I think therefore I am"),
        ("The answer is salt and sure.", "salt and sure"),
        ("Answer: Canberra, Australia", "Canberra, Australia"),
    ],
)
def test_words_of_the_answer_are_not_a_remark(text: str, value: str) -> None:
    reading = read_answer(text, OPEN)
    assert (reading.certainty, reading.value) == ("certain", value)
