"""Chat Completions: what is asked, what an answer says, and when a stream is whole."""

from __future__ import annotations

import json

import pytest

from roundtable.errors import AgentError, APINetworkError, APIRateLimitError, ContextTooLong, RoundtableError
from roundtable.providers import OpenAIChat
from roundtable.providers.schemas import is_strict
from roundtable.testing.servers import chat_chunks
from roundtable.types import AgentTool, ChatRequest, Citation, Message, OutputSchema, ToolCall, Usage

OPENAI = OpenAIChat("openai-chat", openai=True)
OTHER = OpenAIChat("acme")
BASE = "https://api.example.org/v1"
HI = (Message(role="user", content="Hi"),)


def body_of(request, *, dialect=OTHER, stream=False):
    return json.loads(dialect.build_request(request, base_url=BASE, stream=stream).body)


def answer(message, *, finish="stop", **top):
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "model": "m-1", **top}


def parse(value, *, headers=None, dialect=OTHER):
    return dialect.parse_response(200, headers or {}, json.dumps(value).encode())


def decode(*chunks, dialect=OTHER, headers=None):
    decoder = dialect.stream_decoder(headers or {})
    deltas = [delta.text for chunk in chunks for delta in decoder.feed(chunk) if delta.text]
    return decoder.finish(), deltas


def sse(*pieces):
    return b"".join(
        b"data: " + (piece if isinstance(piece, bytes) else json.dumps(piece).encode()) + b"\n\n" for piece in pieces
    )


def delta(finish=None, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


class TestRequests:
    def test_a_small_request_contains_only_the_required_fields(self):
        sent = OTHER.build_request(ChatRequest(model="m", messages=HI), base_url=BASE, stream=False)
        assert (sent.method, sent.url, sent.stream) == ("POST", f"{BASE}/chat/completions", False)
        assert sent.headers == {"content-type": "application/json", "accept": "application/json"}
        assert json.loads(sent.body) == {
            "model": "m",
            "messages": [{"role": "user", "content": "Hi"}],
            "max_tokens": 4096,
        }

    def test_metadata_is_never_sent(self):
        ask = ChatRequest(model="m", messages=HI, metadata={"agent": "ada-canary"})
        assert b"ada-canary" not in OTHER.build_request(ask, base_url=BASE, stream=False).body

    def test_a_stream_is_requested_with_its_usage(self):
        sent = OTHER.build_request(ChatRequest(model="m", messages=HI), base_url=BASE, stream=True)
        body = json.loads(sent.body)
        assert (body["stream"], body["stream_options"], sent.stream) == (True, {"include_usage": True}, True)
        assert sent.headers["accept"] == "text/event-stream"

    def test_sampling_options_are_sent(self):
        body = body_of(ChatRequest(model="m", messages=HI, temperature=0.0, seed=7, max_tokens=5))
        assert (body["temperature"], body["seed"], body["max_tokens"]) == (0.0, 7, 5)

    @pytest.mark.parametrize(
        ("model", "sent"),
        [
            ("gpt-5.2", True),
            ("gpt-4o", True),
            ("gpt-5-chat-latest", True),
            ("gpt-5", False),
            ("gpt-5-2025-08-07", False),
            ("o3", False),
        ],
    )
    def test_a_temperature_is_left_out_for_models_of_openai_that_refuse_it(self, model, sent):
        ask = ChatRequest(model=model, messages=HI, temperature=0.7)
        assert ("temperature" in body_of(ask, dialect=OPENAI)) is sent

    def test_openai_itself_is_given_the_newer_token_limit(self):
        body = body_of(ChatRequest(model="gpt-5.2", messages=HI, max_tokens=9), dialect=OPENAI)
        assert body["max_completion_tokens"] == 9
        assert "max_tokens" not in body

    def test_a_conversation_with_tools_is_sent(self):
        call = ToolCall(id="c1", name="look", arguments={"q": "é"})
        messages = (
            Message(role="system", content="Be brief."),
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", content="found", tool_call_id="c1"),
        )
        tools = (
            AgentTool(name="look", description="Look."),
            AgentTool(name="x", description="", parameters={"type": "object"}),
        )
        body = body_of(ChatRequest(model="m", messages=messages, tools=tools))
        assert body["messages"][1] == {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": "é"}'}}],
        }
        assert body["messages"][2] == {"role": "tool", "content": "found", "tool_call_id": "c1"}
        assert [tool["function"]["parameters"] for tool in body["tools"]] == [
            {"type": "object", "properties": {}},
            {"type": "object", "properties": {}},
        ]

    def test_a_schema_becomes_a_response_format(self):
        schema = OutputSchema(name="position", definition={"type": "object", "properties": {"a": {"type": "string"}}})
        assert body_of(ChatRequest(model="m", messages=HI, output_schema=schema))["response_format"] == {
            "type": "json_schema",
            "json_schema": {"name": "position", "schema": schema.definition, "strict": False},
        }

    @pytest.mark.parametrize(
        ("schema", "strict"),
        [
            ({"type": "string"}, True),
            ({"type": "string", "maxLength": 9}, False),
            ({"type": "array", "items": {"type": "number", "minimum": 0}}, False),
            ({"anyOf": [{"type": "null"}, {"type": "string", "enum": ["a"]}]}, True),
            ({"anyOf": [{"type": "string", "format": "uri"}]}, False),
            ({"anyOf": 3, "properties": 3}, False),
            ({"type": "object", "properties": {}, "required": [], "additionalProperties": False}, True),
            ({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False}, True),
            ({"type": "object", "properties": {"a": {}}, "required": [], "additionalProperties": False}, False),
            ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, False),
            ({"type": "object", "properties": {"a": {}}, "required": 1, "additionalProperties": False}, False),
        ],
        ids=str,
    )
    def test_strict_is_set_only_if_the_schema_allows_it(self, schema, strict):
        assert is_strict(schema) is strict


