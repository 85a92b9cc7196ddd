"""How long a turn may take, whatever happens within it."""

from __future__ import annotations

import anyio
import pytest
from integration.engine_kit import CountingModel, late, seated

from roundtable import Roundtable
from roundtable.core.stages import run_stage
from roundtable.errors import APITimeoutError, ConfigurationError
from roundtable.gateway import GuardedModel
from roundtable.providers import chat_model
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage
from roundtable.testing.servers import LoopbackServer, http_reply
from roundtable.types import (
    AgentHealth,
    AgentInfo,
    ChatRequest,
    DebateContext,
    Message,
    ProviderConfig,
    RetryPolicy,
    Seat,
    Stage,
    TurnSpec,
    Usage,
)

pytestmark = pytest.mark.both_loops

VIEW = DebateContext(session_id="s", topic="Tea?", mode="collaborative", agents=(Seat(id="ada", name="Ada"),))
STAGE = Stage(name="speech", turns=(TurnSpec(slot=0, agent="ada", task="Speak."),))


class Slow:
    """Calls twice, tells what it hears, and never ends."""

    id, name = "ada", "Ada"

    async def take_turn(self, context, listener=None):
        if listener is not None:
            await listener.before_call()
            await listener.chunk("a")
            await listener.retrying(2, 0.0, APITimeoutError())
            await listener.before_call()
        await anyio.sleep(60)

    async def health_check(self):
        return AgentHealth(healthy=True)

    def get_info(self):
        return AgentInfo(id="ada", name="Ada", provider="foreign", model="m")


class Hooks:
    def __init__(self):
        self.heard = []

    async def started(self, spec, attempt):
        return self

    async def settled(self, turn):
        self.heard.append(turn.outcome)

    async def before_call(self):
        self.heard.append("call")

    async def chunk(self, text):
        self.heard.append(text)

    async def retrying(self, attempt, delay_s, error):
        self.heard.append((attempt, error.code))

    async def tool_called(self, step, call):
        self.heard.append((step, call.name))

    async def tool_answered(self, step, call_id, record):
        self.heard.append((step, record.tool_name))


async def test_a_turn_that_takes_too_long_fails_and_its_calls_are_counted():
    hooks = Hooks()
    began = anyio.current_time()
    (turn,) = await run_stage(STAGE, {"ada": Slow()}, VIEW, hooks=hooks, turn_timeout_s=0.1)
    assert anyio.current_time() - began < 0.1 + 2
    assert (turn.outcome, turn.error.code) == ("failed", "API_TIMEOUT")
    assert "within 0.1 s" in turn.error.message
    assert turn.usage == Usage(calls=2, unreported_calls=2)
    assert hooks.heard == ["call", "a", (2, "API_TIMEOUT"), "call", "failed"]


async def test_a_turn_without_listeners_has_a_deadline_too():
    (turn,) = await run_stage(STAGE, {"ada": Slow()}, VIEW, turn_timeout_s=0.05)
    assert (turn.error.code, turn.usage) == ("API_TIMEOUT", Usage())


@pytest.mark.slow
async def test_a_table_sets_the_deadline_of_turns():
    model = CountingModel(lambda request: "Tea" if request.metadata["agent"] == "ada" else late(60, "Tea"))
    table = Roundtable(seated(model, "ada", "bo"), storage=MemoryStorage(), turn_timeout_s=0.6)
    with anyio.fail_after(10):
        result = await table.debate("Tea?", rounds=2)
    bo = result.roster.agents[1]
    assert (bo.answered, bo.failed, {error.code for error in bo.errors}) == (0, 2, {"API_TIMEOUT"})
    assert (result.status, result.answer) == ("completed", "Tea")


async def test_a_wait_for_a_retry_never_exceeds_the_deadline_of_the_turn():
    """The turn then fails with the provider's own error, not by being cut off."""
    limited = http_reply(b"{}", status=429, headers={"retry-after": "60"})
    with LoopbackServer(lambda seen: limited) as server:
        model = chat_model("compatible:m", base_url=server.url, settings=Settings())
        table = Roundtable([*seated(CountingModel(), "ada"), model], storage=MemoryStorage(), turn_timeout_s=30)
        with anyio.fail_after(15):
            result = await table.debate("Tea?", rounds=1)
        await model.aclose()
    (error,) = result.roster.agents[1].errors
    assert (error.code, error.retry_after_s, len(server.seen)) == ("API_RATE_LIMIT", 60.0, 1)
    assert error.message.endswith("(the requested wait of 60 s goes past the deadline of the turn or the debate)")


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "5"])
async def test_a_deadline_of_turns_must_be_positive(seconds):
    with pytest.raises(ConfigurationError, match="turn_timeout_s"):
        await Roundtable(seated(CountingModel(), "ada"), storage=MemoryStorage(), turn_timeout_s=seconds).debate("Tea?")


async def test_a_model_made_with_a_policy_keeps_to_it_and_a_bare_one_makes_one_request():
    ask = ChatRequest(model="", messages=(Message(role="user", content="Hello"),))
    limited = http_reply(b"{}", status=429, headers={"retry-after-ms": "10"})
    with LoopbackServer(lambda seen: limited) as server:
        bare = chat_model("compatible:m", base_url=server.url, settings=Settings())
        config = ProviderConfig(requests_per_minute=600, retry=RetryPolicy(max_attempts=5))
        kept = chat_model("compatible:m", base_url=server.url, config=config, retry=RetryPolicy(), settings=Settings())
        assert isinstance(kept, GuardedModel)
        counts = []
        for model in (bare, kept):
            with pytest.raises(Exception, match="429"):
                await model.complete(ask)
            counts.append(len(server.seen))
            await model.aclose()
    assert counts == [1, 4]
