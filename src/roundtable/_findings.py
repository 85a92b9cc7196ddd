"""The findings of a debate in words, for reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.modes.oxford import oxford_swing
from roundtable.types.plan import JUDGED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.result import DebateResult

__all__ = ["beside_the_answer", "findings_in_words", "synthesis_in_words"]


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
    if result.consensus is not None and result.consensus.causes:
        yield "Measured so because", "; ".join(result.consensus.causes)
    if result.conformity_delta is not None:
        yield "Change by hearing each other", f"{result.conformity_delta:+.2f}"
    minority = result.minority_report
    if minority is not None and minority.dissents:
        held = "; ".join(f"{one.agent_name}: {one.choice or one.position}" for one in minority.dissents)
        yield "Outside the largest camp", held
    yield from _baselines(result)
    swing = oxford_swing([turn for held in result.rounds for turn in held.turns]).swing
    if swing:
        yield "Swing", ", ".join(f"{option} {moved:+d}" for option, moved in swing.items())
    warning = result.consensus.groupthink_warning if result.consensus is not None else None
    if warning is not None and warning.detected:
        yield "Groupthink", f"{'; '.join(warning.indicators)}. {warning.recommendation}".strip()
    for flag in result.health.flags if result.health else ():
        yield f"Sign: {flag.name}", flag.detail
    if result.response is not None:
        advice = result.response.decision.action_recommendation
        yield "Recommended", f"{advice.type} — {advice.reason}"


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
