"""Places of answers: sentences begin and end where people see it, and statements of others are told from one's own."""

from __future__ import annotations

import pytest

from roundtable.reading.sites import (
    boxes,
    closing_sentence,
    contains,
    cue_sites,
    last_sentences,
    lines,
    opening_sentence,
    sentence_end,
    sentence_start,
    words_pattern,
)


def sentence_at(text: str, word: str) -> str:
    """Return the sentence around a word."""
    at = text.index(word)
    return text[sentence_start(text, at, 0) : sentence_end(text, at, len(text))].strip()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. The two here. Three.", "The two here"),
        ("One! The two here? Three.", "The two here"),
        ("One\nThe two here\nThree", "The two here"),
        ("It costs 3.50 in two shops. Three.", "It costs 3.50 in two shops"),
        ("See e.g. two of them. Three.", "See e.g. two of them"),
        ("Mr. A. two of them. Three.", "Mr. A. two of them"),
        ("一。这是two里。三。", "这是two里"),
        ('He said "two." Three.', 'He said "two'),
        ("the two", "the two"),
        ("Ada says A. I choose two.", "I choose two"),
        ("The two of Samuel L. Jackson went home. Three.", "The two of Samuel L. Jackson went home"),
        ("The two choose B. Jackson went home. Three.", "The two choose B"),
        ("Is it so? No. The two is.", "The two is"),
    ],
)
def test_sentences_end_at_their_signs_and_not_at_abbreviations(text: str, sentence: str) -> None:
    assert sentence_at(text, "two") == sentence


def test_sentences_without_an_end_are_bounded() -> None:
    text = "x" * 10_000
    assert sentence_end(text, 0, len(text)) < 5_000
    assert sentence_start(text, 9_999, 0) > 5_000


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        (r"\boxed{B}", ["B"]),
        (r"\boxed{a} and \fbox {b}", ["a", "b"]),
        (r"\boxed{\frac{1}{2}}", [r"\frac{1}{2}"]),
        (r"\boxed{\boxed{B}}", ["B"]),
        (r"\boxed{a\}b}", [r"a\}b"]),
        (r"\boxed{no end", []),
        ("boxed{B}", []),
    ],
)
def test_the_innermost_boxes_are_found(text: str, contents: list[str]) -> None:
    assert [text[site.start : site.end] for site in boxes(text, 0)] == contents


@pytest.mark.parametrize(
    ("text", "is_final"),
    [
        (r"\boxed{B}", True),
        ("So we get \\boxed{B}.", True),
        ("First we have \\boxed{B}, and then more.", False),
        ("Perhaps so \\boxed{B}, and then more.", False),
        ("So it would be \\boxed{B}, and then more.", False),
    ],
)
def test_a_box_concludes_at_the_end_or_by_a_word(text: str, is_final: bool) -> None:
    assert [site.is_final for site in boxes(text, 0)] == [is_final]


def test_only_a_limited_number_of_boxes_is_read() -> None:
    assert len(list(boxes(r"\boxed{1} " * 1_000, 0))) == 80


@pytest.mark.parametrize(
    ("text", "rule", "words"),
    [
        ("The answer is Porto. Good.", "answer", "Porto"),
        ("The final answer: **B**", "answer", "B**"),
        ("My vote goes to Porto.", "choose", "Porto"),
        ("I choose B, since it is good.", "choose", "B, since it is good"),
        ("Sum\n#### 42", "hashes", "42"),
        ("Sum\n#### 42\nmore", "hashes", "42"),
        ("<answer> B </answer>", "tag", "B"),
        ("İ think that the answer is Porto.", "answer", "Porto"),
        ("答案是B。好。", "answer", "B"),
        ("I said: the answer is Porto.", "answer", "Porto"),
    ],
)
def test_the_text_after_a_cue_is_a_site(text: str, rule: str, words: str) -> None:
    assert (rule, words) in [(site.rule, text[site.start : site.end]) for site in cue_sites(text, 0)]


@pytest.mark.parametrize(
    "text",
    [
        "> The answer is B.",
        'He wrote: "The answer is B',
        "If so, the answer is B.",
        "I doubt not that no answer is B.",
        "Perhaps the answer is B.",
        "By mistake the answer is B.",
        "Others say the answer is B.",
        "Ada's answer is B.",
        "According to Ada, the answer is B.",
        "The wrong answer is B.",
        "An answerable question.",
        "I chooser B",
    ],
)
def test_statements_of_others_and_doubted_statements_are_not_sites(text: str) -> None:
    assert list(cue_sites(text, 0)) == []


def test_own_speech_is_a_site_even_with_a_reporting_verb() -> None:
    assert [site.rule for site in cue_sites("I think that the answer is B.", 0)] == ["answer"]
    assert [site.rule for site in cue_sites("According to the table, the answer is B.", 0)] == ["answer"]


def test_the_last_of_very_many_cues_are_seen() -> None:
    text = "the answer is so. " * 2_000 + "the answer is yes."
    sites = list(cue_sites(text, 0))
    assert len(sites) <= 400
    assert text[sites[-1].start : sites[-1].end] == "yes"


@pytest.mark.parametrize(
    ("kind", "yes", "no"),
    [
        ("report", "Ada says so", "essays"),
        ("others", "someone else", "some"),
        ("negation", "it isn't", "knotty"),
        ("negation", "不是", "好"),
        ("mistake", "an error", "terrors"),
        ("condition", "if so", "gift"),
        ("hedge", "perhaps", "mayor"),
        ("conclusion", "therefore", "fore"),
    ],
)
def test_words_of_a_kind_match_only_as_whole_words(kind: str, yes: str, no: str) -> None:
    assert contains(kind, yes)
    assert not contains(kind, no)


def test_word_patterns_need_no_spaces_in_scripts_without_spaces() -> None:
    assert words_pattern(("so", "所以")).endswith("|所以")
    assert words_pattern(("所以",)) == "所以"
    assert "所" not in words_pattern(("so",))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two. Three.", ["Three", "Two"]),
        ("One. Two. Would you like more?", ["Two", "One"]),
        ("One. Two. Let me know what you think.", ["Two", "One"]),
        ("One. Two! (a remark)", ["Two", "One"]),
        ("One. Two (a part)", ["Two (a part)", "One"]),
        ("One", ["One"]),
        ("?", []),
        ("", []),
    ],
)
def test_the_last_sentences_leave_questions_offers_and_remarks_out(text: str, sentences: list[str]) -> None:
    assert [text[begin:end].strip() for begin, end in last_sentences(text, 0, 2)] == sentences


def test_the_first_and_the_last_sentence_are_found() -> None:
    text = "  One here. Two there.\n"
    assert text[slice(*opening_sentence(text, 0))] == "One here"
    assert text[slice(*closing_sentence(text, 0))].strip() == "Two there"
    assert opening_sentence("  ", 0) == (2, 2)
    assert closing_sentence("..", 0) == (0, 0)


def test_lines_are_found_without_surrounding_space() -> None:
    text = "thoughts\n  one \n\n two\n"
    assert [text[slice(*line)] for line in lines(text, 9)] == ["one", "two"]
