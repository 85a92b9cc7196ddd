"""Every wire asks for the bottom line and the comparisons of an answer, and reads both back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance.test_plugin_examples import example
from integration.command_kit import Stubs
from integration.test_provider_debates import KEY, PATHS, SHAPES

import roundtable as rt
from roundtable.providers import BUILTIN_SPECS
from roundtable.testing.servers import LoopbackServer, Seen, WireReply, chat_reply
from roundtable.types import AgentConfig, AgentResponse, ChatRequest, ChatResponse, ModelProfile, TurnKey, Usage

WITHOUT_SCHEMA = {"compatible"}
"""Providers that send no schema, because a server may not know it: the prompt alone asks."""
LINES = {"Ada": "Lisbon", "Bo": "Lisboa, the capital"}
OTHER = {"Ada": "Bo", "Bo": "Ada"}


def saying(text: str) -> str:
    """Return the answer of whoever a request is for; in the second round it compares."""
    who = next(name for name in LINES if f"You are {name}" in text)
    said = {
        "position": f"I say {LINES[who]}.",
        "reasoning": "It is.",
        "bottom_line": LINES[who],
        "confidence": 0.8,
        "stance": None,
    }
    if "Round 2 of 2" in text:
        said["compared"] = {OTHER[who]: "same", "you": "same"}
    return json.dumps(said)


def schemas(value: Any) -> Iterator[dict[str, Any]]:
    """Yield each schema of an answer in the body of a request."""
    if isinstance(value, dict):
        properties = value.get("properties")
        if isinstance(properties, dict) and "bottom_line" in properties:
            yield value
        for inner in value.values():
            yield from schemas(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from schemas(inner)


def texts(value: Any) -> str:
    """Return every text of a body."""
    if isinstance(value, dict):
        return "\n".join(texts(inner) for inner in value.values())
    if isinstance(value, list):
        return "\n".join(map(texts, value))
    return value if isinstance(value, str) else ""


def wording(schema: dict[str, Any]) -> str:
    return json.dumps(schema).casefold()


def check(result: rt.DebateResult, prompts: list[str]) -> None:
    """Check that both fields were asked for where they make sense, and came back whole."""
    turns = [turn for held in result.rounds for turn in held.turns if turn.outcome == "answered"]
    assert not [text for turn in turns for text in turn.result.warnings if re.search("compared|bottom line", text)]
    first, second = (held.responses for held in result.rounds)
    for answers in (first, second):
        assert {answer.agent_name: answer.bottom_line for answer in answers} == LINES
    assert [answer.compared for answer in first] == [(), ()]
    assert [compared(answer) for answer in second] == [{"Ada": "same", "Bo": "same"}] * 2
    assert result.consensus is not None
    assert (result.consensus.method, result.consensus.level_in_words) == ("declared", "1.00")
    assert all('"bottom_line"' in prompt for prompt in prompts)
    assert ['"compared"' in prompt for prompt in prompts] == ["Round 2 of 2" in prompt for prompt in prompts]


def compared(answer: AgentResponse) -> dict[str, str]:
    named = {TurnKey(1, seen.turn.stage, place): name for seen in answer.compared for place, name in enumerate(LINES)}
    return {named[seen.turn]: seen.verdict for seen in answer.compared}


def seats(provider: str, model: str | None) -> list[AgentConfig]:
    return [AgentConfig(id=name.casefold(), name=name, provider=provider, model=model) for name in LINES]


@pytest.fixture
def stubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stubs:
    """Return a folder of stub programs, first in the search path."""
    made = Stubs(tmp_path / "bin")
    monkeypatch.setenv("PATH", made.environment()["PATH"])
    return made


def test_every_provider_over_http_is_checked() -> None:
    assert SHAPES.keys() == BUILTIN_SPECS.keys()


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("provider", sorted(SHAPES))
async def test_both_fields_go_through_each_provider(provider: str, *, streamed: bool) -> None:
    def answer(seen: Seen) -> WireReply:
        is_stream = seen.wants_stream or "streamGenerateContent" in seen.path
        return SHAPES[provider](is_stream, saying(texts(seen.json)))

    with LoopbackServer(answer) as server:
        config = rt.ProviderConfig(base_url=server.origin + PATHS.get(provider, ""), api_key=KEY)
        table = rt.Roundtable(
            seats(provider, "x"),
            providers={provider: config},
            storage="memory://",
            analyzer="declared",
            search=False,
        )
        async with table:
            if streamed:
                async with table.stream("Where shall we meet?", rounds=2) as stream:
                    async for _ in stream:
                        pass
                    result = stream.result
            else:
                result = await table.debate("Where shall we meet?", rounds=2)
        bodies = [seen.json for seen in server.seen]
        assert {seen.wants_stream or "streamGenerateContent" in seen.path for seen in server.seen} == {streamed}
    assert result is not None
    check(result, [texts(body) for body in bodies])
    for body in bodies:
        found = list(schemas(body))
        assert bool(found) is (provider not in WITHOUT_SCHEMA)
        for schema in found:
            assert {"position", "bottom_line"} <= set(schema["properties"])
            verdicts = schema["properties"].get("compared")
            assert (verdicts is not None) is ("Round 2 of 2" in texts(body))
            if verdicts is not None:
                who = next(name for name in LINES if f"You are {name}" in texts(body))
                assert set(verdicts["properties"]) == {OTHER[who], "you"}
                assert {"same", "different"} <= set(re.findall(r"same|different", wording(verdicts)))


@pytest.mark.parametrize("name", ["claude", "mytool"])
async def test_both_fields_go_through_a_program(stubs: Stubs, name: str) -> None:
    """A program that keeps its conversation, and one that is told everything anew each time."""
    answers = {(who, number): saying(f"You are {who}. Round {number} of 2") for who in LINES for number in (1, 2)}
    show = "envelope(said, session)" if name == "claude" else "print(said)"
    stubs.make(
        name,
        f"""
