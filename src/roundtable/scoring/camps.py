"""Camps of open answers that say the same, the interval of their agreement, and the answer of a strict plurality.

Pure, without a model. There are three kinds of evidence: the texts of the answers, what their authors declared about
each other's answers, and the verdicts of a reader (a model that compares pairs of answers). The result is what this
evidence proves, and how much stays open. Names and the order of answers don't change the result.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from roundtable.scoring.open_answers import OpenText, parse_open

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from roundtable.core.types.answers import AgentResponse, TurnKey
    from roundtable.core.types.debate import AnyTurn

__all__ = [
    "Camp",
    "Camps",
    "Evidence",
    "OpenAnswer",
    "PairVerdict",
    "Said",
    "SameOrDifferent",
    "abstains",
    "answer_names",
    "answers_by_turn",
    "compare_answers",
    "find_camps",
    "find_round_camps",
    "said_by",
    "to_open_answer",
]

SameOrDifferent: TypeAlias = Literal["same", "different"]
"""Whether two answers say the same."""
Evidence: TypeAlias = Literal["equal", "marked", "read", "declared", "contested", "unknown"]
"""How a pair of answers was judged. `equal`: the texts are equal. `marked`: options, stances or numbers differ. `read`:
a reader judged it. `declared`: it follows from what the authors declared. `contested`: there is no verdict, because the
evidence contradicts itself. `unknown`: there is no evidence."""

_KEPT: Final = "_said"
"""Name of the entry of an answer's attributes that keeps what the answer says, together with the parsed text."""
_UNREAD: Final = "unread"
_MOST_STEPS: Final = 20_000
"""Maximum steps of the search for the heaviest set of rival answers; if they do not suffice, there is no winner."""


@dataclass(frozen=True, slots=True)
class Said:
    """What an answer says."""

    text: str
    """The bottom line of the answer, or the whole position."""
    choice: str | None = None
    """The chosen option, if the question has options."""
    stance: str | None = None
    """`YES` or `NO`; other stances do not show that two answers differ."""
    unread: str | None = None
    """For an answer that was given, but could not be read with certainty: a name that no other answer has. Nothing is
    known about what it says."""
    parsed: OpenText | None = field(default=None, init=False, compare=False, repr=False)
    """The parsed text, once it was needed; it is not part of the value."""


@dataclass(frozen=True, slots=True)
class OpenAnswer:
    """The current answer of one agent."""

    agent: str
    """Name of the agent; unique."""
    said: Said
    """What it says."""
    declared: tuple[tuple[Said, SameOrDifferent], ...] = ()
    """Answers of other agents that the agent had seen, in their wording at that time, each with its verdict on it."""
    abstains: bool = False
    """Whether the answer does not count, such as a provider's refusal. Texts that abstain are recognised without this
    field."""
    about_self: tuple[tuple[Said, SameOrDifferent], ...] = ()
    """The agent's own earlier answers, each with its verdict on it. That one is still the same counts only if another
    voice says so of both."""


class PairVerdict(NamedTuple):
    """How two different answers relate."""

    first: str
    """Wording of one answer."""
    second: str
    """Wording of the other answer."""
    verdict: SameOrDifferent | None
    """`None` if it is unknown."""
    evidence: Evidence
    """Where the verdict comes from."""


class Camp(NamedTuple):
    """Agents that say the same."""

    name: str
    """The most frequent wording; of equally frequent ones, the shortest."""
    agents: tuple[str, ...]
    """The agents, in the order of the answers."""


@dataclass(frozen=True, slots=True)
class Camps:
    """What the answers of a round prove."""

    camps: tuple[Camp, ...]
    """All camps, the largest first."""
    at_least: Fraction
    """Agreement in [0, 1] if all unknown pairs differ."""
    at_most: Fraction
    """Agreement in [0, 1] if no unknown pair differs."""
    winner: Camp | None
    """The camp that is larger than any other camp could be; `None` if there is no such camp."""
    pairs: tuple[PairVerdict, ...]
    """Every pair of different wordings."""
    told_apart: frozenset[tuple[int, int]] = frozenset()
    """Pairs of indices of camps (the lower index first) whose options, stances or numbers differ."""
    not_compared: tuple[str, ...] = ()
    """Agents outside the first camp whose answers are not known to differ from it."""
    abstained: tuple[str, ...] = ()
    """Agents that gave no answer."""
    warnings: tuple[str, ...] = ()
    """Declarations and stances that were ignored, and contradictions, each with its reason."""

    @property
    def is_measured(self) -> bool:
        """Whether the agreement is a single figure, not an interval, and is based on at least two answers."""
        return self.at_least == self.at_most and sum(len(camp.agents) for camp in self.camps) > 1

    @property
    def is_lead_open(self) -> bool:
        """Whether there is no winner, but some pairs of answers have no verdict and could still change that."""
        return self.winner is None and any(pair.verdict is None for pair in self.pairs)


