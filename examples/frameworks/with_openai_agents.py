"""An agent of the OpenAI Agents SDK in a debate, and a debate as its tool; at a test model, so without a key."""

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
from agents import Agent, Model, ModelResponse, Runner, function_tool, set_tracing_disabled
from agents import Usage as AgentsUsage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import roundtable as rt
from roundtable.api import as_function
from roundtable.types import ChatRequest, Usage

set_tracing_disabled(disabled=True)
ANSWER = json.dumps({"position": "Tea", "reasoning": "It keeps.", "confidence": 0.9})


class TestModel(Model):
    """Answers without a provider, after one call of each tool; write Agent(model="gpt-5.2") instead."""

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],
        model_settings: object,
        tools: list[Any],
        *_: object,
        **__: object,
    ) -> ModelResponse:
        """Call the tools, or answer with the last result of one."""
        items = input if isinstance(input, list) else []
        results = [item["output"] for item in items if item.get("type") == "function_call_output"]
        if tools and not results:
            arguments = json.dumps({"question": "What shall I drink?"})
            output: Any = [
                ResponseFunctionToolCall(type="function_call", call_id="c1", name=tool.name, arguments=arguments)
                for tool in tools
            ]
        else:
            text = ResponseOutputText(type="output_text", text=results[-1] if results else ANSWER, annotations=[])
            output = [
                ResponseOutputMessage(id="m1", type="message", role="assistant", status="completed", content=[text])
            ]
        return ModelResponse(
            output=output, usage=AgentsUsage(requests=1, input_tokens=9, output_tokens=4), response_id=None
        )

    def stream_response(self, *_: object, **__: object) -> AsyncIterator[Any]:
        """Refuse: this model does not stream."""
        raise NotImplementedError("this model does not stream")


expert = Agent(name="Expert", instructions="You are an expert on hot drinks.", model=TestModel())


async def ask(request: ChatRequest) -> tuple[str, Usage]:
    """Run the agent for one turn."""
    run = await Runner.run(expert, f"{request.instructions}\n\n{request.prompt}")
    spent = run.context_wrapper.usage
    return str(run.final_output), Usage(
        calls=spent.requests, input_tokens=spent.input_tokens, output_tokens=spent.output_tokens
    )


async def main() -> None:
    """Debate with the agent, then let another agent call the debate."""
    agents = [rt.from_callable(ask, id="expert"), rt.from_callable(ask, id="second-expert")]
    async with rt.Roundtable(agents, storage="memory://") as table:
        result = await table.debate("Tea or coffee?", rounds=1)
        print("seat:", result.answer, result.usage.calls, result.usage.total_tokens)

        host = Agent(name="Host", model=TestModel(), tools=[function_tool(as_function(table, rounds=1))])
        run = await Runner.run(host, "What shall I drink?")
        print("tool:", "Tea" in run.final_output, len(await table.sessions()))


anyio.run(main)