asked = " ".join(argv) + sys.stdin.read()
note(stdin=asked)
session = argv[argv.index("--resume") + 1] if "--resume" in argv else "session-%d" % os.getpid()
number = 2 if "Round 2 of 2" in asked else 1
who = "Ada" if "You are Ada" in asked else "Bo"
memory = os.path.join(HERE, session)
if "--resume" in argv:
    who = open(memory).read()
else:
    open(memory, "w").write(who)
said = {answers!r}[who, number]
{show}
""",
    )
    agents = seats("claude-cli", "sonnet") if name == "claude" else seats("command", "mytool")
    table = rt.Roundtable(agents, storage="memory://", analyzer="declared")
    result = await table.debate("Where shall we meet?", rounds=2)
    check(result, stubs.read(name))


async def test_both_fields_go_through_the_provider_of_the_tutorial() -> None:
    with LoopbackServer(lambda seen: chat_reply(saying(texts(seen.json)))) as server:
        config = rt.ProviderConfig(base_url=server.url, api_key=KEY)
        table = rt.Roundtable(
            seats("acme", "acme-large"),
            providers={"acme": config},
            plugins=[example("acme_provider")],
            storage="memory://",
            analyzer="declared",
        )
        async with table:
            result = await table.debate("Where shall we meet?", rounds=2)
        check(result, [texts(seen.json) for seen in server.seen])


class Foreign:
    """A model as the template of a plugin has it, which answers in JSON of its own making."""

    provider = "foreign"
    model = "plain"

    def __init__(self, *, structured: bool) -> None:
        self.profile = ModelProfile(structured_output=structured)
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        text = "\n".join(message.content for message in request.messages)
        return ChatResponse(text=saying(text), usage=Usage(calls=1, input_tokens=1, output_tokens=1), model="plain")

    async def stream(self, request: ChatRequest) -> Any:
        yield await self.complete(request)

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize("structured", [False, True], ids=["prompt", "schema"])
async def test_both_fields_go_through_a_custom_model(*, structured: bool) -> None:
    model = Foreign(structured=structured)
    agents = [rt.BaseAgent(seat, model) for seat in seats("foreign", "plain")]
    result = await rt.Roundtable(agents, storage="memory://", analyzer="declared").debate("Where?", rounds=2)
    check(result, ["\n".join(message.content for message in request.messages) for request in model.requests])
    for request in model.requests:
        assert (request.output_schema is not None) is structured
        if request.output_schema is not None:
            assert list(schemas(request.output_schema.definition))
