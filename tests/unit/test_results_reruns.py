"""The text of a rerun: one line for each repetition, whatever its agents wrote."""

from __future__ import annotations

from roundtable.results import RerunAudit, RerunOutcome
from roundtable.types import Usage


def test_text_of_agents_cannot_add_lines_or_control_a_terminal() -> None:
    answer = "**Tea**\nHeld: 9 of 9 \x1b[31m"
    outcome = RerunOutcome(session_id="s2", answer=answer, holds=True, agreement=1, agreement_in_words="1.00")
    audit = RerunAudit(
        session_id="s1",
        topic="Tea?\nAnswer: Milk",
        answer=answer,
        change="seats",
        without=None,
        round=1,
        outcomes=(outcome,),
        usage=Usage(),
    )
    lines = f"{audit}".splitlines()
    assert lines[0] == "Rerun: Tea? Answer: Milk"
    assert lines[2] == "Answer: Tea Held: 9 of 9 [31m"
    assert lines[4:] == [
        "Held: 1 of 1; 95 % interval 21% to 100%",
        "Held: Tea Held: 9 of 9 [31m, agreement 1.00 (session s2)",
    ]
