"""Refusals and references to earlier answers, in the languages of the reader."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from roundtable.reading import ABSTAIN, Asked, read_answer
from roundtable.reading.abstentions import is_refusal
from roundtable.reading.letters import letters_of
from roundtable.reading.phrase_files import PHRASE_FILES, PhraseFile, parse_phrases, phrases
from roundtable.reading.phrase_patterns import compile_phrase
from roundtable.reading.references import OWN, Pointer, find_pointer, points_to
from roundtable.reading.yes_no import NO_WORDS, YES_WORDS
from roundtable.scoring import open_answers
from roundtable.scoring.open_answers import is_abstention, yes_or_no

CASES = Path(__file__).parent / "phrase_cases.txt"
MAIN = (
    *("English", "German", "French", "Spanish", "Italian", "Portuguese", "Dutch", "Polish"),
    *("Russian", "Turkish", "Chinese", "Japanese", "Korean", "Arabic", "Hindi"),
)


def cases(*kinds: str) -> Iterator[tuple[str, str, str]]:
    """Yield language, kind and text of each case."""
    language = kind = ""
    for line in CASES.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            language = line[3:]
        elif line.startswith("-- "):
            kind = line[3:]
        elif line and not line.startswith("# ") and (not kinds or kind in kinds):
            yield language, kind, line


def test_each_language_has_a_dozen_cases_of_each_kind() -> None:
    counts: dict[tuple[str, str], int] = {}
    for language, kind, _ in cases():
        counts[language, kind] = counts.get((language, kind), 0) + 1
    for language in MAIN:
        for kind in ("refusal", "no refusal", "own", "Ada", "nobody"):
            assert counts[language, kind] >= 10, (language, kind)


def test_refusals_are_recognised() -> None:
    missed = [case for case in cases("refusal") if not is_refusal(case[2])]
    assert not missed


def test_other_texts_are_not_refusals() -> None:
    wrong = [case for case in cases("no refusal", "own", "Ada") if is_refusal(case[2])]
    assert not wrong


@pytest.mark.slow
def test_references_are_recognised() -> None:
    names = {"own": OWN, "Ada": "Ada"}
    missed = [(*case, points_to(case[2])) for case in cases("own", "Ada") if points_to(case[2]) != names[case[1]]]
    assert not missed


def test_other_texts_are_not_references() -> None:
    wrong = [(*case, points_to(case[2])) for case in cases("nobody", "refusal") if points_to(case[2]) is not None]
    assert not wrong


@pytest.mark.parametrize("kind", ["refusal", "own", "Ada"])
def test_letter_case_accents_and_surrounding_space_do_not_count(kind: str) -> None:
    for _, _, text in cases(kind):
        for other in (f"  {text}\n", text.upper() if "İ" not in text and "ß" not in text else text, f"**{text}**"):
            if kind == "refusal":
                assert is_refusal(other), other
            elif (found := points_to(other)) is None or found.casefold() not in {"you", "ada"}:
                pytest.fail(f"{other!r}: {found!r}")


@pytest.mark.slow
@pytest.mark.parametrize("file", PHRASE_FILES)
def test_every_phrase_can_be_compiled_and_matches_more_than_nothing(file: PhraseFile) -> None:
    for of in phrases(file):
        for listed in of.sections.values():
            for phrase in listed:
                assert re.fullmatch(compile_phrase(phrase, of.lists), "") is None, (of.language, phrase)


def test_the_examples_of_the_files_match_their_section() -> None:
    for of in phrases("refusals"):
        for example in of.examples["phrases"]:
            assert is_refusal(example), example
    for of in phrases("references"):
        for example in of.examples["own answer"]:
            assert points_to(example) == OWN, example
        for example in of.examples["another's answer"]:
            assert points_to(example) == "Ada", example
    for file in ("refusals", "references"):
        assert {of.language for of in phrases(file)} >= set(MAIN)


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("I stand by my answer: Lisbon", Pointer("you", 20)),
        ("  No change.", Pointer("you", 11)),
        ("**No change** — Lisbon", Pointer("you", 11)),
        ("After reading the others, I agree with Ada; Porto.", Pointer("Ada", 42)),
        ("Ich schließe mich Ada an: Porto.", Pointer("Ada", 24)),
        ("I agree with **Ada**.", Pointer("Ada", 18)),
        ("I agree with model_a.", Pointer("model_a", 20)),
        ("I agree with claude-3.5-sonnet's answer.", Pointer("claude-3.5-sonnet", 39)),
        ("I agree with Dr. Smith.", Pointer("Dr. Smith", 22)),
        ("Agent 2 is right.", Pointer("Agent 2", 16)),
        ("我同意Ada的看法。里斯本", Pointer("Ada", 9)),
    ],
)
def test_a_pointer_knows_where_its_phrase_ends(text: str, pointer: Pointer) -> None:
    assert find_pointer(text) == pointer


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I agree with Ada and Bo.", "Ada and Bo"),
        ("I agree with Ada, Bo and Cy.", "Ada, Bo and Cy"),
        ("I agree with Ada, Bo, and Cy because they are right.", "Ada, Bo, and Cy"),
        ("I agree with Agent 2 and Agent 3.", "Agent 2 and Agent 3"),
        ("Ich stimme Ada und Bo zu.", "Ada und Bo"),
        ("我同意Ada和Bo。", "Ada和Bo"),
        ("I agree with Ada, she is right and Bo is wrong.", "Ada"),
        ("I agree with Ada, Bo is wrong.", "Ada"),
        ("I agree with Ada and think that it is B.", "Ada"),
        ("I agree with the previous speaker.", "the previous speaker"),
        ("I agree with everyone.", "everyone"),
        ("I agree with the others.", "the others"),
        ("I agree with the majority.", "the majority"),
        ("Same as everyone else", "everyone else"),
        ("I agree with you.", "I agree with you"),
        ("I agree with you, Ada.", "I agree with you"),
    ],
)
def test_an_unclear_name_is_returned_as_it_is_written(text: str, name: str) -> None:
    assert points_to(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I agree with Compatible (m1).", "Compatible (m1)"),
        ("I agree with scripted (ada.json) because it is right.", "scripted (ada.json)"),
        ("Compatible (m1) is right.", "Compatible (m1)"),
        ("I agree with Compatible (m1)'s answer.", "Compatible (m1)"),
    ],
)
def test_a_name_may_end_in_brackets(text: str, name: str) -> None:
    assert points_to(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "I agree with Ada's first point.",
        "I agree with Ada's second argument.",
        "I agree with Ada's analysis.",
        "I agree with Ada's observation.",
        "I concur with Ada's analysis.",
        "I'm persuaded by Ada's argument.",
        "I find Ada's argument convincing.",
        "Ada's argument convinced me.",
        "Ada has the best argument.",
        "I agree with Compatible (m1)'s premise.",
        "Ich stimme Adas Analyse zu.",
        "Estoy de acuerdo con el argumento de Ada.",
        "Concordo com o argumento da Ada.",
        "Sono d'accordo con l'analisi di Ada.",
        "Ik ben het eens met de analyse van Ada.",
        "Согласен с аргументом Ada.",
        "我同意Ada的分析。",
        "Adaさんの指摘に賛成です。",
        "मैं Ada के तर्क से सहमत हूँ।",
    ],
)
def test_a_point_or_argument_of_a_speaker_is_not_an_answer(text: str) -> None:
    assert points_to(text) not in {"Ada", "Compatible (m1)", OWN}
    assert read_answer(text, Asked("open")).certainty == "unread"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I agree with Ada's first point. No change.", OWN),
        ("I agree with Ada's point. My answer stays the same.", OWN),
        ("I agree with Ada's point, but I stand by my answer.", OWN),
        ("I agree with Ada. However, my answer is unchanged.", OWN),
        ("Ich stimme Ada zu, bleibe aber bei meiner Antwort.", OWN),
        ("Je suis d'accord avec Ada, mais je maintiens ma réponse.", OWN),
        ("我同意Ada的分析，但我不改变我的答案。", OWN),
        ("I agree with Ada. No change.", "Ada + you"),
        ("Ada is right. No change.", "Ada + you"),
        ("Ada is right. I stand by my answer.", "Ada + you"),
        ("Ada's answer is best, after mine.", "Ada + you"),
        ("Ich stimme Ada zu. Keine Änderung.", "Ada + you"),
        ("I agree with Ada, she is right.", "Ada"),
    ],
)
def test_a_text_that_agrees_with_a_speaker_may_keep_its_own_answer(text: str, name: str) -> None:
    assert points_to(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "None of the three is correct.",
        "Both of them are right.",
        "Keiner der drei hat recht.",
        "Aucun des trois a raison.",
        "Nessuno dei tre ha ragione.",
        "A和C都可以。",
        "A和C都对。",
    ],
)
def test_the_words_none_and_several_are_not_names(text: str) -> None:
    assert points_to(text) is None


def test_a_long_list_of_names_is_not_a_name() -> None:
    text = "I agree with Ada" + ", Bo" * 20 + " and Cy."
    assert points_to(text) == "Ada"


def test_words_after_an_opening_phrase_are_not_names() -> None:
    assert points_to("After reading both, I see that the analysis and reasoning are right.") is None
    assert points_to("ada is right") == "ada"
    assert points_to("After reading both, Ada is right.") == "Ada"


def test_letters_of_all_scripts_are_reduced_though_not_all_are_kept() -> None:
    every = "".join(map(chr, range(0x4E00, 0x4E00 + 6_000)))
    assert len(letters_of(every).text) == 6_000


def test_an_unaccented_or_decomposed_text_says_the_same() -> None:
    assert is_refusal("Je suis de\u0301sole\u0301, je ne peux pas vous aider.")
    assert is_refusal("Desole, je ne peux pas vous aider.")
    assert is_refusal("Uzgunum, bu konuda yardimci olamam.")
    assert is_refusal("對不起，我無法回答這個問題。")
    assert is_refusal("عذرا، لا أستطيع المساعدة في هذا الطلب.")
    assert points_to("Je maintiens ma reponse.") == OWN


def test_an_answer_after_a_reference_counts() -> None:
    assert read_answer("My position is unchanged.", Asked("open")).points_to == OWN
    assert read_answer("I stand by my answer: B.", Asked("choice", ("A) Lisbon", "B) Porto"))).value == "B) Porto"


@pytest.mark.parametrize(
    ("options", "text"),
    [(("Rise", "No change"), "No change"), (("Same", "Different"), "Same"), (("For", "Abstain"), "Abstain")],
)
def test_an_option_counts_even_if_it_reads_like_a_phrase(options: tuple[str, ...], text: str) -> None:
    assert read_answer(text, Asked("choice", options)).value == text


def test_phrases_of_whole_answers_that_abstain_are_refusals_for_the_reader_too() -> None:
    for phrase in open_answers._ABSTENTIONS:
        assert is_refusal(phrase), phrase
        assert read_answer(phrase, Asked("open")).value == ABSTAIN, phrase


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that request.",
        "Das kann ich leider nicht beantworten.",
        "抱歉，我无法回答这个问题。",
        "I'd rather not say",
        "“I’d rather not say.”",
    ],
)
def test_a_refusal_of_one_sentence_abstains_as_a_whole_answer(text: str) -> None:
    assert is_abstention(text)


@pytest.mark.parametrize(
    "text",
    [
        "I can't recommend Lisbon highly enough",
        "I don't know Lisbon",
        "I can't say. Lisbon",
        "我不知道。里斯本",
        "Pass",
        "Unknown",
        "I can't tell " + "x" * 300,
    ],
)
def test_a_text_that_may_contain_an_answer_is_not_an_abstention(text: str) -> None:
    assert not is_abstention(text)


def test_readers_and_counts_use_the_same_words_for_bare_answers() -> None:
    assert not YES_WORDS & NO_WORDS
    for word in YES_WORDS:
        assert yes_or_no(word) == "YES"
        assert read_answer(word, Asked("yes_no")).value == "yes"
    for word in NO_WORDS:
        assert yes_or_no(word) == "NO"
        assert read_answer(word, Asked("yes_no")).value == "no"


@pytest.mark.parametrize(
    ("phrase", "fits", "fits_not"),
    [
        ("I (still) [hold|keep] it", ["i hold it", "i still keep it"], ["i it", "i hold"]),
        ("a ... b", ["a b", "a x b", "a x y b"], ["a . b", "a " + "x" * 70 + " b", "ab"]),
        ("soll*", ["soll", "sollte"], ["sol", "soll te"]),
        ("sorry(,) no", ["sorry no", "sorry, no"], ["sorry. no"]),
        ("sorry; no", ["sorry. no", "sorry, no"], ["sorry no"]),
        ("I don't", ["i don't", "i dont"], ["i do nt"]),
        ("I [am|'m] in", ["i am in", "i'm in"], ["im in"]),
        ("É", ["e"], ["f"]),
        ("我(也)同意 你", ["我同意你", "我也同意 你"], ["我也你"]),
        ("(,) but", ["but", ", but"], [". but"]),
    ],
)
def test_signs_in_a_phrase_match_as_documented(phrase: str, fits: list[str], fits_not: list[str]) -> None:
    pattern = compile_phrase(phrase, {})
    assert [text for text in (*fits, *fits_not) if re.fullmatch(pattern, text)] == fits


@pytest.mark.parametrize(
    ("phrase", "message"),
    [
        ("I (hold", "does not close the bracket '\\('"),
        ("I [hold)", "does not close the bracket '\\['"),
        ("I hold]", "closes the bracket '\\]' that it does not open"),
        ("I hold my THING", "names the list THING, which is not defined"),
    ],
)
def test_a_phrase_with_a_slip_is_refused(phrase: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compile_phrase(phrase, {})


@pytest.mark.parametrize("source", ["I abstain.", "== English ==\nI abstain.", "-- phrases --\nI abstain."])
def test_a_phrase_without_headings_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="belongs to nothing"):
        parse_phrases(source)


def test_a_list_may_name_lists_above_it_only() -> None:
    with pytest.raises(ValueError, match="names the list LATER, which is not defined above"):
        parse_phrases("== English ==\nEARLIER = a|LATER\nLATER = b")


def test_a_file_of_phrases_is_parsed() -> None:
    (english,) = parse_phrases("# how\n== English ==\nTHING = answer|view\n-- own --\nmy THING\n> My view.\nmine\n")
    assert english.language == "English"
    assert english.lists == {"THING": "answer|view"}
    assert english.sections == {"own": ("my THING", "mine")}
    assert english.examples == {"own": ("My view.",)}
