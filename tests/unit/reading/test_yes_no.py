"""Yes and no: bare words of many languages, and sentences that say one of them plainly."""

from __future__ import annotations

from typing import Literal

import pytest

from roundtable.reading import Asked, read_answer
from roundtable.reading.folding import fold
from roundtable.reading.yes_no import contradicts_side

ASKED = Asked("yes_no")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(
            (word, "yes")
            for word in ("Yes", "yes.", "**Yes**", "true", "Ja", "Oui", "Sí", "Sim", "Да", "是", "はい", "네")
        ),
        *((word, "yes") for word in ("نعم", "हाँ", "Tak", "Evet", "对")),
        *(
            (word, "no")
            for word in ("No", "no!", "false", "Nein", "Non", "Não", "Нет", "不是", "いいえ", "아니요", "لا", "नहीं")
        ),
        *((word, "no") for word in ("Nie", "Hayır", "不对")),
        ("Yes, because it is cheap.", "yes"),
        ("No, it is not true.", "no"),
        ("No, there is no doubt about it.", "no"),
        ("The answer is yes.", "yes"),
        ("The answer is no, not yes.", "no"),
        ("I looked at both sides. So the answer is no.", "no"),
        ("I vote no.", "no"),
        (r"\boxed{\text{No}}", "no"),
        ("I looked at it.\n\nYes.", "yes"),
        ("True or false? False.", "no"),
        ("Die Antwort ist nein.", "no"),
        ("La réponse est oui.", "yes"),
        ("答案是：是", "yes"),
        ("<think>Yes?</think>No.", "no"),
    ],
)
def test_a_plain_yes_or_no_is_read(text: str, value: str) -> None:
    reading = read_answer(text, ASKED)
    assert (reading.certainty, reading.value) == ("certain", value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Yes and no.",
        "Yes or no?",
        "Yes/No",
        "Maybe.",
        "Maybe yes.",
        "It depends.",
        "Yes, unless it rains.",
        "If so, yes.",
        "The answer is not yes.",
        "The answer is yes. The answer is no.",
        "Ada says yes.",
        "There is no answer.",
        "Nobody knows, and no one ever will.",
        "Yesterday",
        "Not yes",
        "Da steht es nicht.",
        "Si llueve, vamos.",
    ],
)
def test_a_text_with_neither_or_both_is_not_read(text: str) -> None:
    reading = read_answer(text, ASKED)
    assert reading.certainty != "certain" or reading.value == "ABSTAIN"


CONTRADICTIONS = (
    "Ja|, kann man nicht.",
    "Ja|, das ist es nicht.",
    "Ja|, sollte man nicht.",
    "Yes| it isn't.",
    "Yes|, it isn't.",
    "No| it is.",
    "No|, it is!",
    "Nein|, kann man.",
    "Yes|, I agree with Ada that we should not do it.",
    "Yes|, there are risks. But overall we should not do it.",
    "Yes|, it is cheap, but we shouldn't adopt it.",
    "Yes|, Ada says we should not do it and I agree.",
    "Yes|, Ada is wrong: no.",
    "No|. Yes.",
    "Yes|, said Ada. I disagree.",
    "Yes|, it looks good. But I disagree.",
    "Yes|, Ada says. I don't.",
    "No|, Bo is wrong. We should absolutely adopt it.",
    "No|, Bo is wrong.",
    "No|, I disagree with Bo, we should do it.",
    "No|, the risk is small. So we should go ahead.",
    "Ja|, es gibt Risiken. Insgesamt sollten wir es nicht tun.",
    "Nein|, ich widerspreche Bo, wir sollten es tun.",
    "Nein|, Bo irrt sich.",
    "Oui|, mais nous ne devrions pas le faire.",
    "Non|, il faut le faire.",
    "Sí|, pero no deberíamos hacerlo.",
    "No|, deberíamos hacerlo.",
    "Sì|, ma non dovremmo farlo.",
    "Sim|, mas não devemos fazer isso.",
    "Ja|, maar we moeten het niet doen.",
    "Tak|, ale nie powinniśmy tego robić.",
    "Да|, но не стоит этого делать.",
    "Нет|, Бо ошибается.",
    "是|，但我们不应该这样做。",
    "不|，Bo错了。",
    "はい|、しかし、そうすべきではありません。",
)
IN_LINE = (
    "Yes|, because it is cheap.",
    "Yes|. It is not expensive.",
    "Yes|, but we should not rush.",
    "Yes|, Bo is wrong that we should not do it.",
    "Yes|, Bo says we should not do it, but the risk is small.",
    "Yes|, I disagree with Bo that we should not do it.",
    "Yes|, no doubt about it.",
    "Yes|, it is.",
    "Yes|. Is it expensive? No.",
    "No|, it is not true.",
    "No|, we should not do it.",
    "No|, it isn't.",
    "No|, I don't think we should do it.",
    "No|, there is no reason why we should do it.",
    "No|. Bo claims we should do it, which is wrong.",
    "No|, that is wrong.",
    "No|, this plan is wrong.",
    "No|, I disagree.",
    "No|, we should wait.",
    "No|. Yes, it is cheap, but risky.",
    "Ja|, das ist nicht teuer.",
    "Nein|, kann man nicht.",
    "Nein|, wir sollten es nicht tun.",
    "Non|, il ne faut pas le faire.",
    "No|, no deberíamos hacerlo.",
)


