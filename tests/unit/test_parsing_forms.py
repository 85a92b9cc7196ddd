"""Which forms of an answer object are opened, and when several objects contradict each other."""

from __future__ import annotations

import json

import pytest

from roundtable.parsing import Parsed, ParseFailure, find_document, parse_answer, parse_prose
from roundtable.parsing.tool_markup import FormInCall, form_in_call
from roundtable.types import AnswerKind, JsonObject, JsonValue

ANSWER: JsonObject = {"position": "Tea keeps.", "reasoning": "It's dry.", "confidence": 0.8, "bottom_line": "Tea"}
PLAIN = json.dumps(ANSWER)
OTHER = json.dumps(ANSWER | {"position": "Milk is white.", "bottom_line": "Milk"})
WHOLE = Parsed(position="Tea keeps.", reasoning="It's dry.", confidence=0.8, bottom_line="Tea")
SEVERAL = (
    'there are several JSON objects with "position", and their answers differ; '
    "give only one object, your own final answer"
)


def read(text: str, kind: AnswerKind = "position", options: tuple[str, ...] | None = None) -> Parsed:
    parsed = parse_answer(text, kind, options=options)
    assert isinstance(parsed, Parsed), parsed
    return parsed


def refused(text: str, kind: AnswerKind = "position", options: tuple[str, ...] | None = None) -> str:
    failure = parse_answer(text, kind, options=options)
    assert isinstance(failure, ParseFailure), failure
    return failure.reason


@pytest.mark.parametrize("name", ["answer", "Final Answer", "response", "RESULT", "output", "content", "arguments"])
@pytest.mark.parametrize("value", [ANSWER, PLAIN, [ANSWER], f"```json\n{PLAIN}\n```", json.dumps(PLAIN), f"[{PLAIN}]"])
def test_an_answer_within_a_wrapper_is_opened(name: str, value: JsonValue) -> None:
    assert read(json.dumps({name: value})) == WHOLE
    assert read(json.dumps({"name": "answer", "id": 7, name: value})) == WHOLE
    assert read(f"Here:\n```json\n{json.dumps({name: value}, indent=1)}\n```") == WHOLE


@pytest.mark.parametrize(
    "value",
    [
        {"type": "function", "function": {"name": "answer", "arguments": PLAIN}},
        {"tool_calls": [{"function": {"name": "search", "arguments": "{}"}}, {"function": {"arguments": PLAIN}}]},
        {"role": "assistant", "content": [{"type": "text", "text": PLAIN}]},
        {"type": "object", "properties": ANSWER},
        {"position": PLAIN},
        {"position": json.dumps({"answer": ANSWER})},
        {"position": ANSWER},
        {"position": PLAIN, "confidence": 0.1, "reasoning": "See above.", "bottom_line": "..."},
    ],
)
def test_calls_messages_and_answers_as_a_position_are_opened(value: JsonValue) -> None:
    assert read(json.dumps(value)) == WHOLE


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps({"note": ANSWER}), id="not a wrapper"),
        pytest.param(json.dumps({"quotes": {"Bo": ANSWER}}), id="quotation"),
        pytest.param(json.dumps({"type": "object", "properties": {"position": {"type": "string"}}}), id="schema"),
        pytest.param(json.dumps({"answer": {"result": {"response": {"output": ANSWER}}}}), id="too deep"),
        pytest.param(json.dumps(json.dumps(json.dumps(json.dumps(PLAIN)))), id="too many texts"),
        pytest.param(json.dumps({"answer": f"I say {PLAIN}"}), id="prose in a wrapper"),
        pytest.param(json.dumps({"answer": PLAIN[:-20]}), id="broken text in a whole wrapper"),
        pytest.param(json.dumps({"answer": "Tea"}), id="no object"),
        pytest.param(json.dumps({"answer": ["Tea", 7]}), id="no objects"),
        pytest.param(json.dumps({"note": f"he said {PLAIN}"}), id="foreign text"),
        pytest.param(json.dumps({"answer": {"note": 1}}), id="foreign object"),
        pytest.param(f'{{"{"position" * 6}": "Tea"}}', id="long name"),
    ],
)
def test_an_object_that_is_not_certainly_the_answer_is_not_opened(text: str) -> None:
    assert refused(text) == 'no JSON object with "position" was found'


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        pytest.param(json.dumps(PLAIN), False, id="text"),
        pytest.param(json.dumps(json.dumps(PLAIN)), False, id="text in a text"),
        pytest.param(f"```json\n{json.dumps(PLAIN)}\n```", False, id="fence"),
        pytest.param(json.dumps(json.dumps(ANSWER, indent=2)), False, id="many lines"),
        pytest.param(json.dumps(PLAIN)[1:-1], True, id="without outer quotes"),
        pytest.param(f"So {json.dumps(PLAIN)[1:-1]}\nThat's all.", True, id="without outer quotes in prose"),
    ],
)
def test_a_json_text_that_holds_the_answer_is_opened(text: str, repaired: bool) -> None:
    parsed = read(text)
    assert (parsed.position, parsed.bottom_line, parsed.repaired) == ("Tea keeps.", "Tea", repaired)


