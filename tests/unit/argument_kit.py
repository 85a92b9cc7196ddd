"""Rounds whose answers have claims, for tests of the argument graph."""

from __future__ import annotations

from typing import Any

from roundtable.types import AgentResponse, Citation, Claim, RoundRecord, Turn, TurnResult

NOON = "2026-01-01T12:00:00Z"


def claim(label: str, text: str = "", **more: Any) -> Claim:
    return Claim.model_validate({"id": label, "text": text or f"Text of {label}.", **more})


def turn(agent: str, *claims: Claim, round_: int = 1, stage: str = "positions", slot: int = 0, **more: Any) -> Turn:
    answer = AgentResponse.model_validate(
        {
            "agent_id": agent,
            "agent_name": agent.title(),
            "position": "So.",
            "choice": more.pop("choice", "Tea"),
            "claims": claims,
            "citations": tuple(Citation(title=title, url=url) for title, url in more.pop("citations", ())),
            "timestamp": NOON,
            **more,
        }
    )
    return Turn.model_validate(
        {
            "round": round_,
            "stage": stage,
            "slot": slot,
            "agent_id": agent,
            "agent_name": agent.title(),
            "timestamp": NOON,
            "result": TurnResult(answer=answer),
        }
    )


def rounds(*turns: Turn) -> tuple[RoundRecord, ...]:
    by_number: dict[int, list[Turn]] = {}
    for one in turns:
        by_number.setdefault(one.round, []).append(one)
    return tuple(
        RoundRecord(number=number, turns=tuple(by_number[number]), complete=True) for number in sorted(by_number)
    )