@pytest.mark.parametrize(
    ("text", "is_contradicted"), [*((text, True) for text in CONTRADICTIONS), *((text, False) for text in IN_LINE)]
)
def test_text_after_a_yes_or_no_may_contradict_it(text: str, *, is_contradicted: bool) -> None:
    word, _, rest = text.partition("|")
    side: Literal["YES", "NO"] = (
        "YES" if word in {"Yes", "Ja", "Oui", "Sí", "Sì", "Sim", "Tak", "Да", "是", "はい"} else "NO"
    )
    assert contradicts_side(fold(word + rest), len(word), side) == is_contradicted
    if is_contradicted:
        assert read_answer(word + rest, ASKED).certainty != "certain"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Absolutely not.", "no"),
        ("Absolutely not, it is risky.", "no"),
        ("I don't think so.", "no"),
        ("I say no.", "no"),
        ("It's a no from me.", "no"),
        ("There is no doubt: yes.", "yes"),
        ("Of course!", "yes"),
        ("Of course not.", "no"),
        ("Nope", "no"),
        ("Yeah.", "yes"),
        ("On balance, no.", "no"),
        ("In my opinion, yes.", "yes"),
        ("No because it's risky", "no"),
        ("No it is not worth it.", "no"),
        ("Yes because it's cheap", "yes"),
        ("Yes it is worth it.", "yes"),
        ("Meiner Meinung nach ja.", "yes"),
        ("Ja weil es billig ist", "yes"),
        ("Auf keinen Fall.", "no"),
        ("Bien sûr.", "yes"),
        ("Pas du tout.", "no"),
        ("Claro que no.", "no"),
        ("Secondo me, sì.", "yes"),
        ("Acho que não.", "no"),
        ("Конечно, нет.", "no"),
        ("我认为是。", "yes"),
        ("もちろんです。", "yes"),
    ],
)
def test_other_words_for_yes_and_no_are_read(text: str, value: str) -> None:
    reading = read_answer(text, ASKED)
    assert (reading.certainty, reading.value) == ("certain", value)


@pytest.mark.parametrize(
    "text",
    [
        "Certainly! Here is what I found.",
        "Sure, let me think.",
        "Of course, it depends.",
        "Absolutely not? Or yes?",
        "Absolutely not. The answer is yes.",
        "On balance, no, unless it is free.",
        "In my opinion, yes? Rain is wet.",
        "No it is worth it.",
        "Yes it is not worth it.",
        "I say no one knows.",
        "Absolutely not. Yes.",
        "On balance, no. But we should do it.",
    ],
)
def test_a_text_that_only_sounds_like_yes_or_no_is_not_read(text: str) -> None:
    assert read_answer(text, ASKED).certainty != "certain"
