"""A score off the scale never counts in part: parser, stage and rule agree on what is on a scale."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from roundtable import decide
from roundtable.core.base.scale import scale_problem
from roundtable.parsing import Parsed, ParseFailure, parse_answer

LAW = settings(deadline=None)
ENDS = st.sampled_from([(0, 10), (1, 5), (-1, 1), (0.1, 0.3), (0, 1)])
OPTIONS = ("Tea", "Coffee", "Milk")
SCORES = st.dictionaries(
    st.sampled_from(OPTIONS),
    st.one_of(st.integers(-12, 12), st.sampled_from([0.1, 0.3, 0.30000001, 10.0000001, 0.0999999, -0.0, 1e99])),
    min_size=1,
)


@LAW
@given(SCORES, ENDS)
def test_a_ballot_that_the_parser_refuses_is_invalid_in_the_count(
    scores: dict[str, float], ends: tuple[float, float]
) -> None:
    low, high = ends
    parsed = parse_answer(json.dumps({"scores": scores}), "scores", options=OPTIONS, scale=ends)
    decision = decide([scores], rule="score", low=low, high=high, options=OPTIONS)
    assert isinstance(parsed, ParseFailure) == bool(decision.invalid) == bool(scale_problem(scores.values(), *ends))
    if isinstance(parsed, Parsed):
        assert dict(parsed.scores) == scores


@LAW
@given(SCORES, st.sampled_from(OPTIONS), st.sampled_from([-1, 11, 1e6, "12", "1/2", True]))
def test_one_score_off_the_scale_invalidates_the_whole_ballot(
    scores: dict[str, float], option: str, score: float | str
) -> None:
    text = json.dumps({"scores": {**scores, option: score}})
    assert isinstance(parse_answer(text, "scores", options=OPTIONS, scale=(0, 10)), ParseFailure)
