"""Answers of servers that bend the formats: what was paid for is kept, and what is not certain never runs."""

from __future__ import annotations

import json
import re

import pytest
from unit.test_providers_handmade import ANTHROPIC_START, DIALECTS, decode, sse

from roundtable.errors import AgentError, APIAuthError, APINetworkError, ContextTooLong
from roundtable.providers import SERVERS, OpenAIChat
from roundtable.providers.response_builder import arguments_of
from roundtable.types import AgentTool, ChatRequest, Message, ToolCall

GRIN = "\U0001f600"
FIRST, SECOND = "ok \ud83d", "\ude00!"
WIRES = ("compatible", "perplexity", "anthropic", "openai", "google")


def chunk(delta, finish=None):
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(text):
    return {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text}


def part(text, **more):
    return {"candidates": [{"content": {"parts": [{"text": text}]}, **more}]}


def block(index, start, *deltas):
    yield {"type": "content_block_start", "index": index, "content_block": start}
    yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
    yield {"type": "content_block_stop", "index": index}


def text_block(index, *texts):
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": text} for text in texts))


def message(*events, stop="end_turn"):
    end = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 2}}
    return sse(ANTHROPIC_START, *events, end, {"type": "message_stop"})


def completed(output, **more):
    return {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": output, **more}}


def stream_of(wire, *texts):
    """Return a stream of a text in pieces, in the format of a wire."""
    match wire:
        case "anthropic":
            return message(*text_block(0, *texts))
        case "openai":
            return sse(*map(piece, texts), completed([]))
        case "google":
            return sse(*map(part, texts[:-1]), part(texts[-1], finishReason="STOP"))
        case _:
            chunks = [chunk({"content": text}) for text in texts]
            return sse(*chunks, chunk({}, "stop")) + b"data: [DONE]\n\n"


@pytest.mark.parametrize("wire", WIRES)
class TestHalvesOfACharacter:
    @pytest.mark.parametrize(
        ("pieces", "text"),
        [
            ([FIRST, SECOND], f"ok {GRIN}!"),
            (["a\ud83d", "\ude00", "b"], f"a{GRIN}b"),
            (["\ud83d", "\ude00\ud83d", "\ude00"], GRIN * 2),
            ([FIRST, "!"], "ok \ufffd!"),
            (["ok ", SECOND], "ok \ufffd!"),
            (["ok", FIRST], "okok \ufffd"),
            (["a\ud800b", "c"], "a\ufffdbc"),
        ],
    )
    def test_halves_of_a_character_are_joined_and_a_lone_half_is_replaced(self, wire, pieces, text):
        response, deltas = decode(wire, stream_of(wire, *pieces))
        assert response.text == text
        assert "".join(delta.text for delta in deltas) == text
        json.dumps(response.model_dump(mode="json"), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("wire", "body", "found"),
    [
        ("compatible", sse(chunk({"reasoning_content": FIRST}), chunk({"reasoning_content": SECOND}),
                           chunk({"content": "Tea"}, "stop")), "reasoning"),
        ("anthropic", message(*block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta",
                              "thinking": FIRST}, {"type": "thinking_delta", "thinking": SECOND}),
                              *text_block(1, "Tea")), "reasoning"),
        ("google", sse({"candidates": [{"content": {"parts": [{"text": FIRST, "thought": True}]}}]},
                       {"candidates": [{"content": {"parts": [{"text": SECOND, "thought": True}]}}]},
                       part("Tea", finishReason="STOP")), "reasoning"),
        ("openai", sse(*({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0,
                          "delta": text} for text in (FIRST, SECOND)), piece("Tea") | {"output_index": 1},
                       completed([])), "reasoning"),
        ("anthropic", message(*block(0, {"type": "tool_use", "id": "t", "name": "look", "input": {}},
                              {"type": "input_json_delta", "partial_json": f'{{"q": "{FIRST}'},
                              {"type": "input_json_delta", "partial_json": f'{SECOND}"}}'}), stop="tool_use"), "call"),
    ],
)  # fmt: skip
def test_halves_of_a_character_are_joined_in_reasoning_and_arguments(wire, body, found):
    response, _ = decode(wire, body)
    seen = response.reasoning if found == "reasoning" else response.tool_calls[0].arguments["q"]
    assert seen == f"ok {GRIN}!"


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{}{"q":"tea"}', {"q": "tea"}),
        ('{ }\n{} {"q":"tea"}', {"q": "tea"}),
        ('null{"q":"tea"}', {"q": "tea"}),
        (json.dumps('{"q":"tea"}'), {"q": "tea"}),
        (json.dumps(json.dumps('{"q":"tea"}')), {"q": "tea"}),
        ("{}", {}),
        ("", {}),
        ("null", {}),
    ],
)
def test_arguments_are_read_after_empty_ones_and_inside_a_text(text, arguments):
    assert arguments_of(text) == (arguments, None)


