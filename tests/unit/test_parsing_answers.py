"""From text to the answer asked for: the rows P36 to P45 of the fault table, and the rules in words."""

from __future__ import annotations

import json
import math

import pytest

from roundtable.core.types.debate import ASSUMED_CONFIDENCE
from roundtable.parsing import Parsed, ParseFailure, parse_answer, parse_prose
from roundtable.types import AnswerKind, JsonValue

OPTIONS = ("Yes (with conditions)", "No", "C++", "C#", "-5", "5", "50%", "Straße")


def read(text: str, kind: AnswerKind = "position", **asked: object) -> Parsed:
    parsed = parse_answer(text, kind, **asked)  # type: ignore[arg-type]  # handed on as they are
    assert isinstance(parsed, Parsed), parsed
    return parsed


def refused(text: str, kind: AnswerKind = "position", **asked: object) -> ParseFailure:
    failure = parse_answer(text, kind, **asked)  # type: ignore[arg-type]  # handed on as they are
    assert isinstance(failure, ParseFailure), failure
    return failure


def with_confidence(value: str, scale: int = 1) -> Parsed:
    return read(f'{{"position": "Yes", "confidence": {value}}}', confidence_scale=scale)


def test_a_whole_answer_is_read_whole() -> None:
    said = {"position": " Yes ", "reasoning": " It is.\n", "confidence": 0.8, "stance": "yes"}
    assert read(json.dumps(said)) == Parsed(position="Yes", reasoning="It is.", confidence=0.8, stance="YES")


@pytest.mark.parametrize(
    ("value", "scale", "expected"),
    [
        ("0", 1, 0.0),
        ("-0.0", 1, 0.0),
        ("1", 1, 1.0),
        ("0.85", 1, 0.85),
        ('"0.85"', 1, 0.85),
        ('" .5 "', 1, 0.5),
        ('"85%"', 1, 0.85),
        ('"85 %"', 100, 0.85),
        ("85", 100, 0.85),
        ("0", 100, 0.0),
        ("100", 100, 1.0),
        ('"1e-1"', 1, 0.1),
    ],
)
def test_a_confidence_is_read_on_its_scale(value: str, scale: int, expected: float) -> None:
    parsed = with_confidence(value, scale)
    assert parsed.confidence == pytest.approx(expected)
    assert math.copysign(1, parsed.confidence) == 1
    assert parsed.warnings == ()


@pytest.mark.parametrize(
    "value",
    [
        *("NaN", "Infinity", "-Infinity", "1e999", "null", "true", "[]", "{}", '"high"', '"NaN"', '"1e999"', '""'),
        *('"1_0"', '"%"', '"0.8 of 1"', "9" * 400),
    ],
)
def test_a_confidence_that_is_not_a_finite_number_is_one_half_with_a_warning(value: str) -> None:
    parsed = with_confidence(value)
    assert parsed.confidence == 0.5
    assert parsed.warnings == ("no usable confidence was given; 0.5 is assumed",)


def test_a_missing_confidence_is_one_half_with_a_warning() -> None:
    assert read('{"position": "Yes"}').warnings == ("no usable confidence was given; 0.5 is assumed",)


@pytest.mark.parametrize(
    ("value", "scale", "expected"),
    [("-3", 1, 0.0), ("87", 1, 1.0), ("1.0001", 1, 1.0), ("9" * 300, 1, 1.0), ("101", 100, 1.0), ('"-1%"', 1, 0.0)],
)
def test_a_confidence_beyond_its_scale_moves_to_the_nearest_end_with_a_warning(
    value: str, scale: int, expected: float
) -> None:
    parsed = with_confidence(value, scale)
    assert parsed.confidence == expected
    assert "moved to the nearest end" in parsed.warnings[0]


@pytest.mark.parametrize(
    ("stance", "expected"),
    [
        *(('"YES"', "YES"), ('" no "', "NO"), ('"Neutral"', "NEUTRAL"), ('"No!"', "NO"), ('"**Yes**."', "YES")),
        *(('"maybe"', None), ("null", None), ("1", None), ('"Yes, but"', None), ('"YES or NO"', None)),
    ],
)
def test_a_stance_is_one_of_three_or_none(stance: str, expected: str | None) -> None:
    assert read(f'{{"position": "p", "stance": {stance}}}').stance == expected


