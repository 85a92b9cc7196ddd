"""What tests of agents share: a scripted agent, a costly answer, a listener."""

from __future__ import annotations

from snapshots.prompt_views import ADA

from roundtable.agents import BaseAgent
from roundtable.providers.scripted import Reply, ScriptedModel
from roundtable.types import AgentConfig, ChatResponse, ToolCall, ToolCallRecord, Usage

YES: dict[str, Reply] = {"position": "Yes", "reasoning": "It scales.", "confidence": 0.9, "stance": "YES"}  # type: ignore[dict-item]  # a reply itself
SPENT = Usage(input_tokens=10, output_tokens=5, calls=1, cost_usd=0.5)


class Ear:
    """A listener that remembers, and may refuse a call."""

    wants_pieces = True

    def __init__(self, refuse: BaseException | None = None, after: int = 0) -> None:
        self.heard: list[str] = []
        self.calls = 0
        self._refuse, self._after = refuse, after

    async def chunk(self, text: str) -> None:
        self.heard.append(text)

    async def before_call(self) -> None:
        if self._refuse is not None and self.calls >= self._after:
            raise self._refuse
        self.calls += 1

    async def retrying(self, attempt: int, delay_s: float, error: Exception) -> None:
        self.heard.append(f"again ({attempt})")

    async def tool_called(self, step: int, call: ToolCall) -> None:
        self.heard.append(f"{step} calls {call.name}")

    async def tool_answered(self, step: int, call_id: str, record: ToolCallRecord) -> None:
        self.heard.append(f"{step} answers {record.tool_name}")


def agent(*replies: object, config: AgentConfig = ADA, **more: object) -> tuple[BaseAgent, ScriptedModel]:
    model = ScriptedModel(list(replies), **more)  # type: ignore[arg-type]  # handed on as they are
    return BaseAgent(config, model), model


def costly(text: str, **more: object) -> ChatResponse:
    return ChatResponse.model_validate({"text": text, "usage": SPENT, **more})