@pytest.mark.parametrize("text", ['"tea"', '{"q": ', '{"a":1}{"b":2}', '"{"', "[1]", "{}tea", '"{\\"q\\": "'])
def test_arguments_without_an_object_stay_invalid(text):
    assert arguments_of(text) == ({}, text)


def test_arguments_that_are_a_text_go_back_to_the_provider_as_an_object():
    used = {"type": "tool_use", "id": "t", "name": "look", "input": '{"q": "tea"}'}
    answer = {"type": "message", "content": [used], "stop_reason": "tool_use"}
    response = DIALECTS["anthropic"].parse_response(200, {}, json.dumps(answer).encode())
    assert response.native.items[0]["input"] == {"q": "tea"}
    call = {"functionCall": {"name": "look", "args": '{"q": "tea"}'}}
    answer = {"candidates": [{"content": {"parts": [call]}, "finishReason": "STOP"}]}
    response = DIALECTS["google"].parse_response(200, {}, json.dumps(answer).encode())
    assert dict(response.tool_calls[0].arguments) == {"q": "tea"}
    assert response.native.items[0]["functionCall"]["args"] == {"q": "tea"}


class TestNumbersOfBlocks:
    TEA = '{"type": "text", "text": "Tea"}'

    @pytest.mark.parametrize(
        "events",
        [
            pytest.param([*block(0, {"type": "thinking", "thinking": "Hm"}), *text_block(0, "Tea")], id="all 0"),
            pytest.param([*text_block(0, "Tea"), {"type": "content_block_stop", "index": 1}], id="end without begin"),
            pytest.param([*text_block(0, "Tea"), {"type": "content_block_stop", "index": 0}], id="end twice"),
            pytest.param([*text_block(0, "T"), *text_block(0, "ea")], id="two texts"),
            pytest.param([*text_block(3, "T"), *text_block(1, "ea")], id="any order"),
        ],
    )
    def test_block_numbers_may_repeat(self, events):
        response, deltas = decode("anthropic", message(*events))
        assert response.text == "Tea" == "".join(delta.text for delta in deltas)

    def test_repeated_block_numbers_keep_calls_apart(self):
        used = [{"type": "tool_use", "id": id_, "name": "look", "input": {}} for id_ in "ab"]
        arguments = [{"type": "input_json_delta", "partial_json": f'{{"q": {number}}}'} for number in (1, 2)]
        events = [event for at in (0, 1) for event in block(0, used[at], arguments[at])]
        response, _ = decode("anthropic", message(*events, stop="tool_use"))
        assert [(call.id, dict(call.arguments)) for call in response.tool_calls] == [("a", {"q": 1}), ("b", {"q": 2})]

    @pytest.mark.parametrize(
        "events",
        [
            pytest.param([event for event in text_block(0, "Tea") for _ in range(2)], id="each event twice"),
            pytest.param([*text_block(0, "Tea"), *text_block(0, "Tea")], id="a block twice"),
        ],
    )
    def test_repeated_block_numbers_do_not_hide_a_stream_that_repeats_itself(self, events):
        with pytest.raises(AgentError, match="repeats itself"):
            decode("anthropic", message(*events))