@pytest.mark.parametrize("text", ["", " \n\t ", "\u2028"])
def test_an_empty_answer_is_called_empty(text: str) -> None:
    assert refused(text).reason == "the answer was empty"
    assert refused(text, "text").reason == "the answer was empty"


@pytest.mark.parametrize(
    "value", ['""', '"  "', "null", "true", "NaN", "Infinity", "[]", '["A", "B"]', '{"city": "A"}']
)
def test_a_position_without_text_is_refused(value: str) -> None:
    text = f'{{"position": {value}, "reasoning": "because"}}'
    assert refused(f"Well, {text}").span == (6, 6 + len(text))


@pytest.mark.parametrize("value", ['{"answer": "Yes"}', '["Yes"]', '{"text": " Yes "}', '{"final_answer": ["Yes"]}'])
def test_a_position_of_one_text_is_that_text(value: str) -> None:
    assert read(f'{{"position": {value}}}').position == "Yes"


def test_a_position_with_only_reasons_counts_as_given() -> None:
    failure = refused('{"position": "", "reasoning": "It is Canberra."}')
    assert failure.words == "It is Canberra."
    assert failure.reading is not None
    assert failure.reading.certainty == "unread"
    assert refused('{"position": ""}').reading is None


@pytest.mark.parametrize("text", ["null", " `null`. ", "[]", "{}", "NULL"])
def test_an_empty_text_is_not_an_answer(text: str) -> None:
    assert refused(text).reading is None
    assert isinstance(parse_prose(text), ParseFailure)
    assert read("null", options=["null", "7"]).choice == "null"


def test_a_list_of_one_is_its_text() -> None:
    prose = parse_prose('["Canberra"]')
    assert isinstance(prose, Parsed)
    assert prose.position == "Canberra"
    assert isinstance(parse_prose('["Canberra", "Sydney"]'), ParseFailure)


def test_reasoning_alone_is_not_an_answer() -> None:
    assert refused('{"reasoning": "because"}').reason == 'no JSON object with "position" was found'


def test_a_truncated_position_is_never_accepted() -> None:
    failure = refused('{"position": "We should certainly not')
    assert failure.reason == '"position" is cut off or not quoted properly'
    assert failure.span == (0, 37)


def test_a_truncated_position_is_not_replaced_by_a_quoted_one() -> None:
    refused('Bo said {"position": "No"}. I say {"position": "We should')


def test_a_cut_reasoning_keeps_its_position_and_says_so() -> None:
    parsed = read('{"position": "Yes", "reasoning": "Becau')
    assert (parsed.position, parsed.reasoning, parsed.truncated, parsed.repaired) == ("Yes", "Becau", True, True)


@pytest.mark.parametrize(
    ("written", "confidence"), [("90%", 0.9), ("90 %", 0.9), ("1%", 0.01), ("0.5%", 0.005), ("100%", 1.0)]
)
def test_a_percentage_without_quotes_is_read_as_one(written: str, confidence: float) -> None:
    for text in (
        f'{{"position": "It rose: 5%, or more", "confidence": {written}, "stance": "YES"}}',
        f"{{'position': 'It rose: 5%, or more', 'stance': 'YES', 'confidence': {written}}}",
    ):
        assert read(text) == Parsed(position="It rose: 5%, or more", confidence=confidence, stance="YES", repaired=True)


@pytest.mark.parametrize(
    ("written", "confidence", "counts"),
    [
        ("85 percent", 0.85, True),
        ('"85 Percent"', 0.85, True),
        ("8 out of 10", 0.5, False),
        ("0.7 to 0.9", 0.5, False),
        ("<0.4", 0.5, False),
        ("~0.8", 0.8, True),
        ("0.8 (fairly sure)", 0.8, True),
    ],
)
def test_the_first_number_of_a_figure_without_quotes_is_not_the_confidence(
    written: str, confidence: float, counts: bool
) -> None:
    parsed = read(f'{{"position": "Tea", "confidence": {written}, "stance": "YES"}}')
    assert (parsed.confidence, parsed.stance) == (confidence, "YES")
    assert (parsed.warnings == ()) is counts


