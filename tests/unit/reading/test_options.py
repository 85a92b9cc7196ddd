"""Options: their labels are found, and each usual spelling of an option names it, and no other one."""

from __future__ import annotations

import re

import pytest

from roundtable.reading import Asked, own_labels, read_answer
from roundtable.reading.options import OptionTable, option_table

TABLE = OptionTable(("A) Lisbon", "B) Porto", "C) Lisbon airport"))


def chosen(text: str, *options: str, labels: tuple[str, ...] = ()) -> str | None:
    """Return the option that is read for certain."""
    reading = read_answer(text, Asked("choice", options, labels))
    return reading.value if reading.certainty == "certain" else None


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        pytest.param(("A) Lisbon", "B) Porto"), ("A", "B"), id="a bracket"),
        pytest.param(("(A) Lisbon", "(B) Porto"), ("A", "B"), id="two brackets"),
        pytest.param(("[A] Lisbon", "[B] Porto"), ("A", "B"), id="square brackets"),
        pytest.param(("A. Lisbon", "B. Porto"), ("A", "B"), id="points"),
        pytest.param(("A: Lisbon", "B: Porto"), ("A", "B"), id="colons"),
        pytest.param(("a) Lisbon", "b) Porto"), ("a", "b"), id="small letters"),
        pytest.param(("1) Lisbon", "2) Porto"), ("1", "2"), id="numbers"),
        pytest.param(("i) Lisbon", "ii) Porto", "iii) Faro"), ("i", "ii", "iii"), id="Roman numbers"),
        pytest.param(("① Lisbon", "② Porto"), ("①", "②"), id="circled numbers"),
        pytest.param(("A Lisbon", "B Porto"), ("A", "B"), id="letters of a series and a space"),
        pytest.param(("А) Лиссабон", "Б) Порту"), ("А", "Б"), id="Cyrillic letters"),
        pytest.param(("（Ａ）Lisbon", "（Ｂ）Porto"), ("A", "B"), id="full-width letters"),
        pytest.param(("甲 里斯本", "乙 波尔图"), ("甲", "乙"), id="Chinese signs"),
        pytest.param(("가 리스본", "나 포르투"), ("가", "나"), id="Korean syllables"),
        pytest.param(("A", "B", "C"), ("A", "B", "C"), id="labels alone"),
        pytest.param(("1", "2"), ("1", "2"), id="numbers alone"),
        pytest.param(("Yes", "No"), (), id="no labels"),
        pytest.param(("A) Lisbon", "Porto"), (), id="a label of one option alone"),
        pytest.param(("A) Lisbon", "A) Porto"), (), id="the same label twice"),
        pytest.param(("A) Lisbon", "a) Porto"), (), id="labels that differ in case alone"),
        pytest.param(("A cat", "I dog"), (), id="words that are letters, in no series"),
        pytest.param(("A) Lisbon",), (), id="a single option"),
        pytest.param((), (), id="no options"),
    ],
)
def test_the_labels_of_options_are_found(options: tuple[str, ...], labels: tuple[str, ...]) -> None:
    assert own_labels(options) == labels


@pytest.mark.parametrize(
    ("written", "option"),
    [
        ("Lisbon", "A) Lisbon"),
        ("lisbon", "A) Lisbon"),
        ("LISBON!", "A) Lisbon"),
        (" lisbon. ", "A) Lisbon"),
        ("'Lisbon'", "A) Lisbon"),
        ("«Lisbon»", "A) Lisbon"),
        ("(Lisbon)", "A) Lisbon"),
        ("[Lisbon]", "A) Lisbon"),
        ("Ａ", "A) Lisbon"),
        ("A) Lisbon", "A) Lisbon"),
        ("a) lisbon", "A) Lisbon"),
        ("A. Lisbon", None),
        ("Lisbon 🎉", "A) Lisbon"),
        ("Lisbon  airport", "C) Lisbon airport"),
        ("Lisbon air", None),
        ("D", None),
        ("", None),
    ],
)
def test_a_whole_text_is_an_option(written: str, option: str | None) -> None:
    assert TABLE.whole(written) == ((option,) if option else ())