def call_item(arguments, call_id="c1", **more):
    return {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "look",
            "arguments": arguments, **more}  # fmt: skip


def text_item(text):
    return {"type": "message", "id": "m1", "content": [{"type": "output_text", "text": text}]}


def item_event(kind, item, index=0):
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": item}


class TestPoorLastEvents:
    _EVENT = "response.function_call_arguments"
    ARGUMENTS = (
        {"type": f"{_EVENT}.done", "output_index": 0, "arguments": '{"q":"a"}'},
        {"type": f"{_EVENT}.delta", "output_index": 0, "delta": '{"q":"a"}'},
    )
    POOR = ([], [call_item("")], [call_item("{}")], [call_item("", "c1") | {"id": "other", "call_id": "other"}])

    @pytest.mark.parametrize("event", ARGUMENTS)
    @pytest.mark.parametrize("output", POOR)
    def test_poor_last_events_keep_the_arguments_of_the_stream(self, event, output):
        body = sse(item_event("added", call_item("")), event, item_event("done", call_item("")), completed(output))
        response, _ = decode("openai", body)
        assert [dict(call.arguments) for call in response.tool_calls] == [{"q": "a"}]

    @pytest.mark.parametrize(
        "event",
        [
            piece("Tea"),
            {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "Tea"},
            {"type": "response.refusal.delta", "output_index": 0, "content_index": 0, "delta": "Tea"},
            {"type": "response.refusal.done", "output_index": 0, "content_index": 0, "refusal": "Tea"},
            item_event("done", text_item("Tea")),
        ],
    )
    @pytest.mark.parametrize("output", [[], [text_item("")], [text_item("T")], [{"type": "reasoning", "summary": []}]])
    def test_poor_last_events_keep_the_text_of_the_stream(self, event, output):
        response, deltas = decode("openai", sse(event, completed(output)))
        assert response.text == "Tea"
        assert response.finish_reason == ("refusal" if "refusal" in event["type"] else "stop")
        assert "".join(delta.text for delta in deltas) == "Tea"

    def test_a_complete_last_event_is_kept(self):
        response, _ = decode("openai", sse(piece("Te"), completed([text_item("Coffee")])))
        assert response.text == "Coffee"

    def test_poor_last_events_keep_the_input_of_custom_tools_and_the_reasoning(self):
        custom = {"type": "custom_tool_call", "id": "x", "call_id": "x", "name": "run", "input": ""}
        events = (
            {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "Hm"},
            item_event("added", custom, 1),
            {"type": "response.custom_tool_call_input.done", "output_index": 1, "item_id": "x", "input": "ls"},
        )
        response, _ = decode("openai", sse(*events, completed([{"type": "reasoning", "summary": []}, custom])))
        assert (response.reasoning, dict(response.tool_calls[0].arguments)) == ("Hm", {"input": "ls"})

    def test_poor_last_events_keep_calls_with_the_same_position_apart(self):
        events = [
            event
            for call_id in ("c1", "c2")
            for event in (
                item_event("added", call_item("", call_id)),
                {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": f"fc_{call_id}",
                 "delta": f'{{"q":"{call_id}"}}'},
            )
        ]  # fmt: skip
        response, _ = decode("openai", sse(*events, completed([])))
        assert [dict(call.arguments)["q"] for call in response.tool_calls] == ["c1", "c2"]


def test_a_call_that_the_server_calls_incomplete_was_cut_off():
    answer = {"status": "completed", "output": [call_item("{}", status="incomplete")]}
    assert DIALECTS["openai"].parse_response(200, {}, json.dumps(answer).encode()).finish_reason == "length"


class TestTextBehindTheEndOfAnAnswer:
    def test_text_after_the_end_of_an_answer_of_google_is_refused(self):
        with pytest.raises(AgentError, match="goes on after the end") as caught:
            decode("google", sse(part("Tea", finishReason="STOP"), part(" Coffee")))
        assert caught.value.retryable

    def test_text_in_chunks_with_their_own_finish_reason_counts(self):
        chunks = (part("Te", finishReason="STOP"), part("a", finishReason="STOP"), part(""), {"usageMetadata": {}})
        assert decode("google", sse(*chunks))[0].text == "Tea"


