"""Replies whose right reading is known: the made-up ones beside the tests, and recorded ones where they are found."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import roundtable as rt
from roundtable.parsing import read_reply
from roundtable.reading import ABSTAIN, Asked, QuestionKind
from roundtable.reading.numbers import find_numbers, plain
from roundtable.scoring.open_answers import parse_open
from roundtable.testing import ScriptedModel
from roundtable.types import AgentConfig, AgentResponse

HERE: Final = Path(__file__).parent
DATA: Final = Path(os.environ.get("ROUNDTABLE_SHARED_DATA") or HERE.parents[1] / "shared" / "data")
TRANSCRIPTS: Final = DATA / "transcripts" / "dev.jsonl"
SETTLED: Final = DATA.parent / "tools" / "reading.json"
"""For each recorded debate, round and agent the settled answer: a letter, a number, null or "?"."""
UNSETTLED: Final = "?"
POINTS_BACK: Final = "POINTS_BACK:"
LETTERS: Final = "ABCD"
NEARLY: Final = Fraction(1, 1_000_000)

Outcome: TypeAlias = Literal["right", "lost", "misread", "open"]
"""What a reading is: the right answer; nothing, though there is an answer; another answer; rightly nothing."""
OUTCOMES: Final[tuple[Outcome, ...]] = ("right", "lost", "misread", "open")
Relation: TypeAlias = Literal["same", "different", "unknown"]


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply, with the answer that a careful reader finds in it."""

    key: str
    text: str
    kind: QuestionKind
    wanted: str | None
    """The right reading; `None` if the reply has no single answer."""
    options: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    """The options as the question lists them, with their labels; a debate may offer the labels alone."""
    author: str = ""
    """The model, or the kind of model, that writes like this."""
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Round:
    """A round of a recorded debate."""

    key: str
    kind: QuestionKind
    options: tuple[str, ...]
    author: str
    replies: tuple[Reply, ...]
    """One of each agent; `wanted` is `UNSETTLED` where careful readers do not agree."""

    @property
    def is_unanimous(self) -> bool:
        """Check whether several agents give the same answer, and each of them a settled one."""
        wanted = {reply.wanted for reply in self.replies}
        return len(self.replies) > 1 and len(wanted) == 1 and wanted.isdisjoint({UNSETTLED, None})


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def made_up_replies() -> list[Reply]:
    """Return the made-up replies."""
    return [
        Reply(
            key=one["id"],
            text=one["reply"],
            kind=one["kind"],
            wanted=one["read"],
            options=tuple(one["options"] or ()),
            listed=tuple(one["options"] or ()),
            author=one["style"],
            language=one["language"],
        )
        for one in lines(HERE / "unit" / "reading" / "replies.jsonl")
    ]


def made_up_pairs() -> list[dict[str, Any]]:
    """Return the made-up pairs of short answers, with the relation between the two."""
    return list(lines(HERE / "unit" / "reading" / "pairs.jsonl"))


def listed_options(question: str) -> tuple[str, ...]:
    """Return the options of a question that lists them as *A) one, B) two*; empty if it lists none."""
    found = re.search(r":\s*(A\)\s.*)$", question, re.DOTALL)
    if found is None:
        return ()
    listed = re.split(r"\s*(?:Explain your answer|Put your answer|Please)", found[1])[0]
    options = tuple(part.strip(" ,\n") for part in re.split(r",?\s*(?=\b[A-D]\) )", listed) if part.strip())
    return options if [option[:2] for option in options] == [f"{letter})" for letter in LETTERS] else ()


@cache
def recorded_rounds(settled: Path = SETTLED) -> tuple[Round, ...]:
    """Return the rounds of the recorded debates; one in three has the labels of its options alone."""
    answers = json.loads(settled.read_text("utf-8"))
    debates = [debate for debate in lines(TRANSCRIPTS) if debate["id"] in answers]
    return tuple(
        _round(f"{debate['id']}/{number}", debate, turns, wanted)
        for debate in debates
        for number, (turns, wanted) in enumerate(zip(debate["rounds"], answers[debate["id"]], strict=False))
        if turns
    )


def _round(key: str, debate: Mapping[str, Any], turns: list[Any], wanted: list[Any]) -> Round:
    is_number = debate.get("task") == "gsm"
    listed = () if is_number else listed_options(debate["question"] or "")
    has_texts = listed and hashlib.sha256(key.encode()).digest()[0] % 3
    options = () if is_number else listed if has_texts else tuple(LETTERS)
    kind: QuestionKind = "number" if is_number else "choice"
    replies = tuple(
        Reply(f"{key}/{seat}", turn["text"], kind, _wanted(answer, options), options, listed, debate.get("model", "?"))
        for seat, (turn, answer) in enumerate(zip(turns, wanted, strict=False))
    )
    return Round(key, kind, options, debate.get("model", "?"), replies)


def _wanted(answer: str | float | None, options: tuple[str, ...]) -> str | None:
    if answer is None or answer == UNSETTLED:
        return answer
    return options[LETTERS.index(answer)] if isinstance(answer, str) else plain(Fraction(str(answer)))