_Node: TypeAlias = tuple[str, str, str]
"""A group of answers that are certainly equal: `("choice", option, "")`, `("text", key, stance)`, or `("unread", name,
"")` for one answer. The stance is empty unless some answers use the same words with `YES` and others with `NO`."""


def find_camps(answers: Iterable[OpenAnswer], read: Mapping[tuple[str, str], SameOrDifferent] | None = None) -> Camps:
    """Find the camps of a round.

    Args:
        answers: The current answers, one for each agent.
        read: Verdicts of a reader on pairs of agents, by their names in either order; a missing pair is unknown.

    Raises:
        ValueError: An agent has two answers.

    Example:
        >>> lisbon, porto = Said("Lisbon"), Said("It is Porto")
        >>> found = find_camps([OpenAnswer("ada", lisbon), OpenAnswer("bo", Said("lisbon.")), OpenAnswer("cy", porto)])
        >>> float(found.at_least), float(found.at_most), found.winner
        (0.3333333333333333, 1.0, Camp(name='Lisbon', agents=('ada', 'bo')))
    """
    return _law_of(answers, read or {}).result()


def _law_of(answers: Iterable[OpenAnswer], read: Mapping[tuple[str, str], SameOrDifferent]) -> _Law:
    all_answers = tuple(answers)
    if len({answer.agent for answer in all_answers}) < len(all_answers):
        raise ValueError("an agent has two answers in one round")
    return _Law(all_answers, read)


def compare_answers(
    answers: Iterable[OpenAnswer], read: Mapping[tuple[str, str], SameOrDifferent] | None = None
) -> dict[str, dict[str, SameOrDifferent]]:
    """Return, for each answer, how the other answers relate to it, by name; unknown pairs and abstentions are missing.

    The answers may come from several rounds if each has a name of its own.

    Args:
        answers: The answers.
        read: Verdicts of a reader on pairs of answers, as in `find_camps`.

    Raises:
        ValueError: Two answers have the same name.

    Example:
        >>> compare_answers([OpenAnswer("ada", Said("42")), OpenAnswer("bo", Said("42.0"))])
        {'ada': {'ada': 'same', 'bo': 'same'}, 'bo': {'ada': 'same', 'bo': 'same'}}
    """
    law = _law_of(answers, read or {})
    return {
        name: {
            other: verdict
            for other, other_node in law.node_of.items()
            if (verdict := law.verdicts[node].get(other_node)) is not None
        }
        for name, node in law.node_of.items()
    }


def answers_by_turn(turns: Iterable[AnyTurn]) -> dict[TurnKey, AgentResponse]:
    """Return the positions among the answers of some turns, by turn; later answers may refer to them in comparisons."""
    return {turn.key: turn.answer for turn in turns if turn.outcome == "answered" and turn.answer.kind == "position"}


def to_open_answer(name: str, response: AgentResponse, known: Mapping[TurnKey, AgentResponse]) -> OpenAnswer:
    """Convert an answer of a debate, with what it declares about the answers in `known`."""
    others: list[tuple[Said, SameOrDifferent]] = []
    own: list[tuple[Said, SameOrDifferent]] = []
    for comparison in response.compared:
        earlier = known.get(comparison.turn)
        if earlier is not None:
            claims = own if earlier.agent_id == response.agent_id else others
            claims.append((said_by(earlier, "/".join(map(str, comparison.turn))), comparison.verdict))
    return OpenAnswer(name, said_by(response, name), tuple(others), about_self=tuple(own))


def abstains(response: AgentResponse) -> bool:
    """Check whether an answer that was read abstains; a chosen option counts all the same, and a stance does not."""
    is_text = not response.choice and not response.is_unread
    return is_text and parse_open(response.bottom_line or response.position).abstains


