"""A vote on motions after the answers of a round, as a wrapper around another mode."""

from __future__ import annotations

from functools import partial
from itertools import islice
from random import Random
from string import ascii_uppercase
from typing import TYPE_CHECKING, Final

from roundtable.core.base.scale import DEFAULT_SCALE, scale_in_words
from roundtable.core.base.words import shortened
from roundtable.core.mode.base import NO_TOOLS
from roundtable.core.types.debate import responses_of
from roundtable.core.types.plan import VOTE_STAGE, EndDebate, Note, Stage, TurnSpec
from roundtable.modes.context import NameMask
from roundtable.modes.wrappers import WrappedMode
from roundtable.scoring import find_rule
from roundtable.scoring.motions import motions_of
from roundtable.scoring.numbers import exact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from roundtable.core.base.registry import Registry
    from roundtable.core.protocols import DebateModeStrategy
    from roundtable.core.types.answers import AgentResponse, AnswerKind
    from roundtable.core.types.debate import DebateContext
    from roundtable.core.types.plan import Plan
    from roundtable.scoring import BallotForm, ParameterValue, Rule
    from roundtable.scoring.motions import Motions

__all__ = ["VotedMode", "voting_orders", "with_vote"]

_MOST_LINE_CHARS: Final = 200
_MOST_POSITION_CHARS: Final = 600

_VOTE_TASK: Final = (
    "The answers of this round are given; now you vote, in private: nobody who debates sees your vote. The motions are "
    "the answers that were given, without names, in random order. Weigh them by reasons and evidence alone: not by "
    "their length, order or tone, and not by whose they may be. You may vote for any of them, your own included, and "
    "against your own. "
)
_OPTION_TASK: Final = (
    "The answers of this round are given; now you vote on the options, in private: nobody who debates sees your vote. "
    "For each option that somebody chose, the shortest answer is quoted, without names, in random order. "
    "Weigh them by reasons and evidence alone; you may vote otherwise than you answered. "
)
_SAME_TASK: Final = "Say first which motions say the same thing in other words, if any"
_TASK_BY_FORM: Final[Mapping[BallotForm, str]] = {
    "choice": "Vote for the best one.",
    "ranking": "Rank all of them, best first.",
    "approval": "Name all that you can accept.",
    "scores": "Give each one a number{scale}; higher is better.",
}
_SAME_BY_FORM: Final[Mapping[BallotForm, str]] = {
    "choice": ".",
    "ranking": "; rank those side by side.",
    "approval": ".",
    "scores": "; give those like numbers.",
}
_KIND_BY_FORM: Final[Mapping[BallotForm, AnswerKind]] = {
    "choice": "ballot",
    "ranking": "ranking",
    "approval": "approval",
    "scores": "scores",
}


def voting_orders(names: Sequence[str], voters: Sequence[str], seed: str) -> dict[str, tuple[str, ...]]:
    """Return the order in which each voter sees the motions.

    All orders are rotations of one shuffled order, and every second one is reversed. So with enough voters, no motion
    has an advantage because of its place.

    Args:
        names: Names of the motions, in any order.
        voters: Ids of the voters, in any order.
        seed: Seed of the shuffled order.

    Example:
        >>> orders = voting_orders(["Tea", "Milk", "Mate"], ["ada", "bo", "cy"], "1")
        >>> orders["bo"] == orders["ada"][::-1], orders["cy"] == (*orders["ada"][1:], orders["ada"][0])
        (True, True)
    """
    shuffled = sorted(names)
    Random(seed).shuffle(shuffled)
    orders: dict[str, tuple[str, ...]] = {}
    for index, voter in enumerate(sorted(voters)):
        first = index // 2 % len(shuffled)
        order = (*shuffled[first:], *shuffled[:first])
        orders[voter] = order[::-1] if index % 2 else order
    return orders


