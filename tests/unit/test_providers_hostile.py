"""Answers that no vendor documents and some servers send: phantom calls, late errors, equal pieces, endless streams."""

from __future__ import annotations

import json
import sys
import tracemalloc
from statistics import median

import pytest
from unit.test_providers_handmade import ANTHROPIC_START, DIALECTS, sse

from roundtable.errors import AgentError, APINetworkError, APIRateLimitError, RoundtableError
from roundtable.providers import SERVERS, OpenAIChat
from roundtable.providers.google import PartialArguments

COMPATIBLE = OpenAIChat("compatible")


def read(dialect, *events, done=b""):
    """Read a stream; gives the answer and its deltas."""
    decoder = dialect.stream_decoder({})
    deltas = [*decoder.feed(sse(*events) + done)]
    return decoder.finish(), deltas


def in_steps(decoder, stream, step):
    """Read a stream that comes in pieces of this many bytes."""
    for place in range(0, len(stream), step):
        decoder.feed(stream[place : place + step])
    return decoder.finish()


def chat(finish=None, *, usage=None, **delta):
    """Make one event of Chat Completions."""
    event = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return event | ({"usage": usage} if usage else {})


def chat_whole(message, finish="stop", **more):
    body = {"choices": [{"message": message, "finish_reason": finish}], **more}
    return COMPATIBLE.parse_response(200, {}, json.dumps(body).encode())


def shown_calls(deltas):
    """Return name and arguments of the calls that deltas show."""
    calls = {}
    for piece in (piece for delta in deltas for piece in delta.tool_calls):
        known = calls.setdefault(piece.index, ["", "", ""])
        for place, text in enumerate((piece.id, piece.name, piece.arguments)):
            known[place] += text
    return list(calls.values())


BLANK = [
    pytest.param({"function_call": {"name": "", "arguments": ""}}, id="the older way"),
    pytest.param({"function_call": {"name": None, "arguments": None}}, id="null"),
    pytest.param({"tool_calls": [{"id": "", "function": {"name": "", "arguments": ""}}]}, id="a call"),
    pytest.param({"tool_calls": [{"id": None, "function": {"name": None, "arguments": "{}"}}]}, id="an empty object"),
    pytest.param({"tool_calls": [{"index": 0, "id": "c1", "function": None}]}, id="an id alone"),
]