@pytest.mark.parametrize("text", [json.dumps(PLAIN), json.dumps(json.dumps(PLAIN)), json.dumps(PLAIN)[1:-1]])
def test_a_json_text_is_not_prose(text: str) -> None:
    for wrapped in (text, f"```json\n{text}\n```", text[:20]):
        assert isinstance(parse_prose(wrapped), ParseFailure)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(PLAIN)[:-30], id="text"),
        pytest.param(json.dumps({"answer": ANSWER})[:-30], id="wrapper"),
        pytest.param(json.dumps({"name": "answer", "arguments": PLAIN})[:-30], id="arguments"),
        pytest.param(json.dumps({"answer": ANSWER, "note": "x"})[:-4], id="behind the answer"),
        pytest.param(json.dumps({"position": PLAIN})[:-30], id="position"),
    ],
)
def test_a_form_that_is_cut_off_counts_if_its_position_is_whole(text: str) -> None:
    parsed = read(text)
    assert (parsed.position, parsed.truncated) == ("Tea keeps.", True)


@pytest.mark.parametrize("text", [json.dumps(PLAIN)[:20], json.dumps({"position": PLAIN[:20], "confidence": 1})])
def test_a_truncated_json_text_is_not_a_position(text: str) -> None:
    assert refused(text) in {
        '"position" is cut off or not quoted properly',
        '"position" holds JSON that cannot be read',
    }
    assert isinstance(parse_prose(text), ParseFailure)


def test_a_position_with_several_answers_is_none_of_them() -> None:
    assert refused(json.dumps({"position": PLAIN + OTHER})) == '"position" holds JSON that cannot be read'


def test_an_answer_in_a_position_keeps_the_members_that_it_lacks() -> None:
    text = json.dumps({"position": PLAIN, "stance": "YES", "bottom_line": "Milk", "value": {"a": 1}})
    parsed = read(text)
    assert (parsed.position, parsed.stance, parsed.value, parsed.bottom_line) == ("Tea keeps.", "YES", {"a": 1}, None)
    assert '"bottom_line" is given twice, with different values; it does not count' in parsed.warnings


@pytest.mark.parametrize(
    "names", ["POSITION BOTTOM-LINE", "Position Bottom_Line", "position bottomLine", "PoSition Bottom~line"]
)
def test_members_are_known_by_any_spelling(names: str) -> None:
    position, line = names.split()
    parsed = read(json.dumps({position: "Tea keeps.", line.replace("~", " "): "Tea", "Confidence": 1}))
    assert parsed == Parsed(position="Tea keeps.", confidence=1, bottom_line="Tea")


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ('{"Choice": "A"}', "ballot", {"choice": "A"}),
        ('{"vote": {"choice": "A"}}', "ballot", {"choice": "A"}),
        ('{"RANKING": ["A", "B"]}', "ranking", {"ranking": (("A",), ("B",))}),
        ('{"arguments": "{\\"approved\\": [\\"B\\"]}"}', "approval", {"approved": ("B",)}),
        ("{'Scores': {'A': 1, 'B': 2},}", "scores", {"scores": (("A", 1.0), ("B", 2.0))}),
        ('{"Goal": "g", "Success-Criteria": ["c"]}', "plan", {"goal": "g", "success_criteria": ("c",)}),
    ],
)
def test_other_kinds_are_opened_too(text: str, kind: AnswerKind, expected: JsonObject) -> None:
    parsed = read(text, kind, ("A", "B"))
    assert {name: getattr(parsed, name) for name in expected} == expected