def said_by(response: AgentResponse, name: str = "") -> Said:
    """Return what an answer says: its option and stance, and its bottom line or, without one, its whole position.

    Args:
        response: The answer.
        name: A name that no other answer has, for an answer that was not read with certainty.
    """
    unread = name if response.is_unread else None
    kept = vars(response).get(_KEPT)
    if isinstance(kept, Said) and kept.unread == unread:
        return kept
    # An answer never changes, and copies of it do not get this entry.
    said = Said(response.bottom_line or response.position, response.choice, response.stance, unread)
    if isinstance(kept, Said):
        _keep_parsed(said, kept.parsed)
    vars(response)[_KEPT] = said
    return said


def _keep_parsed(said: Said, parsed: OpenText | None) -> None:
    """Keep a parsed text with what was said, so that a stored answer is parsed once as long as it exists."""
    object.__setattr__(said, "parsed", parsed)  # the value is frozen for everybody else


def answer_names(responses: Iterable[AgentResponse]) -> list[str]:
    """Return a name for each answer: the id of its agent, with a number from the agent's second answer on."""
    names: dict[str, None] = {}
    for response in responses:
        name, number = response.agent_id, 1
        while name in names:
            number += 1
            name = f"{response.agent_id} ({number})"
        names[name] = None
    return list(names)


def find_round_camps(
    responses: Sequence[AgentResponse],
    earlier: Mapping[TurnKey, AgentResponse] | None = None,
    read: Mapping[tuple[int, int], SameOrDifferent] | None = None,
) -> Camps:
    """Find the camps of a round; in the result, the answers have the names that `answer_names` returns.

    Args:
        responses: The answers; an agent may have several.
        earlier: Earlier answers by turn, to which comparisons of the answers may refer.
        read: Verdicts of a reader on pairs of answers, by their indices.
    """
    known, names = earlier or {}, answer_names(responses)
    answers = [to_open_answer(name, response, known) for name, response in zip(names, responses, strict=True)]
    pairs: dict[tuple[str, str], SameOrDifferent] = {
        (names[index], names[other_index]): verdict for (index, other_index), verdict in (read or {}).items()
    }
    return find_camps(answers, pairs)


def _stance(said: Said) -> str | None:
    return said.stance if said.stance in {"YES", "NO"} and said.unread is None else None


def _is_text(said: Said) -> bool:
    """Check whether an answer says what its text says: it is read, and does not choose an option."""
    return said.choice is None and said.unread is None