class TestPhantomCalls:
    @pytest.mark.parametrize("blank", BLANK)
    @pytest.mark.parametrize("finish", ["stop", "tool_calls", ""])
    def test_a_call_without_a_tool_name_is_not_a_call(self, blank, finish):
        answer = chat_whole({"content": "Tea.", **blank}, finish)
        assert (answer.text, answer.tool_calls) == ("Tea.", ())
        assert answer.finish_reason == ("stop" if finish else "other")

    @pytest.mark.parametrize("blank", BLANK)
    def test_an_empty_call_in_each_piece_of_a_stream_is_not_a_call(self, blank):
        events = [chat(content="Te", **blank), chat(content="a.", **blank), chat("stop", **blank)]
        answer, deltas = read(COMPATIBLE, *events)
        assert (answer.text, answer.tool_calls, answer.finish_reason) == ("Tea.", (), "stop")
        assert shown_calls(deltas) == []

    @pytest.mark.parametrize("blank", BLANK)
    def test_an_answer_with_only_an_empty_call_is_empty(self, blank):
        with pytest.raises(AgentError, match="the answer is empty") as caught:
            chat_whole({"content": "", **blank}, "tool_calls")
        assert caught.value.retryable

    def test_an_empty_call_next_to_a_real_one_changes_nothing(self):
        real = {"id": "c1", "function": {"name": "look", "arguments": '{"a": 1}'}}
        blank = {"function_call": {"name": "", "arguments": "{}"}}
        (call,) = chat_whole({"content": "", "tool_calls": [real], **blank}, "tool_calls").tool_calls
        assert (call.id, call.name, dict(call.arguments)) == ("c1", "look", {"a": 1})

    def test_the_older_form_of_a_call_still_counts(self):
        pieces = [chat(function_call={"name": "look", "arguments": ""}), chat(function_call={"arguments": '{"a": 1}'})]
        answer, deltas = read(COMPATIBLE, *pieces, chat("function_call"))
        assert [(call.name, dict(call.arguments)) for call in answer.tool_calls] == [("look", {"a": 1})]
        assert shown_calls(deltas) == [["", "look", '{"a": 1}']]

    def test_an_id_that_comes_before_the_name_is_kept(self):
        first = {"index": 0, "id": "c1", "function": {"name": "", "arguments": ""}}
        named = {"index": 0, "function": {"name": "look", "arguments": "{}"}}
        answer, deltas = read(COMPATIBLE, chat(tool_calls=[first]), chat(tool_calls=[named]), chat("tool_calls"))
        assert [(call.id, call.name) for call in answer.tool_calls] == [("c1", "look")]
        assert shown_calls(deltas) == [["c1", "look", "{}"]]

    def test_arguments_without_a_name_are_kept_so_that_the_model_can_be_told(self):
        wrong = {"index": 0, "function": {"arguments": '{"a": 1}'}}
        answer, deltas = read(COMPATIBLE, chat(tool_calls=[wrong]), chat("tool_calls"))
        assert [(call.name, dict(call.arguments)) for call in answer.tool_calls] == [("", {"a": 1})]
        assert shown_calls(deltas) == [["", "", '{"a": 1}']]

    def test_equal_ids_stay_apart(self):
        calls = [{"index": place, "id": "a", "function": {"name": "look", "arguments": "{}"}} for place in range(4)]
        answer, _ = read(COMPATIBLE, chat(tool_calls=calls), chat("tool_calls"))
        assert [call.id for call in answer.tool_calls] == ["a", "a+", "a+2", "a+3"]

    @pytest.mark.parametrize("name", ["anthropic", "google", "openai"])
    def test_an_empty_call_is_ignored_on_every_other_wire_too(self, name):
        blank = {
            "anthropic": {
                "content": [{"type": "tool_use", "id": "", "name": "", "input": {}}],
                "stop_reason": "tool_use",
            },
            "google": {
                "candidates": [{"content": {"parts": [{"functionCall": {"name": ""}}]}, "finishReason": "STOP"}]
            },
            "openai": {"output": [{"type": "function_call", "name": "", "arguments": ""}], "status": "completed"},
        }[name]
        with pytest.raises(AgentError, match="the answer is empty"):
            DIALECTS[name].parse_response(200, {}, json.dumps(blank).encode())


SEARCHED = {
    "type": "custom_tool_call",
    "call_id": "xs_1",
    "name": "x_keyword_search",
    "input": '{"query": "tea"}',
    "status": "completed",
}
SAID = {"type": "message", "content": [{"type": "output_text", "text": "Tea."}]}


class TestSearchesOfAServer:
    """xAI runs its search of X itself and reports it as a custom call."""

    @staticmethod
    def read(*items, streamed):
        body = {"status": "completed", "output": list(items)}
        if not streamed:
            return DIALECTS["openai"].parse_response(200, {}, json.dumps(body).encode()), []
        steps = []
        for place, item in enumerate(items):
            begun = {**item, "input": "", "status": "in_progress"} if item["type"] == "custom_tool_call" else item
            steps.append({"type": "response.output_item.added", "output_index": place, "item": begun})
            steps.append({"type": "response.output_item.done", "output_index": place, "item": item})
        return read(DIALECTS["openai"], *steps, {"type": "response.completed", "response": body | {"output": []}})

    @pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
    def test_a_call_before_a_message_was_made_by_the_server(self, streamed):
        answer, deltas = self.read(SEARCHED, SEARCHED | {"call_id": "xs_2"}, SAID, streamed=streamed)
        assert (answer.text, answer.tool_calls, answer.finish_reason) == ("Tea.", (), "stop")
        assert [(call.name, call.input) for call in answer.server_calls] == [
            ("x_keyword_search", {"input": '{"query": "tea"}'})
        ] * 2
        assert shown_calls(deltas) == []

    @pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
    def test_a_call_at_the_end_of_an_answer_is_for_the_caller(self, streamed):
        answer, _ = self.read(SAID, SEARCHED, streamed=streamed)
        assert [(call.name, dict(call.arguments)) for call in answer.tool_calls] == [
            ("x_keyword_search", {"input": '{"query": "tea"}'})
        ]
        assert (answer.finish_reason, answer.server_calls) == ("tool_calls", ())

    def test_a_function_of_the_callers_before_a_message_is_still_called(self):
        call = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
        answer, _ = self.read(call, SAID, streamed=False)
        assert [call.name for call in answer.tool_calls] == ["look"]