LLAMA = {"code": 400, "message": "the request exceeds the available context size", "type": "invalid_request_error"}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "body",
    [
        b"error: " + json.dumps(LLAMA).encode() + b"\n\n",
        b"error: " + json.dumps({"error": LLAMA}).encode() + b"\n\ndata: [DONE]\n\n",
        json.dumps({"error": LLAMA}).encode() + b"\n\ndata: [DONE]\n\n",
    ],
)
def test_an_error_in_a_separate_field_is_reported(wire, body):
    with pytest.raises(ContextTooLong, match="context size"):
        decode(wire, body)


def whole(wire, answer):
    return DIALECTS[wire].parse_response(200, {}, json.dumps(answer).encode())


@pytest.mark.parametrize("wire", WIRES)
class TestRefusals:
    @pytest.mark.parametrize(
        "text",
        ["Unexpected endpoint or method. (POST /x)", "Not Found", "404 page not found", "Cannot POST /x",
         "no Route matched with those values", "Invalid URL (POST /chat/completions)"],
    )  # fmt: skip
    def test_errors_under_status_200_at_a_wrong_address_name_the_base_url(self, wire, text):
        for fails in (lambda: whole(wire, {"error": text}), lambda: decode(wire, sse({"error": text}))):
            with pytest.raises(AgentError, match=re.escape(text[:9])) as caught:
                fails()
            assert not caught.value.retryable
            assert "base URL" in caught.value.hint

    def test_errors_under_status_200_for_another_reason_are_retried(self, wire):
        with pytest.raises(APINetworkError) as caught:
            whole(wire, {"error": "overloaded, come back"})
        assert caught.value.retryable

    @pytest.mark.parametrize(
        ("status", "text"),
        [
            (400, "You have reached your specified API usage limits. You will regain access on 2031-04-01."),
            (403, "Key limit exceeded (monthly limit). Manage it on the website"),
            (403, "You have used all available credits or reached your monthly spending limit."),
            (400, "Budget has been exceeded! Current cost: 2.0, Max budget: 1.0"),
            (429, "You have hit your spending limit."),
        ],
    )
    def test_errors_for_a_spending_limit_name_the_account(self, wire, status, text):
        error = DIALECTS[wire].parse_error(status, {}, json.dumps({"error": {"message": text}}).encode())
        assert type(error) is APIAuthError
        assert "billing" in error.hint
        assert not error.retryable

    def test_errors_for_a_limit_of_calls_are_retried(self, wire):
        for text in ("Rate limit reached for the monthly quota of calls", "Too many requests"):
            assert DIALECTS[wire].parse_error(429, {}, json.dumps({"error": {"message": text}}).encode()).retryable

    @pytest.mark.parametrize("status", [400, 401, 403, 407])
    @pytest.mark.parametrize("body", [b"<!DOCTYPE html><html>no", b"<!-- x --><html>", b"error code: 1020"])
    def test_errors_with_a_web_page_do_not_blame_the_key(self, wire, status, body):
        error = DIALECTS[wire].parse_error(status, {}, body)
        assert type(error) is APINetworkError
        assert "key" not in error.hint
        assert "proxy" in error.hint.lower()
        assert not error.retryable

    @pytest.mark.parametrize(
        "error",
        [
            {"code": "unsupported_country_region_territory", "message": "Country, region, or territory not supported"},
            {"message": "User location is not supported for the API use.", "status": "FAILED_PRECONDITION"},
        ],
    )
    def test_errors_for_a_region_do_not_blame_the_key(self, wire, error):
        for status in (400, 403):
            found = DIALECTS[wire].parse_error(status, {}, json.dumps({"error": error}).encode())
            assert "region" in found.hint
            assert not isinstance(found, APIAuthError)


@pytest.mark.parametrize("details", [{}, {"completion_tokens_details": None},
                                     {"completion_tokens_details": {"reasoning_tokens": 0}}])  # fmt: skip
