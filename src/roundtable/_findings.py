"""The findings of a debate in words, for reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.modes.oxford import oxford_swing
from roundtable.types.plan import JUDGED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.result import DebateResult

__all__ = ["beside_the_answer", "findings_in_words", "synthesis_in_words"]


_SOURCES: Final = {
    "option": "the rule, over the options chosen",
    "cluster": "the rule, over positions that say the same",
    "judge": "the votes of judges",
}


def beside_the_answer(result: DebateResult) -> str:
    """Say where an answer that is not the winner of the decision comes from, and what the decision was."""
    why = "no decision" if result.decision is None else result.decision.why
    if result.answer_source == "synthesis" and result.team is None:
        return f"From the synthesis: {why}"
    if result.answer_source == "judge" and result.config.decide not in JUDGED:
        return f"The word of the chair. A vote over the answers before it: {why}"
    return ""


def findings_in_words(result: DebateResult) -> Iterator[tuple[str, str]]:
    """Give a label and a line for each finding that there is."""
    if result.answer is not None and result.team is None:
        yield "Answer from", beside_the_answer(result) or _SOURCES[result.answer_source]
    if result.votes:
        yield "Votes", _votes(result)
    if result.consensus is not None and result.consensus.causes:
        yield "Measured so because", "; ".join(result.consensus.causes)
    if result.conformity_delta is not None:
        yield "Change by hearing each other", f"{result.conformity_delta:+.2f}"
    minority = result.minority_report
    if minority is not None and minority.dissents:
        held = "; ".join(f"{one.agent_name}: {one.choice or one.position}" for one in minority.dissents)
        yield "No largest camp" if minority.majority is None else "Outside the largest camp", held
    yield from _baselines(result)
    swing = oxford_swing([turn for held in result.rounds for turn in held.turns]).swing
    if swing:
        yield "Swing", ", ".join(f"{option} {moved:+d}" for option, moved in swing.items())
    warning = result.consensus.groupthink_warning if result.consensus is not None else None
    if warning is not None and warning.detected:
        yield "Groupthink", f"{'; '.join(warning.indicators)}. {warning.recommendation}".strip()
    yield from _health(result)
    yield from _layers(result)


def _votes(result: DebateResult) -> str:
    camps: dict[str | None, list[str]] = {}
    for vote in sorted(result.votes, key=lambda vote: vote.choice is None):
        camps.setdefault(vote.choice, []).append(vote.agent_name)
    told = ((names, "for none" if choice is None else f"for {choice}") for choice, names in camps.items())
    return "; ".join(f"{', '.join(names)} {what}" for names, what in told)


def _health(result: DebateResult) -> Iterator[tuple[str, str]]:
    found = result.health
    if found is None:
        return
    if found.flip_rate is not None:
        yield (
            "Movement",
            f"{found.flip_rate:.0%} of answers changed from round to round, compared by {found.compared_by}",
        )
    if found.conformity is not None and found.obstinacy is not None:
        faced = f"{found.conformity:.0%} took one of the others', {found.obstinacy:.0%} kept theirs"
        yield "Facing another position", faced
    outvoted = [one for one in found.sycophancy if one.outvoted]
    if outvoted:
        names = {agent.id: agent.name for agent in result.agents}
        told = (f"{names.get(one.agent_id, one.agent_id)} {one.gave_way} of {one.outvoted}" for one in outvoted)
        yield "Gave way when outvoted, with no new source", "; ".join(told)
    for flag in found.flags:
        yield f"Sign: {flag.name}", flag.detail


def _layers(result: DebateResult) -> Iterator[tuple[str, str]]:
    layers = result.response
    if layers is None:
        return
    advice, names = layers.decision.action_recommendation, {agent.id: agent.name for agent in result.agents}
    yield "Recommended", f"{advice.type} — {advice.reason}"
    for conflict in layers.evidence.conflicts:
        held = (f"{names.get(one.agent_id, one.agent_id)}: {one.stance}" for one in conflict.positions)
        yield "Conflict", f"{conflict.issue} — {'; '.join(held)}"
    for hint in layers.metadata.verification_hints:
        yield "Look again", hint.reason
    for one in layers.agent_responses:
        if one.key_points:
            yield f"Key points of {one.agent_name}", "; ".join(one.key_points)


def synthesis_in_words(result: DebateResult) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Give heading and paragraphs of each part of the synthesis; why there is none, where it was tried."""
    made = result.synthesis
    if made is None:
        reason = result.synthesis_reason
        return () if reason is None else (("No synthesis", (reason,)),)
    parts = (
        ("Conclusion", (made.conclusion,)),
        ("Recommendation", (made.recommendation,)),
        ("Common ground", made.common_ground),
        ("Differences", made.key_differences),
        ("How positions moved", (made.evolution_summary,)),
        ("Synthesis by", (f"{made.synthesizer_id}, {made.confidence:.0%} confident",)),
    )
    kept = ((label, tuple(text for text in texts if text)) for label, texts in parts)
    return tuple((label, texts) for label, texts in kept if texts)


def _baselines(result: DebateResult) -> Iterator[tuple[str, str]]:
    found = result.baselines
    if found is None or found.single is None:
        return
    vote = found.majority if found.majority is not None else "no majority"
    yield "Without debate", f"vote of {found.votes}: {vote}; one agent alone: {found.single}"
    if found.cost_multiple is not None:
        yield "Calls for each call of the vote", f"{found.cost_multiple:g}"