@pytest.mark.parametrize(
    ("member", "field"),
    [('"choice": "C', "choice"), ('"bottom_line": "1', "bottom_line"), ('"bottomLine": "1', "bottom_line")],
)
def test_a_short_member_that_is_cut_off_does_not_count(member: str, field: str) -> None:
    parsed = read(f'{{"position": "One of them", "confidence": 1, {member}', options=("C", "C++"))
    assert (parsed.position, parsed.truncated, getattr(parsed, field)) == ("One of them", True, None)
    assert any("is cut off; it does not count" in warning for warning in parsed.warnings)
    whole = read(f'{{"position": "One of them", "confidence": 1, {member}", "reasoning": "Si', options=("C", "C++"))
    assert getattr(whole, field) in {"C", "1"}


def test_the_rest_of_a_cut_position_counts() -> None:
    parsed = read('{"position": "No way", "confidence": 1, "stance": "NO')
    assert (parsed.position, parsed.stance) == ("No way", None)
    parsed = read('{"position": "No way", "stance": "NO", "confidence": "9')
    assert (parsed.confidence, parsed.stance) == (0.5, "NO")
    parsed = read("{'position': 'No way', 'choice': C, 'confidence': 1, 'stance': NO}", options=("C", "C++"))
    assert (parsed.choice, parsed.stance) == (None, "NO")
    assert '"choice" is not quoted properly; it does not count' in parsed.warnings


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"choice": "No", "choice": "C#"}', "ballot"),
        ('{"ranking": ["No", "C#"], "ranking": ["C#", "No"]}', "ranking"),
        ('{"approved": ["No"], "approved": ["C#"]}', "approval"),
        ('{"scores": {"No": 1, "No": 5, "C#": 3}}', "scores"),
    ],
)
def test_two_different_votes_in_one_object_are_not_a_vote(text: str, kind: AnswerKind) -> None:
    assert "different values" in refused(text, kind, options=OPTIONS).reason


def test_two_different_choices_of_a_position_are_not_a_choice() -> None:
    parsed = read('{"position": "p", "confidence": 1, "choice": "No", "choice": "C#"}', options=OPTIONS)
    assert (parsed.position, parsed.choice) == ("p", None)
    assert '"choice" is given twice, with different values; it does not count' in parsed.warnings
    assert read('{"choice": "No", "choice": "No"}', "ballot", options=OPTIONS).choice == "No"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"approved": ["No" (mostly), "C#"], "reasoning": "r"}', "approval"),
        ('{"approved": ["No", ["C#", "C++"], "reasoning": "r"}', "approval"),
        ('{"ranking": ["No", "C#" = "C++"]}', "ranking"),
        ('{"scores": {"No": 8/10, "C#": 2}}', "scores"),
    ],
)
def test_a_part_of_a_vote_in_broken_json_is_not_the_vote(text: str, kind: AnswerKind) -> None:
    assert refused(text, kind, options=OPTIONS).reason.startswith("the JSON is not valid, and a part of")


@pytest.mark.parametrize("signs", ["\uff1a\uff0c", ":\uff0c", "\uff1a,", ":\u060c"])
def test_signs_of_other_keyboards_between_members_are_read(signs: str) -> None:
    text = '{"position"%s "\u91cc\u65af\u672c\uff0c\u6216\uff1a\u662f"%s "confidence"%s 0.8%s "stance"%s "YES"}'
    parsed = read(text % (signs[0], signs[1], signs[0], signs[1], signs[0]))
    assert parsed == Parsed(
        position="\u91cc\u65af\u672c\uff0c\u6216\uff1a\u662f", confidence=0.8, stance="YES", repaired=True
    )


@pytest.mark.parametrize("name", ["bottom_line", "bottomLine"])
@pytest.mark.parametrize(("line", "expected"), [("0", "0"), ("0.0", "0.0"), ('"0"', "0"), ('""', None), ("null", None)])
def test_zero_is_a_bottom_line(name: str, line: str, expected: str | None) -> None:
    parsed = read(f'{{"position": "None at all.", "confidence": 1, "{name}": {line}}}')
    assert (parsed.bottom_line, parsed.warnings) == (expected, ())


@pytest.mark.parametrize("comment", ["// the capital\n", "/* the capital */", "# the capital\n"])
def test_comments_between_members_are_left_out(comment: str) -> None:
    parsed = read(f'{{"position": "Lisbon", {comment} "confidence": 0.8, {comment} "stance": "YES"}}')
    assert parsed == Parsed(position="Lisbon", confidence=0.8, stance="YES", repaired=True)