class _Law:
    """The evidence of one round, and what follows from it."""

    def __init__(self, answers: Sequence[OpenAnswer], read: Mapping[tuple[str, str], SameOrDifferent]) -> None:
        self.given = answers
        self.parsed: dict[str, OpenText] = {}
        self.nodes: dict[Said, _Node] = {}
        self.current = current = [answer for answer in answers if not self._abstains(answer)]
        self.warnings: list[str] = []
        self.stances = {answer.agent: self._stance_of(answer) for answer in current}
        self.split = self._split_keys()
        self.node_of = {answer.agent: self._node(answer.said, self.stances[answer.agent]) for answer in current}
        self.sayers: defaultdict[_Node, list[OpenAnswer]] = defaultdict(list)
        for answer in current:
            self.sayers[self.node_of[answer.agent]].append(answer)
        self.sides: dict[_Node, set[str]] = defaultdict(set)
        self.texts: dict[_Node, OpenText] = {}
        for answer in current:
            self._note(self.node_of[answer.agent], answer.said, self.stances[answer.agent])
        for said in dict.fromkeys(said for answer in current for said, _ in (*answer.declared, *answer.about_self)):
            node = self.nodes[said] = self._node(said, self._side(said))
            if node not in self.sayers:
                self._note(node, said, self._side(said))
        self.still_same: dict[str, set[_Node]] = {}
        claims = {answer.agent: self._declarations(answer) for answer in current}
        self.read = self._readings(read)
        self.declared = {answer.agent: self._with_confirmed(answer, claims) for answer in current}
        self.names = {node: self._name([node]) for node in self.sayers}
        self.evidence = {pair: self._judge(*pair) for pair in combinations(self.sayers, 2)}
        self.verdicts: dict[_Node, dict[_Node, SameOrDifferent | None]] = {node: {node: "same"} for node in self.sayers}
        for (left, right), (verdict, _) in self.evidence.items():
            self.verdicts[left][right] = self.verdicts[right][left] = verdict

    def _parse(self, said: Said) -> OpenText:
        parsed = said.parsed or self.parsed.get(said.text) or parse_open(said.text)
        self.parsed[said.text] = parsed
        _keep_parsed(said, parsed)
        return parsed

    def _abstains(self, answer: OpenAnswer) -> bool:
        return answer.abstains or (_is_text(answer.said) and self._parse(answer.said).abstains)

    def _side(self, said: Said) -> str | None:
        """Return the side of an answer: a bare yes or no, else its stance."""
        return (self._parse(said).side if _is_text(said) else None) or _stance(said)

    def _stance_of(self, answer: OpenAnswer) -> str | None:
        """Return the side of an answer; if a bare yes or no contradicts the answer's stance, the stance is ignored."""
        stance = _stance(answer.said)
        bare = self._parse(answer.said).side if _is_text(answer.said) else None
        if bare is None or stance is None or bare == stance:
            return bare or stance
        self.warnings.append(f"{answer.agent} says {bare} with the stance {stance}; the stance is ignored")
        return bare

    def _split_keys(self) -> set[str]:
        """Return the texts that are said with both stances."""
        sides: defaultdict[str, set[str | None]] = defaultdict(set)
        for answer in self.current:
            if _is_text(answer.said):
                sides[self._parse(answer.said).key].add(self.stances[answer.agent])
        return {key for key, stances in sides.items() if {"YES", "NO"} <= stances}

    def _node(self, said: Said, stance: str | None) -> _Node:
        if said.unread is not None:
            return (_UNREAD, said.unread, "")
        if said.choice is not None:
            return ("choice", said.choice, "")
        key = self._parse(said).key
        return ("text", key, (stance or "") if key in self.split else "")

    def _note(self, node: _Node, said: Said, stance: str | None) -> None:
        self.texts.setdefault(node, self._parse(said))
        if stance is not None:
            self.sides[node].add(stance)

    def _are_different(self, left: _Node, right: _Node) -> bool:
        """Check whether two answers differ in their options, stances or numbers."""
        if _UNREAD in {left[0], right[0]}:
            return False
        if left[0] == right[0] == "choice":
            return True
        sides = self.sides.get(left, set()), self.sides.get(right, set())
        if sides in (({"YES"}, {"NO"}), ({"NO"}, {"YES"})):
            return True
        return left[0] == right[0] and self.texts[left].contradicts(self.texts[right])

    def _claims(self, answer: OpenAnswer) -> dict[_Node, SameOrDifferent]:
        """Return an agent's verdict on each answer, without those that it calls both the same and different."""
        claims: dict[_Node, SameOrDifferent] = {}
        unclear: set[_Node] = set()
        for said, verdict in (*answer.declared, *answer.about_self):
            node = self.nodes[said]
            if claims.setdefault(node, verdict) != verdict:
                unclear.add(node)
        for node in unclear:
            del claims[node]
            warning = f"{answer.agent} calls one answer both the same and different; that is ignored"
            if warning not in self.warnings:
                self.warnings.append(warning)
        return claims

    def _declarations(self, answer: OpenAnswer) -> dict[_Node, SameOrDifferent]:
        """Return what an agent declared about each answer, without own earlier answers that it calls the same.

        Those are kept in `still_same`. If the agent calls answers the same that certainly differ, all its declarations
        are ignored.
        """
        own = self.node_of[answer.agent]
        claims = self._claims(answer)
        same = [node for node, verdict in claims.items() if verdict == "same"]
        if any(self._are_different(*pair) for pair in combinations({own, *same}, 2)):
            self.warnings.append(f"{answer.agent} calls answers the same that differ; what it declared is ignored")
            claims = {}
        if claims.get(own) == "different":
            self.warnings.append(f"{answer.agent} calls an answer different that equals its own; that is ignored")
        about_others = {self.nodes[said] for said, _ in answer.declared}
        still_same = {node for node, verdict in claims.items() if verdict == "same" and node not in about_others}
        self.still_same[answer.agent] = still_same
        return {**{node: verdict for node, verdict in claims.items() if node not in still_same}, own: "same"}

    def _with_confirmed(
        self, answer: OpenAnswer, claims: Mapping[str, Mapping[_Node, SameOrDifferent]]
    ) -> dict[_Node, SameOrDifferent]:
        """Return an agent's declarations, with its own earlier answers that another voice also calls the same as now.

        An agent that moves may believe that it still says the same, and would join its new camp with the old one.
        """
        own = self.node_of[answer.agent]
        confirmed: dict[_Node, SameOrDifferent] = {
            node: "same"
            for node in self.still_same[answer.agent]
            if self._is_confirmed(own, node, answer.agent, claims)
        }
        return {**claims[answer.agent], **confirmed}

    def _is_confirmed(
        self, node: _Node, earlier: _Node, agent: str, claims: Mapping[str, Mapping[_Node, SameOrDifferent]]
    ) -> bool:
        """Check whether the reader, or another agent, says that two answers are the same.

        What agents say about their own earlier answers is left out: two that moved alike confirm nothing.
        """
        if self.read.get(frozenset((node, earlier))) == "same":
            return True
        return any(
            verdicts.get(node) == verdicts.get(earlier) == "same"
            for other, verdicts in claims.items()
            if other != agent
        )

    def _readings(
        self, read: Mapping[tuple[str, str], SameOrDifferent]
    ) -> dict[frozenset[_Node], SameOrDifferent | None]:
        """Return the reader's verdict on each pair of answers; `None` where the reader contradicts itself."""
        readings: dict[frozenset[_Node], SameOrDifferent | None] = {}
        for (name, other_name), verdict in read.items():
            if (
                name not in self.node_of
                or other_name not in self.node_of
                or self.node_of[name] == self.node_of[other_name]
            ):
                continue
            pair = frozenset((self.node_of[name], self.node_of[other_name]))
            readings[pair] = verdict if readings.get(pair, verdict) == verdict else None
        return readings

    def _judge(self, left: _Node, right: _Node) -> tuple[SameOrDifferent | None, Evidence]:
        """Return how two different answers relate, and the evidence for it."""
        if _UNREAD in {left[0], right[0]}:
            return None, "unknown"
        if self._are_different(left, right):
            return "different", "marked"
        verdicts = set(self._declared_verdicts(left, right))
        pair = frozenset((left, right))
        reading = self.read.get(pair)
        if pair in self.read and reading is None:
            return None, "contested"
        if reading is None:
            if len(verdicts) == 1:
                return verdicts.pop(), "declared"
            return None, "contested" if verdicts else "unknown"
        if len(verdicts) == 1 and reading not in verdicts:
            return None, "contested"
        return reading, "read"

    def _declared_verdicts(self, left: _Node, right: _Node) -> Iterable[SameOrDifferent]:
        """Yield what follows for each pair of authors, from every answer that both of them compared with their own.

        If both authors call that answer the same as their own, their answers are the same. If only one of them does,
        their answers differ. If neither does, nothing follows. Each author's own answer is included, as the same.
        """
        for first in self.sayers[left]:
            mine = self.declared[first.agent]
            for second in self.sayers[right]:
                yours = self.declared[second.agent]
                for node, verdict in mine.items():
                    if node in yours and "same" in {verdict, yours[node]}:
                        yield "same" if verdict == yours[node] else "different"

    def result(self) -> Camps:
        """Return the camps, and what follows from them."""
        same = {
            node: frozenset(other for other, verdict in verdicts.items() if verdict == "same")
            for node, verdicts in self.verdicts.items()
        }
        for pair, (_, evidence) in self.evidence.items():
            if evidence == "contested":
                self.warnings.append(self._contradiction(*pair))
        twins: defaultdict[frozenset[_Node], list[_Node]] = defaultdict(list)
        for node, others in same.items():
            twins[others].append(node)
        weight = {node: len(sayers) for node, sayers in self.sayers.items()}
        members = sorted(
            twins.values(),
            key=lambda camp: (-sum(weight[node] for node in camp), camp[0][0] == _UNREAD, self._name(camp), min(camp)),
        )
        camps = tuple(self._camp(camp) for camp in members)
        total = len(self.current)
        possible = [
            sum(weight[other] for other, verdict in verdicts.items() if verdict != "different")
            for verdicts in self.verdicts.values()
        ]
        return Camps(
            camps=camps,
            at_least=_lead(len(camps[0].agents) if camps else 0, total),
            at_most=_lead(max(possible, default=0), total),
            winner=self._winner(members, camps, weight),
            pairs=self._pairs(),
            told_apart=self._camps_told_apart(members),
            not_compared=self._not_compared(members[0] if members else ()),
            abstained=tuple(answer.agent for answer in self.given if answer not in self.current),
            warnings=tuple(sorted(self.warnings)),
        )

    def _contradiction(self, left: _Node, right: _Node) -> str:
        """Describe in words who contradicts whom on a pair."""
        first, second = sorted((self.names[left], self.names[right]))
        pair = frozenset((left, right))
        question = f"on whether {first!r} and {second!r} are the same"
        if pair in self.read:
            who = "the reader contradicts itself" if self.read[pair] is None else "the agents contradict the reader"
            return f"{who} {question}"
        direct = {
            verdict
            for mine, yours in ((left, right), (right, left))
            for author in self.sayers[mine]
            if (verdict := self.declared[author.agent].get(yours)) is not None
        }
        if len(direct) == 1:
            words = "the same" if direct == {"same"} else "different"
            return (
                f"the agents call {first!r} and {second!r} {words}, though what they say about other answers "
                "contradicts that"
            )
        return f"the agents contradict each other {question}"

    def _camps_told_apart(self, members: Sequence[Sequence[_Node]]) -> frozenset[tuple[int, int]]:
        camp_of = {node: index for index, camp in enumerate(members) for node in camp}
        marked = [pair for pair, (_, evidence) in self.evidence.items() if evidence == "marked"]
        pairs = (sorted((camp_of[left], camp_of[right])) for left, right in marked)
        return frozenset((first, second) for first, second in pairs)

    def _not_compared(self, camp: Sequence[_Node]) -> tuple[str, ...]:
        inside = set(camp)
        unknown = {
            node
            for node in self.sayers
            if node not in inside and all(self.verdicts[node][member] != "different" for member in camp)
        }
        return tuple(answer.agent for answer in self.current if self.node_of[answer.agent] in unknown)

    def _camp(self, nodes: Sequence[_Node]) -> Camp:
        chosen = set(nodes)
        agents = tuple(answer.agent for answer in self.current if self.node_of[answer.agent] in chosen)
        return Camp(self._name(nodes), agents)

    def _name(self, nodes: Sequence[_Node]) -> str:
        sayers = self.sayers[nodes[0]]
        if len(nodes) == len(sayers) == 1:
            return sayers[0].said.choice or sayers[0].said.text.strip()
        wordings = Counter(
            answer.said.choice or answer.said.text.strip() for node in nodes for answer in self.sayers[node]
        )
        return min(wordings, key=lambda wording: (-wordings[wording], len(wording), wording))

    def _winner(
        self, members: Sequence[Sequence[_Node]], camps: Sequence[Camp], weight: Mapping[_Node, int]
    ) -> Camp | None:
        if not camps or members[0][0][0] == _UNREAD:
            return None
        first = set(members[0])
        rivals = {node: weight[node] for node in self.sayers if node not in first}
        size = len(camps[0].agents)
        is_beaten = _has_set_of(size, rivals, lambda left, right: self.verdicts[left][right] != "different")
        return None if is_beaten else camps[0]

    def _pairs(self) -> tuple[PairVerdict, ...]:
        pairs: dict[tuple[str, str, _Node, _Node], PairVerdict] = {}
        for pair, (verdict, evidence) in self.evidence.items():
            (first, first_node), (second, second_node) = sorted((self.names[node], node) for node in pair)
            pairs[first, second, first_node, second_node] = PairVerdict(first, second, verdict, evidence)
        return tuple(pairs[key] for key in sorted(pairs))


