"""What an answer changed against the one before, who holds what, and numbers of a council resolved to names."""

from __future__ import annotations

import pytest
from unit.report_kit import debate

from roundtable.report import compare_words, flow_lines, new_sentences, split_sentences, unmarked
from roundtable.report.html import section_parts
from roundtable.results.view import view_of, with_names


def test_equal_words_are_not_a_change_and_other_words_are_marked() -> None:
    assert compare_words("Tea  at\nnoon", "Tea at noon") == ()
    assert compare_words("Tea at noon", "Tea at night, at noon") == (
        ("same", "Tea at"),
        ("new", "night, at"),
        ("same", "noon"),
    )
    assert compare_words("Tea", "A wholly new answer") == (("gone", "Tea"), ("new", "A wholly new answer"))
    assert compare_words("", "Tea") == (("new", "Tea"),)


def test_long_answers_are_compared_as_a_whole() -> None:
    before, after = "word " * 5_000, "word " * 5_000 + "more"
    assert [kind for kind, _ in compare_words(before, after)] == ["gone", "new"]


def test_new_reasons_are_the_sentences_that_were_not_there() -> None:
    before, after = map(split_sentences, ("It is cheap.\n- It keeps.", "**It is cheap.** It travels! It keeps"))
    assert new_sentences(before, after) == ("It travels!",)
    assert len(new_sentences((), split_sentences("One. Two. Three. Four. Five. Six."))) == 4
    assert new_sentences((), split_sentences("x" * 1_000)) == (f"{'x' * 239}\u2026",)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("**Tabs**: `a` and *b*", "Tabs: a and b"),
        ("# Title\n> quoted\n[x](https://a.example)", "Title\nquoted\nx"),
        ("2 * 3 * 4, a_b", "2 * 3 * 4, a_b"),
    ],
)
def test_marks_are_not_shown_without_markup(said: str, shown: str) -> None:
    assert unmarked(said) == shown


def test_only_known_numbers_get_a_name() -> None:
    names = {"Answer 1": "Ada", "Answer 12": "Bo"}
    assert with_names("Answer 12 > Answer 2 > Answer 1", names) == "Answer 12 (Bo) > Answer 2 > Answer 1 (Ada)"
    assert with_names("Answer 1", {}) == "Answer 1"


def test_a_turn_says_what_it_changed_and_in_which_camp_it_stands() -> None:
    view = view_of(debate())
    claude, gpt, _, sonar = view.rounds[2].speakers
    assert (claude.camp, gpt.camp, sonar.camp) == ("A", "B", "A")
    assert claude.change is not None
    assert claude.change.summary == "The same words as in round 2"
    assert gpt.change is None  # it failed in the round before
    moved = view.rounds[1].speakers[3].change
    assert moved is not None
    assert moved.summary == "Moved from Stay with a monolith to Start modular, split later"
    assert ("new", "Start modular, split later:") in moved.position
    assert view.rounds[0].speakers[0].change is None
    assert [(camp.label, camp.is_answer, len(camp.holders)) for camp in view.camps] == [
        ("A", True, 3),
        ("B", False, 1),
        ("C", False, 0),
    ]


def test_the_last_round_is_open_and_every_turn_of_a_page_has_its_place() -> None:
    page = "".join(section_parts(view_of(debate())))
    assert [f'id="round-{number}"' in page for number in (1, 2, 3, 4)] == [True, True, True, False]
    assert page.count(' open=""') == 1
    assert '<details id="round-3" open="">' in page
    for number in (1, 2, 3):
        for seat in range(4):
            assert page.count(f'<article id="r{number}s{seat}">') == 1
    assert '<a href="#r2s3">' in page
    assert "<del>" in page
    assert "<ins>" in page


def test_a_terminal_shows_who_moved_as_aligned_lines_and_the_last_rounds_if_not_all_fit() -> None:
    flow = view_of(debate()).flow
    assert flow is not None
    assert flow_lines(flow) == [
        "Who held which answer (> moved)",
        "                          1        2        3",
        "  Claude the pragmatist   A   63%  A   71%  A   79%",
        "  GPT the optimist        B   72%  -        B   88%",
        "  Gemini the sceptic      A   81%  A   89%  A   97%",
        "  Sonar the researcher    C   90% >A   98%  A  100%",
        "  A: Start modular, split later",
        "  B: Adopt microservices",
        "  C: Stay with a monolith",
    ]
    narrow = flow_lines(flow, 40)
    assert narrow[:2] == ["Who held which answer", "                          3"]
    assert max(map(len, narrow)) <= 40
