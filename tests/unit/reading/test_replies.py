"""Made-up replies of many kinds of models, in fifteen languages: none is misread, and few are lost."""

from __future__ import annotations

from functools import cache

from reading_kit import Outcome, Reply, judge, made_up_replies, read

REPLIES = made_up_replies()
MOST_LOST = 0.03


@cache
def readings() -> list[tuple[Reply, str | None]]:
    """Return each reply with what is read in it."""
    return [(reply, read(reply)) for reply in REPLIES]


def listed(outcome: Outcome) -> list[str]:
    """Return a line for each reply with some outcome."""
    return [
        f"{reply.key} ({reply.kind}, {reply.language}): {got!r} for {reply.wanted!r} in {reply.text[-300:]!r}"
        for reply, got in readings()
        if judge(reply, got) == outcome
    ]


def test_the_made_up_replies_are_of_all_kinds() -> None:
    assert len(REPLIES) >= 580
    assert {reply.kind for reply in REPLIES} == {"choice", "number", "yes_no", "formula", "open"}
    assert len({reply.language for reply in REPLIES}) >= 15


def test_no_reply_is_misread() -> None:
    misread = listed("misread")
    assert not misread, "\n".join(["misread:", *misread])


def test_few_replies_are_lost() -> None:
    lost = listed("lost")
    assert len(lost) <= MOST_LOST * len(REPLIES), "\n".join([f"{len(lost)} of {len(REPLIES)} lost:", *lost])
