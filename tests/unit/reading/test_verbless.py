"""Sentences of Russian and Arabic without a verb, and praise in Turkish and Hindi."""

from __future__ import annotations

import pytest

from roundtable.parsing import read_reply
from roundtable.reading import Asked

CITIES = {
    "ru": ("Москва", "Казань", "Сочи"),
    "ar": ("أبوظبي", "دبي", "الشارقة"),
    "hi": ("दिल्ली", "मुंबई", "गोवा"),
    "latin": ("Lisbon", "Porto", "Faro"),
}


def chosen(language: str, text: str) -> str | None:
    """Return the city that a reply certainly chooses."""
    reading = read_reply(text, Asked("choice", CITIES[language]))
    return reading.value if reading.certainty == "certain" else None


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ru", "Казань — плохой выбор."),
        ("ru", "Казань — худший вариант."),
        ("ru", "Казань — это ошибка."),
        ("ru", "Казань — плохая идея."),
        ("ru", "Москва — дорогой город."),
        ("ru", "Москва — столица."),
        ("ru", "Москва — это дорого."),
        ("ru", "Казань — один из вариантов."),
        ("ru", "Казань — запасной вариант."),
        ("ru", "Казань — хороший выбор."),
        ("ru", "Казань — мой второй выбор."),
        ("ru", "Казань – плохой выбор."),
        ("ru", "Казань - плохой выбор."),
        ("ru", "Казань, это плохой выбор."),
        ("ru", "Казань: плохой выбор."),
        ("ru", "**Казань** — плохой выбор."),
        ("ru", "Я думаю, **Казань** — плохой выбор."),
        ("ru", "Казань — лучший выбор, но дорого."),
        ("ru", "Казань — лучший выбор для студентов."),
        ("ru", "По мнению Анны, Казань — лучший выбор."),
        ("ru", "Многие считают, что Казань — лучший выбор."),
        ("ru", "Если дёшево, Казань — лучший выбор."),
        ("ru", "Анна: Казань — лучший выбор."),
        ("ru", "Лучше всего Казань подходит туристам."),
        ("ru", "Лучше всего Казань или Москва."),
        ("latin", "Porto — плохой выбор."),
        ("ar", "لا أعتقد أن دبي هي الخيار الأفضل."),
        ("ar", "يعتقد كثيرون أن دبي هي الخيار الأفضل."),
        ("ar", "بالنسبة للسياح دبي هي الخيار الأفضل."),
        ("ar", "دبي هي الخيار الأفضل للسياح."),
        ("ar", "أسوأ خيار هو دبي."),
        ("ar", "أبوظبي ودبي هي الأفضل."),
        ("ar", "دبي: خيار سيئ."),
        ("latin", "Porto en iyi seçenek değil."),
        ("latin", "En iyi seçenek Porto mu?"),
        ("latin", "Ali'ye göre Porto en iyi seçenek."),
        ("latin", "Lisbon ve Porto en iyi seçenek."),
        ("latin", "Porto: kötü bir seçim."),
        ("hi", "मुंबई सबसे अच्छा विकल्प नहीं है।"),
        ("hi", "राम के लिए मुंबई सबसे अच्छा विकल्प है।"),
        ("hi", "मुंबई: खराब विकल्प।"),
    ],
)
def test_a_description_is_not_a_choice(language: str, text: str) -> None:
    assert chosen(language, text) is None


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ru", "Казань — лучший выбор."),
        ("ru", "Казань — это лучший выбор."),
        ("ru", "Казань — самый лучший вариант."),
        ("ru", "Казань — лучший вариант для нашей конференции."),
        ("ru", "Казань — мой выбор."),
        ("ru", "Казань - правильный ответ."),
        ("ru", "Казань — потому что дешевле."),
        ("ru", "Мой ответ: Казань — там дешевле."),
        ("ru", "Я выбираю Казань — там дешевле."),
        ("ru", "Лучший выбор — Казань."),
        ("ru", "Лучше всего Казань."),
        ("ru", "Я считаю, что Казань — лучший выбор."),
        ("ru", "Думаю, Казань — оптимальный вариант."),
        ("ru", "Москва — дорогой город, а Казань — лучший выбор."),
        ("ar", "دبي هي الخيار الأفضل."),
        ("ar", "أعتقد أن دبي هي الأفضل."),
        ("ar", "أفضل خيار هو دبي."),
        ("hi", "मुंबई सबसे अच्छा विकल्प है।"),
        ("latin", "En iyi seçenek Porto."),
        ("latin", "Porto en iyi seçenek."),
        ("latin", "Bence Porto en iyi seçenek."),
    ],
)
def test_praise_without_a_verb_is_read(language: str, text: str) -> None:
    assert chosen(language, text) == CITIES[language][1]


@pytest.mark.parametrize(("text", "wanted"), [("Да — это безопасно.", "Да"), ("Нет — это опасно.", "Нет")])
def test_a_dash_after_yes_or_no_leads_to_a_reason(text: str, wanted: str) -> None:
    assert read_reply(text, Asked("choice", ("Да", "Нет"))).value == wanted