def test_two_spellings_with_different_values_contradict_each_other() -> None:
    assert refused('{"Position": "Tea", "position": "Milk"}') == '"position" is given twice, with different values'
    assert refused('{"position": "Tea", "position": "Milk"}') == '"position" is given twice, with different values'
    assert refused('{"Goal": "a", "goal": "b"}', "plan") == '"goal" is given twice, with different values'
    assert refused('{"Choice": "A", "choice": "B"}', "ballot") == '"choice" is given twice, with different values'
    for line in ('"Bottom-Line": "Tea", "bottom_line": "Milk"', '"BottomLine": "Tea", "BottomLine": "Milk"'):
        parsed = read(f'{{"position": "Tea keeps.", "confidence": 1, {line}}}')
        assert parsed.bottom_line is None
        assert parsed.warnings == ('"bottom_line" is given twice, with different values; it does not count',)
    for line in ('"Bottom-Line": "Tea", "bottom_line": ""', '"bottomLine": null, "bottom_line": "Tea"'):
        assert read(f'{{"position": "Tea keeps.", {line}}}').bottom_line == "Tea"


def test_a_short_member_in_another_spelling_does_not_count_if_it_is_cut_off() -> None:
    parsed = read('{"position": "Tea keeps.", "confidence": 1, "Bottom-Line": "Te')
    assert (parsed.bottom_line, parsed.warnings) == (None, ('"bottom_line" is cut off; it does not count',))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"Bo said {OTHER}. I say {PLAIN}", id="quotation before"),
        pytest.param(f"{PLAIN}\nBo's answer was {OTHER}", id="quotation behind"),
        pytest.param(f"[{OTHER}, {PLAIN}]", id="list"),
        pytest.param(json.dumps({"answer": ANSWER, "result": json.loads(OTHER)}), id="two wrappers"),
        pytest.param(json.dumps({"answer": [ANSWER, json.loads(OTHER)]}), id="list in a wrapper"),
        pytest.param(f"{json.dumps(OTHER)} {PLAIN}", id="text"),
        pytest.param(f"{json.loads(OTHER)!r} and {PLAIN}", id="Python"),
        pytest.param(f"{OTHER} and {PLAIN[:-3]}", id="the last one is cut off"),
        pytest.param(f'{PLAIN} {{"position": "Tea keeps.", "bottom_line": "Milk"}}', id="another bottom line"),
        pytest.param('{"position": "Tea", "stance": "YES"} {"position": "Tea", "stance": "NO"}', id="another stance"),
        pytest.param(f"> {OTHER}\n> {PLAIN}", id="two quotations"),
    ],
)
def test_two_different_answers_are_requested_again(text: str) -> None:
    assert refused(text) == SEVERAL


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{PLAIN}\n{PLAIN}", id="the same twice"),
        pytest.param(f"{json.dumps(PLAIN)}\n{PLAIN}", id="the same in another form"),
        pytest.param(f'{{"position": " Tea  keeps. ", "reasoning": "A draft."}}\n{PLAIN}', id="the same answer"),
        pytest.param(f"{PLAIN}\n{PLAIN[:-40]}", id="the same, cut off"),
        pytest.param(f"{{}}\n{PLAIN}", id="empty object"),
        pytest.param(f'{{"position": "", "reasoning": "", "confidence": 0.0}}\n{PLAIN}', id="empty form before"),
        pytest.param(f'{PLAIN}\n{{"position": "...", "bottom_line": "…", "compared": {{}}}}', id="empty form behind"),
        pytest.param(f'{{"position": "<your answer>", "reasoning": "[why]"}} {PLAIN}', id="names in brackets"),
        pytest.param(f'{{"position": "string", "reasoning": "string", "confidence": 0.5}} {PLAIN}', id="types"),
        pytest.param(f'{{"position": null}} {PLAIN}', id="null"),
        pytest.param(f'{{"position": "...", ...}} {PLAIN}', id="form with dots"),
        pytest.param(f"> {OTHER}\n{PLAIN}", id="quotation"),
        pytest.param(
            "\n".join(f"> {line}" for line in json.dumps(json.loads(OTHER), indent=1).split("\n")) + PLAIN, id="lines"
        ),
        pytest.param("> " + OTHER.replace(", ", ",\n> ") + f"\n{PLAIN}", id="quotation of lines"),
        pytest.param(f"{PLAIN} and not {{position: Milk}}", id="a guess behind"),
        pytest.param(f"<think>{OTHER}</think>{PLAIN}", id="draft"),
        pytest.param(json.dumps(ANSWER | {"reasoning": f"Not {OTHER}"}), id="quotation in a text"),
        pytest.param(repr(ANSWER | {"reasoning": f"Not {OTHER}"}), id="quotation in a text of Python"),
        pytest.param(
            json.dumps(json.dumps(ANSWER | {"reasoning": f"Not {OTHER}"})), id="quotation in a text in a text"
        ),
        pytest.param(f"<think>{OTHER} or {PLAIN}", id="drafts without an end"),
    ],
)
def test_one_answer_counts_next_to_other_objects(text: str) -> None:
    parsed = read(text)
    assert (parsed.position, parsed.bottom_line, parsed.truncated) == ("Tea keeps.", "Tea", False)


