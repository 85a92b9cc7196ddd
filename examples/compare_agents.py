"""Run debates on several questions and compare the agents: who convinces others, who gives in, how sure they are.

Without arguments, three scripted agents debate, so that it runs anywhere:

    python examples/compare_agents.py

With real ones, named as the command names them:

    python examples/compare_agents.py --agents openai-chat:gpt-5.2,openai-chat:gpt-5-mini --rounds 2 "Tabs or spaces?"
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import anyio

import roundtable as rt
from roundtable.testing import scripted_agents

QUESTIONS = ("Should a five-person startup adopt microservices?", "Tabs or spaces?")


@dataclass
class Tally:
    """What one agent did over all debates."""

    answered: int = 0
    failed: int = 0
    changed: int = 0
    with_the_answer: int = 0
    confidences: list[float] = field(default_factory=list)


def stand_ins() -> list[rt.BaseAgent]:
    """Make agents that say what they are told to: one firm, one that is persuaded, one that agrees from the start."""
    firm = {"position": "Not yet", "reasoning": "Every part has to earn its keep.", "confidence": 0.9}
    doubt = {"position": "Yes", "reasoning": "It is what others do.", "confidence": 0.6}
    swayed = {"position": "Not yet", "reasoning": "The cost was named, and it is real.", "confidence": 0.7}
    return scripted_agents({"firm": firm, "swayed": [doubt, swayed] * len(QUESTIONS), "agrees": firm})


def count(results: Sequence[rt.DebateResult]) -> dict[str, Tally]:
    """Count what each agent did."""
    tallies: dict[str, Tally] = {}
    for result in results:
        for entry in result.roster.agents:
            tally = tallies.setdefault(entry.agent_name, Tally())
            tally.answered += entry.answered
            tally.failed += entry.failed
            said = [said for held in result.rounds for said in held.responses if said.agent_id == entry.agent_id]
            tally.confidences += [one.confidence for one in said]
            tally.changed += sum(before.position != after.position for before, after in pairwise(said))
            tally.with_the_answer += bool(said and result.answer is not None and said[-1].position == result.answer)
    return tallies


async def main(agents: Sequence[str] | None, questions: Sequence[str], rounds: int) -> None:
    """Hold the debates one after the other and print what came of them."""
    results = []
    async with rt.Roundtable(agents or stand_ins(), storage="memory://") as table:
        for question in questions:
            result = await table.debate(question, rounds=rounds)
            results.append(result)
            before = result.independent_agreement
            print(question)
            print(f"  {result.answer or f'no answer: {result.answer_reason}'}")
            if before is not None and result.consensus is not None:
                print(f"  agreement {before:.2f} before, {result.consensus.agreement_level:.2f} after")
    print(f"\n{'agent':28} {'answered':>8} {'failed':>6} {'changed':>7} {'with answer':>11} {'confidence':>10}")
    for name, tally in count(results).items():
        sure = sum(tally.confidences) / len(tally.confidences) if tally.confidences else 0
        print(
            f"{name:28} {tally.answered:8} {tally.failed:6} {tally.changed:7} {tally.with_the_answer:11} {sure:10.0%}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare agents over several debates.")
    parser.add_argument("questions", nargs="*", default=QUESTIONS, help="what to debate")
    parser.add_argument("--agents", help="provider:model, with commas between; scripted agents when left out")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    anyio.run(main, given.agents.split(",") if given.agents else None, given.questions, given.rounds)