def _lead(share: int, total: int) -> Fraction:
    """Return the lead of some answers over all other answers together, as a share of all; 0 without a majority."""
    return max(Fraction(0), Fraction(2 * share, total) - 1) if total else Fraction(0)


def _has_set_of(size: int, weight: Mapping[_Node, int], fits: Callable[[_Node, _Node], bool]) -> bool:
    """Check whether some answers, of which no two are known to differ, reach a weight together.

    The search is exact up to a number of steps. Beyond that, the result is `True`, so that no camp wins by accident.
    """
    # Answers with the most conflicts come first, since they can be combined with the fewest others.
    conflicts = {node: sum(not fits(node, other) for other in weight if other != node) for node in weight}
    nodes = sorted(weight, key=lambda node: (-conflicts[node], node))
    weights = [weight[node] for node in nodes]
    fitting = [
        sum(1 << bit for bit, node in enumerate(nodes) if bit != index and fits(nodes[index], node))
        for index in range(len(nodes))
    ]
    steps = 0

    def search(chosen: int, left: int) -> bool:
        nonlocal steps
        steps += 1
        if chosen >= size or steps > _MOST_STEPS:
            return True
        indices = [index for index in range(len(nodes)) if left >> index & 1]
        reachable = chosen + sum(weights[index] for index in indices)
        for index in indices:
            if reachable < size:
                return False
            left &= ~(1 << index)
            if search(chosen + weights[index], left & fitting[index]):
                return True
            reachable -= weights[index]
        return False

    return search(0, (1 << len(nodes)) - 1)
