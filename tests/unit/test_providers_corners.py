"""Answers and requests of the rarer kind: made by hand from the documented shapes, none of them recorded."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from unit.test_providers_handmade import ANTHROPIC_START, DIALECTS, decode, sse

from roundtable.errors import AgentError, APIAuthError, APINetworkError, ConfigurationError
from roundtable.http.json_array import JsonArrayFramer
from roundtable.providers import BUILTIN_SPECS, SERVERS, HttpProvider, OpenAIChat, chat_model
from roundtable.providers.schemas import ANTHROPIC, GOOGLE, strict_schema, to_dialect
from roundtable.settings import Settings
from roundtable.testing.servers import LoopbackServer, http_reply
from roundtable.types import ChatRequest, ImagePart, Message, NativeSearch, ProviderConfig, ToolCall, Usage

HI = (Message(role="user", content="Hi"),)
ANTHROPIC_END = [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]


def blocks(*started):
    """Return the events of blocks: what each starts with, and its deltas."""
    for index, (block, *deltas) in enumerate(started):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}


def whole(name, answer):
    return DIALECTS[name].parse_response(200, {}, json.dumps(answer).encode())


class TestAnthropic:
    def test_invalid_json_arguments_are_reported_and_sent_back_as_an_object(self):
        used = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
        events = blocks((used, {"type": "input_json_delta", "partial_json": '{"a": '}))
        response, _ = decode("anthropic", sse(ANTHROPIC_START, *events, *ANTHROPIC_END))
        (call,) = response.tool_calls
        assert call.invalid == '{"a": '
        assert response.native.items[0]["input"] == {}

    def test_arguments_that_come_with_the_start_of_a_block_count(self):
        used = {"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1}}
        response, deltas = decode("anthropic", sse(ANTHROPIC_START, *blocks((used,)), *ANTHROPIC_END))
        assert dict(response.tool_calls[0].arguments) == {"a": 1}
        assert json.loads("".join(piece.arguments for delta in deltas for piece in delta.tool_calls)) == {"a": 1}

    def test_a_summary_of_the_conversation_and_unknown_pieces_are_kept_for_the_next_call(self):
        summary = {"type": "compaction", "content": ""}
        pieces = ({"type": "compaction_delta", "content": "Tea so far."}, {"type": "news_delta"})
        events = blocks((summary, *pieces), ({"type": "text", "text": "Hi"},))
        response, _ = decode("anthropic", sse(ANTHROPIC_START, *events, *ANTHROPIC_END))
        assert response.native.items[0] == {"type": "compaction", "content": "Tea so far."}

    @pytest.mark.parametrize("summary", [{"content": "Tea.", "encrypted_content": "EpwB"}, {"content": None}])
    def test_encrypted_and_failed_summaries_are_sent_back_unchanged(self, summary):
        begun = {"type": "compaction", "content": None}
        events = blocks((begun, {"type": "compaction_delta", **summary}), ({"type": "text", "text": "Hi"},))
        response, _ = decode("anthropic", sse(ANTHROPIC_START, *events, *ANTHROPIC_END))
        assert response.native.items[0] == {"type": "compaction", **summary}

    @pytest.mark.parametrize("kind", ["advisor_message", "fallback_message"])
    def test_the_tokens_of_another_model_count_but_their_price_is_unknown(self, kind):
        parts = [
            {"type": "message", "input_tokens": 412, "output_tokens": 89},
            {"type": kind, "model": "claude-opus-4-8", "input_tokens": 823, "output_tokens": 1612},
            {"type": "message", "input_tokens": 1348, "cache_read_input_tokens": 412, "output_tokens": 442},
        ]
        server = {"web_search_requests": 2}
        usage = {"input_tokens": 412, "output_tokens": 531, "iterations": parts, "server_tool_use": server}
        end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
        events = [*blocks(({"type": "text", "text": "Hi"},)), end, {"type": "message_stop"}]
        response, _ = decode("anthropic", sse(ANTHROPIC_START, *events))
        counts = {"input_tokens": 412 + 823 + 1760, "output_tokens": 89 + 1612 + 442, "cache_read_tokens": 412}
        assert response.usage == Usage(**counts, searches=2, calls=1, partial_cost_usd=0)

    @pytest.mark.parametrize("tier", [{"speed": "fast"}, {"service_tier": "priority"}, {"inference_geo": "us"}])
    def test_the_price_of_a_faster_or_regional_answer_is_unknown(self, tier):
        content = [{"type": "text", "text": "Hi"}]
        answer = {"type": "message", "content": content, "stop_reason": "end_turn"}
        usage = {"input_tokens": 3, "output_tokens": 1}
        assert whole("anthropic", {**answer, "usage": {**usage, **tier}}).usage.partial_cost_usd == 0
        listed = {**usage, "speed": "standard", "service_tier": "standard", "inference_geo": "global"}
        assert whole("anthropic", {**answer, "usage": listed}).usage.partial_cost_usd is None
        assert whole("anthropic", {**answer, "usage": {**usage, **tier, "cost": 0.5}}).usage.cost_usd == 0.5

    def test_after_a_fallback_only_the_calls_and_thoughts_of_the_model_that_answered_count(self):
        hop = {"type": "fallback", "from": {"model": "claude-opus-5"}, "to": {"model": "claude-sonnet-5"}}
        done = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tea"}}
        found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
        content = [
            {"type": "thinking", "thinking": "No.", "signature": "a"},
            {"type": "text", "text": "Tea "},
            done,
            found,
            {"type": "server_tool_use", "id": "s2", "name": "web_search", "input": {"query": "milk"}},
            {"type": "tool_use", "id": "t1", "name": "declined", "input": {"a": 1}},
            hop,
            {"type": "thinking", "thinking": "Yes.", "signature": "b"},
            {"type": "text", "text": "time."},
            {"type": "tool_use", "id": "t2", "name": "look", "input": {"b": 2}},
        ]
        answer = {"type": "message", "model": "claude-sonnet-5", "content": content, "stop_reason": "tool_use"}
        streamed, _ = decode(
            "anthropic", sse(ANTHROPIC_START, *blocks(*((block,) for block in content)), *ANTHROPIC_END)
        )
        for response in (whole("anthropic", answer), streamed):
            assert response.model == "claude-sonnet-5"
            assert response.text == "Tea time."
            assert [(call.id, dict(call.arguments)) for call in response.tool_calls] == [("t2", {"b": 2})]
            kept = [content[1], done, found, *content[6:]]
            assert list(response.native.items) == kept

    def test_the_usage_of_a_summary_of_the_conversation_is_counted_too(self):
        parts = [
            {"type": "compaction", "input_tokens": 180, "output_tokens": 3, "cache_read_input_tokens": 20},
            {"type": "message", "input_tokens": 23, "output_tokens": 1},
        ]
        usage = {"input_tokens": 23, "output_tokens": 1, "iterations": parts}
        end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
        events = [*blocks(({"type": "text", "text": "Hi"},)), end, {"type": "message_stop"}]
        streamed, _ = decode("anthropic", sse(ANTHROPIC_START, *events))
        content = [{"type": "text", "text": "Hi"}]
        found = whole("anthropic", {"type": "message", "content": content, "stop_reason": "end_turn", "usage": usage})
        assert streamed.usage == found.usage
        assert found.usage == Usage(input_tokens=223, output_tokens=4, cache_read_tokens=20, calls=1)

    def test_a_cost_that_a_router_states_counts(self):
        content = [{"type": "text", "text": "Hi"}]
        usage = {"input_tokens": 32, "output_tokens": 16, "cost": 0.000112, "is_byok": False}
        found = whole("anthropic", {"type": "message", "content": content, "stop_reason": "end_turn", "usage": usage})
        assert found.usage.cost_usd == 0.000112

    @pytest.mark.parametrize("search", [None, NativeSearch()])
    def test_earlier_calls_are_defined_if_nothing_is_offered_any_more(self, search):
        calls = tuple(ToolCall(id=f"t{place}", name=name) for place, name in enumerate(("look", "add", "look")))
        asked = Message(role="assistant", content="", tool_calls=calls)
        told = [Message(role="tool", tool_call_id=call.id, content="4") for call in calls]
        request = ChatRequest(model="m", messages=(*HI, asked, *told), max_tokens=9, search=search)
        body = json.loads(DIALECTS["anthropic"].build_request(request, base_url="https://a.example", stream=False).body)
        if search is None:
            assert body["tools"] == [{"name": name, "input_schema": {"type": "object"}} for name in ("look", "add")]
            assert body["tool_choice"] == {"type": "none"}
        else:  # a search does not count against the allowance of tool calls
            assert [tool["name"] for tool in body["tools"]] == ["web_search"]
            assert "tool_choice" not in body

    def test_a_text_of_white_space_is_not_sent_back(self):
        thought = {"type": "thinking", "thinking": "Look it up.", "signature": "s"}
        used = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
        answer = whole(
            "anthropic", {"content": [thought, {"type": "text", "text": "\n\n"}, used], "stop_reason": "tool_use"}
        )
        asked = Message(role="assistant", content=answer.text, tool_calls=answer.tool_calls, native=answer.native)
        told = Message(role="tool", tool_call_id="t1", content="4")
        request = ChatRequest(model="m", messages=(*HI, asked, told), max_tokens=9)
        body = DIALECTS["anthropic"].build_request(request, base_url="https://a.example", stream=False).body
        assert json.loads(body)["messages"][1]["content"] == [thought, used]

    def test_a_result_that_is_a_text_is_shown_unchanged(self):
        result = {"type": "code_tool_result", "tool_use_id": "s", "content": "4"}
        content = [{"type": "server_tool_use", "id": "s", "name": "code", "input": {"code": "2+2"}}, result]
        answer = whole("anthropic", {"content": [*content, {"type": "text", "text": "4"}], "stop_reason": "end_turn"})
        assert (answer.server_calls[0].name, answer.server_calls[0].output) == ("code", "4")

    def test_an_answer_without_content_is_retryable(self):
        with pytest.raises(AgentError, match="has no content") as caught:
            whole("anthropic", {"type": "message", "content": None})
        assert caught.value.retryable

    def test_blocked_domains_are_sent(self):
        request = ChatRequest(model="m", messages=HI, search=NativeSearch(blocked_domains=("a.example",)))
        made = DIALECTS["anthropic"].build_request(request, base_url="https://a.example", stream=False)
        assert json.loads(made.body)["tools"][0]["blocked_domains"] == ["a.example"]


class TestOpenAI:
    def test_paragraphs_of_reasoning_and_quotes_of_pages_are_kept(self):
        note = {"type": "url_citation", "url_citation": {"url": "https://a.example", "title": "A"}}
        text = {"type": "output_text", "text": "Tea.", "annotations": [note]}
        parts = [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]
        items = [{"type": "reasoning", "summary": parts}, {"type": "message", "content": [text]}]
        answer = whole("openai", {"status": "completed", "output": items, "citations": ["https://b.example"]})
        assert answer.reasoning == "One.\n\nTwo."
        assert [link.url for link in answer.citations] == ["https://a.example", "https://b.example"]

    def test_each_message_of_an_answer_is_a_paragraph(self):
        texts = ("Let me look.", "Tea.")
        items = [
            {"type": "message", "phase": phase, "content": [{"type": "output_text", "text": text}]}
            for phase, text in zip(("commentary", "final_answer"), texts, strict=True)
        ]
        items.insert(1, {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}})
        answer = {"status": "completed", "output": items}
        assert whole("openai", answer).text == "Let me look.\n\nTea."
        pieces = [(0, "Let me "), (0, "look."), (2, "Te"), (2, "a.")]
        events = [
            {"type": "response.output_text.delta", "output_index": index, "delta": piece} for index, piece in pieces
        ]
        response, deltas = decode("openai", sse(*events, {"type": "response.completed", "response": answer}))
        assert response.text == "".join(delta.text for delta in deltas) == "Let me look.\n\nTea."

    @pytest.mark.parametrize("phase", ["commentary", "final_answer", None])
    def test_a_text_is_sent_back_with_its_phase(self, phase):
        item = {"type": "message", "id": "msg_1", "role": "assistant", **({"phase": phase} if phase else {})}
        item["content"] = [{"type": "output_text", "text": "Tea."}]
        answer = whole("openai", {"status": "completed", "output": [item]})
        request = ChatRequest(model="gpt-5.4", messages=(*HI, answer.to_message()))
        made = json.loads(DIALECTS["openai"].build_request(request, base_url="https://o.example", stream=False).body)
        assert made["input"][1] == (item if phase else {"role": "assistant", "content": "Tea."})


class TestGoogle:
    def call(self, *pieces):
        """Stream one call in pieces."""
        calls = [{"name": "look", "willContinue": True}]
        calls += [{"partialArgs": [piece], "willContinue": True} for piece in pieces]
        parts = [{"functionCall": call} for call in [*calls, {}]]
        events = [{"candidates": [{"content": {"parts": [part]}}]} for part in parts]
        return decode("google", sse(*events, {"candidates": [{"finishReason": "STOP"}]}))[0]

    def test_arguments_in_pieces_are_joined(self):
        answer = self.call(
            {"jsonPath": "$.kind", "stringValue": "te"},
            {"jsonPath": "$.kind", "stringValue": "a"},
            {"jsonPath": "$['a.b'][0]", "numberValue": 3},
            {"jsonPath": '$["c"]', "boolValue": True},
            {"jsonPath": "$.none", "nullValue": None},
        )
        assert dict(answer.tool_calls[0].arguments) == {"kind": "tea", "a.b": [3], "c": True, "none": None}

    @pytest.mark.parametrize("path", ["", "kind", "$", "$.a..b", "$.a[9]", "$[0]"])
    def test_a_piece_without_a_position_is_refused(self, path):
        with pytest.raises(AgentError, match="has an invalid path"):
            self.call({"jsonPath": path, "stringValue": "x"})

    def test_a_piece_without_a_call_is_skipped(self):
        part = {"functionCall": {"partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}]}}
        candidate = {"content": {"parts": [part, {"text": "Tea."}]}, "finishReason": "STOP"}
        assert whole("google", {"candidates": [candidate]}).tool_calls == ()

    def test_a_stream_that_repeats_its_end_is_refused(self):
        event = {"candidates": [{"content": {"parts": [{"text": "Tea."}]}, "finishReason": "STOP"}]}
        counted = event | {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}}
        silent = {"candidates": [{"finishReason": "STOP"}]}
        for ends in ([counted, counted], [event, silent, silent]):
            with pytest.raises(AgentError, match="repeats itself"):
                decode("google", sse(*ends))

    def test_a_search_for_images_is_a_search_and_has_sources(self):
        page = {"sourceUri": "https://a.example/p", "imageUri": "https://a.example/i.png", "title": "A"}
        grounding = {"imageSearchQueries": ["tea"], "groundingChunks": [{"image": page}]}
        candidate = {"content": {"parts": [{"text": "Tea."}]}, "finishReason": "STOP", "groundingMetadata": grounding}
        answer = whole("google", {"candidates": [candidate]})
        assert [(link.url, link.title) for link in answer.citations] == [("https://a.example/p", "A")]
        assert answer.usage.searches == 1
        assert answer.server_calls[0].input == {"queries": ["tea"]}

    def test_an_image_url_and_a_forbidden_tool_are_sent(self):
        images = (ImagePart(url="https://a.example/i.jpeg?x=1"),)
        messages = (Message(role="user", content="", images=images),)
        request = ChatRequest.model_validate(
            {"messages": messages, "tools": [{"name": "look", "description": ""}], "tool_choice": "none"}
        )
        made = json.loads(DIALECTS["google"].build_request(request, base_url="https://g.example", stream=False).body)
        part = {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://a.example/i.jpeg?x=1"}}
        assert made["contents"][0]["parts"] == [part]
        assert made["tools"] == [{"functionDeclarations": [{"name": "look", "description": ""}]}]
        assert made["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}}

    def test_an_item_of_an_array_has_a_largest_size(self):
        for chunks in ([b'[{"a": "' + b"x" * 50], [b'[{"a": "' + b"x" * 9, b"x" * 50 + b'"}]']):
            framer = JsonArrayFramer(max_item_bytes=20)
            with pytest.raises(AgentError, match="larger than 20 bytes"):
                list(map(framer.feed, chunks))


class TestChatServers:
    def test_reasoning_in_numbered_pieces_is_sent_back_joined(self):
        dialect = OpenAIChat("x", server=SERVERS["openrouter"])
        details = [
            {"type": "reasoning.text", "index": 0, "text": "Tea ", "signature": None},
            {"type": "reasoning.text", "index": 0, "text": "keeps.", "signature": "s"},
            {"type": "reasoning.encrypted", "index": 1, "data": "e"},
        ]
        called = {"index": 0, "id": "c", "function": {"name": "look", "arguments": "{}"}}
        deltas = [{"reasoning_details": [detail]} for detail in details] + [{"tool_calls": [called]}]
        events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        decoder = dialect.stream_decoder({})
        decoder.feed(sse(*events, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}))
        found = decoder.finish()
        assert found.reasoning == "Tea keeps."
        request = ChatRequest(model="m", messages=(*HI, found.to_message()))
        made = json.loads(dialect.build_request(request, base_url="https://o.example", stream=False).body)
        assert made["messages"][1]["reasoning_details"] == [
            {"type": "reasoning.text", "index": 0, "text": "Tea keeps.", "signature": "s"},
            {"type": "reasoning.encrypted", "index": 1, "data": "e"},
        ]

    def test_thinking_among_the_parts_of_the_content_is_reasoning(self):
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
        message = {"content": [thought, {"type": "text", "text": "Tea."}]}
        answer = whole("compatible", {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        assert (answer.text, answer.reasoning) == ("Tea.", "Hm.")

    def test_an_unknown_profile_is_refused_with_the_known_ones(self):
        make = HttpProvider(BUILTIN_SPECS["compatible"])
        with pytest.raises(ConfigurationError, match=r"no profile 'grok'; known profiles: azure, .*xai"):
            make("m", ProviderConfig(profile="grok"), Settings())
        with pytest.raises(ConfigurationError, match="known profiles: none"):
            chat_model("anthropic", api_key="k", profile="groq")


class TestStreams:
    def test_an_event_that_is_not_an_object_fails_the_stream(self):
        with pytest.raises(AgentError, match="not a JSON object"):
            decode("anthropic", b"data: [1]\n\n")

    @pytest.mark.parametrize("tail", [b'{"error": {"code": 401, "message": "no"}}', b'[{"error": {"code": 401}}]'])
    def test_bare_json_after_events_is_read_as_an_error(self, tail):
        with pytest.raises(APIAuthError):
            decode("google", sse({"candidates": [{"content": {"parts": [{"text": "Te"}]}}]}) + tail)

    @pytest.mark.parametrize("tail", [b'{"error": ', b"[]", b'{"note": 1}'])
    def test_other_bare_text_after_events_makes_the_stream_incomplete(self, tail):
        with pytest.raises(APINetworkError, match="before the answer was complete"):
            decode("google", sse({"candidates": [{"content": {"parts": [{"text": "Te"}]}}]}) + tail)

    def test_an_unknown_error_in_a_stream_may_be_temporary(self):
        event = {"type": "error", "error": {"type": "odd_error", "message": "Hm."}}
        with pytest.raises(APINetworkError) as caught:
            decode("anthropic", sse(ANTHROPIC_START, event))
        assert caught.value.retryable


class TestSchemas:
    def test_the_only_schema_of_an_all_of_replaces_it(self):
        schema = {"description": "A kind.", "allOf": [{"type": "string", "enum": ["a", "b"]}]}
        assert to_dialect(schema, GOOGLE) == {"description": "A kind.", "type": "string", "enum": ["a", "b"]}

    @pytest.mark.parametrize(
        "schema",
        [
            {"allOf": [{"type": "string"}, {"minLength": 1}]},
            {"allOf": "odd"},
            {"type": "object", "patternProperties": {"a": {}}},
            {"not": {"type": "string"}},
        ],
    )
    def test_a_schema_that_a_dialect_cannot_express_is_left_out_completely(self, schema):
        assert to_dialect(schema, GOOGLE) is None

    def test_a_constant_becomes_the_only_choice_if_necessary(self):
        assert to_dialect({"const": "a"}, GOOGLE) == {"enum": ["a"]}
        assert to_dialect({"const": "a"}, ANTHROPIC) == {"const": "a"}

    def test_a_schema_nested_without_end_is_sent_as_it_is(self):
        deep = {"type": "string"}
        for _ in range(5000):
            deep = {"type": "array", "items": deep}
        assert to_dialect(deep, ANTHROPIC) is None
        assert strict_schema(deep) == (deep, False)


def grounded(*chunks, supports=None, **more):
    metadata = {"groundingChunks": [{"web": {"uri": f"https://{name}.example"}} for name in chunks]}
    if supports is not None:
        metadata["groundingSupports"] = [{"groundingChunkIndices": places} for places in supports]
    return {"candidates": [{"content": {"parts": [{"text": "Tea."}]}, "groundingMetadata": metadata, **more}]}


@pytest.mark.parametrize(
    ("supports", "cited"),
    [([[1], [1, 2]], ["b", "c"]), (None, ["a", "b", "c"]), ([[9], [True], ["x"]], ["a", "b", "c"])],
    ids=["some", "none", "nonsense"],
)
def test_gemini_cites_the_sources_of_its_text(supports, cited):
    answer = whole("google", grounded("a", "b", "c", supports=supports, finishReason="STOP"))
    assert [link.url for link in answer.citations] == [f"https://{name}.example" for name in cited]


@pytest.mark.parametrize("second", [("b", "c"), ("a", "b", "c")], ids=["further", "all again"])
def test_places_of_sources_count_over_a_whole_stream(second):
    events = grounded("a"), grounded(*second, supports=[[0, 2]], finishReason="STOP")
    response, deltas = decode("google", sse(*events))
    assert [link.url for link in response.citations] == ["https://a.example", "https://c.example"]
    assert [link for delta in deltas for link in delta.citations] == list(response.citations)


def test_a_terminator_after_an_answer_of_gemini_is_skipped():
    end = {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}
    assert decode("google", sse(end) + b"data: [DONE]\n\n")[0].text == "Hi"
    with pytest.raises(APINetworkError, match="before the answer was complete"):
        decode("google", sse({"candidates": [{"content": {"parts": [{"text": "H"}]}}]}) + b"data: [DONE]\n\n")


def test_a_candidate_of_gemini_whose_index_is_null_is_the_only_one():
    candidate = {"index": None, "content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}
    assert whole("google", {"candidates": [candidate]}).text == "Hi"


def test_text_that_openai_repeats_nowhere_is_the_answer():
    piece = {"type": "response.output_text.delta", "output_index": 0, "delta": "Tea."}
    usage = {"input_tokens": 1, "output_tokens": 2}
    end = {"type": "response.completed", "response": {"status": "completed", "output": [], "usage": usage}}
    response, deltas = decode("openai", sse(piece, end))
    assert (response.text, response.finish_reason, response.usage.output_tokens) == ("Tea.", "stop", 2)
    assert "".join(delta.text for delta in deltas) == "Tea."


def test_a_function_call_that_gemini_could_not_write_is_named():
    with pytest.raises(AgentError, match="MALFORMED_FUNCTION_CALL") as caught:
        whole("google", {"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL"}]})
    assert caught.value.retryable
    assert "tools" in caught.value.hint


def test_thoughts_of_sonar_have_no_citations():
    message = {"content": "<think>See [1].</think>Tea [2]."}
    urls = ["https://a.example", "https://b.example"]
    answer = whole("perplexity", {"choices": [{"message": message, "finish_reason": "stop"}], "citations": urls})
    assert [link.url for link in answer.citations] == ["https://b.example"]


@pytest.mark.parametrize("key", ["", "  "], ids=["empty", "blank"])
def test_an_empty_key_is_a_missing_key(key, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-the-environment")
    with pytest.raises(ConfigurationError, match="needs an API key"):
        chat_model("anthropic:c", api_key=key)


def test_an_empty_address_does_not_mean_the_address_of_the_vendor():
    with pytest.raises(ConfigurationError, match="not an http or https address"):
        chat_model("anthropic:c", api_key="sk-ant-x", base_url="")


@pytest.mark.parametrize("name", ["call", "text"])
async def test_a_server_that_does_not_stream_gives_its_answer_in_one_piece(name):
    function = {"name": "look", "arguments": '{"a": 1}'}
    message = {"content": "Tea."} if name == "text" else {"tool_calls": [{"id": "t", "function": function}]}
    answer = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}}
    with LoopbackServer(lambda _: http_reply(json.dumps(answer).encode())) as server:
        model = chat_model("compatible:m", base_url=server.url)
        *deltas, response = [piece async for piece in model.stream(ChatRequest(model="m", messages=HI, max_tokens=9))]
        await model.aclose()
    (delta,) = deltas
    assert (delta.text, delta.usage) == (response.text, response.usage)
    assert [call.arguments for call in delta.tool_calls] == ([] if name == "text" else ['{"a": 1}'])


MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
TIERLESS = {
    "openai": {"status": "completed"},
    "openai-chat": {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]},
    "google": {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]},
}


class TestServiceTiers:
    @pytest.mark.parametrize(
        ("dialect", "answer"),
        [
            ("openai", {"service_tier": "priority", "output": [MESSAGE], "usage": {"input_tokens": 3}}),
            ("openai-chat", {"service_tier": "priority", "usage": {"prompt_tokens": 3, "completion_tokens": 1}}),
            ("google", {"usageMetadata": {"promptTokenCount": 3, "serviceTier": "priority"}}),
            ("google", {"usageMetadata": {"promptTokenCount": 3, "trafficType": "ON_DEMAND_PRIORITY"}}),
        ],
    )
    def test_the_price_of_an_answer_at_an_expensive_tier_is_unknown(self, dialect, answer):
        full = {**TIERLESS[dialect], **answer}
        assert whole(dialect, full).usage.partial_cost_usd == 0
        listed = json.loads(json.dumps(full).replace("_PRIORITY", "").replace("priority", "default"))
        assert whole(dialect, listed).usage.partial_cost_usd is None

    def test_a_tier_that_only_an_earlier_chunk_of_a_stream_names_counts(self):
        chunk = {"id": "c1", "model": "m", "service_tier": "priority", "choices": [{"delta": {"content": "Hi"}}]}
        end = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
        usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}
        response, _ = decode("openai-chat", sse(chunk, end, usage) + b"data: [DONE]\n\n")
        assert response.usage.partial_cost_usd == 0

    @pytest.mark.parametrize(("name", "share"), [("openai", "0.5"), ("google", "0.5"), ("anthropic", 1)])
    def test_calls_at_the_tier_flex_cost_half(self, name, share):
        make = HttpProvider(BUILTIN_SPECS[name])
        flex = ProviderConfig(api_key="k", extra_body={"service_tier": "flex"})
        assert make("m", flex, Settings()).facts.price_share == Decimal(share)
        assert make("m", ProviderConfig(api_key="k"), Settings()).facts.price_share == 1