@pytest.mark.parametrize(
    "formula",
    [
        r"\boxed{\frac{1}{2}}",
        r"a \times b \neq \rho \theta",
        r"\text{if } \beta \right)",
        r"\(x\) \alpha",
        r"\beta_0 + \theta_1 \times2",
        r"\rho_2 \nabla_x",
        r"x\neq0",
        r"x \neq -1",
        r"x \neq y_1",
        r"x\neq\frac{1}{2}",
    ],
)
def test_formulas_keep_their_commands(formula: str) -> None:
    parsed = read(f'{{"position": "{formula}", "reasoning": "A line.\\nAnother,\\tindented.", "confidence": 1}}')
    assert (parsed.position, parsed.reasoning) == (formula, "A line.\nAnother,\tindented.")


@pytest.mark.parametrize(
    "text",
    ["lt\neq\nne", "lt\r\neq\r\nne", "see\neq. (3)", "is\neq = a == b", "lt is less\neq is equal", "a\tb\neq\tequal"],
)
def test_lines_of_a_text_that_begin_like_a_command_stay(text: str) -> None:
    assert read(json.dumps({"position": text, "confidence": 1})).position == text


def test_a_repaired_answer_says_so() -> None:
    assert read("{'position': 'Yes', 'confidence': 1,}") == Parsed(position="Yes", confidence=1.0, repaired=True)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("No", "No"),
        ("  no", "No"),
        ("NO.", "No"),
        ('"No"', "No"),
        ("Yes (with conditions)", "Yes (with conditions)"),
        ("yes with conditions", "Yes (with conditions)"),
        ("**Yes [with conditions]**", "Yes (with conditions)"),
        ("c++", "C++"),
        ("C#.", "C#"),
        ("-5", "-5"),
        ("STRASSE", "Straße"),
        (5, "5"),
        pytest.param(-5, "-5", id="number below zero"),
        ("**No**.", "No"),
        ('("No").', "No"),
        ("«No»", "No"),
        ("„No“", "No"),
        ("\u200fNo\u200b", "No"),
        ("Option C#", "C#"),
        ("**option** (no)", "No"),
    ],
)
def test_a_choice_is_the_option_spelt_nearly_the_same(choice: JsonValue, expected: str) -> None:
    parsed = read(json.dumps({"position": "p", "confidence": 1, "choice": choice}), options=OPTIONS)
    assert (parsed.choice, parsed.warnings) == (expected, ())


def test_a_choice_without_options_is_ignored() -> None:
    parsed = read('{"position": "p", "confidence": 1, "choice": "Yes"}')
    assert (parsed.choice, parsed.warnings) == (None, ())


@pytest.mark.parametrize("choice", ["Yes", "C", "+5", "maybe", "()", 5.5, "not C#", "No option", "option", "C# or C++"])
def test_a_choice_outside_the_options_is_dropped_with_a_warning(choice: JsonValue) -> None:
    parsed = read(json.dumps({"position": "p", "confidence": 1, "choice": choice}), options=OPTIONS)
    assert parsed.choice is None
    assert parsed.warnings == (f"the choice {str(choice)!r} is none of the options",)


def test_options_that_differ_only_in_case_are_distinguished() -> None:
    assert [read(f'{{"choice": "{name}"}}', "ballot", options=("a", "A")).choice for name in "aA"] == ["a", "A"]
    assert read('{"choice": "A."}', "ballot", options=("a", "A", "a")).choice == "A"


@pytest.mark.parametrize("given", ["", ', "choice": null', ', "choice": " "', ', "choice": true', ', "choice": []'])
def test_a_missing_choice_among_options_gives_a_warning(given: str) -> None:
    text = f'{{"position": "p", "confidence": 1{given}}}'
    assert read(text, options=OPTIONS).warnings == ("no option was chosen",)
    assert read(text).warnings == ()


@pytest.mark.parametrize("given", ["", ', "choice": null', ', "choice": ""'])
@pytest.mark.parametrize("position", ["No", "no.", "**NO**"])
def test_a_position_that_is_an_option_and_no_more_is_the_choice_that_was_left_out(position: str, given: str) -> None:
    parsed = read(f'{{"position": "{position}", "confidence": 1{given}}}', options=OPTIONS)
    assert (parsed.choice, parsed.warnings) == ("No", ("the position was taken for the choice",))
    assert read(f'{{"position": "{position}", "confidence": 1{given}}}').choice is None