class TestAnswers:
    def test_text_usage_model_and_request_id_are_read(self):
        usage = {
            "prompt_tokens": 20,
            "completion_tokens": 9,
            "prompt_tokens_details": {"cached_tokens": 12},
            "completion_tokens_details": {"reasoning_tokens": 4},
        }
        found = parse(answer({"content": "Yes."}, usage=usage), headers={"x-request-id": "req_1"})
        assert (found.text, found.finish_reason, found.model, found.request_id) == ("Yes.", "stop", "m-1", "req_1")
        assert found.usage == Usage(input_tokens=20, output_tokens=9, cache_read_tokens=12, reasoning_tokens=4, calls=1)

    @pytest.mark.parametrize("usage", [None, "many", {}, {"prompt_tokens": -3, "completion_tokens": "x"}, [1]])
    def test_invalid_usage_counts_only_the_call(self, usage):
        assert parse(answer({"content": "Yes."}, usage=usage)).usage == Usage(calls=1)

    def test_reasoning_that_is_counted_apart_is_output(self):
        usage = {
            "prompt_tokens": 32,
            "completion_tokens": 9,
            "total_tokens": 135,
            "completion_tokens_details": {"reasoning_tokens": 94},
        }
        found = parse(answer({"content": "Yes."}, usage=usage)).usage
        assert (found.output_tokens, found.reasoning_tokens, found.total_tokens) == (103, 94, 135)
        within = parse(answer({"content": "Yes."}, usage={**usage, "completion_tokens": 103})).usage
        assert within == found

    def test_absurd_usage_is_capped(self):
        assert parse(answer({"content": "a"}, usage={"prompt_tokens": 10**18})).usage.input_tokens == 10**9

    @pytest.mark.parametrize(
        ("said", "reason"),
        [
            ("stop", "stop"),
            ("length", "length"),
            ("content_filter", "content_filter"),
            ("eos", "stop"),
            ("STOP", "stop"),
            ("whatever", "other"),
            (None, "other"),
            (3, "other"),
        ],
    )
    def test_finish_reasons_are_read(self, said, reason):
        assert parse(answer({"content": "a"}, finish=said)).finish_reason == reason

    @pytest.mark.parametrize(
        ("content", "text"),
        [
            ("plain", "plain"),
            ([{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"}, {"text": "b"}, 4], "ab"),
            ({"title": "Apples"}, '{"title": "Apples"}'),
        ],
    )
    def test_content_is_read_in_every_form(self, content, text):
        assert parse(answer({"content": content})).text == text

    def test_spoken_answers_give_their_transcript(self):
        assert parse(answer({"content": None, "audio": {"transcript": "Hello!"}})).text == "Hello!"

    def test_a_refusal_is_an_answer_with_its_words(self):
        found = parse(answer({"content": None, "refusal": "I cannot."}))
        assert (found.text, found.finish_reason) == ("I cannot.", "refusal")

    @pytest.mark.parametrize("finish", ["length", "content_filter"])
    def test_an_empty_text_with_a_reason_is_an_answer(self, finish):
        assert parse(answer({"content": ""}, finish=finish)).text == ""

    @pytest.mark.parametrize(
        ("finish", "said"),
        [
            ("sensitive", "content_filter"),  # Z.AI
            ("model_context_window_exceeded", "length"),  # Z.AI
            ("content_filter: PROHIBITED_CONTENT", "content_filter"),  # Gemini, without a message
        ],
    )
    def test_finish_reasons_of_other_vendors_are_read(self, finish, said):
        found = parse({"choices": [{"index": 0, "finish_reason": finish}]})
        assert (found.text, found.finish_reason) == ("", said)
        assert decode(sse({"choices": [{"index": 0, "finish_reason": finish}]}))[0].finish_reason == said

    def test_an_answer_that_a_network_error_cut_short_is_a_failure(self):
        with pytest.raises(APINetworkError, match="network_error"):
            parse(answer({"content": "Te"}, finish="network_error"))

    @pytest.mark.parametrize("content", [None, "", " \n"])
    def test_an_empty_text_without_a_reason_is_retryable(self, content):
        with pytest.raises(AgentError, match="empty") as caught:
            parse(answer({"content": content}))
        assert caught.value.retryable

    @pytest.mark.parametrize(("finish", "said"), [("stop", "stop"), (None, "other")])
    def test_reasoning_alone_is_an_answer_without_text(self, finish, said):
        found = parse(answer({"content": None, "reasoning_content": "Hm."}, finish=finish))
        assert (found.text, found.reasoning, found.finish_reason) == ("", "Hm.", said)

    def test_tool_calls_are_read(self):
        calls = [
            {"id": "a", "function": {"name": "look", "arguments": '{"q": 1}'}},
            {"id": "a", "function": {"name": "look", "arguments": ""}},
            {"function": {"name": "look", "arguments": {"q": 2}}},
            {"id": "d", "function": {"name": "look", "arguments": "null"}},
        ]
        found = parse(answer({"content": None, "tool_calls": calls}, finish="stop"))
        assert found.finish_reason == "tool_calls"
        assert found.tool_calls == (
            ToolCall(id="a", name="look", arguments={"q": 1}),
            ToolCall(id="a+", name="look"),
            ToolCall(id="call_2", name="look", arguments={"q": 2}),
            ToolCall(id="d", name="look"),
        )

    def test_the_older_function_call_is_understood(self):
        found = parse(answer({"function_call": {"name": "f", "arguments": "{}"}}, finish="function_call"))
        assert found.tool_calls == (ToolCall(id="call_0", name="f"),)

    @pytest.mark.parametrize("arguments", ["[1]", "{cut", '"x"', "7"])
    def test_invalid_arguments_are_kept_so_that_the_model_can_be_told(self, arguments):
        found = parse(answer({"tool_calls": [{"function": {"name": "look", "arguments": arguments}}]}))
        assert found.tool_calls == (ToolCall(id="call_0", name="look", invalid=arguments),)

    def test_citations_are_kept_once_each(self):
        notes = [
            {"type": "url_citation", "url_citation": {"url": "https://a.example/1", "title": "A"}},
            {"type": "url_citation", "url_citation": {"url": "https://a.example/1", "title": "again"}},
            {"type": "other"},
        ]
        more = ["https://www.b.example/2", "http://[broken", 3]
        found = parse(answer({"content": "x", "annotations": notes}, citations=more))
        assert set(found.citations) == {
            Citation(title="A", url="https://a.example/1"),
            Citation(title="b.example", url="https://www.b.example/2"),
            Citation(title="http://[broken", url="http://[broken"),
        }

    def test_the_choice_numbered_0_counts(self):
        choices = [
            {"index": 1, "message": {"content": "one"}},
            {"index": 0, "message": {"content": "zero"}, "finish_reason": "stop"},
        ]
        assert parse({"choices": choices}).text == "zero"
        assert parse({"choices": [{"message": {"content": "only"}}]}).text == "only"

    @pytest.mark.parametrize("value", [None, [], 42, "ok", [{}]])
    def test_json_that_is_not_an_object_is_refused(self, value):
        with pytest.raises(AgentError, match="not a JSON object"):
            parse(value)

    @pytest.mark.parametrize("value", [{}, {"choices": []}, {"choices": None}, {"choices": "x"}])
    def test_an_answer_without_choices_is_retryable(self, value):
        with pytest.raises(AgentError, match="no choices") as caught:
            parse(value)
        assert caught.value.retryable

    @pytest.mark.parametrize("page", [b"<!doctype html>", b"  <html>", b"\xef\xbb\xbf<p>"])
    def test_a_web_page_is_not_an_answer(self, page):
        with pytest.raises(APINetworkError, match="web page"):
            OTHER.parse_response(200, {}, page)

    def test_an_error_under_status_200_is_an_error(self):
        with pytest.raises(APIRateLimitError, match="Slow down"):
            parse({"error": {"message": "Slow down", "code": 429}})
        with pytest.raises(APINetworkError, match="upstream"):
            parse({"choices": [{"error": {"message": "upstream", "code": 502}, "message": {"content": "half"}}]})


class TestStreams:
    def test_text_and_usage_of_a_stream_are_read(self):
        found, deltas = decode(*chat_chunks("Hello there"), dialect=OPENAI, headers={"x-request-id": "r"})
        assert ("".join(deltas), len(deltas)) == ("Hello there", 4)
        assert (found.text, found.finish_reason, found.request_id) == ("Hello there", "stop", "r")
        assert found.usage == Usage(input_tokens=11, output_tokens=7, calls=1)

    def test_events_that_come_together_give_one_piece(self):
        assert decode(b"".join(chat_chunks("Hello there")))[1] == ["Hello there"]

    def test_tool_calls_in_fragments_are_joined(self):
        found, deltas = decode(
            sse(
                delta(tool_calls=[{"index": 1, "id": "b", "function": {"name": "two", "arguments": ""}}]),
                delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "one", "arguments": '{"x"'}}]),
                delta(tool_calls=[{"index": 0, "function": {"arguments": ": 1}"}}]),
                delta(tool_calls=[{"index": 1, "id": "b", "function": {"name": "two", "arguments": "{}"}}]),
                delta("tool_calls"),
                b"[DONE]",
            )
        )
        assert deltas == []
        assert found.tool_calls == (ToolCall(id="a", name="one", arguments={"x": 1}), ToolCall(id="b", name="two"))

    @pytest.mark.parametrize("index", [{"index": 0}, {"index": None}, {}], ids=["zero", "null", "none"])
    @pytest.mark.parametrize("named", [("a", "b"), ("", "")], ids=["ids", "no ids"])
    def test_calls_of_one_index_are_kept_apart(self, index, named):
        first = {**index, "id": named[0], "function": {"name": "one", "arguments": '{"x": 1}'}}
        begin = {**index, "id": named[1], "function": {"name": "one", "arguments": '{"x": 2'}}
        rest = {**index, "function": {"arguments": "0}"}}
        found, _ = decode(sse(*(delta(tool_calls=[piece]) for piece in (first, begin, rest)), delta("stop"), b"[DONE]"))
        assert [(call.name, call.arguments, call.invalid) for call in found.tool_calls] == [
            ("one", {"x": 1}, None),
            ("one", {"x": 20}, None),
        ]
        assert len({call.id for call in found.tool_calls}) == 2

    def test_other_tools_without_arguments_are_other_calls_and_keep_their_place(self):
        calls = [(0, "a", "one", ""), (0, "b", "two", "{}"), (1, "c", "one", "{}"), (0, "", "", " ")]
        pieces = [
            {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
            for index, call_id, name, arguments in calls
        ]
        found, _ = decode(sse(*(delta(tool_calls=[piece]) for piece in pieces), delta("tool_calls"), b"[DONE]"))
        assert [(call.id, call.name, call.invalid) for call in found.tool_calls] == [
            ("a", "one", None),
            ("b", "two", None),
            ("c", "one", None),
        ]

    def test_a_call_whose_pieces_have_new_ids_is_one_call(self):
        pieces = [("a", '{"x"'), ("b", ": 1"), ("c", "}"), ("d", "")]
        stream = [
            delta(tool_calls=[{"index": 0, "id": call_id, "function": {"name": "one", "arguments": text}}])
            for call_id, text in pieces
        ]
        assert decode(sse(*stream, delta("tool_calls"), b"[DONE]"))[0].tool_calls == (
            ToolCall(id="a", name="one", arguments={"x": 1}),
        )

    @pytest.mark.parametrize("reason", ["error", "abort", "insufficient_system_resource"])
    def test_an_answer_that_the_server_cut_off_is_not_an_answer(self, reason):
        usage = {"prompt_tokens": 3, "completion_tokens": 4}
        with pytest.raises(APINetworkError, match=f"broke off.*'{reason}'") as caught:
            decode(sse(delta(content="Half an"), {**delta(reason), "usage": usage}, b"[DONE]"))
        assert caught.value.retryable
        assert caught.value.usage == Usage(input_tokens=3, output_tokens=4, calls=1)
        with pytest.raises(APINetworkError):
            parse(answer({"content": "Half an"}, finish=reason))

    def test_usage_inside_the_choice_counts_if_there_is_no_other_usage(self):
        end = delta("stop")
        end["choices"][0]["usage"] = {"prompt_tokens": 3, "completion_tokens": 4, "cached_tokens": 2}
        found, _ = decode(sse(delta(content="x"), end, b"[DONE]"))
        assert found.usage == Usage(input_tokens=3, output_tokens=4, cache_read_tokens=2, calls=1)
        end["usage"] = {"prompt_tokens": 5}
        assert decode(sse(delta(content="x"), end, b"[DONE]"))[0].usage.input_tokens == 5

    def test_a_whole_answer_in_one_event_is_the_answer(self):
        whole = answer({"role": "assistant", "content": "Yes."}, usage={"prompt_tokens": 3})
        found, deltas = decode(sse(whole, b"[DONE]"))
        assert (found.text, found.finish_reason, found.usage.input_tokens, deltas) == ("Yes.", "stop", 3, ["Yes."])
        assert decode(sse(delta(content="Yes."), whole, b"[DONE]"))[0].text == "Yes."

    def test_a_choice_whose_index_is_null_is_the_only_one(self):
        chunk = {"choices": [{"index": None, "delta": {"content": "x"}, "finish_reason": "stop"}]}
        assert decode(sse(chunk, b"[DONE]"))[0].text == "x"

    def test_a_refusal_in_pieces_is_joined(self):
        found, deltas = decode(sse(delta(refusal="I "), delta(refusal="won't."), delta("stop"), b"[DONE]"))
        assert (found.text, found.finish_reason, "".join(deltas)) == ("I won't.", "refusal", "I won't.")

    def test_openai_ends_a_stream_with_its_terminator_and_nothing_less(self):
        with pytest.raises(APINetworkError, match="before the answer was complete") as caught:
            decode(*chat_chunks("whole text", done=False), dialect=OPENAI)
        assert caught.value.retryable
        assert decode(*chat_chunks("whole text", done=False))[0].text == "whole text"

    @pytest.mark.parametrize("dialect", [OPENAI, OTHER], ids=["openai", "other"])
    @pytest.mark.parametrize("kept", [1, 2, 3])
    def test_a_stream_cut_short_is_never_an_answer(self, dialect, kept):
        with pytest.raises(APINetworkError):
            decode(*chat_chunks("some text", done=False, finish=None)[:kept], dialect=dialect)

    @pytest.mark.parametrize("dialect", [OPENAI, OTHER], ids=["openai", "other"])
    def test_the_terminator_is_enough_without_a_finish_reason(self, dialect):
        assert decode(*chat_chunks("text", finish=None), dialect=dialect)[0].finish_reason == "other"

    @pytest.mark.parametrize("tail", [b"data: [DONE]", b"data: [DONE]\n", b"data: [DONE]\r"])
    def test_the_terminator_counts_without_the_empty_line(self, tail):
        assert decode(*chat_chunks("x", done=False), tail, dialect=OPENAI)[0].text == "x"

    def test_a_last_event_counts_only_if_it_is_whole(self):
        last = sse(delta("stop", content="!"))[:-2]
        assert decode(*chat_chunks("x", done=False, finish=None), last)[0].text == "x!"
        with pytest.raises(APINetworkError):
            decode(*chat_chunks("x", done=False, finish=None), last[:-5])

    def test_data_after_the_terminator_is_ignored(self):
        assert decode(*chat_chunks("x"), sse(delta(content="more"), b"{broken"))[0].text == "x"

    def test_heartbeats_unknown_events_and_null_are_skipped(self):
        noise = b": ping\n\nevent: ping\ndata: {}\n\ndata: null\n\ndata:\n\nevent: ping\ndata: \n\n" + sse(
            {"choices": [{"delta": None}]}, {"choices": [3]}
        )
        assert decode(b"\xef\xbb\xbf" + noise, *chat_chunks("x"))[0].text == "x"

    def test_other_choices_are_ignored(self):
        other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}]}
        found, _ = decode(sse(other), *chat_chunks("x"))
        assert (found.text, found.finish_reason) == ("x", "stop")

    @pytest.mark.parametrize("chunks", [[], [b""], [b": ping\n\n: ping\n\n"], [b"\n\n \n"]])
    def test_an_empty_stream_is_retryable(self, chunks):
        with pytest.raises(AgentError, match="empty") as caught:
            decode(*chunks)
        assert caught.value.retryable

    @pytest.mark.parametrize(
        ("stream", "kind"),
        [
            pytest.param(sse({"error": {"message": "late", "code": 503}}), APINetworkError, id="object"),
            pytest.param(b'event: error\ndata: {"message": "x", "code": 429}\n\n', APIRateLimitError, id="event"),
            pytest.param(sse({"error": {"message": "?"}, "choices": []}), APINetworkError, id="unnamed"),
            pytest.param(
                sse({"error": {"code": "context_length_exceeded", "type": "invalid_request_error"}}),
                ContextTooLong,
                id="long",
            ),
        ],
    )
    def test_an_error_at_any_place_of_a_stream_is_an_error(self, stream, kind):
        for before in ([], chat_chunks("half", done=False, finish=None)):
            with pytest.raises(kind):
                decode(*before, stream)

    @pytest.mark.parametrize(
        "event", [b"data: {broken\n\n", b'data: "x"\n\n', b'data: {"a": "\xff"}\n\n', b"data: [1]\n\n"]
    )
    def test_an_event_that_is_not_an_object_fails_the_stream(self, event):
        with pytest.raises(AgentError):
            decode(*chat_chunks("x", done=False), event)

    def test_a_stream_that_repeats_everything_is_refused(self):
        twice = [event for event in chat_chunks("text") for _ in range(2)]
        with pytest.raises(AgentError, match="repeats itself"):
            decode(*twice)

    def test_a_finish_reason_repeated_with_the_usage_is_not_a_repetition(self):
        again = {**delta("stop"), "usage": {"prompt_tokens": 3}}
        found, _ = decode(sse(delta(content="x"), delta("stop"), again, b"[DONE]"))
        assert found.usage.input_tokens == 3

    def test_a_document_instead_of_a_stream_is_read_as_one(self):
        body = json.dumps(answer({"content": "whole"})).encode()
        assert decode(b" \n", body[:9], body[9:], dialect=OPENAI)[0].text == "whole"
        with pytest.raises(APIRateLimitError):
            decode(json.dumps({"error": {"code": 429}}).encode())
        with pytest.raises(AgentError, match="not a JSON object"):
            decode(b"[1]")

    def test_a_web_page_instead_of_a_stream_is_refused(self):
        with pytest.raises(APINetworkError, match="web page"):
            decode(b"\n<html>")

    @pytest.mark.parametrize("size", [1, 3, 17])
    def test_the_joined_pieces_equal_the_plain_answer(self, size):
        stream = b"".join(chat_chunks("Zoë said: 你好 🙂 \u2028 end", pieces=7))
        found, deltas = decode(*(stream[at : at + size] for at in range(0, len(stream), size)))
        assert "".join(deltas) == found.text == "Zoë said: 你好 🙂 \u2028 end"


def test_the_messages_of_error_statuses_are_read_too():
    error = OTHER.parse_error(429, {"retry-after": "3"}, b'{"error": {"message": "Slow down"}}')
    assert isinstance(error, RoundtableError)
    assert (error.code, error.retry_after_s, error.provider) == ("API_RATE_LIMIT", 3.0, "acme")