class VotedMode(WrappedMode):
    """A mode with a vote of all debaters at the end of a round; everything else is as in the wrapped mode.

    The motions are the different answers of the round, or the options of the debate. Voters see them in different
    orders, without names of agents. Answers are labelled with letters in the order that the voter sees; options have no
    letters. If there is only one motion, there is no vote.

    Args:
        mode: The mode that debates.
        form: The form of a ballot.
        every: Whether every round ends with a vote, not only the last one.
        scale: Lowest and highest score, for ballots with scores; `None` for no limit.
    """

    stage = VOTE_STAGE
    prompt_id = "vote@1"

    def __init__(
        self,
        mode: DebateModeStrategy,
        form: BallotForm = "ranking",
        *,
        every: bool = False,
        scale: tuple[float | None, float | None] = DEFAULT_SCALE,
    ) -> None:
        super().__init__(mode)
        self.form: BallotForm = form
        self.every = every
        self.scale = scale

    def next_stage(self, view: DebateContext) -> Plan:
        """Plan as the wrapped mode does; when it ends the last round, or with `every` any round, plan the vote."""
        plan = super().next_stage(view)
        if isinstance(plan, Stage) or not self._is_due(view, plan):
            return plan
        turns = [turn for turn in view.transcript if turn.round == view.current_round]
        if any(turn.stage == VOTE_STAGE for turn in turns):
            return plan
        motions = motions_of(turns, view.options, [turn for turn in view.transcript if turn.round < view.current_round])
        if len(motions.motions) < 2:
            return plan
        return Stage(name=VOTE_STAGE, turns=self._ballots(view, motions))

    def _is_due(self, view: DebateContext, plan: Plan) -> bool:
        is_last = view.current_round >= view.total_rounds or view.ends or isinstance(plan, EndDebate)
        return self.every or is_last

    def _ballots(self, view: DebateContext, motions: Motions) -> tuple[TurnSpec, ...]:
        """Return a private turn for each agent, in which it votes on the options, or on motions with letters."""
        seed = f"vote {view.seed} {view.current_round}"
        orders = voting_orders(motions.names, [seat.id for seat in view.agents], seed)
        form_task = _TASK_BY_FORM[self.form].format(scale=scale_in_words(*self.scale))
        if view.options:
            notes_of = partial(_option_notes, _notes_on_options(view))
            names_by_label = {agent: {name: name for name in order} for agent, order in orders.items()}
            task = _OPTION_TASK + form_task
        else:
            notes_of = partial(_motion_notes, _motion_texts(view, motions))
            letters = _letters(motions)
            names_by_label = {agent: dict(zip(letters, order, strict=True)) for agent, order in orders.items()}
            task = f"{_VOTE_TASK}{_SAME_TASK}{_SAME_BY_FORM[self.form]} {form_task}"
        return tuple(
            TurnSpec(
                slot=slot,
                agent=seat.id,
                role="voter",
                task=task,
                brief=f"You vote in private. {form_task}",
                prompt_id=self.prompt_id,
                notes=notes_of(names_by_label[seat.id]),
                answer=_KIND_BY_FORM[self.form],
                options=tuple(names_by_label[seat.id]),
                motions=names_by_label[seat.id],
                scale=self.scale if self.form == "scores" else (None, None),
                tools=NO_TOOLS,
            )
            for slot, seat in enumerate(view.agents)
        )


def _letters(motions: Motions) -> tuple[str, ...]:
    """Return a letter for each motion; letters that are answers themselves, such as "B", are not used."""
    answers = {name.casefold() for name in motions.names}
    # There are at most nine motions, so there are always enough letters.
    unused = (letter for letter in ascii_uppercase if letter.casefold() not in answers)
    return tuple(islice(unused, len(motions.names)))


def _motion_notes(texts: Mapping[str, tuple[str, str]], names_by_label: Mapping[str, str]) -> tuple[Note, ...]:
    return tuple(_note(label, texts[name]) for label, name in names_by_label.items())


def _option_notes(notes: Mapping[str, Note], names_by_label: Mapping[str, str]) -> tuple[Note, ...]:
    return tuple(notes[name] for name in names_by_label.values() if name in notes)


