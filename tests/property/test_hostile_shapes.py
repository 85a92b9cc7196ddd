"""Nothing freezes: whatever a text looks like, what a public function does with it grows no faster than the text.

Work in Python is counted in calls. Work in C, such as a regular expression, is not; for it, the seconds of a long text
are bounded so generously that only a cost that grows with the square of the text exceeds them.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Final

import pytest
from property.hostile_shapes import UNITS, calls, repeated
from pydantic import BaseModel

from roundtable import types
from roundtable.core.base import addresses
from roundtable.core.base import text as core_text
from roundtable.core.prompts.claims import claim_id, is_claim_id
from roundtable.errors import RoundtableError
from roundtable.exits import exit_from_spec, exit_from_text, read_exit_settings, validate_exit_criteria
from roundtable.http import guard_public
from roundtable.parsing import check_answer_schema, find_document, parse_answer, parse_prose, read_reply, value_problem
from roundtable.parsing.ballot_notes import approval_in, has_reversed_order, is_best_first, is_plain_note, place_in
from roundtable.parsing.ballot_phrases import approval_sentence, reasons_below, without_heading
from roundtable.parsing.ballot_signs import marks_in
from roundtable.parsing.ballot_tables import table_entries
from roundtable.parsing.ballot_texts import VoteList, ballot_in_member, ballot_in_text, has_notes
from roundtable.parsing.claims import parse_claims
from roundtable.parsing.comparisons import parse_comparisons
from roundtable.parsing.confidence import loose_confidence, stated_confidence
from roundtable.parsing.examples import without_examples
from roundtable.parsing.forms import LEADING_MEMBER, find_answer, holds_form, is_answer_text
from roundtable.parsing.formulas import restore_commands
from roundtable.parsing.lines_form import form_in_lines
from roundtable.parsing.members import stance_in, text_in, text_or_number, texts_in
from roundtable.parsing.numerals import finite_number, score_number
from roundtable.parsing.other_json import (
    is_taken_back,
    notes_in,
    only_text,
    read_cut_choice,
    read_other_json,
    unfenced,
)
from roundtable.parsing.schema_checks import TooManyStepsError, first_error, part_error
from roundtable.parsing.tool_markup import form_in_call, text_beside_tool_calls
from roundtable.prompts import Fence, estimate_tokens, fit_texts, neutralise
from roundtable.reading import Asked, own_labels, read_answer, read_parts, without_thoughts
from roundtable.report import sanitize
from roundtable.results.evidence import has_words
from roundtable.scoring import (
    casefold,
    decide,
    exact,
    find_rule,
    is_abstention,
    normalise,
    open_key,
    share,
)
from roundtable.scoring.normalisation import match_option
from roundtable.scoring.numbers import exact_or_none, whole
from roundtable.scoring.open_answers import MOST_KEY_CHARS, amount_of, contradict, parse_open, yes_or_no
from roundtable.scoring.rules import judges_of, rule_name
from roundtable.storage import rules as storage_rules
from roundtable.types import durable_event, sse_event_id

Act = Callable[[str], object]

CITIES: Final = Asked("choice", ("Lisbon", "Porto", "Braga"))
LISTED: Final = Asked("choice", ("A) Lisbon", "B) Porto", "C) Braga"))
FORMATS: Final = ("date", "date-time", "email", "ipv4", "ipv6", "uuid")


def _parsed(text: str) -> None:
    for kind in ("position", "ballot", "ranking", "approval", "scores", "plan", "text"):
        parse_answer(text, kind, options=CITIES.options)


def _parsed_members(text: str) -> None:
    for kind, member in LEADING_MEMBER.items():
        others = dict.fromkeys(("confidence", "choice", "stance", "bottom_line", "reasoning"), text)
        parse_answer(json.dumps({**others, member: text}), kind, options=CITIES.options, claims=True)
        parse_answer(json.dumps({member: [text, text]}), kind, options=CITIES.options, motions=True)


def _parsed_after(start: str) -> Act:
    return lambda text: parse_answer(start + text)


def _ballots(kind: VoteList) -> Act:
    def read(text: str) -> None:
        ballot_in_text(text, kind, CITIES, 10)
        ballot_in_member({LEADING_MEMBER[kind]: text}, kind, CITIES, 10)
        ballot_in_member({LEADING_MEMBER[kind]: {text: text}}, kind, CITIES, 10)

    return read


READERS: Final[dict[str, Act]] = {
    "parsing.parse_answer": _parsed,
    "parsing.parse_answer: members": _parsed_members,
    "parsing.parse_answer: an open member": _parsed_after('{"position": "a", "confidence": '),
    "parsing.parse_prose": lambda text: parse_prose(text, CITIES.options),
    "parsing.read_reply": lambda text: read_reply(text, CITIES),
    "parsing.read_reply: a number": lambda text: read_reply(text, Asked("number")),
    "parsing.ballot_texts.ballot_in_text": _ballots("ranking"),
    "parsing.ballot_texts.ballot_in_text: approvals": _ballots("approval"),
    "parsing.ballot_texts.ballot_in_member": _ballots("scores"),
    "reading.read_answer: long options": lambda text: read_answer("B", Asked("choice", (text, f"{text}x", "B"))),
    "parsing.examples.without_examples": without_examples,
    "parsing.lines_form.form_in_lines": form_in_lines,
    "parsing.find_document": lambda text: find_document(text, lambda fields: "position" in fields),
    "parsing.forms.find_answer": lambda text: find_answer(text, "position"),
    "parsing.formulas.restore_commands": restore_commands,
    "parsing.other_json.notes_in": notes_in,
    "parsing.other_json.read_other_json": lambda text: read_other_json(json.dumps({"answer": text}), CITIES),
    "parsing.other_json.read_cut_choice": lambda text: read_cut_choice(f'{{"choice": {json.dumps(text)}', CITIES),
    "parsing.other_json.is_taken_back": lambda text: is_taken_back({"note": text}, "Lisbon", CITIES),
    "parsing.tool_markup.text_beside_tool_calls": text_beside_tool_calls,
    "parsing.tool_markup.form_in_call": lambda text: form_in_call(text, "position"),
    "parsing.tool_markup.form_in_call: a form": lambda text: form_in_call(
        f'<tool_call>{{"name": "x", "arguments": {{"position": {json.dumps(text)}}}}}</tool_call>', "position"
    ),
    "parsing.ballot_notes.approval_in": approval_in,
    "parsing.ballot_notes.has_reversed_order": has_reversed_order,
    "parsing.ballot_notes.is_best_first": is_best_first,
    "parsing.ballot_notes.is_plain_note": is_plain_note,
    "parsing.ballot_notes.place_in": place_in,
    "parsing.ballot_phrases.approval_sentence": approval_sentence,
    "parsing.ballot_phrases.reasons_below": reasons_below,
    "parsing.ballot_phrases.without_heading": lambda text: without_heading(text, "scores"),
    "parsing.ballot_signs.marks_in": marks_in,
    "parsing.ballot_tables.table_entries": lambda text: table_entries(text, bool, {"score"}, ()),
    "parsing.ballot_texts.has_notes": lambda text: has_notes([text, {text: text}], CITIES),
    "parsing.comparisons.parse_comparisons": lambda text: parse_comparisons({text: text}),
    "parsing.confidence.loose_confidence": lambda text: loose_confidence(text, 1),
    "parsing.confidence.stated_confidence": lambda text: stated_confidence({"confidence": text}, 1),
    "parsing.forms.holds_form": lambda text: holds_form({text: text}, "position"),
    "reading.read_answer: options": lambda text: read_answer(text, CITIES),
    "reading.read_answer: labels": lambda text: read_answer(text, LISTED),
    "reading.read_answer: a number": lambda text: read_answer(text, Asked("number")),
    "reading.read_answer: yes or no": lambda text: read_answer(text, Asked("yes_no")),
    "reading.read_answer: a formula": lambda text: read_answer(text, Asked("formula")),
    "reading.read_answer": lambda text: read_answer(text, Asked()),
    "reading.read_parts": lambda text: read_parts(CITIES, {"choice": text, "bottom_line": text, "position": text}),
    "reading.without_thoughts": without_thoughts,
}
"""What reads the whole text of a model: it is never cut before 1 MiB, and its cost grows with its length."""


def _schemas(text: str) -> None:
    for part in ({"const": text}, {"enum": [text, "a"]}, {"maxLength": 3}, *({"format": name} for name in FORMATS)):
        first_error({"a": text}, {"type": "object", "properties": {"a": part}})


def _claims(text: str) -> None:
    source: types.JsonObject = {"url": f"https://{text}", "quote": text}
    parse_claims([{"text": text, "supports": [text], "attacks": text, "evidence": [source, text]}])


BOUNDED: Final[dict[str, Act]] = {
    "parsing.check_answer_schema": lambda text: check_answer_schema({"type": "object", "title": text, "$ref": text}),
    "parsing.claims.parse_claims": _claims,
    "parsing.forms.is_answer_text": is_answer_text,
    "parsing.members.stance_in": stance_in,
    "parsing.members.text_in": text_in,
    "parsing.members.text_or_number": text_or_number,
    "parsing.members.texts_in": lambda text: texts_in([text, text]),
    "parsing.numerals.finite_number": finite_number,
    "parsing.numerals.score_number": lambda text: score_number(text, 10),
    "parsing.other_json.only_text": only_text,
    "parsing.other_json.unfenced": unfenced,
    "parsing.schema_checks.first_error": _schemas,
    "parsing.schema_checks.part_error": lambda text: part_error({"required": [text], "type": text}),
    "parsing.value_problem": lambda text: value_problem({"a": text}, {"properties": {"a": {"enum": ["a"]}}}),
    "reading.own_labels": lambda text: own_labels((text, f"{text}x", "B")),
    "scoring.casefold": casefold,
    "scoring.normalise": lambda text: normalise(text, "numeric"),
    "scoring.open_key": open_key,
    "scoring.open_answers.parse_open": parse_open,
    "scoring.open_answers.amount_of": amount_of,
    "scoring.open_answers.contradict": lambda text: contradict(text, f"{text}1"),
    "scoring.open_answers.yes_or_no": yes_or_no,
    "scoring.is_abstention": is_abstention,
    "scoring.normalisation.match_option": lambda text: match_option(text, ("A", f"{text}b")),
    "scoring.exact": exact,
    "scoring.numbers.exact_or_none": exact_or_none,
    "scoring.share": share,
    "scoring.numbers.whole": lambda text: whole(text, "voters", 1),
    "scoring.decide": lambda text: decide([text, f"{text}x", "B"]),
    "scoring.decide: rankings": lambda text: decide([[text, f"{text}x"]], rule="schulze", normalise="open"),
    "scoring.find_rule": find_rule,
    "scoring.rules.rule_name": rule_name,
    "scoring.rules.judges_of": judges_of,
    "prompts.neutralise": neutralise,
    "core.prompts.fence.Fence": lambda text: (
        Fence("00").quote(text, label=text) + Fence.inline(text) + Fence.line(text)
    ),
    "prompts.estimate_tokens": estimate_tokens,
    "prompts.fit_texts": lambda text: fit_texts([text, text], 100, latest=True),
    "core.prompts.claims.claim_id": lambda text: claim_id(text, 0, types.TurnKey(round=1, stage="main", slot=0), 1),
    "core.prompts.claims.is_claim_id": is_claim_id,
    "exits.exit_from_text": exit_from_text,
    "exits.exit_from_spec": lambda text: exit_from_spec({"kind": text}),
    "exits.read_exit_settings": lambda text: read_exit_settings({"ROUNDTABLE_EXIT_ENABLED": text}),
    "exits.validate_exit_criteria": lambda text: validate_exit_criteria({text: text}),
    "http.guard_public.checked_url": lambda text: guard_public.checked_url(f"https://{text}"),
    "http.guard_public.checked_proxy": guard_public.checked_proxy,
    "http.guard_public.check_plain_http": lambda text: guard_public.check_plain_http(
        f"http://{text}", what="the address", has_key=True
    ),
    "http.guard_public.encoded_host": guard_public.encoded_host,
    "http.guard_public.is_loopback": guard_public.is_loopback,
    "http.guard_public.is_on_local_network": guard_public.is_on_local_network,
    "http.guard_public.is_public": guard_public.is_public,
    "http.guard_public.masked_url": guard_public.masked_url,
    "http.guard_public.web_address": lambda text: guard_public.web_address(f"https://{text}"),
    "report.sanitize.plain": sanitize.plain,
    "report.sanitize.safe_url": lambda text: sanitize.safe_url(f"https://{text}"),
    "report.sanitize.unmarked": sanitize.unmarked,
    "results.evidence.has_words": lambda text: has_words(text, "tea keeps for a year"),
    "results.evidence.has_words: quotes": lambda text: has_words("tea keeps for a year", text),
    "results.evidence.has_words: the same": lambda text: has_words(f"{text}a", f"{text[:100]}"),
    "storage.rules.searchable": storage_rules.searchable,
    "types.durable_event": durable_event,
    "types.sse_event_id": sse_event_id,
    "core.base.addresses.site_of": lambda text: addresses.site_of(f"https://{text}"),
    "core.base.addresses.split_address": lambda text: addresses.split_address(f"https://{text}"),
    "core.base.text.bounded_marks": core_text.bounded_marks,
    "core.base.text.encodable": core_text.encodable,
    "core.base.text.error_text": lambda text: core_text.error_text(ValueError(text)),
    "core.base.text.normal_form": lambda text: core_text.normal_form(text, "NFC"),
    "core.base.text.unquoted": core_text.unquoted,
    "core.base.text.well_formed": core_text.well_formed,
    "core.base.text.well_formed_data": core_text.well_formed_data,
}
"""What folds, compares or checks a text: cheap, or it refuses a long text."""
TRIED: Final = {**READERS, **BOUNDED}

EXEMPT: Final[dict[str, tuple[str, ...]]] = {
    "parts of the readers above, which call them with parts of the text": (
        "parsing.json_in_text.ends_with",
        "parsing.json_in_text.guess_object",
        "parsing.json_in_text.is_json_like",
        "parsing.json_in_text.last_comma",
        "parsing.json_in_text.literal_span",
        "parsing.json_in_text.outermost",
        "parsing.json_in_text.parse_object",
        "parsing.json_in_text.parse_slips",
        "parsing.json_in_text.scan",
        "parsing.json_in_text.unsure_members",
        "parsing.slips.double_lone_backslashes",
        "parsing.slips.literal_end",
        "parsing.slips.unescaped",
        "parsing.slips.without_slips",
        "scoring.letter_case.are_words",
        "scoring.letter_case.fold_words",
    ),
    "they take what was read before, and read no text": (
        "exits.base.failed_criteria",
        "exits.criteria.asks_moderator",
        "parsing.answers.with_reading",
        "reading.parts.as_stated",
        "results.evidence.check_evidence",
        "scoring.ballot_forms.in_order",
        "scoring.ballot_forms.number_of",
        "scoring.ballot_forms.numbers",
        "scoring.ballot_forms.shares",
        "scoring.camps.compare_answers",
        "scoring.camps.find_camps",
        "scoring.camps.said_by",
        "scoring.camps.to_open_answer",
        "scoring.motions.count_vote",
        "scoring.motions.motions_of",
        "scoring.motions.option_motions",
        "scoring.motions.vote_in",
        "scoring.rules.choice.highest",
        "scoring.rules.choice.leading",
        "scoring.rules.choice.standing",
        "scoring.rules.choice.threshold_outcome",
        "scoring.rules.pools.highest",
        "scoring.unread.adds_up",
        "scoring.unread.unread_in_words",
        "scoring.unread.unread_options",
        "scoring.unread.ways_to_vote",
        "scoring.unread.worst_ballots",
    ),
    "they write prompts and descriptions from texts that `Fence` cuts and quotes": (
        "exits.base.as_json",
        "exits.base.not_ended",
        "exits.base.whole",
        "core.prompts.answer_format.answer_format",
        "core.prompts.answer_format.answer_schema",
        "core.prompts.claims.claims_field",
        "core.prompts.claims.claims_schema",
        "core.prompts.claims.compact_claims_schema",
        "core.prompts.compose.comparable",
        "core.prompts.compose.compose_system",
        "core.prompts.compose.compose_user",
        "core.prompts.compose.find_reference",
        "core.prompts.compose.resolve_comparisons",
        "core.prompts.compose.shown_claims",
        "core.prompts.layers.load_mode_prompt",
    ),
}
"""Public functions that take texts and are not tried, by reason."""

SHAPES: Final = ("two combining classes", *UNITS)


def each_shape(*every_day: str) -> pytest.MarkDecorator:
    """Try a test on each shape: these every day, each twentieth in CI as well, and the others in the deep run."""

    def marks(place: int, shape: str) -> tuple[pytest.MarkDecorator, ...]:
        return () if shape in every_day else (pytest.mark.deep if place % 20 else pytest.mark.slow,)

    return pytest.mark.parametrize(
        "shape", [pytest.param(shape, marks=marks(place, shape)) for place, shape in enumerate(SHAPES)]
    )


def act(function: Act, text: str) -> None:
    """Call a function, which may refuse the text."""
    try:
        function(text)
    except (RoundtableError, TooManyStepsError, ValueError):
        return


def cost(function: Act, text: str) -> int:
    """Return the number of calls for a text; what is kept for the next text is made before."""
    act(function, text)
    return calls(lambda text: act(function, text), text)


@each_shape("two combining classes", "questions")
def test_the_calls_grow_no_faster_than_the_text(shape: str) -> None:
    slow = []
    for name, function in TRIED.items():
        costs = [cost(function, repeated(shape, size)) for size in (1_000, 4_000)]
        if grows(*costs):  # until a bound is reached, a little text may cost more
            costs += [cost(function, repeated(shape, size)) for size in (16_000, 64_000)]
            slow += [(name, costs)] if grows(*costs[-2:]) else []
    assert not slow


def grows(short: int, long: int) -> bool:
    """Check whether four times the text costs more than n log n, which would be 4.8 times as much."""
    return long > 4.8 * short + 2_000


SOON: Final = 1.0
"""Seconds that are far more than one cheap step needs for 1 MiB, also under load and when coverage is measured."""
LATER: Final = 40.0
"""Seconds that are far more than 24 readings of a megabyte need; one whose cost grows with the square needs minutes."""


def seconds(function: Act, text: str) -> float:
    """Return the CPU time of a call."""
    began = time.process_time()
    act(function, text)
    return time.process_time() - began


@each_shape("ligatures that are eighteen letters")
def test_a_megabyte_is_folded_checked_or_refused_at_once(shape: str) -> None:
    slow = []
    for size in (MOST_KEY_CHARS - 1, 2**20):
        text = repeated(shape, size)
        taken = ((name, seconds(function, text)) for name, function in BOUNDED.items())
        slow += [(name, size, took) for name, took in taken if took > 3 * SOON]
    assert not slow


KINDS: Final = (CITIES, LISTED, Asked("number"), Asked("yes_no"), Asked("formula"), Asked())


@each_shape("the words before an answer", "hashes")
def test_a_long_text_is_read_at_once(shape: str) -> None:
    text = repeated(shape, 249_000)
    assert not [
        asked for asked in KINDS if seconds(lambda text, asked=asked: read_answer(text, asked), text) > 3 * SOON
    ]


@pytest.mark.parametrize("asked", KINDS)
def test_a_longer_text_is_refused_and_not_truncated(asked: Asked) -> None:
    longest = "The answer is Lisbon. ".ljust(1_000_000)
    assert read_answer(longest, CITIES).value == "Lisbon"
    reading = read_answer(f"{longest} ", asked)
    assert (reading.certainty, reading.rule, reading.value) == ("unread", "too_long", None)


@pytest.mark.deep
@each_shape()
def test_no_reader_takes_long_for_a_megabyte(shape: str) -> None:
    text = repeated(shape, 999_000)  # a longer one is refused
    assert not [name for name, function in READERS.items() if seconds(function, text) > LATER]


def validated(kind: type[BaseModel], field: str) -> Act:
    """Return a function that makes a value with a text in one of its fields."""
    return lambda text: kind.model_validate({field: text})


@each_shape("spaces")
def test_every_type_checks_a_text_in_any_field_in_a_few_calls(shape: str) -> None:
    text = repeated(shape, 200_000)
    for name in types.__all__:
        kind = getattr(types, name)
        if inspect.isclass(kind) and issubclass(kind, BaseModel):
            assert cost(kind.model_validate_json, text) < 100, name
            for field in kind.model_fields:
                assert cost(validated(kind, field), text) < 2_000, (name, field)


def test_the_calls_grow_no_faster_than_the_number_of_options() -> None:
    def costs(count: int) -> tuple[int, ...]:
        options = tuple(f"dish {number}" for number in range(count))
        asked, ranking = Asked("choice", options), " > ".join(options)
        acts: tuple[Act, ...] = (
            lambda text: match_option(text, options),
            lambda text: ballot_in_text(text, "ranking", asked),
            lambda text: parse_answer(json.dumps({"ranking": text.split(" > ")}), "ranking", options=options),
            lambda text: parse_answer(json.dumps({"approved": text.split(" > ")}), "approval", options=options),
            lambda _: decide([options[0]], options=options),
        )
        return tuple(cost(function, ranking) for function in acts)

    assert not [pair for pair in zip(costs(50), costs(200), strict=True) if pair[1] > 4.8 * pair[0] + 2_000]


def test_very_many_questions_at_the_end_are_not_looked_at_one_by_one() -> None:
    few, many = (cost(lambda text: read_answer(text, CITIES), "? " * count) for count in (1_000, 8_000))
    assert many < few + 1_000


def test_a_page_with_the_letters_of_a_quote_is_not_searched_at_each_of_its_positions() -> None:
    few, many = (cost(lambda page: has_words(page, "tea " * 99), "tea " * count + "teas") for count in (1_000, 50_000))
    assert many < few + 100
    few, many = (cost(lambda page: has_words(page, "a" * 1_000), "a" * count) for count in (5_000, 100_000))
    assert many < few + 100


@pytest.mark.parametrize("key_of", [casefold, open_key])
def test_only_white_space_of_a_long_text_is_folded(key_of: Callable[[str], str]) -> None:
    long = "Tea " * MOST_KEY_CHARS
    assert key_of(f"  {long}") == long.strip() == key_of(long.strip())
    assert key_of(long) != key_of(long.casefold())
    assert key_of(" " * MOST_KEY_CHARS + "Lisbon.") == "lisbon"
    ligatures = key_of("\ufdfa" * 10_000)  # its key may be longer than the longest text that is folded
    assert key_of(ligatures) == ligatures


SLOW_BEFORE: Final[dict[str, tuple[Act, str]]] = {
    "scores": (lambda text: score_number(text, 10), f"{' ' * 300_000}x"),
    "hosts": (guard_public.checked_url, "https://" + repeated("two combining classes", 60_000)),
    "links": (sanitize.safe_url, "https://" + repeated("two combining classes", 60_000)),
    "sites": (addresses.site_of, "https://" + repeated("two combining classes", 60_000)),
    "pages": (lambda text: has_words(text, "tea keeps for a year"), "\ufdfa" * 700_000),
    "spellings": (casefold, "\ufdfa" * 700_000),
    "options": (lambda text: read_answer("B", Asked("choice", (text, "B"))), "a " * 100_000),
}
"""Functions that took from two seconds to minutes for a text, each with the text."""


@pytest.mark.parametrize("name", SLOW_BEFORE)
def test_texts_that_were_once_slow_take_no_longer_than_others(name: str) -> None:
    function, text = SLOW_BEFORE[name]
    assert seconds(function, text) < SOON


def functions(module: ModuleType) -> Iterator[str]:
    """Yield the public functions of a module that take a text, or a value that may hold one."""
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        if inspect.isfunction(value) and value.__module__ == module.__name__:
            kinds = " ".join(str(parameter.annotation) for parameter in inspect.signature(value).parameters.values())
            if any(kind in kinds for kind in ("str", "Json", "object", "Asked")):
                yield f"{module.__name__}.{name}".removeprefix("roundtable.")


def modules() -> Iterator[ModuleType]:
    """Yield the modules whose public functions must be tried."""
    for package in ("roundtable.exits", "roundtable.parsing", "roundtable.core.prompts", "roundtable.scoring"):
        found = importlib.import_module(package)
        yield found
        for module in pkgutil.walk_packages(found.__path__, f"{package}."):
            yield importlib.import_module(module.name)
    for name in ("core.base.addresses", "core.base.text", "http.guard_public", "report.sanitize", "results.evidence"):
        yield importlib.import_module(f"roundtable.{name}")


def home(name: str) -> str:
    """Return the module and name under which a function is defined."""
    module, _, attribute = f"roundtable.{name.partition(':')[0]}".rpartition(".")
    value = getattr(importlib.import_module(module), attribute)
    return f"{value.__module__}.{value.__qualname__}".removeprefix("roundtable.")


def test_every_public_function_that_takes_a_text_is_tried_or_exempt_for_a_reason() -> None:
    """A parser that is added to one of the packages must be added to the table above."""
    public = {function for module in modules() for function in functions(module)}
    for package in ("roundtable.reading", "roundtable.types"):
        facade = importlib.import_module(package)
        values = [getattr(facade, name) for name in facade.__all__]
        found = (value for value in values if inspect.isfunction(value) and inspect.signature(value).parameters)
        public |= {f"{value.__module__}.{value.__name__}".removeprefix("roundtable.") for value in found}
    tried, exempt = {home(name) for name in TRIED}, {name for names in EXEMPT.values() for name in names}
    assert public - tried - exempt == set()
    assert exempt <= public
    assert not exempt & tried