@pytest.mark.parametrize(
    ("text", "words", "by"),
    [
        ("Lisbon, I think", "Lisbon", "text"),
        ("the Porto of old", "Porto", "text"),
        ("**Lisbon airport**", "Lisbon airport", "text"),
        ("Lisbon  Airport", "Lisbon  Airport", "text"),
        ("A, I think", "A", "label"),
        ("(B) it is", "(B)", "label"),
        ("b) it is", "b)", "label"),
        ("option B please", "B", "label"),
        ("letter b.", "b.", "label"),
        ("B) Porto", "B) Porto", "both"),
        ("B - Porto", "B - Porto", "both"),
        ("Option B: **Porto**", "B: **Porto", "both"),
        ("$\\text{B}$", "B", "label"),
        ("B is it", "B", "label"),
        ("A is it", "A", "label"),
        ("A cheaper town", None, None),
        ("Lisbonne", None, None),
        ("Lisbon's", None, None),
        ("Portofino", None, None),
        ("b is it", None, None),
        ("B2", None, None),
        ("B-side", "B", "label"),
        ("B's", None, None),
        ("D)", None, None),
        ("", None, None),
    ],
)
def test_a_part_begins_with_an_option(text: str, words: str | None, by: str | None) -> None:
    named = TABLE.leading(text, 0, len(text))
    assert (named and text[named.start : named.end], named and named.by) == (words, by)


def test_without_bare_labels_only_marked_ones_count() -> None:
    assert TABLE.leading("B is it", 0, 7, bare=False) is None
    named = TABLE.leading("(B) is it", 0, 9, bare=False)
    assert named is not None
    assert named.options == ("B) Porto",)


def test_a_label_with_the_text_of_another_option_is_both() -> None:
    for text in ("B) Lisbon", "B. Lisbon", "(B) Lisbon"):
        named = TABLE.leading(text, 0, len(text))
        assert named is not None
        assert named.options == ("B) Porto", "A) Lisbon")
    named = TABLE.leading("B, Lisbon is dear", 0, 17)
    assert named is not None
    assert named.options == ("B) Porto",)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Lisbon and Porto", ["A) Lisbon", "B) Porto"]),
        ("Porto, then Lisbon airport", ["B) Porto", "C) Lisbon airport"]),
        ("B) Porto beats (A)", ["B) Porto", "A) Lisbon"]),
        ("option B or A.", ["B) Porto", "A) Lisbon"]),
        ("A good day in B2 and Lisbonne", []),
        ("New-Porto", ["B) Porto"]),
        ("nothing", []),
    ],
)
def test_all_mentions_of_a_sentence_are_found_in_order(text: str, names: list[str]) -> None:
    assert [named.options[0] for named in TABLE.mentions(text, 0, len(text))] == names


def test_joined_options_are_noticed() -> None:
    for text in (" or Porto", ", B", " & (B)", "/B", " und Porto", " и Porto", "** or **Porto**"):
        assert TABLE.is_joined(text, 0, len(text)), text
    for text in (" or not", ", because", ".", " Porto", ""):
        assert not TABLE.is_joined(text, 0, len(text)), text


