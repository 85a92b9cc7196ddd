"""The vote on motions: which answers of a round are voted on, which of them the voters call the same, and which wins.

Pure, without a model. Motions are identified by their names. So the result depends neither on the letters that motions
had on a voter's list nor on their order. If most voters say that two motions are the same in other words, the two are
joined: they are counted as one motion.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple, assert_never

from roundtable.core.base.words import amount, counted, listing, shortened
from roundtable.core.types.answers import AgentResponse, PlanAnswer, TextAnswer
from roundtable.core.types.consensus import Motion, VoteReport
from roundtable.core.types.debate import responses_of
from roundtable.scoring.ballot_forms import ballot_from_answer, first_places, order
from roundtable.scoring.ballots import Abstention, Approval, Choice, Ranking, Scores
from roundtable.scoring.camps import answer_names, answers_by_turn, find_round_camps
from roundtable.scoring.decision import decide
from roundtable.scoring.numbers import LARGEST, exact
from roundtable.scoring.pairwise import cycle

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from roundtable.core.base.registry import Registry
    from roundtable.core.types.answers import Answer, TurnKey
    from roundtable.core.types.consensus import Decision
    from roundtable.core.types.debate import AnyTurn
    from roundtable.scoring.decision import TieRule
    from roundtable.scoring.outcome import Rule

__all__ = [
    "MOST_MOTIONS",
    "MotionVote",
    "Motions",
    "count_vote",
    "find_motions",
    "motions_of",
    "option_motions",
    "vote_in",
]

MOST_MOTIONS: Final = 9
"""Maximum motions of a vote on open answers; people and models find it hard to rank more."""

_NAME_CHARS: Final = 300
_WORDS_CHARS: Final = 60
_MOST_PAIRS: Final = 8


@dataclass(frozen=True, slots=True)
class Motions:
    """What a round votes on."""

    motions: tuple[Motion, ...]
    """The motions; those with the most agents come first."""
    positions: tuple[str, ...]
    """For each motion, the shortest position of its agents, in full."""
    left_out: tuple[str, ...] = ()
    """Names of the answers after the ninth, which cannot be voted for."""
    told_apart: frozenset[frozenset[str]] = frozenset()
    """Pairs of motions, by name, that are never joined, because their options, stances or numbers differ."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the motions, all different."""
        return tuple(motion.name for motion in self.motions)


class MotionVote(NamedTuple):
    """The vote of one agent."""

    voter: str
    """Id of the agent; unique."""
    ballot: Choice | Ranking | Approval | Scores | Abstention = Abstention()
    """The agent's ballot, with names of motions."""
    same: tuple[tuple[str, ...], ...] = ()
    """Groups of motions that are the same according to the agent."""


def motions_of(
    turns: Sequence[AnyTurn], options: Sequence[str] | None = None, earlier: Sequence[AnyTurn] = ()
) -> Motions:
    """Return the motions of a round: the options of the debate or, without options, the different answers.

    Args:
        turns: The turns of the round.
        options: Options of the debate.
        earlier: Turns of earlier rounds, to whose answers the answers of this round may refer.
    """
    responses = responses_of(turns)
    if options is not None:
        return option_motions(options, responses)
    return find_motions(responses, answers_by_turn((*earlier, *turns)))


def find_motions(responses: Sequence[AgentResponse], earlier: Mapping[TurnKey, AgentResponse] | None = None) -> Motions:
    """Return the motions of a round of open answers: its camps, at most nine of them.

    Args:
        responses: The answers of the round.
        earlier: Earlier answers by turn, to which comparisons of the answers may refer.

    Example:
        >>> said = [
        ...     AgentResponse(agent_id=name, agent_name=name, position=f"It is {text}.", bottom_line=text)
        ...     for name, text in [("a", "Porto"), ("b", "Lisbon"), ("c", "lisbon.")]
        ... ]
        >>> find_motions(said).names
        ('Lisbon', 'Porto')
    """
    camps = find_round_camps(responses, earlier)
    by_name = dict(zip(answer_names(responses), responses, strict=True))
    members = [[by_name[name] for name in camp.agents] for camp in camps.camps]
    positions = [min((response.position for response in camp), key=lambda text: (len(text), text)) for camp in members]
    stances = [min(response.stance or "" for response in camp) for camp in members]
    names = _unique_names([camp.name for camp in camps.camps], list(zip(stances, positions, strict=True)))
    motions = tuple(
        Motion(name=name, agents=tuple(dict.fromkeys(response.agent_id for response in camp)))
        for name, camp in zip(names, members, strict=True)
    )
    return Motions(
        motions[:MOST_MOTIONS],
        tuple(positions[:MOST_MOTIONS]),
        tuple(names[MOST_MOTIONS:]),
        frozenset(frozenset((names[first], names[second])) for first, second in camps.told_apart),
    )


