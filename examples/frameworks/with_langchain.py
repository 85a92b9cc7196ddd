"""A chat model of LangChain in a debate, and a debate as a tool and as a node; at a test model, so without a key."""

import anyio
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool

import roundtable as rt
from roundtable.api import as_function
from roundtable.types import ChatRequest, Usage

# FakeListChatModel answers without a provider: write init_chat_model("openai:gpt-5.2") instead.
model = FakeListChatModel(responses=['{"position": "Tea", "reasoning": "It keeps.", "confidence": 0.9}'])


async def ask(request: ChatRequest) -> tuple[str, Usage]:
    """Call the model for one turn; an agent is called in the same way."""
    message = await model.ainvoke([("system", request.instructions), ("user", request.prompt)])
    spent = message.usage_metadata
    if spent is None:
        return str(message.content), Usage(calls=1, unreported_calls=1)
    return str(message.content), Usage(
        calls=1, input_tokens=spent["input_tokens"], output_tokens=spent["output_tokens"]
    )


async def main() -> None:
    """Debate with the model, then call the debate as a tool, and as a step of a chain."""
    agents = [rt.from_callable(ask, id="expert"), rt.from_callable(ask, id="second-expert")]
    async with rt.Roundtable(agents, storage="memory://") as table:
        result = await table.debate("Tea or coffee?", rounds=1)
        print("seat:", result.answer, result.usage.calls, result.usage.unreported_calls)

        tool = StructuredTool.from_function(coroutine=as_function(table, rounds=1), parse_docstring=True)
        text = await tool.ainvoke({"question": "What shall I drink?"})
        print("tool:", tool.name, [*tool.args], "Tea" in text)

        async def debate_node(state: dict[str, str]) -> dict[str, str]:
            """Debate the question of a state; LangGraph takes this function as a node."""
            return {"answer": (await table.debate(state["question"], rounds=1)).answer or ""}

        state = await RunnableLambda(debate_node).ainvoke({"question": "What shall I drink?"})
        print("node:", state["answer"], len(await table.sessions()))


anyio.run(main)