def _mask_of(view: DebateContext, spared: Iterable[str] = ()) -> NameMask:
    agents = sorted(seat.id for seat in view.agents)
    Random(f"speakers {view.seed}").shuffle(agents)
    aliases = {agent: f"Speaker {number}" for number, agent in enumerate(agents, start=1)}
    return NameMask(view, aliases, spared)


def _motion_texts(view: DebateContext, motions: Motions) -> dict[str, tuple[str, str]]:
    """Return the text of each motion for voters: its answer in few words and its position, without names."""
    mask = _mask_of(view, motions.names)
    return {
        motion.name: (
            _line(mask(motion.name) if _is_cut_of(motion.name, position) else motion.name, _MOST_LINE_CHARS),
            _line(mask(position), _MOST_POSITION_CHARS),
        )
        for motion, position in zip(motions.motions, motions.positions, strict=True)
    }


def _notes_on_options(view: DebateContext) -> dict[str, Note]:
    """Return a note for voters on each option that agents chose: the shortest position, with reasons, without names."""
    turns = tuple(turn for turn in view.transcript if turn.round == view.current_round)
    mask = _mask_of(view)
    by_option: dict[str, AgentResponse] = {}
    responses = responses_of(turns)
    for response in sorted(
        responses, key=lambda response: (len(response.position), response.position, response.reasoning)
    ):
        if response.choice is not None:
            by_option.setdefault(response.choice, response)
    return {option: _option_note(option, response, mask) for option, response in by_option.items()}


def _option_note(option: str, response: AgentResponse, mask: NameMask) -> Note:
    position = _line(mask(response.position), _MOST_POSITION_CHARS)
    reasons = _line(mask(response.reasoning), _MOST_POSITION_CHARS)
    lines = (f"Option: {_line(option, _MOST_LINE_CHARS)}", f"Position: {position}", reasons and f"Reasons: {reasons}")
    brief = _line(f"{option}: {position}", _MOST_LINE_CHARS)
    return Note(label="an answer of this round", text="\n".join(filter(None, lines)), brief=brief)


def _is_cut_of(name: str, position: str) -> bool:
    """Check whether a motion is named by its whole position, or the beginning of it, since it has no bottom line."""
    whole = " ".join(position.split())
    return name == whole or (name.endswith("…") and whole.startswith(name[:-1]))


def _line(text: str, most: int) -> str:
    return shortened(" ".join(text.split()), most)


def _note(letter: str, text: tuple[str, str]) -> Note:
    line, position = text
    return Note(label=f"motion {letter}", text=f"Answer: {line}\nPosition: {position}", brief=line)


def with_vote(
    mode: DebateModeStrategy,
    rule: str = "schulze",
    *,
    every: bool = False,
    rules: Registry[Rule] | None = None,
) -> VotedMode:
    """Wrap a mode so that all debaters vote on motions after the last round, or after every round.

    Args:
        mode: The mode that debates.
        rule: The decision rule by name, optionally with parameters; it determines the form of the ballots.
        every: Whether every round ends in a vote.
        rules: Registry in which to look up the rule; `None` for the built-in rules.

    Raises:
        ConfigurationError: The rule is unknown.

    Example:
        >>> from roundtable.modes import CollaborativeMode
        >>> with_vote(CollaborativeMode()).form, with_vote(CollaborativeMode(), "score(0, 5)").scale
        ('ranking', (0.0, 5.0))
    """
    resolved_rule, parameters = find_rule(rule, rules)
    return VotedMode(mode, resolved_rule.form, every=every, scale=_scale(parameters))


def _scale(parameters: Mapping[str, ParameterValue]) -> tuple[float | None, float | None]:
    """Return the range of scores that a rule accepts; 0 to 10 if the rule sets no limits."""
    low, high = _bound(parameters, "low"), _bound(parameters, "high")
    return DEFAULT_SCALE if low is None and high is None else (low, high)


def _bound(parameters: Mapping[str, ParameterValue], name: str) -> float | None:
    value = parameters.get(name)
    return None if value is None else float(exact(value, name))