def option_motions(options: Iterable[str], responses: Iterable[AgentResponse] = ()) -> Motions:
    """Return the motions of a question with options: all its options, none of which can be joined.

    Args:
        options: The options.
        responses: The answers of the round, which show the agents of each option.
    """
    holders: dict[str, list[str]] = {option: [] for option in options}
    for response in responses:
        if response.choice in holders and response.agent_id not in holders[response.choice]:
            holders[response.choice].append(response.agent_id)
    motions = tuple(Motion(name=option, agents=tuple(agents)) for option, agents in holders.items())
    apart = frozenset(frozenset(pair) for pair in combinations(holders, 2))
    return Motions(motions, tuple(holders), told_apart=apart)


def _unique_names(texts: Sequence[str], marks: Sequence[tuple[str, str]]) -> list[str]:
    """Return a readable name for each text.

    Equal names are numbered by their texts and marks, so the order of texts has no influence.
    """
    short = [shortened(" ".join(text.split()), _NAME_CHARS) for text in texts]
    names = list(short)
    used = set(short)
    for name in sorted(name for name, times in Counter(short).items() if times > 1):
        alike = sorted(
            (index for index, label in enumerate(short) if label == name), key=lambda i: (texts[i], marks[i])
        )
        number = 1
        for index in alike[1:]:
            while names[index] in used:
                number += 1
                names[index] = f"{name} ({number})"
            used.add(names[index])
    return names


def _in_words(name: str) -> str:
    """Return a name as part of a sentence."""
    return shortened(name, _WORDS_CHARS).rstrip(".") or name


def vote_in(voter: str, answer: Answer | None) -> MotionVote:
    """Return the vote in an answer; a missing answer, and one without a ballot, is an abstention.

    Args:
        voter: Id of the agent.
        answer: Its answer, with names of motions.
    """
    if answer is None or isinstance(answer, AgentResponse | PlanAnswer | TextAnswer):
        return MotionVote(voter)
    ballot = ballot_from_answer(answer)
    if isinstance(ballot, Choice | Ranking | Approval | Scores):
        return MotionVote(voter, ballot, answer.same)
    return MotionVote(voter, same=answer.same)


def count_vote(
    motions: Motions,
    votes: Sequence[MotionVote],
    *,
    rule: str | Rule,
    tie: TieRule = "declare",
    rules: Registry[Rule] | None = None,
    unread: Collection[str] = (),
) -> Decision:
    """Count a vote: join the motions that are the same according to the voters, then decide by a rule.

    Two motions are joined on two conditions. More than half of all voters say that they are the same, and none of their
    own agents objects. An agent objects if its ballot has groups of equal motions, but none of them holds this pair. On
    each ballot, a joined motion has the best place of its members.

    Args:
        motions: What was voted on.
        votes: One vote for each agent that was asked, including agents that abstain or failed.
        rule: The rule, or its name with parameters.
        tie: What happens on a tie, as in `decide`; `"first"` picks the tied motion with the most agents.
        rules: Registry in which to look up the name; `None` for the built-in rules.
        unread: Voters whose ballots could not be read. No motion wins that their ballots could have overturned.

    Raises:
        ConfigurationError: The rule is unknown, or it does not accept the given parameters.

    Example:
        >>> motions = Motions((Motion(name="Tea"), Motion(name="Milk")), ("Tea!", "Milk!"))
        >>> count_vote(motions, [MotionVote("ada", Ranking(("Milk", "Tea")))], rule="schulze").winner
        'Milk'
    """
    warnings: list[str] = []
    cleaned = [_clean(vote, motions.names, warnings) for vote in votes]
    classes = _classes(motions, cleaned, warnings)
    name_of = {name: joined[0].name for joined in classes for name in (motion.name for motion in joined)}
    counted_motions = tuple(
        sorted(map(_joined_motion, classes), key=lambda motion: (-len(motion.agents), len(motion.name), motion.name))
    )
    ballots = [_rename(vote.ballot, name_of) for vote in cleaned]
    names = tuple(motion.name for motion in counted_motions)
    voters = tuple(vote.voter for vote in cleaned)
    decision = decide(
        ballots, rule=rule, tie=tie, options=names, rules=rules, voters=voters, normalise="exact", unread=unread
    )
    pairs = decision.pairwise
    if not pairs and any(isinstance(ballot, Ranking) for ballot in ballots):
        pairs = decide(ballots, rule="condorcet", options=names, normalise="exact").pairwise
    own = _own_shares(counted_motions, voters, ballots)
    report = VoteReport(
        motions=counted_motions,
        left_out=motions.left_out,
        own_share=float(sum(own, Fraction(0)) / len(own)) if own else None,
        warnings=tuple(warnings),
    )
    outcome = decision.why
    if decision.winner is not None and len(names) == 1:  # the rule's words do not fit, as there is nothing to beat
        outcome = f"{decision.winner} wins: it is the only motion left."
    why = " ".join([outcome, *_explanation(decision, pairs, report, own)])
    return decision.model_copy(update={"pairwise": pairs, "why": why, "vote": report})


