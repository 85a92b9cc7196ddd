"""Debates to report on: one with everything in it, and the same one with hostile words."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from roundtable.record import fold_debate
from roundtable.results.debate_result import DebateResult
from roundtable.types import (
    AgentComplete,
    AgentConfig,
    AgentError,
    AgentResponse,
    Citation,
    Cluster,
    ConsensusMeasured,
    ConsensusResult,
    DebateComplete,
    DebateConfig,
    DebateExit,
    DebateStart,
    Decision,
    DurableEvent,
    ErrorInfo,
    ExitResult,
    FailedTurn,
    RoundComplete,
    RoundStart,
    SessionRecord,
    ToolCallRecord,
    Turn,
    TurnResult,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

WHEN = datetime(2026, 11, 20, 14, 5, tzinfo=UTC)
OPTIONS = ("Stay with a monolith", "Adopt microservices", "Start modular, split later")
NAMES = ("Claude the pragmatist", "GPT the optimist", "Gemini the sceptic", "Sonar the researcher")
REASONS = """**Five people cannot run twelve services.** Each one needs a pipeline, an on-call rota and a contract
with every neighbour.

What would have to be true for the opposite:
- a team per service, or at least one owner
- deploys that must not wait for each other
- load that differs by a *factor* of ten between parts

1. Start with clear modules.
2. Measure `p99` per module.

```
modules/
  billing/   # no import from orders
  orders/
```
"""


def events(
    session: str, *, rounds: int = 3, said: str | None = None, url: str = "https://example.org/study?a=1&b=2"
) -> Iterator[DurableEvent]:
    """Yield the events of a debate of four: one differs to the end, and one fails once.

    Args:
        session: Session id.
        rounds: Rounds held.
        said: What stands wherever an agent may write, instead of sensible words.
        url: Address that is cited.
    """
    where: dict[str, Any] = {"session_id": session, "timestamp": WHEN}
    ids = tuple(f"a{number}" for number in range(len(NAMES)))
    yield DebateStart(**where, topic=said or "?", mode="collaborative", agents=ids, rounds=rounds)
    for number in range(1, rounds + 1):
        yield RoundStart(**where, round=number, agents=ids, focus_question=said)
        for slot, agent in enumerate(ids):
            yield _turn(where, number, slot, agent, said, url)
        yield _measured(where, number, ids, said)
        yield RoundComplete(**where, round=number, answered=4 - (number == 2), failed=int(number == 2))
    yield DebateExit(
        **where, exit=ExitResult(should_exit=True, reason="max_rounds", details=said or "all rounds were held")
    )
    yield DebateComplete(**where, status="completed", total_rounds=rounds)


def _turn(where: dict[str, Any], number: int, slot: int, agent: str, said: str | None, url: str) -> DurableEvent:
    name = said or NAMES[slot]
    place: dict[str, Any] = {
        "round": number,
        "stage": "positions",
        "slot": slot,
        "agent_id": agent,
        "agent_name": name,
        "timestamp": WHEN,
    }
    if (number, slot) == (2, 1):
        lost = ErrorInfo(name="APITimeoutError", message=said or "no answer within 120 s", code="API_TIMEOUT")
        return AgentError(**where, agent=agent, round=number, error=lost.message, turn=FailedTurn(**place, error=lost))
    choice = OPTIONS[1] if slot == 1 else OPTIONS[2] if slot < 3 or number > 1 else OPTIONS[0]
    answer = AgentResponse(
        agent_id=agent,
        agent_name=name,
        position=said or f"{choice}: the team is small, and what it ships changes every week.",
        reasoning=said or REASONS,
        confidence=min(0.55 + 0.09 * slot + 0.08 * number, 1.0),
        choice=choice,
        citations=(
            Citation(title=said or "A study of forty start-ups", url=url, snippet=said or "Most split too soon."),
        )
        if slot in {0, 3}
        else (),
        tool_calls=(ToolCallRecord(tool_name=said or "search_web"),) if slot == 3 else (),
        timestamp=WHEN,
    )
    usage = Usage(calls=1, input_tokens=1850, output_tokens=420, cost_usd=0.0123)
    result = TurnResult(answer=answer, usage=usage, warnings=(said,) if said else ())
    return AgentComplete(**where, agent=agent, round=number, turn=Turn(**place, result=result))


def _measured(where: dict[str, Any], number: int, ids: tuple[str, ...], said: str | None) -> DurableEvent:
    early = number == 1
    split = Cluster(theme=said or OPTIONS[2], agent_ids=(ids[0], ids[2], *(() if early else (ids[3],))))
    return ConsensusMeasured(
        **where,
        round=number,
        consensus=ConsensusResult(
            agreement_level=0.5 if early else 0.75,
            clusters=(split, Cluster(theme=said or OPTIONS[1], agent_ids=(ids[1],))),
            summary=said or f"{'Two' if early else 'Three'} of four hold the same position.",
        ),
        decision=Decision(
            rule="plurality",
            winners=(OPTIONS[2],),
            passed=True,
            scores={OPTIONS[2]: 2.0 + (not early), OPTIONS[1]: 1.0, OPTIONS[0]: float(early)},
            cast=4,
            why=said or f"{OPTIONS[2]} has {2 + (not early)} of 4 votes",
        ),
        independent_agreement=0.5 if early else None,
    )


def record(session: str = "4f1c" * 8, *, said: str | None = None, **config: Any) -> SessionRecord:
    """Return the session of that debate."""
    return SessionRecord(
        id=session,
        config=DebateConfig(
            topic=said or "Should a five-person startup adopt microservices?",
            agents=tuple(f"a{number}" for number in range(len(NAMES))),
            options=OPTIONS,
            **config,
        ),
        agents=tuple(
            AgentConfig(id=f"a{number}", name=said or name, provider="scripted", model=said or f"model-{number}")
            for number, name in enumerate(NAMES)
        ),
        created_at=WHEN,
    )


def debate(*, rounds: int = 3, said: str | None = None, url: str = "https://example.org/study?a=1&b=2") -> DebateResult:
    """Return the result of that debate."""
    held = record(said=said, rounds=min(rounds, 10))
    return DebateResult.from_record(fold_debate(held, events(held.id, rounds=rounds, said=said, url=url)))


def without_hashes(document: str) -> str:
    """Return an exported session as a version without hashes wrote it, so that a test may change it."""
    session = json.loads(document)
    events = [{name: value for name, value in event.items() if name != "previousHash"} for event in session["events"]]
    return json.dumps({"format": session["format"], "version": 1, "session": session["session"], "events": events})
