"""The argument graph: the claims of a debate, what they support and attack, and whether they were answered.

It is computed from the stored answers alone; no model is called, and nothing is guessed from words. A claim supports or
attacks another claim only if its agent said so.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias
from xml.etree import ElementTree as ET

from roundtable.analysis.movement import Followed, opinion_flow
from roundtable.core.types.answers import AgentResponse, ClaimEvidence
from roundtable.core.types.base import Value
from roundtable.core.types.plan import BASELINE_STAGE, CHAIR_STAGE
from roundtable.scoring import open_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from roundtable.analysis.movement import OpinionFlow
    from roundtable.core.types.answers import Claim
    from roundtable.core.types.base import JsonObject
    from roundtable.core.types.debate import RoundRecord

__all__ = [
    "AgentInfluence",
    "ArgumentClaim",
    "ArgumentEdge",
    "ArgumentGraph",
    "ArgumentMove",
    "ClaimState",
    "EvidenceUse",
    "IgnoredReference",
    "argument_graph",
]

ClaimState: TypeAlias = Literal["answered", "unanswered", "last"]
"""Whether another agent referred to a claim later; `last` if no other agent made claims after it."""

_GRAPHML: Final = "http://graphml.graphdrawing.org/xmlns"
_NODE_KEYS: Final = (
    *(("agent", "string"), ("round", "int"), ("text", "string"), ("state", "string")),
    *(("droppedIn", "int"), ("evidence", "string")),
)


class ArgumentClaim(Value):
    """A claim, and whether it was answered or dropped."""

    id: str
    """Label of the claim, such as `R2-KTBM-1`; unique in the graph."""
    agent_id: str
    """Id of the agent that made it."""
    round: int
    """Number of the round, from 1."""
    text: str
    """The claim."""
    evidence: tuple[ClaimEvidence, ...] = ()
    """Its sources. They are not checked; `DebateResult.check_evidence` checks them."""
    state: ClaimState
    """Whether another agent supported or attacked it later; `last` if no other agent made claims after it."""
    dropped_in: int | None = None
    """Round in which its agent dropped it without a reason, or `None`. A claim is dropped if the agent's next answer
    with claims does not repeat, support or attack it, and if nobody had attacked it before. Answers that the agent
    gives as the chair don't drop claims."""


class ArgumentEdge(Value):
    """A reference from a claim to an earlier claim."""

    source: str
    """Label of the later claim."""
    target: str
    """Label of the earlier claim."""
    kind: Literal["supports", "attacks"]
    """Whether the later claim supports or attacks the earlier one."""


class EvidenceUse(Value):
    """A page, and the claims that cite it."""

    url: str
    """Address of the page."""
    title: str | None = None
    """Title of the page. It is known if the page is among the citations of an agent that cites it here, since a search
    or a tool returned it."""
    claims: tuple[str, ...]
    """Labels of the claims that cite it."""
    agents: tuple[str, ...]
    """Ids of the agents that cite it."""


class ArgumentMove(Followed):
    """A change to an answer that others gave before, with those of their claims that the agent supports then."""

    claims: tuple[str, ...] = ()
    """Labels of earlier claims, by the agents in `held_by`, that the agent supports in the round of its change."""


class AgentInfluence(Value):
    """How other agents reacted to the claims and answers of one agent."""

    agent_id: str
    """Id of the agent."""
    claims: int
    """Number of its claims."""
    supported: int
    """Number of references by others that support its claims."""
    attacked: int
    """Number of references by others that attack its claims."""
    unanswered: int
    """Number of its claims with the state `unanswered`."""
    followed: int | None = None
    """Number of changes by others to an answer that this agent gave in the previous round. Whether it was the reason is
    not known. `None` if the debate has no `opinion_flow()`, which shows who changed their answer."""


class IgnoredReference(Value):
    """A reference that is ignored."""

    source: str
    """Label of the claim that makes it."""
    target: str
    """The label to which it refers."""
    reason: Literal["unknown", "not earlier", "both"]
    """`unknown`: no claim has this label. `not earlier`: the claim is not from an earlier answer. `both`: the source
    supports and attacks the claim at the same time."""