def test_thinking_that_is_counted_only_in_the_total_is_output(details):
    usage = {"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623, **details}
    choices = [{"index": 0, "message": {"content": "Tea"}, "finish_reason": "stop"}]
    seen = [whole("compatible", {"choices": choices, "usage": usage}).usage]
    google = {"promptTokenCount": 20, "candidatesTokenCount": 198, "totalTokenCount": 623}
    seen.append(whole("google", part("Tea", finishReason="STOP") | {"usageMetadata": google}).usage)
    responses = {"input_tokens": 20, "output_tokens": 198, "total_tokens": 623}
    seen.append(whole("openai", {"output": [text_item("Tea")], "usage": responses}).usage)
    assert [(used.output_tokens, used.reasoning_tokens) for used in seen] == [(603, 405)] * 3


def body_of(dialect, request):
    return json.loads(dialect.build_request(request, base_url="https://api.example.org", stream=False).body)


def history(call_id):
    call = ToolCall(id=call_id, name="look", arguments={})
    result = Message(role="tool", content="found", tool_call_id=call_id)
    return (Message(role="user", content="Hi"), Message(role="assistant", tool_calls=(call,)), result)


@pytest.mark.parametrize("call_id", ["functions.price:0", "call_1|fc_2", "c" * 80, "call_abcdef123456", "ü"])
@pytest.mark.parametrize(
    ("dialect", "model", "form"),
    [
        (DIALECTS["anthropic"], "claude", "[a-zA-Z0-9_-]{1,64}"),
        (DIALECTS["openai"], "gpt-5.2", "(?s).{1,64}"),
        (DIALECTS["openai-chat"], "gpt-5.2", "(?s).{1,40}"),
        (OpenAIChat("x", server=SERVERS["mistral"]), "any", "[a-zA-Z0-9]{9}"),
        (DIALECTS["compatible"], "mistralai/devstral-small", "[a-zA-Z0-9]{9}"),
        (DIALECTS["compatible"], "anthropic/claude-sonnet-4-5", "[a-zA-Z0-9_-]{1,64}"),
    ],
)
def test_call_ids_of_another_provider_are_converted_to_an_accepted_form(dialect, model, form, call_id):
    body = body_of(dialect, ChatRequest(model=model, messages=history(call_id)))
    ids = re.findall(r'"(?:tool_use_id|tool_call_id|call_id|id)": ("(?:[^"\\]|\\.)*")', json.dumps(body))
    made, answered = map(json.loads, ids)
    assert made == answered
    assert re.fullmatch(form, made)
    assert made == call_id or not re.fullmatch(form, call_id)


@pytest.mark.parametrize("wire", ["anthropic", "openai", "openai-chat", "compatible"])
@pytest.mark.parametrize("parameters", [{}, {"type": "object"}, {"type": "object", "properties": None}])
def test_a_tool_without_arguments_has_properties(wire, parameters):
    tool = AgentTool(name="list", description="List.", parameters=parameters)
    body = json.dumps(body_of(DIALECTS[wire], ChatRequest(model="m", messages=history("a")[:1], tools=(tool,))))
    assert '{"type": "object", "properties": {}}' in body


@pytest.mark.parametrize("model", ["gpt-5-mini", "openai/gpt-5.2", "o4-mini", "azure.gpt-5"])
def test_models_of_openai_behind_a_proxy_get_the_options_that_they_accept(model):
    body = body_of(DIALECTS["compatible"], ChatRequest(model=model, messages=history("a")[:1], temperature=0.7))
    assert "temperature" not in body
    assert "max_completion_tokens" in body
    assert "max_tokens" not in body


@pytest.mark.parametrize("model", ["llama3", "gpt-4.1", "openai/gpt-oss-120b", "gpt-5-chat-latest"])
def test_other_models_behind_a_proxy_keep_the_temperature(model):
    body = body_of(DIALECTS["compatible"], ChatRequest(model=model, messages=history("a")[:1], temperature=0.7))
    assert body["temperature"] == 0.7
    assert "max_tokens" in body
