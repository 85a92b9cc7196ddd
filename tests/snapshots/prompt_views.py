"""Views that prompts are made from, for tests of wording, fence and length."""

from __future__ import annotations

from collections.abc import Sequence

from roundtable.agents import BaseAgent
from roundtable.core.stages import restrict_view
from roundtable.modes import CollaborativeMode
from roundtable.prompts import Fence
from roundtable.providers.scripted import ScriptedModel
from roundtable.types import (
    AgentConfig,
    AgentResponse,
    Citation,
    ContextResult,
    DebateContext,
    Message,
    ModelProfile,
    Persona,
    Seat,
    Stage,
    Turn,
    TurnResult,
    TurnSpec,
)

NONCE = "0123456789abcdef"
FULL = ModelProfile()
COMPACT = ModelProfile(prompt_style="compact", context_tokens=2048, structured_output=True, confidence_scale=100)
TOPIC = "Should a five-person startup adopt microservices?"
ADA = AgentConfig(id="ada", name="Ada", provider="scripted")
SKEPTIC = AgentConfig(
    id="ada",
    name="Ada",
    provider="scripted",
    persona=Persona(name="Skeptic", description="You look for what could go wrong and who would pay for it."),
)
SEATS = tuple(Seat(id=name.lower(), name=name) for name in ("Ada", "Bo", "Cy", "Dee"))
NOON = "2026-01-01T12:00:00Z"


def said(agent: str, position: str, *, round_: int = 1, slot: int = 0, **more: object) -> Turn:
    """Make a turn in which an agent gave a position."""
    answer = AgentResponse.model_validate(
        {
            "agent_id": agent.lower(),
            "agent_name": agent,
            "position": position,
            "reasoning": f"{agent} has reasons.",
            "confidence": 0.8,
            "timestamp": NOON,
            **more,
        }
    )
    return Turn.model_validate(
        {
            "round": round_,
            "stage": "positions",
            "slot": slot,
            "agent_id": agent.lower(),
            "agent_name": agent,
            "timestamp": NOON,
            "result": TurnResult(answer=answer),
        }
    )


def view(*turns: Turn, **more: object) -> DebateContext:
    """Make a mode's view of a debate."""
    facts: dict[str, object] = {
        "session_id": "s",
        "topic": TOPIC,
        "mode": "collaborative",
        "agents": SEATS,
        "transcript": turns,
        "current_round": max((turn.round for turn in turns), default=0) + 1,
    }
    return DebateContext.model_validate(facts | more)


def planned(context: DebateContext, /, agent: str = "ada", **changes: object) -> DebateContext:
    """Narrow a mode's view to the turn that the collaborative mode plans for an agent."""
    plan = CollaborativeMode().next_stage(context)
    assert isinstance(plan, Stage)
    (spec,) = (turn for turn in plan.turns if turn.agent == agent)
    return restrict_view(context, TurnSpec.model_validate(spec.model_dump(by_alias=False) | changes))


def ask(config: AgentConfig, profile: ModelProfile, context: DebateContext) -> Sequence[Message]:
    """Return the messages that an agent sends for a turn."""
    agent = BaseAgent(config, ScriptedModel([], profile=profile))
    return agent.build_messages(context, Fence(NONCE))


ROUND_ONE = (
    said("Ada", "Start with a monolith.", stance="NO"),
    said("Bo", "Yes, from the first day.", slot=1, confidence=0.55, reasoning="Teams grow.\nSystems too."),
    said("Cy", "It depends on the team.", slot=2, citations=(Citation(title="Paper", url="https://example.org"),)),
    said("Dee", "Split only what hurts.", slot=3, reasoning=""),
)
KNOWN = (
    ContextResult(request_id="r1", success=True, result="The team has two operators."),
    ContextResult(request_id="r2", success=False, error="no such file"),
    ContextResult(request_id="r3", success=False),
)
CLAIMED = (
    said(
        "Ada",
        "Start with a monolith.",
        claims=(
            {"id": "R1-KTBM-1", "text": "One service is easier to run.", "evidence": [{"url": "https://a.example"}]},
        ),
    ),
    said("Bo", "Yes.", slot=1, claims=({"id": "R1-PQRS-1", "text": "Teams grow.", "attacks": ["R1-KTBM-1"]},)),
)
VIEWS: dict[str, tuple[AgentConfig, ModelProfile, DebateContext]] = {
    "full-claims": (ADA, FULL, planned(view(claims=True))),
    "full-claims-later": (ADA, FULL, planned(view(*CLAIMED, claims=True))),
    "compact-claims": (ADA, COMPACT, planned(view(*CLAIMED, claims=True))),
    "full-opening": (ADA, FULL, planned(view())),
    "full-later": (SKEPTIC, FULL, planned(view(*ROUND_ONE))),
    "full-focus-context-options": (
        ADA,
        ModelProfile(confidence_scale=100),
        planned(
            view(
                *ROUND_ONE,
                focus_question="Who would run it at night?",
                context_results=KNOWN,
                options=("Yes (with conditions)", "No"),
            )
        ),
    ),
    "full-system-prompt": (
        ADA.model_copy(update={"system_prompt": "You are a notary."}),
        FULL,
        planned(view(mode_prompt="Speak last.")),
    ),
    **{
        f"full-{kind}": (ADA, FULL, planned(view(options=("Yes", "No")), answer=kind))
        for kind in ("ballot", "ranking", "scores", "plan", "text")
    },
    "compact-opening": (SKEPTIC, COMPACT, planned(view())),
    "compact-later": (SKEPTIC, COMPACT, planned(view(*ROUND_ONE))),
    "compact-focus-context-options": (
        ADA,
        COMPACT,
        planned(
            view(
                *ROUND_ONE,
                focus_question="Who would run it at night?",
                context_results=KNOWN,
                options=("Yes (with conditions)", "No"),
            )
        ),
    ),
    "compact-unheld": (ADA, ModelProfile(prompt_style="compact"), planned(view())),
    "compact-ballot": (ADA, COMPACT, planned(view(options=("Yes", "No")), answer="ballot")),
}