LATE = {
    "an event": b'data: {"error": {"message": "down", "code": 503}}\n\n',
    "a named event": b'event: error\ndata: {"message": "down"}\n\n',
    "a named event of words": b"event: error\ndata: down\n\n",
    "an object": b'data: {"object": "error", "message": "down", "code": 503}\n\n',
    "unfinished": b'data: {"error": {"message": "down", "code": 503}}',
    "bare": b'{"error": {"message": "down", "code": 503}}\n',
    "bare, no line end": b'{"error": {"message": "down", "code": 503}}',
    "bare, in a list": b'[{\r\n  "error": {\r\n    "message": "down",\r\n\r\n    "code": 503\r\n  }\r\n}]\r\n',
}
ENDED = {
    "openai-chat": [chat(content="Tea."), chat("stop")],
    "perplexity": [chat(content="Tea."), chat("stop")],
    "google": [{"candidates": [{"content": {"parts": [{"text": "Tea."}]}, "finishReason": "STOP"}]}],
    "anthropic": [
        ANTHROPIC_START,
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Tea."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    ],
    "openai": [{"type": "response.output_text.delta", "delta": "Tea."}],
    "compatible": [chat(content="Tea."), chat("stop")],
}


class TestLateErrors:
    @pytest.mark.parametrize("late", LATE.values(), ids=LATE)
    @pytest.mark.parametrize("name", ENDED)
    @pytest.mark.parametrize("step", [1, 7, 10_000])
    def test_an_error_after_the_reason_to_end_fails_the_answer(self, name, late, step):
        decoder = (COMPATIBLE if name == "compatible" else DIALECTS[name]).stream_decoder({})
        stream = sse(*ENDED[name]) + late
        with pytest.raises(APINetworkError, match="down"):
            in_steps(decoder, stream, step)

    def test_an_error_before_the_terminator_fails_the_answer(self):
        with pytest.raises(APIRateLimitError):
            read(COMPATIBLE, *ENDED["compatible"], done=b'{"error": {"code": 429}}\n\ndata: [DONE]\n\n')

    def test_an_error_before_an_incomplete_terminator_fails_the_answer(self):
        with pytest.raises(APIRateLimitError):
            read(COMPATIBLE, *ENDED["compatible"], done=b'{"error": {"code": 429}}\n\ndata: [DONE]')

    def test_data_after_the_terminator_is_ignored(self):
        answer, _ = read(COMPATIBLE, *ENDED["compatible"], done=b'data: [DONE]\n\n{"error": {"code": 429}}\n\n')
        assert answer.text == "Tea."

    @pytest.mark.parametrize("bare", [b'{"warning": "slow"}\n', b"[]\n", b"[not JSON\n", b'{"error": null}\n'])
    def test_bare_text_that_is_not_an_error_is_skipped(self, bare):
        answer, _ = read(COMPATIBLE, chat(content="Te"), done=bare + sse(chat("stop", content="a.")))
        assert answer.text == "Tea."

    def test_the_error_states_the_usage_of_the_answer(self):
        counted = chat("stop", usage={"prompt_tokens": 9, "completion_tokens": 2})
        with pytest.raises(RoundtableError) as caught:
            read(COMPATIBLE, chat(content="Tea."), counted, done=LATE["bare"])
        assert caught.value.usage.total_tokens == 11

    def test_bare_text_without_an_end_is_refused(self):
        decoder = COMPATIBLE.stream_decoder({})
        decoder.feed(sse(chat(content="Tea.")))
        with pytest.raises(AgentError, match="larger than"):
            in_steps(decoder, (b"[" + b"x" * 30_000 + b"\n") * 200, 30_000)


FOUND = {"search_results": [{"url": "https://a.example", "title": "A"}], "citations": ["https://a.example"]}


class TestEmptyAnswers:
    @pytest.mark.parametrize("text", ["", " \n", None])
    def test_sources_alone_are_not_an_answer_of_sonar(self, text):
        body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], **FOUND}
        with pytest.raises(AgentError, match="the answer is empty") as caught:
            DIALECTS["perplexity"].parse_response(200, {}, json.dumps(body).encode())
        assert caught.value.retryable

    def test_streamed_sources_alone_are_not_an_answer_of_sonar(self):
        with pytest.raises(AgentError, match="the answer is empty"):
            read(DIALECTS["perplexity"], chat(content="") | FOUND, chat("stop") | FOUND)

    @pytest.mark.parametrize("name", ["anthropic", "google", "openai"])
    def test_a_search_alone_is_not_an_answer_of_another_provider(self, name):
        used = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "tea"}}
        grounding = {"webSearchQueries": ["tea"], "groundingChunks": [{"web": {"uri": "https://a.example"}}]}
        searched = {
            "anthropic": {"content": [used], "stop_reason": "end_turn"},
            "google": {"candidates": [{"finishReason": "STOP", "groundingMetadata": grounding}]},
            "openai": {"output": [{"type": "web_search_call", "action": {"query": "tea"}}], "status": "completed"},
        }[name]
        with pytest.raises(AgentError, match="the answer is empty"):
            DIALECTS[name].parse_response(200, {}, json.dumps(searched).encode())

    @pytest.mark.parametrize("kind", ["GOOGLE_SEARCH_WEB", "GOOGLE_SEARCH_IMAGE", "GOOGLE_MAPS", "URL_CONTEXT"])
    def test_tool_calls_on_the_server_of_gemini_alone_are_not_an_answer(self, kind):
        call, response = {"toolType": kind, "id": "a", "args": {}}, {"toolType": kind, "id": "a", "response": {}}
        content = {"parts": [{"toolCall": call}, {"toolResponse": response}]}
        body = {"candidates": [{"content": content, "finishReason": "STOP"}]}
        with pytest.raises(AgentError, match="the answer is empty"):
            DIALECTS["google"].parse_response(200, {}, json.dumps(body).encode())

    @pytest.mark.parametrize("reason", [{}, {"finishReason": "STOP"}], ids=["no reason", "a reason"])
    @pytest.mark.parametrize("kind", ["inlineData", "fileData"])
    def test_an_image_of_gemini_is_an_answer(self, kind, reason):
        part = {kind: {"mimeType": "image/png", "data": "aGk="}}
        body = {"candidates": [{"content": {"parts": [part]}, **reason}]}
        answer = DIALECTS["google"].parse_response(200, {}, json.dumps(body).encode())
        assert (answer.text, answer.finish_reason) == ("", "stop" if reason else "other")
        assert answer.native.items == (part,)


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize(
    "media", [{"images": [{"image_url": {"url": "data:image/png;base64,aGk="}}]}, {"audio": {"data": "aGk="}}], ids=str
)
def test_an_image_or_a_sound_of_a_compatible_server_is_an_answer(media, streamed):
    message = {"content": "", **media}
    answer = read(COMPATIBLE, chat("stop", **message))[0] if streamed else chat_whole(message)
    assert (answer.text, answer.finish_reason) == ("", "stop")


