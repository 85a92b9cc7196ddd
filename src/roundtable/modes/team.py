"""Team: an initiator sets a goal, members work towards it in rounds, and a summarizer combines their reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.core.errors import ConfigurationError
from roundtable.core.mode.base import BaseModeStrategy
from roundtable.core.mode.shapes import Step, nothing, parallel, sequential
from roundtable.core.record.fold import reports
from roundtable.core.types.answers import PlanAnswer, TextAnswer
from roundtable.core.types.plan import Note, Stage, ToolPolicy
from roundtable.core.types.teams import INITIATOR, SUMMARIZER

if TYPE_CHECKING:
    from roundtable.core.types.debate import DebateContext, Seat, Turn
    from roundtable.core.types.plan import TurnSpec
    from roundtable.core.types.teams import Team, TeamMember

__all__ = ["TeamMode", "goal_of", "team_of"]

_MAX_LATEST_CHARS: Final = 8_000
_MAX_OLDER_CHARS: Final = 1_000
_MAX_MESSAGE_CHARS: Final = 2_000
_MAX_MESSAGES: Final = 10


class TeamMode(BaseModeStrategy):
    """An initiator sets the goal, members work towards it in rounds with their own tools, and a summarizer answers.

    The initiator and the summarizer do not take part in the rounds: the engine runs `opening` before the first round,
    and `closing` after the last. Members see the goal and earlier reports: the reports of the previous round and, in
    sequential order, those of the same round. This mode is not in any registry, since it needs the team in
    `DebateContext.team`; `Roundtable.converse` runs it.
    """

    name: str = "team"
    summary: str = "A goal is set, specialised agents work towards it with their tools, and a summary follows."
    use_when: str = "You want agents with tools to do a task, not to debate a question."
    needs_groupthink_detection: bool = False
    rounds: range = range(1, 11)
    agent_counts: range = range(1, 6)
    role: str = "member"

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan the members' turns, one after another or all at once."""
        team = team_of(view)
        members = [_seat(view, member) for member in team.members]
        shape = parallel if team.order == "parallel" else sequential
        return shape(view, lambda seat, _: self._work(view, seat), seats=members, sees=nothing, name="work")

    def opening(self, view: DebateContext) -> Stage:
        """Plan the initiator's turn, before the first round."""
        team = team_of(view)
        members = "\n".join(f"{member.agent}: {', '.join(member.tools) or 'no tools'}" for member in team.members)
        notes = (*_history_notes(team), Note(label="members and their tools", text=members))
        spec = self._turn(view, team.initiator, notes, role=INITIATOR, answer="plan")
        return Stage(name=INITIATOR, turns=(spec,))

    def closing(self, view: DebateContext) -> Stage:
        """Plan the summarizer's turn, after the last round."""
        team = team_of(view)
        team_reports = [turn for turn in reports(view.transcript) if turn.round <= view.current_round]
        latest = {turn.agent_id: turn.round for turn in team_reports}
        report_notes = [_report_note(turn, latest=latest[turn.agent_id] == turn.round) for turn in team_reports]
        failed = sorted({member.agent for member in team.members} - set(latest))
        missing_notes = (Note(label="members without any report", text=", ".join(failed)),) if failed else ()
        notes = (*_history_notes(team), *_goal_notes(view), *report_notes, *missing_notes)
        spec = self._turn(view, team.summarizer, notes, role=SUMMARIZER, answer="text")
        return Stage(name=SUMMARIZER, turns=(spec,))

    def _work(self, view: DebateContext, seat: Seat) -> TurnSpec:
        team, current = team_of(view), view.current_round
        report_notes = [
            _report_note(turn, latest=True) for turn in reports(view.transcript) if turn.round in {current - 1, current}
        ]
        notes = (*_history_notes(team), *_goal_notes(view), *report_notes)
        return self._turn(view, team.member(seat.id), notes, answer="text", opening=not report_notes)

    def _turn(self, view: DebateContext, member: TeamMember, notes: tuple[Note, ...], /, **facts: object) -> TurnSpec:
        tools = ToolPolicy(max=2 * member.max_steps if member.tools else 0, allow=member.tools)
        opening = facts.pop("opening", True)
        limits = {"notes": notes, "tools": tools, "max_steps": member.max_steps, "opening": opening}
        return self.ask(view, _seat(view, member), (), **facts, **limits)


def team_of(view: DebateContext) -> Team:
    """Return the team of a view.

    Raises:
        ConfigurationError: The view has no team, because it belongs to a debate.
    """
    if view.team is None:
        raise ConfigurationError("the mode 'team' needs a team", hint="Use Roundtable.converse(agents=[...]).")
    return view.team


def _seat(view: DebateContext, member: TeamMember) -> Seat:
    return next(seat for seat in view.agents if seat.id == member.agent)


def goal_of(view: DebateContext) -> PlanAnswer:
    """Return the team's goal: the initiator's plan, or the request itself if the initiator failed."""
    for turn in view.transcript:
        if turn.stage == INITIATOR and turn.outcome == "answered" and isinstance(turn.answer, PlanAnswer):
            return turn.answer
    return PlanAnswer(goal=view.topic)


def _goal_notes(view: DebateContext) -> tuple[Note, ...]:
    plan = goal_of(view)
    lines = [f"Goal: {plan.goal}"]
    if plan.strategy:
        lines.append(f"Strategy: {plan.strategy}")
    lines += [f"Sign of success: {sign}" for sign in plan.success_criteria]
    return (Note(label="the team's goal", text="\n".join(lines), brief=plan.goal),)


def _history_notes(team: Team) -> tuple[Note, ...]:
    latest = team.messages[-_MAX_MESSAGES:]
    return tuple(
        Note(label=f"earlier message of the {message.role}", text=message.content[:_MAX_MESSAGE_CHARS])
        for message in latest
        if message.content
    )


def _report_note(turn: Turn, *, latest: bool) -> Note:
    assert isinstance(turn.answer, TextAnswer)  # noqa: S101  (only such turns are reports)
    limit = _MAX_LATEST_CHARS if latest else _MAX_OLDER_CHARS
    text = turn.answer.text
    shown = text if len(text) <= limit else f"{text[:limit]} [cut]"
    return Note(label=f"round {turn.round}, report of {turn.agent_id}", text=shown or "(nothing)")
