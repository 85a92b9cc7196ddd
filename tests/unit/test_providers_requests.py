"""What each dialect asks for, in its own words."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest
from pydantic import ValidationError

from roundtable.errors import ConfigurationError
from roundtable.providers import (
    BUILTIN_SPECS,
    AnthropicMessages,
    GoogleGenerate,
    OpenAIChat,
    OpenAIResponses,
    PerplexitySonar,
)
from roundtable.providers.chat_servers import SERVERS
from roundtable.types import AgentTool, ChatRequest, ImagePart, Message, NativeContent, NativeSearch, ToolCall, utc_now

ANTHROPIC, RESPONSES, GOOGLE, SONAR = AnthropicMessages(), OpenAIResponses(), GoogleGenerate(), PerplexitySonar()
CHAT = OpenAIChat("acme")
BASES = {
    ANTHROPIC: "https://api.anthropic.com",
    RESPONSES: "https://api.openai.com/v1",
    GOOGLE: "https://generativelanguage.googleapis.com",
    SONAR: "https://api.perplexity.ai",
}
HI = (Message(role="user", content="Hi"),)
LOOK = AgentTool(
    name="look",
    description="Looks.",
    parameters={
        "type": "object",
        "properties": {"title": {"type": "string"}, "kind": {"type": "string", "enum": ["a", "b"]}},
        "required": ["title"],
    },
)
PIXEL = ImagePart.from_bytes(b"\x89PNG", "image/png")
TALK = (
    Message(role="system", content="Be brief."),
    Message(role="user", content="What is there?", images=(PIXEL,)),
    Message(
        role="assistant",
        content="I look.",
        tool_calls=(
            ToolCall(id="c1", name="look", arguments={"title": "é"}),
            ToolCall(id="c2", name="look", arguments={"title": "b"}),
        ),
    ),
    Message(role="tool", content="one", tool_call_id="c1"),
    Message(role="tool", content="two", tool_call_id="c2"),
    Message(role="user", content="And?"),
)


def sent(dialect, *, stream=False, **fields):
    request = ChatRequest(**{"model": "m", "messages": HI, "max_tokens": 50, **fields})
    return dialect.build_request(request, base_url=BASES.get(dialect, "https://acme.example/v1"), stream=stream)


def body(dialect, **fields):
    return json.loads(sent(dialect, **fields).body)


class TestAnthropic:
    def test_address_and_headers_are_those_of_the_documentation(self):
        request = sent(ANTHROPIC, stream=True, extra_headers={"Anthropic-Beta": "x"})
        assert request.url == "https://api.anthropic.com/v1/messages"
        assert request.headers["anthropic-version"] == "2023-06-01"
        assert request.headers["anthropic-beta"] == "x"
        assert body(ANTHROPIC, stream=True)["stream"] is True

    def test_a_base_url_with_a_version_is_accepted(self):
        request = ChatRequest(model="m", messages=HI)
        made = ANTHROPIC.build_request(request, base_url="http://127.0.0.1:1/v1", stream=False)
        assert made.url == "http://127.0.0.1:1/v1/messages"

    def test_a_conversation_with_tools_and_an_image(self):
        made = body(ANTHROPIC, messages=TALK, tools=(LOOK,))
        assert made["system"] == "Be brief."
        assert [message["role"] for message in made["messages"]] == ["user", "assistant", "user"]
        shown, asked, answered = (message["content"] for message in made["messages"])
        assert shown[0] == {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": PIXEL.data},
        }
        assert [block["type"] for block in asked] == ["text", "tool_use", "tool_use"]
        assert asked[1] == {"type": "tool_use", "id": "c1", "name": "look", "input": {"title": "é"}}
        assert [block.get("tool_use_id") for block in answered] == ["c1", "c2", None]
        assert made["tools"][0]["input_schema"]["required"] == ["title"]
        assert "tool_choice" not in made

    def test_an_answer_is_sent_back_unchanged(self):
        items = (
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "redacted_thinking", "data": "r"},
            {"type": "text", "text": ""},
            {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
        )
        said = Message(
            role="assistant",
            content="other",
            tool_calls=(ToolCall(id="c1", name="look"),),
            native=NativeContent(provider="anthropic", items=items),
        )
        back = body(ANTHROPIC, messages=(*HI, said))["messages"][1]["content"]
        assert back == [items[0], items[1], items[3]]
        foreign = said.model_copy(update={"native": NativeContent(provider="google", items=items)})
        assert body(ANTHROPIC, messages=(*HI, foreign))["messages"][1]["content"][0] == {
            "type": "text",
            "text": "other",
        }

    def test_cache_marks_are_sent(self):
        system = Message(role="system", content="Long.", cache=True)
        made = body(ANTHROPIC, messages=(system, *HI))
        assert made["system"] == [{"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral"}}]

    @pytest.mark.parametrize(
        ("model", "given", "goes"),
        [
            ("claude-sonnet-4-5", 0.5, 0.5),
            ("claude-sonnet-4-5", 1.7, 1.0),
            ("claude-opus-4-7", 0.5, None),
            ("claude-opus-5", 0.5, None),
            ("claude-mythos-preview", 0.5, None),
            ("claude-3-5-haiku-20241022", 0.5, 0.5),
            ("anthropic/claude-opus-4.7", 0.5, None),
            ("claude-sonnet-4.6", 0.5, 0.5),
        ],
    )
    def test_the_temperature_is_sent_where_it_is_accepted(self, model, given, goes):
        assert body(ANTHROPIC, model=model, temperature=given).get("temperature") == goes

    def test_thinking_is_sent_without_a_temperature(self):
        extra = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
        made = body(ANTHROPIC, temperature=0.5, extra_body=extra)
        assert "temperature" not in made
        assert made["thinking"] == extra["thinking"]
        assert body(ANTHROPIC, temperature=0.5, extra_body={"thinking": {"type": "disabled"}})["temperature"] == 0.5

    def test_the_options_of_a_search_are_sent(self):
        search = NativeSearch(max_uses=2, allowed_domains=("a.example",), blocked_domains=("b.example",))
        assert body(ANTHROPIC, search=search)["tools"] == [
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 2, "allowed_domains": ["a.example"]}
        ]
        assert "allowed_domains" not in body(ANTHROPIC, search=True)["tools"][0]

    def test_schema_and_stop_sequences_are_sent(self):
        schema = {"type": "object", "properties": {"title": {"type": "string", "maxLength": 3}}, "required": ["title"]}
        made = body(ANTHROPIC, response_schema=schema, stop=("END",))
        format_ = made["output_config"]["format"]
        assert format_["schema"]["properties"]["title"] == {"type": "string", "description": "maxLength: 3"}
        assert format_["schema"]["additionalProperties"] is False
        assert made["stop_sequences"] == ["END"]

    @pytest.mark.parametrize(
        ("choice", "word"),
        [("none", {"type": "none"}), ("required", {"type": "any"}), ("look", {"type": "tool", "name": "look"})],
    )
    def test_the_tool_choice_is_sent(self, choice, word):
        assert body(ANTHROPIC, tools=(LOOK,), tool_choice=choice)["tool_choice"] == word


class TestResponses:
    def test_nothing_is_stored_and_reasoning_comes_back_encrypted(self):
        made = body(RESPONSES, model="gpt-5.2", temperature=0.2)
        assert (made["store"], made["include"], made["temperature"]) == (False, ["reasoning.encrypted_content"], 0.2)
        assert "include" not in body(RESPONSES, model="gpt-4.1")
        assert "temperature" not in body(RESPONSES, model="o4-mini", temperature=0.2)
        effort = {"reasoning": {"effort": "high"}}
        assert "temperature" not in body(RESPONSES, model="gpt-5.2", temperature=0.2, extra_body=effort)

    def test_a_conversation_with_tools_and_an_image(self):
        made = body(RESPONSES, messages=TALK, tools=(LOOK,), tool_choice="look")
        assert made["instructions"] == "Be brief."
        kinds = [item.get("type") or item["role"] for item in made["input"]]
        assert kinds == [
            "user",
            "assistant",
            "function_call",
            "function_call",
            "function_call_output",
            "function_call_output",
            "user",
        ]
        assert made["input"][0]["content"][0] == {"type": "input_image", "detail": "auto", "image_url": PIXEL.url}
        assert made["tools"][0]["strict"] is False
        assert made["tool_choice"] == {"type": "function", "name": "look"}

    def test_reasoning_is_sent_back_encrypted_or_not_at_all(self):
        thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
        call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"}

        def back(*items):
            native = NativeContent(provider="openai", items=items)
            said = Message(role="assistant", tool_calls=(ToolCall(id="c1", name="look"),), native=native)
            return body(RESPONSES, messages=(*HI, said))["input"][1:]

        assert back(thought, call) == [thought, call]
        assert back({**thought, "status": "completed"}, {**call, "status": "completed"}) == [
            thought,
            {**call, "status": "completed"},
        ]
        bare = {"type": "reasoning", "id": "rs_1", "summary": []}
        assert back(bare, call) == [{name: value for name, value in call.items() if name != "id"}]

    def test_a_custom_tool_gets_a_custom_tool_result(self):
        item = {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "SELECT"}
        native = NativeContent(provider="openai", items=(item,))
        said = Message(role="assistant", tool_calls=(ToolCall(id="c1", name="sql"),), native=native)
        result = Message(role="tool", content="7", tool_call_id="c1")
        made = body(RESPONSES, messages=(*HI, said, result))["input"]
        assert made[2] == {"type": "custom_tool_call_output", "call_id": "c1", "output": "7"}

    def test_search_and_schema_are_sent_together(self):
        schema = {
            "type": "object",
            "properties": {"title": {"type": "string"}},
            "required": ["title"],
            "additionalProperties": False,
        }
        made = body(RESPONSES, search=NativeSearch(allowed_domains=("a.example",)), response_schema=schema)
        assert made["tools"] == [
            {"type": "web_search", "search_context_size": "medium", "filters": {"allowed_domains": ["a.example"]}}
        ]
        assert made["include"] == ["web_search_call.action.sources"]
        assert made["text"]["format"] == {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}

    def test_the_least_limit_is_kept(self):
        assert body(RESPONSES, max_tokens=3)["max_output_tokens"] == 16


class TestGoogle:
    @pytest.mark.parametrize(
        ("base", "model", "url"),
        [
            ("https://g.example", "m", "https://g.example/v1beta/models/m:generateContent"),
            ("https://g.example/v1", "models/m", "https://g.example/v1/models/m:generateContent"),
            (
                "https://v.example/v1/projects/p/locations/l/publishers/google",
                "m",
                "https://v.example/v1/projects/p/locations/l/publishers/google/models/m:generateContent",
            ),
        ],
    )
    def test_the_address_contains_model_and_method(self, base, model, url):
        assert GOOGLE.build_request(ChatRequest(model=model, messages=HI), base_url=base, stream=False).url == url

    def test_a_conversation_with_tools_and_an_image(self):
        made = body(GOOGLE, messages=TALK, tools=(LOOK,), tool_choice="look", temperature=0.3, seed=7, stop=("E",))
        assert made["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
        assert [content["role"] for content in made["contents"]] == ["user", "model", "user"]
        assert made["contents"][0]["parts"][0] == {"inlineData": {"mimeType": "image/png", "data": PIXEL.data}}
        answers = made["contents"][2]["parts"]
        assert answers[0] == {"functionResponse": {"name": "look", "id": "c1", "response": {"result": "one"}}}
        assert made["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]["properties"]["kind"]["enum"] == [
            "a",
            "b",
        ]
        assert made["toolConfig"] == {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}}
        assert made["generationConfig"] == {
            "maxOutputTokens": 50,
            "temperature": 0.3,
            "stopSequences": ["E"],
            "seed": 7,
        }

    def test_a_signed_answer_is_sent_back_unchanged(self):
        items = ({"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "s"},)
        said = Message(
            role="assistant",
            tool_calls=(ToolCall(id="call_0", name="look"),),
            native=NativeContent(provider="google", items=items),
        )
        result = Message(role="tool", content="x", tool_call_id="call_0")
        made = body(GOOGLE, messages=(*HI, said, result))["contents"]
        assert made[1]["parts"] == list(items)
        assert made[2]["parts"] == [{"functionResponse": {"name": "look", "response": {"result": "x"}}}]

    def test_calls_of_another_model_are_marked_for_models_that_check_signatures(self):
        parts = body(GOOGLE, model="gemini-3-pro", messages=TALK)["contents"][1]["parts"]
        assert [part.get("thoughtSignature") for part in parts] == [None, "skip_thought_signature_validator", None]
        assert "thoughtSignature" not in json.dumps(body(GOOGLE, model="gemini-2.5-pro", messages=TALK))

    def test_a_search_is_sent_together_with_functions(self):
        made = body(GOOGLE, model="gemini-3-flash-preview", search=True, tools=(LOOK,))
        assert made["tools"][1] == {"googleSearch": {}}
        assert made["toolConfig"] == {"includeServerSideToolInvocations": True}
        with pytest.raises(ConfigurationError, match="in one call"):
            body(GOOGLE, model="gemini-2.5-flash", search=True, tools=(LOOK,))

    def test_a_schema_is_left_out_if_it_cannot_be_combined(self):
        schema = {"type": "object", "properties": {"a": {"const": 1, "minLength": 2}}}
        made = body(GOOGLE, model="gemini-2.5-pro", response_schema=schema)["generationConfig"]
        assert made["responseMimeType"] == "application/json"
        assert made["responseJsonSchema"]["properties"]["a"] == {"enum": [1], "description": "minLength: 2"}
        assert "responseJsonSchema" not in body(GOOGLE, model="gemini-2.5-pro", response_schema=schema, search=True)


class TestSonar:
    def test_the_options_of_a_search_are_sent(self):
        search = NativeSearch(
            recency="day",
            context_size="low",
            allowed_domains=("a.example", "b.example"),
            blocked_domains=("c.example", "d.example"),
            images=True,
            related_questions=True,
        )
        made = body(SONAR, search=search, tools=(LOOK,), seed=3)
        assert made == {
            "model": "m",
            "messages": [{"role": "user", "content": "Hi"}],
            "max_tokens": 50,
            "web_search_options": {"search_context_size": "low"},
            "search_recency_filter": "day",
            "search_domain_filter": ["a.example", "b.example", "-c.example", "-d.example"],
            "return_images": True,
            "return_related_questions": True,
        }
        assert "search_recency_filter" not in body(SONAR)
        assert (body(SONAR, search=False)["disable_search"], "disable_search" in body(SONAR)) == (True, False)


class TestChatServers:
    @pytest.mark.parametrize("name", sorted(SERVERS))
    def test_every_server_gets_its_own_field_names(self, name):
        server = SERVERS[name]
        made = body(OpenAIChat("x", server=server), seed=5, response_schema={"type": "object"}, search=True)
        assert made[server.limit_field] == 50
        assert (server.seed in made) if server.seed else ("seed" not in made)
        assert ("response_format" in made) is (server.schema != "none")
        assert ("web_search_options" in made, "plugins" in made) == (
            server.search == "options",
            server.search == "plugin",
        )

    def test_images_stop_sequences_and_tool_choice_are_sent(self):
        made = body(CHAT, messages=TALK, tools=(LOOK,), tool_choice="required", stop=("E",))
        assert made["messages"][1]["content"][0] == {"type": "image_url", "image_url": {"url": PIXEL.url}}
        assert (made["tool_choice"], made["stop"]) == ("required", ["E"])

    def test_reasoning_is_sent_back_if_the_server_wants_it(self):
        dialect = OpenAIChat("x", server=SERVERS["deepseek"])
        message = {
            "content": None,
            "reasoning_content": "Hm.",
            "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}],
        }
        answer = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
        found = dialect.parse_response(200, {}, json.dumps(answer).encode())
        assert found.reasoning == "Hm."
        made = body(dialect, messages=(*HI, found.to_message()))["messages"][1]
        assert made["reasoning_content"] == "Hm."
        assert "reasoning_content" not in body(CHAT, messages=(*HI, found.to_message()))["messages"][1]

    @pytest.mark.parametrize(
        ("name", "field"),
        [
            ("deepseek", "reasoning_content"),
            ("moonshot", "reasoning_content"),
            ("zai", "reasoning_content"),
            ("llamacpp", "reasoning_content"),
            ("vllm", "reasoning"),
            ("vllm", "reasoning_content"),
        ],
    )
    def test_streamed_reasoning_of_a_tool_call_is_sent_back(self, name, field):
        dialect = OpenAIChat("compatible", server=SERVERS[name])
        call = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}
        pieces = ({field: "Hm, "}, {field: "tea."}, {"content": "", "tool_calls": [call]})
        events = [{"choices": [{"index": 0, "delta": piece}]} for piece in pieces]
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
        decoder = dialect.stream_decoder({})
        for event in events:
            decoder.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
        result = Message(role="tool", content="one", tool_call_id="c1")
        made = body(dialect, messages=(*HI, decoder.finish().to_message(), result))["messages"]
        assert made[1][field] == "Hm, tea."

    @pytest.mark.parametrize("name", ["deepseek", "moonshot"])
    def test_an_answer_without_reasoning_gets_a_blank_one_if_a_server_needs_it(self, name):
        dialect = OpenAIChat("compatible", server=SERVERS[name])
        answered = Message(role="assistant", content="Tea.")
        made = body(dialect, messages=(*TALK, answered, *HI))["messages"]
        assert [message.get("reasoning_content") for message in made if message["role"] == "assistant"] == [" ", " "]
        assert {message["role"] for message in made if "reasoning_content" in message} == {"assistant"}
        assert "reasoning_content" not in json.dumps(body(dialect, messages=(*HI, answered, *HI)))
        assert "reasoning_content" not in json.dumps(body(CHAT, messages=TALK))

    @pytest.mark.parametrize("streamed", [False, True])
    def test_signatures_of_gemini_are_sent_back_with_their_calls(self, streamed):
        signature = {"google": {"thought_signature": "s"}}
        calls = [
            {"index": index, "id": f"c{index}", "function": {"name": "look", "arguments": "{}"}, **extra}
            for index, extra in enumerate(({"extra_content": signature}, {}))
        ]
        gemini = OpenAIChat("compatible", server=SERVERS["gemini"])
        for dialect, expected in ((gemini, [signature, None]), (CHAT, [None, None])):
            if streamed:
                decoder = dialect.stream_decoder({})
                for call in calls:
                    event = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]}
                    decoder.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
                decoder.feed(b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}\n\n')
                found = decoder.finish()
            else:
                choice = {"index": 0, "message": {"tool_calls": calls}, "finish_reason": "tool_calls"}
                found = dialect.parse_response(200, {}, json.dumps({"choices": [choice]}).encode())
            (made,) = body(dialect, messages=(found.to_message(),))["messages"]
            assert [call.get("extra_content") for call in made["tool_calls"]] == expected
            assert "extra_content" not in made

    @pytest.mark.parametrize(
        ("server", "model", "signed"),
        [
            ("gemini", "gemini-3-flash-preview", True),
            ("gemini", "gemini-2.5-flash", False),
            ("vllm", "gemini-3", False),
        ],
    )
    def test_calls_of_another_model_are_sent_to_gemini_with_a_placeholder(self, server, model, signed):
        said = Message(role="assistant", tool_calls=tuple(ToolCall(id=f"c{index}", name="look") for index in range(2)))
        dialect = OpenAIChat("compatible", server=SERVERS[server])
        calls = body(dialect, model=model, messages=(*HI, said))["messages"][1]["tool_calls"]
        placeholder = {"google": {"thought_signature": "skip_thought_signature_validator"}}
        assert [call.get("extra_content") for call in calls] == [placeholder if signed else None, None]

    def test_fields_of_another_server_are_not_sent_back(self):
        native = NativeContent(provider="compatible", items=({"reasoning_details": [{"text": "Hm."}]},))
        said = Message(role="assistant", tool_calls=(ToolCall(id="c1", name="look"),), native=native)
        for name, server in SERVERS.items():
            made = body(OpenAIChat("compatible", server=server), messages=(*HI, said))["messages"][1]
            assert ("reasoning_details" in made) is (name in {"openrouter", "minimax"})

    @pytest.mark.parametrize(
        ("name", "model", "given", "goes"),
        [
            ("moonshot", "kimi-k2.5", 0.0, None),
            ("openrouter", "anthropic/claude-opus-4.7", 0.5, None),
            ("vllm", "claude-opus-4-8", 0.5, None),
            ("vllm", "bedrock/us.anthropic.claude-sonnet-4-5-v1:0", 0.5, 0.5),
            ("moonshot", "moonshot-v1-8k", 1.5, 1.0),
            ("minimax", "MiniMax-M2.1", 0.0, 0.01),
            ("zai", "glm-4.7", 1.5, 1.0),
            ("deepseek", "deepseek-chat", 1.5, 1.5),
        ],
    )
    def test_a_temperature_that_a_server_rejects_is_replaced_or_left_out(self, name, model, given, goes):
        dialect = OpenAIChat("compatible", server=SERVERS[name])
        assert body(dialect, model=model, temperature=given).get("temperature") == goes


@pytest.mark.parametrize(
    ("model", "goes"),
    [
        *(
            (model, False)
            for model in ("gpt-5", "gpt-5.2-pro", "gpt-5.2-codex", "gpt-5.3", "gpt-5.5", "gpt-6", "codex-mini", "o3")
        ),
        *((model, True) for model in ("gpt-5.2", "gpt-5.1", "gpt-5-chat-latest", "gpt-4.1")),
    ],
)
def test_both_wires_of_openai_agree_on_who_takes_a_temperature(model: str, goes: bool) -> None:
    openai = OpenAIChat("openai", openai=True)
    request = ChatRequest(model=model, messages=HI, temperature=0.3)
    sent = json.loads(openai.build_request(request, base_url=BASES[RESPONSES], stream=False).body)
    assert ("temperature" in sent, "temperature" in body(RESPONSES, model=model, temperature=0.3)) == (goes, goes)


OPTIONS = {
    "max_uses": 2,
    "context_size": "high",
    "recency": "day",
    "allowed_domains": ("a.example",),
    "blocked_domains": ("b.example",),
    "images": True,
    "related_questions": True,
}


@pytest.mark.parametrize("name", ["anthropic", "openai", "google", "perplexity"])
@pytest.mark.parametrize("option", sorted(OPTIONS))
def test_a_profile_names_exactly_the_search_options_that_the_wire_can_send(name, option):
    spec = BUILTIN_SPECS[name]
    model = spec.default_model
    search = NativeSearch(**{option: OPTIONS[option]})
    plain, told = (body(spec.dialect, model=model, search=one) for one in (NativeSearch(), search))
    profile = spec.profile_of(model).search
    assert (told != plain) is (option in profile.takes)
    assert profile.misfits(search) == (() if option in profile.takes else (option,))


@pytest.mark.parametrize(("age", "days"), [("hour", 1 / 24), ("day", 1), ("week", 7), ("month", 31), ("year", 366)])
def test_google_gets_the_age_of_pages_as_a_time_range(age, days):
    (tool,) = body(BUILTIN_SPECS["google"].dialect, model="gemini-3-pro", search=NativeSearch(recency=age))["tools"]
    span = tool["googleSearch"]["timeRangeFilter"]
    since, until = (datetime.fromisoformat(span[name]) for name in ("startTime", "endTime"))
    assert until - since == timedelta(days=days)
    assert abs(utc_now() - until) < timedelta(minutes=5)


def test_openai_gets_the_maximum_number_of_searches():
    made = body(BUILTIN_SPECS["openai"].dialect, model="gpt-5.2", search=NativeSearch(max_uses=2))
    assert made["max_tool_calls"] == 2
    assert "max_tool_calls" not in body(BUILTIN_SPECS["openai"].dialect, model="gpt-5.2")


@pytest.mark.parametrize(
    ("name", "model", "has"),
    [
        ("anthropic", "claude-3-opus-20240229", False),
        ("anthropic", "claude-3-7-sonnet-latest", True),
        ("anthropic", "claude-opus-4-20250514", True),
        ("openai", "gpt-4-turbo", False),
        ("openai", "gpt-4.1-mini", True),
        ("openai", "gpt-4.1-nano", False),
        ("google", "gemini-1.5-pro", False),
        ("google", "gemini-2.5-pro", True),
        ("google", "gemini-flash-latest", True),
        ("google", "gemma-3-27b-it", False),
        ("perplexity", "sonar-reasoning-pro", True),
        ("openai-chat", "gpt-5.2", False),
        ("openai-chat", "gpt-4o-search-preview", True),
        ("compatible", "llama3", False),
    ],
)
def test_models_without_a_search_are_known(name, model, has):
    assert (BUILTIN_SPECS[name].profile_of(model).search is not None) is has


@pytest.mark.parametrize("domain", ["https://a.example", "a b.example", "-a.example", ".example", "a.example.", ""])
def test_an_invalid_domain_is_refused(domain):
    with pytest.raises(ValidationError, match="omains"):
        NativeSearch(allowed_domains=(domain,))
    assert NativeSearch(blocked_domains=("a.example/news", "münchen.example")).asked == {"blocked_domains"}