@pytest.mark.parametrize(
    "text", [f"> {PLAIN}", "\n".join(f"> {line}" for line in json.dumps(ANSWER, indent=1).split("\n")) + "\n"]
)
def test_an_answer_that_is_completely_quoted_counts(text: str) -> None:
    assert read(text) == WHOLE


def test_an_abstention_next_to_another_vote_is_a_vote() -> None:
    assert "their answers differ" in refused('{"choice": null} {"choice": "A"}', "ballot", ("A", "B"))
    assert "their answers differ" in refused('{"choice": "A"} {"choice": "B"}', "ballot", ("A", "B"))
    assert "their answers differ" in refused('{"scores": {"A": 1}} {"scores": {"A": 2}}', "scores", ("A", "B"))
    assert read('{"choice": null, "reasoning": ""} {"choice": "A"}', "ballot", ("A", "B")).choice == "A"
    assert read('{"ranking": ["..."], "reasoning": "..."} {"ranking": ["A"]}', "ranking", ("A", "B")).ranking == (
        ("A",),
    )


def test_a_position_that_is_cut_off_is_not_replaced_by_another_object() -> None:
    assert refused(f'{PLAIN} {{"position": "Tea ke') == '"position" is cut off or not quoted properly'


def test_an_object_without_an_answer_after_the_answer_is_ignored() -> None:
    assert refused(f'{PLAIN} {{"position": "", "reasoning": "I can\'t say."}}').startswith(
        "the JSON object has no text"
    )


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("{'position': 'a } b', 'sure': True, 'no': None, 'list': ('a', 'b',)}", "a } b"),
        ("{'position': 'it\\'s {', 'x': False}", "it's {"),
        ("{'position': 'Tea }', 'reasoning': 'not {\"position\": \"Milk\"}'}", "Tea }"),
        ("{'position': u'Tea', 'x': R'\\n'}", "Tea"),
        ('{"position": """He said "no".""",}', 'He said "no".'),
        ("{'position': '''It's\nfine'''}", "It's\nfine"),
        ("{'position': '\\xe9 \\U0001f600 \\u00e9 \\U00ffffff \\q'}", "é \U0001f600 é \\U00ffffff \\q"),
        ('{"position": "Tea" /* sure */, // yes\n # no\n}', "Tea"),
        ('{position: "Tea", undefined: undefined}', "Tea"),
        ("{'answer': {'position': 'It's good', 'confidence': 0.5}}", "It's good"),
        ('{"position": "It\\\'s"}', "It's"),
        ('{"position": {"position": "It "is"", "x": 1}}', 'It "is"'),
    ],
)
def test_slips_with_one_meaning_are_repaired(text: str, position: str) -> None:
    parsed = read(text)
    assert (parsed.position, parsed.repaired) == (position, True)