def test_a_choice_that_was_made_is_never_overruled_by_the_position() -> None:
    parsed = read('{"position": "No", "confidence": 1, "choice": "Perhaps"}', options=OPTIONS)
    assert (parsed.choice, parsed.warnings) == (None, ("the choice 'Perhaps' is none of the options",))
    assert read('{"position": "No, but", "confidence": 1}', options=OPTIONS).choice is None


@pytest.mark.parametrize(("position", "read_as"), [("42", "42"), ("-1.5", "-1.5"), ("1e3", "1000.0")])
def test_a_position_may_be_a_number(position: str, read_as: str) -> None:
    assert read(f'{{"position": {position}, "confidence": 1}}').position == read_as
    assert "cut off" in refused(f'{{"position": {position}').reason


@pytest.mark.parametrize("text", ["B", " B\n", "b.", "**B**", '"B"', "<think>A or B?</think>\n(B)"])
def test_an_option_alone_is_the_choice_without_asking_again(text: str) -> None:
    position = parse_answer(text, options=("A", "B"))
    assert isinstance(position, Parsed)
    assert (position.position, position.choice, position.confidence, position.repaired) == ("B", "B", 0.5, True)
    assert position.warnings == (
        "the answer was only an option",
        "no usable confidence was given; 0.5 is assumed",
    )
    ballot = parse_answer(text, "ballot", options=("A", "B"))
    assert isinstance(ballot, Parsed)
    assert (ballot.choice, ballot.warnings) == ("B", ("the answer was only an option",))
    assert read("b", "ballot", options=("B", "b ")).choice == "b "


@pytest.mark.parametrize(
    ("text", "kind", "options"),
    [
        pytest.param("B", "position", None, id="no options"),
        pytest.param("A or B, I think", "position", ("A", "B"), id="two options"),
        pytest.param("C", "ballot", ("A", "B"), id="another"),
        pytest.param("x", "ballot", ("X.", "X!"), id="ambiguous"),
        pytest.param("B", "scores", ("A", "B"), id="scores"),
        pytest.param("<think>B</think>", "ballot", ("A", "B"), id="a thought"),
    ],
)
def test_a_text_that_is_not_exactly_an_option_is_not_a_choice(
    text: str, kind: AnswerKind, options: tuple[str, ...] | None
) -> None:
    refused(text, kind, options=options)


def test_a_ballot_is_a_choice_or_an_abstention() -> None:
    assert read('{"choice": "no", "reasoning": " why "}', "ballot", options=OPTIONS) == Parsed(
        choice="No", reasoning="why"
    )
    assert read('{"choice": "Anything"}', "ballot").choice == "Anything"
    assert read('{"choice": null}', "ballot", options=OPTIONS) == Parsed()


@pytest.mark.parametrize("choice", ['"Maybe"', '""', "[]", "false"])
def test_a_ballot_for_an_unknown_option_is_not_an_abstention(choice: str) -> None:
    assert refused(f'{{"choice": {choice}}}', "ballot", options=OPTIONS).reason.endswith("; give null to abstain")


def test_a_ballot_cut_within_its_choice_is_refused() -> None:
    assert "cut off" in refused('{"choice": "Yes (with', "ballot", options=OPTIONS).reason
    assert read('{"choice": "No", "reasoning": "be', "ballot", options=OPTIONS).truncated


def test_a_ranking_keeps_order_and_ties_and_each_option_once() -> None:
    parsed = read('{"ranking": ["no", ["C++", "c#"], "NO", "x", [], 5], "reasoning": "r"}', "ranking", options=OPTIONS)
    assert parsed.ranking == (("No",), ("C++", "C#"), ("5",))
    assert parsed.reasoning == "r"
    assert parsed.warnings == (
        "'No' is ranked twice; its first place counts",
        "the choice 'x' is none of the options",
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"ranking": "Perhaps"}', '"ranking" must be a list of options, best first'),
        ('{"ranking": []}', '"ranking" names no option'),
        ('{"ranking": ["x", null]}', '"ranking" names no option'),
        ('{"ranking": ["No", "C++"', '"ranking" is cut off or not quoted properly'),
        ('{"ranking": ["No", ', '"ranking" is cut off or not quoted properly'),
        ('{"scores": {}}', 'no JSON object with "ranking" was found'),
    ],
)
def test_an_invalid_ranking_is_refused(text: str, reason: str) -> None:
    assert refused(text, "ranking", options=OPTIONS).reason == reason