class ArgumentGraph(Value):
    """The claims of a debate, what they support and attack, and whether they were answered or dropped."""

    claims: tuple[ArgumentClaim, ...] = ()
    """The claims, oldest first."""
    edges: tuple[ArgumentEdge, ...] = ()
    """The references, in the order of their sources; each refers to an earlier claim, so there are no cycles."""
    evidence: tuple[EvidenceUse, ...] = ()
    """The pages that claims cite, in order of first use."""
    moves: tuple[ArgumentMove, ...] = ()
    """Changes to answers that others gave before."""
    influence: tuple[AgentInfluence, ...] = ()
    """One entry for each agent that made a claim, or whose answer others adopted."""
    ignored: tuple[IgnoredReference, ...] = ()
    """References that were ignored."""

    @property
    def unanswered(self) -> tuple[ArgumentClaim, ...]:
        """Claims to which no other agent referred, although others made claims later."""
        return tuple(claim for claim in self.claims if claim.state == "unanswered")

    @property
    def dropped(self) -> tuple[ArgumentClaim, ...]:
        """Claims that their agents dropped without a reason."""
        return tuple(claim for claim in self.claims if claim.dropped_in is not None)

    @property
    def shared_evidence(self) -> tuple[EvidenceUse, ...]:
        """Pages that several agents cite."""
        return tuple(use for use in self.evidence if len(use.agents) > 1)

    def to_records(self) -> list[JsonObject]:
        """Return one flat row for each claim, for data frames and CSV."""
        by_kind: dict[tuple[str, str], list[str]] = {}
        for edge in self.edges:
            by_kind.setdefault((edge.source, edge.kind), []).append(edge.target)
        return [
            {
                "id": claim.id,
                "agentId": claim.agent_id,
                "round": claim.round,
                "text": claim.text,
                "state": claim.state,
                "droppedIn": claim.dropped_in,
                "supports": " ".join(by_kind.get((claim.id, "supports"), ())),
                "attacks": " ".join(by_kind.get((claim.id, "attacks"), ())),
                "evidence": " ".join(dict.fromkeys(source.url for source in claim.evidence)),
            }
            for claim in self.claims
        ]

    def to_graphml(self) -> str:
        """Return the graph as GraphML, a format for programs such as Gephi, yEd and networkx.

        Nodes are claims with their agent, round, text, state and sources; edges have a kind.
        """
        root = ET.Element("graphml", xmlns=_GRAPHML)
        for name, kind in _NODE_KEYS:
            ET.SubElement(root, "key", {"id": name, "for": "node", "attr.name": name, "attr.type": kind})
        ET.SubElement(root, "key", {"id": "kind", "for": "edge", "attr.name": "kind", "attr.type": "string"})
        graph = ET.SubElement(root, "graph", id="arguments", edgedefault="directed")
        for claim in self.claims:
            node = ET.SubElement(graph, "node", id=_xml(claim.id))
            urls = dict.fromkeys(source.url for source in claim.evidence)
            values = (claim.agent_id, claim.round, claim.text, claim.state, claim.dropped_in, " ".join(urls) or None)
            for (name, _), value in zip(_NODE_KEYS, values, strict=True):
                if value is not None:
                    ET.SubElement(node, "data", key=name).text = _xml(f"{value}")
        for edge in self.edges:
            drawn = ET.SubElement(graph, "edge", source=_xml(edge.source), target=_xml(edge.target))
            ET.SubElement(drawn, "data", key="kind").text = edge.kind
        ET.indent(root)
        return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """Return a text in which characters that XML does not allow are replaced."""
    return "".join(char if char in "\t\n" or _is_in_xml(char) else "\ufffd" for char in text)


def _is_in_xml(char: str) -> bool:
    return " " <= char < "\ud800" or "\udfff" < char < "\ufffe" or char > "\uffff"


class _Place(NamedTuple):
    """Position of an answer: index of its round, and of its stage within the round."""

    round: int
    stage: int


@dataclass(frozen=True, slots=True)
class _Said:
    """An answer with claims, and the labels of these claims in the graph."""

    place: _Place
    number: int
    agent_id: str
    claims: tuple[tuple[str, Claim], ...]
    is_chair: bool
    """Whether the agent speaks as the chair, who concludes for all."""