def test_a_broken_position_in_a_wrapper_does_not_count() -> None:
    assert refused("{'answer': {'position': yes I think, 'confidence': 1}}") == (
        '"position" is cut off or not quoted properly'
    )


def test_the_last_of_many_objects_are_read() -> None:
    assert "differ" in refused("".join(json.dumps({"position": f"Tea {number}"}) for number in range(300)))
    texts = "".join(json.dumps(json.dumps({"position": f"Tea {number}"})) for number in range(40))
    assert "differ" in refused(texts)
    note = json.dumps({"note": json.dumps({"position": "Milk"})})
    assert read(note * 300 + PLAIN) == WHOLE
    assert refused('{"answer": [' + ('{"answer": 1},' * 15 + '{"answer": 1}]}') * 300).startswith("no JSON object")
    wrappers = json.dumps({"answer": [{"answer": [{"answer": 1}] * 16}] * 16})
    assert refused(wrappers + json.dumps({"answer": [{"x": 1}]})).startswith("no JSON object")


def test_a_vote_with_exact_slips_keeps_its_warnings() -> None:
    parsed = read("{'ranking': ['A', 'X'],}", "ranking", ("A", "B"))
    assert (parsed.ranking, parsed.warnings) == ((("A",),), ("the choice 'X' is none of the options",))


def test_broken_claims_hide_no_second_answer() -> None:
    for before, reason in (("", 'no JSON object with "position" was found'), (f"{OTHER} ", SEVERAL)):
        fields = '"position": "Tea", ' if before else ""
        failure = parse_answer(f'{before}{{{fields}"reasoning": "r", "claims": [{{"text": "a", oh}}]}}', claims=True)
        assert isinstance(failure, ParseFailure)
        assert failure.reason == reason
    long = f'{{"answer": {{"position": "Tea", "reasoning": "{"x" * 40_000}", "claims": [oh]}}}}'
    assert isinstance(parse_answer(long, claims=True), ParseFailure)


def test_an_object_in_thoughts_without_an_end_counts_only_at_the_end() -> None:
    for text, is_found in ((f"<think>{PLAIN} or not", False), (f"<think>{PLAIN}\n```", True)):
        assert (find_document(text, lambda fields: "position" in fields) is not None) is is_found
        assert isinstance(parse_answer(text), Parsed) is is_found


CALL = '<tool_call>{"name": "final", "arguments": {"position": "Tea", "reasoning": "It keeps."}}</tool_call>'


@pytest.mark.parametrize("kind", ["ballot", "ranking", "plan", "text"])
def test_markup_of_a_call_holds_the_form_of_another_kind_only_by_mistake(kind: AnswerKind) -> None:
    assert form_in_call(CALL, kind) is None


@pytest.mark.parametrize(
    "text",
    [
        f"I call: {CALL}",
        f"{CALL} and then I wait",
        CALL.replace("position", "city"),
        "<tool_call></tool_call>",
        "<tool_call>{nothing</tool_call>",
    ],
)
def test_markup_with_more_or_less_than_a_form_is_not_a_form(text: str) -> None:
    assert form_in_call(text, "position") is None


def test_marks_inside_the_words_of_a_form_stay() -> None:
    form = form_in_call(CALL.replace("Tea", "Write <tool_call> first"), "position")
    assert form == FormInCall("final", {"position": "Write <tool_call> first", "reasoning": "It keeps."})
