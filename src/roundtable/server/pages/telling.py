"""What a page hears of a session while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from roundtable.types import Event, JsonObject

__all__ = ["tell"]

_LEFT_OUT: Final = {"turn", "results", "result", "context_results", "info", "usage", "baseline", "synthesis", "summary"}
"""What the page gets whole, rendered, once it asks for itself again."""


def tell(event: Event) -> JsonObject:
    """Tell an event without what is long, and with a line of news where there is any.

    The news of an agent go on where its name stands.
    """
    data = event.model_dump(mode="json", exclude_none=True, exclude=_LEFT_OUT | {"type"})
    news = _news(event)
    return {"type": event.type, "data": {**data, "news": news} if news else data}


def _news(event: Event) -> str:
    match event.type:
        case "round_start":
            return f"Round {event.round} begins."
        case "agent_complete":
            return f"has answered in round {event.round}."
        case "agent_error":
            return f"failed in round {event.round}."
        case "agent_tool_call":
            return f"uses {event.tool_call.name}."
        case "consensus":
            return f"Round {event.round}: agreement {event.consensus.agreement_level:.0%}."
        case "control":
            return _ASKED.get(event.action, "")
        case "exit":
            return f"It ends: {event.exit.details}."
        case "debate_complete":
            return "The debate is paused." if event.status == "paused" else "The debate is over."
        case "error":
            return f"The session broke: {event.error}"
        case _:
            return _ALWAYS.get(event.type, "")


_ALWAYS: Final = {
    "initiator_complete": "The goal is set.",
    "context_requested": "The agents ask for information.",
    "conversation_complete": "The conversation is over.",
}
_ASKED: Final = {
    "pause": "It will pause once the answers under way are in.",
    "resume": "It goes on.",
    "stop": "It will stop.",
}