def argument_graph(rounds: Sequence[RoundRecord]) -> ArgumentGraph:
    """Build the argument graph of a debate; empty if no answer has claims.

    Args:
        rounds: The rounds, in order.
    """
    answers = list(_answers_with_claims(rounds))
    if not answers:
        return ArgumentGraph()
    edges, ignored = _references(answers)
    owners = {label: answer.agent_id for answer in answers for label, _ in answer.claims}
    fates = _Fates(answers, edges, owners)
    claims = tuple(
        ArgumentClaim(
            id=label,
            agent_id=answer.agent_id,
            round=answer.number,
            text=claim.text,
            evidence=claim.evidence,
            state=fates.state(label, answer),
            dropped_in=fates.dropped_in(label, claim, answer),
        )
        for answer in answers
        for label, claim in answer.claims
    )
    flow = opinion_flow([record for record in rounds if record.complete])
    moves = None if flow is None else tuple(_moves(flow, claims, edges))
    return ArgumentGraph(
        claims=claims,
        edges=edges,
        evidence=_evidence(rounds, claims),
        moves=moves or (),
        influence=tuple(_influence(claims, edges, owners, moves)),
        ignored=ignored,
    )


def _answers_with_claims(rounds: Sequence[RoundRecord]) -> Iterator[_Said]:
    """Yield the answers with claims; each claim has a unique label."""
    taken: dict[str, int] = {}
    for index, record in enumerate(rounds):
        stages: dict[str, int] = {}
        for turn in record.turns:
            place = _Place(index, stages.setdefault(turn.stage, len(stages)))
            if turn.outcome != "answered" or turn.stage == BASELINE_STAGE or not isinstance(turn.answer, AgentResponse):
                continue
            if turn.answer.claims:
                labelled = tuple((_free_label(_clean(claim.id), taken), claim) for claim in turn.answer.claims)
                yield _Said(place, record.number, turn.agent_id, labelled, is_chair=turn.stage == CHAIR_STAGE)


def _clean(label: str) -> str:
    """Replace unprintable characters in a label; labels that this library creates have none."""
    return label if label.isprintable() else "".join(char if char.isprintable() else "\ufffd" for char in label)


def _free_label(label: str, taken: dict[str, int]) -> str:
    """Return the label, with a number if an earlier claim has the same label, and mark it as taken.

    Args:
        label: The label.
        taken: For each label in use, the last number that was tried. It is updated.
    """
    free, number = label, taken.get(label, 1)
    while free in taken:
        number += 1
        free = f"{label}~{number}"
    taken[label] = number
    taken.setdefault(free, 1)
    return free


def _references(answers: Sequence[_Said]) -> tuple[tuple[ArgumentEdge, ...], tuple[IgnoredReference, ...]]:
    """Return the references to earlier claims, and the references that are ignored."""
    places = {label: answer.place for answer in answers for label, _ in answer.claims}
    edges: dict[ArgumentEdge, None] = {}
    ignored: dict[IgnoredReference, None] = {}
    for answer in answers:
        for label, claim in answer.claims:
            both = {*map(_clean, claim.supports)} & {*map(_clean, claim.attacks)}
            for kind, targets in (("supports", claim.supports), ("attacks", claim.attacks)):
                for target in map(_clean, targets):
                    reason: Literal["unknown", "not earlier", "both"] | None = None
                    if target not in places:
                        reason = "unknown"
                    elif places[target] >= answer.place:
                        reason = "not earlier"
                    elif target in both:
                        reason = "both"
                    if reason is not None:
                        ignored[IgnoredReference(source=label, target=target, reason=reason)] = None
                    else:
                        edges[ArgumentEdge.model_validate({"source": label, "target": target, "kind": kind})] = None
    return tuple(edges), tuple(ignored)


