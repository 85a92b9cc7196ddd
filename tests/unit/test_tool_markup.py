"""Tool calls that a model wrote as text are not an answer; a text that mentions such markup is."""

from __future__ import annotations

import json

import pytest
from snapshots.prompt_views import ADA, planned, view

from roundtable.agents import BaseAgent
from roundtable.errors import ParseError
from roundtable.parsing.tool_markup import text_beside_tool_calls
from roundtable.providers.scripted import ScriptedModel
from roundtable.types import AgentResponse, AgentTool, ChatResponse, JsonObject, ToolResult

ARGUMENTS = '{"name": "price", "arguments": {"item": "tea"}}'
CALLS = {
    "Qwen3-Coder": "<tool_call>\n<function=price>\n<parameter=item>\ntea\n</parameter>\n</function>\n</tool_call>",
    "Qwen3-Coder without wrapper": "<function=price>\n<parameter=item>\ntea\n</parameter>\n</function>\n</tool_call>",
    "Hermes": f"<tool_call>\n{ARGUMENTS}\n</tool_call>",
    "Hermes, cut off": '<tool_call>\n{"name": "price", "argum',
    "GLM": "<tool_call>price\n<arg_key>item</arg_key>\n<arg_value>tea</arg_value>\n</tool_call>",
    "Claude": '<function_calls>\n<invoke name="price">\n<parameter name="item">tea</parameter>\n</invoke>\n'
    "</function_calls>",
    "Claude without wrapper": '<invoke name="price"><parameter name="item">tea</parameter></invoke>',
    "DeepSeek V3": "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>function"
    '<\uff5ctool\u2581sep\uff5c>price\n```json\n{"item": "tea"}\n```<\uff5ctool\u2581call\u2581end\uff5c>',
    "DeepSeek V3.2": '<\uff5cDSML\uff5cfunction_calls>\n<\uff5cDSML\uff5cinvoke name="price">\n',
    "Llama 3": '<|python_tag|>price(item="tea")',
    "Llama 3, tag": '<function=price>{"item": "tea"}</function>',
    "gpt-oss": 'assistantcommentary to=functions.price json{"item": "tea"}',
    "gpt-oss, marks": '<|channel|>commentary to=functions.price <|constrain|>json<|message|>{"item":"tea"}<|call|>',
    "Mistral": f"[TOOL_CALLS][{ARGUMENTS}]",
    "Mistral, name first": '[TOOL_CALLS]price[ARGS]{"item": "tea"}',
    "Kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.price:0<|tool_call_argument_begin|>{}",
    "MiniMax": '<minimax:tool_call>\n<invoke name="price">\n</invoke>\n</minimax:tool_call>',
    "Seed": "<seed:tool_call>\n<function=price>\n</function>\n</seed:tool_call>",
    "Granite": f"<|tool_call|>[{ARGUMENTS}]",
    "Nemotron": f"<TOOLCALL>[{ARGUMENTS}]</TOOLCALL>",
    "Jamba": f"<tool_calls>[\n{ARGUMENTS}]</tool_calls>",
    "LFM": '<|tool_call_start|>[price(item="tea")]<|tool_call_end|>',
    "InternLM": f"<|action_start|><|plugin|>{ARGUMENTS}<|action_end|>",
    "Command R": f"<|START_ACTION|>[{ARGUMENTS}]<|END_ACTION|>",
    "Gemma": '```tool_code\nprint(price(item="tea"))\n```',
    "FunctionGemma": "<start_function_call>call:price{item:<escape>tea<escape>}<end_function_call>",
    "OLMo": '<function_calls>\nprice(item="tea")\n</function_calls>',
    "behind words": f"Let me look that up first.\n\n<tool_call>\n{ARGUMENTS}\n</tool_call>",
    "behind thoughts": f"<think>A price?</think>\n<tool_call>\n{ARGUMENTS}\n</tool_call>",
}
YES = '{"position": "Tea", "reasoning": "It keeps well.", "confidence": 0.8}'