def recorded_replies(settled: Path = SETTLED) -> list[Reply]:
    """Return the recorded replies with settled answers."""
    return [reply for recorded in recorded_rounds(settled) for reply in recorded.replies if reply.wanted != UNSETTLED]


def read(reply: Reply, kind: QuestionKind | None = None) -> str | None:
    """Return what the library takes as the answer of a reply, perhaps as to a question of another kind."""
    reading = read_reply(reply.text, Asked(kind or reply.kind, reply.options))
    if reading.points_to is not None:
        return POINTS_BACK + ("self" if reading.points_to == "you" else reading.points_to)
    return reading.value if reading.certainty == "certain" else None


def judge(reply: Reply, got: str | None) -> Outcome:
    """Return whether a reading is right, lost, misread, or rightly none."""
    if got is None:
        return "open" if reply.wanted is None else "lost"
    return "right" if reply.wanted is not None and is_answer(reply, got) else "misread"


def is_answer(reply: Reply, got: str) -> bool:
    """Check whether a text is the right answer: numbers by value, own words without their wrapping."""
    wanted = reply.wanted or ""
    if got == wanted:
        return True
    if reply.kind == "number":
        value, right = number_in(got), number_in(wanted)
        return value is not None and right is not None and abs(value - right) < NEARLY
    return reply.kind in {"open", "formula"} and _bare(got) == _bare(wanted)


def number_in(text: str) -> Fraction | None:
    """Return the only number of a short answer, such as 3 in *a tip of $3*; `None` for a text with none or several."""
    found = list(find_numbers(text))
    return found[0].value if len(found) == 1 else None


def _bare(text: str) -> str:
    return " ".join(text.split()).strip(" .`*\"'").casefold()


def relation(one: str, other: str) -> Relation:
    """Return how the rule for open answers relates two short answers."""
    parsed, parsed_other = parse_open(one), parse_open(other)
    if parsed.key == parsed_other.key:
        return "same"
    return "different" if parsed.contradicts(parsed_other) else "unknown"


@dataclass(frozen=True, slots=True)
class Held:
    """A recorded round, held again: each agent says its recorded reply, and repeats it when it is asked again."""

    recorded: Round
    result: rt.DebateResult | None
    """`None` if no reply was readable."""

    @property
    def responses(self) -> list[AgentResponse | None]:
        """Return what the library made of each reply."""
        turns = self.result.rounds[0].responses if self.result else ()
        said = {turn.agent_id: turn for turn in turns if isinstance(turn, AgentResponse)}
        return [said.get(f"a{seat}") for seat in range(len(self.recorded.replies))]

    @property
    def is_agreed(self) -> bool:
        """Check whether the round is called unanimous."""
        consensus = self.result and self.result.rounds[0].consensus
        return bool(consensus) and consensus.agreement_level == 1

    @property
    def is_dissent(self) -> bool:
        """Check whether some of the agents are said to disagree."""
        consensus = self.result and self.result.rounds[0].consensus
        return bool(consensus) and consensus.agreement_at_most < 1

    def pairs(self) -> Iterator[tuple[Relation, Relation, str]]:
        """Yield for each pair of settled answers the right relation, the one found, and the pair."""
        rows = self.result.frames("pairs", "records") if self.result else ()
        found = {frozenset((row["agentId"], row["otherId"])): row["relation"] for row in rows}
        settled = [
            (seat, reply) for seat, reply in enumerate(self.recorded.replies) if reply.wanted not in {UNSETTLED, None}
        ]
        for (seat, one), (other_seat, other) in combinations(settled, 2):
            relations = found.get(frozenset((f"a{seat}", f"a{other_seat}")), "unknown")
            yield "same" if one.wanted == other.wanted else "different", relations, f"{one.key} ~ {other_seat}"


def hold(recorded: Round) -> Held:
    """Hold a recorded round again."""
    model = ScriptedModel({f"a{seat}": [reply.text] * 2 for seat, reply in enumerate(recorded.replies)})
    agents = [
        rt.BaseAgent(AgentConfig(id=f"a{seat}", name=f"A{seat}", provider="scripted"), model)
        for seat in range(len(recorded.replies))
    ]
    question = "Which one?" if recorded.options else "How many?"
    options = list(recorded.options) or None
    try:
        result = rt.debate_sync(question, agents=agents, rounds=1, options=options, quorum=1, storage="memory://")
    except rt.RoundtableError:  # no reply was readable
        return Held(recorded, None)
    return Held(recorded, result)


def causes(held: Held) -> list[str]:
    """Return why a unanimous round is left open: which answers were unread, and which read ones are not equal."""
    found = []
    values = dict[str, str]()
    for response in held.responses:
        reading = response and response.reading
        if response is None or reading is None:
            found.append("no response")
        elif reading.certainty != "certain" or reading.value is None:
            found.append(f"{reading.certainty}, rule {reading.rule}")
        elif reading.value == ABSTAIN:
            found.append("read as an abstention")
        else:
            values.setdefault(parse_open(reading.value).key, reading.value)
    if len(values) > 1:
        numbers = {number_in(value) for value in values.values()}
        reason = "other units" if len(numbers) == 1 and None not in numbers else "other wordings"
        found.append(f"{reason}: {', '.join(repr(value) for value in values.values())}")
    return found
