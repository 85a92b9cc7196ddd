"""Which object of a text counts, and what of it."""

from __future__ import annotations

import json

import pytest

from roundtable.parsing import Document, find_document
from roundtable.types import JsonObject


def position_in(text: str) -> Document | None:
    return find_document(text, lambda fields: "position" in fields)


def fields_in(text: str) -> JsonObject | None:
    found = position_in(text)
    return None if found is None else found.fields


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"position": "Yes"}', id="bare"),
        pytest.param('Sure, here you go: {"position": "Yes"} I hope that helps!', id="in prose"),
        pytest.param('```json\n{"position": "Yes"}\n```', id="fenced"),
        pytest.param('Use {braces} and {0} and {{"position": "Yes"}}', id="braces around"),
        pytest.param('f() { return 1; } {"position": "Yes"}', id="code before"),
        pytest.param('\\frac{a}{b} so {"position": "Yes"} in {x: y}', id="formula before"),
        pytest.param('{"position": "Yes"} {"note": "mine"}', id="foreign object behind"),
        pytest.param('{"position": "Yes"} {"note": "cut', id="foreign object cut off behind"),
        pytest.param('{"position": "No"}\n{"position": "Yes"}', id="two answers"),
        pytest.param('He said {"x and left. {"position": "Yes"}', id="stray quote before"),
        pytest.param('{"a" {"b" {"position": "Yes"}', id="starts that are none"),
        pytest.param('{"position": "No", "position": "Yes"}', id="name given twice"),
        pytest.param('{"position": "Yes",}', id="trailing comma"),
        pytest.param("{'position': 'Yes'}", id="single quotes"),
        pytest.param("{\u201cposition\u201d: \u201cYes\u201d}", id="typographic quotes"),
        pytest.param("{\u201cposition\u201d \u201cYes\u201d}", id="typographic quotes without a colon"),
        pytest.param('{position: "Yes"}', id="bare name"),
        pytest.param('{"position": "Yes" // sure\n}', id="comment"),
        pytest.param("{'position': 'No'} then {'position': 'Yes'}", id="two answers with slips"),
        pytest.param('{"position": "Yes"} and not {position: No}', id="valid before slips"),
        pytest.param('\ufeff{"position": "Yes"}\x00', id="marks around"),
    ],
)
def test_the_last_object_of_the_wanted_shape_counts(text: str) -> None:
    assert fields_in(text) == {"position": "Yes"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("Yes, I think so.", id="prose"),
        pytest.param('{"keyPoints": [{"position": "Yes"}]}', id="within a foreign object"),
        pytest.param('{"note": "he said {\\"position\\": \\"Yes\\"}"}', id="within a foreign text"),
        pytest.param('["position"]', id="list"),
        pytest.param('{"position"}', id="name without a value"),
        pytest.param("{x}", id="no object"),
        pytest.param("{" * 100_000, id="open braces"),
        pytest.param('{"```json```{}, "position": 1}', id="repair trips over itself"),
        pytest.param("{}" * 110_000 + '{"position": "Yes"}', id="too many objects"),
        pytest.param('{"a":' * 20_000 + "1" + "}" * 20_000, id="too deep"),
        pytest.param("{'a':" * 5_000 + "1" + "}" * 5_000, id="too deep with slips"),
        pytest.param("{'position': " + "[" * 100 + "]" * 100 + "}", id="too many brackets to repair"),
        pytest.param('{"position": "a\nb", 5: "c', id="line break and no JSON"),
        pytest.param("{'position': '" + "x" * 40_000 + "'}", id="too long to repair"),
        pytest.param("{" + "".join(f"'k{n}': 1, " for n in range(100)) + "'position': 'x'}", id="too many members"),
    ],
)
def test_other_texts_give_no_answer(text: str) -> None:
    assert position_in(text) is None


@pytest.mark.parametrize(
    ("text", "fields", "partial"),
    [
        pytest.param('{"position": "Yes", "reasoning": "Becau', {"reasoning": "Becau"}, {"reasoning"}, id="text"),
        pytest.param('{"position": "Yes", "reasoning": "a\\', {"reasoning": "a"}, {"reasoning"}, id="escape"),
        pytest.param('{"position": "Yes", "reaso', {}, set(), id="name"),
        pytest.param('{"position": "Yes", "reasoning":', {}, set(), id="colon"),
        pytest.param('{"position": "Yes",', {}, set(), id="comma"),
        pytest.param('{"position": "Yes"', {}, set(), id="end brace"),
        pytest.param('{"position": "Yes", "confidence": 0.8', {"confidence": None}, {"confidence"}, id="number"),
        pytest.param('{"position": "Yes", "confidence": 0.8 ', {"confidence": 0.8}, set(), id="number with a space"),
        pytest.param('{"position": "Yes", "sure": true', {"sure": True}, set(), id="literal"),
        pytest.param('{"position": "Yes", "list": ["a", "b', {"list": None}, {"list"}, id="list"),
        pytest.param('{"position": "Yes", "list": ["a", "b"]', {"list": ["a", "b"]}, set(), id="whole list"),
        pytest.param('{"position": "Yes", "o": {"a": 1, "b": 2', {"o": {"a": 1}}, {"o"}, id="object"),
        pytest.param('{"position": "Yes", "r": "a\nb c', {"r": "a b c"}, {"r"}, id="line break within"),
        pytest.param('{"position": "Yes", "r": "a\nb", "s": "x\\ud8', {"r": "a b", "s": "x"}, {"s"}, id="half escape"),
    ],
)
def test_complete_members_of_a_truncated_object_count_and_the_cut_one_is_marked(
    text: str, fields: JsonObject, partial: set[str]
) -> None:
    found = position_in("Well: " + text)
    assert found is not None
    assert found.fields == {"position": "Yes", **fields}
    assert found.partial == partial
    assert (found.truncated, found.repaired) == (True, True)
    assert found.span == (6, 6 + len(text))


