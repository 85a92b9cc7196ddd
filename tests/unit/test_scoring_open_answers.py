"""Which open answers are equal for certain, which contradict each other, which abstain."""

from __future__ import annotations

from fractions import Fraction

import pytest

from roundtable.scoring.open_answers import Amount, amount_of, contradict, is_abstention, open_key, yes_or_no

EQUAL = [
    ("Lisbon", " lisbon. "),
    ("Lisbon", "“Lisbon”"),
    ("Lisbon", "(Lisbon)"),
    ("Lisbon", "**Lisbon**"),
    ("Lisbon", "Ｌｉｓｂｏｎ"),
    ("Straße", "STRAẞE"),
    ("Lisbon", "***Lisbon***"),
    ("don't", "don’t"),
    ("42", "42.0"),
    ("42", "+42."),
    ("1,000", "1000"),
    ("1,234,567 people", "1234567  people"),
    ("5 km", "5km"),
    (".5", "0.50"),
    ("−3 °C", "-3 °C"),
    ("[Lisbon, Porto]", "Lisbon, Porto"),
    ("2.50-2.75", "2.5-2.75"),
    ("1.10.2024.", "“1.10.2024”"),
    ("$1,000", "$1000"),
    ("Yes", "Ja."),
    ("Yes", "YES!"),
    ("yes", "¡Sí!"),
    ("no", "No!"),
    ("true", "对"),
    ("False", "不对。"),
    ("LISBON", "Lisbon"),
    ("BUENOS AIRES", "Buenos Aires"),
    ("NEW YORK", "New York"),
    ("USE A MONOLITH", "Use a monolith"),
    ("THE ANSWER IS LISBON", "the answer is lisbon"),
    ("The answer is Lisbon", "the answer is lisbon."),
    ("It is so. It is Porto", "it is so. it is porto"),
    ("A long walk", "a long walk"),
    ("L'Amour", "l'amour"),
    ("The EU", "the EU"),
    ("Type O", "type O"),
    ("Only 50% of them", "only 50% of them"),
    ("Carbon-14", "carbon-14"),
    ("The Lord Of The Rings", "the lord of the rings"),
    ("Красный дом", "красный дом"),
    ("ΛΙΣΑΒΟΝΑ", "λισαβονα"),
    ("[the red house]", "(the red house)"),
    ("（東京）", "東京"),
    ("लिस्बन।", "लिस्बन"),
    ("ls -l", "```\nls -l\n```"),
    ("`42.0`", "42"),
    ("`Yes`", "yes"),
    ("-5", "–5"),
    ("-5", "－5"),
    ("−$5", "-$5"),
    ("from ﹣5", "from -5"),
    ("42", "४२"),
    ("٣٫٥ كم", "3.5 كم"),
    ("1\u202f000", "1000"),
    ("50 µm", "50 μm"),
    ("Oui", "да"),
    ("No", "nein"),
    ("はい", "yes"),
    ("36", "\\boxed{36}"),
    ("36", "$$\n\\boxed{36}\n$$"),
    ("-36", "\\( -36 \\)."),
    ("1,000", "$1000$"),
    ("Lisbon", "**\\boxed{\\text{Lisbon}}**"),
]
UNEQUAL = [
    ("AA", "Aa"),
    ("Aa", "aa"),
    ("Aabb", "aabb"),
    ("AABBCC", "aabbcc"),
    ("CO", "Co"),
    ("HCOOH", "Hcooh"),
    ("CO EMISSIONS", "Co emissions"),
    ("AA GENOTYPE", "aa genotype"),
    ("HCN GAS", "hcn gas"),
    ("Element Co", "element co"),
    ("US", "us"),
    ("AIDS", "aids"),
    ("NO", "No"),
    ("Si", "Yes"),
    ("Ne", "No"),
    ("pH", "PH"),
    ("MeV", "meV"),
    ("kB", "KB"),
    ("Mbps", "mbps"),
    ("Mbar", "mbar"),
    ("5 Cal", "5 cal"),
    ("5 MeV", "5 meV"),
    ("about 5 Mm", "about 5 mm"),
    ("Cal", "cal"),
    ("git branch -d", "git branch -D"),
    ("\\d", "\\D"),
    ("Nf3", "nf3"),
    ("README", "readme"),
    ("String", "string"),
    ("camelCase", "camelcase"),
    ("Main.java", "main.java"),
    ("AT&T", "at&t"),
    ("Polish", "polish"),
    ("BASIC", "basic"),
    ("`Lisbon`", "`lisbon`"),
    ("`-d`", "`-D`"),
    ("x", "X"),
    ("DON'T", "don't"),
    ("!true", "true"),
    ("f'", "f"),
    (".NET", "NET"),
    ("~x", "x"),
    ("$x", "x"),
    ("5'", '5"'),
    ("[1]", "1"),
    ("(1,000)", "1000"),
    ("(a, b)", "[a, b]"),
    ("{a}", "a"),
    ("{tea}", "tea"),
    ("[NaCl]", "NaCl"),
    ("(the EU)", "the EU"),
    ("(it is)", "it is"),
    ("5−3", "5-3"),
    ("+10%", "10%"),
    ("10 100", "10100"),
    ("Maße", "Masse"),
    ("$5", "$5$"),
    ("$name$", "name"),
    ("\\mathbf{x}", "x"),
    ("\\boxed{A} or \\boxed{B}", "A} or \\boxed{B"),
    ("$5$ or $6$", "5$ or $6"),
    ("\\boxed{(0, 1)}", "[0, 1]"),
    ("\\[0, 1\\]", "\\(0, 1\\)"),
    ("Straße", "STRASSE"),
    ("10²", "102"),
    ("A*", "A"),
    ("O-", "O"),
    ("C++", "C"),
    ("№ 5", "No 5"),
    ("x₂", "x2"),
    ("5 mW", "5 MW"),
    ("1.000", "1"),
    ("1.000", "1000"),
    ("1/2", "0.5"),
    ("50%", "0.5"),
    ("2/4", "1/2"),
    ("1,00", "100"),
    ("1,5", "1.5"),
    ("12,34,567", "1234567"),
    ("(a) or (b)", "a) or (b"),
    ("Yes, if it rains", "Yes"),
    ("Lisbon...", "Lisbon"),
    ("**bold** and **bold**", "bold** and **bold"),
    ("((a)", "(a"),
    ("__init__", "init"),
    ("_private_", "private"),
    ("- 42", "-42"),
    ("x...。", "x"),
    ("1.10.2024", "1.1.2024"),
    ("3.10.0", "3.1.0"),
    ("10.10.0.1", "10.1.0.1"),
    ("3.10-beta", "3.1-beta"),
    ("3.10.x", "3.1.x"),
    ("0,125", "125"),
    ("1,2345", "1234 5"),
    ("(0, 1)", "[0, 1]"),
    ("{1; 2}", "1; 2"),
    ("[0,100]", "(0,100)"),
]


