"""An agent of pydantic-ai in a debate, and a debate as its tool; at a test model, so without a key."""

import anyio
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

import roundtable as rt
from roundtable.api import as_function
from roundtable.types import ChatRequest, Usage


class Answer(BaseModel):
    """What the agent answers; the names are those of an answer in a debate."""

    position: str
    reasoning: str
    confidence: float


# TestModel answers without a provider: write Agent("openai:gpt-5.2", output_type=Answer) instead.
model = TestModel(custom_output_args={"position": "Tea", "reasoning": "It keeps.", "confidence": 0.9})
expert = Agent(model, output_type=Answer, instructions="You are an expert on hot drinks.")


async def ask(request: ChatRequest) -> tuple[Answer, Usage]:
    """Run the agent for one turn."""
    run = await expert.run(request.prompt, instructions=request.instructions)
    spent = run.usage
    return run.output, Usage(
        calls=spent.requests, input_tokens=spent.input_tokens or 0, output_tokens=spent.output_tokens or 0
    )


async def main() -> None:
    """Debate with the agent, then let another agent call the debate."""
    agents = [rt.from_callable(ask, id="expert"), rt.from_callable(ask, id="second-expert")]
    async with rt.Roundtable(agents, storage="memory://") as table:
        result = await table.debate("Tea or coffee?", rounds=1)
        print("seat:", result.answer, result.usage.calls, result.usage.total_tokens > 0)

        host = Agent(TestModel(), tools=[as_function(table, rounds=1)])  # TestModel calls every tool
        run = await host.run("What shall I drink?")
        print("tool:", "Tea" in run.output, len(await table.sessions()))


anyio.run(main)