def test_an_object_cut_off_at_the_end_counts_before_whole_ones() -> None:
    found = position_in('Bo said {"position": "No"}. I say {"position": "Yes", "reasoning": "Beca')
    assert found is not None
    assert found.fields["position"] == "Yes"


def test_inner_objects_of_a_truncated_object_are_not_answers() -> None:
    found = position_in('{"position": "Mine", "quoted": {"position": "Theirs"}, "reasoning": "and')
    assert found is not None
    assert found.fields == {"position": "Mine", "quoted": {"position": "Theirs"}, "reasoning": "and"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{'position': 'a } b', 'confidence': 1}", id="brace within single quotes"),
        pytest.param('{"position": yes, I agree, "confidence": 1}', id="no quotes"),
        pytest.param('{"position": `a b`}', id="wrong quotes"),
        pytest.param('{"position": "abc}', id="end quote missing"),
        pytest.param('{"position": "half way, "confidence": "1"}', id="end quote missing before a member"),
    ],
)
def test_a_repaired_text_without_a_certain_end_is_partial(text: str) -> None:
    found = position_in(text)
    assert found is None or "position" in found.partial


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ('{"position": "He said "no" to it", "confidence": 0.4,}', 'He said "no" to it'),
        ('{"position": "a \\"b\\" c", "x": 1,}', 'a "b" c'),
        ("{'position': 'It's good', 'confidence': 0.5}", "It's good"),
        ('{"position": "yes" "confidence": 0.5}', "yes"),
        ('{"position": "line\nbreak"}', "line\nbreak"),
        ('{"position": "tab\tin"}', "tab\tin"),
    ],
)
def test_small_mistakes_are_repaired_if_the_meaning_is_clear(text: str, position: str) -> None:
    found = position_in(text)
    assert found is not None
    assert (found.fields["position"], found.partial) == (position, frozenset())


def test_numbers_are_finite_and_texts_are_well_formed() -> None:
    text = (
        '{"position": "\\ud83d\\ude00 \\ud800", "\\udc00": 1, "nan": NaN, "inf": -Infinity, "big": 1e999, '
        f'"long": {"9" * 5000}, "list": [1e999, "\\udfff"], "o": {{"\\ud800": 1.5}}, "fine": {"9" * 300}}}'
    )
    assert fields_in(text) == {
        "position": "\U0001f600 \ufffd",
        "\ufffd": 1,
        "nan": None,
        "inf": None,
        "big": None,
        "long": None,
        "list": [None, "\ufffd"],
        "o": {"\ufffd": 1.5},
        "fine": int("9" * 300),
    }


def test_numbers_are_finite_after_a_repair_and_in_a_cut_object_too() -> None:
    big = f'"big": {"9" * 400}, "huge": {"9" * 4200}, "float": 1e999, "list": [{"8" * 400}]'
    for text in (f'{{"position": "x", {big},}}', f'{{"position": "x", {big}, "r": "cut'):
        fields = fields_in(text)
        assert fields is not None
        assert not any(isinstance(value, int | float) for value in [*fields.values(), *fields["list"]])


def test_only_the_first_megabyte_is_looked_at() -> None:
    answer = '{"position": "late"}'
    assert position_in(" " * (1_048_576 - len(answer)) + answer) is not None
    assert position_in(" " * 1_048_576 + answer) is None


@pytest.mark.parametrize(("starts", "found"), [(7, True), (20, False), (21, True)])
def test_a_text_with_many_false_starts_is_abandoned(starts: int, found: bool) -> None:
    assert (position_in('{"x ' * starts + '{"position": "Yes"}') is not None) is found


def test_only_the_last_objects_are_looked_at() -> None:
    small = json.dumps({"a": 1})
    assert position_in('{"position": "x"}' + small * 255) is not None
    assert position_in('{"position": "x"}' + small * 256) is None