class _Fates:
    """The references to each claim, and the later answers of its agent, which decide its state.

    Args:
        said: The answers with claims, in order.
        edges: The references.
        owners: Agent of each claim.
    """

    def __init__(self, answers: Sequence[_Said], edges: Sequence[ArgumentEdge], owners: Mapping[str, str]) -> None:
        self._answered = {edge.target for edge in edges if owners[edge.source] != owners[edge.target]}
        self._last_place: dict[str, _Place] = {answer.agent_id: answer.place for answer in answers}
        places = {label: answer.place for answer in answers for label, _ in answer.claims}
        self._attacked_at: dict[str, _Place] = {}
        for edge in edges:
            if edge.kind == "attacks":
                first = self._attacked_at.get(edge.target, places[edge.source])
                self._attacked_at[edge.target] = min(first, places[edge.source])
        self._next: dict[str, _Said] = {}
        self._texts: dict[str, frozenset[str]] = {}
        self._targets: dict[str, set[str]] = {}
        latest: dict[str, _Said] = {}
        for answer in answers:
            if not answer.is_chair:
                before = latest.get(answer.agent_id)
                if before is not None:
                    self._next[before.claims[0][0]] = answer
                latest[answer.agent_id] = answer
            self._texts[answer.claims[0][0]] = frozenset(open_key(claim.text) for _, claim in answer.claims)
        first_of = {label: answer.claims[0][0] for answer in answers for label, _ in answer.claims}
        for edge in edges:
            self._targets.setdefault(first_of[edge.source], set()).add(edge.target)

    def state(self, label: str, answer: _Said) -> ClaimState:
        """Return whether another agent referred to a claim later."""
        if label in self._answered:
            return "answered"
        others = (place for agent, place in self._last_place.items() if agent != answer.agent_id)
        return "unanswered" if any(place > answer.place for place in others) else "last"

    def dropped_in(self, label: str, claim: Claim, answer: _Said) -> int | None:
        """Return the round in which the agent dropped its claim without a reason; `None` if it did not."""
        after = self._next.get(answer.claims[0][0])
        if after is None or after.place <= answer.place:
            return None
        key = after.claims[0][0]
        is_kept = open_key(claim.text) in self._texts[key] or label in self._targets.get(key, ())
        attacked_at = self._attacked_at.get(label)
        has_reason = attacked_at is not None and attacked_at < after.place
        return None if is_kept or has_reason else after.number


def _moves(flow: OpinionFlow, claims: Sequence[ArgumentClaim], edges: Sequence[ArgumentEdge]) -> Iterator[ArgumentMove]:
    by_id = {claim.id: claim for claim in claims}
    supported: dict[tuple[str, int], list[ArgumentClaim]] = {}
    for edge in edges:
        if edge.kind == "supports":
            source = by_id[edge.source]
            supported.setdefault((source.agent_id, source.round), []).append(by_id[edge.target])
    for followed in flow.followed():
        theirs = (
            claim.id
            for claim in supported.get((followed.agent_id, followed.round), ())
            if claim.agent_id in followed.held_by and claim.round < followed.round
        )
        yield ArgumentMove(
            agent_id=followed.agent_id,
            round=followed.round,
            camp=followed.camp,
            held_by=followed.held_by,
            claims=tuple(dict.fromkeys(theirs)),
        )


def _evidence(rounds: Sequence[RoundRecord], claims: Sequence[ArgumentClaim]) -> tuple[EvidenceUse, ...]:
    titles: dict[tuple[str, str], str] = {}
    for record in rounds:
        for turn in record.turns:
            if turn.outcome == "answered" and isinstance(turn.answer, AgentResponse):
                for citation in turn.answer.citations:
                    titles.setdefault((turn.agent_id, citation.url), citation.title)
    uses: dict[str, list[ArgumentClaim]] = {}
    for claim in claims:
        for url in dict.fromkeys(source.url for source in claim.evidence):
            uses.setdefault(url, []).append(claim)
    return tuple(
        EvidenceUse(
            url=url,
            title=next((titles[claim.agent_id, url] for claim in users if (claim.agent_id, url) in titles), None),
            claims=tuple(claim.id for claim in users),
            agents=tuple(dict.fromkeys(claim.agent_id for claim in users)),
        )
        for url, users in uses.items()
    )


def _influence(
    claims: Sequence[ArgumentClaim],
    edges: Sequence[ArgumentEdge],
    owners: Mapping[str, str],
    moves: Sequence[ArgumentMove] | None,
) -> Iterator[AgentInfluence]:
    made = Counter(claim.agent_id for claim in claims)
    unanswered = Counter(claim.agent_id for claim in claims if claim.state == "unanswered")
    foreign = [edge for edge in edges if owners[edge.source] != owners[edge.target]]
    supported = Counter(owners[edge.target] for edge in foreign if edge.kind == "supports")
    attacked = Counter(owners[edge.target] for edge in foreign if edge.kind == "attacks")
    followed = Counter(agent for move in moves or () for agent in move.held_by)
    for agent in dict.fromkeys([*made, *followed]):
        yield AgentInfluence(
            agent_id=agent,
            claims=made[agent],
            supported=supported[agent],
            attacked=attacked[agent],
            unanswered=unanswered[agent],
            followed=None if moves is None else followed[agent],
        )
