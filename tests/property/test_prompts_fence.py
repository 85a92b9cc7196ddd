"""Nothing untrusted reaches the system message, or stands in the user message outside quotations."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from property.test_fence import HOSTILE
from snapshots.prompt_views import ADA, COMPACT, FULL, NONCE, ask, planned, said, view

from roundtable.types import Citation, ContextResult, DebateContext, Message, ModelProfile

LAW = settings(deadline=None)
clean_hostile = [piece for piece in HOSTILE if piece.isascii() or not re.search("[\ud800-\udfff]", piece)]
hostile = st.lists(st.sampled_from(clean_hostile) | st.text(max_size=6), min_size=1, max_size=6).map("".join)
solid = hostile.filter(str.strip)
texts = st.fixed_dictionaries(
    dict.fromkeys(("topic", "focus", "option", "request", "result", "name", "position", "reasoning", "source"), solid)
)
BENIGN = dict.fromkeys(
    ("topic", "focus", "option", "request", "result", "name", "position", "reasoning", "source"), "x"
)
QUOTATION = re.compile(rf"^BEGIN QUOTE {NONCE} \([^()\n]*\)\n(?:\| .*\n)+END QUOTE {NONCE}$", re.MULTILINE)


def context_of(text: dict[str, str]) -> DebateContext:
    """Put the texts wherever a text of others can stand."""
    answers = [
        said("Ada", text["position"]),
        said(
            "Bo",
            text["position"],
            slot=1,
            reasoning=text["reasoning"],
            choice=text["option"],
            citations=(Citation(title=text["source"], url=text["source"]),),
        ).model_copy(update={"agent_name": text["name"]}),
    ]
    results = (
        ContextResult(request_id=text["request"], success=True, result=text["result"]),
        ContextResult(request_id="r", success=False, error=text["result"]),
    )
    facts = {"topic": text["topic"], "focus_question": text["focus"], "context_results": results}
    return planned(view(*answers, **facts, options=(text["option"], "none of these")))


def messages_of(text: dict[str, str], profile: ModelProfile) -> list[Message]:
    return list(ask(ADA, profile, context_of(text)))


@LAW
@given(texts)
def test_full_prompts_put_all_text_of_others_between_markers(text: dict[str, str]) -> None:
    system, user = messages_of(text, FULL)
    benign_system, benign_user = messages_of(BENIGN, FULL)
    assert (system.role, user.role) == ("system", "user")
    assert system == benign_system
    bare, quotations = QUOTATION.subn("«»", user.content)
    assert bare == QUOTATION.sub("«»", benign_user.content)
    assert quotations == 7
    assert len(re.findall(NONCE, bare)) == 0


@LAW
@given(texts)
def test_compact_prompts_put_all_text_of_others_in_quotes_on_its_own_line(text: dict[str, str]) -> None:
    system, example, shown, user = messages_of(text, COMPACT)
    assert [system, example, shown] == messages_of(BENIGN, COMPACT)[:3]
    lines = user.content.splitlines()
    assert len(lines) == 6
    assert re.fullmatch(r'Question: "[^"]*"', lines[0])
    assert re.fullmatch(r'Now think about this: "[^"]*"', lines[1])
    assert re.fullmatch(r'Fact: "[^"]*"', lines[2])
    assert re.fullmatch(r'.{0,40} says: "[^"]{0,140}"', lines[3])
    assert re.fullmatch(r'The options are: "[^"]*", "none of these"\.', lines[4])
    assert lines[5] == "Answer in one sentence, and give the reason."