def gemini(text, finish="STOP", **more):
    return {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": finish}], **more}


class TestEqualPieces:
    @pytest.mark.parametrize("counted", [{}, {"usageMetadata": {"promptTokenCount": 3}}], ids=["bare", "counted"])
    def test_gemini_may_say_a_word_twice_with_a_reason_to_end(self, counted):
        answer, _ = read(DIALECTS["google"], *[gemini("ha ", **counted)] * 3, gemini("!", **counted))
        assert answer.text == "ha ha ha !"

    def test_a_whole_answer_of_gemini_that_comes_twice_is_refused(self):
        event = gemini("Tea.", usageMetadata={"promptTokenCount": 3, "candidatesTokenCount": 2})
        with pytest.raises(AgentError, match="repeats itself"):
            read(DIALECTS["google"], event, event)

    def test_a_compatible_server_may_say_a_word_twice_with_a_reason_to_end(self):
        answer, _ = read(COMPATIBLE, *[chat("stop", content="ha ")] * 3, chat("stop"))
        assert answer.text == "ha ha ha "

    def test_a_whole_answer_that_comes_twice_is_refused(self):
        event = chat("stop", content="Tea.", usage={"prompt_tokens": 3, "completion_tokens": 2})
        with pytest.raises(AgentError, match="repeats itself"):
            read(COMPATIBLE, event, event)

    @pytest.mark.parametrize("name", ["anthropic", "openai", "perplexity"])
    def test_equal_words_without_a_reason_to_end_are_text_everywhere(self, name):
        start, piece, end = ENDLESS[name, "text"]
        decoder = DIALECTS[name].stream_decoder({})
        decoder.feed(sse(*start, *[piece("ha ")] * 3, *end("ha ha ha ")))
        assert decoder.finish().text == "ha ha ha "


def block(kind, delta):
    """Return start, piece and end of an Anthropic stream of one block."""
    opened = {"type": "content_block_start", "index": 0, "content_block": kind}
    closed = [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    ]
    return (
        [ANTHROPIC_START, opened],
        lambda text: {"type": "content_block_delta", "index": 0, "delta": delta(text)},
        lambda _: [*closed, {"type": "message_stop"}],
    )


def responses(kind, whole, *start):
    """Return start, piece and end of a Responses stream of one item."""
    return (
        list(start),
        lambda text: {"type": kind, "output_index": 0, "delta": text},
        lambda text: [{"type": "response.completed", "response": {"status": "completed", "output": [whole(text)]}}],
    )


def candidate(part, *, reason=None, start=(), end=()):
    """Return start, piece and end of a Gemini stream; `part` makes the part of a piece."""
    more = {} if reason is None else {"finishReason": reason}
    made = lambda text: {"candidates": [{"content": {"parts": [part(text)]}, **more}]}  # noqa: E731
    return [*start], made, lambda _: [{"candidates": [{"content": {"parts": [*end]}, "finishReason": "STOP"}]}]


def choice(delta, finish="stop", **more):
    """Return start, piece and end of a Chat Completions stream; `delta` makes the content of a piece."""
    return [], lambda text: chat(**delta(text)) | more, lambda _: [chat(finish, content="")]


CALL = {"index": 0, "id": "c", "function": {"name": "look", "arguments": ""}}
OPEN_CALL = {"functionCall": {"name": "look", "willContinue": True}}
SOURCES = [{"url": f"https://{number}.example", "title": "T"} for number in range(3)]
ENDLESS = {
    ("anthropic", "text"): block({"type": "text", "text": ""}, lambda text: {"type": "text_delta", "text": text}),
    ("anthropic", "reasoning"): block(
        {"type": "thinking", "thinking": ""}, lambda text: {"type": "thinking_delta", "thinking": text}
    ),
    ("anthropic", "call"): block(
        {"type": "tool_use", "id": "c", "name": "look", "input": {}},
        lambda text: {"type": "input_json_delta", "partial_json": text},
    ),
    ("openai", "text"): responses(
        "response.output_text.delta",
        lambda text: {"type": "message", "content": [{"type": "output_text", "text": text}]},
    ),
    ("openai", "reasoning"): responses(
        "response.reasoning_text.delta", lambda text: {"type": "reasoning", "content": [{"text": text}]}
    ),
    ("openai", "call"): responses(
        "response.function_call_arguments.delta",
        lambda text: {"type": "function_call", "call_id": "c", "name": "look", "arguments": text},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {"type": "function_call", "call_id": "c", "name": "look"},
        },
    ),
    ("google", "text"): candidate(lambda text: {"text": text}),
    ("google", "text with a reason"): candidate(lambda text: {"text": text}, reason="STOP"),
    ("google", "reasoning"): candidate(lambda text: {"text": text, "thought": True}),
    ("google", "call"): candidate(
        lambda text: {
            "functionCall": {"partialArgs": [{"jsonPath": "$.a[0].b", "stringValue": text}], "willContinue": True}
        },
        start=[{"candidates": [{"content": {"parts": [OPEN_CALL]}}]}],
        end=[{"functionCall": {}}],
    ),
    ("openai-chat", "text"): choice(lambda text: {"content": text}),
    ("openai-chat", "reasoning"): choice(lambda text: {"reasoning_content": text}),
    ("openai-chat", "call"): (
        [chat(tool_calls=[CALL])],
        lambda text: chat(tool_calls=[{"index": 0, "function": {"arguments": text}}]),
        lambda _: [chat("tool_calls")],
    ),
    ("openai-chat", "the older call"): (
        [chat(function_call={"name": "look", "arguments": ""})],
        lambda text: chat(function_call={"arguments": text}),
        lambda _: [chat("function_call")],
    ),
    ("openai-chat", "blank calls"): choice(
        lambda text: {"content": text, "tool_calls": [{"index": 7, "function": {"arguments": " "}}]}
    ),
    ("deepseek", "reasoning"): choice(lambda text: {"reasoning_content": text}),
    ("openrouter", "reasoning"): choice(
        lambda text: {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": text}]}
    ),
    ("perplexity", "text"): choice(lambda text: {"content": text}),
    ("perplexity", "text with sources"): choice(lambda text: {"content": text}, search_results=SOURCES),
    ("perplexity", "text with a reason"): (
        [],
        lambda text: chat("stop", content=text) | {"search_results": SOURCES},
        lambda _: [chat("stop")],
    ),
}
PIECE = "tea [1] and cake, "
COUNT = 2_000


def dialect_of(name):
    return DIALECTS[name] if name in DIALECTS else OpenAIChat("compatible", server=SERVERS[name])


def work(decoder, event):
    """Return the calls and the bytes of new memory that one event takes."""
    calls = 0

    def count(_frame, kind, _what):
        nonlocal calls
        calls += kind in {"call", "c_call"}

    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    sys.setprofile(count)
    decoder.feed(event)
    sys.setprofile(None)
    return calls, tracemalloc.get_traced_memory()[1] - before


@pytest.mark.slow
@pytest.mark.parametrize(("name", "what"), ENDLESS, ids=["-".join(key) for key in ENDLESS])
def test_a_late_piece_costs_as_much_as_an_early_one(name, what):
    """Else a long answer is read in time that grows with the square of its length."""
    start, piece, end = ENDLESS[name, what]
    decoder = dialect_of(name).stream_decoder({})
    decoder.feed(sse(*start))
    (event,) = (sse(piece(PIECE)),)
    # Equal pieces that carry a reason to end are told apart by their bytes.
    events = [event, event.replace(b"tea", b"Tea")] * 5
    decoder.feed(b"".join(events[:2]))
    tracemalloc.start()
    try:
        early = [work(decoder, one) for one in events]
        for _ in range(COUNT // 2):
            decoder.feed(b"".join(events[:2]))
        late = [work(decoder, one) for one in events]
    finally:
        tracemalloc.stop()
    assert min(calls for calls, _ in late) <= min(calls for calls, _ in early) + 2
    # A copy of what came before would be far larger.
    usual = median(size for _, size in early)  # the first time that a line runs, a debugger may take memory too
    assert min(size for _, size in late) <= usual + 2_000 < COUNT * len(PIECE) / 3
    text = "".join(PIECE.replace("tea", word) for word in ("tea", "Tea") * (COUNT // 2 + 11))
    decoder.feed(sse(*end(text)) + (b"data: [DONE]\n\n" if name == "openai-chat" else b""))
    answer = decoder.finish()
    said = [
        answer.text,
        answer.reasoning,
        *(call.invalid or json.dumps(dict(call.arguments)) for call in answer.tool_calls),
    ]
    assert any((one and one[:18_000] in text) or text in one for one in said)


def test_many_calls_with_one_id_take_short_names():
    calls = [{"index": place, "id": "a", "function": {"name": "look", "arguments": "{}"}} for place in range(2_000)]
    answer, _ = read(COMPATIBLE, chat(tool_calls=calls), chat("tool_calls"))
    assert len({call.id for call in answer.tool_calls}) == 2_000
    assert max(len(call.id) for call in answer.tool_calls) < 10


def test_pieces_of_arguments_are_added_to_their_call():
    arguments = PartialArguments({"given": "a", "kept": 1})
    for path, value in (
        ("$.given", "b"),
        ("$.given", "c"),
        ("$.new[0].x", "d"),
        ("$.new[0].x", "e"),
        ("$.new[0].x", 5),
    ):
        arguments.put(path, value)
    assert arguments.whole() == {"given": "abc", "kept": 1, "new": [{"x": 5}]}
    with pytest.raises(AgentError, match="has an invalid path"):
        arguments.put("$.given.x", "y")