@pytest.mark.parametrize(
    ("options", "text", "option"),
    [
        pytest.param(("10 km", "20 km"), "The answer is 10km.", "10 km", id="a unit without a space"),
        pytest.param(("1,000", "2,000"), "The answer is 1000.", "1,000", id="thousands without a comma"),
        pytest.param(("1000", "2000"), "The answer is 1,000.", "1000", id="thousands with a comma"),
        pytest.param(("5%", "10%"), "The answer is 5 %.", "5%", id="a percentage with a space"),
        pytest.param(("1", "10"), "The answer is 10.", "10", id="a longer number"),
        pytest.param(("1", "10"), "The answer is 1.5.", None, id="another number"),
        pytest.param(("C", "C++", "C#"), "The answer is C++.", "C++", id="plus signs"),
        pytest.param(("C", "C++", "C#"), "The answer is C.", "C", id="without plus signs"),
        pytest.param(("C", "C++", "C#"), "The answer is C#.", "C#", id="a sharp"),
        pytest.param((".NET", "NET"), "The answer is .NET.", ".NET", id="a point before"),
        pytest.param(("CO", "Co"), "The answer is Co.", "Co", id="the case is the answer"),
        pytest.param(("CO", "Co"), "co", None, id="another case"),
        pytest.param(("Yes", "No"), "YES", "Yes", id="capitals"),
        pytest.param(("[0, 1]", "(0, 1)"), "(0, 1)", "(0, 1)", id="the brackets are the answer"),
        pytest.param(("里斯本", "波尔图"), "答案是里斯本。", "里斯本", id="a script without spaces"),
        pytest.param(("n!", "2^n"), "The answer is n!", "n!", id="an exclamation mark is the answer"),
        pytest.param(("Stop!", "Go!"), "The answer is stop.", "Stop!", id="an exclamation mark is not the answer"),
        pytest.param(("Lisbon", "Lisbon airport"), "The answer is Lisbon airport.", "Lisbon airport", id="the longer"),
        pytest.param(("A) B", "B) A"), "The answer is B", None, id="a label that is the text of another option"),
        pytest.param(("n", "n!"), "The answer is n.", "n", id="an exclamation mark tells options apart"),
        pytest.param(("n", "n!"), "The answer is n!", "n!", id="the exclamation mark at the end of a sentence"),
        pytest.param(("C", "C++"), "**C++**, because it is fast.", "C++", id="plus signs in bold"),
    ],
)
def test_options_are_distinguished_by_their_differences(
    options: tuple[str, ...], text: str, option: str | None
) -> None:
    assert chosen(text, *options) == option


def test_labels_of_the_question_count_like_labels_of_the_options() -> None:
    assert chosen("The answer is B.", "Lisbon", "Porto", labels=("A", "B")) == "Porto"
    assert chosen("(2)", "Lisbon", "Porto", labels=("1", "2")) == "Porto"
    assert chosen("B) Lisbon", "Lisbon", "Porto", labels=("A", "B")) is None
    assert chosen("B", "A", "B", labels=("B", "A")) in {None, "B"}


def test_a_text_that_is_also_the_label_of_another_option_is_taken_by_its_spelling() -> None:
    assert OptionTable(("A", "B"), ("B", "A")).whole("A") == ("A",)
    assert OptionTable(("4", "5"), ("5", "6")).whole("5") == ("5",)


def test_an_option_that_is_also_the_text_of_another_one_is_taken_by_its_spelling() -> None:
    assert OptionTable(("A) x", "B) A) x")).whole("A) x") == ("A) x",)


def test_the_text_of_an_option_takes_precedence_over_a_label_at_its_start() -> None:
    table = OptionTable(("B thing", "Q thing"), ("A", "B"))
    named = table.leading("B thing", 0, 7)
    assert named is not None
    assert (named.options, named.by) == (("B thing",), "text")


def test_tables_are_kept_for_the_next_text() -> None:
    assert option_table(("a", "b")) is option_table(("a", "b"))


@pytest.mark.slow
def test_a_thousand_options_are_all_known() -> None:
    options = tuple(f"dish {number}" for number in range(1_000))
    assert chosen("The answer is dish 777.", *options) == "dish 777"
    assert chosen("dish 999", *options) == "dish 999"
    assert chosen("The answer is dish 1777.", *options) is None


MANY = (*(f"City {number}" for number in range(2_000)), "New York, NY", "C++", "St. John's", "Rio")


@pytest.mark.parametrize(
    "text",
    [
        "City 15: it is near.",
        "I choose City 1999 because of it.",
        "The answer is C++.",
        "New York, NY is my choice.",
        "St. John's, since it's cold.",
        "City 1 is bad; the answer is City 12.",
        "**City 7**",
        "Rio",
        "The answer is City 20001.",
        "Neither Rio nor City 3.",
    ],
)
def test_an_option_is_read_among_thousands_as_among_a_few(text: str) -> None:
    assert chosen(text, *MANY) == chosen(text, *MANY[:200], *MANY[1_990:])


def test_few_patterns_are_compiled_for_thousands_of_options(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    real = re.compile
    monkeypatch.setattr(re, "compile", lambda *args: compiled.append(args) or real(*args))
    options = tuple(f"place {number}" for number in range(5_000))
    assert chosen("I'd go with place 4321: it is near.", *options) == "place 4321"
    assert len(compiled) < 500
