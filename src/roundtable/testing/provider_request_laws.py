"""Conformance tests for chat models: whatever a call sets must arrive at the server, which records the requests."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

import anyio
import pytest

from roundtable.core.types.base import JsonValue
from roundtable.core.types.chat import AgentTool, ChatRequest, ChatResponse, Message, OutputSchema, ToolCall
from roundtable.testing.servers import WireReply, call_reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roundtable.core.protocols import ChatModel
    from roundtable.testing.servers import LoopbackServer, Seen

__all__ = ["TOOL", "Capability", "RequestLaws", "leaves"]

FIELDS: Final = frozenset({"temperature", "seed", "stop", "output_schema", "tool_choice"})
"""Fields of `ChatRequest` that an API may lack."""
TOOL: Final = AgentTool(
    name="look_up",
    description="Looks a word up.",
    parameters={
        "type": "object",
        "properties": {"word": {"type": "string", "description": "spelled-8c1"}},
        "required": ["word"],
    },
)
"""The tool that is offered to the model."""
_OPTIONS: Final[dict[str, tuple[JsonValue, str]]] = {
    "temperature": (0.375, "0.375"),
    "seed": (424243, "424243"),
    "stop": (["halt-5d2"], "halt-5d2"),
}
"""Value and text of each option that a call can set."""
_SCHEMA: Final = OutputSchema(
    name="drink",
    definition={
        "type": "object",
        "properties": {"drink_3e1": {"type": "string"}},
        "required": ["drink_3e1"],
        "additionalProperties": False,
    },
)
_ROLES: Final = ("system", "user", "assistant", "user")
_LONG: Final = 'a "quoted" \\ word,\n\u00e9 \u2028 \U0001f680 ' * 5_000
"""A text with characters that wire formats escape, and longer than any limit that an author may remember."""


class Capability(enum.Enum):
    """Features of a provider; tests check capabilities, never names of vendors."""

    HTTP = "http"
    """The provider calls an HTTP API with a configurable address and a key."""
    STREAMING = "streaming"
    """The provider streams answers."""
    TOOLS = "tools"
    """The provider supports tools."""


_Around: TypeAlias = "tuple[dict[str, JsonValue] | list[JsonValue], ...]"


class RequestLaws:
    """The tests of `ProviderSuite` on the requests to an HTTP API, in any wire format with a JSON body."""

    capabilities: ClassVar[frozenset[Capability]] = frozenset()
    """Features of the provider, as a set of `Capability`."""
    unsupported: ClassVar[frozenset[str]] = frozenset()
    """Fields of `ChatRequest` that the API does not have: any of `temperature`, `seed`, `stop`, `output_schema` and
    `tool_choice`. All other fields must be sent."""
    call_answer: ClassVar[WireReply] = call_reply("look_up", {"word": "tea"})
    """A response in the wire format that calls the tool `look_up` with the word `"tea"`."""
    stream_call_answer: ClassVar[WireReply] = call_reply("look_up", {"word": "tea"}, stream=True)
    """The same response, streamed."""
    limit_s: ClassVar[float] = 30.0
    """Seconds that one call may take."""

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        _check_set(cls, "capabilities", cls.capabilities)
        wrong = [name for name in cls.capabilities if not isinstance(name, Capability)]
        if wrong:
            msg = f"{cls.__name__}.capabilities holds {wrong[0]!r}; write Capability.HTTP and the like"
            raise TypeError(msg)
        _check_set(cls, "unsupported", cls.unsupported)
        unknown = sorted(str(name) for name in cls.unsupported - FIELDS)
        if unknown:
            msg = f"{cls.__name__}.unsupported holds {unknown[0]!r}; known: {', '.join(sorted(FIELDS))}"
            raise TypeError(msg)

    def body_of(self, seen: Seen) -> JsonValue:
        """Return the content of a request as JSON. Override this method if the API takes another format."""
        return seen.json

    def _request(self, model: ChatModel, **fields: object) -> ChatRequest:
        messages = (Message(role="user", content="Tea or coffee?"),)
        return ChatRequest.model_validate({"model": model.model, "messages": messages} | fields)

    def _has(self, capability: Capability) -> bool:
        return capability in self.capabilities

    async def _sent(self, model: ChatModel, server: LoopbackServer, way: str, **fields: object) -> JsonValue:
        """Call the model once, and return the body that the server received."""
        request, before = self._request(model, **fields), len(server.seen)
        with anyio.fail_after(self.limit_s):
            if way == "stream":
                async for _ in model.stream(request):
                    pass
            else:
                await model.complete(request)
        assert len(server.seen) == before + 1, "one call must send one request"
        return self.body_of(server.seen[-1])

    async def test_it_declares_what_it_does(self, model: ChatModel, server: LoopbackServer) -> None:
        """A model that calls the server, streams or supports tools declares this, so that these tests apply to it."""
        with anyio.fail_after(self.limit_s):
            await model.complete(self._request(model))
        if not self._has(Capability.HTTP):
            assert not server.seen, "it calls an HTTP API: add Capability.HTTP to capabilities"
            return
        assert server.seen, "it sends nothing to the base URL, although it has Capability.HTTP"
        assert self._has(Capability.STREAMING) or not model.profile.streams, (
            "its profile says that it streams: add Capability.STREAMING to capabilities"
        )
        assert self._has(Capability.TOOLS) or not model.profile.calls_tools, (
            "its profile says that it calls tools: add Capability.TOOLS, or use ModelProfile(calls_tools=False)"
        )

    async def test_the_model_is_named(self, model: ChatModel, server: LoopbackServer) -> None:
        """The request names the model, in its body or its path."""
        if self._has(Capability.HTTP):
            body = await self._sent(model, server, "complete")
            names = [text for text, _ in leaves(body)]
            assert model.model in names or model.model in server.seen[-1].path

    @pytest.mark.parametrize("way", ["complete", "stream"])
    async def test_messages_are_sent_in_order_with_their_roles(
        self, model: ChatModel, server: LoopbackServer, way: str
    ) -> None:
        """The whole history is sent: each message once and in order, with different roles for user and model."""
        if not self._has(Capability.HTTP):
            return
        contents = [f"{index}-part-4f7" for index in range(len(_ROLES))]
        messages = tuple(
            Message.model_validate({"role": role, "content": content})
            for role, content in zip(_ROLES, contents, strict=True)
        )
        leaf_texts = list(leaves(await self._sent(model, server, way, messages=messages)))
        at = [[index for index, (text, _) in enumerate(leaf_texts) if content in text] for content in contents]
        assert [len(places) for places in at] == [1] * len(contents), "each message must be sent once"
        (system,), *others = at
        history = [index for places in others for index in places]
        assert history == sorted(history), "messages must keep their order"
        asked, replied, asked_again, told = (_facts_of(leaf_texts, index, at) for index in (*history, system))
        marks = [name for name in asked if asked[name] == asked_again.get(name) != replied.get(name)]
        assert marks, "one field must have the same value for two messages of the user, and another for the model's"
        assert any(told.get(name) not in (asked[name], replied.get(name)) for name in marks), (
            "the system message must not look like a message of the history"
        )

    @pytest.mark.parametrize("way", ["complete", "stream"])
    async def test_a_long_message_is_sent_whole(self, model: ChatModel, server: LoopbackServer, way: str) -> None:
        """No message is cut or changed: the library decides what a prompt leaves out, and says so in it."""
        if not self._has(Capability.HTTP):
            return
        contents = [f"start-{index} {_LONG}end-{index}" for index in range(len(_ROLES))]
        messages = tuple(
            Message.model_validate({"role": role, "content": content})
            for role, content in zip(_ROLES, contents, strict=True)
        )
        texts = [text for text, _ in leaves(await self._sent(model, server, way, messages=messages))]
        for role, content in zip(_ROLES, contents, strict=True):
            assert any(content in text for text in texts), (
                f"a {role} message of {len(content):,} characters is cut or changed; send it whole, or raise "
                "ContextTooLong"
            )

    @pytest.mark.parametrize("way", ["complete", "stream"])
    async def test_a_call_sends_nothing_of_earlier_calls(
        self, model: ChatModel, server: LoopbackServer, way: str
    ) -> None:
        """A model serves several agents and debates: each call sends its own messages, and no others."""
        if not self._has(Capability.HTTP):
            return
        calls = [("system-1f3", "user-1f3"), ("system-2f3", "user-2f3"), ("user-3f3",), ("system-4f3", "user-4f3")]
        for contents in calls:
            messages = tuple(
                Message.model_validate({"role": text.partition("-")[0], "content": text}) for text in contents
            )
            texts = " ".join(text for text, _ in leaves(await self._sent(model, server, way, messages=messages)))
            missing = [text for text in contents if text not in texts]
            assert not missing, f"the call does not send its own {missing[0]!r}"
            foreign = [text for others in calls if others != contents for text in others if text in texts]
            assert not foreign, f"the call sends {foreign[0]!r} of another call; a model keeps nothing of a call"

    @pytest.mark.parametrize("way", ["complete", "stream"])
    @pytest.mark.parametrize("option", _OPTIONS)
    async def test_an_option_is_sent(self, model: ChatModel, server: LoopbackServer, option: str, way: str) -> None:
        """Temperature, seed and stop texts are sent if, and only if, a call sets them and the API has them."""
        if not self._has(Capability.HTTP) or option in self.unsupported:
            return
        value, shown = _OPTIONS[option]
        texts = [text for text, _ in leaves(await self._sent(model, server, way, **{option: value}))]
        assert shown in texts, f"{option} is not sent; if the API has none, add it to `unsupported`"
        texts = [text for text, _ in leaves(await self._sent(model, server, way))]
        assert shown not in texts, f"{option} is sent although the call does not set it"

    @pytest.mark.parametrize("way", ["complete", "stream"])
    async def test_the_token_limit_is_sent(self, model: ChatModel, server: LoopbackServer, way: str) -> None:
        """Budgets need the token limit in each request."""
        if self._has(Capability.HTTP):
            assert "1234" in [text for text, _ in leaves(await self._sent(model, server, way, max_tokens=1234))]

    @pytest.mark.parametrize("way", ["complete", "stream"])
    async def test_a_schema_is_sent(self, model: ChatModel, server: LoopbackServer, way: str) -> None:
        """The whole schema of the requested JSON is sent, if the API takes a schema."""
        if not self._has(Capability.HTTP):
            return
        if "output_schema" in self.unsupported:
            assert not model.profile.structured_output, "its profile says that a schema constrains the answer"
            return
        body = await self._sent(model, server, way, output_schema=_SCHEMA)
        schemas = [value for value in _objects(body) if "drink_3e1" in value]
        assert any(_type_of(schema["drink_3e1"]) == "string" for schema in schemas), "the schema is not sent"
        assert [text for text, _ in leaves(body)].count("drink_3e1") >= 1, "the schema must name its required fields"

    @pytest.mark.parametrize("way", ["complete", "stream"])
    async def test_a_tool_is_sent_with_its_parameters(self, model: ChatModel, server: LoopbackServer, way: str) -> None:
        """The model learns what each tool is called, what it does, and which arguments it takes."""
        if not (self._has(Capability.HTTP) and self._has(Capability.TOOLS)):
            return
        body = await self._sent(model, server, way, tools=(TOOL,))
        texts = [text for text, _ in leaves(body)]
        assert texts.count(TOOL.name) == 1, "each tool must be described once"
        assert TOOL.description in texts
        arguments = [value["word"] for value in _objects(body) if "word" in value]
        assert [_type_of(argument) for argument in arguments] == ["string"], "the parameters of the tool are not sent"
        assert "spelled-8c1" in texts, "the description of the parameter is not sent"
        assert "word" in texts, "the required parameters are not sent"

    @pytest.mark.parametrize("way", ["complete", "stream"])
    async def test_the_choice_of_a_tool_is_sent(self, model: ChatModel, server: LoopbackServer, way: str) -> None:
        """A call can leave the choice to the model, forbid tools, require any tool, or require a certain tool."""
        if not (self._has(Capability.HTTP) and self._has(Capability.TOOLS)) or "tool_choice" in self.unsupported:
            return
        sent = {
            choice: await self._sent(model, server, way, tools=(TOOL,), tool_choice=choice)
            for choice in ("auto", "none", "required", TOOL.name)
        }
        for choice, body in sent.items():
            same = [other for other, another in sent.items() if other != choice and another == body]
            assert not same, f"the choices {choice!r} and {same[0]!r} send the same"
        named = [text for text, _ in leaves(sent[TOOL.name])].count(TOOL.name)
        assert named == 2, "the choice of one tool must name it"
        required = {text.lower() for text, _ in leaves(sent["required"])}
        assert required & {"required", "any"}, "the choice `required` is sent as something weaker"

    async def test_calls_and_results_are_sent_back(self, model: ChatModel, server: LoopbackServer) -> None:
        """The next request has each call of the model with its arguments, and each result with the call it is for."""
        if not (self._has(Capability.HTTP) and self._has(Capability.TOOLS)):
            return
        words = {"call-a1": "assam-9a1", "call-b2": "brew-9b2"}
        outcomes = {"call-a1": "outcome-7c1", "call-b2": "outcome-7c2"}
        calls = tuple(ToolCall(id=key, name=TOOL.name, arguments={"word": word}) for key, word in words.items())
        results = (Message(role="tool", content=text, tool_call_id=key) for key, text in outcomes.items())
        asked = Message(role="user", content="first-0c1")
        messages = (asked, Message(role="assistant", tool_calls=calls), *results)
        leaf_texts = list(leaves(await self._sent(model, server, "complete", tools=(TOOL,), messages=messages)))
        marks = (asked.content, *words.values(), *outcomes.values())
        at = [[index for index, (text, _) in enumerate(leaf_texts) if mark in text] for mark in marks]
        assert [len(places) for places in at] == [1] * len(marks), "each call and each result must be sent once"
        order = [places[0] for places in at]
        assert order == sorted(order), "calls come before results, in order"
        has_ids = any(key in text for text, _ in leaf_texts for key in words)
        for key, index in zip(outcomes, order[3:], strict=True):
            owner = _nearest_id(leaf_texts[index][1], words)
            assert owner == (key if has_ids else None), f"the result of {key} is sent with the call {owner}"

    async def test_a_streamed_call_is_parsed(self, model: ChatModel, server: LoopbackServer) -> None:
        """A tool call in a stream is the same as in a complete response."""
        if not (self._has(Capability.HTTP) and self._has(Capability.TOOLS) and self._has(Capability.STREAMING)):
            return
        server.queue(self.stream_call_answer)
        with anyio.fail_after(self.limit_s):
            items = [item async for item in model.stream(self._request(model, tools=(TOOL,)))]
        response = items[-1]
        assert isinstance(response, ChatResponse)
        calls = [(call.name, dict(call.arguments)) for call in response.tool_calls]
        assert calls == [("look_up", {"word": "tea"})], (
            "set `stream_call_answer` to your wire format, or fix the stream"
        )
        assert response.finish_reason == "tool_calls"


def _check_set(cls: type, name: str, value: object) -> None:
    if not isinstance(value, frozenset | set):
        msg = f"{cls.__name__}.{name} must be a frozenset, not {type(value).__name__}"
        raise TypeError(msg)


def leaves(value: JsonValue, around: _Around = ()) -> Iterator[tuple[str, _Around]]:
    """Yield the texts and numbers of a JSON value as texts, each with the containers around it, outermost first.

    Example:
        >>> [text for text, _ in leaves({"seed": 7, "messages": [{"role": "user"}]})]
        ['7', 'user']
    """
    if isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from leaves(child, (*around, value))
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value), around


def _objects(value: JsonValue) -> Iterator[dict[str, JsonValue]]:
    if isinstance(value, dict):
        yield value
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for child in children:
        yield from _objects(child)


def _facts_of(
    leaf_texts: Sequence[tuple[str, _Around]], index: int, at: Sequence[Sequence[int]]
) -> dict[str, JsonValue]:
    """Return what a request says of a message besides its text, by path: the fields beside and around the text.

    The path of the text itself is a fact as well, with the name "". What holds several messages says nothing of one.

    Args:
        leaf_texts: All texts of the request, with the containers around each.
        index: Index of the text of the message.
        at: Indices of the texts of all messages.
    """
    inner: JsonValue
    inner, around = leaf_texts[index]
    others = [leaf_texts[place][1] for places in at for place in places if place != index]
    shared = {id(container) for containers in others for container in containers}
    facts: dict[str, JsonValue] = {"": ""}
    for container in reversed(around):
        items = [*container.items()] if isinstance(container, dict) else [*enumerate(container)]
        if isinstance(container, dict):
            name = next(name for name, value in items if value == inner)
            facts[""] = f"{name}.{facts['']}"
        if id(container) in shared:
            break
        for name, value in items:
            if value != inner:
                facts = dict(_flat(value, str(name))) | facts
        inner = container
    return facts


def _flat(value: JsonValue, name: str) -> Iterator[tuple[str, JsonValue]]:
    """Yield the texts, numbers and booleans of a JSON value, each with its path."""
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _flat(child, f"{name}.{key}")
    elif value is not None:
        yield name, value


def _type_of(schema: JsonValue) -> str | None:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind.lower() if isinstance(kind, str) else None


def _nearest_id(around: _Around, ids: dict[str, str]) -> str | None:
    """Return the call id in the innermost container that holds one; if it holds several ids, they are joined."""
    for container in reversed(around):
        named = [key for key in ids if any(text == key for text, _ in leaves(container))]
        if named:
            return named[0] if len(named) == 1 else "and ".join(named)
    return None
