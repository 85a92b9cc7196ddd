"""A decision rule: whatever nobody vetoes by naming something else wins, so one other voice decides for nothing."""

from __future__ import annotations

from roundtable import hookimpl
from roundtable.scoring import Outcome, Rule, rule_registry


def count(ballots, parameters):
    """Read the ballots as plurality does; pass only when a single option was named."""
    found = rule_registry().get("plurality").count(ballots, parameters)
    named = [option for option, score in found.scores.items() if score]
    why = "nobody objected" if len(named) == 1 else f"{len(named)} options were named"
    return Outcome(found.roll, found.scores, found.leaders, why, passes=len(named) == 1)


VETO = Rule("veto", count, summary="Wins only what nobody objects to.")


@hookimpl
def roundtable_register_rules(registrar):
    """Offer it as `decide="veto"`."""
    registrar.add(VETO.name, VETO, summary=VETO.summary)