def _clean(vote: MotionVote, names: Sequence[str], warnings: list[str]) -> MotionVote:
    """Return a vote without unknown or repeated motions, and with only those groups that count."""
    known = dict.fromkeys(names)
    ballot = vote.ballot
    unknown: set[str] = set()
    match ballot:
        case Choice():
            if ballot.option is not None and ballot.option not in known:
                unknown, ballot = {ballot.option}, Choice(None)
        case Ranking():
            seen: set[str] = set()
            groups: list[tuple[str, ...]] = []
            for level in ballot.groups:
                members = dict.fromkeys((level,) if isinstance(level, str) else level)
                unknown |= members.keys() - known.keys()
                group = tuple(name for name in members if name in known and name not in seen)
                seen.update(group)
                groups.append(group)
            ballot = Ranking(tuple(group for group in groups if group))
        case Approval():
            unknown = set(ballot.options) - known.keys()
            ballot = Approval(frozenset(ballot.options) & known.keys())
        case Scores():
            unknown = set(ballot.scores) - known.keys()
            scores = {name: score for name, score in ballot.scores.items() if name in known}
            ballot = Scores({name: score for name, score in scores.items() if abs(exact(score)) <= LARGEST})
            if len(ballot.scores) < len(scores):
                warnings.append(f"{vote.voter} gives a score beyond 1e100")
        case Abstention():
            pass
        case _:
            assert_never(ballot)
    if unknown:
        warnings.append(f"{vote.voter} votes on {counted(len(unknown), 'motion')} that nobody put forward")
    return vote._replace(ballot=ballot, same=_groups(vote, ballot, known, warnings))


def _groups(
    vote: MotionVote,
    ballot: Choice | Ranking | Approval | Scores | Abstention,
    known: Mapping[str, None],
    warnings: list[str],
) -> tuple[tuple[str, ...], ...]:
    """Return the groups of a ballot that count: those whose members are next to each other on it."""
    levels = _levels(ballot, known)
    seen: set[str] = set()
    groups: list[tuple[str, ...]] = []
    for group in vote.same:
        members = tuple(name for name in dict.fromkeys(group) if name in known and name not in seen)
        seen.update(members)
        if len(members) < 2:
            continue
        if _stand_together(levels, set(members)):
            groups.append(members)
        else:
            named = listing([repr(shortened(name, _WORDS_CHARS)) for name in sorted(members)])
            warnings.append(f"{vote.voter} says that {named} are the same, but places others between them")
    return tuple(groups)


def _levels(
    ballot: Choice | Ranking | Approval | Scores | Abstention, known: Mapping[str, None]
) -> tuple[frozenset[str], ...]:
    """Return the motions of a ballot by place, best first; motions that it does not name come last."""
    places = order(ballot, str) or ()
    ranked = [frozenset(level) for level in places]
    return (*ranked, frozenset(known).difference(*ranked))


def _stand_together(levels: Sequence[AbstractSet[str]], members: AbstractSet[str]) -> bool:
    """Check whether no other motion is between the members; motions that share a place may be in any order."""
    places = [index for index, level in enumerate(levels) if level & members]
    return all(level <= members for level in levels[places[0] + 1 : places[-1]])


def _classes(motions: Motions, votes: Sequence[MotionVote], warnings: list[str]) -> list[tuple[Motion, ...]]:
    """Return groups of motions that are counted as one: motions that are joined with exactly the same others.

    If most voters call two motions the same although their options, stances or numbers differ, there is a warning.
    """
    names = motions.names
    groups = {vote.voter: [frozenset(group) for group in vote.same] for vote in votes}
    joined = {name: {name} for name in names}
    for first, second in combinations(motions.motions, 2):
        pair = frozenset((first.name, second.name))
        agreeing = sum(any(pair <= group for group in named) for named in groups.values())
        is_vetoed = any(
            named and not any(pair <= group for group in named)
            for agent in {*first.agents, *second.agents}
            for named in [groups.get(agent, [])]
        )
        if 2 * agreeing > len(votes) and pair in motions.told_apart:
            named_pair = listing([repr(shortened(name, _WORDS_CHARS)) for name in sorted(pair)])
            warnings.append(
                f"{agreeing} of {counted(len(votes), 'voter')} say that {named_pair} are the same, but their options, "
                "stances or numbers differ"
            )
        elif 2 * agreeing > len(votes) and not is_vetoed:
            joined[first.name].add(second.name)
            joined[second.name].add(first.name)
    classes: dict[frozenset[str], list[Motion]] = {}
    for motion in motions.motions:
        classes.setdefault(frozenset(joined[motion.name]), []).append(motion)
    return [
        tuple(sorted(members, key=lambda motion: (-len(motion.agents), len(motion.name), motion.name)))
        for members in classes.values()
    ]