@pytest.mark.parametrize("layers", [100, 20_000])
@pytest.mark.parametrize(("before", "after"), [("(", ")"), ("\\boxed{", "}"), ('"', '"')])
def test_very_many_layers_are_kept_and_take_linear_time(before: str, after: str, layers: int) -> None:
    assert open_key(f"{before * 20}tea{after * 20}") == "tea"
    text = f"{before * layers}tea{after * layers}"
    assert open_key(text) == text


def test_a_number_in_a_formula_contradicts_another_number() -> None:
    assert contradict(r"\boxed{36}", "37")
    assert not contradict(r"\boxed{36}", "36.0")


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_irrelevant_differences_are_ignored(one: str, other: str) -> None:
    assert open_key(one) == open_key(other)
    assert not contradict(one, other)


@pytest.mark.parametrize(("one", "other"), UNEQUAL)
def test_meaningful_signs_and_numbers_are_kept(one: str, other: str) -> None:
    assert open_key(one) != open_key(other)


@pytest.mark.parametrize(("text", "key"), [("-0.0", "0"), ("0.50", "0.5"), ("-.5", "-0.5"), ("-2", "-2")])
def test_only_numbers_below_zero_keep_their_sign(text: str, key: str) -> None:
    assert open_key(text) == key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("42", "43"),
        ("5 km", "6 km"),
        ("$5", "$6"),
        ("yes", "No."),
        ("-1", "1"),
        ("0.1 kg", "0.2 kg"),
        ("5%", "6 %"),
        ("5/h", "6/h"),
        ("True", "no"),
        ("对", "不对"),
        ("No!", "Yes"),
        ("YES", "NO"),
        ("1,234", "1,235"),
        ("3.14", "3.1516"),
        ("40000", "40500"),  # 40,500 is rounded up
        ("3.2", "3.14"),
        ("300,000", "299,000"),
        ("12,000", "17,000"),
        ("1,000", "1,001"),
        ("٥", "6"),
    ],
)
def test_numbers_of_one_unit_and_yes_against_no_contradict_each_other(one: str, other: str) -> None:
    assert contradict(one, other)
    assert contradict(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 km", "5 miles"),
        ("5 mW", "6 MW"),
        ("Lisbon", "Porto"),
        ("10 to 20 people", "15 to 20 people"),
        ("2020-01-02", "2021-01-02"),
        ("5 of the six old bridges", "6 of the six old bridges"),
        ("10²", "11²"),
        ("yes", "maybe"),
        ("42", "forty-two"),
        ("5 or more", "6 or more"),
        ("2 to three", "1 to three"),
        ("- 42", "42"),
        ("0,125", "0.125"),
        ("1)Lisbon", "2)Lisbon"),
        ("1.Lisbon", "2.Lisbon"),
        ("0!", "1!"),
        ("3.14", "3.14159"),
        ("41000", "40500"),
        ("3.1", "3.14"),
        ("3", "3.14"),
        ("-2.7", "-2.72"),
        ("2.71", "2.718281"),
        ("300,000 km/s", "299,792.458 km/s"),
        ("33%", "33.3%"),
        ("12,000", "12,345"),
    ],
)
def test_any_other_difference_is_not_a_contradiction(one: str, other: str) -> None:
    assert not contradict(one, other)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1,250.5 km", Amount(Fraction(2501, 2), "km")),
        ("€ 7", Amount(Fraction(7), "€")),
        ("0.125", Amount(Fraction(1, 8), "")),
        ("3.1416", Amount(Fraction(31416, 10000), "")),
        ("3.142", None),
        ("1.0010", None),
        ("01.001A", None),
        ("10,00", None),
        ("0,125", None),
        ("1,2345", None),
        ("1.10.2024", None),
        ("-", None),
        ("", None),
        ("a 5", None),
        ("٣", Amount(Fraction(3), "")),
        ("³", None),
    ],
)
def test_the_number_at_the_start_of_an_answer_is_read(text: str, amount: Amount | None) -> None:
    assert amount_of(text) == amount


