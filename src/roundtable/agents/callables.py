"""Agents of other libraries as agents of a debate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.agents.base import BaseAgent
from roundtable.core.base.arguments import explains_arguments
from roundtable.core.types.agents import AgentConfig

if TYPE_CHECKING:
    from roundtable.core.types.agents import ModelProfile, Persona
    from roundtable.providers.callables import AskFunction

__all__ = ["from_callable"]


@explains_arguments
def from_callable(
    function: AskFunction,
    *,
    id: str,
    name: str | None = None,
    persona: Persona | str | None = None,
    system_prompt: str | None = None,
    provider: str = "callable",
    model: str | None = None,
    profile: ModelProfile | None = None,
) -> BaseAgent:
    """Create an agent that asks a function, such as one that runs an agent of another library.

    The function gets a `roundtable.types.ChatRequest`. It returns a text, the fields of the answer as a mapping, or a
    pydantic model or dataclass with these fields. To report usage, it returns a tuple of this answer and a `Usage`. See
    `roundtable.providers.CallableModel`.

    The agent takes part in every mode. To resume a session with such an agent, use a table that has an agent with the
    same id.

    Args:
        function: Function that answers a request; plain or async.
        id: Id of the agent in the debate.
        name: Display name; if left out, it is made from the id.
        persona: The persona of the agent, or the name of a persona.
        system_prompt: Instructions that come before the instructions of the mode.
        provider: Name of the provider in records and prices.
        model: Name of the model in records and prices; if left out, the id.
        profile: What the library must know to prompt the model.

    Raises:
        ConfigurationError: `function` cannot be called.

    Example:
        >>> from roundtable import sync
        >>> def ask(request):
        ...     return {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}
        >>> with sync.Roundtable([from_callable(ask, id="ada")], storage="memory://") as table:
        ...     table.debate("Tea or coffee?", rounds=1).answer
        'Tea'
    """
    # This import is here so that `import roundtable.agents` loads no provider.
    from roundtable.providers.callables import CallableModel

    config = AgentConfig.model_validate(
        {
            "id": id,
            "name": name or id.replace("-", " ").replace("_", " ").title(),
            "provider": provider,
            "model": model or id,
            "persona": persona,
            "system_prompt": system_prompt,
        }
    )
    return BaseAgent(config, CallableModel(function, provider=provider, model=model or id, profile=profile))
