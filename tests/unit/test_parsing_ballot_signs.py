"""Signs beside the options of a ballot: a tick, a cross or a thumb is a vote, and never left out as a picture."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roundtable.parsing import Parsed, ParseFailure, parse_answer
from roundtable.parsing.ballot_notes import approval_in, is_plain_note
from roundtable.parsing.ballot_signs import marks_in
from roundtable.types import AnswerKind

CITIES = ("Lisbon", "Porto", "Faro")
YES_NO = ("Yes", "No", "Later")
PLF = (("Porto",), ("Lisbon",), ("Faro",))


def read(text: str, kind: AnswerKind, options: tuple[str, ...] = CITIES, **more: Any) -> Parsed:
    ballot = parse_answer(text, kind, options=options, **more)
    assert isinstance(ballot, Parsed), ballot
    assert ballot.reading is not None
    assert ballot.reading.certainty == "certain"
    return ballot


def unread(text: str, kind: AnswerKind, options: tuple[str, ...] = CITIES, **more: Any) -> None:
    failure = parse_answer(text, kind, options=options, **more)
    assert isinstance(failure, ParseFailure), failure
    assert failure.reading is not None, "it was given"
    assert failure.reading.certainty == "unread"


class TestApprovals:
    @pytest.mark.parametrize(
        "text",
        [
            "Lisbon ✅\nPorto ✅\nFaro ❌",
            "✅ Lisbon\n✅ Porto\n❌ Faro",
            "✅ **Lisbon**\n✅ **Porto**\n❌ **Faro**",
            "- [x] Lisbon\n- [x] Porto\n- [ ] Faro",
            "[X] Lisbon\n[x] Porto\n[ ] Faro",
            "☑ Lisbon\n☑ Porto\n☐ Faro",
            "Lisbon ✓\nPorto ✓\nFaro ✗",
            "Lisbon ✔️\nPorto ✔️\nFaro ✖️",
            "✔ Lisbon\n✔ Porto\n✘ Faro",
            "Lisbon 👍\nPorto 👍🏽\nFaro 👎",
            "Lisbon: 👍\nPorto: 👍\nFaro: 👎",
            "Lisbon 🟢, Porto 🟢, Faro 🔴",
            "Lisbon ✅, Porto ✅, Faro 🚫",
            "Lisbon (✅), Porto (✅), Faro (❌)",
            "- Lisbon ✅\n- Porto ✅\n- Faro ❌",
            "* Lisbon: ✅\n* Porto: ✅\n* Faro: ❌",
            "1. Lisbon ✅\n2. Porto ✅\n3. Faro ❌",
            "1. [x] Lisbon\n2. [x] Porto\n3. [ ] Faro",
            "Lisbon (Y), Porto (Y), Faro (N)",
            "Lisbon: Y\nPorto: Y\nFaro: N",
            "Lisbon yes\nPorto yes\nFaro no",
            "Lisbon - yes, Porto - yes, Faro - no",
            "Lisbon ja, Porto ja, Faro nein",
            "Lisbon oui\nPorto oui\nFaro non",
            "Lisbon +\nPorto +\nFaro -",
            "Lisbon: yes ✅\nPorto: yes ✅\nFaro: no ❌",
            "Lisbon ✅ (by the sea)\nPorto ✅ - on a river\nFaro ❌",
            "My approvals:\nLisbon ✅\nPorto ✅\nFaro ❌",
            "```\nLisbon ✅\nPorto ✅\nFaro ❌\n```",
            '{"Lisbon": "✅", "Porto": "👍", "Faro": "❌"}',
            '{"approved": "Lisbon ✅, Porto ✅, Faro ❌"}',
            '{"approved": ["Lisbon ✅", "✅ Porto"]}',
            "Lisbon ✅\nPorto ✅",
            "Lisbon 🏖️, Porto 🍷",
        ],
    )
    def test_a_sign_approves_or_rejects(self, text: str) -> None:
        assert read(text, "approval").approved == ("Lisbon", "Porto")

    @pytest.mark.parametrize("text", ["- [x] Porto", "- [ ] Lisbon\n- [x] Porto", "Porto ✅", "Porto 👍\nFaro 👎"])
    def test_options_without_a_sign_are_not_approved(self, text: str) -> None:
        assert read(text, "approval").approved == ("Porto",)

    @pytest.mark.parametrize(
        "text",
        [
            "Lisbon ❌\nPorto ❌\nFaro ❌",
            "👎 Lisbon, 👎 Porto, 👎 Faro",
            "Lisbon: no\nPorto: no\nFaro: no",
            '{"Lisbon": false, "Porto": false, "Faro": false}',
        ],
    )
    def test_a_ballot_that_rejects_every_option_approves_of_none(self, text: str) -> None:
        ballot = read(text, "approval")
        assert ballot.approved == ()
        assert ballot.reading is not None
        assert ballot.reading.value == "none"

    @pytest.mark.parametrize(
        "text",
        [
            "Lisbon ❌",
            "❌ Lisbon",
            "Lisbon ✗",
            "Lisbon 👎",
            "Lisbon: ❌",
            "Lisbon (N)",
            "☐ Lisbon",
            "[ ] Lisbon",
            "Lisbon ❌\nPorto ❌",
            "- [ ] Lisbon\n- [ ] Porto",
            "- [ ] Lisbon\n- [ ] Porto\n- [ ] Faro",
            "Lisbon ❌, Porto",
            "❌ Lisbon, Porto, Faro",
            "✅ Lisbon, Porto",
            "Lisbon: yes ❌\nPorto: yes ✅",
            "Lisbon ✅❌\nPorto ✅",
            "Lisbon ❎\nPorto ✅",
            "Lisbon ☒\nPorto ☑",
            "Lisbon ↑\nPorto ↓",
            "Lisbon 😀\nPorto 😡",
            "Lisbon 🥇, Porto 🥈",
            "Lisbon ✅ (no)\nPorto ✅",
            "✅ Lisbon ❌ Porto ✅ Faro",
            "Lisbon ✅ Porto ✅",
            "Lisbon ✅\nMadrid ✅",
            '["Lisbon ❌", "Porto ✅"]',
            '{"approved": ["Lisbon ❌", "Porto ✅", "Faro ❌"]}',
            '{"approved": ["Lisbon", "Porto ❌"]}',
            '{"approved": ["Lisbon", "Porto (N)"]}',
            '{"approved": ["☐ Lisbon", "☑ Porto"]}',
            '{"approved": {"Lisbon ❌": true, "Porto": true}}',
            json.dumps({"approved": ["Lisbon ❌", f"Porto {'x' * 600}"]}),
        ],
    )
    def test_ambiguous_signs_are_not_read(self, text: str) -> None:
        unread(text, "approval")

    def test_options_that_are_words_of_approval_stay_options(self) -> None:
        assert read("Yes, No", "approval", YES_NO).approved == ("Yes", "No")
        assert read("Yes: no\nNo: yes\nLater: no", "approval", YES_NO).approved == ("No",)

    def test_a_sign_in_an_option_says_nothing(self) -> None:
        options = ("👍 Build", "✅ Lease")
        assert read("👍 Build, ✅ Lease", "approval", options).approved == options
        assert read("✅ Lease > 👍 Build", "ranking", options).ranking == (("✅ Lease",), ("👍 Build",))


class TestRankings:
    @pytest.mark.parametrize(
        "text",
        [
            "🥇 Porto\n🥈 Lisbon\n🥉 Faro",
            "🥉 Faro\n🥈 Lisbon\n🥇 Porto",
            "1. 🥇 Porto\n2. 🥈 Lisbon\n3. 🥉 Faro",
            "Porto 🏆, Lisbon, Faro",
            "Porto 🏖️ > Lisbon ✈️ > Faro ☀️",
            '{"ranking": ["Lisbon 🥈", "Porto 🥇", "Faro 🥉"]}',
        ],
    )
    def test_a_medal_is_a_place(self, text: str) -> None:
        assert read(text, "ranking").ranking == PLF

    @pytest.mark.parametrize(
        "text",
        [
            "Lisbon ❌\nPorto ✅\nFaro ❌",
            "❌ Lisbon, Porto, Faro",
            "Porto 👎 > Lisbon",
            "1. Porto\n2. Lisbon\n3. ❌ Faro",
            "Porto > Lisbon 🚫",
            "Porto (N) > Lisbon",
            "Porto ↓, Lisbon ↑",
            "❷ Lisbon\n❶ Porto",
            "☐ Lisbon",
            "- [ ] Lisbon",
            "Porto 😡 > Lisbon",
            "1. 🥈 Porto\n2. Lisbon",
            "🥈 Porto > 🥇 Lisbon",
            "🥇 Porto ❌\n🥈 Lisbon",
            '["Porto ❌", "Lisbon"]',
            '{"ranking": ["Lisbon ❌", "Porto ✅", "Faro ❌"]}',
            '{"ranking": ["Lisbon (N)", "Porto (Y)"]}',
            '{"ranking": ["Porto", "👎 Lisbon"]}',
            '{"ranking": ["Porto", "Lisbon ⭐"]}',
        ],
    )
    def test_a_ranking_with_votes_next_to_its_options_is_not_read(self, text: str) -> None:
        unread(text, "ranking")

    def test_a_tick_next_to_the_only_option_puts_it_first(self) -> None:
        assert read("Porto ✅", "ranking").ranking == (("Porto",),)


@pytest.mark.parametrize(
    "text",
    [
        "Lisbon ❌: 7\nPorto: 9",
        "❌ Lisbon: 7\nPorto: 9",
        "Lisbon: 7 👎\nPorto: 9",
        "Lisbon ✅: 7\nPorto ❌: 9",
        '{"scores": {"Lisbon ❌": 7, "Porto": 9}}',
        '{"scores": {"Lisbon (N)": 7, "Porto": 9}}',
        '{"scores": {"🥈 Lisbon": 7, "Porto": 9}}',
        '{"scores": {"Lisbon": "7 ❌", "Porto": "❌"}}',
    ],
)
def test_scores_with_votes_next_to_their_options_are_not_read(text: str) -> None:
    unread(text, "scores", scale=(0, 10))


def test_pictures_next_to_scores_are_ignored() -> None:
    assert read("Lisbon 🏖️: 7\nPorto 🍷: 9", "scores", scale=(0, 10)).scores == (("Lisbon", 7.0), ("Porto", 9.0))


def test_signs_are_separated_from_the_rest_of_a_text() -> None:
    assert marks_in("**Lisbon**: ✔️ cheap") == ("**Lisbon (cheap)", ("yes",))
    assert marks_in("Lisbon") == ("Lisbon", ())
    assert marks_in("✅") == ("", ("yes",))
    assert marks_in("a ✅ b ✅ c").signs == ("yes", "yes", "unclear")
    assert [approval_in(text) for text in ("✅", "👎", "yes ✅", "yes ❌", "✅ perhaps", "😀")] == [
        *(True, False, True, None, None, None)
    ]
    assert not any(map(is_plain_note, ("❌", "(N)", "😡", "Y", "🥇")))
    assert is_plain_note("🏖 by the sea")