@pytest.mark.parametrize(
    "text",
    [
        "ABSTAIN",
        "abstain.",
        "I don’t know",
        "Keine Ahnung.",
        "わかりません。",
        "“Not sure”",
        "I don't know...",
        "Not sure…",
    ],
)
def test_a_whole_answer_may_abstain(text: str) -> None:
    assert is_abstention(text)


@pytest.mark.parametrize("text", ["I don't know Lisbon", "abstaining is wrong", "No", "", "..."])
def test_a_part_of_an_answer_does_not_abstain(text: str) -> None:
    assert not is_abstention(text)
    assert yes_or_no(text) == ("NO" if text == "No" else None)


@pytest.mark.parametrize("text", [".", "...", "“”", "()", "**", "''", "****", " "])
def test_a_text_of_only_signs_is_unchanged(text: str) -> None:
    assert open_key(text) == text.strip()


def test_numbers_in_names_do_not_separate_answers() -> None:
    assert not contradict("5-HT", "6-HT")
    assert contradict("5 km", "6 km")


@pytest.mark.parametrize(
    "text", ["I dont know", "I don’t know!", "Vet ikke", "En tiedä.", "לא יודע", "Enthaltung", "N/A"]
)
def test_more_phrases_abstain_but_possible_answers_do_not(text: str) -> None:
    assert is_abstention(text) is (text != "N/A")


@pytest.mark.parametrize(("text", "alike"), [('"a"', "a"), ("\u201ctea\u201d", "tea"), ("'ab'", "ab")])
def test_quotation_marks_around_a_whole_answer_do_not_count(text: str, alike: str) -> None:
    assert open_key(text) == open_key(alike)


def test_a_quotation_mark_on_one_side_belongs_to_the_answer() -> None:
    assert open_key('the "Ada"') != open_key('he "Ada')