def test_scores_are_finite_numbers_of_options() -> None:
    text = '{"scores": {"no": 1, "C++": "2.5", "-5": true, "5": NaN, "x": 1, "NO": 1, "C#": "7%"}, "reasoning": "r"}'
    parsed = read(text, "scores", options=OPTIONS)
    assert parsed.scores == (("No", 1.0), ("C++", 2.5))
    assert parsed.warnings == (
        "the score of '-5' is not a finite number",
        "the score of '5' is not a finite number",
        "the choice 'x' is none of the options",
        "'No' is scored twice; its first score counts",
        "the score of 'C#' is not a finite number",
    )
    assert read('{"scores": {"anything": 0}}', "scores").scores == (("anything", 0.0),)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"scores": [1]}', '"scores" must be an object of option to number'),
        ('{"scores": {"No": null}}', '"scores" holds no usable score'),
        ('{"scores": {"No": 8, "C++": 1', '"scores" is cut off or not quoted properly'),
    ],
)
def test_invalid_scores_are_refused(text: str, reason: str) -> None:
    assert refused(text, "scores", options=OPTIONS).reason == reason


@pytest.mark.parametrize(
    ("scores", "scale", "problem"),
    [
        ('{"No": 11, "C++": 10}', (0, 10), "the score 11 is off the scale: each score must be a number from 0 to 10"),
        (
            '{"No": 1, "C++": -0.5}',
            (0, 10),
            "the score -0.5 is off the scale: each score must be a number from 0 to 10",
        ),
        ('{"No": "11"}', (0, 10), "the score 11 is off the scale: each score must be a number from 0 to 10"),
        (
            '{"No": 10.0000001}',
            (0, 10),
            "the score 10.0000001 is off the scale: each score must be a number from 0 to 10",
        ),
        ('{"No": 5, "NO": 12}', (0, 10), "the score 12 is off the scale: each score must be a number from 0 to 10"),
        ('{"No": 0}', (1, None), "the score 0 is off the scale: each score must be a number of at least 1"),
        ('{"No": 6}', (None, 5), "the score 6 is off the scale: each score must be a number of at most 5"),
        (
            '{"No": 9, "C++": "11/10"}',
            (0, 10),
            "the score 11 is off the scale: each score must be a number from 0 to 10",
        ),
        ('{"No": 9, "C++": "9/5"}', (0, 10), "a score is not a number: each score must be a number from 0 to 10"),
        ('{"No": 9, "C++": true}', (0, 10), "a score is not a number: each score must be a number from 0 to 10"),
    ],
)
def test_scores_of_which_one_is_off_the_scale_are_invalid_as_a_whole(
    scores: str, scale: tuple[float | None, float | None], problem: str
) -> None:
    failure = parse_answer(f'{{"scores": {scores}}}', "scores", options=OPTIONS, scale=scale)
    assert isinstance(failure, ParseFailure)
    assert failure.reason == problem


@pytest.mark.parametrize(
    ("scores", "counted"),
    [
        ('{"No": 0, "C++": 10}', (("No", 0.0), ("C++", 10.0))),
        ('{"No": 3, "C++": null}', (("No", 3.0),)),
        ('{"No": 3, "total": 13}', (("No", 3.0),)),
    ],
)
def test_scores_on_the_scale_count(scores: str, counted: tuple[tuple[str, float], ...]) -> None:
    parsed = parse_answer(f'{{"scores": {scores}}}', "scores", options=OPTIONS, scale=(0, 10))
    assert isinstance(parsed, Parsed)
    assert parsed.scores == counted


def test_an_empty_ballot_abstains_on_every_scale() -> None:
    for text in ('{"scores": {}}', '{"scores": []}'):
        parsed = parse_answer(text, "scores", options=OPTIONS, motions=True, scale=(0, 10))
        assert isinstance(parsed, Parsed)
        assert parsed.scores == ()


@pytest.mark.parametrize("name", ["successCriteria", "success_criteria"])
def test_a_plan_has_a_goal_and_perhaps_more(name: str) -> None:
    text = json.dumps({"goal": " g ", "strategy": "s", name: [" a ", "", 3, "b"]})
    assert read(text, "plan") == Parsed(goal="g", strategy="s", success_criteria=("a", "b"))
    assert read('{"goal": "g", "successCriteria": "a"}', "plan") == Parsed(goal="g")
    assert refused('{"goal": " "}', "plan").reason == 'the JSON object has no text in "goal"'