async def turn(*replies: ChatResponse | str) -> AgentResponse:
    model = ScriptedModel(list(replies))
    result = await BaseAgent(ADA, model).take_turn(planned(view()))
    model.assert_consumed()
    assert isinstance(result.answer, AgentResponse)
    return result.answer


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_an_answer_with_a_call_written_as_text_is_requested_again(call: str) -> None:
    assert (await turn(call, YES)).position == "Tea"


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_a_call_written_as_text_is_never_the_answer(call: str) -> None:
    with pytest.raises(ParseError, match="tool call written as text") as caught:
        await turn(call, call)
    assert "parser for the tool calls" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>{ARGUMENTS}</tool_call>\n{YES}",
        f"{YES}\n<tool_call>{ARGUMENTS}</tool_call>",
        f"I looked it up. {YES} <function=price></function>",
    ],
)
async def test_an_answer_in_the_form_next_to_a_call_counts(text: str) -> None:
    assert (await turn(text)).position == "Tea"


@pytest.mark.parametrize(
    "text",
    [
        "Tea.",
        "Write calls as `<tool_call>{...}</tool_call>` in the prompt.",
        'Hermes models write this:\n```xml\n<tool_call>\n{"name": "x"}\n</tool_call>\n```\nOthers use JSON.',
        '{"position": "Use <tool_call>{} as the format", "confidence": 0.5}',
        "The tag <tool_call> opens a call.",
        "A commentary to the functions of the state.",
        "The price is <function of demand>.",
    ],
)
def test_a_text_that_only_mentions_calls_is_not_one(text: str) -> None:
    assert text_beside_tool_calls(text) is None


@pytest.mark.parametrize("text", ["", " \n"])
async def test_an_answer_that_is_only_reasoning_is_requested_again_with_the_reason(text: str) -> None:
    only = ChatResponse(text=text, reasoning=YES)
    assert (await turn(only, YES)).position == "Tea"
    with pytest.raises(ParseError, match="only reasoning") as caught:
        await turn(only, only)
    assert "reasoning parser" in (caught.value.hint or "")
    with pytest.raises(ParseError, match="the answer was empty"):
        await turn("", "")


class Prices:
    def get_tools(self) -> tuple[AgentTool, ...]:
        return (AgentTool(name="price", description="Looks up a price."),)

    async def execute_tool(self, name: str, tool_input: JsonObject) -> ToolResult:
        return ToolResult(success=True, data="5")


class TestForms:
    @pytest.mark.parametrize(
        "text",
        [
            f'<tool_call>\n{{"name": "final_answer", "arguments": {YES}}}\n</tool_call>',
            f'<think>Tea.</think><tool_call>{{"name": "final_answer", "arguments": {YES}}}</tool_call>',
            f'<tool_call>{{"name": "final_answer", "arguments": {json.dumps(YES)}}}</tool_call>',
            f"<tool_call>{YES}</tool_call>",
            f'[TOOL_CALLS][{{"name": "answer", "parameters": {YES}}}]',
        ],
    )
    async def test_a_form_in_the_markup_of_a_call_is_the_answer(self, text: str) -> None:
        read, expected = await turn(text), await turn(YES)
        assert (read.position, read.reasoning, read.confidence) == (expected.position, expected.reasoning, 0.8)

    async def test_a_choice_in_the_markup_of_a_call_is_read(self) -> None:
        call = '<tool_call>{"name": "final", "arguments": {"choice": "B) Porto", "reasoning": "Near."}}</tool_call>'
        model = ScriptedModel([call])
        context = planned(view(options=("A) Lisbon", "B) Porto")))
        result = await BaseAgent(ADA, model).take_turn(context)
        assert isinstance(result.answer, AgentResponse)
        assert result.answer.choice == "B) Porto"

    @pytest.mark.parametrize(
        "text",
        [
            f'<tool_call>{{"name": "price", "arguments": {YES}}}</tool_call>',
            '<tool_call>{"name": "final", "arguments": {"position": "Tea", "item": "tea"}}</tool_call>',
            f'Let me see. <tool_call>{{"name": "final", "arguments": {YES}}}</tool_call>',
            f'<tool_call>{{"name": "a", "arguments": {YES}}}</tool_call><tool_call>{ARGUMENTS}</tool_call>',
        ],
    )
    async def test_a_call_of_a_tool_is_not_an_answer(self, text: str) -> None:
        agent = BaseAgent(ADA, ScriptedModel([text, text]), toolkit=Prices())
        with pytest.raises(ParseError, match="tool call written as text"):
            await agent.take_turn(planned(view()))