def _joined_motion(members: Sequence[Motion]) -> Motion:
    agents = tuple(dict.fromkeys(agent for motion in members for agent in motion.agents))
    return Motion(name=members[0].name, agents=agents, joined=tuple(motion.name for motion in members[1:]))


def _rename(
    ballot: Choice | Ranking | Approval | Scores | Abstention, name_of: Mapping[str, str]
) -> Choice | Ranking | Approval | Scores | Abstention:
    """Return a ballot with joined motions, each in the best place of its members."""
    match ballot:
        case Choice():
            return ballot if ballot.option is None else Choice(name_of[ballot.option], confidence=ballot.confidence)
        case Ranking():
            seen: set[str] = set()
            groups: list[tuple[str, ...]] = []
            for level in ballot.groups:
                group = tuple(name for name in dict.fromkeys(name_of[member] for member in level) if name not in seen)
                seen.update(group)
                groups.append(group)
            return Ranking(tuple(group for group in groups if group))
        case Approval():
            return Approval(frozenset(name_of[name] for name in ballot.options))
        case Scores():
            # In the order of scores, so that the highest score among the members stays.
            best = sorted(ballot.scores.items(), key=lambda item: exact(item[1]))
            return Scores({name_of[name]: score for name, score in best})
        case Abstention():
            return ballot
        case _:
            assert_never(ballot)


def _own_shares(
    motions: Sequence[Motion],
    voters: Sequence[str],
    ballots: Sequence[Choice | Ranking | Approval | Scores | Abstention],
) -> list[Fraction]:
    """Return, for each voter with a motion of its own, the share of its first places that it gave to this motion."""
    shares: list[Fraction] = []
    for voter, ballot in zip(voters, ballots, strict=True):
        own = {motion.name for motion in motions if voter in motion.agents}
        first = first_places(ballot, str)
        if own and first:
            shares.append(Fraction(len(own & set(first)), len(first)))
    return shares


def _explanation(
    decision: Decision, pairs: Mapping[str, Mapping[str, float]], report: VoteReport, own: Sequence[Fraction]
) -> Iterable[str]:
    """Yield sentences on what the rule's explanation leaves out."""
    labels = {name: _in_words(name) for name in pairs}
    circle = _cycle_in(pairs)
    if circle and " > ".join(circle) not in decision.why:
        yield f"Head to head, the motions beat each other in a circle: {' > '.join(labels[name] for name in circle)}."
    winner = decision.winner
    if winner is not None and winner in pairs:
        results = [
            f"{amount(exact(votes))} to {amount(exact(pairs[other][winner]))} against {labels[other]}"
            for other, votes in list(pairs[winner].items())[:_MOST_PAIRS]
        ]
        more = len(pairs[winner]) - len(results)
        if results:
            results += [f"{more} more results"] if more else []
            yield f"Head to head, {labels[winner]} has {listing(results)}."
    for motion in report.motions:
        if motion.joined:
            names = [_in_words(name) for name in (motion.name, *motion.joined)]
            yield f"The voters said that {listing(names)} are the same, so they were counted as one."
    if report.left_out:
        names = [_in_words(name) for name in report.left_out[:_MOST_PAIRS]]
        more = len(report.left_out) - len(names)
        others = f" and {more} more" if more else ""
        yield (
            f"Not voted on, as at most {MOST_MOTIONS} answers are, those of most agents first and equal ones in "
            f"alphabetical order: {', '.join(names)}{others}."
        )
    if own:
        ahead, level = own.count(Fraction(1)), sum(0 < share < 1 for share in own)
        ties = f", and {level} put it level with others" if level else ""
        yield f"{ahead} of {counted(len(own), 'agent')} put their own answer first{ties}."


def _cycle_in(pairs: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return a shortest cycle of motions that beat each other, ending with its first motion again; empty if none."""
    names = list(pairs)
    margins = [
        [0 if name == other else _sign(pairs[name][other] - pairs[other][name]) for other in names] for name in names
    ]
    path = cycle(margins)
    return [names[index] for index in [*path, path[0]]] if path else []


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)