def test_plain_text_is_any_text() -> None:
    assert read('  {"position": "x"}\n', "text") == Parsed(text='{"position": "x"}')


def test_surrogates_are_joined_or_replaced() -> None:
    assert read("a \ud800 \ud83d\ude00", "text").text == "a \ufffd \U0001f600"
    assert read('{"position": "a \\ud800"}').position == "a \ufffd"
    prose = parse_prose("Yes \udfff indeed")
    assert isinstance(prose, Parsed)
    assert prose.position == "Yes \ufffd indeed"


def test_only_the_first_megabyte_of_an_endless_answer_is_read_with_a_warning() -> None:
    told = "only the first 1,048,576 characters of the answer were read"
    long = "x " * 600_000
    assert read(long, "text").warnings == (told,)
    parsed = read('{"position": "Yes", "confidence": 1, "reasoning": "' + long)
    assert (parsed.position, parsed.truncated, parsed.warnings) == ("Yes", True, (told,))
    whole = read('{"position": "Yes", "confidence": 1}' + long)
    assert (whole.truncated, whole.warnings) == (True, (told,))
    prose = parse_prose(long)
    assert isinstance(prose, Parsed)
    assert (prose.truncated, prose.warnings[0]) == (True, told)
    assert len(prose.position) <= 1_048_576


@pytest.mark.parametrize("tag", ["think", "thinking"])
def test_thoughts_before_an_answer_are_not_part_of_it(tag: str) -> None:
    text = f" <{tag}>Coffee?\nNo.</{tag}>\nTea, clearly. <{tag}>"
    prose = parse_prose(text)
    assert isinstance(prose, Parsed)
    assert (prose.position, prose.reasoning) == (f"Tea, clearly. <{tag}>", "")
    free = parse_answer(text, "text")
    assert isinstance(free, Parsed)
    assert free.text == f"Tea, clearly. <{tag}>"


@pytest.mark.parametrize("text", ["<think>Tea or", "<think>Tea.</think>", "<thinking>Tea.</think> Tea."])
def test_thoughts_alone_are_not_an_answer(text: str) -> None:
    for failure in (parse_prose(text), parse_answer(text, "text")):
        assert isinstance(failure, ParseFailure)
        assert failure.reason == "there were thoughts and no answer behind them"


def test_prose_is_a_position_as_a_whole() -> None:
    text = "\n I am for it, " + "because it is good, " * 20
    prose = parse_prose(text)
    assert isinstance(prose, Parsed)
    assert (prose.position, prose.reasoning) == (text.strip(), "")
    assert (prose.repaired, prose.confidence) == (True, 0.5)
    assert prose.warnings == ("the answer was prose, which is used unchanged", ASSUMED_CONFIDENCE)


@pytest.mark.parametrize(
    "text",
    [
        "Yes",
        "[1] According to the paper, yes.",
        "`Yes`, because the API answers {'ok': true} at once, and that is all that anybody will ever ask of it.",
        'I would return {"ok": true} to every client that asks for the state of its order, and nothing more than that.',
        "Yes " + "[[[[{{{{((((" * 1000,
        "{Yes} I think so",
        "y" * 300,
        "はい",
    ],
    ids=lambda text: text[:20],
)
def test_a_text_in_words_is_prose(text: str) -> None:
    prose = parse_prose(text)
    assert isinstance(prose, Parsed)
    assert prose.position[:3] == text[:3]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "...",
        "[[[[[[",
        "{{{{",
        '{"position": "cut off he',
        'Well: {"position": "cut off he',
        "Well: {position: cut off",
        '```json\n{"keyPoints": []}\n```',
        '{"keyPoints": []}',
        '[{"a": 1}]',
        '["a", "b"]',
        'Here: {"keyPoints": ["one", "two", "three"]}',
        'Here: {"keyPoints": ["one", "two", "thr',
        "{'a': 1}",
    ],
)
def test_a_broken_json_text_is_not_prose(text: str) -> None:
    failure = parse_prose(text)
    assert isinstance(failure, ParseFailure)
    assert failure.reason == "neither the JSON asked for nor plain prose"


def test_verdicts_on_earlier_answers_are_read_by_label() -> None:
    fields = {
        "position": "Tea",
        "bottom_line": 42,
        "compared": {"Bo": "SAME", "Cy": "different", "Dee": None, "Eve": 1},
    }
    found = parse_answer(json.dumps(fields))
    assert isinstance(found, Parsed)
    assert (found.bottom_line, found.compared) == ("42", (("Bo", "same"), ("Cy", "different")))
    assert [text for text in found.warnings if "compared" in text] == [
        "the answer compared as 'Eve' is neither the same nor different"
    ]
    camel = parse_answer('{"position": "Tea", "bottomLine": " Green  tea ", "compared": []}')
    assert isinstance(camel, Parsed)
    assert camel.bottom_line == "Green tea"
    both = '{"Bo": "same", "Cy": "same", "Bo": "different", "Cy": "same"}'
    twice = parse_answer(f'{{"position": "Tea", "compared": {both}}}')
    assert isinstance(twice, Parsed)
    assert twice.compared == (("Cy", "same"),)
    assert "the answer compared as 'Bo' is called both the same and different" in twice.warnings
    many = parse_answer(json.dumps({"position": "Tea", "compared": {str(place): "same" for place in range(60)}}))
    assert isinstance(many, Parsed)
    assert len(many.compared) == 50


LETTERS = ("A", "B", "C")


class TestVotes:
    def test_groups_are_read_and_a_letter_counts_once(self) -> None:
        vote = {"same": [["A", "b"], ["B", "C"], ["motion C", "X"], "A", 7], "ranking": ["(a)", "Motion B"]}
        parsed = read(json.dumps(vote), "ranking", options=LETTERS, motions=True)
        assert (parsed.ranking, parsed.same) == ((("A",), ("B",)), (("A", "B"),))
        assert parsed.warnings == (
            "'B' is in two groups; the first counts",
            "'C' is in two groups; the first counts",
            "the choice 'X' is none of the options",
            "'A' is in two groups; the first counts",
            "the choice '7' is none of the options",
        )

    def test_one_group_may_lack_its_own_brackets(self) -> None:
        parsed = read(json.dumps({"same": ["A", "motion B"], "choice": "A"}), "ballot", options=LETTERS, motions=True)
        assert (parsed.same, parsed.warnings) == ((("A", "B"),), ())

    @pytest.mark.parametrize(("same", "warned"), [(None, False), ("A", True), ([], False), ([["A"]], False)])
    def test_no_group_is_a_group_of_nobody(self, same: JsonValue, *, warned: bool) -> None:
        parsed = read(json.dumps({"same": same, "choice": "A"}), "ballot", options=LETTERS, motions=True)
        assert (parsed.choice, parsed.same, bool(parsed.warnings)) == ("A", (), warned)

    def test_without_motions_no_groups_are_read(self) -> None:
        assert read('{"same": [["A", "B"]], "choice": "A"}', "ballot", options=LETTERS).same == ()

    @pytest.mark.parametrize(
        ("kind", "text"),
        [("ranking", '{"ranking": []}'), ("ranking", '{"ranking": null}'), ("scores", '{"scores": {}}')],
    )
    def test_an_empty_vote_on_motions_abstains(self, kind: AnswerKind, text: str) -> None:
        parsed = read(text, kind, options=LETTERS, motions=True)
        assert (parsed.ranking, parsed.scores) == ((), ())
        refused(text, kind, options=LETTERS)

    def test_a_ranking_of_unknown_letters_is_refused(self) -> None:
        assert refused('{"ranking": ["X"]}', "ranking", options=LETTERS, motions=True).reason == (
            '"ranking" names no option; the letters of the motions are A, B, C'
        )

    @pytest.mark.parametrize(
        ("approved", "expected"),
        [(["A", "X", "A", "b"], ("A", "B")), ([], ()), (None, None)],
    )
    def test_approvals_are_options_each_once(self, approved: JsonValue, expected: tuple[str, ...] | None) -> None:
        parsed = read(json.dumps({"approved": approved, "reasoning": "So."}), "approval", options=LETTERS)
        assert (parsed.approved, parsed.reasoning) == (expected, "So.")
        assert len(parsed.warnings) == (2 if approved else 0)

    @pytest.mark.parametrize("approved", ["X", {"A": 1}, ["X"]])
    def test_an_approval_without_a_known_option_is_refused(self, approved: JsonValue) -> None:
        assert "give null to abstain" in refused(json.dumps({"approved": approved}), "approval", options=LETTERS).reason
